/* Numbers of the matmul_scaled kernel, and which formats and blocks it takes. */
#include "matmul_scaled/matmul_scaled.h"

#include "base/error.h"
#include "common/tcgen05_time.h"

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

static int row_bytes(const pg_matmul_scaled_key *k)
{
    return (int)k->block_k * shared_bits(kind_of(k)) / 8;
}

static int scale_words(const pg_matmul_scaled_key *k)
{
    return (int)k->block_k / (formats[k->a].group * PG_SCALES_PER_WORD);
}

static int scale_blocks(const pg_matmul_scaled_key *k)
{
    return BLOCK_M / PG_SCALE_ROWS + (int)k->block_n / PG_SCALE_ROWS;
}

static int stage_bytes(const pg_matmul_scaled_key *k)
{
    return row_bytes(k) * (BLOCK_M + (int)k->block_n) +
           scale_words(k) * scale_blocks(k) * PG_SCALE_CHUNK_BYTES;
}

/* Two accumulators where tensor memory has room for them and the scales. */
static int accumulators_of(const pg_matmul_scaled_key *k)
{
    return k->block_n == 128 ? 2 : 1;
}

static int shared_bytes(const pg_matmul_scaled_key *k, int stages)
{
    return stages * stage_bytes(k) + (2 * stages + 2 * accumulators_of(k)) * BARRIER_BYTES +
           SLOT_BYTES;
}

static int columns(const pg_matmul_scaled_key *k, int stages)
{
    return accumulators_of(k) * (int)k->block_n +
           stages * scale_words(k) * scale_blocks(k) * PG_SCALE_CHUNK_COLUMNS;
}

static ptxgen_status check_formats(const pg_matmul_scaled_key *k, ptxgen_error *err)
{
    if ((k->a == PTXGEN_NVFP4) != (k->b == PTXGEN_NVFP4))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "a=%s with b=%s: nvfp4 has a scale per 16 elements, the others per 32, and "
                       "no instruction mixes"
                       " them: use nvfp4 for both or for neither",
                       formats[k->a].name, formats[k->b].name);
    if (k->block_n != 128 && k->block_n != 256)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "block_n=%lld: scales come in blocks of 128 columns, use 128 or 256",
                       (long long)k->block_n);
    if (k->block_k != 128 && k->block_k != 256 && k->block_k != 512)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "block_k=%lld: use 128, 256 or 512",
                       (long long)k->block_k);
    return PTXGEN_OK;
}

static int stages_that_fit(const pg_matmul_scaled_key *k, const pg_arch *arch)
{
    int stages = 0;
    while (stages < MAX_STAGES && shared_bytes(k, stages + 1) <= arch->max_shared_bytes &&
           columns(k, stages + 1) <= PG_TMEM_COLUMNS)
        stages++;
    return stages;
}

static ptxgen_status check_stages(const pg_matmul_scaled_key *k, const pg_arch *arch, int fit,
                                  ptxgen_error *err)
{
    if (fit >= 1 && k->stages <= fit)
        return PTXGEN_OK;
    const int stages = k->stages > 1 ? (int)k->stages : 1;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%d stages of %d bytes and the accumulators need %d bytes of shared memory and "
                   "%d columns of tensor"
                   " memory, a CTA of %s has %d and %d: use stages=%d or less, or smaller blocks",
                   stages, stage_bytes(k), shared_bytes(k, stages), columns(k, stages), arch->name,
                   arch->max_shared_bytes, PG_TMEM_COLUMNS, fit);
}

static void settle(int64_t *setting, int64_t automatic)
{
    if (!*setting)
        *setting = automatic;
}

/* The tile of a problem: wide ones read less, narrow ones keep more SMs busy and overlap their
 * ends. */
void pg_matmul_scaled_choose(const pg_problem *problem, void *key)
{
    static const double most_flops[] = {
        [PG_MMA_MXF8F6F4] = 3.0e6, [PG_MMA_MXF4] = 6.2e6, [PG_MMA_MXF4NVF4] = 6.2e6}; /* per ns */
    pg_matmul_scaled_key *k = key;
    const int64_t m = problem->symbol[PG_SCALED_M], n = problem->symbol[PG_SCALED_N],
                  depth = problem->symbol[PG_SCALED_K];
    const int out_bytes = k->out ? 2 : 4;
    double best = 0;
    if (k->block_n)
        return;
    pg_matmul_scaled_key tried = *k;
    settle(&tried.block_k, MAX_SWIZZLE * 8 / shared_bits(kind_of(k)));
    if (row_bytes(&tried) < STEP_BYTES) /* refused when it is resolved */
        return;
    for (tried.block_n = 128; tried.block_n <= 256; tried.block_n *= 2) {
        const pg_tcgen05_work work = {
            .stages = tried.stages ? (int)tried.stages : SHARED_BYTES / stage_bytes(&tried),
            .overlapped = accumulators_of(&tried) == 2,
            .step_cycles = row_bytes(&tried) / STEP_BYTES * pg_tcgen05_cycles((int)tried.block_n),
            .stage_bytes = stage_bytes(&tried),
            .result_bytes = (double)BLOCK_M * (double)tried.block_n * out_bytes,
            .flop = 2.0 * (double)m * (double)n * (double)depth,
            .memory_bytes = (double)row_bytes(&tried) / (double)tried.block_k * (double)depth *
                                (double)(m + n) +
                            (double)m * (double)n * out_bytes,
            .most_flops = most_flops[kind_of(k)],
            .k_blocks = (depth - 1) / tried.block_k + 1,
            .tiles = ((m - 1) / BLOCK_M + 1) * ((n - 1) / tried.block_n + 1),
            .clusters = problem->device->sm_count};
        const double time = pg_tcgen05_time(&work);
        if (best > 0 && time >= best)
            continue;
        best = time;
        k->block_n = tried.block_n;
    }
}

ptxgen_status pg_matmul_scaled_resolve(void *key, const pg_arch *arch, ptxgen_error *err)
{
    pg_matmul_scaled_key *k = key;
    PG_TRY(pg_require_tcgen05(arch, "matmul_scaled", "", err));
    settle(&k->block_n, 256);
    settle(&k->block_k, MAX_SWIZZLE * 8 / shared_bits(kind_of(k)));
    settle(&k->group_m, 8);
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
                                .m = p->block_m,
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

static void plan_operand(const pg_matmul_scaled_plan *p, int64_t format, int rows,
                         pg_scaled_operand *o)
{
    const int bits = shared_bits(p->kind);
    o->element_bits = formats[format].element_bits;
    o->padded = o->element_bits < bits;
    o->rows = rows;
    o->bytes = rows * p->block_k * bits / 8;
    o->load_bytes = rows * p->block_k * o->element_bits / 8;
    o->loads = p->block_k * bits / 8 / p->swizzle;
    o->box_columns = o->padded ? UNPACKED_UNIT : p->swizzle;
    o->scale_blocks = rows / PG_SCALE_ROWS;
    o->scale_bytes = p->scale_words * o->scale_blocks * PG_SCALE_CHUNK_BYTES;
}

static void place(pg_matmul_scaled_plan *p)
{
    p->b.offset = p->a.offset + p->stages * p->a.bytes;
    p->a.scale_offset = p->b.offset + p->stages * p->b.bytes;
    p->b.scale_offset = p->a.scale_offset + p->stages * p->a.scale_bytes;
    p->full = p->b.scale_offset + p->stages * p->b.scale_bytes;
    p->empty = p->full + p->stages * BARRIER_BYTES;
    p->acc_full = p->empty + p->stages * BARRIER_BYTES;
    p->acc_empty = p->acc_full + p->accumulators * BARRIER_BYTES;
    p->address_slot = p->acc_empty + p->accumulators * BARRIER_BYTES;
    p->head.shared_bytes = (uint32_t)(p->address_slot + SLOT_BYTES);
    p->a.scale_column = p->accumulators * p->block_n;
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
    p->tmem_columns = pg_tmem_allocation(columns(k, p->stages));
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
    p->accumulators = accumulators_of(k);
    p->group = formats[k->a].group;
    p->scale_words = scale_words(k);
    plan_operand(p, k->a, BLOCK_M, &p->a);
    plan_operand(p, k->b, p->block_n, &p->b);
    place(p);
    describe(k, p);
    snprintf(p->head.entry, sizeof p->head.entry, "matmul_scaled_%s_%s_%s_128x%dx%d_s%d",
             formats[k->a].name, formats[k->b].name, pg_dtype_word(p->steps.out), p->block_n,
             p->block_k, p->stages);
}
