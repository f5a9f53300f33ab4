/* The modifiers of an instruction, as opcodes.def has them, in words that a user of PTX knows. */
#ifndef PG_PTX_SYNTAX_H
#define PG_PTX_SYNTAX_H

#include "base/str.h"

/* "HALF:lo|hi $int" -> ".lo|hi .u16|u32|...", "sat?" -> "[.sat]". Cut to `size` bytes. */
void pg_ptx_syntax(pg_str modifiers, char *out, size_t size);

#endif
