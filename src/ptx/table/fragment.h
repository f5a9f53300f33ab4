/* How many registers a matrix fragment, or a piece of tensor memory, takes in an instruction's
 * operand. */
#ifndef PG_PTX_FRAGMENT_H
#define PG_PTX_FRAGMENT_H

#include "ptx/table/form.h"

/* Length of the vector that opcodes.def writes as "@rule"; PG_COUNT_ANY (0) when the opcode
 * leaves it open, a number that no vector has when its suffixes make no sense together, -1 for a
 * rule that does not exist. */
int pg_fragment_length(const pg_ptx_opcode *opcode, pg_str rule);

#endif
