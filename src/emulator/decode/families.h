/* The decode functions: pg_decode_<semantics> for every word of opcodes.def's last column
 * (table.c maps rows to them), and what the families share. */
#ifndef PG_EMULATOR_DECODE_FAMILIES_H
#define PG_EMULATOR_DECODE_FAMILIES_H

#include "emulator/scalar/alu.h"
#include "emulator/decode/decode.h"
#include "emulator/number/formats.h"

/* One function a word; a word of several rows is declared several times. */
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics)                     \
    void pg_decode_##semantics(pg_decoder *d, pg_op *op);
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP

/* add.cc and relatives. */
typedef enum pg_carry_kind { PG_CARRY_ADD, PG_CARRY_SUB, PG_CARRY_MAD } pg_carry_kind;
typedef struct pg_carry {
    pg_carry_kind kind;
    bool in, out, high;
} pg_carry;
void pg_decode_carry(pg_decoder *d, pg_op *op, pg_carry carry);
/* and, or, xor, not and mov (PG_ALU_MOV) of predicates. */
void pg_decode_pred_logic(pg_decoder *d, pg_op *op, pg_alu alu);
pg_handler pg_relu_handler(bool max, bool packed);
/* PG_ROUND_RN for a modifier that is absent. */
pg_round pg_round_of(unsigned modifier);

#endif
