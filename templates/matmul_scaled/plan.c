/* Numbers of the matmul_scaled kernel, and which formats and blocks it takes. */
#include "matmul_scaled/matmul_scaled.h"

#include "base/error.h"
#include "common/tcgen05_cut.h"
#include "common/warp_roles.h"

#include <stdio.h>
#include <string.h>

enum {
    BLOCK_M = PG_TMEM_LANES,
    STEP_BYTES = 32, /* of a row of an operand, per multiplication */
    MAX_SWIZZLE = 128,
    MAX_STAGES = 6,
    SHARED_BYTES = 224 << 10, /* for stages, about */
    BARRIER_BYTES = 8,
    SLOT_BYTES = 16,
    UNPACKED_UNIT = 128, /* elements of a padded row that a box holds */
};

/* A format in memory. */
static const struct format {
    const char *name;
    int element_bits;
    int group; /* elements that share a scale */
} formats[] = {
    [PTXGEN_MXFP8] = {"mxfp8", 8, 32},
    [PTXGEN_MXFP4] = {"mxfp4", 4, 32},
    [PTXGEN_NVFP4] = {"nvfp4", 4, 16},
};

static pg_mma_kind kind_of(const pg_matmul_scaled_key *k)
{
    if (k->a == PTXGEN_NVFP4)
        return PG_MMA_MXF4NVF4;
    return k->a == PTXGEN_MXFP4 && k->b == PTXGEN_MXFP4 ? PG_MMA_MXF4 : PG_MMA_MXF8F6F4;
}

/* Bits of an element in shared memory. */
static int shared_bits(pg_mma_kind kind)
{
    return kind == PG_MMA_MXF8F6F4 ? 8 : 4;
}

static pg_tcgen05_cut cut_of(const pg_matmul_scaled_key *k)
{
    return (pg_tcgen05_cut){k->block_n, k->ctas, k->ctas_n, k->splits};
}

static int row_bytes(const pg_matmul_scaled_key *k)
{
    return (int)k->block_k * shared_bits(kind_of(k)) / 8;
}

static int scale_words(const pg_matmul_scaled_key *k)
{
    return (int)k->block_k / (formats[k->a].group * PG_SCALES_PER_WORD);
}

/* Of a stage, in a CTA: of its rows of A, and of all of B's. */
static int scale_blocks(const pg_matmul_scaled_key *k)
{
    return BLOCK_M / PG_SCALE_ROWS + (int)k->block_n / PG_SCALE_ROWS;
}

static int stage_bytes(const pg_matmul_scaled_key *k)
{
    return row_bytes(k) * (BLOCK_M + (int)(k->block_n / pg_tcgen05_group(k->ctas))) +
           scale_words(k) * scale_blocks(k) * PG_SCALE_CHUNK_BYTES;
}

/* Tensor memory: accumulators, then slots for scales. */
typedef struct tensor_columns {
    int accumulators, step; /* from one accumulator to the next */
    int slots, slot;        /* how many fit, columns of one */
} tensor_columns;

static tensor_columns tensor_columns_of(const pg_matmul_scaled_key *k)
{
    enum { LEAST_SLOTS = 2 }; /* with one, copies would wait for multiplications */
    const int wide = (int)k->block_n, half = wide / 2;
    tensor_columns c = {.accumulators = 2,
                        .step = wide,
                        .slot = scale_words(k) * scale_blocks(k) * PG_SCALE_CHUNK_COLUMNS};
    if (k->splits > 1)
        c.accumulators = 1;
    else if (2 * wide + LEAST_SLOTS * c.slot > PG_TMEM_COLUMNS)
        c.step = half;
    if (c.step + wide + LEAST_SLOTS * c.slot > PG_TMEM_COLUMNS)
        c.accumulators = 1;
    const int rest = PG_TMEM_COLUMNS - wide - (c.accumulators == 2 ? c.step : 0);
    c.slots = c.slot ? rest / c.slot : 0; /* a block_k below a scale word is refused */
    return c;
}

static int d_bytes(const pg_matmul_scaled_key *k)
{
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_scaled_out(k));
    return k->d_store == PG_D_TENSOR ? pg_d_ring_bytes(&steps, (int)k->splits) : 0;
}

static int shared_bytes(const pg_matmul_scaled_key *k, int stages)
{
    return stages * stage_bytes(k) + d_bytes(k) + pg_walk_bytes(k->tiles == PG_TILES_DYNAMIC) +
           pg_split_bytes((int)k->splits) +
           (2 * stages + 2 * tensor_columns_of(k).accumulators) * BARRIER_BYTES + SLOT_BYTES;
}

static bool takes_columns(const pg_matmul_scaled_key *k)
{
    return k->block_n == PG_SCALE_ROWS || k->block_n == 2 * PG_SCALE_ROWS;
}

static ptxgen_status check_formats(const pg_matmul_scaled_key *k, ptxgen_error *err)
{
    if ((k->a == PTXGEN_NVFP4) != (k->b == PTXGEN_NVFP4))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "a=%s with b=%s: nvfp4 has a scale per 16 elements, the others per 32, and "
                       "no instruction mixes"
                       " them: use nvfp4 for both or for neither",
                       formats[k->a].name, formats[k->b].name);
    if (!takes_columns(k))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "block_n=%lld: scales come in blocks of 128 columns, use 128 or 256",
                       (long long)k->block_n);
    const pg_tcgen05_cut cut = cut_of(k);
    PG_TRY(pg_tcgen05_check_cut(&cut, err));
    if (k->tiles == PG_TILES_DYNAMIC && k->splits > 1)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "tiles=dynamic with splits, where each cluster has one tile: use "
                       "tiles=static");
    if (k->block_k != 128 && k->block_k != 256 && k->block_k != 512)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_k=%lld: use 128, 256 or 512",
                       (long long)k->block_k);
    return PTXGEN_OK;
}

static int stages_that_fit(const pg_matmul_scaled_key *k, const pg_arch *arch)
{
    int stages = 0;
    while (stages < MAX_STAGES && shared_bytes(k, stages + 1) <= arch->max_shared_bytes)
        stages++;
    return tensor_columns_of(k).slots ? stages : 0;
}

static ptxgen_status check_stages(const pg_matmul_scaled_key *k, const pg_arch *arch, int fit,
                                  ptxgen_error *err)
{
    if (fit >= 1 && k->stages <= fit)
        return PTXGEN_OK;
    const int stages = k->stages > 1 ? (int)k->stages : 1;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "%d stages of %d bytes need %d bytes of shared memory, with scales of %d columns "
        "of tensor memory; a CTA of %s has %d and %d: use stages=%d or less, or smaller "
        "blocks",
        stages, stage_bytes(k), shared_bytes(k, stages), tensor_columns_of(k).slot, arch->name,
        arch->max_shared_bytes, PG_TMEM_COLUMNS, fit);
}

static void settle(int64_t *setting, int64_t automatic)
{
    if (!*setting)
        *setting = automatic;
}

typedef struct search {
    const pg_matmul_scaled_key *key;
    const pg_problem *problem;
} search;

static double rate(const void *user, const pg_tcgen05_cut *c)
{
    static const double most_flops[] = {
        [PG_MMA_MXF8F6F4] = 3.0e6, [PG_MMA_MXF4] = 6.2e6, [PG_MMA_MXF4NVF4] = 6.2e6}; /* per ns */
    const search *s = user;
    const int64_t *extent = s->problem->symbol;
    pg_matmul_scaled_key k = *s->key;
    k.block_n = c->columns;
    k.ctas = c->ctas;
    k.ctas_n = c->tiles_n;
    k.splits = c->splits;
    const int stage = stage_bytes(&k);
    const int most = (SHARED_BYTES - pg_split_bytes((int)k.splits) - d_bytes(&k)) / stage;
    const int fit = most < MAX_STAGES ? most : MAX_STAGES;
    if (!takes_columns(&k) || fit < 1 || k.stages > fit)
        return 0;
    const double depth = (double)extent[PG_SCALED_K];
    const pg_tcgen05_problem problem = {.m = extent[PG_SCALED_M],
                                        .n = extent[PG_SCALED_N],
                                        .matrices = 1,
                                        .k = depth,
                                        .row_bytes =
                                            (double)row_bytes(&k) / (double)k.block_k * depth,
                                        .d_bytes = pg_dtype_bits(pg_matmul_scaled_out(&k)) / 8.0,
                                        .d_by_rows = k.d_store != PG_D_TENSOR,
                                        .most_flops = most_flops[kind_of(&k)],
                                        .sm_count = s->problem->device->sm_count};
    pg_tcgen05_work work = pg_tcgen05_work_of(&problem, c);
    work.stages = k.stages ? (int)k.stages : fit;
    work.overlapped = tensor_columns_of(&k).accumulators == 2;
    work.step_cycles = row_bytes(&k) / STEP_BYTES * pg_tcgen05_cycles((int)k.block_n);
    work.stage_bytes = stage;
    work.k_blocks = ((extent[PG_SCALED_K] - 1) / k.block_k + k.splits) / k.splits;
    return pg_tcgen05_time(&work);
}

static bool takes_map(const pg_view *v)
{
    enum { ALIGNMENT = 16 };
    const int64_t row = v->shape[0] > 1 ? v->stride[0] * v->bits / 8 : 0;
    return ((uintptr_t)v->data | (uintptr_t)row) % ALIGNMENT == 0;
}

/* How D leaves, and the tile of a problem: wide ones and pairs read less, narrow ones and parts of
 * K keep more SMs busy. */
void pg_matmul_scaled_choose(const pg_problem *problem, void *key)
{
    pg_matmul_scaled_key *k = key, tried = *k;
    pg_tcgen05_cut cut = cut_of(k);
    settle(&tried.block_k, MAX_SWIZZLE * 8 / shared_bits(kind_of(k)));
    if (row_bytes(&tried) < STEP_BYTES) /* refused when it is resolved */
        return;
    if (!k->d_store)
        k->d_store = takes_map(&problem->operand[PG_SCALED_D]) ? PG_D_TENSOR : PG_D_ROWS;
    tried.d_store = k->d_store;
    pg_tcgen05_search(&cut, rate, &(search){&tried, problem});
    k->block_n = cut.columns;
    k->ctas = cut.ctas;
    k->ctas_n = cut.tiles_n;
    k->splits = cut.splits;
    if (!k->tiles)
        k->tiles = pg_tcgen05_tiles(&cut);
}

ptxgen_status pg_matmul_scaled_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_matmul_scaled_key *k = key;
    PG_TRY(pg_require_tcgen05(arch, "matmul_scaled", "", err));
    settle(&k->block_n, 256);
    settle(&k->block_k, MAX_SWIZZLE * 8 / shared_bits(kind_of(k)));
    settle(&k->group_m, 8);
    settle(&k->ctas, 1);
    settle(&k->ctas_n, 1);
    settle(&k->splits, 1);
    settle(&k->d_store, PG_D_ROWS);
    settle(&k->tiles, PG_TILES_STATIC);
    PG_TRY(check_formats(k, err));
    const int fit = stages_that_fit(k, arch);
    PG_TRY(check_stages(k, arch, fit, err));
    settle(&k->stages, fit);
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_scaled_out(k));
    return pg_epilogue_check(&steps, err);
}

int pg_matmul_scaled_step(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o, int step)
{
    const int byte = step * STEP_BYTES;
    return byte / p->swizzle * o->rows * p->swizzle + byte % p->swizzle;
}

uint32_t pg_matmul_scaled_instruction(const pg_matmul_scaled_plan *p, int step)
{
    const int id = step * p->step_scales % PG_SCALES_PER_WORD;
    const pg_mma_shape shape = {.kind = p->kind,
                                .m = p->block_m * p->ctas,
                                .n = p->block_n,
                                .a_type = p->a_type,
                                .b_type = p->b_type,
                                .scale_type = p->scale_type,
                                .sfa_id = id,
                                .sfb_id = id};
    return pg_instruction_descriptor(&shape);
}

int pg_matmul_scaled_scale_source(const pg_matmul_scaled_plan *p, int block, int word)
{
    return (block * p->scale_words + word) * PG_SCALE_CHUNK_BYTES;
}

int pg_matmul_scaled_scale_target(const pg_scaled_operand *o, int block, int word)
{
    return (word * o->scale_blocks + block) * PG_SCALE_CHUNK_COLUMNS;
}

static int mma_type(pg_mma_kind kind, int64_t format)
{
    if (kind != PG_MMA_MXF8F6F4)
        return PG_MMA_TYPE_MXF4_E2M1;
    return format == PTXGEN_MXFP8 ? PG_MMA_TYPE_E4M3 : PG_MMA_TYPE_E2M1;
}

/* `rows` in a CTA, with the scales of `blocks` blocks. */
static void plan_operand(const pg_matmul_scaled_plan *p, int64_t format, int rows, int blocks,
                         pg_scaled_operand *o)
{
    const int bits = shared_bits(p->kind);
    o->element_bits = formats[format].element_bits;
    o->padded = o->element_bits < bits;
    o->rows = o->box_rows = rows;
    o->bytes = rows * p->block_k * bits / 8;
    o->load_bytes = rows * p->block_k * o->element_bits / 8;
    o->loads = p->block_k * bits / 8 / p->swizzle;
    o->box_columns = o->padded ? UNPACKED_UNIT : p->swizzle;
    o->scale_blocks = blocks;
    o->loaded_blocks = rows < blocks * PG_SCALE_ROWS && blocks > 1 ? blocks / 2 : blocks;
    o->scale_bytes = p->scale_words * o->scale_blocks * PG_SCALE_CHUNK_BYTES;
}

static void place(pg_matmul_scaled_plan *p, int d_bytes)
{
    p->b.offset = p->a.offset + p->stages * p->a.bytes;
    const int operands_end = p->b.offset + p->stages * p->b.bytes;
    p->d_ring = d_bytes > 0 ? operands_end : 0;
    p->a.scale_offset = operands_end + d_bytes;
    p->b.scale_offset = p->a.scale_offset + p->stages * p->a.scale_bytes;
    p->split_offset = p->b.scale_offset + p->stages * p->b.scale_bytes;
    p->full = p->split_offset + pg_split_bytes(p->parts.splits);
    p->empty = p->full + p->stages * BARRIER_BYTES;
    p->acc_full = p->empty + p->stages * BARRIER_BYTES;
    p->acc_empty = p->acc_full + p->accumulators * BARRIER_BYTES;
    p->address_slot = p->acc_empty + p->accumulators * BARRIER_BYTES;
    pg_walk_place(&p->walk, p->address_slot + SLOT_BYTES);
    p->head.shared_bytes =
        (uint32_t)(p->address_slot + SLOT_BYTES + pg_walk_bytes(p->walk.dynamic));
    p->a.scale_column = p->block_n + (p->accumulators - 1) * p->accumulator_step;
    p->b.scale_column =
        p->a.scale_column + p->scale_words * p->a.scale_blocks * PG_SCALE_CHUNK_COLUMNS;
    p->scale_stage_columns =
        p->scale_words * (p->a.scale_blocks + p->b.scale_blocks) * PG_SCALE_CHUNK_COLUMNS;
}

static void describe(const pg_matmul_scaled_key *k, pg_matmul_scaled_plan *p)
{
    const int step_elements = pg_mma_k(p->kind);
    p->step_scales = step_elements / p->group;
    p->multiplications = p->block_k / step_elements;
    p->copies = p->scale_words * (p->a.scale_blocks + p->b.scale_blocks);
    p->scale_type = p->kind == PG_MMA_MXF4NVF4 ? PG_MMA_SCALE_UE4M3 : PG_MMA_SCALE_UE8M0;
    p->a_type = mma_type(p->kind, k->a);
    p->b_type = mma_type(p->kind, k->b);
    p->matrix = (pg_smem_matrix){16, 8 * p->swizzle, pg_swizzle_of(p->swizzle)};
    p->scales = (pg_smem_matrix){16, 8 * 16, PG_SWIZZLE_NONE}; /* 8 rows of 16 bytes */
    p->tmem_columns =
        pg_tmem_allocation(p->a.scale_column + p->scale_slots * p->scale_stage_columns);
}

void pg_matmul_scaled_plan_from(const void *key, const pg_arch *arch, void *plan)
{
    const pg_matmul_scaled_key *k = key;
    pg_matmul_scaled_plan *p = plan;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->steps = pg_epilogue_of(&k->steps, pg_matmul_scaled_out(k));
    p->kind = kind_of(k);
    p->block_m = BLOCK_M;
    p->block_n = (int)k->block_n;
    p->block_k = (int)k->block_k;
    p->stages = (int)k->stages;
    p->group_m = (int)k->group_m;
    p->swizzle = row_bytes(k) < MAX_SWIZZLE ? row_bytes(k) : MAX_SWIZZLE;
    const pg_tcgen05_cut cut = cut_of(k);
    p->parts = pg_tcgen05_parts(&cut);
    p->ctas = p->parts.cta_group;
    p->cluster = p->ctas * pg_parts(&p->parts);
    const tensor_columns c = tensor_columns_of(k);
    p->accumulators = c.accumulators;
    p->accumulator_step = c.step;
    p->scale_slots = c.slots < p->stages ? c.slots : p->stages;
    p->group = formats[k->a].group;
    p->scale_words = scale_words(k);
    plan_operand(p, k->a, BLOCK_M, BLOCK_M / PG_SCALE_ROWS, &p->a);
    plan_operand(p, k->b, p->block_n / p->ctas, p->block_n / PG_SCALE_ROWS, &p->b);
    p->a.box_rows /= p->parts.tiles_n;
    p->b.box_rows /= p->parts.tiles_m;
    p->walk = (pg_tile_walk){.dynamic = k->tiles == PG_TILES_DYNAMIC, .cluster = p->cluster};
    place(p, d_bytes(k));
    describe(k, p);
    char parts[PG_TCGEN05_PARTS_NAME];
    pg_tcgen05_parts_name(&p->parts, parts);
    snprintf(p->head.entry, sizeof p->head.entry, "matmul_scaled_%s_%s_%s_128x%dx%d_s%d_c%d%s",
             formats[k->a].name, formats[k->b].name, pg_dtype_word(p->steps.out), p->block_n,
             p->block_k, p->stages, (int)k->ctas, parts);
}
