/* `run --check` judges: it takes every rounding that the adds allow, and nothing more. */
#include "test.h"

#include "command/run/scatter_check.h"

#include <math.h>

enum { ROWS = 5, OUT_ROWS = 3, N = 4 };

static float out[OUT_ROWS * N], src[ROWS * N], result[OUT_ROWS * N];
static const int64_t index_of[ROWS] = {0, 2, 2, 0, 2}; /* row 1 is not touched */

static ptxgen_scatter_add_args arguments(void)
{
    for (int i = 0; i < OUT_ROWS * N; i++)
        result[i] = out[i] = (float)(i + 1) / 3;
    for (int i = 0; i < ROWS * N; i++)
        src[i] = (float)(i % 7 - 3) / 7;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++)
            result[index_of[i] * N + j] += src[i * N + j];
    return (ptxgen_scatter_add_args){.size = sizeof(ptxgen_scatter_add_args),
                                     .dtype = PTXGEN_F32,
                                     .rows = ROWS,
                                     .out_rows = OUT_ROWS,
                                     .n = N,
                                     .out = out,
                                     .src = src,
                                     .index = index_of};
}

static uint64_t judge(const ptxgen_scatter_add_args *args)
{
    scatter_check check;
    ptxgen_error err;
    assert_int_equal(scatter_check_run(args, result, &check, &err), PTXGEN_OK);
    assert_int_equal(check.elements, OUT_ROWS * N);
    return check.wrong;
}

static void takes_what_rounding_gives(void **state)
{
    (void)state;
    const ptxgen_scatter_add_args args = arguments();
    assert_int_equal(judge(&args), 0);
    result[0] = nextafterf(
        result[0], 100); /* one more rounding: two adds may be off by three halves of an ulp */
    assert_int_equal(judge(&args), 0);
}

static void refuses_a_lost_or_doubled_row(void **state)
{
    (void)state;
    const ptxgen_scatter_add_args args = arguments();
    for (int i = 0; i < ROWS; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            arguments();
            uint64_t changed = 0;
            for (int j = 0; j < N; j++) {
                result[index_of[i] * N + j] += (float)sign * src[i * N + j];
                changed += src[i * N + j] != 0;
            }
            assert_int_equal(judge(&args), changed);
        }
    }
}

static void an_untouched_row_must_keep_its_bits(void **state)
{
    (void)state;
    const ptxgen_scatter_add_args args = arguments();
    result[N] = nextafterf(result[N], 100);
    assert_int_equal(judge(&args), 1);
    arguments();
    out[N] = 0; /* near zero, where an add may be off by a subnormal number */
    result[N] = 0x1p-140f;
    result[0] += 0x1p-140f;
    assert_int_equal(judge(&args), 1);
}

static void a_nan_is_wrong_unless_it_is_due(void **state)
{
    (void)state;
    ptxgen_scatter_add_args args = arguments();
    result[0] = NAN;
    assert_int_equal(judge(&args), 1);
    src[0] = NAN; /* now it is due */
    assert_int_equal(judge(&args), 0);
    result[0] = 1;
    assert_int_equal(judge(&args), 1);
}

static void an_infinity_is_wrong_unless_it_is_due(void **state)
{
    (void)state;
    ptxgen_scatter_add_args args = arguments();
    result[0] = INFINITY;
    assert_int_equal(judge(&args), 1);
    src[0] = INFINITY;
    assert_int_equal(judge(&args), 0);
    result[0] = -INFINITY;
    assert_int_equal(judge(&args), 1);
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
