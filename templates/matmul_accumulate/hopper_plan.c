/* Numbers of the Hopper kernel, and which blocks it takes. */
#include "matmul_accumulate/hopper.h"

#include "base/error.h"
#include "common/wgmma.h"

#include <stdio.h>
#include <string.h>

enum {
    ACCUMULATOR_BYTES = 4,
    BARRIER_BYTES = 8,
    ALIGNMENT = 1024, /* of a swizzled box: its pattern repeats every 1024 bytes at most */
    MIN_STAGES = 2,
    MAX_STAGES = 24,
    MAX_THIRD_COLUMNS = 192,
};

typedef const pg_matmul_accumulate_key hopper_key;

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void settle(int64_t *setting, int64_t automatic)
{
    if (!*setting)
        *setting = automatic;
}

static bool is_pingpong(hopper_key *k)
{
    return k->schedule == PG_SCHEDULE_PINGPONG;
}

static bool swaps(hopper_key *k)
{
    return k->swap == PG_YES;
}

static bool has_ring(hopper_key *k)
{
    return k->c_load == PG_C_RING || k->c_load == PG_C_LATE;
}

/* Rows of a warpgroup's part of a tile. */
static int64_t part_rows(hopper_key *k)
{
    return is_pingpong(k) ? k->block_m : k->block_m / k->warpgroups;
}

/* The left operand is A or, swapped, B^T; is K adjacent in it? */
static bool left_k_major(hopper_key *k)
{
    return swaps(k) ? k->b != 0 : k->a == 0;
}

static bool right_k_major(hopper_key *k)
{
    return swaps(k) ? k->a == 0 : k->b != 0;
}

/* The widest swizzle that a row of a box fills: `row` bytes, not more than the caller's. */
static int swizzle_of(hopper_key *k, bool k_major, int64_t extent)
{
    const int64_t row = pg_matmul_operand_bytes(k) * (k_major ? k->block_k : extent);
    int swizzle = k->swizzle ? (int)k->swizzle : 128;
    while (swizzle > 32 && row % swizzle)
        swizzle /= 2;
    return swizzle;
}

static int64_t stage_bytes(hopper_key *k)
{
    return k->block_k * pg_matmul_operand_bytes(k) * (k->block_m + k->block_n);
}

static int64_t slot_bytes(hopper_key *k)
{
    return k->c_slots ? k->block_m * PG_C_CHUNK_BYTES : 0;
}

static int64_t barrier_bytes(hopper_key *k, int64_t stages)
{
    return 2 * (stages + k->c_slots + k->warpgroups) * BARRIER_BYTES;
}

static int64_t shared_bytes(hopper_key *k, int64_t stages)
{
    return stages * stage_bytes(k) + k->c_slots * slot_bytes(k) + barrier_bytes(k, stages);
}

static int64_t stages_that_fit(hopper_key *k, const pg_arch *arch)
{
    int64_t stages = 0;
    while (stages < MAX_STAGES && shared_bytes(k, stages + 1) <= arch->max_shared_bytes)
        stages++;
    return stages;
}

/* ---- what fits together ---- */

static ptxgen_status check_rows(hopper_key *k, ptxgen_error *err)
{
    const int64_t rows = part_rows(k);
    if ((rows == PG_WGMMA_ROWS || rows == 2 * PG_WGMMA_ROWS) &&
        (is_pingpong(k) || k->block_m % k->warpgroups == 0))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "block_m=%lld with %lld warpgroups: a warpgroup multiplies 64 or 128 rows of a "
                   "tile; use block_m=%d or "
                   "%d",
                   (long long)k->block_m, (long long)k->warpgroups,
                   is_pingpong(k) ? PG_WGMMA_ROWS : PG_WGMMA_ROWS * (int)k->warpgroups,
                   is_pingpong(k) ? 2 * PG_WGMMA_ROWS : 2 * PG_WGMMA_ROWS * (int)k->warpgroups);
}

/* What ptxas places without spills (13.0): loads of C need
 * registers beside the sums. */
static int64_t most_accumulators(hopper_key *k)
{
    const bool loads_c = k->c == 0 && !has_ring(k) && k->splits == 1 && k->slices == 1;
    if (pg_hopper_step_limit(k, k->warpgroups) && k->slices == 1)
        return pg_hopper_step_limit(k, k->warpgroups);
    if (pg_hopper_split_limit(k->splits, k->warpgroups))
        return pg_hopper_split_limit(k->splits, k->warpgroups);
    if (k->warpgroups == 3)
        return loads_c ? 112 : 128;
    return loads_c && k->warpgroups == 2 ? 160 : 192;
}

static ptxgen_status check_columns(hopper_key *k, ptxgen_error *err)
{
    const int64_t unit = right_k_major(k) ? 8 : 16;
    if (k->block_n % unit)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_n=%lld: use a multiple of %lld up to 256",
                       (long long)k->block_n, (long long)unit);
    const int64_t accumulators = part_rows(k) / PG_WGMMA_ROWS * k->block_n / 2,
                  most = most_accumulators(k);
    if (k->warpgroups == 3 && k->block_n > MAX_THIRD_COLUMNS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "block_n=%lld: of three warpgroups each multiplies %d columns at most",
                       (long long)k->block_n, MAX_THIRD_COLUMNS);
    if (accumulators > most)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "a tile of %lld x %lld takes %lld registers of each of %lld warpgroups for "
                       "sums; %lld is the "
                       "most%s: use block_n=%lld or less",
                       (long long)k->block_m, (long long)k->block_n, (long long)accumulators,
                       (long long)k->warpgroups, (long long)most,
                       k->c == 0 && !has_ring(k) ? " without c_load=ring" : "",
                       (long long)(most * 2 * PG_WGMMA_ROWS / part_rows(k)));
    return PTXGEN_OK;
}

/* wgmma transposes 16-bit operands only, and only those are copied to aligned rows. */
static ptxgen_status check_layouts(hopper_key *k, ptxgen_error *err)
{
    if (pg_matmul_operand_bytes(k) == 2)
        return PTXGEN_OK;
    if (k->a || !k->b)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "operands of 8 and 32 bits need K adjacent in memory: use a=row_major, "
                       "b=transposed");
    if (k->copy)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "operands of 16 bits alone can be copied or read by phases: "
                       "leave copy and phases out, or align rows of a and b to 16 bytes");
    return PTXGEN_OK;
}

static ptxgen_status check_depth(hopper_key *k, ptxgen_error *err)
{
    if (k->block_k != 32 && k->block_k != 64 && k->block_k != 128)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_k=%lld: use 32, 64 or 128",
                       (long long)k->block_k);
    if (k->swizzle && pg_swizzle_of((int)k->swizzle) == PG_SWIZZLE_NONE)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "swizzle=%lld: use 32, 64 or 128",
                       (long long)k->swizzle);
    return PTXGEN_OK;
}

/* Parts that CTAs load for each other are whole 8-row patterns of the swizzle. */
static bool divides(bool k_major, int64_t extent, int64_t block_k, int64_t sharers)
{
    return (k_major ? extent : block_k) % (8 * sharers) == 0;
}

static bool is_power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

static ptxgen_status check_cluster(hopper_key *k, ptxgen_error *err)
{
    if (!is_power_of_two(k->ctas) || !is_power_of_two(k->ctas_n) || !is_power_of_two(k->splits))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=%lld ctas_n=%lld splits=%lld: use powers of two", (long long)k->ctas,
                       (long long)k->ctas_n, (long long)k->splits);
    if (k->ctas * k->ctas_n * k->splits > PG_MAX_CLUSTER)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=%lld ctas_n=%lld splits=%lld make a cluster of %lld; %d is the most",
                       (long long)k->ctas, (long long)k->ctas_n, (long long)k->splits,
                       (long long)(k->ctas * k->ctas_n * k->splits), PG_MAX_CLUSTER);
    if (!divides(right_k_major(k), k->block_n, k->block_k, k->ctas) ||
        !divides(left_k_major(k), k->block_m, k->block_k, k->ctas_n))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "ctas=%lld ctas_n=%lld: each CTA loads a multiple of 8 rows of a box of "
                       "%lld x %lld x %lld: use "
                       "smaller clusters or larger blocks",
                       (long long)k->ctas, (long long)k->ctas_n, (long long)k->block_m,
                       (long long)k->block_n, (long long)k->block_k);
    return PTXGEN_OK;
}

static ptxgen_status check_shared(hopper_key *k, const pg_arch *arch, int64_t fit,
                                  ptxgen_error *err)
{
    if (fit >= MIN_STAGES && k->stages <= fit)
        return PTXGEN_OK;
    const char *remedy = "lower block_n, block_k or c_slots";
    char fewer[64];
    if (fit >= MIN_STAGES) {
        snprintf(fewer, sizeof fewer, "use stages=%lld or less, or smaller blocks", (long long)fit);
        remedy = fewer;
    }
    const int64_t stages = k->stages > MIN_STAGES ? k->stages : MIN_STAGES;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%lld stages of %lld bytes and %lld slots of C of %lld bytes need %lld bytes of "
                   "shared memory, a CTA of "
                   "%s has %d: %s",
                   (long long)stages, (long long)stage_bytes(k), (long long)k->c_slots,
                   (long long)slot_bytes(k), (long long)shared_bytes(k, stages), arch->name,
                   arch->max_shared_bytes, remedy);
}

/* Splits leave their sums in the memory of the stages. */
static ptxgen_status check_splits(hopper_key *k, ptxgen_error *err)
{
    const int64_t columns = swaps(k) ? k->block_m : k->block_n,
                  sums = k->block_m * k->block_n / columns *
                         pg_hopper_part_pitch((int)columns, swaps(k));
    if (k->splits == 1 || sums <= k->stages * stage_bytes(k))
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "splits=%lld: the %lld bytes of a tile's sums must fit in its stages (%lld bytes): "
        "use more stages",
        (long long)k->splits, (long long)sums, (long long)(k->stages * stage_bytes(k)));
}

/* Parts of K: C is added where they are summed. */
static ptxgen_status check_parts_of_k(hopper_key *k, ptxgen_error *err)
{
    if (k->splits == 1 && k->slices == 1)
        return PTXGEN_OK;
    if (k->splits > 1 && k->slices > 1)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "splits=%lld with slices=%lld: use one of them",
                       (long long)k->splits, (long long)k->slices);
    if (is_pingpong(k) || has_ring(k))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "splits=%lld slices=%lld: parts of K take schedule=cooperative and "
                       "c_load=direct",
                       (long long)k->splits, (long long)k->slices);
    return PTXGEN_OK;
}

/* How many tiles there are is known on the device alone, and whose row ends where too. */
static ptxgen_status check_groups(hopper_key *k, ptxgen_error *err)
{
    if (!k->grouped || (k->splits == 1 && k->slices == 1 && !swaps(k)))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "splits=%lld slices=%lld swap=%s with group_rows: use 1, 1 and no",
                   (long long)k->splits, (long long)k->slices, swaps(k) ? "yes" : "no");
}

static ptxgen_status check_ring(hopper_key *k, ptxgen_error *err)
{
    if (k->c_load == PG_C_ROWS)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_load=rows belongs to schedule=mma_sync: use direct, ring or late");
    if (!has_ring(k) && k->c_slots)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_slots=%lld: only c_load=ring and late have slots", (long long)k->c_slots);
    const int columns = pg_hopper_chunk_columns(k);
    if (!has_ring(k))
        return PTXGEN_OK;
    if (k->c_load == PG_C_LATE && k->c)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_load=late adds C behind the multiplications, and with c=none there is "
                       "none; use c_load=ring for a residual, or direct");
    if (!columns)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_load=ring brings C or, with c=none, a residual of D's shape to shared "
                       "memory, and there is neither; use c_load=direct");
    if (swaps(k) || k->block_n % columns)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "c_load=%s: C comes through shared memory in chunks of %d columns, with "
                       "swap=no; use c_load=direct",
                       k->c_load == PG_C_LATE ? "late" : "ring", columns);
    return PTXGEN_OK;
}

int pg_hopper_chunk_columns(const pg_matmul_accumulate_key *k)
{
    const pg_epilogue e = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    const pg_side *residual = &e.side[PG_SIDE_RESIDUAL];
    if (k->c == 0)
        return PG_C_CHUNK_BYTES / pg_matmul_result_type(k->c_dtype)->bytes;
    return residual->spread == PG_SPREAD_MATRIX
               ? PG_C_CHUNK_BYTES * 8 / pg_dtype_bits(residual->dtype)
               : 0;
}

static void settle_ring(pg_matmul_accumulate_key *k)
{
    enum { MOST_BYTES = 64 << 10 };
    const int columns = pg_hopper_chunk_columns(k);
    if (!has_ring(k) || !columns)
        return;
    const int64_t chunks = k->block_n / columns, fit = MOST_BYTES / (k->block_m * PG_C_CHUNK_BYTES);
    settle(&k->c_slots, chunks < fit ? chunks : fit);
}

static void settle_all(pg_matmul_accumulate_key *k)
{
    settle(&k->schedule, PG_SCHEDULE_COOPERATIVE);
    settle(&k->warpgroups, 2);
    settle(&k->block_m, is_pingpong(k) ? 128 : PG_WGMMA_ROWS * k->warpgroups);
    settle(&k->block_n, is_pingpong(k) ? 128 : 256);
    settle(&k->block_k, 128 / pg_matmul_operand_bytes(k));
    settle(&k->group_m, 8);
    settle(&k->ctas, 1);
    settle(&k->ctas_n, 1);
    settle(&k->splits, 1);
    settle(&k->swap, PG_NO);
    settle(&k->slices, pg_hopper_least_slices(k));
    settle(&k->c_load, PG_C_DIRECT);
    settle(&k->stream, swaps(k) ? PG_YES : PG_NO);
    settle(&k->phases, PG_PHASES_NONE);
    if (pg_phases_of(k->phases) && (right_k_major(k) || !left_k_major(k)))
        k->copy |= pg_hopper_left_is_b(k) ? PG_COPY_A : PG_COPY_B;
    settle_ring(k);
}

/* A gate takes two adjacent columns of a thread's; those of a swapped tile are other threads'. */
static ptxgen_status check_steps(hopper_key *k, ptxgen_error *err)
{
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    if (steps.gate && swaps(k))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "gate=yes with swap=yes: a thread of the transposed problem has no two "
                       "adjacent columns; use swap=no");
    PG_TRY(pg_epilogue_refuse_blocks(&steps, "sm_90a", err));
    if (k->d_store || k->tiles)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d_store and tiles belong to the kernels of sm_100a: leave them out for "
                       "sm_90a");
    return pg_epilogue_check(&steps, err);
}

ptxgen_status pg_hopper_resolve(pg_matmul_accumulate_key *k, const pg_arch *arch, ptxgen_error *err)
{
    if (k->schedule > PG_SCHEDULE_PINGPONG)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "schedule=%s belongs to the kernels of sm_100a and its kin: use "
                       "cooperative or pingpong for sm_90a",
                       k->schedule == PG_SCHEDULE_SEED ? "seed" : "fill");
    settle_all(k);
    PG_TRY(check_rows(k, err));
    PG_TRY(check_columns(k, err));
    PG_TRY(check_depth(k, err));
    PG_TRY(check_layouts(k, err));
    PG_TRY(check_cluster(k, err));
    PG_TRY(check_ring(k, err));
    PG_TRY(check_parts_of_k(k, err));
    PG_TRY(check_groups(k, err));
    PG_TRY(pg_hopper_check_phases(k, err));
    settle(&k->swizzle, 128);
    const int64_t fit = stages_that_fit(k, arch);
    PG_TRY(check_shared(k, arch, fit, err));
    settle(&k->stages, fit);
    PG_TRY(check_splits(k, err));
    return check_steps(k, err);
}

/* Inputs and results that are at work beside the sums; of pairs, a gate's. */
static int inputs_and_results(const pg_epilogue *e)
{
    int count = e->amax + e->function + (e->aux != PTXGEN_DTYPE_NONE);
    for (int i = 0; i < PG_SIDES; i++)
        count += e->side[i].spread != PG_SPREAD_NONE;
    return count;
}

/* What an activation weighs in registers, as inputs do (ptxas 13.0; a gate adds nothing). */
static int weight_of(pg_activation activation)
{
    static const int weights[] = {[PG_ACTIVATION_SILU] = 1,
                                  [PG_ACTIVATION_GELU_ERF] = 1,
                                  [PG_ACTIVATION_GELU_TANH] = 2,
                                  [PG_ACTIVATION_SIGMOID] = 3,
                                  [PG_ACTIVATION_TANH] = 3};
    return (size_t)activation < sizeof weights / sizeof *weights ? weights[activation] : 0;
}

int64_t pg_hopper_step_limit(const pg_matmul_accumulate_key *k, int64_t warpgroups)
{
    enum { FEW = 2, FEW_OF_THREE = 1, HEAVY = 3, SUMS = 160, SUMS_OF_THREE = 96 };
    const pg_epilogue e = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    const int count = inputs_and_results(&e), weight = weight_of(e.activation);
    const int strides = k->batch && count > 0 ? 2 : 0; /* from matrix to matrix, of inputs too */
    const bool many = count + e.gate + strides > FEW;
    if (warpgroups == 3)
        return many || count + weight > FEW_OF_THREE ? SUMS_OF_THREE : 0;
    return many || weight >= HEAVY ? SUMS : 0;
}

/* ---- plan ---- */

int pg_hopper_step(const pg_hopper_plan *p, const pg_hopper_operand *o, int step, int first)
{
    if (o->k_major) { /* columns of K as wide as the swizzle, each of all rows */
        const int byte = step * PG_WGMMA_STEP_BYTES;
        return byte / o->swizzle * o->box_bytes + byte % o->swizzle + first * o->swizzle;
    }
    return first * p->operand_bytes / o->swizzle * o->box_bytes +
           step * (PG_WGMMA_STEP_BYTES / p->operand_bytes) * o->swizzle;
}

static void describe(pg_hopper_operand *o, hopper_key *k, int64_t extent, int64_t sharers)
{
    o->extent = (int)extent;
    o->swizzle = swizzle_of(k, o->k_major, extent);
    o->sharers = (int)sharers;
    o->stage_bytes = (int)(extent * k->block_k) * pg_matmul_operand_bytes(k);
    const int rows = (int)(o->k_major ? extent : k->block_k), row_bytes = o->stage_bytes / rows;
    o->boxes = row_bytes / o->swizzle;
    o->box_columns = o->swizzle / pg_matmul_operand_bytes(k);
    o->box_rows = rows / o->sharers;
    o->box_bytes = rows * o->swizzle;
    o->part_bytes = o->box_rows * o->swizzle;
    o->matrix =
        (pg_smem_matrix){o->k_major ? 16 : o->box_bytes, 8 * o->swizzle, pg_swizzle_of(o->swizzle)};
}

static int aligned(int bytes)
{
    return (int)divide_up(bytes, ALIGNMENT) * ALIGNMENT;
}

static void place_in_shared_memory(pg_hopper_plan *p)
{
    p->left.offset = 0;
    p->right.offset = p->stages * p->left.stage_bytes;
    p->c_offset = aligned(p->right.offset + p->stages * p->right.stage_bytes);
    p->full = p->c_offset + p->c_slots * p->c_slot_bytes;
    p->empty = p->full + p->stages * BARRIER_BYTES;
    p->c_full = p->empty + p->stages * BARRIER_BYTES;
    p->c_empty = p->c_full + p->c_slots * BARRIER_BYTES;
    p->turn = p->c_empty + p->c_slots * BARRIER_BYTES;
    p->c_turn = p->turn + p->groups * BARRIER_BYTES;
    p->head.shared_bytes = (uint32_t)(p->c_turn + p->groups * BARRIER_BYTES);
}

/* Without C the ring brings the residual. */
static void describe_ring(pg_hopper_plan *p, hopper_key *k)
{
    p->chunk_columns = pg_hopper_chunk_columns(k);
    p->residual_ring = k->c != 0;
    p->ring_type = p->c_type;
    if (p->residual_ring) {
        p->ring_type = pg_dtype_find(p->epilogue.side[PG_SIDE_RESIDUAL].dtype);
        p->epilogue.side[PG_SIDE_RESIDUAL].spread = PG_SPREAD_NEAR;
    }
    p->adds_late = k->c_load == PG_C_LATE;
    /* A box would write over the rows of the next group. */
    p->stores_slots =
        p->adds_late && p->c_type == p->d_type && !p->group_type && !pg_hopper_has_steps(p);
}

static void name_entry(pg_hopper_plan *p, hopper_key *k)
{
    char phases[8] = "";
    if (p->phases)
        snprintf(phases, sizeof phases, "_p%d", p->phases);
    snprintf(p->head.entry, sizeof p->head.entry,
             "matmul_accumulate_%s_%s%dx%dx%d_w%d_s%d_c%dx%dx%dx%d%s%s%s%s%s", p->operand_type,
             p->pingpong ? "pp" : "", p->block_m, p->block_n, p->block_k, p->groups, p->stages,
             p->cluster_m, p->cluster_n, p->splits, p->slices, k->a ? "_at" : "", k->b ? "_bt" : "",
             p->swapped ? "_swap" : "", phases,
             p->group_type ? "_g"
             : p->batched  ? "_n"
                           : "");
}

void pg_hopper_plan_from(const pg_matmul_accumulate_key *k, const pg_arch *arch, pg_hopper_plan *p)
{
    memset(p, 0, sizeof *p);
    static const char *const parts[] = {"multiply", "sum", "align", NULL};
    p->head.parts = k->slices > 1 || k->copy ? parts : NULL;
    p->arch = arch;
    p->engine = PG_ENGINE_WGMMA;
    const pg_dtype *operand = pg_dtype_find(pg_matmul_dtypes[k->dtype]);
    p->operand_type = k->dtype == PG_MATMUL_F32 ? "tf32" : operand->name; /* wgmma's word */
    p->operand_map = operand->tensor_type;
    p->operand_bytes = pg_matmul_operand_bytes(k);
    p->swapped = swaps(k);
    p->pingpong = is_pingpong(k);
    p->adds_c = k->c == 0;
    p->scales = k->scale != 0;
    p->batched = k->batch != 0;
    p->phases = pg_phases_of(k->phases);
    p->matrices = p->batched || p->phases;
    p->group_type = k->grouped == 0 ? NULL : k->grouped == 1 ? "s32" : "s64";
    p->c_type = pg_matmul_result_type(k->c_dtype);
    p->d_type = pg_matmul_result_type(k->d_dtype);
    p->out = k->slices > 1 ? pg_matmul_result_type(0) : p->d_type;
    p->epilogue = pg_epilogue_of(&k->steps, pg_matmul_d_type(k));
    p->epilogue.batched = k->batch != 0;
    p->groups = (int)k->warpgroups;
    p->block_m = (int)k->block_m;
    p->block_n = (int)k->block_n;
    p->block_k = (int)k->block_k;
    p->stages = (int)k->stages;
    p->group_m = (int)k->group_m;
    p->rows = (int)part_rows(k);
    p->cluster_m = (int)k->ctas;
    p->cluster_n = (int)k->ctas_n;
    p->splits = (int)k->splits;
    p->slices = (int)k->slices;
    p->copy = (int)k->copy;
    p->threads = (p->groups + 1) * PG_WARPGROUP_THREADS;
    p->c_slots = (int)k->c_slots;
    p->c_slot_bytes = (int)slot_bytes(k);
    if (p->c_slots)
        describe_ring(p, k);
    p->evict_first = k->stream > PG_NO;
    p->fetches_ahead = k->stream == PG_AHEAD;
    p->steps = p->block_k * p->operand_bytes / PG_WGMMA_STEP_BYTES;
    p->left.k_major = left_k_major(k);
    p->right.k_major = right_k_major(k);
    p->left.has_matrices = p->batched;
    p->right.has_matrices = p->batched || pg_hopper_copies_phases(p);
    describe(&p->left, k, p->block_m, p->cluster_n);
    describe(&p->right, k, p->block_n, p->cluster_m);
    place_in_shared_memory(p);
    name_entry(p, k);
}
