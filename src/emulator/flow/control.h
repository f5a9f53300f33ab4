/* What decoding and execution of branches and calls share. */
#ifndef PG_EMULATOR_CONTROL_H
#define PG_EMULATOR_CONTROL_H

#include "emulator/machine/program.h"

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

/* A call through a register: what it may reach, by address. */
typedef struct pg_indirect_call {
    const pg_call_target *targets;
    const uint64_t *addresses;
    uint32_t count;
} pg_indirect_call;

/* brx.idx */
typedef struct pg_branch_table {
    const uint32_t *targets;
    uint32_t count;
} pg_branch_table;

pg_step pg_op_bra(pg_warp *w, const pg_op *op, uint32_t lanes); /* target */
pg_step pg_op_brx(pg_warp *w, const pg_op *op,
                  uint32_t lanes); /* a: index, extra: pg_branch_table */
pg_step pg_op_call(pg_warp *w, const pg_op *op, uint32_t lanes); /* extra: pg_call_target */
/* a: address, extra: pg_indirect_call */
pg_step pg_op_call_indirect(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_ret(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_exit(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_trap(pg_warp *w, const pg_op *op, uint32_t lanes); /* imm: 1 brkpt */
pg_step pg_op_nop(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_nanosleep(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_vprintf(pg_warp *w, const pg_op *op,
                      uint32_t lanes); /* extra: pg_call_target, callee NULL */
pg_step pg_op_malloc(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_free(pg_warp *w, const pg_op *op, uint32_t lanes);
/* An argument of a call of one of these, up to 8 bytes; what it returns, if the call takes it. */
uint64_t pg_call_argument(const pg_warp *w, const pg_call_copy *c, int lane);
void pg_call_return(pg_warp *w, const pg_call_target *t, int lane, uint64_t value);
pg_step pg_op_assertfail(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Stack memory, PTX ISA 9.0, section 9.7.17; size: bytes of an address, extra:
 * pg_function_layout, imm: alignment. */
pg_step pg_op_alloca(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_stacksave(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_stackrestore(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Sends each of `lanes` to its own pc: one group per distinct target. */
pg_step pg_scatter_lanes(pg_warp *w, const pg_op *op, uint32_t lanes, const uint32_t *pc);

/* Removes exited lanes and wakes whoever waited for them. */
void pg_exit_lanes(pg_warp *w, uint32_t lanes);

/* Frees a warp's call stack. */
void pg_call_stack_free(pg_warp *w);

#endif
