/* Execution of tcgen05.mma: gathers the operands of each CTA and each part of N into plain
 * arrays and hands them to a tile engine, which writes D in place. */
#include "emulator/tensor/tcgen05_work.h"

#include "emulator/matrix/mma_numerics.h"
#include "emulator/machine/stop.h"
#include "emulator/matrix/wgmma_op.h"
#include "emulator/tensor/tcgen05_sparse.h"

enum {
    A_BYTES = PG_TCGEN05_MAX_M * PG_TCGEN05_MAX_K,
    MAX_SHIFT = 32,
    B_ROWS = PG_TCGEN05_MAX_N + MAX_SHIFT,
    B_BYTES = B_ROWS * 2 * PG_TCGEN05_MAX_K, /* of a sparse A: twice its K */
    MAX_SCALES = 4                           /* of a row */
};

/* ---- elements in their containers ---- */

/* Bytes that a row of K of B has once it is unpacked. */
static uint32_t b_row_bytes(const pg_tcgen05_work *w)
{
    return w->x.k * pg_mma_container(w->x.b.format) * (w->plan->form.sparse ? 2 : 1);
}

/* `count` elements of `bits` bits each, from consecutive bits, into a byte each. */
static void spread_bits(const uint8_t *in, uint32_t bits, uint32_t count, uint8_t *out)
{
    uint32_t held = 0, have = 0;
    for (uint32_t i = 0; i < count; i++, held >>= bits, have -= bits) {
        for (; have < bits; have += 8)
            held |= (uint32_t)*in++ << have;
        out[i] = (uint8_t)(held & ((1u << bits) - 1));
    }
}

/* Rows as they lie in memory, into rows of containers. */
static void unpack(pg_tcgen05_packing packing, const uint8_t *in, uint32_t bytes, uint8_t *out)
{
    enum { CHUNK = 16 };
    switch (packing) {
    case PG_PACKING_PADDED_6:
        for (uint32_t i = 0; i < bytes; i += CHUNK)
            spread_bits(in + i, 6, CHUNK, out + i);
        return;
    case PG_PACKING_PADDED_4:
        for (uint32_t i = 0; i < bytes; i += CHUNK)
            spread_bits(in + i, 4, CHUNK, out + i);
        return;
    case PG_PACKING_PACKED_4:
        spread_bits(in, 4, 2 * bytes, out);
        return;
    case PG_PACKING_BYTES_4:
        for (uint32_t i = 0; i < bytes; i++)
            out[i] = in[i] >> 2 & 15;
        return;
    default:
        memcpy(out, in, bytes);
    }
}

static pg_tcgen05_packing packing_in_tensor(pg_tcgen05_packing packing)
{
    return packing == PG_PACKING_PADDED_4   ? PG_PACKING_BYTES_4
           : packing == PG_PACKING_PACKED_4 ? packing
                                            : PG_PACKING_CONTAINERS;
}

/* ---- operands ---- */

static void read_a_shared(const pg_tcgen05_work *w, const pg_cta *cta, uint8_t *out)
{
    uint8_t packed[PG_TCGEN05_MAX_M * PG_OPERAND_ROW_BYTES];
    pg_matrix_gather(&w->a_layout, &w->a_shape, cta->shared, packed);
    unpack(w->x.a.packing, packed, w->rows * PG_OPERAND_ROW_BYTES, out);
}

/* .ashift: each row takes what the next has, the last its own (as tcgen05.shift does). */
static void read_a_tensor(const pg_tcgen05_work *w, const pg_cta *cta, uint32_t part, uint8_t *out)
{
    uint8_t packed[PG_TCGEN05_MAX_M * PG_OPERAND_ROW_BYTES];
    const uint32_t column = pg_tensor_column(w->given->a);
    for (uint32_t row = 0; row < w->rows; row++) {
        const uint32_t from = w->plan->ashift && row + 1 < w->rows ? row + 1 : row;
        memcpy(packed + row * PG_OPERAND_ROW_BYTES,
               &cta->tensor->word[pg_tcgen05_lane_of(w, from, part)][column], PG_OPERAND_ROW_BYTES);
    }
    unpack(packing_in_tensor(w->x.a.packing), packed, w->rows * PG_OPERAND_ROW_BYTES, out);
}

/* B of all CTAs, one below the other. */
static void read_b(const pg_tcgen05_work *w, uint8_t *out)
{
    uint8_t packed[B_ROWS * 2 * PG_OPERAND_ROW_BYTES];
    const uint32_t bytes = w->b_shape.rows * pg_tcgen05_b_bytes(w);
    for (uint32_t i = 0; i < w->cta_count; i++)
        pg_matrix_gather(&w->b_layout, &w->b_shape, w->cta[i]->shared, packed + i * bytes);
    unpack(w->x.b.packing, packed, w->cta_count * bytes, out);
}

/* The first row of B that is used; rows that count as zero become zero. */
static uint8_t *mask_b(const pg_tcgen05_work *w, uint8_t *b)
{
    const uint32_t bytes = b_row_bytes(w);
    b += w->shift * bytes;
    for (uint32_t i = 0; w->plan->has_zero_columns && i < w->x.n; i++)
        if (w->zero[i])
            memset(b + i * bytes, 0, bytes);
    return b;
}

/* ---- block scales ---- */

/* Scale factors of one operand as the lanes of a part see them. */
typedef struct scale_source {
    const pg_cta *cta;
    uint32_t address, id, rows;
    uint32_t first_quarter, quarters;
    const char *name;
} scale_source;

/* Row r: lane r % 32 of every quarter, column r / 32, bytes from `id` on. */
static bool read_scales(pg_async *a, const scale_source *s, uint32_t per_row, uint8_t *out)
{
    const uint32_t mask =
        per_row == MAX_SCALES ? UINT32_MAX : ((1u << 8 * per_row) - 1) << 8 * s->id;
    for (uint32_t row = 0; row < s->rows; row++) {
        const uint32_t column = pg_tensor_column(s->address) + row / PG_SCALE_LANES;
        const uint32_t lane = row % PG_SCALE_LANES + s->first_quarter * PG_SCALE_LANES;
        const uint32_t word = s->cta->tensor->word[lane][column];
        for (uint32_t q = 1; q < s->quarters; q++)
            if ((s->cta->tensor->word[lane + q * PG_SCALE_LANES][column] ^ word) & mask) {
                pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
                        "the scale factors of %s at row %u are not the same in lanes %u and %u of "
                        "column %u: all "
                        "quarters of the lanes need a copy (tcgen05.cp .32x128b.warpx4 makes them)",
                        s->name, row, lane, lane + q * PG_SCALE_LANES, column);
                return false;
            }
        for (uint32_t i = 0; i < per_row; i++)
            *out++ = (uint8_t)(word >> 8 * (s->id + i));
    }
    return true;
}

/* ---- one part ---- */

typedef struct operands {
    uint8_t a[A_BYTES], b[B_BYTES];
    uint8_t sfa[PG_TCGEN05_MAX_M * MAX_SCALES], sfb[PG_TCGEN05_MAX_N * MAX_SCALES];
    uint32_t *d[PG_TCGEN05_MAX_M];
} operands;

static void point_at_d(const pg_tcgen05_work *w, uint32_t cta, uint32_t part, uint32_t **d)
{
    const uint32_t column = pg_tensor_column(w->given->d);
    for (uint32_t row = 0; row < w->rows; row++) {
        const uint32_t lane = pg_tcgen05_lane_of(w, row, part), bit = cta * PG_TENSOR_LANES + lane;
        const bool masked = w->plan->mask_count && (w->given->masks[bit / 32] >> bit % 32 & 1);
        d[row] = masked ? NULL : &w->cta[cta]->tensor->word[lane][column];
    }
}

static bool read_part_scales(pg_async *a, const pg_tcgen05_work *w, const pg_cta *cta,
                             uint32_t part, operands *o)
{
    if (!w->plan->form.scale_block)
        return true;
    const uint32_t per_row = w->x.k / w->plan->form.scale_block, quarters = pg_tcgen05_quarters(w);
    const scale_source sa = {cta,     w->given->scale_a, w->x.sfa_id,
                             w->rows, part * quarters,   quarters,
                             "A"},
                       sb = {cta,        w->given->scale_b, w->x.sfb_id,
                             w->columns, part * quarters,   quarters,
                             "B"};
    return read_scales(a, &sa, per_row, o->sfa) && read_scales(a, &sb, per_row, o->sfb);
}

static pg_tcgen05_tile tile_of(const pg_tcgen05_work *w, const operands *o, const uint8_t *b)
{
    return (pg_tcgen05_tile){.m = w->rows,
                             .n = w->columns,
                             .k = w->x.k,
                             .a_format = w->x.a.format,
                             .b_format = w->x.b.format,
                             .integer = w->x.integer,
                             .a_signed = w->x.a.is_signed,
                             .b_signed = w->x.b.is_signed,
                             .saturate = w->x.saturate,
                             .negate = w->x.a.negate != w->x.b.negate,
                             .zero_d = !w->given->add_d,
                             .scale_d = w->plan->scale_d,
                             .result = w->x.result,
                             .scale_block = w->plan->form.scale_block,
                             .scale_type = w->x.scale_type,
                             .sfa = o->sfa,
                             .sfb = o->sfb,
                             .a = o->a,
                             .b = b,
                             .d = o->d};
}

/* A sparse row of A meets rows of B of which only what it stores is left: a tile of its own, as if
 * dense. */
static void multiply_sparse(const pg_tcgen05_work *w, const pg_tcgen05_tile *whole,
                            const pg_sparse_source *source, pg_tcgen05_engine engine, void *scratch)
{
    const uint32_t a_bytes = w->x.k * pg_mma_container(w->x.a.format),
                   scales = pg_tcgen05_scales_per_row(whole);
    uint8_t b[PG_TCGEN05_MAX_N * PG_TCGEN05_MAX_K];
    pg_tcgen05_tile tile = *whole;
    tile.m = 1;
    tile.b = b;
    for (uint32_t row = 0; row < w->rows; row++) {
        if (!whole->d[row])
            continue;
        pg_sparse_select(w, pg_sparse_row_indices(w, source, row), whole->b, b);
        tile.a = (const uint8_t *)whole->a + row * a_bytes;
        tile.sfa = whole->sfa + row * scales;
        tile.d = whole->d + row;
        engine(&tile, scratch);
    }
}

/* ---- the instruction ---- */

bool pg_tcgen05_mma_prepare(pg_async *a)
{
    pg_tcgen05_work w;
    if (!pg_tcgen05_work_make(a, &w))
        return false;
    ((pg_async_tcgen05_mma *)a)->d_columns = w.columns;
    return true;
}

bool pg_tcgen05_mma_execute(pg_async *a)
{
    pg_tcgen05_work w;
    operands o;
    void *scratch = pg_mma_scratch_of(a->warp->cta->cluster->worker);
    const pg_tcgen05_engine engine = a->warp->launch->exact ? pg_tcgen05_exact : pg_tcgen05_fast;
    if (!scratch || !pg_tcgen05_work_make(a, &w))
        return false;
    read_b(&w, o.b);
    const uint8_t *const b = mask_b(&w, o.b);
    for (uint32_t cta = 0; cta < w.cta_count; cta++) {
        if (!w.plan->a_in_tensor)
            read_a_shared(&w, w.cta[cta], o.a);
        for (uint32_t part = 0; part < w.parts; part++) {
            if (w.plan->a_in_tensor)
                read_a_tensor(&w, w.cta[cta], part, o.a);
            if (!read_part_scales(a, &w, w.cta[cta], part, &o))
                return false;
            point_at_d(&w, cta, part, o.d);
            const pg_tcgen05_tile tile = tile_of(&w, &o, b + part * w.columns * b_row_bytes(&w));
            if (w.plan->form.sparse)
                multiply_sparse(&w, &tile, &(pg_sparse_source){w.cta[cta], part}, engine, scratch);
            else
                engine(&tile, scratch);
        }
    }
    return true;
}
