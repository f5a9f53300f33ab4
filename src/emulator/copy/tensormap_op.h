/* tensormap.replace and tensormap.cp_fenceproxy: kernels that make or change tensor maps. */
#ifndef PG_EMULATOR_TENSORMAP_OP_H
#define PG_EMULATOR_TENSORMAP_OP_H

#include "emulator/machine/program.h"
#include "emulator/copy/tensor_map.h"

/* op->extra of replace; the address operand is the op's own. */
typedef struct pg_tensormap_plan {
    pg_tensor_field field;
    uint32_t index;
    pg_row value;
    bool wide; /* the value has 64 bits */
} pg_tensormap_plan;
pg_step pg_op_tensormap_replace(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Copies 128 bytes from shared memory (op->extra: pg_op of that address operand) to global
 * memory. */
pg_step pg_op_tensormap_copy(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
