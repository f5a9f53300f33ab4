/* matmul_scaled: packed scales against their definition, plan numbers and instruction counts,
 * where each scale ends up in tensor memory (a model of the copy and of what the multiplication
 * reads), refusals, launch records, the one-call API's checks, the oracle, and that a sample
 * assembles. */
#include "typed_launch.h"
#include "ptx_text.h"
#include "test_context.h"

#include "base/half.h"
#include "common/small_floats.h"
#include "matmul_scaled/matmul_scaled.h"

static pg_matmul_scaled_plan plan_of(const char *params)
{
    const pg_param_table *t = &pg_family_matmul_scaled.params;
    const pg_arch *arch = pg_arch_find(1001);
    pg_matmul_scaled_key key;
    pg_matmul_scaled_plan plan;
    ptxgen_error err = {0};
    pg_params_default(t, &key, 1001);
    if (pg_params_parse(t, params, &key, &err) != PTXGEN_OK ||
        pg_matmul_scaled_resolve(&key, arch, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    pg_matmul_scaled_plan_from(&key, arch, &plan);
    return plan;
}

static void plans_fit_their_box(void **state)
{
    (void)state;
    assert_true(sizeof(pg_matmul_scaled_plan) <= PG_PLAN_MAX_BYTES);
    assert_true(sizeof(pg_matmul_scaled_key) <= PG_KEY_MAX_BYTES);
}

/* The definition: reshape (rows / 128, 4, 32, groups / 4, 4), permute to (0, 3, 2, 1, 4). */
static void scales_are_packed_as_defined(void **state)
{
    (void)state;
    enum { ROWS = 300, GROUPS = 22, STRIDE = 25, BLOCKS = 3, WORDS = 6 };
    static uint8_t scales[ROWS * STRIDE], packed[BLOCKS * WORDS * 512];
    for (int i = 0; i < ROWS * STRIDE; i++)
        scales[i] = (uint8_t)(i * 37 % 255 + 1);
    assert_int_equal(ptxgen_packed_scales_bytes(ROWS, GROUPS), sizeof packed);
    memset(packed, 0xEE, sizeof packed);
    ptxgen_pack_scales(scales, ROWS, GROUPS, STRIDE, packed);
    const uint8_t *p = packed;
    for (int block = 0; block < BLOCKS; block++)
        for (int word = 0; word < WORDS; word++)
            for (int r = 0; r < 32; r++)
                for (int quarter = 0; quarter < 4; quarter++)
                    for (int byte = 0; byte < 4; byte++) {
                        const int row = block * 128 + quarter * 32 + r, group = word * 4 + byte;
                        const bool inside = row < ROWS && group < GROUPS;
                        assert_int_equal(*p++, inside ? scales[row * STRIDE + group] : 0);
                    }
}

static void small_floats(void **state)
{
    (void)state;
    static const struct {
        uint8_t bits;
        double value;
    } e4m3[] = {{0x00, 0},     {0x01, 1.0 / 512}, {0x07, 7.0 / 512}, {0x08, 1.0 / 64}, {0x38, 1},
                {0x39, 1.125}, {0x7E, 448},       {0xB8, -1},        {0xFE, -448}};
    for (size_t i = 0; i < sizeof e4m3 / sizeof *e4m3; i++)
        assert_true(pg_e4m3_to_double(e4m3[i].bits) == e4m3[i].value);
    assert_true(pg_e4m3_to_double(0x7F) != pg_e4m3_to_double(0x7F));
    assert_true(pg_e2m1_to_double(1) == 0.5 && pg_e2m1_to_double(7) == 6 &&
                pg_e2m1_to_double(0xF) == -6);
    assert_true(pg_e8m0_to_double(127) == 1 && pg_e8m0_to_double(120) == 1.0 / 128);
    assert_true(pg_e8m0_to_double(0) == 0x1p-127 &&
                pg_e8m0_to_double(0xFF) != pg_e8m0_to_double(0xFF));
}

static void instruction_counts_in_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *params, *kind;
        int multiplications, copies, loads;
    } cases[] = {
        /* multiplications = block_k / 32 (8-bit) or / 64; copies = words of 4 scales x blocks of
         * 128 rows; loads = one per 128 bytes of K of A and of B, and one each for the scales */
        {"block_n=256 block_k=128", "mxf8f6f4.block_scale.block32", 4, 1 * 3, 1 + 1 + 2},
        {"block_n=128 block_k=256", "mxf8f6f4.block_scale.block32", 8, 2 * 2, 2 + 2 + 2},
        {"a=mxfp4 b=mxfp8 block_n=256 block_k=128", "mxf8f6f4.block_scale.block32", 4, 1 * 3,
         1 + 1 + 2},
        {"a=mxfp4 b=mxfp4 block_n=256 block_k=256", "mxf4.block_scale.block32", 4, 2 * 3,
         1 + 1 + 2},
        {"a=mxfp4 b=mxfp4 block_n=128 block_k=128", "mxf4.block_scale.block32", 2, 1 * 2,
         1 + 1 + 2},
        {"a=nvfp4 b=nvfp4 block_n=256 block_k=512", "mxf4nvf4.block_scale.block16", 8, 8 * 3,
         2 + 2 + 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_kernel *k = emit_kernel(context, "matmul_scaled", cases[i].params);
        const pg_matmul_scaled_plan p = plan_of(cases[i].params);
        assert_int_equal(p.multiplications, cases[i].multiplications);
        assert_int_equal(p.copies, cases[i].copies);
        assert_int_equal(p.a.loads + p.b.loads + 2, cases[i].loads);
        assert_int_equal(count_in_ptx(k, cases[i].kind), cases[i].multiplications);
        assert_int_equal(count_in_ptx(k, "tcgen05.mma."), cases[i].multiplications);
        assert_int_equal(count_in_ptx(k, "tcgen05.cp.cta_group::1.32x128b.warpx4"),
                         cases[i].copies);
        assert_int_equal(count_in_ptx(k, "cp.async.bulk.tensor"), cases[i].loads);
        assert_int_equal(count_in_ptx(k, "cp.async.bulk.tensor.5d"), 2);
        ptxgen_kernel_unref(k);
    }
}

static void descriptors_name_the_scale(void **state)
{
    (void)state;
    const pg_matmul_scaled_plan fp8 = plan_of("block_n=256"),
                                fp4 = plan_of("a=mxfp4 b=mxfp4 block_n=256");
    const pg_matmul_scaled_plan nv = plan_of("a=nvfp4 b=nvfp4 block_n=256");
    const pg_matmul_scaled_plan mixed = plan_of("a=mxfp8 b=mxfp4 block_n=128");
    for (uint32_t step = 0; step < 4; step++) {
        assert_int_equal(pg_matmul_scaled_instruction(&fp8, (int)step),
                         0x08C00000 | step << 29 | step << 4);
        const uint32_t half = step % 2 * 2;
        assert_int_equal(pg_matmul_scaled_instruction(&fp4, (int)step),
                         0x08C00480 | half << 29 | half << 4);
        assert_int_equal(pg_matmul_scaled_instruction(&nv, (int)step), 0x08400480);
    }
    assert_int_equal(pg_matmul_scaled_instruction(&mixed, 0), 0x08A01400);
}

/* A chunk holds 128 rows x 4 groups; the copy puts byte (r, 4 c + g) of its 32 rows of 16 bytes
 * to lane r (and its three copies), column c. A multiplication reads the scale of row i from
 * lane i % 32, column i / 32 of its base, from byte `id` on. */
static void scales_lie_where_the_multiplication_reads(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "block_n=256 block_k=256 stages=1", "a=nvfp4 b=nvfp4 block_n=256",
        "a=mxfp4 b=mxfp4 block_k=512 stages=1", "a=mxfp8 b=mxfp4 block_n=128"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pg_matmul_scaled_plan p = plan_of(cases[c]);
        const pg_scaled_operand *const operands[] = {&p.a, &p.b};
        for (int o = 0; o < 2; o++)
            for (int step = 0; step < p.multiplications; step++)
                for (int s = 0; s < p.step_scales; s++)
                    for (int row = 0; row < operands[o]->rows; row++) {
                        const int group = step * p.step_scales + s; /* of the stage */
                        const int id =
                            (int)(pg_matmul_scaled_instruction(&p, step) >> (o ? 4 : 29) & 3);
                        const int base = step * p.step_scales / 4 * operands[o]->scale_blocks * 4;
                        const int target =
                            pg_matmul_scaled_scale_target(operands[o], row / 128, group / 4);
                        assert_int_equal(base + row / 32, target + row % 128 / 32);
                        assert_int_equal(id + s, group % 4);
                    }
    }
}

static void everything_has_its_place(void **state)
{
    (void)state;
    static const char *const formats[][2] = {{"mxfp8", "mxfp8"},
                                             {"mxfp8", "mxfp4"},
                                             {"mxfp4", "mxfp8"},
                                             {"mxfp4", "mxfp4"},
                                             {"nvfp4", "nvfp4"}};
    for (size_t f = 0; f < 5; f++)
        for (int n = 128; n <= 256; n *= 2)
            for (int k = 128; k <= 512; k *= 2) {
                char params[96];
                snprintf(params, sizeof params, "a=%s b=%s block_n=%d block_k=%d", formats[f][0],
                         formats[f][1], n, k);
                const pg_matmul_scaled_plan p =
                    plan_of(params); /* every one of the reference's blocks exists */
                assert_true(p.head.shared_bytes <= 227 * 1024);
                assert_int_equal((p.a.bytes | p.b.bytes | p.b.offset | p.a.offset) % 1024, 0);
                assert_int_equal((p.a.scale_offset | p.b.scale_offset) % 128, 0);
                assert_true(p.b.offset >= p.stages * p.a.bytes);
                assert_true(p.a.scale_offset >= p.b.offset + p.stages * p.b.bytes);
                assert_true(p.full >= p.b.scale_offset + p.stages * p.b.scale_bytes &&
                            p.full % 8 == 0);
                assert_true(p.a.scale_column >= (p.accumulators - 1) * p.accumulator_step + n);
                assert_true(p.accumulator_step == n || 2 * p.accumulator_step == n);
                assert_true(p.scale_slots >= 1 && p.scale_slots <= p.stages);
                assert_true(p.a.scale_column + p.scale_slots * p.scale_stage_columns <=
                            p.tmem_columns);
                assert_true(p.tmem_columns <= 512);
                /* a padded 4-bit row takes its bytes twice in shared memory, but is counted once */
                assert_int_equal(p.a.load_bytes * (p.a.padded ? 2 : 1), p.a.bytes);
                assert_int_equal(p.a.padded, f == 2);
                assert_int_equal(p.b.padded, f == 1);
            }
}

static void what_does_not_exist_is_refused(void **state)
{
    (void)state;
    expect_refusal(context, "matmul_scaled", "a=nvfp4 b=mxfp4",
                   "use nvfp4 for both or for neither");
    expect_refusal(context, "matmul_scaled", "block_n=64", "blocks of 128 columns");
    expect_refusal(context, "matmul_scaled", "block_k=64", "use 128, 256 or 512");
    expect_refusal(context, "matmul_scaled", "block_k=512 stages=2", "use stages=1 or less");
    expect_refusal(context, "matmul_scaled", "arch=sm_90a", "tensor memory");
}

static ptxgen_matmul_scaled_args small_args(void)
{
    static _Alignas(32) uint8_t memory[5][8192];
    return (ptxgen_matmul_scaled_args){.size = sizeof(ptxgen_matmul_scaled_args),
                                       .a_format = PTXGEN_MXFP8,
                                       .b_format = PTXGEN_MXFP8,
                                       .out = PTXGEN_F16,
                                       .m = 8,
                                       .n = 16,
                                       .k = 128,
                                       .a = memory[0],
                                       .b = memory[1],
                                       .a_scales = memory[2],
                                       .b_scales = memory[3],
                                       .d = memory[4]};
}

static void expect_call(const ptxgen_matmul_scaled_args *a, ptxgen_status status, const char *says)
{
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_matmul_scaled(context, a, NULL, &err), status);
    if (says && !strstr(err.message, says))
        fail_msg("\"%s\" is not in: %s", says, err.message);
}

static void the_call_checks_its_arguments(void **state)
{
    (void)state;
    ptxgen_matmul_scaled_args a = small_args();
    a.size = 0;
    expect_call(&a, PTXGEN_EINVAL, "sizeof(ptxgen_matmul_scaled_args)");
    a = small_args(), a.a_format = (ptxgen_scaled_format)7;
    expect_call(&a, PTXGEN_EINVAL, "a=7 is not one of: mxfp8");
    a = small_args(), a.k = 0;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "k=0 is out of range");
    a = small_args(), a.b_format = PTXGEN_MXFP4, a.k = 192;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "multiple of 128");
    a = small_args(), a.a_format = a.b_format = PTXGEN_NVFP4, a.k = 17;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "not a multiple of 8: use k divisible by 2");
    a = small_args(), a.b_format = PTXGEN_MXFP4, a.b = (const uint8_t *)a.b + 16;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "32-byte aligned");
    a = small_args(), a.a_stride = 136;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "multiple of 16 elements");
    a = small_args(), a.b_scales = NULL;
    expect_call(&a, PTXGEN_EINVAL, "b_scales is NULL");
    a = small_args(), a.d = (void *)(uintptr_t)a.a_scales;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "d and a_scales overlap");
    a = small_args(), a.out = PTXGEN_S32;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "d holds s32: use f32, f16, bf16, e4m3, e5m2 or e2m1");
    a = small_args(), a.n = 0;
    expect_call(&a, PTXGEN_OK, NULL);
}

/* Few tiles: narrow ones, on more SMs; many: wide ones, which read less. What is given stays. */
static void the_tile_follows_the_problem(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, k, given, want;
    } cases[] = {{1024, 1024, 2048, 0, 128},
                 {128, 8192, 8192, 0, 128},
                 {8192, 8192, 8192, 0, 256},
                 {8192, 8192, 8192, 128, 128},
                 {1024, 1024, 2048, 256, 256}};
    const ptxgen_device_info device = {.sm_count = 148};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int64_t format = PTXGEN_MXFP8; format <= PTXGEN_NVFP4; format++) {
            pg_problem p = {.device = &device};
            pg_matmul_scaled_key k = {
                .arch = 1001, .a = format, .b = format, .block_n = cases[i].given};
            p.symbol[PG_SCALED_M] = cases[i].m;
            p.symbol[PG_SCALED_N] = cases[i].n;
            p.symbol[PG_SCALED_K] = cases[i].k;
            pg_matmul_scaled_choose(&p, &k);
            assert_int_equal(k.block_n, cases[i].want);
        }
}

static void the_launch_record(void **state)
{
    (void)state;
    const ptxgen_device_info device = {.sm_count = 148};
    pg_launch l;
    ptxgen_matmul_scaled_args a = small_args();
    a.m = 500, a.n = 600, a.k = a.a_stride = a.b_stride = 640, a.d_stride = 608,
    a.b_format = PTXGEN_MXFP4;
    pg_matmul_scaled_plan p = plan_of("a=mxfp8 b=mxfp4 out=f16 block_n=256 block_k=128");
    typed_launch("matmul_scaled", &a, &p, &device, &l);
    assert_int_equal(l.grid[0], 4 * 3);
    assert_int_equal(l.nargs, 13);
    assert_int_equal(l.args[0].tensor.type, PG_TENSOR_U8);
    assert_int_equal(l.args[0].tensor.box[0], 128);
    assert_int_equal(l.args[1].tensor.type, PG_TENSOR_16U4_ALIGN16B);
    assert_int_equal(l.args[1].tensor.dims[0], 640);
    assert_int_equal(l.args[1].tensor.strides[0], 320);
    assert_int_equal(l.args[1].tensor.box[0], 128);
    assert_int_equal(l.args[1].tensor.box[1], 256);
    assert_int_equal(l.args[2].tensor.rank, 5);
    assert_int_equal(l.args[2].tensor.dims[2], 5); /* 640 / 32 / 4 */
    assert_int_equal(l.args[2].tensor.dims[3], 4);
    assert_int_equal(l.args[3].tensor.dims[3], 5); /* 600 / 128, rounded up */
    assert_int_equal(l.args[3].tensor.box[3], 2);
    assert_int_equal(l.args[3].tensor.strides[2], 5 * 512);
    assert_int_equal(l.args[5].u64, 608 * 2);
    assert_int_equal(l.args[12].u32, 32);
    p = plan_of("a=mxfp4 b=mxfp4 block_k=128");
    a.a_format = PTXGEN_MXFP4;
    typed_launch("matmul_scaled", &a, &p, &device, &l);
    assert_int_equal(l.args[0].tensor.dims[0], 320); /* packed: bytes */
    assert_int_equal(l.args[0].tensor.box[0], 64);
    assert_int_equal(l.args[0].tensor.swizzle, PG_SWIZZLE_64B);
}

/* k = 48: three nvfp4 groups, or one and a half mx groups. */
static void the_oracle_scales_and_multiplies(void **state)
{
    (void)state;
    enum { K = 48, MIXED_K = 128, BLOCKS = MIXED_K / 32 };
    uint8_t a[K / 2], b[MIXED_K], a8[MIXED_K], raw[2 * BLOCKS], a_scales[512], b_scales[512];
    float d[2];
    memset(a, 0x22, sizeof a);                       /* 1.0 everywhere */
    memset(a8, 0x38, sizeof a8);                     /* 1.0 */
    memset(b, 0x22, K / 2);                          /* row 0: 1.0 */
    memset(b + K / 2, 0xC4, K / 2);                  /* row 1: even 2.0, odd -2.0 */
    const uint8_t nv[] = {0x38, 0x40, 0x30};         /* 1, 2, 0.5 */
    const uint8_t mx[BLOCKS] = {127, 128, 127, 127}; /* 1, 2, 1, 1 */
    ptxgen_pack_scales(nv, 1, 3, 0, a_scales);
    memcpy(raw, nv, 3), memcpy(raw + 3, nv, 3);
    ptxgen_pack_scales(raw, 2, 3, 0, b_scales);
    ptxgen_matmul_scaled_args args = {.size = sizeof args,
                                      .a_format = PTXGEN_NVFP4,
                                      .b_format = PTXGEN_NVFP4,
                                      .out = PTXGEN_F32,
                                      .m = 1,
                                      .n = 2,
                                      .k = K,
                                      .a = a,
                                      .b = b,
                                      .a_scales = a_scales,
                                      .b_scales = b_scales,
                                      .d = d};
    assert_int_equal(ptxgen_matmul_scaled_oracle(&args, NULL), PTXGEN_OK);
    assert_true(d[0] == 16 * (1 + 4 + 0.25F) && d[1] == 0);
    args.a_format = PTXGEN_MXFP8, args.b_format = PTXGEN_MXFP4, args.a = a8;
    args.k = MIXED_K; /* what the kernels take */
    memset(b, 0x22, MIXED_K / 2);
    memset(b + MIXED_K / 2, 0xC4, MIXED_K / 2);
    ptxgen_pack_scales(mx, 1, BLOCKS, 0, a_scales);
    memcpy(raw, mx, BLOCKS), memcpy(raw + BLOCKS, mx, BLOCKS);
    ptxgen_pack_scales(raw, 2, BLOCKS, 0, b_scales);
    assert_int_equal(ptxgen_matmul_scaled_oracle(&args, NULL), PTXGEN_OK);
    assert_true(d[0] == 32 * (1 + 4 + 1 + 1) && d[1] == 0);
}

static void a_sample_assembles(void **state)
{
    (void)state;
    ptxgen *ctx = assembling_context();
    if (!ctx)
        skip();
    expect_assembles(ctx, "matmul_scaled", "a=mxfp8 b=mxfp4 out=bf16 arch=sm_100f");
    expect_assembles(ctx, "matmul_scaled", "a=mxfp4 b=mxfp4 out=f16 block_n=128 arch=sm_100a");
    expect_assembles(ctx, "matmul_scaled", "a=nvfp4 b=nvfp4 out=f32 block_k=512 arch=sm_103a");
    ptxgen_destroy(ctx);
}

/* What no kernel has is left for resolve to refuse, with its reason. */
static void no_tile_is_chosen_for_a_tiny_block_k(void **state)
{
    (void)state;
    const ptxgen_device_info device = {.sm_count = 4};
    pg_matmul_scaled_key k = {.arch = 1001, .block_k = 1};
    pg_problem p;
    pg_problem_init(&p, &pg_family_matmul_scaled);
    p.device = &device;
    p.symbol[PG_SCALED_M] = p.symbol[PG_SCALED_N] = p.symbol[PG_SCALED_K] = 128;
    pg_matmul_scaled_choose(&p, &k);
    assert_int_equal(k.block_n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tile_is_chosen_for_a_tiny_block_k),
        cmocka_unit_test(plans_fit_their_box),
        cmocka_unit_test(scales_are_packed_as_defined),
        cmocka_unit_test(small_floats),
        cmocka_unit_test(instruction_counts_in_the_text),
        cmocka_unit_test(descriptors_name_the_scale),
        cmocka_unit_test(scales_lie_where_the_multiplication_reads),
        cmocka_unit_test(everything_has_its_place),
        cmocka_unit_test(what_does_not_exist_is_refused),
        cmocka_unit_test(the_call_checks_its_arguments),
        cmocka_unit_test(the_tile_follows_the_problem),
        cmocka_unit_test(the_launch_record),
        cmocka_unit_test(the_oracle_scales_and_multiplies),
        cmocka_unit_test(a_sample_assembles),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
