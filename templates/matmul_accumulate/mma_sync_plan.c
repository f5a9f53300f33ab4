/* Numbers of the mma.sync kernel, which blocks it takes, and its launch. */
#include "matmul_accumulate/mma_sync.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum {
    WARP_LANES = 32,
    MIN_STAGES = 2,
    MAX_STAGES = 8,
    AUTO_STAGES = 4,
    VECTOR_BYTES = 16,
    ACCUMULATOR_BYTES = 4,
    FIRST_SM = 80,
    FIRST_SM_OF_8_BITS = 89,
};

/* Tiles, how a warp's part is shaped, and how fast they are thought to be beside each other when
 * all SMs have one: larger parts read less of shared memory for a multiplication. Estimates, not
 * measured. */
static const struct tile {
    int block_m, block_n, warp_m, warp_n;
    double speed;
} tiles[] = {
    {32, 64, 16, 32, 0.30},   {64, 64, 32, 32, 0.50},   {128, 64, 64, 32, 0.68},
    {64, 128, 32, 64, 0.68},  {128, 128, 64, 32, 0.88}, {128, 256, 64, 64, 1.00},
    {256, 128, 64, 64, 1.00},
};
enum { TILES = sizeof tiles / sizeof *tiles, DEFAULT_TILE = 4 };

static const struct tile *tile_of(const pg_matmul_accumulate_key *k)
{
    for (int i = 0; i < TILES; i++)
        if (tiles[i].block_m == k->block_m && tiles[i].block_n == k->block_n)
            return &tiles[i];
    return NULL;
}

static int stage_bytes(const pg_matmul_accumulate_key *k)
{
    return (int)(k->block_m + k->block_n) * PG_LINE_BYTES;
}

int pg_mma_rows_pitch(int block_n)
{
    enum { PAD = 8 }; /* elements: what half a warp accesses of a fragment is in different banks */
    return (block_n + PAD) * ACCUMULATOR_BYTES;
}

/* Of the tile of C, then of D, on its way. */
static int rows_bytes(const pg_matmul_accumulate_key *k)
{
    return k->c_load ? (int)k->block_m * pg_mma_rows_pitch((int)k->block_n) : 0;
}

/* Without C it takes the place of the stages. */
static int shared_bytes(const pg_matmul_accumulate_key *k, int64_t stages)
{
    const int loaded = (int)stages * stage_bytes(k), rows = rows_bytes(k);
    return k->c == 0 ? loaded + rows : loaded > rows ? loaded : rows;
}

static int stages_that_fit(const pg_matmul_accumulate_key *k, const pg_arch *arch)
{
    int stages = 0;
    while (stages < MAX_STAGES && shared_bytes(k, stages + 1) <= arch->max_shared_bytes)
        stages++;
    return stages;
}

static ptxgen_status check_shared(const pg_matmul_accumulate_key *k, const pg_arch *arch, int most,
                                  ptxgen_error *err)
{
    const int64_t stages = k->stages > MIN_STAGES ? k->stages : MIN_STAGES;
    if (most >= MIN_STAGES && k->stages <= most)
        return PTXGEN_OK;
    char remedy[64] = "use smaller blocks";
    if (most >= MIN_STAGES)
        snprintf(remedy, sizeof remedy, "use stages=%d or less, or smaller blocks", most);
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "%lld stages of %d bytes and %d bytes of C and D need %d bytes of shared memory, "
        "a CTA of %s has %d: %s",
        (long long)stages, stage_bytes(k), rows_bytes(k), shared_bytes(k, stages), arch->name,
        arch->max_shared_bytes, remedy);
}

static void settle(int64_t *setting, int64_t automatic)
{
    if (!*setting)
        *setting = automatic;
}

static ptxgen_status check_others(const pg_matmul_accumulate_key *k, const pg_arch *arch,
                                  ptxgen_error *err)
{
    if (arch->sm < FIRST_SM)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "matmul_accumulate needs sm_80 or later (mma of 16-bit types, cp.async), "
                       "not %s",
                       arch->name);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    PG_TRY(pg_epilogue_refuse_blocks(&steps, arch->name, err));
    if (pg_dtype_bits(steps.out) == 8 && arch->sm < FIRST_SM_OF_8_BITS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "D of 8 bits needs sm_89 or later, which converts to them, not %s: use f16 "
                       "or bf16",
                       arch->name);
    if ((k->schedule && k->schedule != PG_SCHEDULE_MMA_SYNC) || k->warpgroups || k->ctas > 1 ||
        k->ctas_n > 1 || k->splits > 1 || k->slices > 1 || k->swap > PG_NO ||
        (k->c_load && k->c_load != PG_C_ROWS) || k->c_slots || k->d_store || k->tiles || k->copy ||
        k->stream > PG_NO || k->phases > PG_PHASES_NONE || k->swizzle)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "the kernel of %s (mma.sync) has block_m, block_n, stages, group_m and c_load=rows; "
            "leave out schedule, swizzle, d_store, tiles and what belongs to sm_90a, or use "
            "arch=sm_90a or sm_100a on such a GPU",
            arch->name);
    if (k->c_load && (pg_epilogue_has_steps(&steps) || pg_dtype_bits(steps.out) == 8))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_load=rows with steps or a D of 8 bits, which go by fragments: leave "
                       "c_load out");
    return pg_epilogue_check(&steps, err);
}

ptxgen_status pg_mma_resolve(pg_matmul_accumulate_key *k, const pg_arch *arch, ptxgen_error *err)
{
    PG_TRY(check_others(k, arch, err));
    settle(&k->schedule, PG_SCHEDULE_MMA_SYNC);
    settle(&k->block_m, tiles[DEFAULT_TILE].block_m);
    settle(&k->block_n, tiles[DEFAULT_TILE].block_n);
    settle(&k->block_k, PG_MMA_BLOCK_K);
    settle(&k->group_m, 8);
    if (k->block_m < PG_MMA_BLOCK_K && k->a)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "block_m=%lld with A transposed, whose rows come 64 at a time: use 64, 128 "
                       "or 256",
                       (long long)k->block_m);
    if (!tile_of(k))
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "block_m=%lld block_n=%lld: use 32x64, 64x64, 128x64, 64x128, 128x128, 128x256 or "
            "256x128",
            (long long)k->block_m, (long long)k->block_n);
    if (k->block_k != PG_MMA_BLOCK_K)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_k=%lld: use 64", (long long)k->block_k);
    const int most = stages_that_fit(k, arch);
    PG_TRY(check_shared(k, arch, most, err));
    settle(&k->stages, most < AUTO_STAGES ? most : AUTO_STAGES);
    k->ctas = k->ctas_n = k->splits = k->slices = 1;
    k->swap = k->stream = PG_NO;
    return PTXGEN_OK;
}

void pg_mma_plan_from(const pg_matmul_accumulate_key *k, const pg_arch *arch, pg_mma_plan *p)
{
    const struct tile *t = tile_of(k);
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->engine = PG_ENGINE_MMA_SYNC;
    p->dtype = pg_dtype_find(pg_matmul_dtypes[k->dtype]);
    p->adds_c = k->c == 0;
    p->scales = k->scale != 0;
    p->batched = k->batch != 0;
    p->group_type = k->grouped == 0 ? NULL : k->grouped == 1 ? "s32" : "s64";
    p->c_type = pg_matmul_result_type(k->c_dtype);
    p->d_type = pg_matmul_result_type(k->d_dtype);
    p->epilogue = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    p->epilogue.batched = p->batched;
    p->block_m = t->block_m;
    p->block_n = t->block_n;
    p->warp_m = t->warp_m;
    p->warp_n = t->warp_n;
    p->warps_n = t->block_n / t->warp_n;
    p->threads = t->block_m / t->warp_m * p->warps_n * WARP_LANES;
    p->stages = (int)k->stages;
    p->group_m = (int)k->group_m;
    p->stage_bytes = stage_bytes(k);
    p->a = (pg_mma_operand){
        .k_major = k->a == 0, .extent = t->block_m, .warp_extent = t->warp_m, .name = "a"};
    p->b = (pg_mma_operand){.k_major = k->b != 0,
                            .extent = t->block_n,
                            .warp_extent = t->warp_n,
                            .offset = t->block_m * PG_LINE_BYTES,
                            .name = "b"};
    p->by_rows = k->c_load == PG_C_ROWS;
    p->rows_offset = p->adds_c ? p->stages * p->stage_bytes : 0;
    p->head.shared_bytes = (uint32_t)shared_bytes(k, k->stages);
    snprintf(p->head.entry, sizeof p->head.entry, "matmul_accumulate_%s_%s_mma%dx%d_s%d%s%s%s%s%s",
             p->dtype->name, p->d_type->name, p->block_m, p->block_n, p->stages,
             p->a.k_major ? "" : "_at", p->b.k_major ? "_bt" : "", p->adds_c ? "" : "_ab",
             p->by_rows ? "_rows" : "",
             p->group_type ? "_g"
             : p->batched  ? "_n"
                           : "");
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t tiles_in(const pg_matmul_problem *p, int64_t block_m, int64_t block_n)
{
    return divide_up(p->m, block_m) * divide_up(p->n, block_n) * pg_matmul_matrices(p);
}

/* Rows that share sectors of memory go as rows do, if there is room for a tile of them. */
static void choose_rows(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem)
{
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    pg_matmul_accumulate_key rows = *k;
    rows.c_load = PG_C_ROWS;
    if (!k->c_load && problem->ragged && !pg_epilogue_has_steps(&steps) &&
        pg_dtype_bits(steps.out) > 8 && arch && stages_that_fit(&rows, arch) >= MIN_STAGES)
        k->c_load = PG_C_ROWS;
}

/* Where K is short and tiles are many, other CTAs of an SM hide what stages would; they do so too
 * where elements are loaded one by one, of which no stage is under way. Nor is there use for more
 * than K fills, and one to come. */
static void choose_stages(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem)
{
    enum { FEW_BLOCKS = 2, SHORT = 6 * PG_MMA_BLOCK_K, TILES_OF_SM = 4, BY_ELEMENTS = 2 };
    const bool many = tiles_in(problem, k->block_m, k->block_n) > TILES_OF_SM * problem->sm_count,
               by_elements = problem->operand_alignment == BY_ELEMENTS &&
                             problem->k > FEW_BLOCKS * PG_MMA_BLOCK_K;
    const int64_t useful = divide_up(problem->k, PG_MMA_BLOCK_K) + 1;
    if (!k->stages && ((problem->k <= SHORT && many) || by_elements))
        k->stages = MIN_STAGES;
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k->arch);
    if (!k->stages && useful < AUTO_STAGES && arch && useful <= stages_that_fit(k, arch))
        k->stages = useful > MIN_STAGES ? useful : MIN_STAGES;
}

void pg_mma_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem)
{
    enum { LATENCY = 6 }; /* stages of K: the begin and the end of a tile */
    const struct tile *best = NULL;
    double best_time = 0;
    for (int i = 0; i < TILES; i++) {
        const struct tile *t = &tiles[i];
        if ((k->block_m && k->block_m != t->block_m) || (k->block_n && k->block_n != t->block_n) ||
            (t->block_m < PG_MMA_BLOCK_K && k->a))
            continue;
        const int64_t count = tiles_in(problem, t->block_m, t->block_n);
        const double waves = (double)divide_up(count, problem->sm_count);
        const double time = waves * t->block_m * t->block_n / t->speed *
                            (double)(divide_up(problem->k, PG_MMA_BLOCK_K) + LATENCY);
        if (best && time >= best_time)
            continue;
        best = t;
        best_time = time;
    }
    if (!best)
        return;
    k->block_m = best->block_m;
    k->block_n = best->block_n;
    choose_rows(k, problem);
    choose_stages(k, problem);
}

enum { PG_MMA_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_mma_params(const pg_mma_plan *p)
{
    static const pg_kernel_param rows[] = {PG_MMA_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const uint32_t c = 1U << at_c_ | 1U << at_c_stride_ | 1U << at_c_vectors_;
    const uint32_t alpha = 1U << at_alpha_, beta = 1U << at_beta_;
    const uint32_t c_batch = 1U << at_c_batch_,
                   batches = 1U << at_a_batch_ | 1U << at_b_batch_ | 1U << at_d_batch_;
    const uint32_t vectors = 1U << at_c_vectors_ | 1U << at_d_vectors_;
    static const uint64_t groups =
        UINT64_C(1) << at_batch_maps_ | UINT64_C(1) << at_groups_ | UINT64_C(1) << at_group_rows_;
    return (pg_param_list){rows, (p->adds_c ? 0 : c) | (p->by_rows ? vectors : 0) |
                                     (p->scales ? 0 : alpha) | (p->scales && p->adds_c ? 0 : beta) |
                                     (p->batched ? 0 : batches) |
                                     (p->batched && p->adds_c ? 0 : c_batch) |
                                     (p->group_type ? 1U << at_tiles_m_ : groups) |
                                     pg_epilogue_absent(&p->epilogue) << at_row_scale_};
}

/* Of the widest vectors that rows consist of, 16 at most. */
static uint32_t vector_bytes(const pg_view *v)
{
    const uintptr_t bits = pg_matmul_low_bits(v) | VECTOR_BYTES;
    return (uint32_t)(bits & -bits);
}

static bool aligned(const pg_view *v, int bytes)
{
    return pg_matmul_low_bits(v) % (uintptr_t)bytes == 0;
}

/* Bytes from row to row. */
static uint64_t stride_of(const pg_view *v)
{
    return (uint64_t)(v->stride[pg_matmul_across(v)] * v->bits / 8);
}

/* What two columns of the sum become lies aligned in D, and so does all that the steps read. */
static bool stores_pairs(const pg_problem *problem)
{
    const pg_mma_plan *p = problem->plan;
    const pg_view *d = &problem->operand[PG_MATMUL_D];
    const int pair = (p->epilogue.gate ? 1 : 2) * p->d_type->bytes;
    return aligned(d, pair) &&
           (!pg_mma_has_steps(p) ||
            (problem->symbol[PG_MATMUL_N] % 2 == 0 &&
             pg_epilogue_takes_vectors(problem, PG_MATMUL_STEPS, &p->epilogue)));
}

/* Rows of a transposed A that begin where a group before ended are aligned to an element alone. */
static uint32_t a_vector_bytes(const pg_problem *problem)
{
    const pg_mma_plan *p = problem->plan;
    const pg_view *a = &problem->operand[PG_MATMUL_A];
    const bool anywhere = p->group_type && !p->a.k_major && pg_matmul_rows_follow(problem);
    return anywhere ? (uint32_t)a->bits / 8 : vector_bytes(a);
}

static void set_operands(const pg_problem *problem, pg_launch *l)
{
    const pg_mma_plan *p = problem->plan;
    const pg_view *v = problem->operand, *a = &v[PG_MATMUL_A], *b = &v[PG_MATMUL_B],
                  *c = &v[PG_MATMUL_C], *d = &v[PG_MATMUL_D];
    pg_set_pointer(l, at_a_, a->data);
    pg_set_u64(l, at_a_stride_, stride_of(a));
    pg_set_u64(l, at_a_batch_, (uint64_t)pg_matmul_batch_bytes(a));
    pg_set_u32(l, at_a_vectors_, a_vector_bytes(problem));
    pg_set_pointer(l, at_b_, b->data);
    pg_set_u64(l, at_b_stride_, stride_of(b));
    pg_set_u64(l, at_b_batch_, (uint64_t)pg_matmul_batch_bytes(b));
    pg_set_u32(l, at_b_vectors_, vector_bytes(b));
    if (p->adds_c) {
        pg_set_pointer(l, at_c_, c->data);
        pg_set_u64(l, at_c_stride_, stride_of(c));
        pg_set_u64(l, at_c_batch_, (uint64_t)pg_matmul_batch_bytes(c));
        pg_set_u32(l, at_c_vectors_, aligned(c, 2 * p->c_type->bytes));
    }
    pg_set_pointer(l, at_d_, d->data);
    pg_set_u64(l, at_d_stride_, stride_of(d));
    pg_set_u64(l, at_d_batch_, (uint64_t)pg_matmul_batch_bytes(d));
    pg_set_u32(l, at_d_vectors_, stores_pairs(problem));
}

static void set_groups(const pg_problem *problem, pg_launch *l)
{
    pg_set_u32(l, at_batch_maps_, (uint32_t)pg_matmul_rows_follow(problem) << PG_GROUPS_FOLLOW);
    pg_set_u32(l, at_groups_, problem->symbol[PG_MATMUL_BATCH]);
    pg_set_pointer(l, at_group_rows_, problem->operand[PG_MATMUL_GROUP_ROWS].data);
}

void pg_mma_launch(const pg_problem *problem, pg_launch *l)
{
    const pg_mma_plan *p = problem->plan;
    const int64_t m = problem->symbol[PG_MATMUL_M], n = problem->symbol[PG_MATMUL_N];
    const int64_t tiles_m = divide_up(m, p->block_m), tiles_n = divide_up(n, p->block_n);
    const int64_t matrices = problem->symbol[PG_MATMUL_BATCH];
    /* Groups in one matrix are at most as many tiles as it has, and one more for each. */
    const bool follow = p->group_type && pg_matmul_rows_follow(problem);
    pg_launch_line(l, (follow ? tiles_m + matrices : tiles_m * matrices) * tiles_n, p->threads,
                   COUNT, pg_mma_params(p).absent);
    l->shared_bytes = p->head.shared_bytes;
    l->early = p->arch->sm >= 90;
    set_operands(problem, l);
    if (p->group_type)
        set_groups(problem, l);
    pg_set_u32(l, at_m_, m);
    pg_set_u32(l, at_n_, n);
    pg_set_u32(l, at_k_, pg_matmul_depth(problem));
    pg_set_u32(l, at_tiles_m_, tiles_m);
    pg_set_u32(l, at_tiles_n_, tiles_n);
    if (p->scales)
        pg_set_f32(l, at_alpha_, pg_matmul_alpha(problem));
    if (p->scales && p->adds_c)
        pg_set_f32(l, at_beta_, pg_matmul_beta(problem));
    pg_epilogue_set(problem, PG_MATMUL_STEPS, &p->epilogue, l, at_row_scale_);
}
