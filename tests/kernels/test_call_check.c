/* ptxgen_call_check: what is within the answer's bounds passes, and nothing else.
 * matmul_accumulate with K = 0 has the answer C and allows some roundings of it; tcgen05_copy
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

static void bounds(void **state)
{
    (void)state;
    start();
    assert_int_equal(judge().wrong, 0);
    got[3] = 1000.0005f; /* eight steps of f32 */
    got[0] = 1e-38f;
    assert_int_equal(judge().wrong, 0);
    got[3] = 1000.01f;
    const ptxgen_call_verdict v = judge();
    assert_int_equal(v.wrong, 1);
    assert_int_equal(v.worst_row, 1);
    assert_int_equal(v.worst_column, 0);
    assert_true(v.worst_error > v.worst_bound);
    got[0] = 1e-6f;
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
        cmocka_unit_test(bounds),
        cmocka_unit_test(special_values),
        cmocka_unit_test(equal_bits),
        cmocka_unit_test(what_is_no_result_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
