/* Handlers of floating-point instructions; the arithmetic itself is in float_ops.h and
 * half_ops.h. */
#ifndef PG_EMULATOR_ALU_FLOAT_H
#define PG_EMULATOR_ALU_FLOAT_H

#include "emulator/number/float_ops.h"
#include "emulator/number/half_ops.h"
#include "emulator/machine/program.h"

typedef enum pg_fp {
    PG_FP_ADD,
    PG_FP_SUB,
    PG_FP_MUL,
    PG_FP_FMA,
    PG_FP_DIV,
    PG_FP_DIV_APPROX,
    PG_FP_MIN,
    PG_FP_MAX,
    PG_FP_ABS,
    PG_FP_NEG,
    PG_FP_RCP,
    PG_FP_RCP_APPROX,
    PG_FP_SQRT,
    PG_FP_SQRT_APPROX,
    PG_FP_RSQRT,
    PG_FP_SIN,
    PG_FP_COS,
    PG_FP_LG2,
    PG_FP_EX2,
    PG_FP_TANH,
    PG_FP_COPYSIGN,
    PG_FP_COUNT
} pg_fp;

typedef enum pg_fp_type {
    PG_FP_F32,
    PG_FP_F64,
    PG_FP_HALF,
    PG_FP_HALF2,
    PG_FP_TYPE_COUNT
} pg_fp_type;

/* op->extra */
typedef struct pg_fp_plan {
    pg_float_mode mode;
    pg_minmax_mode minmax;
    pg_half_mode half;
    pg_half_op half_op;
} pg_fp_plan;

/* Operands d, a, b, c. NULL: no such instruction. */
pg_handler pg_fp_handler(pg_fp fp, pg_fp_type type, const pg_fp_plan *plan);

#endif
