/* Numbers of the matmul_accumulate kernel, and which blocks it takes. */
#include "matmul_accumulate/hopper.h"
#include "matmul_accumulate/mma_sync.h"

#include "base/error.h"
#include "common/tcgen05_cut.h"
#include "common/warp_roles.h"

#include <stdio.h>
#include <string.h>

enum {
    ACCUMULATOR_BYTES = 4,
    C_SWIZZLE = 128, /* a row of C is 256 bytes or more */
    STEP_BYTES = 32, /* K of one multiplication */
    COPY_COLUMNS = 8,
    MIN_STAGES = 2,
    MAX_STAGES = 12,
    SEED_MAX_STAGES = 6, /* more gain nothing beside a tile of C */
    BARRIER_BYTES = 8,
    SLOT_BYTES = 16,
};

/* By the SM: a plain target means its `a` target (generate/family.h, arch_specific). */
pg_matmul_engine pg_matmul_accumulate_engine(const pg_matmul_accumulate_key *k)
{
    const int64_t sm = k->arch / 10;
    if (k->schedule == PG_SCHEDULE_MMA_SYNC)
        return PG_ENGINE_MMA_SYNC;
    if (sm == 90)
        return PG_ENGINE_WGMMA;
    return sm == 100 || sm == 103 ? PG_ENGINE_TCGEN05 : PG_ENGINE_MMA_SYNC;
}

static pg_tcgen05_cut cut_of(const pg_matmul_accumulate_key *k)
{
    return (pg_tcgen05_cut){k->block_n, k->ctas, k->ctas_n, k->splits};
}

/* Columns of B that a CTA holds: a pair's tensor core reads both halves. */
static int64_t b_columns(const pg_matmul_accumulate_key *k)
{
    return k->block_n / pg_tcgen05_group(k->ctas);
}

static int stage_bytes(const pg_matmul_accumulate_key *k)
{
    return (int)(k->block_k * pg_matmul_operand_bytes(k) * (k->block_m + b_columns(k)));
}

static pg_c_source c_source(const pg_matmul_accumulate_key *k)
{
    if (k->c)
        return PG_C_ABSENT;
    return k->schedule == PG_SCHEDULE_SEED ? PG_C_TILE : PG_C_FILLED;
}

/* Of shared memory. */
static int c_bytes(const pg_matmul_accumulate_key *k)
{
    return c_source(k) != PG_C_TILE ? 0 : (int)(k->block_m * k->block_n * ACCUMULATOR_BYTES);
}

static int d_bytes(const pg_matmul_accumulate_key *k)
{
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    return k->d_store == PG_D_TENSOR ? pg_d_ring_bytes(&steps, (int)k->splits) : 0;
}

static int barrier_bytes(int64_t stages)
{
    return (int)(2 * stages + 2 + 2 * PG_ACCUMULATORS) * BARRIER_BYTES;
}

static int shared_bytes(const pg_matmul_accumulate_key *k, int64_t stages)
{
    return (int)stages * stage_bytes(k) + c_bytes(k) + pg_split_bytes((int)k->splits) + d_bytes(k) +
           pg_walk_bytes(k->tiles == PG_TILES_DYNAMIC) + barrier_bytes(stages) + SLOT_BYTES;
}

static bool is_one_of_three(int64_t v, int64_t lowest)
{
    return v == lowest || v == 2 * lowest || v == 4 * lowest;
}

static ptxgen_status check_blocks(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    if (k->block_m != PG_TMEM_LANES)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "block_m=%lld: a CTA's accumulator has 128 rows, use block_m=128 (and "
                       "ctas=2 for tiles of 256"
                       " rows)",
                       (long long)k->block_m);
    if (!is_one_of_three(k->block_n, 64))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_n=%lld: use 64, 128 or 256",
                       (long long)k->block_n);
    if (!is_one_of_three(k->block_k, 32))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_k=%lld: use 32, 64 or 128",
                       (long long)k->block_k);
    return PTXGEN_OK;
}

/* Bytes of a row of a stage as it is loaded: along K for a row-major A and a transposed B, along N
 * for a row-major one, along M for a transposed A. */
static int64_t b_row_bytes(const pg_matmul_accumulate_key *k)
{
    return pg_matmul_operand_bytes(k) * (k->b ? k->block_k : b_columns(k));
}

static int64_t a_row_bytes(const pg_matmul_accumulate_key *k)
{
    return pg_matmul_operand_bytes(k) * (k->a ? k->block_m : k->block_k);
}

static ptxgen_status check_swizzle(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    const int64_t a_row = a_row_bytes(k), b_row = b_row_bytes(k);
    if (pg_swizzle_of((int)k->swizzle) == PG_SWIZZLE_NONE)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "swizzle=%lld: use 32, 64 or 128",
                       (long long)k->swizzle);
    if (a_row < k->swizzle || b_row < k->swizzle)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "swizzle=%lld is wider than a row of a stage: %lld bytes of A, %lld of B: "
                       "use swizzle=%lld or"
                       " less, or wider blocks",
                       (long long)k->swizzle, (long long)a_row, (long long)b_row,
                       (long long)(a_row < b_row ? a_row : b_row));
    return PTXGEN_OK;
}

static ptxgen_status check_shared(const pg_matmul_accumulate_key *k, const pg_arch *arch, int fit,
                                  ptxgen_error *err)
{
    if (fit >= MIN_STAGES && k->stages <= fit)
        return PTXGEN_OK;
    const char *remedy = "lower block_n or block_k";
    char fewer[48];
    if (fit >= MIN_STAGES) {
        snprintf(fewer, sizeof fewer, "use stages=%d or less, or smaller blocks", fit);
        remedy = fewer;
    }
    const int64_t stages = k->stages > MIN_STAGES ? k->stages : MIN_STAGES;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%lld stages of %d bytes and a tile of C of %d bytes need %d bytes of shared "
                   "memory, a CTA of %s"
                   " has %d: %s",
                   (long long)stages, stage_bytes(k), c_bytes(k), shared_bytes(k, stages),
                   arch->name, arch->max_shared_bytes, remedy);
}

static int stages_that_fit(const pg_matmul_accumulate_key *k, const pg_arch *arch)
{
    int stages = 0;
    const int most = c_source(k) == PG_C_TILE ? SEED_MAX_STAGES : MAX_STAGES;
    while (stages < most && shared_bytes(k, stages + 1) <= arch->max_shared_bytes)
        stages++;
    return stages;
}

static void settle(int64_t *setting, int64_t automatic)
{
    if (!*setting)
        *setting = automatic;
}

static int64_t widest_swizzle(const pg_matmul_accumulate_key *k)
{
    const int64_t a_row = a_row_bytes(k), b_row = b_row_bytes(k);
    const int64_t row = a_row < b_row ? a_row : b_row;
    return row < 128 ? row : 128;
}

/* Parameters that only the Hopper kernel has. */
static ptxgen_status refuse_hopper_settings(const pg_matmul_accumulate_key *k, const pg_arch *arch,
                                            ptxgen_error *err)
{
    if (k->schedule == PG_SCHEDULE_COOPERATIVE || k->schedule == PG_SCHEDULE_PINGPONG)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=%s belongs to the kernel of sm_90a: use fill or seed for %s",
                       k->schedule == PG_SCHEDULE_PINGPONG ? "pingpong" : "cooperative",
                       arch->name);
    if (k->c && k->schedule == PG_SCHEDULE_SEED)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c=none with schedule=seed, whose accumulators begin with C: use "
                       "schedule=fill");
    if (k->scale && !k->c && k->schedule == PG_SCHEDULE_SEED)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "scale=alpha_beta with schedule=seed, where C goes past the registers: use "
                       "schedule=fill");
    if (k->c_dtype && k->schedule == PG_SCHEDULE_SEED)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "C of 16 bits with schedule=seed, which copies it as it is: use "
                       "schedule=fill");
    if (pg_matmul_operand_bytes(k) != 2 && (k->a || !k->b))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "operands of 8 and 32 bits need K adjacent in memory: use a=row_major, "
                       "b=transposed");
    if (k->warpgroups <= 0 && k->slices <= 1 && !k->swap && !k->c_load && !k->c_slots && !k->copy &&
        !k->stream && k->phases <= PG_PHASES_NONE)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "warpgroups, slices, swap, c_load, c_slots, "
                   "copy, phases and stream belong to "
                   "the kernel of sm_90a: leave them out for %s",
                   arch->name);
}

/* The parts of a cluster. */
static ptxgen_status check_parts(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    const pg_tcgen05_cut cut = cut_of(k);
    PG_TRY(pg_tcgen05_check_cut(&cut, err));
    if (k->schedule == PG_SCHEDULE_SEED && (k->splits > 1 || k->ctas_n > 1 || k->ctas > 2))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "splits=%lld, ctas_n=%lld and ctas=%lld with schedule=seed, the "
                       "reference's: use schedule=fill",
                       (long long)k->splits, (long long)k->ctas_n, (long long)k->ctas);
    return PTXGEN_OK;
}

static ptxgen_status check_store(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    if (k->d_store == PG_D_ROWS || (!k->grouped && k->schedule != PG_SCHEDULE_SEED))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   k->grouped ? "d_store=tensor with group_rows: where a group's rows end is known "
                                "on the device alone; use d_store=rows"
                              : "d_store=tensor with schedule=seed, the reference's: use "
                                "d_store=rows, or schedule=fill");
}

static ptxgen_status check_walk(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    const bool one_each = k->splits > 1;
    if (k->tiles == PG_TILES_STATIC ||
        (!one_each && !k->grouped && k->schedule != PG_SCHEDULE_SEED))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED, "tiles=dynamic with %s: use tiles=static",
                   one_each     ? "splits, where each cluster has one tile"
                   : k->grouped ? "group_rows, whose tiles are found in order"
                                : "schedule=seed, the reference's");
}

void pg_matmul_accumulate_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem)
{
    static void (*const choose[])(pg_matmul_accumulate_key *, const pg_matmul_problem *) = {
        [PG_ENGINE_TCGEN05] = pg_tcgen05_choose,
        [PG_ENGINE_WGMMA] = pg_hopper_choose,
        [PG_ENGINE_MMA_SYNC] = pg_mma_choose};
    choose[pg_matmul_accumulate_engine(k)](k, problem);
}

/* Of what mma.sync's kernel cannot do, when the architecture has one that can. */
static ptxgen_status blame_schedule(const pg_matmul_accumulate_key *k, ptxgen_error *err)
{
    pg_matmul_accumulate_key without = *k;
    without.schedule = 0;
    if (pg_matmul_accumulate_engine(&without) == PG_ENGINE_MMA_SYNC)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "schedule=mma_sync has no operands of 8 and 32 bits: leave schedule out, or use "
                   "f16 or bf16");
}

ptxgen_status pg_matmul_accumulate_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_matmul_accumulate_key *k = key;
    const pg_matmul_engine engine = pg_matmul_accumulate_engine(k);
    if (k->grouped) /* each group has a matrix of B */
        k->batch = 1;
    if (engine == PG_ENGINE_WGMMA)
        return pg_hopper_resolve(k, arch, err);
    if (engine == PG_ENGINE_MMA_SYNC && k->dtype > PG_MATMUL_BF16)
        PG_TRY(blame_schedule(k, err));
    if (engine == PG_ENGINE_MMA_SYNC && k->dtype > PG_MATMUL_BF16)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "operands of 8 and 32 bits belong to the kernels of sm_90a and sm_100a: use "
                       "f16 or bf16 for %s",
                       arch->name);
    if (engine == PG_ENGINE_MMA_SYNC)
        return pg_mma_resolve(k, arch, err);
    PG_TRY(pg_require_tcgen05(arch, "matmul_accumulate", ", or sm_90a (wgmma)", err));
    PG_TRY(refuse_hopper_settings(k, arch, err));
    settle(&k->block_m, PG_TMEM_LANES);
    settle(&k->schedule, PG_SCHEDULE_FILL);
    settle(&k->block_n, 128);
    settle(&k->block_k, 128 / pg_matmul_operand_bytes(k));
    settle(&k->group_m, 8);
    settle(&k->ctas, 1);
    settle(&k->ctas_n, 1);
    settle(&k->splits, 1);
    settle(&k->d_store, PG_D_ROWS);
    settle(&k->tiles, PG_TILES_STATIC);
    PG_TRY(check_blocks(k, err));
    PG_TRY(check_parts(k, err));
    if (k->grouped && k->splits > 1)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "splits=%lld with group_rows: how many tiles there are is known on the device "
            "alone; use splits=1",
            (long long)k->splits);
    PG_TRY(check_store(k, err));
    PG_TRY(check_walk(k, err));
    settle(&k->swizzle, widest_swizzle(k));
    PG_TRY(check_swizzle(k, err));
    const int fit = stages_that_fit(k, arch);
    PG_TRY(check_shared(k, arch, fit, err));
    settle(&k->stages, fit);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    return pg_epilogue_check(&steps, err);
}

/* Else rows of K, each as wide as the swizzle. */
static int mn_major_step(const pg_matmul_accumulate_plan *p, int step)
{
    return step * (STEP_BYTES / p->operand_bytes) * p->swizzle;
}

/* K-major: columns of K as wide as the swizzle, each of all rows. */
static int k_major_step(int step, int rows, int swizzle)
{
    const int byte = step * STEP_BYTES;
    return byte / swizzle * rows * swizzle + byte % swizzle;
}

int pg_matmul_accumulate_a_step(const pg_matmul_accumulate_plan *p, int step)
{
    return p->a_transposed ? mn_major_step(p, step) : k_major_step(step, p->block_m, p->swizzle);
}

int pg_matmul_accumulate_b_step(const pg_matmul_accumulate_plan *p, int step)
{
    return p->b_transposed ? k_major_step(step, p->b_columns, p->swizzle) : mn_major_step(p, step);
}

int pg_matmul_accumulate_c_source(const pg_matmul_accumulate_plan *p, int column)
{
    return k_major_step(column / COPY_COLUMNS, p->block_m, C_SWIZZLE);
}

static void place_in_shared_memory(pg_matmul_accumulate_plan *p, int d_bytes)
{
    p->a_bytes = p->block_m * p->block_k * p->operand_bytes;
    p->b_bytes = p->b_columns * p->block_k * p->operand_bytes;
    p->b_offset = p->a_offset + p->stages * p->a_bytes;
    p->c_offset = p->b_offset + p->stages * p->b_bytes;
    p->split_offset = p->c_offset + p->c_bytes;
    const int sums_end = p->split_offset + pg_split_bytes(p->parts.splits);
    p->d_ring = d_bytes > 0 ? sums_end : 0;
    p->full = sums_end + d_bytes;
    p->empty = p->full + p->stages * BARRIER_BYTES;
    p->c_full = p->empty + p->stages * BARRIER_BYTES;
    p->c_empty = p->c_full + BARRIER_BYTES;
    p->acc_full = p->c_empty + BARRIER_BYTES;
    p->acc_empty = p->acc_full + PG_ACCUMULATORS * BARRIER_BYTES;
    p->address_slot = p->acc_empty + PG_ACCUMULATORS * BARRIER_BYTES;
    pg_walk_place(&p->walk, p->address_slot + SLOT_BYTES);
    p->head.shared_bytes =
        (uint32_t)(p->address_slot + SLOT_BYTES + pg_walk_bytes(p->walk.dynamic));
}

static void describe_matrices(pg_matmul_accumulate_plan *p, int64_t dtype)
{
    const pg_swizzle swizzle = pg_swizzle_of(p->swizzle);
    static const struct {
        pg_mma_kind kind;
        int type;
    } kinds[] = {[PG_MATMUL_F16] = {PG_MMA_F16, PG_MMA_TYPE_F16},
                 [PG_MATMUL_BF16] = {PG_MMA_F16, PG_MMA_TYPE_BF16},
                 [PG_MATMUL_E4M3] = {PG_MMA_F8F6F4, PG_MMA_TYPE_E4M3},
                 [PG_MATMUL_E5M2] = {PG_MMA_F8F6F4, PG_MMA_TYPE_E5M2},
                 [PG_MATMUL_F32] = {PG_MMA_TF32, PG_MMA_TYPE_TF32}};
    const int type = kinds[dtype].type;
    const pg_mma_shape shape = {.kind = kinds[dtype].kind,
                                .a_mn_major = p->a_transposed,
                                .m = p->block_m * p->ctas,
                                .n = p->block_n,
                                .a_type = type,
                                .b_type = type,
                                .b_mn_major = !p->b_transposed};
    p->instruction = pg_instruction_descriptor(&shape);
    p->a =
        (pg_smem_matrix){p->a_transposed ? p->block_k * p->swizzle : 16, 8 * p->swizzle, swizzle};
    p->b =
        (pg_smem_matrix){p->b_transposed ? 16 : p->block_k * p->swizzle, 8 * p->swizzle, swizzle};
    p->c = (pg_smem_matrix){16, 8 * C_SWIZZLE, pg_swizzle_of(C_SWIZZLE)};
}

static void count_instructions(pg_matmul_accumulate_plan *p)
{
    p->a_loads = (p->a_transposed ? p->block_m : p->block_k) * p->operand_bytes / p->swizzle;
    p->b_loads = (p->b_transposed ? p->block_k : p->b_columns) * p->operand_bytes / p->swizzle;
    p->c_loads = p->block_n * ACCUMULATOR_BYTES / C_SWIZZLE;
    p->copies = p->block_n / COPY_COLUMNS;
    p->multiplications = p->block_k * p->operand_bytes / STEP_BYTES;
    p->a_box_rows = (p->a_transposed ? p->block_k : p->block_m) / p->parts.tiles_n;
    p->b_box_rows = (p->b_transposed ? p->b_columns : p->block_k) / p->parts.tiles_m;
}

void pg_matmul_accumulate_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    static const char *const suffixes[] = {
        [PG_C_FILLED] = "", [PG_C_TILE] = "_seed", [PG_C_ABSENT] = "_ab"};
    const pg_matmul_accumulate_key *k = key;
    pg_matmul_accumulate_plan *p = plan;
    const pg_matmul_engine engine = pg_matmul_accumulate_engine(k);
    if (engine == PG_ENGINE_WGMMA) {
        pg_hopper_plan_from(k, arch, plan);
        return;
    }
    if (engine == PG_ENGINE_MMA_SYNC) {
        pg_mma_plan_from(k, arch, plan);
        return;
    }
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    p->steps.batched = k->batch != 0;
    p->engine = PG_ENGINE_TCGEN05;
    p->threads = 256;
    p->dtype = pg_dtype_find(pg_matmul_dtypes[k->dtype]);
    p->operand_bytes = pg_matmul_operand_bytes(k);
    p->a_transposed = k->a != 0;
    p->b_transposed = k->b != 0;
    p->c_type = pg_matmul_result_type(k->c_dtype);
    p->block_m = (int)k->block_m;
    p->block_n = (int)k->block_n;
    p->block_k = (int)k->block_k;
    p->stages = (int)k->stages;
    p->group_m = (int)k->group_m;
    p->swizzle = (int)k->swizzle;
    const pg_tcgen05_cut cut = cut_of(k);
    p->parts = pg_tcgen05_parts(&cut);
    p->ctas = p->parts.cta_group;
    p->cluster = p->ctas * pg_parts(&p->parts);
    p->tile_rows = p->block_m * (int)k->ctas;
    p->b_columns = (int)b_columns(k);
    p->c_from = c_source(k);
    p->scales = k->scale != 0;
    p->batched = k->batch != 0;
    p->group_type = k->grouped == 0 ? NULL : k->grouped == 1 ? "s32" : "s64";
    p->d_type = pg_matmul_result_type(k->d_dtype);
    p->c_bytes = c_bytes(k);
    p->tmem_columns = pg_tmem_allocation((p->parts.splits > 1 ? 1 : PG_ACCUMULATORS) * p->block_n);
    p->walk = (pg_tile_walk){.dynamic = k->tiles == PG_TILES_DYNAMIC, .cluster = p->cluster};
    place_in_shared_memory(p, d_bytes(k));
    describe_matrices(p, k->dtype);
    count_instructions(p);
    char parts[PG_TCGEN05_PARTS_NAME];
    pg_tcgen05_parts_name(&p->parts, parts);
    snprintf(p->head.entry, sizeof p->head.entry, "matmul_accumulate_%s_%dx%dx%d_s%d_c%d%s%s%s%s%s",
             p->dtype->name, p->block_m, p->block_n, p->block_k, p->stages, (int)k->ctas, parts,
             p->a_transposed ? "_at" : "", p->b_transposed ? "_bt" : "", suffixes[p->c_from],
             p->group_type ? "_g"
             : p->batched  ? "_n"
                           : "");
}
