/* tcgen05_copy: the reference test's whole grid (which shapes exist, how many copy instructions,
 * where each reads and writes), refusals, the one-call API's checks, and that a sample
 * assembles. */
#include "typed_launch.h"
#include "ptx_text.h"
#include "test_context.h"

#include "ptxgen/matmul.h"
#include "tcgen05_copy/tcgen05_copy.h"

static bool make_plan(int m, int n, int block, int swizzle, pg_tcgen05_copy_plan *plan)
{
    const pg_arch *arch = pg_arch_find(1001);
    pg_tcgen05_copy_key key = {.arch = 1001, .m = m, .n = n, .block = block, .swizzle = swizzle};
    if (pg_tcgen05_copy_resolve(&key, arch, NULL) != PTXGEN_OK)
        return false;
    pg_tcgen05_copy_plan_from(&key, arch, plan);
    return true;
}

/* Tensor-memory tiles of 128 x block repeat over rows first, then over columns: (row, column) ->
 * column of TMEM. */
static int tmem_column(int m, int block, int row, int column)
{
    const int tiles_down = m / 128, tile = row / 128 + tiles_down * (column / block);
    return tile * block + column % block;
}

/* A shared-memory tile of column blocks as wide as the swizzle: byte offset before the swizzle. */
static int shared_offset(int m, int swizzle, int row, int column)
{
    const int block = column * 4 / swizzle;
    return block * m * swizzle + row * swizzle + column * 4 - block * swizzle;
}

static void check_copies(const pg_tcgen05_copy_plan *p)
{
    const int m = p->m, n = p->n;
    assert_int_equal(p->copies, m / 128 * (n / 8));
    for (int r = 0; r < m / 128; r++) {
        for (int c = 0; c < n; c += 8) {
            const int source = pg_tcgen05_copy_source(p, r, c),
                      target = pg_tcgen05_copy_target(p, r, c);
            assert_int_equal(source, shared_offset(m, p->swizzle, 128 * r, c));
            /* 8 columns of 128 rows: adjacent in tensor memory, one row apart by the swizzle in
             * shared memory. */
            for (int j = 0; j < 8; j++)
                assert_int_equal(target + j,
                                 m == 128 ? c + j : tmem_column(m, p->block, 128 * r, c + j));
            for (int i = 0; i < 128; i++)
                assert_int_equal(source + i * p->swizzle,
                                 shared_offset(m, p->swizzle, 128 * r + i, c));
            assert_true(target + 8 <= p->tmem_columns);
        }
    }
}

/* The reference grid: 183 combinations, of which its test skips 48 + 5. */
static void the_reference_grid_is_served(void **state)
{
    (void)state;
    int legal = 0, refused = 0;
    for (int block = 1; block <= 256; block *= 2) {
        for (int m = 128; m <= 256; m *= 2) {
            for (int n = 16; n <= 256; n *= 2) {
                for (int swizzle = 32; swizzle <= 128; swizzle *= 2) {
                    pg_tcgen05_copy_plan plan;
                    if (n < block || m * n * 4 > 228 * 1024)
                        continue;
                    const bool skipped = (m == 256 && swizzle / block >= 8) || n < swizzle / 4;
                    assert_int_equal(make_plan(m, n, block, swizzle, &plan), !skipped);
                    refused += skipped;
                    legal += !skipped;
                    if (!skipped)
                        check_copies(&plan);
                }
            }
        }
    }
    assert_int_equal(legal, 130);
    assert_int_equal(legal + refused, 183);
}

static void instruction_counts_in_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        int copies, loads;
    } cases[] = {
        {"m=128 n=16 swizzle=32", 2, 1},
        {"m=128 n=256 block=1", 32, 8},
        {"m=256 n=128 block=32", 32, 8},
        {"m=256 n=64 block=8 swizzle=32", 16, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_kernel *k = emit_kernel(context, "tcgen05_copy", cases[i].params);
        assert_int_equal(count_in_ptx(k, "tcgen05.cp.cta_group::1.128x256b"), cases[i].copies);
        assert_int_equal(count_in_ptx(k, "tcgen05.ld.sync"), cases[i].loads);
        assert_int_equal(count_in_ptx(k, "tcgen05.commit"), 1);
        assert_int_equal(count_in_ptx(k, "tcgen05.alloc."), count_in_ptx(k, "tcgen05.dealloc."));
        assert_int_equal(count_in_ptx(k, "fence.proxy.async.shared::cta"), 1);
        ptxgen_kernel_unref(k);
    }
}

static void what_no_copy_does_is_refused(void **state)
{
    (void)state;
    expect_refusal(context, "tcgen05_copy", "m=64", "128 rows");
    expect_refusal(context, "tcgen05_copy", "m=384 n=64", "m must be 128, 256 or 512");
    expect_refusal(context, "tcgen05_copy", "n=48", "power of two");
    expect_refusal(context, "tcgen05_copy", "n=8", "16 or more");
    expect_refusal(context, "tcgen05_copy", "m=512 n=256",
                   "1024 columns of tensor memory, there are 512");
    expect_refusal(context, "tcgen05_copy", "m=256 n=256", "262160 bytes of shared memory");
    expect_refusal(context, "tcgen05_copy", "swizzle=16", "must be swizzled by 32, 64 or 128");
    expect_refusal(context, "tcgen05_copy", "n=16 swizzle=128", "shorter than the swizzle");
    expect_refusal(context, "tcgen05_copy", "n=64 block=128", "power of two up to n=64");
    expect_refusal(context, "tcgen05_copy", "m=256 n=64 block=16 swizzle=128",
                   "use block=32 or more");
    expect_refusal(context, "tcgen05_copy", "arch=sm_90a", "use arch=sm_100a");
    expect_refusal(context, "tcgen05_copy", "arch=sm_120", "tensor memory");
    expect_refusal(context, "tcgen05_copy", "dtype=f16", "f32, s32, u32");
}

static void the_call_checks_its_arguments(void **state)
{
    (void)state;
    static _Alignas(16) char memory[2 * 128 * 16 * 4];
    const ptxgen_tcgen05_copy_args good = {.size = sizeof good,
                                           .dtype = PTXGEN_F32,
                                           .m = 128,
                                           .n = 16,
                                           .in = memory,
                                           .out = memory + 128 * 16 * 4};
    ptxgen_tcgen05_copy_args a = good;
    ptxgen_error err = {0};
    a.size = 0;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EINVAL);
    a = good;
    a.dtype = PTXGEN_F16;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EUNSUPPORTED);
    a = good;
    a.out = memory;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "overlap"));
    a = good;
    a.in = memory + 4;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "16-byte aligned"));
    a = good;
    a.in_stride = 18;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "multiple of 4 elements"));
    a.in_stride = 8;
    assert_int_equal(ptxgen_tcgen05_copy(context, &a, NULL, &err), PTXGEN_EINVAL);
}

/* The emulator's device is a Hopper, but the emulator takes PTX of any target. */
static void the_emulator_runs_a_blackwell_kernel(void **state)
{
    (void)state;
    static _Alignas(16) uint32_t in[128 * 16], out[128 * 16];
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    const ptxgen_tcgen05_copy_args a = {
        .size = sizeof a, .dtype = PTXGEN_U32, .m = 128, .n = 16, .in = in, .out = out};
    ptxgen *ctx;
    ptxgen_error err = {0};
    for (uint32_t i = 0; i < 128 * 16; i++)
        in[i] = i * 2654435761u;
    assert_int_equal(ptxgen_create(&config, &ctx, &err), PTXGEN_OK);
    if (ptxgen_tcgen05_copy(ctx, &a, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_memory_equal(out, in, sizeof in);
    ptxgen_destroy(ctx);
}

static void the_launch_record(void **state)
{
    (void)state;
    pg_tcgen05_copy_plan plan;
    pg_launch l;
    const ptxgen_tcgen05_copy_args a = {.size = sizeof a,
                                        .dtype = PTXGEN_F32,
                                        .m = 128,
                                        .n = 64,
                                        .out_stride = 68,
                                        .in_stride = 64};
    const ptxgen_device_info device = {.sm_count = 148};
    assert_true(make_plan(128, 64, 0, 0, &plan));
    typed_launch("tcgen05_copy", &a, &plan, &device, &l);
    assert_int_equal(l.grid[0] * l.grid[1] * l.grid[2], 1);
    assert_int_equal(l.block[0], 128);
    assert_int_equal(l.shared_bytes, 128 * 64 * 4 + 16);
    assert_int_equal(l.nargs, 4);
    assert_int_equal(l.args[2].u64, 68 * 4);
}

static void the_oracle_copies_rows_only(void **state)
{
    (void)state;
    enum { M = 128, N = 64, IN_STRIDE = N + 4, OUT_STRIDE = N + 8 };
    static uint32_t in[M * IN_STRIDE], out[M * OUT_STRIDE];
    for (uint32_t i = 0; i < M * IN_STRIDE; i++)
        in[i] = i;
    memset(out, 0xEE, sizeof out);
    const ptxgen_tcgen05_copy_args a = {.size = sizeof a,
                                        .dtype = PTXGEN_U32,
                                        .m = M,
                                        .n = N,
                                        .in = in,
                                        .out = out,
                                        .in_stride = IN_STRIDE,
                                        .out_stride = OUT_STRIDE};
    assert_int_equal(ptxgen_tcgen05_copy_oracle(&a, NULL), PTXGEN_OK);
    for (uint32_t i = 0; i < M * OUT_STRIDE; i++) {
        const uint32_t row = i / OUT_STRIDE, column = i % OUT_STRIDE;
        assert_int_equal(out[i], column < N ? row * IN_STRIDE + column : 0xEEEEEEEE);
    }
}

static void a_sample_assembles(void **state)
{
    (void)state;
    ptxgen *ctx = assembling_context();
    if (!ctx)
        skip();
    expect_assembles(ctx, "tcgen05_copy", "m=128 n=256 block=1 arch=sm_100a");
    expect_assembles(ctx, "tcgen05_copy", "m=256 n=128 block=32 arch=sm_100f dtype=u32");
    expect_assembles(ctx, "tcgen05_copy", "m=256 n=16 block=8 swizzle=32 arch=sm_103a");
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_grid_is_served),
        cmocka_unit_test(instruction_counts_in_the_text),
        cmocka_unit_test(what_no_copy_does_is_refused),
        cmocka_unit_test(the_call_checks_its_arguments),
        cmocka_unit_test(the_emulator_runs_a_blackwell_kernel),
        cmocka_unit_test(the_launch_record),
        cmocka_unit_test(the_oracle_copies_rows_only),
        cmocka_unit_test(a_sample_assembles),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
