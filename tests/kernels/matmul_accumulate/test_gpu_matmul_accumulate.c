/* matmul_accumulate on a real GPU (Hopper, or Blackwell) through the public call, against the
 * oracle. Skipped without such a device.
 *
 *     test_gpu_matmul_accumulate [PART PARTS]
 *
 * runs every PARTS-th case from PART on, once: under racecheck all of them take hours. */
#include "matmul_case.h"
#include "test_context.h"

static size_t part, parts = 1;

static void run_cases(const matmul_case *cases, size_t count)
{
    for (size_t i = part; i < count; i += parts)
        matmul_case_run(context, &cases[i]);
}

static void every_case_equals_the_oracle(void **state)
{
    (void)state;
    run_cases(matmul_cases, matmul_case_count);
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
    run_cases(large, sizeof large / sizeof *large);
}

/* Every way that Hopper's kernel adds up and stores: factors, types of C and D, schedules, parts
 * of K. */
static const matmul_case hopper[] = {
    {.m = 700,
     .n = 520,
     .k = 700,
     .params = "schedule=pingpong c_load=ring",
     .alpha = 0.5F,
     .beta = -2},
    {.m = 700,
     .n = 520,
     .k = 700,
     .params = "schedule=pingpong block_n=192 c_load=late",
     .in_place = true,
     .alpha = 0.5F,
     .beta = -2},
    {.m = 1300,
     .n = 776,
     .k = 500,
     .params = "c_load=late ctas_n=2 block_n=128",
     .d_dtype = PTXGEN_BF16,
     .c_dtype = PTXGEN_BF16},
    {.m = 700,
     .n = 521,
     .k = 300,
     .params = "schedule=pingpong block_n=96 ctas=2",
     .d_dtype = PTXGEN_F16},
    {.m = 300,
     .n = 260,
     .k = 3000,
     .params = "warpgroups=1 block_n=64 splits=4",
     .d_dtype = PTXGEN_BF16,
     .c_dtype = PTXGEN_BF16,
     .alpha = 3,
     .beta = 1},
    {.m = 300,
     .n = 261,
     .k = 3000,
     .params = "block_n=128 slices=7",
     .d_dtype = PTXGEN_F16,
     .alpha = 0.1F,
     .beta = 1e-3F,
     .d_pad = 1},
    {.m = 5,
     .n = 900,
     .k = 1001,
     .params = "warpgroups=1 swap=yes block_n=8 copy=both",
     .ab_pad = 1},
    {.m = 33,
     .n = 900,
     .k = 1000,
     .params = "warpgroups=1 swap=yes block_n=40 slices=5",
     .no_c = true},
    {.m = 1000,
     .n = 1000,
     .k = 64,
     .params = "block_n=128 ctas_n=4",
     .d_dtype = PTXGEN_F16,
     .c_dtype = PTXGEN_F16,
     .in_place = true},
    {.m = 1000, .n = 1000, .k = 0, .params = "block_n=128", .alpha = 2, .beta = 3},
    {.m = 640,
     .n = 768,
     .k = 512,
     .params = "warpgroups=3 block_m=192 block_n=96",
     .a_transposed = true},
};

static bool is_hopper(void)
{
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err;
    return ptxgen_device_get_info(context, &info, &err) == PTXGEN_OK && (int)info.arch == 901;
}

static void factors_types_and_schedules(void **state)
{
    (void)state;
    if (!is_hopper())
        skip();
    run_cases(hopper, sizeof hopper / sizeof *hopper);
}

/* The same bits a hundred times, of each of them and of what is chosen. */
static void a_hundred_runs_agree(void **state)
{
    (void)state;
    enum { RUNS = 100 };
    if (!is_hopper() || parts > 1)
        skip();
    for (size_t i = 0; i < sizeof hopper / sizeof *hopper; i++) {
        matmul_case c = hopper[i];
        c.in_place = false;
        matmul_case_repeat(context, &c, RUNS);
        c.params = NULL;
        matmul_case_repeat(context, &c, RUNS);
    }
}

/* The kernel of the GPUs that have none of their own runs on all. */
static void mma_sync_equals_the_oracle(void **state)
{
    (void)state;
    for (int i = (int)part; i < 48; i += (int)parts) {
        static const char *const params[] = {
            "schedule=mma_sync",
            "schedule=mma_sync block_m=64 block_n=64",
            "schedule=mma_sync block_m=256 block_n=128",
            "schedule=mma_sync block_n=256",
            "schedule=mma_sync block_m=128 block_n=64 stages=2",
            "schedule=mma_sync block_m=64 block_n=64 stages=2 c_load=rows",
            "schedule=mma_sync block_m=128 block_n=64 c_load=rows"};
        enum { KINDS = sizeof params / sizeof *params };
        const matmul_case c = {.m = 1 + 97 * i % 700,
                               .n = 1 + 131 * i % 900,
                               .k = 61 * i % 400,
                               .a_transposed = i & 1,
                               .b_transposed = i & 2,
                               .bf16 = i & 4,
                               .no_c = i % 7 == 6,
                               .ab_pad = i & 8 ? i % 3 << i % 2 : 0,
                               .c_pad = i % 2,
                               .d_pad = i % 4,
                               .params = params[i % KINDS]};
        matmul_case_run(context, &c);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3) {
        part = strtoul(argv[1], NULL, 10);
        parts = strtoul(argv[2], NULL, 10);
    }
    if (part >= parts) {
        fprintf(stderr, "usage: test_gpu_matmul_accumulate [PART PARTS], PART below PARTS\n");
        return 2;
    }
    ptxgen_device_info info;
    if (!open_gpu(&info))
        return TEST_SKIPPED;
    if (info.arch != 901 && info.arch / 100 != 10) {
        printf("skipped: %s has neither wgmma nor tcgen05\n", info.name);
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_equals_the_oracle),
        cmocka_unit_test(larger_cases_equal_the_oracle),
        cmocka_unit_test(mma_sync_equals_the_oracle),
        cmocka_unit_test(factors_types_and_schedules),
        cmocka_unit_test(a_hundred_runs_agree),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(context);
    return failed;
}
