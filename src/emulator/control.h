/* What decoding and execution of branches and calls share. */
#ifndef PG_EMULATOR_CONTROL_H
#define PG_EMULATOR_CONTROL_H

#include "emulator/program.h"

/* One parameter on its way between a caller and a callee: bytes of a frame, or a register row. */
typedef struct pg_call_copy {
    bool from_row, to_row;
    uint32_t from_offset, to_offset; /* in the caller's and the callee's frame */
    pg_row from, to;
    uint32_t bytes;
} pg_call_copy;

typedef struct pg_call_target {
    const pg_function_layout *caller, *callee;
    const pg_call_copy *args, *returns; /* `returns` run from callee to caller */
    uint32_t arg_count, return_count;
} pg_call_target;

/* brx.idx */
typedef struct pg_branch_table {
    const uint32_t *targets;
    uint32_t count;
} pg_branch_table;

pg_step pg_op_bra(pg_warp *w, const pg_op *op, uint32_t lanes); /* target */
pg_step pg_op_brx(pg_warp *w, const pg_op *op,
                  uint32_t lanes); /* a: index, extra: pg_branch_table */
pg_step pg_op_call(pg_warp *w, const pg_op *op, uint32_t lanes); /* target, extra: pg_call_target */
pg_step pg_op_ret(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_exit(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_trap(pg_warp *w, const pg_op *op, uint32_t lanes); /* imm: 1 brkpt */
pg_step pg_op_nop(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_nanosleep(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_vprintf(pg_warp *w, const pg_op *op,
                      uint32_t lanes); /* extra: pg_call_target, callee NULL */
pg_step pg_op_assertfail(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Frees a warp's call stack. */
void pg_call_stack_free(pg_warp *w);

#endif
