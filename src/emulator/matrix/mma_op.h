/* mma.sync, ldmatrix, stmatrix and movmatrix on the emulated machine. */
#ifndef PG_EMULATOR_MMA_OP_H
#define PG_EMULATOR_MMA_OP_H

#include "emulator/matrix/mma_sync.h"
#include "emulator/machine/program.h"

/* op->extra. op->rows: D, A, B, C, as many of each as the shape says. */
typedef struct pg_mma_plan {
    const pg_mma_sync_shape *shape;
    pg_mma_tile tile; /* types, sizes and flags; unused for f64 */
    uint32_t c_regs;  /* of C and of D */
    uint32_t b_regs;
    /* mma.sp: `shape` is of A as it is stored, with half of the tile's k; op->a: the indices */
    bool sparse;
    uint32_t selector;
} pg_mma_plan;

/* Types and shape that wgmma, mma.sync and wmma have in common, of the instruction being
 * decoded; false: not executed. decode/matrix.c */
struct pg_decoder;
bool pg_mma_tile_of(const struct pg_decoder *d, pg_mma_tile *t);

pg_step pg_op_mma(pg_warp *w, const pg_op *op, uint32_t lanes);

/* m8n8k4 of halves; op->extra. op->rows: registers of d, two of a, two of b, those of c.
 * mma_quad.c */
enum { PG_QUAD_ROWS = 8 + 2 + 2 + 8 };
typedef struct pg_mma_quad_plan {
    bool a_row, b_row;       /* layouts: row, else column */
    bool c_single, d_single; /* f32, else f16 */
    uint32_t d_regs;
} pg_mma_quad_plan;
pg_step pg_op_mma_quad(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Which of the four products a lane works for, and its place (0 to 7) in it; where element i of
 * that place lies: A as (row, k), B as (k, column), `along`: in rows of the matrix as it is stored;
 * C and D, f32 (`single`) or f16. */
static inline uint32_t pg_quad_product(uint32_t lane)
{
    return lane % 16 / 4;
}
static inline uint32_t pg_quad_place(uint32_t lane)
{
    return lane % 4 + lane / 16 * 4;
}
pg_mma_place pg_quad_place_a(bool along, uint32_t place, uint32_t i);
pg_mma_place pg_quad_place_b(bool along, uint32_t place, uint32_t i);
pg_mma_place pg_quad_place_c(bool single, uint32_t place, uint32_t i);

/* op->rows: count registers; op->mode: 1 .trans. Address operand as for ld. */
pg_step pg_op_ldmatrix(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_stmatrix(pg_warp *w, const pg_op *op, uint32_t lanes);
/* d, a */
pg_step pg_op_movmatrix(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
