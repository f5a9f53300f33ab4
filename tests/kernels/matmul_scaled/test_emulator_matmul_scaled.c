/* matmul_scaled on the emulator against sums in double: formats, tilings, outputs and odd
 * shapes; with the argument "grid", the grids of its reference test in fast arithmetic, with the
 * time of each case; "grid I N": every Nth case from the Ith on, so that several processes share
 * them. */
#include "emulated_call.h"
#include "scaled_case.h"
#include "test_context.h"

#include <stdlib.h>
#include <time.h>

static const char *const formats[] = {
    [PTXGEN_MXFP8] = "mxfp8", [PTXGEN_MXFP4] = "mxfp4", [PTXGEN_NVFP4] = "nvfp4"};
static const char *const outs[] = {
    [PTXGEN_F32] = "f32", [PTXGEN_F16] = "f16", [PTXGEN_BF16] = "bf16"};

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);
    if (value)
        snprintf(text + used, size - used, " %s=%lld", name, (long long)value);
}

enum { ALL = 1 << 20 };

static void run_on(const scaled_case *problem, const char *more, bool fast, scaled_data *x)
{
    const ptxgen_matmul_tiling *t = &problem->tiling;
    char params[256];
    snprintf(params, sizeof params, "arch=sm_100a a=%s b=%s out=%s %s", formats[problem->a_format],
             formats[problem->b_format], outs[problem->out], more);
    add_number(params, sizeof params, "block_n", t->block_n);
    add_number(params, sizeof params, "block_k", t->block_k);
    add_number(params, sizeof params, "stages", t->stages);
    add_number(params, sizeof params, "group_m", t->group_m);
    const emulated_buffer buffers[] = {{"a", x->a, x->a_bytes, false},
                                       {"b", x->b, x->b_bytes, false},
                                       {"a_scales", x->a_scales, x->a_scale_bytes, false},
                                       {"b_scales", x->b_scales, x->b_scale_bytes, false},
                                       {"d", x->d, x->d_bytes, true}};
    const emulated_call call = {
        .family = "matmul_scaled",
        .params = params,
        .args = &x->args,
        .buffers = buffers,
        .buffer_count = sizeof buffers / sizeof *buffers,
        .sm_count = 4,
        .fast = fast,
    };
    emulate_call(context, &call);
}

static void run_case(const scaled_case *problem, bool fast, int64_t compared)
{
    scaled_data x;
    scaled_case_make(problem, &x);
    run_on(problem, "", fast, &x);
    scaled_case_compare(&x, compared);
    scaled_case_free(&x);
}

/* ---- every day ---- */

typedef struct format_pair {
    ptxgen_scaled_format a, b;
} format_pair;
static const format_pair pairs[] = {{PTXGEN_MXFP8, PTXGEN_MXFP8},
                                    {PTXGEN_MXFP4, PTXGEN_MXFP4},
                                    {PTXGEN_MXFP8, PTXGEN_MXFP4},
                                    {PTXGEN_MXFP4, PTXGEN_MXFP8},
                                    {PTXGEN_NVFP4, PTXGEN_NVFP4}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static bool is_mixed(format_pair p)
{
    return p.a != p.b;
}

/* Odd rows and columns; K that the formats take: any for 8 bits, even ones for 4, multiples of
 * 128 when they mix. */
static void odd_shapes(void **state)
{
    (void)state;
    static const int64_t sides[] = {1, 17, 127, 129, 500, 600},
                         depths[] = {1, 17, 127, 129, 500, 600, 704};
    static const ptxgen_dtype out[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16};
    for (int i = 0; i < 14; i++)
        for (int p = 0; p < PAIRS; p++) {
            int64_t k = depths[i % 7];
            if (is_mixed(pairs[p]))
                k = (k + 127) / 128 * 128;
            else if (pairs[p].a != PTXGEN_MXFP8)
                k += k % 2;
            const scaled_case c = {.a_format = pairs[p].a,
                                   .b_format = pairs[p].b,
                                   .out = out[(i + p) % 3],
                                   .m = sides[(i + p) % 6],
                                   .n = sides[(i * 5 + 2) % 6],
                                   .k = k,
                                   .tiling = {.block_n = i % 2 ? 128 : 256},
                                   .d_pad = i % 3};
            run_case(&c, true, 4000);
        }
}

/* The bits of the exact engine have unit tests; here they go through a whole kernel. */
static void exact_arithmetic(void **state)
{
    (void)state;
    for (int p = 0; p < PAIRS; p++) {
        const scaled_case c = {.a_format = pairs[p].a,
                               .b_format = pairs[p].b,
                               .out = PTXGEN_F32,
                               .m = 130,
                               .n = 140,
                               .k = 256,
                               .tiling = {.block_n = 128}};
        run_case(&c, false, ALL);
    }
}

static void tilings(void **state)
{
    (void)state;
    static const int64_t block_ns[] = {128, 256}, block_ks[] = {128, 256, 512};
    for (int p = 0; p < PAIRS; p++)
        for (int i = 0; i < 6; i++) {
            const scaled_case c = {
                .a_format = pairs[p].a,
                .b_format = pairs[p].b,
                .out = PTXGEN_F16,
                .m = 256,
                .n = 512,
                .k = 1024,
                .tiling = {.block_n = block_ns[i % 2], .block_k = block_ks[i / 2]}};
            run_case(&c, true, 2000);
        }
}

/* Who works on which tile, what clusters share and how D leaves change no bit. */
static void all_ways_have_the_same_bits(void **state)
{
    (void)state;
    static const char *const ways[] = {"d_store=tensor",
                                       "ctas=2",
                                       "ctas=2 ctas_n=4 tiles=dynamic",
                                       "ctas=2 ctas_n=2 tiles=dynamic d_store=tensor",
                                       "ctas=4",
                                       "ctas=4 ctas_n=2 tiles=dynamic d_store=tensor"};
    for (int i = 0; i < PAIRS; i++) {
        const scaled_case c = {.a_format = pairs[i].a,
                               .b_format = pairs[i].b,
                               .out = i % 2 ? PTXGEN_F16 : PTXGEN_F32,
                               .m = 300,
                               .n = 712,
                               .k = 384,
                               .tiling = {.block_n = 128, .stages = 2}};
        scaled_data x;
        scaled_case_make(&c, &x);
        run_on(&c, "", false, &x);
        void *want = malloc(x.d_bytes);
        assert_non_null(want);
        memcpy(want, x.d, x.d_bytes);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            memset(x.d, 0x5a, x.d_bytes);
            run_on(&c, ways[w], false, &x);
            assert_memory_equal(x.d, want, x.d_bytes);
        }
        free(want);
        scaled_case_free(&x);
    }
}

/* ---- the reference's grids ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long shard = 0, shards = 1, cases_seen = 0;

static void timed_case(const scaled_case *c)
{
    enum { COMPARED = 20000 };
    if (cases_seen++ % shards != shard)
        return;
    const double start = seconds();
    run_case(c, true, COMPARED);
    printf("  %s x %s, %lld x %lld x %lld, blocks %lld x %lld: %.1f s\n", formats[c->a_format],
           formats[c->b_format], (long long)c->m, (long long)c->n, (long long)c->k,
           (long long)c->tiling.block_n, (long long)c->tiling.block_k, seconds() - start);
    fflush(stdout);
}

static void grid_of_scale_copies(void **state)
{
    (void)state;
    static const int64_t block_ns[] = {128, 256}, block_ks[] = {128, 256, 512};
    for (int p = 0; p < PAIRS; p++)
        for (int i = 0; i < 6; i++) {
            const scaled_case c = {
                .a_format = pairs[p].a,
                .b_format = pairs[p].b,
                .out = PTXGEN_F16,
                .m = 2048,
                .n = 2048,
                .k = 4096,
                .tiling = {.block_n = block_ns[i % 2], .block_k = block_ks[i / 2]}};
            timed_case(&c);
        }
}

static void grid_of_warp_specialized(void **state)
{
    (void)state;
    static const int64_t depths[] = {128, 640, 704, 1152, 4096};
    static const struct {
        int64_t m, n;
    } sides[] = {{128, 128}, {500, 600}, {2048, 2048}, {8192, 8192}};
    for (int i = 0; i < 20; i++) /* the largest come last */
        for (int p = 0; p < PAIRS; p++) {
            const int64_t k = depths[i % 5];
            const bool narrow = pairs[p].a != PTXGEN_MXFP8 && pairs[p].b != PTXGEN_MXFP8;
            const scaled_case c = {.a_format = pairs[p].a,
                                   .b_format = pairs[p].b,
                                   .out = PTXGEN_F16,
                                   .m = sides[i / 5].m,
                                   .n = sides[i / 5].n,
                                   .k = k,
                                   .tiling = {.block_n = 256, .block_k = narrow ? 256 : 128}};
            if (!is_mixed(pairs[p]) || k % 128 == 0)
                timed_case(&c);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_shapes),
        cmocka_unit_test(exact_arithmetic),
        cmocka_unit_test(tilings),
        cmocka_unit_test(all_ways_have_the_same_bits),
    };
    const struct CMUnitTest grids[] = {
        cmocka_unit_test(grid_of_scale_copies),
        cmocka_unit_test(grid_of_warp_specialized),
    };
    if (argc > 3) {
        shard = atol(argv[2]);
        shards = atol(argv[3]) > 0 ? atol(argv[3]) : 1;
    }
    if (argc > 1 && strcmp(argv[1], "grid") == 0)
        return cmocka_run_group_tests(grids, open_context, close_context);
    return cmocka_run_group_tests(tests, open_context, close_context);
}
