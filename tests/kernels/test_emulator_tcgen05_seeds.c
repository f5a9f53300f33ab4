/* The Blackwell kernels in the emulator's checking mode: right, and without a report, over seeds of
 * order=isa.
 *
 *     test_emulator_tcgen05_seeds [SEEDS (3)]
 *
 * Problems are small, yet every ring of stages and accumulators goes round at least twice. */
#include "emulated_matmul.h"
#include "scaled_case.h"
#include "test_context.h"

static uint64_t seeds = 3;

static void check_call(const char *family, const char *params, const void *args,
                       const emulated_buffer *buffers, size_t count, uint64_t seed)
{
    const emulated_call call = {.family = family,
                                .params = params,
                                .args = args,
                                .buffers = buffers,
                                .buffer_count = count,
                                .sm_count = 2,
                                .check = true,
                                .isa_seed = seed};
    emulate_call(context, &call);
}

/* ---- tcgen05_copy ---- */

enum { MOST_WORDS = 256 * 64 };

static void copy_once(int m, int n, const char *layout, uint64_t seed)
{
    static uint32_t in[MOST_WORDS], out[MOST_WORDS];
    char params[128];
    const ptxgen_tcgen05_copy_args args = {.size = sizeof args,
                                           .dtype = PTXGEN_U32,
                                           .m = m,
                                           .n = n,
                                           .in = in,
                                           .out = out,
                                           .in_stride = n,
                                           .out_stride = n};
    const size_t bytes = (size_t)(m * n) * sizeof *in;
    for (int i = 0; i < m * n; i++)
        in[i] = (uint32_t)i * UINT32_C(0x9e3779b1) + (uint32_t)seed;
    memset(out, 0, bytes);
    snprintf(params, sizeof params, "arch=sm_100a dtype=u32 m=%d n=%d %s", m, n, layout);
    const emulated_buffer buffers[] = {{"in", in, bytes, false}, {"out", out, bytes, true}};
    check_call("tcgen05_copy", params, &args, buffers, 2, seed);
    assert_memory_equal(out, in, bytes);
}

static void copies_have_no_race(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed <= seeds; seed++) {
        copy_once(128, 32, "swizzle=128", seed);
        copy_once(128, 64, "swizzle=32", seed);
        copy_once(256, 64, "block=32 swizzle=64", seed);
    }
}

/* ---- matmul_accumulate ---- */

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);
    if (value)
        snprintf(text + used, size - used, " %s=%lld", name, (long long)value);
}

static void add_tiling(char *text, size_t size, const ptxgen_matmul_tiling *t)
{
    add_number(text, size, "block_n", t->block_n);
    add_number(text, size, "block_k", t->block_k);
    add_number(text, size, "stages", t->stages);
    add_number(text, size, "group_m", t->group_m);
    add_number(text, size, "swizzle", t->swizzle);
    add_number(text, size, "ctas", t->ctas);
}

static void accumulate_once(const matmul_case *problem, const char *more, uint64_t seed)
{
    char params[256];
    matmul_data x;
    matmul_case_make(problem, &x);
    snprintf(params, sizeof params, "arch=sm_100a dtype=%s b=%s %s", problem->bf16 ? "bf16" : "f16",
             problem->b_transposed ? "transposed" : "row_major", more);
    add_tiling(params, sizeof params, &problem->tiling);
    emulate_matmul(
        context, &x,
        (emulated_call){.params = params, .sm_count = 2, .check = true, .isa_seed = seed});
    matmul_case_compare(&x, x.args.d);
    matmul_case_free(&x);
}

static void single_ctas_have_no_race(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 150,
         .n = 330,
         .k = 90,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2},
         .d_pad = 1},
        {.m = 300,
         .n = 130,
         .k = 50,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .swizzle = 32},
         .b_transposed = true,
         .bf16 = true,
         .in_place = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            accumulate_once(&cases[i], seed % 2 ? "schedule=seed" : "schedule=fill", seed);
}

static void pairs_have_no_race(void **state)
{
    (void)state;
    static const matmul_case cases[] = {
        {.m = 270,
         .n = 130,
         .k = 90,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2},
         .d_pad = 1},
        {.m = 200,
         .n = 190,
         .k = 70,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 3, .ctas = 2},
         .b_transposed = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            accumulate_once(&cases[i], seed % 2 ? "schedule=seed" : "schedule=fill", seed);
}

/* Clusters of several parts: tiles side by side, an odd number of them; one below the other, some
 * all outside of D; K in parts, one of them empty. */
static void parts_of_clusters_have_no_race(void **state)
{
    (void)state;
    static const struct {
        matmul_case c;
        const char *more;
    } cases[] = {
        {{.m = 150, .n = 330, .k = 90, .tiling = {.block_n = 64, .block_k = 32, .stages = 2}},
         "ctas_n=2"},
        {{.m = 270,
          .n = 330,
          .k = 90,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2},
          .b_transposed = true,
          .d_pad = 1},
         "ctas_n=2"},
        {{.m = 1100,
          .n = 190,
          .k = 90,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 4},
          .b_transposed = true},
         ""},
        {{.m = 600,
          .n = 330,
          .k = 90,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 4},
          .d_pad = 2},
         "ctas_n=2 tiles=dynamic"},
        {{.m = 150, .n = 130, .k = 200, .tiling = {.block_n = 128, .block_k = 32, .stages = 2}},
         "splits=2"},
        {{.m = 150,
          .n = 190,
          .k = 230,
          .tiling = {.block_n = 128, .block_k = 32, .stages = 2, .ctas = 2},
          .in_place = true},
         "splits=2"},
        {{.m = 140,
          .n = 200,
          .k = 90,
          .tiling = {.block_n = 256, .block_k = 32, .stages = 2, .ctas = 2},
          .alpha = 0.5F,
          .beta = 3},
         "splits=4 scale=alpha_beta"},
        {{.m = 20, .n = 70, .k = 40, .no_c = true, .tiling = {.block_n = 256, .block_k = 32}},
         "splits=4 c=none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            accumulate_once(&cases[i].c, cases[i].more, seed);
}

/* D by sub-tiles, which its map cuts off at odd rows and columns; both slots go round. */
static void sub_tiles_have_no_race(void **state)
{
    (void)state;
    static const struct {
        matmul_case c;
        const char *more;
    } cases[] = {
        {{.m = 150, .n = 332, .k = 90, .tiling = {.block_n = 64, .block_k = 32, .stages = 2}}, ""},
        {{.m = 270,
          .n = 196,
          .k = 90,
          .d_pad = 4,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2}},
         ""},
        {{.m = 300, .n = 132, .k = 50, .tiling = {.block_n = 64, .block_k = 32, .stages = 2}}, ""},
        {{.m = 140,
          .n = 330,
          .k = 40,
          .no_c = true,
          .d_dtype = PTXGEN_F16,
          .d_pad = 6,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2}},
         "c=none d_dtype=f16 ctas_n=2"},
        {{.m = 200,
          .n = 700,
          .k = 70,
          .b_transposed = true,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2}},
         "ctas_n=4"},
        {{.m = 530,
          .n = 200,
          .k = 70,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 4}},
         "ctas_n=2"},
        {{.m = 150, .n = 132, .k = 200, .tiling = {.block_n = 128, .block_k = 32, .stages = 2}},
         "splits=2"},
    };
    char more[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++) {
            snprintf(more, sizeof more, "d_store=tensor %s", cases[i].more);
            accumulate_once(&cases[i].c, more, seed);
        }
}

/* Tiles given out: more than the ring of answers has places, and requests that a seed refuses; with
 * C, two of them known ahead. */
static void tiles_given_out_have_no_race(void **state)
{
    (void)state;
    static const struct {
        matmul_case c;
        const char *more;
    } cases[] = {
        {{.m = 300, .n = 330, .k = 70, .tiling = {.block_n = 64, .block_k = 32, .stages = 2}}, ""},
        {{.m = 300,
          .n = 200,
          .k = 40,
          .no_c = true,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2}},
         "c=none d_store=tensor"},
        {{.m = 500,
          .n = 330,
          .k = 70,
          .in_place = true,
          .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2}},
         "ctas_n=2"},
        {{.m = 20, .n = 40, .k = 70, .tiling = {.block_n = 64, .block_k = 32, .stages = 2}}, ""},
    };
    char more[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++) {
            snprintf(more, sizeof more, "tiles=dynamic %s", cases[i].more);
            accumulate_once(&cases[i].c, more, seed);
        }
}

/* ---- matmul_scaled ---- */

static void scaled_once(const scaled_case *problem, const char *more, uint64_t seed)
{
    static const char *const formats[] = {
        [PTXGEN_MXFP8] = "mxfp8", [PTXGEN_MXFP4] = "mxfp4", [PTXGEN_NVFP4] = "nvfp4"};
    enum { MOST_COMPARED = 1 << 20 };
    char params[256];
    scaled_data x;
    scaled_case_make(problem, &x);
    snprintf(params, sizeof params, "arch=sm_100a a=%s b=%s out=%s", formats[problem->a_format],
             formats[problem->b_format], problem->out == PTXGEN_F32 ? "f32" : "f16");
    add_tiling(params, sizeof params, &problem->tiling);
    const size_t used = strlen(params);
    snprintf(params + used, sizeof params - used, " %s", more);
    const emulated_buffer buffers[] = {{"a", x.a, x.a_bytes, false},
                                       {"b", x.b, x.b_bytes, false},
                                       {"a_scales", x.a_scales, x.a_scale_bytes, false},
                                       {"b_scales", x.b_scales, x.b_scale_bytes, false},
                                       {"d", x.d, x.d_bytes, true}};
    check_call("matmul_scaled", params, &x.args, buffers, 5, seed);
    scaled_case_compare(&x, MOST_COMPARED);
    scaled_case_free(&x);
}

static void scaled_kernels_have_no_race(void **state)
{
    (void)state;
    static const scaled_case cases[] = {
        {.a_format = PTXGEN_MXFP8,
         .b_format = PTXGEN_MXFP8,
         .out = PTXGEN_F32,
         .m = 150,
         .n = 500,
         .k = 400,
         .tiling = {.block_n = 128, .block_k = 128, .stages = 2}},
        {.a_format = PTXGEN_MXFP8,
         .b_format = PTXGEN_MXFP4,
         .out = PTXGEN_F16,
         .m = 130,
         .n = 300,
         .k = 384,
         .tiling = {.block_n = 128, .block_k = 128, .stages = 2}},
        {.a_format = PTXGEN_NVFP4,
         .b_format = PTXGEN_NVFP4,
         .out = PTXGEN_F32,
         .m = 70,
         .n = 700,
         .k = 700,
         .tiling = {.block_n = 128, .block_k = 256, .stages = 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            scaled_once(&cases[i], "", seed);
}

/* Wide tiles, whose accumulators overlap and whose slots for scales may be fewer than stages; pairs
 * in all kinds; parts of K, one of them empty. */
static void scaled_pairs_and_parts_have_no_race(void **state)
{
    (void)state;
    static const struct {
        scaled_case c;
        const char *more;
    } cases[] = {
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F32, 70, 1500, 1500,
          .tiling = {.block_n = 256, .block_k = 256, .stages = 4}},
         "ctas=1"},
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F16, 300, 1100, 1200,
          .tiling = {.block_n = 256, .block_k = 256, .stages = 3}},
         "ctas=2"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP8, PTXGEN_F32, 500, 600, 400,
          .tiling = {.block_n = 256, .block_k = 128, .stages = 2}},
         "ctas=2"},
        {{PTXGEN_MXFP4, PTXGEN_MXFP4, PTXGEN_F16, 260, 300, 900,
          .tiling = {.block_n = 128, .block_k = 256, .stages = 2}},
         "ctas=2"},
        {{PTXGEN_MXFP4, PTXGEN_MXFP8, PTXGEN_F16, 200, 300, 640,
          .tiling = {.block_n = 256, .block_k = 128, .stages = 2}},
         "ctas=2 splits=4"},
        {{PTXGEN_MXFP4, PTXGEN_MXFP8, PTXGEN_F32, 300, 700, 384,
          .tiling = {.block_n = 256, .block_k = 128, .stages = 2}},
         "ctas=2 ctas_n=2"},
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F16, 140, 300, 1100,
          .tiling = {.block_n = 128, .block_k = 256, .stages = 3}},
         "ctas=1 ctas_n=2"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP8, PTXGEN_F32, 130, 140, 500,
          .tiling = {.block_n = 128, .block_k = 128, .stages = 2}},
         "ctas=1 splits=2"},
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F16, 140, 1112, 700,
          .tiling = {.block_n = 128, .block_k = 256, .stages = 2}},
         "ctas=2 ctas_n=4 d_store=tensor"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP8, PTXGEN_F32, 300, 600, 400,
          .tiling = {.block_n = 256, .block_k = 128, .stages = 2}},
         "ctas=2 d_store=tensor"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP8, PTXGEN_F16, 300, 900, 256,
          .tiling = {.block_n = 128, .block_k = 128, .stages = 2}},
         "ctas=2 ctas_n=2 tiles=dynamic"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP4, PTXGEN_F16, 600, 712, 256,
          .tiling = {.block_n = 128, .block_k = 128, .stages = 2}},
         "ctas=4 ctas_n=2 d_store=tensor"},
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F32, 300, 700, 700,
          .tiling = {.block_n = 256, .block_k = 256, .stages = 2}},
         "ctas=4 tiles=dynamic"},
        {{PTXGEN_MXFP8, PTXGEN_MXFP4, PTXGEN_F32, 150, 140, 640,
          .tiling = {.block_n = 256, .block_k = 128, .stages = 1}},
         "splits=4 d_store=tensor"},
        {{PTXGEN_NVFP4, PTXGEN_NVFP4, PTXGEN_F32, 40, 140, 100,
          .tiling = {.block_n = 256, .block_k = 256, .stages = 2}},
         "ctas=1 splits=4"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= seeds; seed++)
            scaled_once(&cases[i].c, cases[i].more, seed);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        seeds = (uint64_t)atoi(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_have_no_race),
        cmocka_unit_test(single_ctas_have_no_race),
        cmocka_unit_test(pairs_have_no_race),
        cmocka_unit_test(parts_of_clusters_have_no_race),
        cmocka_unit_test(sub_tiles_have_no_race),
        cmocka_unit_test(tiles_given_out_have_no_race),
        cmocka_unit_test(scaled_kernels_have_no_race),
        cmocka_unit_test(scaled_pairs_and_parts_have_no_race),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
