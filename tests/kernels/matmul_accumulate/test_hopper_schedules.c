/* The schedules, clusters, layouts and ways of C of the Hopper kernel on the emulator in checking
 * mode: right against the plain C answer and without a report, in hardware order and over seeds of
 * order=isa; and the same bits from every schedule that adds K in one order. With the argument
 * "long", over more seeds. */
#include "emulated_matmul.h"
#include "test_context.h"

static uint64_t seeds = 3;

static void run_on_emulator(const matmul_case *problem, matmul_data *x, uint64_t seed, bool check)
{
    char params[256];
    matmul_case_params(problem, "sm_90a", params, sizeof params);
    emulate_matmul(context, x, (emulated_call){.params = params, .check = check, .isa_seed = seed});
}

static void run_case(const matmul_case *problem, uint64_t seed)
{
    matmul_data x;
    matmul_case_make(problem, &x);
    run_on_emulator(problem, &x, seed, true);
    matmul_case_compare(&x, x.args.d);
    matmul_case_free(&x);
}

static void run_all(const matmul_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            run_case(&cases[i], seed);
}
#define RUN_ALL(cases) run_all(cases, sizeof cases / sizeof *cases)

static void warpgroups_share_tiles(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 150, .n = 72, .k = 200, .params = "block_n=64 block_k=32 stages=2", .d_pad = 1},
        {.m = 260,
         .n = 72,
         .k = 200,
         .params = "block_n=64 block_k=32 stages=2 ctas=2",
         .in_place = true},
        {.m = 130, .n = 70, .k = 100, .params = "warpgroups=1 block_n=48", .b_transposed = true},
        {.m = 300, .n = 100, .k = 72, .params = "warpgroups=3 block_n=96 stages=2"},
        {.m = 300, .n = 136, .k = 136, .params = "block_m=256 block_n=64 stages=2", .bf16 = true},
        {.m = 300,
         .n = 136,
         .k = 136,
         .params = "block_n=64 c_load=ring c_slots=3 stages=2",
         .d_pad = 2},
        {.m = 200, .n = 40, .k = 64, .params = "block_n=40", .b_transposed = true},
        {.m = 65, .n = 33, .k = 0, .params = "warpgroups=1 block_n=32"},
    };
    RUN_ALL(cases);
}

static void warpgroups_take_turns(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 300,
         .n = 200,
         .k = 200,
         .params = "schedule=pingpong block_m=64 block_n=64 stages=3"},
        {.m = 400,
         .n = 200,
         .k = 100,
         .params = "schedule=pingpong block_n=64 stages=2 c_load=ring c_slots=3",
         .in_place = true},
        {.m = 500,
         .n = 190,
         .k = 160,
         .params = "schedule=pingpong block_m=64 block_n=64 warpgroups=3 block_k=32 c_load=ring "
                   "c_slots=1"},
        {.m = 300,
         .n = 200,
         .k = 136,
         .params = "schedule=pingpong block_m=64 block_n=32 ctas=2 c_load=ring c_slots=2",
         .bf16 = true},
        {.m = 300,
         .n = 256,
         .k = 72,
         .params = "schedule=pingpong block_m=64 block_n=64 ctas_n=2",
         .b_transposed = true},
        {.m = 300,
         .n = 70,
         .k = 0,
         .params = "schedule=pingpong block_m=64 block_n=64",
         .d_pad = 2},
        {.m = 100,
         .n = 70,
         .k = 333,
         .params = "schedule=pingpong block_m=64 block_n=64 stages=4 group_m=1",
         .no_c = true},
    };
    RUN_ALL(cases);
}

/* C behind the multiplications; D out of C's slots, element by element where it takes no map. */
static void c_comes_late(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 300, .n = 136, .k = 136, .params = "block_n=64 c_load=late stages=2"},
        {.m = 300, .n = 136, .k = 72, .params = "block_n=64 c_load=late c_slots=1", .d_pad = 1},
        {.m = 300,
         .n = 100,
         .k = 200,
         .params = "block_m=256 block_n=64 c_load=late ctas_n=2",
         .in_place = true},
        {.m = 130, .n = 96, .k = 0, .params = "warpgroups=1 block_n=64 c_load=late"},
        {.m = 400,
         .n = 200,
         .k = 100,
         .params = "schedule=pingpong block_n=64 stages=2 c_load=late c_slots=3",
         .in_place = true,
         .bf16 = true},
        {.m = 500,
         .n = 196,
         .k = 160,
         .params = "schedule=pingpong block_m=64 block_n=96 warpgroups=3 block_k=32 c_load=late",
         .alpha = -2,
         .beta = 0.5F},
        {.m = 300,
         .n = 192,
         .k = 136,
         .params = "schedule=pingpong block_m=64 block_n=64 c_load=late c_slots=2 ctas=2",
         .d_dtype = PTXGEN_BF16,
         .c_dtype = PTXGEN_BF16},
        {.m = 300,
         .n = 136,
         .k = 136,
         .params = "block_n=64 c_load=late",
         .d_dtype = PTXGEN_F16,
         .d_pad = 3},
        {.m = 300,
         .n = 136,
         .k = 136,
         .params = "block_n=128 c_load=late",
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16,
         .in_place = true,
         .alpha = 0.5F,
         .beta = -1},
    };
    RUN_ALL(cases);
}

static void clusters_share_loads(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 260, .n = 130, .k = 100, .params = "warpgroups=1 block_n=64 ctas=2 ctas_n=2"},
        {.m = 260,
         .n = 130,
         .k = 100,
         .params = "warpgroups=1 block_n=64 ctas=4",
         .b_transposed = true},
        {.m = 130,
         .n = 260,
         .k = 100,
         .params = "warpgroups=1 block_n=64 ctas_n=4",
         .a_transposed = true},
        {.m = 260,
         .n = 130,
         .k = 264,
         .params = "warpgroups=1 block_n=64 ctas=2 ctas_n=2 splits=2",
         .d_pad = 3},
    };
    RUN_ALL(cases);
}

static void splits_add_up(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 100, .n = 70, .k = 700, .params = "warpgroups=1 block_n=64 splits=4"},
        {.m = 130,
         .n = 72,
         .k = 300,
         .params = "block_n=64 splits=2",
         .b_transposed = true,
         .in_place = true},
        {.m = 64,
         .n = 16,
         .k = 100,
         .params = "warpgroups=1 block_n=16 splits=8",
         .no_c = true}, /* some have nothing */
        {.m = 10,
         .n = 100,
         .k = 500,
         .params = "warpgroups=1 swap=yes block_n=16 splits=8",
         .c_pad = 1,
         .d_pad = 1},
        {.m = 64, .n = 32, .k = 0, .params = "warpgroups=1 block_n=32 splits=2"},
        {.m = 100, .n = 70, .k = 700, .params = "warpgroups=1 block_n=64 slices=3", .d_pad = 1},
        {.m = 130,
         .n = 72,
         .k = 300,
         .params = "block_n=64 slices=11 ctas=2",
         .in_place = true}, /* some have nothing */
        {.m = 10,
         .n = 101,
         .k = 500,
         .params = "warpgroups=1 swap=yes block_n=16 slices=5",
         .c_pad = 1,
         .d_pad = 1},
        {.m = 65, .n = 33, .k = 200, .params = "warpgroups=1 block_n=32 slices=2", .no_c = true},
    };
    RUN_ALL(cases);
}

static void the_transposed_problem(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 1, .n = 200, .k = 100, .params = "warpgroups=1 swap=yes block_n=8"},
        {.m = 17,
         .n = 200,
         .k = 130,
         .params = "warpgroups=1 swap=yes block_n=24 stream=yes",
         .b_transposed = true,
         .d_pad = 3},
        {.m = 16,
         .n = 200,
         .k = 300,
         .params = "warpgroups=1 block_m=64 swap=yes block_n=16 ctas_n=2 stream=ahead",
         .c_pad = 1},
        {.m = 33,
         .n = 130,
         .k = 130,
         .params = "swap=yes block_n=48 block_k=128",
         .a_transposed = true,
         .bf16 = true},
        {.m = 70,
         .n = 130,
         .k = 130,
         .params = "swap=yes block_n=80",
         .a_transposed = true,
         .b_transposed = true},
        {.m = 70,
         .n = 300,
         .k = 130,
         .params = "swap=yes schedule=pingpong block_m=64 block_n=64",
         .in_place = true},
    };
    RUN_ALL(cases);
}

static void layouts_and_strides(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        /* rows of C and D are whole pairs, or begin in the middle of one */
        {.m = 150, .n = 102, .k = 72, .params = "block_n=64 stream=ahead"},
        {.m = 150, .n = 102, .k = 72, .params = "schedule=pingpong block_n=96", .d_pad = 1},
        {.m = 70,
         .n = 102,
         .k = 40,
         .params = "warpgroups=1 block_n=64",
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16},
        {.m = 150,
         .n = 100,
         .k = 72,
         .params = "warpgroups=1 block_m=128 block_n=64",
         .a_transposed = true,
         .c_pad = 1},
        {.m = 150,
         .n = 101,
         .k = 72,
         .params = "warpgroups=1 block_n=64",
         .a_transposed = true,
         .b_transposed = true},
        {.m = 150,
         .n = 100,
         .k = 72,
         .params = "block_n=64 swizzle=32",
         .a_transposed = true,
         .c_pad = 2,
         .d_pad = 4},
        {.m = 90, .n = 90, .k = 40, .params = "block_n=80 block_k=32", .no_c = true, .d_pad = 1},
    };
    RUN_ALL(cases);
}

static void odd_rows_are_copied_first(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 70, .n = 67, .k = 101, .params = "warpgroups=1 block_n=64 copy=both", .ab_pad = 1},
        {.m = 70,
         .n = 67,
         .k = 101,
         .params = "block_n=64 copy=both slices=3",
         .ab_pad = 2,
         .b_transposed = true},
        {.m = 9,
         .n = 66,
         .k = 40,
         .params = "warpgroups=1 swap=yes block_n=16 copy=both",
         .ab_pad = 3,
         .a_transposed = true},
        {.m = 64, .n = 64, .k = 64, .params = "warpgroups=1 block_n=64 copy=a"},
        {.m = 64, .n = 64, .k = 0, .params = "warpgroups=1 block_n=64 copy=both", .ab_pad = 1},
    };
    RUN_ALL(cases);
}

/* alpha, beta, and results of 16 bits, by every way that elements of C and D take. */
static void factors_and_types(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 150,
         .n = 72,
         .k = 200,
         .params = "block_n=64",
         .alpha = 0.3F,
         .beta = -1.5F,
         .d_pad = 1},
        {.m = 150, .n = 72, .k = 40, .params = "block_n=64", .d_dtype = PTXGEN_F16},
        {.m = 150,
         .n = 71,
         .k = 40,
         .params = "block_n=64",
         .d_dtype = PTXGEN_BF16,
         .c_dtype = PTXGEN_BF16,
         .alpha = 2,
         .beta = 1,
         .d_pad = 1,
         .c_pad = 1},
        {.m = 70,
         .n = 72,
         .k = 40,
         .params = "block_n=72",
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16,
         .in_place = true,
         .b_transposed = true},
        {.m = 300,
         .n = 100,
         .k = 136,
         .params = "schedule=pingpong block_m=64 block_n=64 c_load=ring c_slots=2",
         .d_dtype = PTXGEN_BF16,
         .alpha = -1,
         .beta = 0.25F},
        {.m = 300,
         .n = 200,
         .k = 136,
         .params = "schedule=pingpong block_m=64 block_n=64 c_load=ring c_slots=2",
         .d_dtype = PTXGEN_BF16,
         .c_dtype = PTXGEN_BF16},
        {.m = 500,
         .n = 144,
         .k = 72,
         .params = "schedule=pingpong warpgroups=3 block_n=128 block_k=32 c_load=ring",
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16,
         .in_place = true,
         .alpha = 2,
         .beta = -0.5F},
        {.m = 300,
         .n = 136,
         .k = 72,
         .params = "block_n=64 c_load=ring c_slots=1",
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16},
        {.m = 300,
         .n = 100,
         .k = 136,
         .params = "schedule=pingpong block_m=64 block_n=64 ctas=2",
         .d_dtype = PTXGEN_F16,
         .no_c = true,
         .alpha = 0.125F,
         .d_pad = 3},
        {.m = 30,
         .n = 130,
         .k = 200,
         .params = "warpgroups=1 swap=yes block_n=32",
         .c_dtype = PTXGEN_F16,
         .d_dtype = PTXGEN_F16,
         .alpha = 3,
         .beta = 2},
        {.m = 100,
         .n = 70,
         .k = 300,
         .params = "warpgroups=1 block_n=64 splits=4",
         .alpha = 1e-3F,
         .beta = 1e3F,
         .d_dtype = PTXGEN_BF16},
        {.m = 100,
         .n = 70,
         .k = 300,
         .params = "warpgroups=1 block_n=64 splits=2",
         .c_dtype = PTXGEN_BF16,
         .d_dtype = PTXGEN_BF16,
         .in_place = true},
        {.m = 100,
         .n = 71,
         .k = 300,
         .params = "warpgroups=1 block_n=64 slices=3",
         .alpha = 1e-20F,
         .beta = 1,
         .d_dtype = PTXGEN_F16,
         .c_dtype = PTXGEN_F16,
         .d_pad = 1},
        {.m = 100,
         .n = 72,
         .k = 300,
         .params = "warpgroups=1 block_n=64 slices=3",
         .no_c = true,
         .d_dtype = PTXGEN_F16,
         .alpha = 0.5F},
        {.m = 66, .n = 72, .k = 100, .params = "block_n=64", .alpha = 0, .beta = 2},
    };
    RUN_ALL(cases);
}

/* K is added in the same order by each: the same bits. */
static void schedules_agree_bit_for_bit(void **state)
{
    (void)state;
    static const char *const params[] = {
        "block_n=64", "schedule=pingpong block_m=64 block_n=96", "warpgroups=1 swap=yes block_n=32",
        "schedule=pingpong block_n=64 c_load=ring c_slots=2 ctas=2",
        "block_k=32 stages=2 block_n=128 ctas_n=2"};
    matmul_case c = {.m = 140, .n = 200, .k = 300};
    matmul_data x;
    void *first = NULL;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        c.params = params[i];
        if (!first)
            matmul_case_make(&c, &x);
        run_on_emulator(&c, &x, 0, false);
        if (!first) {
            first = malloc(x.d_bytes);
            memcpy(first, x.d, x.d_bytes);
        }
        assert_memory_equal(first, x.d, x.d_bytes);
        memset(x.d, 0, x.d_bytes);
    }
    free(first);
    matmul_case_free(&x);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warpgroups_share_tiles), cmocka_unit_test(warpgroups_take_turns),
        cmocka_unit_test(c_comes_late),           cmocka_unit_test(clusters_share_loads),
        cmocka_unit_test(splits_add_up),          cmocka_unit_test(the_transposed_problem),
        cmocka_unit_test(layouts_and_strides),    cmocka_unit_test(odd_rows_are_copied_first),
        cmocka_unit_test(factors_and_types),      cmocka_unit_test(schedules_agree_bit_for_bit),
    };
    if (argc > 1 && strcmp(argv[1], "long") == 0)
        seeds = 12;
    return cmocka_run_group_tests(tests, open_context, close_context);
}
