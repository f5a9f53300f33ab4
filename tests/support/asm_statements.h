/* The PTX inside of CUDA sources: asm statements, with their operands replaced by registers. */
#ifndef PG_ASM_STATEMENTS_H
#define PG_ASM_STATEMENTS_H

#include "base/buf.h"

/* Cuts the next asm statement of *rest (NUL-terminated C++) and writes the body of an entry that
 * declares a register for each operand and holds the statement's PTX; `constant` stands for
 * operands that must be one. False when there is none left. */
bool asm_statement_next(const char **rest, const char *constant, pg_buf *body);

#endif
