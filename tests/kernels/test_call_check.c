/* ptxgen_call_check: what is within a family's tolerances passes, and nothing else.
 * matmul_accumulate with K = 0 has the answer C and allows 5e-3 + 1e-2 |answer|; tcgen05_copy
 * wants equal bits. */
#include "test.h"

#include "ptxgen/call.h"

#include <math.h>

enum { ROWS = 2, COLUMNS = 3 };

static const float answer[ROWS * COLUMNS] = {0, 1, -2, 1000, -0.0f, 3};
static float got[ROWS * COLUMNS], want[ROWS * COLUMNS];

static void start(void)
{
    memcpy(got, answer, sizeof got);
    memcpy(want, answer, sizeof want);
}

static ptxgen_call_verdict judge(void)
{
    static const int64_t a[] = {ROWS, 0}, b[] = {0, COLUMNS}, c[] = {ROWS, COLUMNS};
    const ptxgen_tensor before[] = {{NULL, PTXGEN_F16, 2, a, PTXGEN_DENSE},
                                    {NULL, PTXGEN_F16, 2, b, PTXGEN_DENSE},
                                    {want, PTXGEN_F32, 2, c, PTXGEN_DENSE},
                                    {NULL, PTXGEN_F32, 2, c, PTXGEN_DENSE}};
    ptxgen_tensor after[4];
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err;
    memcpy(after, before, sizeof after);
    after[3].data = got;
    if (ptxgen_call_check("matmul_accumulate", NULL, before, after, 4, &v, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(v.elements, ROWS * COLUMNS);
    return v;
}

static void tolerances(void **state)
{
    (void)state;
    start();
    assert_int_equal(judge().wrong, 0);
    got[3] = 1010.004f; /* atol + rtol |answer| is allowed */
    got[0] = -0.00499f;
    assert_int_equal(judge().wrong, 0);
    got[3] = 1010.006f;
    assert_int_equal(judge().wrong, 1);
    assert_int_equal(judge().worst_row, 1);
    assert_int_equal(judge().worst_column, 0);
    assert_true(judge().worst_error > judge().worst_bound);
    got[0] = 0.00501f;
    assert_int_equal(judge().wrong, 2);
}

static void special_values(void **state)
{
    (void)state;
    start();
    want[1] = got[1] = NAN;
    want[2] = got[2] = -INFINITY;
    assert_int_equal(judge().wrong, 0);
    got[2] = INFINITY; /* also where the bound is infinite */
    assert_int_equal(judge().wrong, 1);
    got[2] = 7;
    assert_int_equal(judge().wrong, 1);
    got[2] = -INFINITY;
    got[1] = 1;
    assert_int_equal(judge().wrong, 1);
    got[1] = NAN;
    got[5] = NAN;
    assert_int_equal(judge().wrong, 1);
    got[5] = INFINITY;
    assert_int_equal(judge().wrong, 1);
}

static int64_t differing_bits(float *in, float *out)
{
    static const int64_t shape[] = {ROWS, COLUMNS};
    const ptxgen_tensor before[] = {{NULL, PTXGEN_F32, 2, shape, PTXGEN_DENSE},
                                    {in, PTXGEN_F32, 2, shape, PTXGEN_DENSE}};
    const ptxgen_tensor after[] = {{out, PTXGEN_F32, 2, shape, PTXGEN_DENSE}, before[1]};
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err;
    assert_int_equal(ptxgen_call_check("tcgen05_copy", NULL, before, after, 2, &v, &err),
                     PTXGEN_OK);
    return v.wrong;
}

static void equal_bits(void **state)
{
    (void)state;
    start();
    want[1] = got[1] = NAN;
    assert_int_equal(differing_bits(want, got), 0);
    got[4] = 0; /* not the answer's -0 */
    assert_int_equal(differing_bits(want, got), 1);
}

static void what_is_no_result_is_refused(void **state)
{
    (void)state;
    static const int64_t shape[] = {ROWS, COLUMNS}, backwards[] = {-COLUMNS, 1};
    ptxgen_tensor t[] = {{got, PTXGEN_F32, 2, shape, PTXGEN_DENSE},
                         {want, PTXGEN_F32, 2, shape, PTXGEN_DENSE}};
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err;
    t[0].data = NULL;
    assert_int_equal(ptxgen_call_check("tcgen05_copy", NULL, t, t, 2, &v, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "out is NULL"));
    t[0].data = got;
    t[0].strides = backwards;
    assert_int_equal(ptxgen_call_check("tcgen05_copy", NULL, t, t, 2, &v, &err),
                     PTXGEN_EUNSUPPORTED);
    assert_int_equal(ptxgen_call_check("nothing", NULL, t, t, 2, &v, &err), PTXGEN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tolerances),
        cmocka_unit_test(special_values),
        cmocka_unit_test(equal_bits),
        cmocka_unit_test(what_is_no_result_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
