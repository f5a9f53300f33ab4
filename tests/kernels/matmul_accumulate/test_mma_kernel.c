/* The mma.sync kernel on the emulator: every layout, tile and alignment right against the plain C
 * answer, checked over seeds; random shapes; and what it refuses. */
#include "emulated_matmul.h"
#include "matmul_accumulate/mma_sync.h"
#include "ptx_text.h"
#include "test_context.h"

#include "base/arch.h"

static void run_case(const matmul_case *problem, bool check, uint64_t seed)
{
    char params[256];
    matmul_data x;
    matmul_case_make(problem, &x);
    matmul_case_params(problem, "sm_120a", params, sizeof params);
    emulate_matmul(context, &x,
                   (emulated_call){.params = params, .check = check, .isa_seed = seed});
    matmul_case_compare(&x, x.args.d);
    matmul_case_free(&x);
}

static void layouts_and_alignments_have_no_race(void **state)
{
    (void)state;
    static const char *const tiles[] = {"block_m=64 block_n=64 stages=2",
                                        "block_m=128 block_n=64 stages=3",
                                        "block_n=128 block_m=64",
                                        "",
                                        "block_m=64 block_n=64 stages=2 c_load=rows",
                                        "block_m=128 block_n=64 c_load=rows",
                                        "block_m=64 block_n=128 stages=3 c_load=rows"};
    enum { TILES = sizeof tiles / sizeof *tiles };
    for (int i = 0; i < 32; i++) {
        const matmul_case c = {.m = 150,
                               .n = 130,
                               .k = 64 * (i % 5) + i % 3,
                               .a_transposed = i & 1,
                               .b_transposed = i & 2,
                               .bf16 = i & 4,
                               .no_c = i % 7 == 6,
                               .in_place = i % 7 == 5,
                               .ab_pad = i & 8 ? 1 + i % 4 : 0,
                               .c_pad = i % 2,
                               .d_pad = i % 7 == 5 ? 0 : i % 4,
                               .params = tiles[i % TILES]};
        for (uint64_t seed = 0; seed <= 2; seed++)
            run_case(&c, true, seed);
    }
}

static void small_tiles(void **state)
{
    (void)state;
    static const char *const params[] = {"block_m=32 block_n=64", "block_m=32 block_n=64 stages=2",
                                         "block_m=32 block_n=64 c_load=rows"};
    for (int i = 0; i < 12; i++) {
        const matmul_case c = {.m = 20 + 31 * (i % 4),
                               .n = 70 + 16 * (i % 5),
                               .k = 60 + 33 * (i % 3),
                               .b_transposed = i & 1,
                               .bf16 = i & 2,
                               .no_c = i % 5 == 4,
                               .ab_pad = i % 5,
                               .c_pad = i & 4 ? 1 : 0,
                               .params = params[i % 3]};
        for (uint64_t seed = 0; seed <= 2; seed++)
            run_case(&c, true, seed);
    }
}

static void large_tiles(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 300, .n = 270, .k = 200, .params = "block_m=256 block_n=128 stages=2"},
        {.m = 140, .n = 520, .k = 136, .params = "block_m=128 block_n=256", .a_transposed = true},
        {.m = 257,
         .n = 129,
         .k = 65,
         .params = "block_m=256 block_n=128",
         .b_transposed = true,
         .ab_pad = 1},
        {.m = 259,
         .n = 257,
         .k = 70,
         .params = "block_m=128 block_n=128 stages=2 c_load=rows",
         .no_c = true,
         .ab_pad = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i], i == 0, 0);
}

/* Shapes and layouts that nobody chose, with the tile that is chosen for them. */
static void random_shapes(void **state)
{
    (void)state;
    const char *text = getenv("PTXGEN_DRAWS");
    const int count = text ? atoi(text) : 30;
    static const ptxgen_dtype types[] = {0, PTXGEN_F16, PTXGEN_BF16, 0};
    uint64_t r = 20261130;
    for (int i = 0; i < count; i++) {
        int64_t e[3];
        char params[64];
        for (int j = 0; j < 3; j++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            e[j] = 1 + (int64_t)(r >> 40) % (INT64_C(1) << (1 + (r >> 33) % 8));
        }
        pg_matmul_accumulate_key k = {.arch = 1201, .a = r >> 20 & 1};
        const pg_matmul_problem p = {.m = e[0], .n = e[1], .k = e[2], .sm_count = 84};
        pg_matmul_accumulate_choose(&k, &p);
        snprintf(params, sizeof params, "block_m=%lld block_n=%lld%s", (long long)k.block_m,
                 (long long)k.block_n, r >> 19 & 1 ? " c_load=rows" : "");
        const matmul_case c = {.m = e[0],
                               .n = e[1],
                               .k = e[2],
                               .a_transposed = r >> 20 & 1,
                               .b_transposed = r >> 21 & 1,
                               .bf16 = r >> 22 & 1,
                               .ab_pad = (int)(r >> 23 & 3) << (r >> 18 & 1),
                               .c_pad = (int)(r >> 25 & 3),
                               .d_pad = (int)(r >> 27 & 3),
                               .alpha = (float)(r >> 28 & 3) - 1,
                               .beta = (float)(r >> 30 & 1),
                               .c_dtype = types[r >> 31 & 1 ? r >> 32 & 3 : 0],
                               .d_dtype = types[r >> 32 & 3],
                               .params = params};
        run_case(&c, false, 0);
    }
}

static void what_it_refuses(void **state)
{
    (void)state;
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a block_m=64 block_n=256",
                   "use 32x64");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a block_m=32 block_n=64 a=transposed",
                   "64 at a time");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a stages=4", "use stages=3 or less");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a schedule=pingpong",
                   "belongs to sm_90a");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a block_k=32", "use 64");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a c_load=rows block_n=256",
                   "use smaller blocks");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a c_load=ring", "c_load=rows");
    expect_refusal(context, "matmul_accumulate", "arch=sm_120a c_load=rows epilogue=relu",
                   "leave c_load out");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a c_load=rows", "schedule=mma_sync");
    expect_refusal(context, "matmul_accumulate", "arch=sm_86 d_dtype=e4m3", "needs sm_89");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_alignments_have_no_race),
        cmocka_unit_test(small_tiles),
        cmocka_unit_test(large_tiles),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(what_it_refuses),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
