/* Which decode function an opcode row has: the one that its semantics column names. */
#include "emulator/decode/engines.h"
#include "emulator/decode/families.h"

typedef struct named_decoder {
    const char *semantics;
    pg_decode_fn decode;
} named_decoder;

static const named_decoder decoders[] = {
#define NAMED(name) {#name, pg_decode_##name},
    PG_DECODE_FAMILIES(NAMED) PG_DECODE_ENGINES(NAMED)
#undef NAMED
        {"prefetch_tensormap", pg_decode_prefetch},
    {"discard", pg_decode_prefetch},
    {"applypriority", pg_decode_prefetch},
    {"atom_vector", pg_decode_atom},
    {"red_vector", pg_decode_red},
    {"cp_async_bulk_cluster", pg_decode_cp_async_bulk_load},
};

/* The semantics column by row. */
static const char *const semantics_of[PG_PTX_OP_COUNT] = {
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics) #semantics,
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP
};

pg_decode_fn pg_decode_function(pg_ptx_op op)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (!strcmp(decoders[i].semantics, semantics_of[op]))
            return decoders[i].decode;
    return NULL;
}
