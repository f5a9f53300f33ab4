/* Handlers of arithmetic and bit instructions, looked up by what they compute and the operand
 * type. The families that C operators give are in alu_int.c, bit fields in bits.c; floats are in
 * alu_float.c. */
#ifndef PG_EMULATOR_ALU_H
#define PG_EMULATOR_ALU_H

#include "emulator/machine/program.h"

typedef enum pg_alu {
    PG_ALU_ADD,
    PG_ALU_SUB,
    PG_ALU_MUL_LO,
    PG_ALU_MUL_HI,
    PG_ALU_MUL_WIDE,
    PG_ALU_MAD_LO,
    PG_ALU_MAD_HI,
    PG_ALU_MAD_WIDE,
    PG_ALU_DIV,
    PG_ALU_REM,
    PG_ALU_MIN,
    PG_ALU_MAX,
    PG_ALU_SAD,
    PG_ALU_NEG,
    PG_ALU_ABS,
    PG_ALU_NOT,
    PG_ALU_CNOT,
    PG_ALU_AND,
    PG_ALU_OR,
    PG_ALU_XOR,
    PG_ALU_SHL,
    PG_ALU_SHR,
    PG_ALU_MOV,
    PG_ALU_ADD_SAT,
    PG_ALU_SUB_SAT,
    PG_ALU_MAD_HI_SAT,
    PG_ALU_MUL24_LO,
    PG_ALU_MUL24_HI,
    PG_ALU_MAD24_LO,
    PG_ALU_MAD24_HI,
    PG_ALU_MAD24_HI_SAT,
    PG_ALU_ADD_X2,
    PG_ALU_MIN_X2,
    PG_ALU_MAX_X2,
    PG_ALU_COUNT
} pg_alu;

/* Operands in d, a, b, c; shift amounts are 32-bit rows. NULL: no such instruction. For the _X2
 * entries `bits` is that of one half (16). */
pg_handler pg_alu_int_handler(pg_alu alu, unsigned bits, bool is_signed);

#endif
