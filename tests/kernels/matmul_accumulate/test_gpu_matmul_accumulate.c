/* matmul_accumulate on a real GPU (Hopper, or Blackwell) through the public call, against the
 * oracle. Skipped without such a device. */
#include "matmul_case.h"

static ptxgen *ctx;

static void every_case_equals_the_oracle(void **state)
{
    (void)state;
    for (size_t i = 0; i < matmul_case_count; i++)
        matmul_case_run(ctx, &matmul_cases[i]);
}

/* Several tiles for each CTA, with the automatic tiling and with pairs. */
static void larger_cases_equal_the_oracle(void **state)
{
    (void)state;
    static const matmul_case large[] = {
        {.m = 1500, .n = 1300, .k = 520, .d_pad = 4},
        {.m = 1500, .n = 1300, .k = 520, .tiling = {.ctas = 2}, .b_transposed = true},
        {.m = 3000, .n = 2000, .k = 100, .tiling = {.block_n = 64}, .in_place = true},
    };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        matmul_case_run(ctx, &large[i]);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK ||
        ptxgen_device_get_info(ctx, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    if (info.arch != 901 && info.arch / 100 != 10) {
        printf("skipped: %s has neither wgmma nor tcgen05\n", info.name);
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_equals_the_oracle),
        cmocka_unit_test(larger_cases_equal_the_oracle),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
