/* mma.sync: shapes, and the register fragments of A, B, C and D; ldmatrix, stmatrix and movmatrix
 * layouts.
 *
 * A fragment map gives, for (lane, register, element in the register), the row and column in the
 * matrix; the handlers gather 32 lanes' registers into plain tiles, run pg_mma_exact or pg_mma_fast
 * (wgmma.h), or the f64 fma chain, and scatter the result. Pure; any thread. Source: PTX ISA 9.0,
 * section 9.7.14.5. */
#ifndef PG_EMULATOR_MMA_SYNC_H
#define PG_EMULATOR_MMA_SYNC_H

#include "emulator/matrix/wgmma.h"

/* One shape with its types. Registers are per lane, 32-bit, except f64 (64-bit). */
typedef struct pg_mma_sync_shape {
    uint32_t m, n, k;
    uint32_t elem_bits;      /* of A and B; 64 for f64 */
    uint32_t a_regs, b_regs; /* registers a lane */
    bool f64;
} pg_mma_sync_shape;

/* The row for m, n, k and element width, or NULL when mma.sync has no such shape. */
const pg_mma_sync_shape *pg_mma_sync_find(uint32_t m, uint32_t n, uint32_t k, uint32_t elem_bits);

/* Shape i = 0, 1, ...; NULL past the last. */
const pg_mma_sync_shape *pg_mma_sync_shape_at(uint32_t i);

/* Where the first element of register r of `lane` lies: A as (row, k), B as (k, column), C/D as
 * (row, column). The other elements of an A or B register follow along k; of an f16 C register
 * along the column. */
pg_mma_place pg_mma_sync_place_a(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r);
pg_mma_place pg_mma_sync_place_b(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r);
/* r counts elements (f32, s32, f64: registers; f16: halves). */
pg_mma_place pg_mma_sync_place_c(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r);

/* D = A * B + C for m8n8k4, m16n8k{4,8,16} f64: a chain of fma in ascending k, one rounding each.
 * a is m x k, b is k x n, c and d are m x n, all row-major. */
void pg_mma_sync_f64(const pg_mma_sync_shape *s, const double *a, const double *b, const double *c,
                     double *d);

/* ldmatrix/stmatrix of 8x8 matrices of 16-bit elements: lane `lane` holds row `row`, and its 32-bit
 * register holds the elements `element` and `element + 1` of that row; with .trans, rows and
 * columns change places and the second element is one row further. */
static inline pg_mma_place pg_ldmatrix_place(uint32_t lane)
{
    return (pg_mma_place){lane / 4, 2 * (lane % 4)};
}

#endif
