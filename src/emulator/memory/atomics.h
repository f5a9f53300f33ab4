/* Handlers of atom and red. */
#ifndef PG_EMULATOR_ATOMICS_H
#define PG_EMULATOR_ATOMICS_H

#include "emulator/machine/program.h"

typedef enum pg_atomic_op {
    PG_ATOMIC_ADD,
    PG_ATOMIC_MIN,
    PG_ATOMIC_MAX,
    PG_ATOMIC_INC,
    PG_ATOMIC_DEC,
    PG_ATOMIC_AND,
    PG_ATOMIC_OR,
    PG_ATOMIC_XOR,
    PG_ATOMIC_EXCH,
    PG_ATOMIC_CAS,
    PG_ATOMIC_OP_COUNT
} pg_atomic_op;

typedef enum pg_atomic_type {
    PG_ATOMIC_B16,
    PG_ATOMIC_U32,
    PG_ATOMIC_S32,
    PG_ATOMIC_U64,
    PG_ATOMIC_S64,
    PG_ATOMIC_F32,
    PG_ATOMIC_F64,
    PG_ATOMIC_F16,
    PG_ATOMIC_BF16,
    PG_ATOMIC_F16X2,
    PG_ATOMIC_BF16X2,
    PG_ATOMIC_B128,
    PG_ATOMIC_TYPE_COUNT
} pg_atomic_type;

/* new value from the old one and the operand. `ftz`: the memory is not shared (f32 add flushes
 * there). */
typedef uint64_t (*pg_combine)(uint64_t old, uint64_t operand, bool ftz);
/* NULL: no such pair (exch and cas need none). */
pg_combine pg_atomic_combine(pg_atomic_op op, pg_atomic_type type);

typedef struct pg_atomic_plan {
    pg_combine combine; /* NULL for exch and cas */
    pg_atomic_op op;
    bool result; /* atom: rows[count..] receive the old values; red: nothing does */
} pg_atomic_plan;

/* extra: pg_atomic_plan; rows[0..count-1] operands, rows[count..2count-1] results (atom), c: new
 * value of cas. */
pg_step pg_op_atomic(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
