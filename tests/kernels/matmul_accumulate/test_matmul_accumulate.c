/* matmul_accumulate: the plan's numbers against the reference's, instruction counts in the
 * emitted PTX, where each tile's bytes lie (against a model written from the layouts, not from
 * the plan), refusals, launch records, the one-call API's checks, the oracle, and that a sample
 * assembles. */
#include "typed_launch.h"
#include "ptx_text.h"
#include "test_context.h"

#include "base/half.h"
#include "common/wgmma.h"
#include "matmul_accumulate/hopper.h"

static pg_matmul_accumulate_plan plan_of(const char *params)
{
    const pg_param_table *t = &pg_family_matmul_accumulate.params;
    pg_matmul_accumulate_key key;
    pg_matmul_accumulate_plan plan;
    ptxgen_error err = {0};
    pg_params_default(t, &key, 1001);
    if (pg_params_parse(t, params, &key, &err) != PTXGEN_OK ||
        pg_matmul_accumulate_resolve(&key, pg_arch_find(key.arch), &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    pg_matmul_accumulate_plan_from(&key, pg_arch_find(key.arch), &plan);
    return plan;
}

static pg_hopper_plan hopper_plan_of(const char *params)
{
    const pg_param_table *t = &pg_family_matmul_accumulate.params;
    pg_matmul_accumulate_key key;
    pg_hopper_plan plan;
    ptxgen_error err = {0};
    pg_params_default(t, &key, 901);
    if (pg_params_parse(t, params, &key, &err) != PTXGEN_OK ||
        pg_matmul_accumulate_resolve(&key, pg_arch_find(key.arch), &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
    pg_matmul_accumulate_plan_from(&key, pg_arch_find(key.arch), &plan);
    return plan;
}

static void plans_fit_their_box(void **state)
{
    (void)state;
    assert_true(pg_family_matmul_accumulate.plan_size <= PG_PLAN_MAX_BYTES);
    assert_true(pg_family_matmul_accumulate.plan_size >= sizeof(pg_hopper_plan));
    assert_true(sizeof(pg_matmul_accumulate_key) <= PG_KEY_MAX_BYTES);
}

static pg_matmul_accumulate_key chosen(int64_t m, int64_t n, int64_t k,
                                       pg_matmul_accumulate_key given)
{
    const pg_matmul_problem p = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .c_bytes = given.c ? 0 : 4,
                                 .d_bytes = 4,
                                 .c_takes_map = true,
                                 .a_k_major = !given.a,
                                 .b_k_major = given.b != 0,
                                 .ragged = n % 8 != 0,
                                 .operand_alignment = given.copy ? 2 : 16,
                                 .sm_count = 132};
    ptxgen_error err = {0};
    given.arch = 901;
    pg_matmul_accumulate_choose(&given, &p);
    if (pg_matmul_accumulate_resolve(&given, pg_arch_find(901), &err) != PTXGEN_OK)
        fail_msg("%lld x %lld x %lld: %s", (long long)m, (long long)n, (long long)k, err.message);
    return given;
}

/* Large: turns, so that C and D cost little; few rows: the transposed problem; few tiles and a
 * long K: parts of K; always tiles that do not waste most of what they multiply. */
static void the_kernel_follows_the_problem(void **state)
{
    (void)state;
    pg_matmul_accumulate_key k = chosen(8192, 8192, 1024, (pg_matmul_accumulate_key){0});
    assert_int_equal(k.schedule, PG_SCHEDULE_PINGPONG);
    assert_int_equal(k.c_load, PG_C_RING);
    k = chosen(16, 8192, 8192, (pg_matmul_accumulate_key){0});
    assert_int_equal(k.swap, PG_YES);
    assert_int_equal(k.block_n, 16);
    k = chosen(512, 512, 16384, (pg_matmul_accumulate_key){0});
    assert_true(k.splits * k.slices >= 4);
    k = chosen(24, 32, 16384, (pg_matmul_accumulate_key){0});
    assert_true(k.splits * k.slices >= 8);
    k = chosen(64, 64, 64, (pg_matmul_accumulate_key){0});
    assert_true(k.splits * k.slices == 1 && k.block_m * k.block_n <= 128 * 64);
    k = chosen(1, 1, 1, (pg_matmul_accumulate_key){0});
    assert_true(k.block_n <= 16);
    k = chosen(4000, 637, 26, (pg_matmul_accumulate_key){.copy = PG_COPY_A});
    assert_true(k.schedule == PG_SCHEDULE_MMA_SYNC && !k.copy && k.c_load == PG_C_ROWS);
    k = chosen(4000, 640, 31, (pg_matmul_accumulate_key){.copy = PG_COPY_A});
    assert_true(k.schedule == PG_SCHEDULE_MMA_SYNC && !k.c_load); /* no row shares a sector */
    k = chosen(200, 72, 31, (pg_matmul_accumulate_key){.copy = PG_COPY_A});
    assert_true(k.schedule == PG_SCHEDULE_MMA_SYNC && k.block_m == 32 && k.c_load == PG_C_ROWS);
    k = chosen(4000, 637, 2600, (pg_matmul_accumulate_key){.copy = PG_COPY_A});
    assert_true(k.schedule != PG_SCHEDULE_MMA_SYNC); /* the copy is little beside the product */
    k = chosen(4000, 637, 26, (pg_matmul_accumulate_key){.warpgroups = 2});
    assert_true(k.schedule != PG_SCHEDULE_MMA_SYNC);
    k = chosen(264, 4656, 2304, (pg_matmul_accumulate_key){.b = 1});
    assert_true(k.swap == PG_YES && k.block_n % 88 == 0);       /* three parts, nothing wasted */
    k = chosen(8192, 128, 8192, (pg_matmul_accumulate_key){0}); /* A does not stay in L2 */
    assert_int_equal(k.stream, PG_YES);
    k = chosen(512, 128, 512, (pg_matmul_accumulate_key){0});
    assert_int_equal(k.stream, PG_NO);
    /* Nothing to load but A and B: large clusters would only wait for each other. */
    k = chosen(6144, 12288, 3072, (pg_matmul_accumulate_key){.b = 1, .c = 1});
    assert_true(k.schedule == PG_SCHEDULE_PINGPONG && k.ctas * k.ctas_n <= 2);
}

/* What the caller fixed stays, and the rest still fits it. */
static void a_choice_keeps_what_is_given(void **state)
{
    (void)state;
    const pg_matmul_accumulate_key given[] = {
        {.block_n = 64},
        {.ctas = 2, .block_n = 192},
        {.schedule = PG_SCHEDULE_COOPERATIVE, .warpgroups = 2},
        {.swap = PG_YES},
        {.splits = 4},
        {.slices = 7, .block_k = 32},
        {.stages = 3},
        {.b = 1, .a = 1},
        {.c = 1, .dtype = 1}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        for (int64_t m = 40; m < 5000; m *= 5) {
            const pg_matmul_accumulate_key k = chosen(m, 700, 900, given[i]);
            const int64_t *want = (const int64_t *)&given[i], *got = (const int64_t *)&k;
            for (size_t f = 1; f < sizeof k / sizeof *got; f++)
                assert_true(!want[f] || want[f] == got[f]);
        }
    pg_matmul_accumulate_key blackwell = {.arch = 1001};
    pg_matmul_accumulate_choose(&blackwell,
                                &(pg_matmul_problem){.m = 512, .n = 512, .k = 64, .sm_count = 148});
    assert_int_equal(blackwell.block_n, 64); /* few tiles: narrow ones keep more SMs busy */
    blackwell = (pg_matmul_accumulate_key){.arch = 1001};
    pg_matmul_accumulate_choose(
        &blackwell, &(pg_matmul_problem){.m = 512, .n = 512, .k = 8192, .sm_count = 148});
    assert_int_equal(blackwell.splits, 4); /* few tiles and a long K */
    blackwell = (pg_matmul_accumulate_key){.arch = 1001, .d_store = PG_D_TENSOR};
    pg_matmul_accumulate_choose(
        &blackwell, &(pg_matmul_problem){.m = 8192, .n = 8192, .k = 1024, .sm_count = 148});
    assert_true(blackwell.ctas > 2 && blackwell.ctas_n > 1); /* C and D leave L2 less for A, B */
    blackwell = (pg_matmul_accumulate_key){.arch = 1001, .stages = 11};
    pg_matmul_accumulate_choose(
        &blackwell, &(pg_matmul_problem){.m = 8192, .n = 8192, .k = 1024, .sm_count = 148});
    assert_int_equal(blackwell.block_n, 64); /* so many stages fit beside no other */
    blackwell = (pg_matmul_accumulate_key){.arch = 1001};
    pg_matmul_accumulate_choose(
        &blackwell, &(pg_matmul_problem){.m = 8192, .n = 8192, .k = 8192, .sm_count = 148});
    assert_int_equal(blackwell.block_n, 256);
    assert_int_equal(blackwell.ctas, 2);
    blackwell = (pg_matmul_accumulate_key){.arch = 1001, .schedule = PG_SCHEDULE_SEED};
    pg_matmul_accumulate_choose(
        &blackwell, &(pg_matmul_problem){.m = 8192, .n = 8192, .k = 8192, .sm_count = 148});
    assert_int_equal(blackwell.block_n, 0); /* the reference's tile, whatever the problem */
}

/* Every choice is a kernel there is, also for problems and devices that nobody thought of. */
static void every_choice_exists(void **state)
{
    (void)state;
    uint64_t r = 12345;
    for (int i = 0; i < 3000; i++) {
        int64_t e[3];
        for (int j = 0; j < 3; j++) {
            r = r * 6364136223846793005u + 1442695040888963407u;
            e[j] = 1 + (int64_t)(r >> 40) % (INT64_C(1) << (r >> 33) % 16);
        }
        const pg_matmul_problem p = {.m = e[0],
                                     .n = e[1],
                                     .k = e[2],
                                     .c_bytes = i % 5 ? 4 : 0,
                                     .d_bytes = 4,
                                     .c_takes_map = i % 3,
                                     .a_straddles = i % 2,
                                     .ragged = i % 4 < 2,
                                     .operand_alignment = 2 << i % 4,
                                     .sm_count = i % 7 ? 132 : 1 + i % 20};
        pg_matmul_accumulate_key k = {.arch = 901, .a = i / 2 % 2, .b = i / 4 % 2, .c = i % 5 == 0};
        ptxgen_error err = {0};
        pg_matmul_accumulate_choose(&k, &p);
        assert_true(k.block_m && k.block_n && k.swap);
        if (pg_matmul_accumulate_resolve(&k, pg_arch_find(901), &err) != PTXGEN_OK)
            fail_msg("%lld x %lld x %lld: %s", (long long)e[0], (long long)e[1], (long long)e[2],
                     err.message);
        assert_true(p.c_takes_map || k.c_load != PG_C_RING);
    }
}

/* The reference kernel: 128x128x64 with 3 stages. */
static void the_reference_numbers(void **state)
{
    (void)state;
    const pg_matmul_accumulate_plan p = plan_of("schedule=seed stages=3"),
                                    q = plan_of("schedule=seed stages=3 block_n=64");
    assert_int_equal(p.instruction, 0x08210010);
    assert_int_equal(q.instruction, 0x08110010);
    assert_int_equal(p.c_bytes, 65536);
    assert_int_equal(q.c_bytes, 32768);
    assert_int_equal(p.a_bytes + p.b_bytes, 32768);
    assert_int_equal(q.a_bytes + q.b_bytes, 24576);
    assert_int_equal(p.tmem_columns, 256);
    assert_int_equal(q.tmem_columns, 128);
    assert_int_equal(pg_smem_descriptor_high(p.a), 0x40004040);
    assert_int_equal(pg_smem_descriptor_low(p.a, 0), 0x00010000);
    /* row-major B: 64-column blocks are block_k * 128 bytes apart, 16 rows of K are 2048 bytes */
    assert_int_equal(pg_smem_descriptor_low(p.b, 0), (64 * 128 / 16) << 16);
    assert_int_equal(pg_matmul_accumulate_b_step(&p, 1), 2048);
    assert_int_equal(pg_matmul_accumulate_a_step(&p, 1), 32);
}

static void instruction_counts_in_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        int copies, multiplications, loads;
    } cases[] = {
        /* copies = block_n / 8, multiplications = block_k / 16, loads = one per swizzle-wide
         * block: of C block_n / 32, of A block_k * 2 / swizzle, of B row-major block_n * 2 /
         * swizzle per CTA */
        {"block_n=128 block_k=64 stages=3", 16, 4, 4 + 1 + 2},
        {"block_n=64 block_k=64 stages=3", 8, 4, 2 + 1 + 1},
        {"block_n=256 block_k=32", 32, 2, 8 + 1 + 8}, /* swizzle 64: 64 bytes of K */
        {"block_n=128 block_k=128 b=transposed", 16, 8, 4 + 2 + 2},
        {"block_n=128 block_k=64 swizzle=32", 16, 4, 4 + 4 + 8},
        {"block_n=256 block_k=64 ctas=2", 32, 4, 8 + 1 + 2},
        {"block_n=256 block_k=64 ctas=2 b=transposed", 32, 4, 8 + 1 + 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char params[128];
        snprintf(params, sizeof params, "schedule=seed %s", cases[i].params);
        ptxgen_kernel *k = emit_kernel(context, "matmul_accumulate", params);
        const pg_matmul_accumulate_plan p = plan_of(params);
        assert_int_equal(p.copies, cases[i].copies);
        assert_int_equal(p.multiplications, cases[i].multiplications);
        assert_int_equal(p.a_loads + p.b_loads + p.c_loads, cases[i].loads);
        assert_int_equal(count_in_ptx(k, "tcgen05.cp."), cases[i].copies);
        assert_int_equal(count_in_ptx(k, "tcgen05.mma."), cases[i].multiplications);
        assert_int_equal(count_in_ptx(k, "cp.async.bulk.tensor"), cases[i].loads);
        assert_int_equal(count_in_ptx(k, "tcgen05.commit."), 3);
        assert_int_equal(count_in_ptx(k, "setmaxnreg.dec"), 2);
        assert_int_equal(count_in_ptx(k, ".minnctapersm 1"), 1);
        assert_int_equal(count_in_ptx(k, p.ctas == 2 ? "cta_group::1" : "cta_group::2"), 0);
        ptxgen_kernel_unref(k);
        /* Filled through registers, or absent, C takes no copy and no box. */
        for (int c = 0; c < 2; c++) {
            snprintf(params, sizeof params, "%s %s", c ? "c=none" : "", cases[i].params);
            k = emit_kernel(context, "matmul_accumulate", params);
            assert_int_equal(count_in_ptx(k, "tcgen05.cp."), 0);
            assert_int_equal(count_in_ptx(k, "tcgen05.mma."), cases[i].multiplications);
            assert_int_equal(count_in_ptx(k, "cp.async.bulk.tensor"), p.a_loads + p.b_loads);
            assert_int_equal(count_in_ptx(k, "tcgen05.commit."), 2);
            assert_int_equal(count_in_ptx(k, "tcgen05.st."), c ? 0 : 3);
            ptxgen_kernel_unref(k);
        }
    }
}

/* The Hopper sibling: multiplications of one consumer per stage, loads of one CTA per stage (and
 * of a chunk of C), which of them go to other CTAs. */
static void hopper_counts_in_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *params;
        int multiplications, loads, multicasts, stages, threads;
    } cases[] = {
        {"arch=sm_90a", 4, 1 + 4, 0, 4, 384},
        {"arch=sm_90a ctas=2 b=transposed", 4, 1 + 1, 1, 4, 384},
        {"arch=sm_90a block_n=128 block_k=128 dtype=bf16", 8, 2 + 2, 0, 3, 384},
        {"arch=sm_90a schedule=pingpong block_n=192 c_load=ring c_slots=3", 8, 1 + 3 + 1, 0, 4,
         384},
        {"arch=sm_90a schedule=pingpong warpgroups=3 ctas_n=2 c_load=ring c_slots=4", 8, 1 + 2 + 1,
         1, 5, 512},
        {"arch=sm_90a warpgroups=1 swap=yes block_n=16", 4, 1 + 1, 0, 22, 256},
        {"arch=sm_90a warpgroups=1 a=transposed block_n=64 splits=2", 4, 1 + 1, 0, 14, 256},
        {"arch=sm_90a warpgroups=1 block_n=64 ctas=2 ctas_n=2 splits=2", 4, 1 + 1, 2, 14, 256},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ptxgen_kernel *k = emit_kernel(context, "matmul_accumulate", cases[i].params);
        const pg_hopper_plan p = hopper_plan_of(cases[i].params);
        assert_int_equal(p.threads, cases[i].threads);
        assert_int_equal(p.stages, cases[i].stages);
        assert_int_equal(count_in_ptx(k, "wgmma.mma_async"), cases[i].multiplications);
        assert_int_equal(count_in_ptx(k, "cp.async.bulk.tensor"), cases[i].loads);
        assert_int_equal(count_in_ptx(k, ".multicast::cluster"), cases[i].multicasts);
        assert_int_equal(count_in_ptx(k, "setmaxnreg"), p.groups > 1 ? 2 : 0);
        assert_int_equal(count_in_ptx(k, "tcgen05"), 0);
        ptxgen_kernel_unref(k);
    }
    const pg_smem_matrix k128 = {16, 1024, PG_SWIZZLE_128B}, k32 = {16, 256, PG_SWIZZLE_32B};
    assert_int_equal(pg_wgmma_descriptor_high(k128), 0x40000040);
    assert_int_equal(pg_wgmma_descriptor_high(k32), 0xC0000010);
}

/* Where tensor-map boxes put element (row, k) of a K-major stage of `rows` rows, before the
 * swizzle. */
static int k_major_byte(int rows, int swizzle, int row, int k)
{
    return 2 * k / swizzle * rows * swizzle + row * swizzle + 2 * k % swizzle;
}

/* Where the tensor core looks for it: row r in 8-row groups, the stride offset apart. */
static int k_major_read(pg_smem_matrix m, int start, int swizzle, int row, int k)
{
    return start + row / 8 * m.stride_offset + row % 8 * swizzle + 2 * k;
}

static void operands_lie_where_the_tensor_core_reads(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "block_n=128 block_k=64",
        "block_n=256 block_k=32",
        "block_n=64 block_k=128 b=transposed",
        "block_k=128 swizzle=32",
        "ctas=2 block_n=128 b=transposed",
        "block_k=64 swizzle=64 dtype=bf16",
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pg_matmul_accumulate_plan p = plan_of(cases[c]);
        for (int k = 0; k < p.block_k; k++) {
            const int step = k / 16;
            for (int r = 0; r < p.block_m; r += 5)
                assert_int_equal(
                    k_major_read(p.a, pg_matmul_accumulate_a_step(&p, step), p.swizzle, r, k % 16),
                    k_major_byte(p.block_m, p.swizzle, r, k));
            for (int n = 0; n < p.b_columns; n += 3) {
                const int start = pg_matmul_accumulate_b_step(&p, step);
                if (p.b_transposed) {
                    assert_int_equal(k_major_read(p.b, start, p.swizzle, n, k % 16),
                                     k_major_byte(p.b_columns, p.swizzle, n, k));
                    continue;
                }
                /* MN-major: blocks of swizzle-wide columns the leading offset apart, 8 rows of K
                 * the stride offset */
                const int wide = p.swizzle / 2, kk = k % 16;
                const int read = start + n / wide * p.b.leading_offset + n % wide * 2 +
                                 kk / 8 * p.b.stride_offset + kk % 8 * p.swizzle;
                assert_int_equal(read,
                                 n / wide * p.block_k * p.swizzle + k * p.swizzle + n % wide * 2);
            }
        }
    }
}

/* Element (i, k) of an operand: where the boxes of all its sharers put it, and where wgmma looks
 * for it. */
static void check_operand(const pg_hopper_plan *p, const pg_hopper_operand *o, int i, int k)
{
    const int wide = o->swizzle / 2, step = k / 16, first = i / 64 * 64;
    const int start = pg_hopper_step(p, o, step, first);
    const int row = o->k_major ? i : k, column = o->k_major ? k : i; /* of the matrix in memory */
    const int part = row / o->box_rows;
    const int put = column / wide * o->box_bytes + part * o->part_bytes +
                    row % o->box_rows * o->swizzle + column % wide * 2;
    const int r = i - first, kk = k % 16;
    const int read = o->k_major
                         ? start + r / 8 * o->matrix.stride_offset + r % 8 * o->swizzle + 2 * kk
                         : start + r / wide * o->matrix.leading_offset + r % wide * 2 +
                               kk / 8 * o->matrix.stride_offset + kk % 8 * o->swizzle;
    assert_int_equal(put, read);
    assert_true(put < o->stage_bytes);
}

static void hopper_operands_lie_where_wgmma_reads(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "arch=sm_90a",
        "ctas=2 b=transposed block_k=32",
        "a=transposed block_m=256 block_n=128",
        "swizzle=64 a=transposed block_n=48",
        "swap=yes block_n=24 warpgroups=1 block_k=128",
        "swap=yes a=transposed b=transposed block_n=80 ctas=2",
        "schedule=pingpong block_n=96 ctas_n=4 swizzle=32",
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pg_hopper_plan p = hopper_plan_of(cases[c]);
        for (int k = 0; k < p.block_k; k++) {
            for (int i = 0; i < p.block_m; i += 5)
                check_operand(&p, &p.left, i, k);
            for (int i = 0; i < (p.block_n < 64 ? p.block_n : 64); i += 3)
                check_operand(&p, &p.right, i, k);
        }
    }
}

static void hopper_shared_memory_holds_everything_once(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "block_n=256", "schedule=pingpong block_n=192 c_load=ring c_slots=3",
        "warpgroups=1 swap=yes block_n=8", "warpgroups=3 block_n=160 block_k=32",
        "schedule=pingpong warpgroups=3 c_load=ring c_slots=1 stages=3"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const pg_hopper_plan p = hopper_plan_of(cases[c]);
        assert_int_equal(p.left.stage_bytes % 1024, 0);
        assert_int_equal(p.right.stage_bytes % (8 * p.right.swizzle), 0);
        assert_int_equal(p.right.offset, p.stages * p.left.stage_bytes);
        assert_true(p.c_offset % 1024 == 0 &&
                    p.c_offset >= p.right.offset + p.stages * p.right.stage_bytes);
        assert_true(p.full % 8 == 0 && p.full >= p.c_offset + p.c_slots * p.c_slot_bytes);
        assert_int_equal(p.head.shared_bytes, p.full + 16 * (p.stages + p.c_slots + p.groups));
        assert_true(p.head.shared_bytes <= 227 * 1024);
    }
}

static void c_lies_where_the_copies_read(void **state)
{
    (void)state;
    const pg_matmul_accumulate_plan p = plan_of("block_n=256 block_k=32");
    for (int column = 0; column < 256; column += 8)
        for (int row = 0; row < 128; row++) {
            const int read = pg_matmul_accumulate_c_source(&p, column) +
                             row / 8 * p.c.stride_offset + row % 8 * 128;
            assert_int_equal(read, column / 32 * 128 * 128 + row * 128 + column % 32 * 4);
        }
}

static void shared_memory_holds_everything_once(void **state)
{
    (void)state;
    for (int n = 64; n <= 256; n *= 2)
        for (int k = 32; k <= 128; k *= 2)
            for (int ctas = 1; ctas <= 2; ctas++) {
                char params[96], text[512];
                snprintf(params, sizeof params, "schedule=seed block_n=%d block_k=%d ctas=%d", n, k,
                         ctas);
                if (ptxgen_canonical("matmul_accumulate", params, text, sizeof text, NULL) !=
                    PTXGEN_OK) {
                    assert_true(n == 256 &&
                                k == 128); /* the only ones that cannot have two stages */
                    continue;
                }
                const pg_matmul_accumulate_plan p = plan_of(params);
                assert_int_equal(p.b_offset % 1024, 0);
                assert_int_equal(p.c_offset % 1024, 0);
                assert_int_equal(p.a_bytes % 1024, 0);
                assert_int_equal(p.b_bytes % 1024, 0);
                assert_true(p.b_offset >= p.a_offset + p.stages * p.a_bytes);
                assert_true(p.c_offset >= p.b_offset + p.stages * p.b_bytes);
                assert_true(p.full >= p.c_offset + p.c_bytes && p.full % 8 == 0);
                assert_true(p.acc_empty + 16 <= p.address_slot);
                assert_true(p.head.shared_bytes <= 227 * 1024);
                assert_true(p.stages >= 2 && p.stages <= 6);
                assert_true(p.tmem_columns >= 2 * n && p.tmem_columns <= 512);
            }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    expect_refusal(context, "matmul_accumulate", "block_m=64", "use block_m=128");
    expect_refusal(context, "matmul_accumulate", "block_n=96", "use 64, 128 or 256");
    expect_refusal(context, "matmul_accumulate", "block_k=48", "use 32, 64 or 128");
    expect_refusal(context, "matmul_accumulate", "schedule=seed block_n=256 block_k=128",
                   "lower block_n or block_k");
    expect_refusal(context, "matmul_accumulate", "schedule=seed block_n=256 block_k=64 stages=3",
                   "use stages=2 or less");
    expect_refusal(context, "matmul_accumulate", "schedule=seed block_n=256 block_k=64 stages=3",
                   "232448");
    expect_refusal(context, "matmul_accumulate", "block_n=256 block_k=64 stages=5",
                   "use stages=4 or less");
    expect_refusal(context, "matmul_accumulate", "c=none schedule=seed", "use schedule=fill");
    expect_refusal(context, "matmul_accumulate", "schedule=pingpong", "use fill or seed");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a schedule=fill",
                   "use cooperative or pingpong");
    expect_refusal(context, "matmul_accumulate", "swizzle=48", "use 32, 64 or 128");
    expect_refusal(context, "matmul_accumulate", "block_k=32 swizzle=128", "64 bytes of A");
    expect_refusal(context, "matmul_accumulate", "ctas=2 block_n=64 swizzle=128", "64 of B");
    expect_refusal(context, "matmul_accumulate", "dtype=f32", "K adjacent");
    expect_refusal(context, "matmul_accumulate", "slices=2", "belong to the kernel of sm_90a");
    expect_refusal(context, "matmul_accumulate", "splits=4", "splits=4 with block_n=256");
    expect_refusal(context, "matmul_accumulate", "splits=2 ctas_n=2", "leave splits out");
    expect_refusal(context, "matmul_accumulate", "splits=2 ctas=4", "leave splits out");
    expect_refusal(context, "matmul_accumulate", "ctas=4 ctas_n=4", "at most 8 CTAs");
    expect_refusal(context, "matmul_accumulate", "ctas=3", "use 1, 2 or 4");
    expect_refusal(context, "matmul_accumulate", "ctas=4 schedule=seed", "use schedule=fill");
    expect_refusal(context, "matmul_accumulate", "ctas_n=3", "use 1, 2 or 4");
    expect_refusal(context, "matmul_accumulate", "ctas_n=2 schedule=seed", "use schedule=fill");
    expect_refusal(context, "matmul_accumulate", "d_store=tensor schedule=seed", "d_store=rows");
    expect_refusal(context, "matmul_accumulate", "d_store=tensor grouped=s32", "d_store=rows");
    expect_refusal(context, "matmul_accumulate", "tiles=dynamic grouped=s32", "tiles=static");
    expect_refusal(context, "matmul_accumulate", "tiles=dynamic block_n=128 splits=2",
                   "tiles=static");
    expect_refusal(context, "matmul_accumulate", "tiles=dynamic arch=sm_90a", "leave them out");
    expect_refusal(context, "matmul_accumulate", "d_store=tensor arch=sm_80", "leave out");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a block_m=192",
                   "use block_m=128 or 256");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a block_n=72", "a multiple of 16");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a schedule=pingpong block_n=192",
                   "use block_n=160 or less");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a warpgroups=3 block_n=208",
                   "192 columns at most");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a ctas=3", "powers of two");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a ctas=4 splits=4", "8 is the most");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a ctas=4 b=transposed block_n=48",
                   "multiple of 8 rows");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a splits=2 schedule=pingpong",
                   "schedule=cooperative");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a splits=2 slices=2", "one of them");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a c_slots=2", "only c_load=ring");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a splits=2 stages=2",
                   "use more stages");
    expect_refusal(context, "matmul_accumulate", "arch=sm_90a c_load=ring swap=yes",
                   "c_load=direct");
}

static ptxgen_matmul_accumulate_args small_args(void)
{
    static _Alignas(32) char memory[4][4096];
    return (ptxgen_matmul_accumulate_args){.size = sizeof(ptxgen_matmul_accumulate_args),
                                           .dtype = PTXGEN_F16,
                                           .m = 8,
                                           .n = 16,
                                           .k = 24,
                                           .a = memory[0],
                                           .b = memory[1],
                                           .c = (float *)memory[2],
                                           .d = (float *)memory[3]};
}

static void expect_call(const ptxgen_matmul_accumulate_args *a, ptxgen_status status,
                        const char *says)
{
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_matmul_accumulate(context, a, NULL, &err), status);
    if (says && !strstr(err.message, says))
        fail_msg("\"%s\" is not in: %s", says, err.message);
}

static void the_call_checks_its_arguments(void **state)
{
    (void)state;
    ptxgen_matmul_accumulate_args a = small_args();
    a.size = 4;
    expect_call(&a, PTXGEN_EINVAL, "sizeof(ptxgen_matmul_accumulate_args)");
    a = small_args(), a.dtype = PTXGEN_F32;
    expect_call(&a, PTXGEN_EUNSUPPORTED,
                "need K adjacent in memory: use a=row_major, b=transposed");
    a.params = "arch=sm_90a schedule=mma_sync";
    expect_call(&a, PTXGEN_EUNSUPPORTED, "schedule=mma_sync has no operands of 8 and 32 bits");
    a = small_args(), a.epilogue = (ptxgen_epilogue)-1;
    expect_call(&a, PTXGEN_EINVAL, "epilogue=-1");
    a = small_args(), a.k = -1;
    expect_call(&a, PTXGEN_EINVAL, "k=-1");
    a = small_args(), a.m = 0, a.a = NULL;
    expect_call(&a, PTXGEN_OK, NULL);
    a = small_args(), a.k = 17; /* odd rows are copied first */
    expect_call(&a, PTXGEN_OK, NULL);
    a = small_args(), a.a = (const char *)a.a + 2;
    expect_call(&a, PTXGEN_OK, NULL);
    a = small_args(), a.a = (const char *)a.a + 2, a.params = "copy=none arch=sm_100a";
    expect_call(&a, PTXGEN_EUNSUPPORTED, NULL);
    static _Alignas(256) char workspace[256];
    a = small_args(), a.params = "slices=2", a.workspace = workspace, a.workspace_bytes = 256;
    expect_call(&a, PTXGEN_EINVAL, "the call needs 1024");
    a = small_args(), a.c_stride = 12;
    expect_call(&a, PTXGEN_EINVAL, "rows would overlap");
    a = small_args(), a.batch = 3, a.d_batch_stride = 5;
    expect_call(&a, PTXGEN_EINVAL, "d has batch stride 5, less than its");
    a = small_args(), a.batch = 3, a.d_batch_stride = 1 << 20, a.a_batch_stride = INT64_C(1) << 61;
    expect_call(&a, PTXGEN_EINVAL, "a has 3 matrices of stride 2305843009213693952");
    a = small_args(), a.d = (float *)(uintptr_t)a.a;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "d and a overlap");
    a = small_args(), a.d = (float *)(uintptr_t)a.c + 4;
    expect_call(&a, PTXGEN_EUNSUPPORTED, "d overlaps c");
    a = small_args(), a.b = NULL;
    expect_call(&a, PTXGEN_EINVAL, "b is NULL");
    a = small_args(), a.tiling.stages = 1; /* no parameter text could ask for it */
    expect_call(&a, PTXGEN_EINVAL, "stages=1 is out of range");
}

/* On the emulator: the text names the kernel that the problem's size asks for, and families of
 * other architectures than the emulator's own are there without arch=. */
static void the_parameters_of_the_call(void **state)
{
    (void)state;
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .device = PTXGEN_DEVICE_EMULATOR};
    ptxgen_matmul_accumulate_args a = {.size = sizeof a,
                                       .dtype = PTXGEN_BF16,
                                       .b_transposed = true,
                                       .m = 2048,
                                       .n = 2048,
                                       .k = 64};
    ptxgen *ctx;
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    char text[1024], small[1024], cut[10];
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_matmul_accumulate_params(ctx, &a, text, sizeof text, NULL), PTXGEN_OK);
    assert_non_null(strstr(text, "arch=sm_90a dtype=bf16 b=transposed "));
    assert_int_equal(ptxgen_get(ctx, "matmul_accumulate", text, NULL, &k, NULL), PTXGEN_OK);
    ptxgen_kernel_describe(k, &info);
    assert_string_equal(info.params, text);
    ptxgen_kernel_unref(k);
    a.m = a.n = 64;
    assert_int_equal(ptxgen_matmul_accumulate_params(ctx, &a, small, sizeof small, NULL),
                     PTXGEN_OK);
    assert_string_not_equal(small, text);
    assert_int_equal(ptxgen_matmul_accumulate_params(ctx, &a, cut, sizeof cut, NULL), PTXGEN_OK);
    assert_string_equal(cut, "arch=sm_9");
    a.k = -1;
    assert_int_equal(ptxgen_matmul_accumulate_params(ctx, &a, cut, sizeof cut, NULL),
                     PTXGEN_EINVAL);
    assert_int_equal(ptxgen_get(ctx, "tcgen05_copy", "", NULL, &k, NULL), PTXGEN_OK);
    ptxgen_kernel_describe(k, &info);
    assert_int_equal(info.arch, 1001);
    ptxgen_kernel_unref(k);
    ptxgen_destroy(ctx);
}

static void the_launch_record(void **state)
{
    (void)state;
    const ptxgen_device_info device = {.sm_count = 148};
    pg_launch l;
    ptxgen_matmul_accumulate_args a = small_args();
    a.m = 500, a.n = 600, a.k = 704;
    a.a_stride = a.k, a.b_stride = a.n, a.c_stride = a.d_stride = a.n;
    pg_matmul_accumulate_plan p = plan_of("schedule=seed stages=3");
    typed_launch("matmul_accumulate", &a, &p, &device, &l);
    assert_int_equal(l.grid[0], 4 * 5);
    assert_int_equal(l.cluster[0], 0);
    assert_int_equal(l.block[0], 256);
    assert_int_equal(l.shared_bytes, p.head.shared_bytes);
    assert_int_equal(l.nargs, 12);
    assert_int_equal(l.args[0].tensor.dims[0], 704);
    assert_int_equal(l.args[0].tensor.dims[1], 500);
    assert_int_equal(l.args[0].tensor.box[0], 64);
    assert_int_equal(l.args[0].tensor.box[1], 128);
    assert_int_equal(l.args[1].tensor.dims[0], 600); /* B row-major: n is inner */
    assert_int_equal(l.args[1].tensor.box[1], 64);
    assert_int_equal(l.args[2].tensor.box[0], 32);
    assert_int_equal(l.args[7].u32, 11); /* 704 / 64 */
    assert_int_equal(l.args[11].u32, 32);
    p = plan_of("schedule=seed ctas=2 block_n=256 b=transposed");
    a.b_transposed = true, a.b_stride = a.k, a.d_stride = 604;
    typed_launch("matmul_accumulate", &a, &p, &device, &l);
    assert_int_equal(l.grid[0], 2 * 2 * 3);
    assert_int_equal(l.cluster[0], 2);
    assert_int_equal(l.args[1].tensor.box[1], 128); /* half of the tile's columns */
    assert_int_equal(l.args[11].u32, 16);
    a.k = 0, a.a = a.b = NULL;
    typed_launch("matmul_accumulate", &a, &p, &device, &l);
    assert_int_equal(l.args[7].u32, 0);
    assert_ptr_equal(l.args[0].tensor.address, a.d); /* a map must point somewhere */
    const ptxgen_device_info tiny = {.sm_count = 1};
    a.m = a.n = 8192;
    typed_launch("matmul_accumulate", &a, &p, &tiny, &l);
    assert_int_equal(l.grid[0], 2);
}

static void the_oracle_multiplies(void **state)
{
    (void)state;
    /* A 2x3 in rows of 4, B 3x2 and its transpose, D = C in place */
    const double a_values[] = {1, 2, 3, 99, -1, 0.5, 4, 99}, b_values[] = {1, 2, 3, 4, 5, 6};
    uint16_t a_bits[8], b_bits[6], bt_bits[6];
    float d[] = {10, 20, 30, 40};
    for (int i = 0; i < 8; i++)
        a_bits[i] = pg_bf16_from_double(a_values[i]);
    for (int i = 0; i < 6; i++)
        b_bits[i] = bt_bits[i % 2 * 3 + i / 2] = pg_bf16_from_double(b_values[i]);
    ptxgen_matmul_accumulate_args a = {.size = sizeof a,
                                       .dtype = PTXGEN_BF16,
                                       .m = 2,
                                       .n = 2,
                                       .k = 3,
                                       .a = a_bits,
                                       .b = b_bits,
                                       .c = d,
                                       .d = d,
                                       .a_stride = 4};
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&a, NULL), PTXGEN_OK);
    const float want[] = {10 + 22, 20 + 28, 30 + 20.5F, 40 + 24};
    assert_memory_equal(d, want, sizeof d);
    float c[] = {10, 20, 30, 40};
    a.b = bt_bits, a.b_transposed = true, a.c = c;
    assert_int_equal(ptxgen_matmul_accumulate_oracle(&a, NULL), PTXGEN_OK);
    assert_memory_equal(d, want, sizeof d);
}

static void a_sample_assembles(void **state)
{
    (void)state;
    ptxgen *ctx = assembling_context();
    if (!ctx)
        skip();
    expect_assembles(ctx, "matmul_accumulate", "stages=3 arch=sm_100a");
    expect_assembles(ctx, "matmul_accumulate", "block_n=256 b=transposed dtype=bf16 arch=sm_103a");
    expect_assembles(ctx, "matmul_accumulate", "ctas=2 block_n=256 arch=sm_100f");
    expect_assembles(ctx, "matmul_accumulate", "ctas=2 arch=sm_90a");
    expect_assembles(ctx, "matmul_accumulate",
                     "arch=sm_90a schedule=pingpong block_n=192 c_load=ring c_slots=3 ctas=2");
    expect_assembles(ctx, "matmul_accumulate",
                     "arch=sm_90a schedule=pingpong warpgroups=3 block_n=112 b=transposed");
    expect_assembles(ctx, "matmul_accumulate", "arch=sm_90a block_n=256 splits=8");
    expect_assembles(ctx, "matmul_accumulate",
                     "arch=sm_90a swap=yes warpgroups=1 block_n=256 stream=yes");
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_fit_their_box),
        cmocka_unit_test(the_kernel_follows_the_problem),
        cmocka_unit_test(a_choice_keeps_what_is_given),
        cmocka_unit_test(every_choice_exists),
        cmocka_unit_test(the_reference_numbers),
        cmocka_unit_test(instruction_counts_in_the_text),
        cmocka_unit_test(hopper_counts_in_the_text),
        cmocka_unit_test(operands_lie_where_the_tensor_core_reads),
        cmocka_unit_test(hopper_operands_lie_where_wgmma_reads),
        cmocka_unit_test(hopper_shared_memory_holds_everything_once),
        cmocka_unit_test(c_lies_where_the_copies_read),
        cmocka_unit_test(shared_memory_holds_everything_once),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_call_checks_its_arguments),
        cmocka_unit_test(the_parameters_of_the_call),
        cmocka_unit_test(the_launch_record),
        cmocka_unit_test(the_oracle_multiplies),
        cmocka_unit_test(a_sample_assembles),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
