/* Every kernel of the tensor-core families' grids, assembled for every target. Label `slow`:
 * minutes. */
#include "ptx_text.h"

static const char *const targets[] = {"sm_100a", "sm_100f", "sm_103a", "sm_103f"};
enum { TARGETS = sizeof targets / sizeof *targets };

static ptxgen *context;

static int open_context(void **state)
{
    (void)state;
    context = assembling_context();
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    ptxgen_destroy(context);
    return 0;
}

/* Assembles when the library accepts the parameters; returns whether it did. */
static bool assemble_if_accepted(const char *family, const char *params)
{
    char canonical[1024];
    if (ptxgen_canonical(family, params, canonical, sizeof canonical, NULL) != PTXGEN_OK)
        return false;
    expect_assembles(context, family, params);
    return true;
}

static void tcgen05_copy_assembles(void **state)
{
    (void)state;
    char params[128];
    int count = 0;
    if (!context)
        skip();
    for (int t = 0; t < TARGETS; t++)
        for (int block = 1; block <= 256; block *= 2)
            for (int m = 128; m <= 256; m *= 2)
                for (int n = 16; n <= 256; n *= 2)
                    for (int swizzle = 32; swizzle <= 128; swizzle *= 2) {
                        snprintf(params, sizeof params, "m=%d n=%d block=%d swizzle=%d arch=%s", m,
                                 n, block, swizzle, targets[t]);
                        count += assemble_if_accepted("tcgen05_copy", params);
                    }
    assert_int_equal(count, 130 * TARGETS);
}

/* Every block shape, stage count, swizzle and layout; the targets take turns. */
static void matmul_accumulate_assembles(void **state)
{
    (void)state;
    static const char *const c_words[] = {"", " schedule=seed", " c=none"};
    char params[160];
    int count = 0;
    if (!context)
        skip();
    for (int i = 0; i < 2 * 2 * 2 * 3 * 3; i++)
        for (int swizzle = 32; swizzle <= 128; swizzle *= 2)
            for (int stages = 2; stages <= 6; stages++) {
                const char *const target =
                    (i + stages) % 4 == 3 ? "sm_90a" : targets[(i + stages) % 4];
                snprintf(
                    params, sizeof params,
                    "dtype=%s b=%s ctas=%d block_n=%d block_k=%d swizzle=%d stages=%d arch=%s%s",
                    i % 2 ? "f16" : "bf16", i / 2 % 2 ? "row_major" : "transposed", 1 + i / 4 % 2,
                    64 << i / 8 % 3, 32 << i / 24, swizzle, stages, target,
                    strcmp(target, "sm_90a") == 0 ? "" : c_words[(i + swizzle / 32) % 3]);
                count += assemble_if_accepted("matmul_accumulate", params);
            }
    static const char *const parts[] = {"block_n=64 ctas_n=2",
                                        "block_n=128 ctas_n=2",
                                        "block_n=256 ctas_n=2",
                                        "block_n=128 splits=2",
                                        "block_n=256 splits=4",
                                        "block_n=256 splits=4 c=none",
                                        "block_n=256 ctas_n=4 d_store=tensor",
                                        "block_n=128 d_store=tensor d_dtype=f16 batched=yes"};
    for (size_t i = 0; i < 3 * sizeof parts / sizeof *parts; i++) {
        snprintf(params, sizeof params, "arch=%s ctas=%d %s", targets[i % TARGETS], 1 << i % 3,
                 parts[i / 3]);
        count += assemble_if_accepted("matmul_accumulate", params);
    }
    print_message("%d kernels of matmul_accumulate\n", count);
    assert_true(count > 300);
}

static void matmul_scaled_assembles(void **state)
{
    (void)state;
    static const char *const formats[][2] = {{"mxfp8", "mxfp8"},
                                             {"mxfp8", "mxfp4"},
                                             {"mxfp4", "mxfp8"},
                                             {"mxfp4", "mxfp4"},
                                             {"nvfp4", "nvfp4"}};
    static const char *const outs[] = {"f32", "f16", "bf16"};
    char params[160];
    int count = 0;
    if (!context)
        skip();
    for (int i = 0; i < 5 * 3 * 2 * 3; i++)
        for (int stages = 1; stages <= 6; stages++) {
            snprintf(params, sizeof params,
                     "a=%s b=%s out=%s block_n=%d block_k=%d stages=%d arch=%s", formats[i % 5][0],
                     formats[i % 5][1], outs[i / 5 % 3], 128 << i / 15 % 2, 128 << i / 30, stages,
                     targets[(i + stages) % TARGETS]);
            count += assemble_if_accepted("matmul_scaled", params);
        }
    static const char *const parts[] = {"ctas=2",
                                        "ctas=2 ctas_n=2",
                                        "ctas_n=2",
                                        "splits=2 ctas=2",
                                        "splits=4 ctas=2",
                                        "splits=2",
                                        "ctas=2 ctas_n=4 d_store=tensor",
                                        "ctas=4",
                                        "ctas=4 ctas_n=2 d_store=tensor"};
    for (size_t i = 0; i < 5 * 2 * sizeof parts / sizeof *parts; i++) {
        snprintf(params, sizeof params, "a=%s b=%s block_n=%d %s arch=%s", formats[i % 5][0],
                 formats[i % 5][1], 128 << i / 5 % 2, parts[i / 10], targets[i % TARGETS]);
        count += assemble_if_accepted("matmul_scaled", params);
    }
    print_message("%d kernels of matmul_scaled\n", count);
    assert_true(count > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tcgen05_copy_assembles),
        cmocka_unit_test(matmul_accumulate_assembles),
        cmocka_unit_test(matmul_scaled_assembles),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
