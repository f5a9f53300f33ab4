/* Random instructions, made from the rows of the opcode table: what the table says is legal,
 * spelled out. */
#ifndef PG_PTX_EXAMPLES_H
#define PG_PTX_EXAMPLES_H

#include "base/buf.h"
#include "ptx/ptx.h"

/* Declarations of every register and variable that examples use, for the start of a function's
 * body. */
void ptx_example_declarations(pg_buf *out);

/* Appends one instruction of the row, "name.suffixes operands;". *random is the state of a
 * generator. `least`: no optional suffix or operand. False when an earlier row has these
 * suffixes as well. */
bool ptx_example(pg_ptx_op op, uint64_t *random, bool least, pg_buf *out);

/* A .target that has the row: "sm_90a". */
const char *ptx_example_target(pg_ptx_op op);

#endif
