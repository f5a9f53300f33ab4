/* mma.sync of floats of 8, 6 and 4 bits by kind, with and without block scales: the fragments and
 * scales of a warp, multiplied as tcgen05.mma multiplies a tile (how sm_120's own unit sums is not
 * published). PTX ISA 9.0, sections 9.7.14.3 and 9.7.14.5. */
#ifndef PG_EMULATOR_MMA_SMALL_H
#define PG_EMULATOR_MMA_SMALL_H

#include "emulator/machine/program.h"
#include "emulator/matrix/mma_sync.h"
#include "emulator/tensor/tcgen05_tile.h"

/* op->extra. op->rows: D, A, B, C; with scales, then of A and of B: their register, the first of
 * its bytes, and which lanes of each four give theirs. */
typedef struct pg_mma_small_plan {
    const pg_mma_sync_shape *shape; /* elements of 4 bits are two to a byte, all others have one */
    pg_tcgen05_tile tile;           /* types, sizes, scale block and type */
    uint32_t c_regs;
} pg_mma_small_plan;
enum { PG_MMA_SMALL_A_REGS = 4, PG_MMA_SMALL_B_REGS = 2, PG_MMA_SMALL_SCALE_ROWS = 3 };

pg_step pg_op_mma_small(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
