/* f16 and bf16: every value survives the round trip; rounding against an independent search. */
#include "test.h"

#include "base/half.h"

#include <math.h>

typedef struct half_format {
    double (*decode)(uint16_t);
    uint16_t (*encode)(double);
    uint16_t infinity;
} half_format;

static const half_format formats[] = {
    {pg_f16_to_double, pg_f16_from_double, 0x7c00},
    {pg_bf16_to_double, pg_bf16_from_double, 0x7f80},
};

static void every_value_survives(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        for (uint32_t bits = 0; bits < 65536; bits++) {
            const double v = formats[f].decode((uint16_t)bits);
            const uint16_t back = formats[f].encode(v);
            if ((bits & 0x7fff) > formats[f].infinity)
                assert_true(isnan(v) && (back & 0x7fff) > formats[f].infinity);
            else
                assert_int_equal(back, bits);
        }
    }
}

static void known_values(void **state)
{
    (void)state;
    assert_true(pg_f16_to_double(0x3c00) == 1 && pg_f16_to_double(0x7bff) == 65504);
    assert_true(pg_f16_to_double(0x0001) == 0x1p-24 && pg_f16_to_double(0xc000) == -2);
    assert_true(pg_bf16_to_double(0x3f80) == 1 && pg_bf16_to_double(0x0001) == 0x1p-133);
    assert_int_equal(pg_f16_from_double(65519.99), 0x7bff);
    assert_int_equal(pg_f16_from_double(65520), 0x7c00);
    assert_int_equal(pg_f16_from_double(0x1p-25), 0); /* half of the least, ties to even */
    assert_int_equal(pg_f16_from_double(0x1.8p-25), 1);
    assert_int_equal(pg_bf16_from_double(1 + 0x1p-8), 0x3f80); /* a tie */
    assert_int_equal(pg_bf16_from_double(1 + 0x1.0001p-8), 0x3f81);
    assert_int_equal(pg_bf16_from_double(-0.0), 0x8000);
    assert_int_equal(pg_bf16_from_double(1e300), 0x7f80);
}

/* The nearest value of all, ties to the even one, found by looking at the neighbours of the
 * midpoint. */
static void halfway_points_go_to_even(void **state)
{
    (void)state;
    for (int f = 0; f < 2; f++) {
        for (uint16_t bits = 0; bits + 1 < formats[f].infinity; bits++) {
            const double low = formats[f].decode(bits),
                         high = formats[f].decode((uint16_t)(bits + 1));
            const double middle = low + (high - low) / 2;
            assert_int_equal(formats[f].encode(middle), bits & 1 ? bits + 1 : bits);
            assert_int_equal(formats[f].encode(nextafter(middle, low)), bits);
            assert_int_equal(formats[f].encode(nextafter(middle, high)), bits + 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_survives),
        cmocka_unit_test(known_values),
        cmocka_unit_test(halfway_points_go_to_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
