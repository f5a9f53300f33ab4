/* The same pairwise array (test_epilogue_pairs.c) on a Hopper. Skipped without one. */
#include "epilogue_case.h"
#include "test_context.h"

static void on_the_device(void **state)
{
    const char *seconds = getenv("PTXGEN_SECONDS");
    (void)state;
    epilogue_cases_run(context, "sm_90a", seconds ? atof(seconds) : 1000);
}

static void by_mma_sync(void **state)
{
    const char *seconds = getenv("PTXGEN_SECONDS");
    (void)state;
    epilogue_cases_run(context, "sm_90a schedule=mma_sync", seconds ? atof(seconds) : 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_the_device),
                                       cmocka_unit_test(by_mma_sync)};
    ptxgen_device_info info;
    if (!open_gpu(&info))
        return TEST_SKIPPED;
    if (info.arch != 901) {
        printf("skipped: %s has no wgmma\n", info.name);
        return TEST_SKIPPED;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(context);
    return failed;
}
