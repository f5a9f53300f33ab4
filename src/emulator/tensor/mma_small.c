/* See mma_small.h. */
#include "emulator/tensor/mma_small.h"

#include "emulator/matrix/wgmma_op.h"
#include "emulator/memory/warp_sync.h"

#include <string.h>

enum {
    M = 16,
    N = 8,
    MAX_K = 64,
    MAX_SCALES = 4, /* of a row */
    PADDING = 2     /* e2m1 in a byte of its own: bits 2 to 5 */
};

typedef struct operands {
    uint8_t a[M * MAX_K], b[N * MAX_K]; /* an element a byte, in its low bits */
    uint8_t sfa[M * MAX_SCALES], sfb[N * MAX_SCALES];
    uint32_t d[M][N];
} operands;

static uint32_t *words(const pg_warp *w, pg_row row)
{
    return pg_row_at(w, row);
}

static uint32_t half_word(const pg_warp *w, pg_row row, uint32_t lane)
{
    return ((const uint16_t *)pg_row_at(w, row))[lane];
}

/* The elements of a register, along K. */
static void unpack(uint32_t word, uint32_t elem_bits, pg_format_id format, uint8_t *to)
{
    const uint32_t shift = elem_bits == 8 && format == PG_FMT_E2M1 ? PADDING : 0;
    for (uint32_t i = 0; i < 32 / elem_bits; i++)
        to[i] = (uint8_t)((word >> i * elem_bits & ((1u << elem_bits) - 1)) >> shift);
}

static void read_matrices(const pg_warp *w, const pg_op *op, operands *x)
{
    const pg_mma_small_plan *p = op->extra;
    const pg_mma_sync_shape *s = p->shape;
    const pg_row *const a = op->rows + p->c_regs, *const b = a + PG_MMA_SMALL_A_REGS;
    for (uint32_t lane = 0; lane < PG_LANES; lane++) {
        for (uint32_t r = 0; r < PG_MMA_SMALL_A_REGS; r++) {
            const pg_mma_place at = pg_mma_sync_place_a(s, lane, r);
            unpack(words(w, a[r])[lane], s->elem_bits, p->tile.a_format,
                   x->a + at.row * s->k + at.col);
        }
        for (uint32_t r = 0; r < PG_MMA_SMALL_B_REGS; r++) {
            const pg_mma_place at = pg_mma_sync_place_b(s, lane, r);
            unpack(words(w, b[r])[lane], s->elem_bits, p->tile.b_format,
                   x->b + at.col * s->k + at.row);
        }
    }
}

/* Of `rows` rows of A, or columns of B: a quad has one, or with 16 rows two, the second in the
 * odd lane of those that the selector names. */
static void read_scales(const pg_warp *w, const pg_row *from, uint32_t rows, uint32_t per_row,
                        uint8_t *scales)
{
    const uint32_t halves = rows / 8;
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t quad = row % 8 * 4;
        const uint32_t first = half_word(w, from[1], quad),
                       selector = half_word(w, from[2], quad) % (4 / halves);
        const uint32_t word = words(w, from[0])[quad + selector * halves + row / 8];
        for (uint32_t i = 0; i < per_row; i++)
            *scales++ = (uint8_t)(word >> 8 * ((first + i) % 4));
    }
}

/* f16: two to a register. */
static void read_sums(const pg_warp *w, const pg_op *op, operands *x)
{
    const pg_mma_small_plan *p = op->extra;
    const pg_row *const c = op->rows + p->c_regs + PG_MMA_SMALL_A_REGS + PG_MMA_SMALL_B_REGS;
    const bool half = p->tile.result == PG_MMA_D_F16;
    for (uint32_t lane = 0; lane < PG_LANES; lane++)
        for (uint32_t i = 0; i < M / 4; i++) {
            const pg_mma_place at = pg_mma_sync_place_c(p->shape, lane, i);
            x->d[at.row][at.col] =
                half ? words(w, c[i / 2])[lane] >> 16 * (i % 2) & 0xffff : words(w, c[i])[lane];
        }
}

static void write_sums(pg_warp *w, const pg_op *op, const operands *x)
{
    const pg_mma_small_plan *p = op->extra;
    for (uint32_t lane = 0; lane < PG_LANES; lane++)
        for (uint32_t i = 0; i < M / 4; i++) {
            const pg_mma_place at = pg_mma_sync_place_c(p->shape, lane, i);
            const uint32_t value = x->d[at.row][at.col];
            if (p->tile.result != PG_MMA_D_F16) {
                words(w, op->rows[i])[lane] = value;
                continue;
            }
            uint32_t *const pair = &words(w, op->rows[i / 2])[lane];
            *pair = i % 2 ? *pair | value << 16 : value;
        }
}

pg_step pg_op_mma_small(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const pg_mma_small_plan *p = op->extra;
    void *const scratch = pg_mma_scratch_of(w->cta->cluster->worker);
    if (!scratch)
        return PG_STOP;
    operands x;
    uint32_t *d[M];
    pg_tcgen05_tile tile = p->tile;
    for (uint32_t row = 0; row < M; row++)
        d[row] = x.d[row];
    read_matrices(w, op, &x);
    read_sums(w, op, &x);
    if (tile.scale_block) {
        const pg_row *const scales = op->rows + op->row_count - 2 * PG_MMA_SMALL_SCALE_ROWS;
        read_scales(w, scales, M, tile.k / tile.scale_block, x.sfa);
        read_scales(w, scales + PG_MMA_SMALL_SCALE_ROWS, N, tile.k / tile.scale_block, x.sfb);
    }
    tile.a = x.a;
    tile.b = x.b;
    tile.sfa = x.sfa;
    tile.sfb = x.sfb;
    tile.d = d;
    (w->launch->exact ? pg_tcgen05_exact : pg_tcgen05_fast)(&tile, scratch);
    write_sums(w, op, &x);
    return PG_NEXT;
}
