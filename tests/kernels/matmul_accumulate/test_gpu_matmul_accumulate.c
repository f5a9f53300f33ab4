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

/* The kernel of the GPUs that have none of their own runs on all. */
static void mma_sync_equals_the_oracle(void **state)
{
    (void)state;
    for (int i = 0; i < 48; i++) {
        static const char *const params[] = {
            "schedule=mma_sync", "schedule=mma_sync block_m=64 block_n=64",
            "schedule=mma_sync block_m=256 block_n=128", "schedule=mma_sync block_n=256",
            "schedule=mma_sync block_m=128 block_n=64 stages=2"};
        const matmul_case c = {.m = 1 + 97 * i % 700,
                               .n = 1 + 131 * i % 900,
                               .k = 61 * i % 400,
                               .a_transposed = i & 1,
                               .b_transposed = i & 2,
                               .bf16 = i & 4,
                               .no_c = i % 7 == 6,
                               .ab_pad = i & 8 ? i % 3 : 0,
                               .c_pad = i % 2,
                               .d_pad = i % 4,
                               .params = params[i % 5]};
        matmul_case_run(ctx, &c);
    }
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
        cmocka_unit_test(mma_sync_equals_the_oracle),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
