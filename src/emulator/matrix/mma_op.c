/* mma.sync and the instructions that move 8 x 8 matrices; PTX ISA 9.0, section 9.7.14.5. All are
 * .sync.aligned: the lanes of a warp that have not exited execute them together. */
#include "emulator/matrix/mma_op.h"

#include "emulator/number/float_ops.h"
#include "emulator/machine/memory.h"
#include "emulator/matrix/sparse.h"
#include "emulator/memory/warp_sync.h"

enum {
    MAX_M = 16,
    MAX_N = 8,
    MAX_F64_K = 16,
    MATRIX_ROW_BYTES = 16,
    MAX_ROWS = 8, /* registers of C and D */
    MAX_K = 64,
    MAX_NIBBLE_K = 128, /* of 4-bit integers */
    MAX_K_BYTES = 64,   /* of a sparse operand; else half of it */
    SCRATCH_BYTES = PG_MMA_SCRATCH(MAX_M, MAX_N, MAX_K)
};
_Static_assert(2 * MAX_K >= MAX_NIBBLE_K, "integers need half as much for an element of k");

/* ---- mma ---- */

/* A as m rows of what is stored, B as n rows. */
static void read_fragments(const pg_warp *w, const pg_op *op, uint8_t *a, uint8_t *b)
{
    const pg_mma_plan *p = op->extra;
    const pg_mma_sync_shape *s = p->shape;
    const uint32_t pitch = s->k * s->elem_bits / 8, b_pitch = p->tile.k * s->elem_bits / 8;
    const pg_row *rows = op->rows + p->c_regs;
    for (uint32_t r = 0; r < s->a_regs; r++) {
        const uint32_t *row = pg_row_at(w, rows[r]);
        for (uint32_t lane = 0; lane < PG_LANES; lane++) {
            const pg_mma_place at = pg_mma_sync_place_a(s, lane, r);
            memcpy(a + at.row * pitch + at.col * s->elem_bits / 8, &row[lane], sizeof row[lane]);
        }
    }
    rows += s->a_regs;
    for (uint32_t r = 0; r < p->b_regs; r++) {
        const uint32_t *row = pg_row_at(w, rows[r]);
        for (uint32_t lane = 0; lane < PG_LANES; lane++) {
            const pg_mma_place at = pg_mma_sync_place_b(s, lane, r);
            memcpy(b + at.col * b_pitch + at.row * s->elem_bits / 8, &row[lane], sizeof row[lane]);
        }
    }
}

/* A of mma.sp: as it is stored, then dense. */
static void expand_a(const pg_warp *w, const pg_op *op, const uint8_t *stored, uint8_t *dense,
                     uint8_t *absent)
{
    const pg_mma_plan *p = op->extra;
    const uint32_t elem_bits = p->shape->elem_bits, bytes = p->tile.k * elem_bits / 8;
    const uint32_t unit = pg_sparse_unit_bytes(elem_bits);
    uint64_t indices[MAX_M];
    for (uint32_t row = 0; row < p->tile.m; row++)
        indices[row] = pg_sparse_indices(pg_row_at(w, op->a), unit, bytes / unit, p->selector, row);
    const pg_sparse_tile tile = {stored, indices, elem_bits, p->tile.m, bytes};
    pg_sparse_expand(&tile, dense, absent);
}

/* Of every 2 * width fp8 elements the lower or the upper ones, as f16. */
typedef struct fp8_half {
    uint32_t width;
    bool upper;
} fp8_half;

static void widen_half(pg_mma_type type, const void *from, uint32_t count, fp8_half half,
                       uint16_t *to)
{
    const pg_format_id format = type == PG_MMA_E4M3 ? PG_FMT_E4M3 : PG_FMT_E5M2;
    const pg_encode_mode rn = {.round = PG_ROUND_RN};
    const uint8_t *bytes = from;
    for (uint32_t i = 0; i < count; i++)
        if (i / half.width % 2 == half.upper)
            *to++ = (uint16_t)pg_encode(PG_FMT_F16, pg_decode(format, bytes[i]), rn);
}

/* Two f32 sums and a pair of f16 addends: a pair of f16. */
static uint32_t add_halves(uint32_t low, uint32_t high, uint32_t c)
{
    const pg_float_mode rn = {.round = PG_ROUND_RN};
    const uint32_t sums[2] = {low, high};
    uint32_t pair = 0;
    for (int i = 0; i < 2; i++) {
        const uint32_t addend = pg_bits_of_f32(pg_f32_of_f16((uint16_t)(c >> 16 * i)));
        const float sum = pg_f32_of(pg_f32_add(sums[i], addend, rn));
        pair |= (uint32_t)pg_f16_of_f32(sum) << 16 * i;
    }
    return pair;
}

/* Packed 4-bit integers as bytes. */
static void widen_nibbles(pg_mma_type type, const uint8_t *from, uint32_t count, uint8_t *to)
{
    const uint32_t sign = type == PG_MMA_S8 ? 8 : 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t nibble = from[i / 2] >> 4 * (i % 2) & 15;
        to[i] = (uint8_t)((nibble ^ sign) - sign);
    }
}

static void keep_half(const uint8_t *from, uint32_t count, fp8_half half, uint8_t *to)
{
    for (uint32_t i = 0; i < count; i++)
        if (i / half.width % 2 == half.upper)
            *to++ = from[i];
}

/* The exact fp8 of Hopper's mma.sync, which has no such unit: operands are widened to f16, one
 * step multiplies the lower pair of every register (of A, where it is sparse: every second four of
 * K), a second one the upper, and C is added last, in f32. */
static void multiply_fp8(const pg_mma_tile *whole, uint32_t c_regs, void *scratch)
{
    const pg_float_mode rn = {.round = PG_ROUND_RN};
    const bool half = whole->result == PG_MMA_D_F16;
    uint32_t sums[MAX_ROWS][PG_LANES];
    uint32_t *d[MAX_ROWS];
    uint16_t a[MAX_M * MAX_K / 2], b[MAX_N * MAX_K / 2];
    uint8_t absent[MAX_M * MAX_K / 2];
    for (uint32_t r = 0; r < MAX_ROWS; r++)
        d[r] = sums[r];
    for (int i = 0; i < 2; i++) {
        const fp8_half part = {whole->absent ? 4 : 2, i == 1};
        widen_half(whole->a_type, whole->a, whole->m * whole->k, part, a);
        widen_half(whole->b_type, whole->b, whole->n * whole->k, part, b);
        pg_mma_tile step = *whole;
        step.a_type = step.b_type = PG_MMA_F16;
        step.result = PG_MMA_D_F32;
        step.k = whole->k / 2;
        step.a = a;
        step.b = b;
        step.c = (const uint32_t *const *)d;
        step.d = d;
        step.zero_c = i == 0;
        if (whole->absent) {
            keep_half(whole->absent, whole->m * whole->k, part, absent);
            step.absent = absent;
        }
        pg_mma_exact(&step, scratch);
    }
    for (uint32_t r = 0; r < c_regs; r++)
        for (uint32_t lane = 0; lane < PG_LANES; lane++)
            whole->d[r][lane] =
                half ? add_halves(sums[2 * r][lane], sums[2 * r + 1][lane], whole->c[r][lane])
                     : pg_f32_add(sums[r][lane], whole->c[r][lane], rn);
}

static void multiply_tile(pg_warp *w, const pg_op *op)
{
    const pg_mma_plan *p = op->extra;
    uint8_t a[MAX_M * MAX_K_BYTES], b[MAX_N * MAX_K_BYTES], dense[MAX_M * MAX_K_BYTES];
    uint8_t absent[MAX_M * MAX_K_BYTES];
    uint8_t wide_a[MAX_M * MAX_NIBBLE_K], wide_b[MAX_N * MAX_NIBBLE_K];
    uint8_t scratch[SCRATCH_BYTES] __attribute__((aligned(64)));
    const uint32_t *c[MAX_ROWS];
    uint32_t *d[MAX_ROWS];
    read_fragments(w, op, a, b);
    for (uint32_t r = 0; r < p->c_regs; r++) {
        d[r] = pg_row_at(w, op->rows[r]);
        c[r] = pg_row_at(w, op->rows[p->c_regs + p->shape->a_regs + p->b_regs + r]);
    }
    pg_mma_tile tile = p->tile;
    tile.a = a;
    tile.b = b;
    tile.c = c;
    tile.d = d;
    if (p->sparse) {
        expand_a(w, op, a, dense, absent);
        tile.a = dense;
        tile.absent = absent;
    }
    if (p->shape->elem_bits == 4) {
        widen_nibbles(tile.a_type, tile.a, tile.m * tile.k, wide_a);
        widen_nibbles(tile.b_type, b, tile.n * tile.k, wide_b);
        tile.a = wide_a;
        tile.b = wide_b;
    }
    const bool fp8 = tile.a_type == PG_MMA_E4M3 || tile.a_type == PG_MMA_E5M2;
    if (w->launch->exact && fp8)
        multiply_fp8(&tile, p->c_regs, scratch);
    else
        (w->launch->exact ? pg_mma_exact : pg_mma_fast)(&tile, scratch);
}

static void multiply_f64(pg_warp *w, const pg_op *op)
{
    const pg_mma_plan *p = op->extra;
    const pg_mma_sync_shape *s = p->shape;
    double a[MAX_M * MAX_F64_K], b[MAX_F64_K * MAX_N], c[MAX_M * MAX_N], d[MAX_M * MAX_N];
    const pg_row *const a_rows = op->rows + p->c_regs, *const b_rows = a_rows + s->a_regs,
                        *const c_rows = b_rows + s->b_regs;
    for (uint32_t lane = 0; lane < PG_LANES; lane++) {
        for (uint32_t r = 0; r < s->a_regs; r++) {
            const pg_mma_place at = pg_mma_sync_place_a(s, lane, r);
            a[at.row * s->k + at.col] = ((const double *)pg_row_at(w, a_rows[r]))[lane];
        }
        for (uint32_t r = 0; r < s->b_regs; r++) {
            const pg_mma_place at = pg_mma_sync_place_b(s, lane, r);
            b[at.row * s->n + at.col] = ((const double *)pg_row_at(w, b_rows[r]))[lane];
        }
        for (uint32_t r = 0; r < p->c_regs; r++) {
            const pg_mma_place at = pg_mma_sync_place_c(s, lane, r);
            c[at.row * s->n + at.col] = ((const double *)pg_row_at(w, c_rows[r]))[lane];
        }
    }
    pg_mma_sync_f64(s, a, b, c, d);
    for (uint32_t lane = 0; lane < PG_LANES; lane++)
        for (uint32_t r = 0; r < p->c_regs; r++) {
            const pg_mma_place at = pg_mma_sync_place_c(s, lane, r);
            ((double *)pg_row_at(w, op->rows[r]))[lane] = d[at.row * s->n + at.col];
        }
}

pg_step pg_op_mma(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const pg_mma_plan *p = op->extra;
    if (p->shape->f64)
        multiply_f64(w, op);
    else
        multiply_tile(w, op);
    return PG_NEXT;
}

/* ---- 8 x 8 matrices ---- */

/* Lanes 8i .. 8i + 7 address the rows of matrix i. */
static uint32_t address_lanes(const pg_op *op, uint32_t all)
{
    return op->row_count == 4 ? all : all & ((1u << 8 * op->row_count) - 1);
}

pg_step pg_op_ldmatrix(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    uint8_t *at[PG_LANES];
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t addressed = address_lanes(op, all);
    if (!pg_resolve(w, op, addressed, MATRIX_ROW_BYTES, PG_ACCESS_READ, at))
        return PG_STOP;
    uint16_t matrix[4][8][8] = {0}; /* for rows whose lane does not exist */
    for (uint32_t left = addressed; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        memcpy(matrix[i / 8][i % 8], at[i], MATRIX_ROW_BYTES);
    }
    for (uint32_t i = 0; i < op->row_count; i++) {
        uint32_t *d = pg_row_at(w, op->rows[i]);
        for (uint32_t lane = 0; lane < PG_LANES; lane++) {
            const pg_mma_place p = pg_ldmatrix_place(lane);
            const uint32_t low = op->mode ? matrix[i][p.col][p.row] : matrix[i][p.row][p.col];
            const uint32_t high =
                op->mode ? matrix[i][p.col + 1][p.row] : matrix[i][p.row][p.col + 1];
            if (all >> lane & 1)
                d[lane] = low | high << 16;
        }
    }
    return PG_NEXT;
}

/* A register's two elements go to (row, col) and (row, col + 1), or with .trans to the mirrored
 * places. */
static void scatter_pair(uint16_t matrix[8][8], uint32_t lane, uint32_t value, bool trans)
{
    const pg_mma_place p = pg_ldmatrix_place(lane);
    *(trans ? &matrix[p.col][p.row] : &matrix[p.row][p.col]) = (uint16_t)value;
    *(trans ? &matrix[p.col + 1][p.row] : &matrix[p.row][p.col + 1]) = (uint16_t)(value >> 16);
}

pg_step pg_op_stmatrix(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    uint8_t *at[PG_LANES];
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t addressed = address_lanes(op, all);
    uint64_t address[PG_LANES];
    uint16_t rows[PG_LANES][8] = {{0}};
    for (uint32_t i = 0; i < op->row_count; i++) {
        const uint32_t *s = pg_row_at(w, op->rows[i]);
        for (uint32_t lane = 0; lane < PG_LANES; lane++)
            scatter_pair(&rows[8 * i], lane, s[lane], op->mode != 0);
    }
    pg_addresses(w, op, addressed, address);
    const pg_checked_access access = {addressed, MATRIX_ROW_BYTES, PG_ACCESS_WRITE, address, rows};
    if (!pg_resolve_at(w, op, &access, at))
        return PG_STOP;
    for (uint32_t left = addressed; left; left &= left - 1)
        memcpy(at[__builtin_ctz(left)], rows[__builtin_ctz(left)], MATRIX_ROW_BYTES);
    w->cta->cluster->progress++;
    return PG_NEXT;
}

pg_step pg_op_movmatrix(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t *a = pg_row_at(w, op->a);
    uint32_t *d = pg_row_at(w, op->d);
    uint16_t matrix[8][8];
    for (uint32_t lane = 0; lane < PG_LANES; lane++)
        scatter_pair(matrix, lane, a[lane], true);
    for (uint32_t lane = 0; lane < PG_LANES; lane++) {
        const pg_mma_place p = pg_ldmatrix_place(lane);
        d[lane] = matrix[p.row][p.col] | (uint32_t)matrix[p.row][p.col + 1] << 16;
    }
    return PG_NEXT;
}
