/* wgmma on the emulated machine. Each warp issues its part (16 rows of the warpgroup's 64) into its
 * own in-order queue; when one part is carried out, the same instruction of the other three warps
 * is carried out with it if they have issued it too, so that operand B is unpacked once and not
 * four times. */
#ifndef PG_EMULATOR_WGMMA_OP_H
#define PG_EMULATOR_WGMMA_OP_H

#include "emulator/machine/async.h"
#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/matrix/wgmma.h"

/* What an issued wgmma has read from registers. */
typedef struct pg_async_mma {
    pg_async head;
    uint64_t a, b; /* descriptors */
    bool zero_d;
    uint32_t number; /* of the warp's wgmma's; from 1 */
    bool executed;   /* carried out together with another warp's part */
} pg_async_mma;
extern const pg_async_kind pg_kind_mma; /* wgmma.mma_async; wgmma group */

/* op->extra. op->rows: d_regs rows of D, then 4 of A if it is in registers, then the indices of
 * a sparse A. op->p: scale-d. */
typedef struct pg_wgmma_plan {
    pg_mma_tile tile; /* types, n, k, flags; m and the pointers are set when it runs */
    pg_matrix_shape a_shape, b_shape;
    bool a_in_registers;
    bool sparse; /* a_shape and the registers have half of K */
    uint32_t selector;
    pg_row a, b;     /* descriptors, 64-bit rows */
    uint32_t d_regs; /* a lane */
} pg_wgmma_plan;

pg_step pg_op_wgmma(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_wgmma_fence(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_wgmma_commit(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_wgmma_wait(pg_warp *w, const pg_op *op,
                         uint32_t lanes); /* imm: groups that may be pending */

/* PG_MMA_SCRATCH_BYTES of room for the tile engines, kept by the host thread; NULL: out of
 * memory, the launch is stopped. */
void *pg_mma_scratch_of(pg_worker *worker);

#endif
