/* Which decode function an opcode row has: pg_decode_ and the word of its semantics column. */
#include "emulator/decode/families.h"

#define pg_decode_parse_only NULL
static const pg_decode_fn decoders[PG_PTX_OP_COUNT] = {
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics)                     \
    pg_decode_##semantics,
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP
};

pg_decode_fn pg_decode_function(pg_ptx_op op)
{
    return decoders[op];
}
