/* `run --check` of a matrix: what is within the tolerances passes, and nothing else. */
#include "test.h"

#include "command/run/check.h"

#include <math.h>

enum { ROWS = 2, COLUMNS = 3 };

static const float answer[ROWS * COLUMNS] = {0, 1, -2, 1000, -0.0f, 3};
static float got[ROWS * COLUMNS], want[ROWS * COLUMNS];

static int64_t judge(run_check *c)
{
    run_check_compare(c, &(run_pair){PTXGEN_F32, got, want, ROWS, COLUMNS});
    assert_int_equal(c->elements, ROWS * COLUMNS);
    return c->wrong;
}

static run_check start(double atol, double rtol)
{
    memcpy(got, answer, sizeof got);
    memcpy(want, answer, sizeof want);
    return (run_check){.atol = atol, .rtol = rtol};
}

static void tolerances(void **state)
{
    (void)state;
    run_check c = start(0.5, 0.25);
    assert_int_equal(judge(&c), 0);
    got[3] = 1000 + 250.5f; /* atol + rtol |answer| is allowed */
    got[0] = -0.5f;
    assert_int_equal(judge(&c), 0);
    got[3] = nextafterf(1250.5f, INFINITY);
    assert_int_equal(judge(&c), 1);
    assert_int_equal(c.worst_row, 1);
    assert_int_equal(c.worst_column, 0);
    got[0] = nextafterf(0.5f, 1);
    assert_int_equal(judge(&c), 2);
}

static void special_values(void **state)
{
    (void)state;
    run_check c = start(1, 1);
    want[1] = got[1] = NAN;
    want[2] = got[2] = -INFINITY;
    assert_int_equal(judge(&c), 0);
    got[2] = INFINITY; /* also where the bound is infinite */
    assert_int_equal(judge(&c), 1);
    got[2] = 7;
    assert_int_equal(judge(&c), 1);
    got[2] = -INFINITY;
    got[1] = 1;
    assert_int_equal(judge(&c), 1);
    got[1] = NAN;
    got[5] = NAN;
    assert_int_equal(judge(&c), 1);
    got[5] = INFINITY;
    assert_int_equal(judge(&c), 1);
}

static void equal_bits(void **state)
{
    (void)state;
    run_check c = start(0, 0);
    want[1] = got[1] = NAN;
    assert_int_equal(judge(&c), 0);
    got[4] = 0; /* not the answer's -0 */
    assert_int_equal(judge(&c), 1);
    assert_int_equal(c.worst_row, 1);
    assert_int_equal(c.worst_column, 1);
}

static void half_types(void **state)
{
    (void)state;
    static const uint16_t f16[] = {0x3c00, 0x7c00, 0x0001}, off[] = {0x3c01, 0x7c00, 0x8001};
    run_check c = {.atol = 0, .rtol = 0x1p-10}; /* one step of 1 */
    run_check_compare(&c, &(run_pair){PTXGEN_F16, off, f16, 1, 3});
    assert_int_equal(c.wrong, 1); /* the subnormal of the other sign */
    assert_int_equal(c.worst_column, 2);
    c.atol = 0x1p-23;
    run_check_compare(&c, &(run_pair){PTXGEN_F16, off, f16, 1, 3});
    assert_int_equal(c.wrong, 0);
    static const uint16_t bf16[] = {0x3f80}, next[] = {0x3f81};
    c = (run_check){.rtol = 0x1p-7};
    run_check_compare(&c, &(run_pair){PTXGEN_BF16, next, bf16, 1, 1});
    assert_int_equal(c.wrong, 0);
    c.rtol = 0x1.fp-8;
    run_check_compare(&c, &(run_pair){PTXGEN_BF16, next, bf16, 1, 1});
    assert_int_equal(c.wrong, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tolerances),
        cmocka_unit_test(special_values),
        cmocka_unit_test(equal_bits),
        cmocka_unit_test(half_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
