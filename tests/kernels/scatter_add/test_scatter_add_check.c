/* ptxgen_call_check judges: it takes every rounding that the adds allow, and nothing more. */
#include "test.h"

#include "ptxgen/call.h"

#include <math.h>

enum { ROWS = 5, OUT_ROWS = 3, N = 4 };

static float out[OUT_ROWS * N], src[ROWS * N], result[OUT_ROWS * N];
static const int64_t index_of[ROWS] = {0, 2, 2, 0, 2}; /* row 1 is not touched */

static void set_up(void)
{
    for (int i = 0; i < OUT_ROWS * N; i++)
        result[i] = out[i] = (float)(i + 1) / 3;
    for (int i = 0; i < ROWS * N; i++)
        src[i] = (float)(i % 7 - 3) / 7;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++)
            result[index_of[i] * N + j] += src[i * N + j];
}

static uint64_t judge(void)
{
    static const int64_t out_shape[] = {OUT_ROWS, N}, src_shape[] = {ROWS, N};
    const ptxgen_tensor before[] = {
        {out, PTXGEN_F32, 2, out_shape, PTXGEN_DENSE},
        {src, PTXGEN_F32, 2, src_shape, PTXGEN_DENSE},
        {(void *)(uintptr_t)index_of, PTXGEN_S64, 1, src_shape, PTXGEN_DENSE}};
    ptxgen_tensor after[3];
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err;
    memcpy(after, before, sizeof after);
    after[0].data = result;
    assert_int_equal(ptxgen_call_check("scatter_add", NULL, before, after, 3, &v, &err), PTXGEN_OK);
    assert_int_equal(v.elements, OUT_ROWS * N);
    assert_true(v.by_element);
    return (uint64_t)v.wrong;
}

static void takes_what_rounding_gives(void **state)
{
    (void)state;
    set_up();
    assert_int_equal(judge(), 0);
    result[0] = nextafterf(
        result[0], 100); /* one more rounding: two adds may be off by three halves of an ulp */
    assert_int_equal(judge(), 0);
}

static void refuses_a_lost_or_doubled_row(void **state)
{
    (void)state;
    set_up();
    for (int i = 0; i < ROWS; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            set_up();
            uint64_t changed = 0;
            for (int j = 0; j < N; j++) {
                result[index_of[i] * N + j] += (float)sign * src[i * N + j];
                changed += src[i * N + j] != 0;
            }
            assert_int_equal(judge(), changed);
        }
    }
}

static void an_untouched_row_must_keep_its_bits(void **state)
{
    (void)state;
    set_up();
    result[N] = nextafterf(result[N], 100);
    assert_int_equal(judge(), 1);
    set_up();
    out[N] = 0; /* near zero, where an add may be off by a subnormal number */
    result[N] = 0x1p-140f;
    result[0] += 0x1p-140f;
    assert_int_equal(judge(), 1);
}

static void a_nan_is_wrong_unless_it_is_due(void **state)
{
    (void)state;
    set_up();
    result[0] = NAN;
    assert_int_equal(judge(), 1);
    src[0] = NAN; /* now it is due */
    assert_int_equal(judge(), 0);
    result[0] = 1;
    assert_int_equal(judge(), 1);
}

static void an_infinity_is_wrong_unless_it_is_due(void **state)
{
    (void)state;
    set_up();
    result[0] = INFINITY;
    assert_int_equal(judge(), 1);
    src[0] = INFINITY;
    assert_int_equal(judge(), 0);
    result[0] = -INFINITY;
    assert_int_equal(judge(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_rounding_gives),
        cmocka_unit_test(refuses_a_lost_or_doubled_row),
        cmocka_unit_test(an_untouched_row_must_keep_its_bits),
        cmocka_unit_test(a_nan_is_wrong_unless_it_is_due),
        cmocka_unit_test(an_infinity_is_wrong_unless_it_is_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
