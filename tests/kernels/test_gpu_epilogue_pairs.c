/* The same pairwise array (test_epilogue_pairs.c) on a Hopper. Skipped without one. */
#include "epilogue_case.h"

static ptxgen *ctx;

static void on_the_device(void **state)
{
    const char *seconds = getenv("PTXGEN_SECONDS");
    (void)state;
    epilogue_cases_run(ctx, "sm_90a", seconds ? atof(seconds) : 1000);
}

static void by_mma_sync(void **state)
{
    const char *seconds = getenv("PTXGEN_SECONDS");
    (void)state;
    epilogue_cases_run(ctx, "sm_90a schedule=mma_sync", seconds ? atof(seconds) : 1000);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_device),
                                       cmocka_unit_test(by_mma_sync)};
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK ||
        ptxgen_device_get_info(ctx, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    if (info.arch != 901) {
        printf("skipped: %s has no wgmma\n", info.name);
        return TEST_SKIPPED;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
