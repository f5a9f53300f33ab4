/* The epilogue set of matmul_accumulate and matmul_scaled, pairwise, on the emulator against plain
 * C in double: kernels for Hopper, for Blackwell and for other GPUs. */
#include "epilogue_case.h"

static ptxgen *ctx;

static void on_hopper(void **state)
{
    (void)state;
    epilogue_cases_run(ctx, "sm_90a", 1000);
}

static void on_blackwell(void **state)
{
    (void)state;
    epilogue_cases_run(ctx, "sm_100a", 1000);
}

static void on_the_others(void **state)
{
    (void)state;
    epilogue_cases_run(ctx, "sm_89", 1000);
}

static void of_matmul_scaled(void **state)
{
    (void)state;
    epilogue_cases_run_scaled(ctx, "sm_100a", 1000);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_hopper), cmocka_unit_test(on_blackwell),
                                       cmocka_unit_test(on_the_others),
                                       cmocka_unit_test(of_matmul_scaled)};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
