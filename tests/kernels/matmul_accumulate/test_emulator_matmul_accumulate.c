/* matmul_accumulate on the emulator, through the same calls as on a GPU, against the oracle; and
 * that a kernel of the caller is launched only for arguments that it serves. */
#include "matmul_case.h"

static ptxgen *ctx;

static void every_case_equals_the_oracle(void **state)
{
    (void)state;
    for (size_t i = 0; i < matmul_case_count; i++)
        matmul_case_run(ctx, &matmul_cases[i]);
}

static void a_kernel_of_the_caller(void **state)
{
    (void)state;
    static const matmul_case problem = {
        .m = 70, .n = 40, .k = 33, .tiling = {.block_n = 64}, .b_transposed = true};
    ptxgen_kernel *kernel;
    ptxgen_error err = {0};
    matmul_data x;
    matmul_case_make(&problem, &x);
    assert_int_equal(
        ptxgen_get(ctx, "matmul_accumulate", "block_n=64 b=transposed", NULL, &kernel, &err),
        PTXGEN_OK);
    assert_int_equal(ptxgen_matmul_accumulate_launch(kernel, &x.args, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_synchronize(ctx, NULL, &err), PTXGEN_OK);
    matmul_case_compare(&x, x.args.d);
    x.args.dtype = PTXGEN_BF16;
    assert_int_equal(ptxgen_matmul_accumulate_launch(kernel, &x.args, NULL, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "does not serve"));
    ptxgen_kernel_unref(kernel);
    matmul_case_free(&x);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_equals_the_oracle),
        cmocka_unit_test(a_kernel_of_the_caller),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
