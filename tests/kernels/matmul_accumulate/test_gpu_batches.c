/* Strided batches on a real GPU (batch_case.h): some for each way through Hopper's kernel, and
 * problems that nobody chose: PTXGEN_DRAWS of them (24), from PTXGEN_SEED on. Skipped without a
 * Hopper or Blackwell GPU. */
#include "batch_case.h"
#include "draw.h"
#include "group_case.h"
#include "test_context.h"

static bool is_hopper;

static void each_way_through_hopper(void **state)
{
    (void)state;
    static const batch_case cases[] = {
        {.batch = 7, .m = 700, .n = 520, .k = 300, .params = "schedule=pingpong c_load=ring"},
        {.batch = 5,
         .m = 300,
         .n = 260,
         .k = 3000,
         .same = BATCH_B,
         .params = "warpgroups=1 block_n=64 splits=4"},
        {.batch = 5,
         .m = 300,
         .n = 261,
         .k = 1000,
         .d_dtype = PTXGEN_F16,
         .pad = 1,
         .params = "block_n=128 slices=3 copy=both"},
        {.batch = 9,
         .m = 33,
         .n = 900,
         .k = 1000,
         .same = BATCH_A,
         .inside = BATCH_D,
         .params = "warpgroups=1 swap=yes block_n=40"},
        {.batch = 3, .m = 1000, .n = 1000, .k = 64, .params = "block_n=128 ctas=2 ctas_n=2"},
        {.batch = 1000, .m = 3, .n = 5, .k = 7, .pad = 1},
    };
    if (!is_hopper)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        batch_case_run(context, &cases[i]);
}

static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static void drawn_batches(void **state)
{
    (void)state;
    uint64_t draws = (uint64_t)number("PTXGEN_SEED", 20261202);
    for (int64_t i = 0; i < number("PTXGEN_DRAWS", 24); i++) {
        batch_case c = batch_case_draw(&draws, !is_hopper);
        batch_case_run(context, &c);
        c.params = "schedule=mma_sync";
        if (i % 3 == 0)
            batch_case_run(context, &c);
    }
}

static void drawn_groups(void **state)
{
    (void)state;
    static const group_case large[] = {
        {.m = 5000,
         .n = 520,
         .k = 300,
         .groups = 8,
         .rows = {900, 0, 1, 2000, 128, 129, 700, 1142}},
        {.m = 700, .n = 264, .k = 200, .groups = 64, .rows = {[3] = 100, [40] = 33, [63] = 500}},
    };
    uint64_t draws = (uint64_t)number("PTXGEN_SEED", 20261203);
    if (!is_hopper)
        skip();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        group_case_run(context, &large[i]);
    for (int64_t i = 0; i < number("PTXGEN_DRAWS", 24); i++) {
        group_case c = group_case_draw(&draws);
        group_case_run(context, &c);
        c.params = i % 2 ? "schedule=mma_sync" : "schedule=mma_sync c_load=rows stages=2";
        group_case_run(context, &c);
    }
}

static void groups_of_a_transposed_a(void **state)
{
    (void)state;
    group_case c = {.m = 304,
                    .n = 72,
                    .k = 72,
                    .groups = 4,
                    .rows = {99, 0, 151, 50},
                    .a_transposed = true,
                    .params = "schedule=mma_sync"};
    group_case_run(context, &c);
    c.params = NULL;
    group_case_run(context, &c);
}

int main(void)
{
    ptxgen_device_info info;
    if (!open_gpu(&info))
        return TEST_SKIPPED;
    if (info.arch != 901 && info.arch / 100 != 10) {
        printf("skipped: %s has neither wgmma nor tcgen05\n", info.name);
        return TEST_SKIPPED;
    }
    is_hopper = info.arch == 901;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_through_hopper),
        cmocka_unit_test(drawn_batches),
        cmocka_unit_test(drawn_groups),
        cmocka_unit_test(groups_of_a_transposed_a),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(context);
    return failed;
}
