/* The list of instructions for users: every row of the opcode table, and what the ISA has
 * besides. */
#include "emulator/decode/decode.h"
#include "ptxgen/emulator.h"

static const struct {
    const char *mnemonic;
    unsigned isa;
    const char *target;
} unknown[] = {
#define PG_PTX_UNKNOWN(mnemonic, isa, target) {mnemonic, isa, target},
#include "ptx/table/unknown.def"
#undef PG_PTX_UNKNOWN
};

bool ptxgen_emulator_get_instruction(size_t i, ptxgen_emulator_instruction *out)
{
    if (!out || i >= PG_PTX_OP_COUNT + sizeof unknown / sizeof *unknown)
        return false;
    if (i >= PG_PTX_OP_COUNT) {
        const size_t k = i - PG_PTX_OP_COUNT;
        *out = (ptxgen_emulator_instruction){
            unknown[k].mnemonic,    "", "", unknown[k].isa, unknown[k].target,
            PTXGEN_EMULATOR_UNKNOWN};
        return true;
    }
    const pg_ptx_op_info *row = pg_ptx_op_describe((pg_ptx_op)i);
    const bool runs = pg_decode_function((pg_ptx_op)i) != NULL;
    *out = (ptxgen_emulator_instruction){
        row->mnemonic, row->modifiers, row->operands,
        row->isa,      row->target,    runs ? PTXGEN_EMULATOR_EXECUTED : PTXGEN_EMULATOR_PARSED};
    return true;
}
