/* f16 and bf16 arithmetic on bit patterns, scalar; a packed instruction applies the scalar rule to
 * both halves (pg_half2). Every result is the exact value rounded once to nearest even.
 *
 * NaN results are 0x7fff in both formats. .ftz (f16 only) flushes subnormal inputs and results to
 * signed zero, .sat clamps to [0, 1] (NaN to +0), .relu clamps negatives to +0 and keeps NaN
 * (canonical). Pure; any thread. Source: PTX ISA 9.0, section 9.7.4. */
#ifndef PG_EMULATOR_HALF_OPS_H
#define PG_EMULATOR_HALF_OPS_H

#include "emulator/number/formats.h"

typedef enum pg_half_op {
    PG_HALF_ADD,
    PG_HALF_SUB,
    PG_HALF_MUL,
    PG_HALF_FMA,
    PG_HALF_MIN,
    PG_HALF_MAX,
    PG_HALF_NEG,
    PG_HALF_ABS,
    PG_HALF_EX2, /* approximations: correctly rounded here, not bit-exact with a GPU */
    PG_HALF_TANH
} pg_half_op;

typedef struct pg_half_mode {
    bool bf16; /* else f16 */
    bool ftz, sat, relu;
    bool nan, xorsign_abs; /* min and max */
} pg_half_mode;

/* Operands that an operation does not have are ignored. */
uint16_t pg_half(pg_half_op op, const uint16_t x[3], pg_half_mode m);
/* The same for the two halves of 32-bit registers. */
uint32_t pg_half2(pg_half_op op, const uint32_t x[3], pg_half_mode m);

#endif
