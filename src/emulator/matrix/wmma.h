/* wmma: matrices as fragments whose layout the ISA leaves open (PTX ISA 9.0, section 9.7.14.4).
 * Ours: C and D as the tile engine has them (wgmma.h); A and B as runs of registers, k fastest,
 * lanes next, and where a fragment has more registers than elements (f16), once more; f64, 4-bit
 * and 1-bit shapes as mma.sync has them (mma_sync.h). */
#ifndef PG_EMULATOR_WMMA_H
#define PG_EMULATOR_WMMA_H

#include "emulator/matrix/mma_op.h"

typedef enum pg_wmma_matrix { PG_WMMA_A, PG_WMMA_B, PG_WMMA_C } pg_wmma_matrix;

typedef struct pg_wmma_fragment {
    pg_wmma_matrix matrix;
    uint32_t m, n, k;
    uint32_t elem_bits;
    uint32_t registers;             /* per lane */
    const pg_mma_sync_shape *small; /* of mma.sync; NULL: the layout above */
} pg_wmma_fragment;

/* The fragment of a matrix for a shape and an element width; registers 0: there is none. */
pg_wmma_fragment pg_wmma_fragment_of(pg_wmma_matrix matrix, const uint32_t shape[3],
                                     uint32_t elem_bits);

/* Row and column (in A, B or C) of an element of a register of a lane. */
pg_mma_place pg_wmma_place(const pg_wmma_fragment *f, uint32_t lane, uint32_t r, uint32_t element);

/* op->extra of loads and stores; op->rows: the registers, op->b: the stride in elements. */
typedef struct pg_wmma_access {
    pg_wmma_fragment fragment;
    bool column_major;
} pg_wmma_access;
pg_step pg_op_wmma_load(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_wmma_store(pg_warp *w, const pg_op *op, uint32_t lanes);

/* op->extra of wmma.mma of 8-bit types and up; op->rows: D, A, B, C. */
typedef struct pg_wmma_plan {
    pg_wmma_fragment a, b, c;
    pg_mma_tile tile; /* its k: of one step */
} pg_wmma_plan;
pg_step pg_op_wmma(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
