/* What a sum needs to know of an element type: its accumulator, the instructions that add, and how
 * words of memory become values of it. */
#ifndef PG_SCATTER_SUM_TYPE_H
#define PG_SCATTER_SUM_TYPE_H

#include "generate/dtype.h"
#include "generate/emit.h"
#include "ptxgen/ptxgen.h"

#define PG_SUM_TYPES(X)                                                                            \
    PG_DTYPE_F32(X) PG_DTYPE_F16(X) PG_DTYPE_BF16(X) PG_DTYPE_F64(X) PG_DTYPE_S32(X) PG_DTYPE_S64(X)

typedef struct pg_sum_type {
    const char *name; /* "bf16" */
    ptxgen_dtype dtype;
    int bytes;
    const char *acc; /* the accumulator's PTX type: "f32", "f64", "s32", "s64" */
    int acc_bytes;
    /* Of each ptxgen_scatter_reduce, as an accumulator; mean is an add. That of mul is 1. */
    const char *identity[PTXGEN_SCATTER_MUL + 1];
    /* Of the types that reductions of 16 bytes add, else NULL. PTX ISA 9.7.9.25.5: f16 and bf16
     * must say .noftz; 9.7.13.6. */
    const char *reduce_add;   /* modifiers of cp.reduce.async.bulk's add */
    const char *vector_add;   /* modifiers of a 16-byte red.global add */
    const char *register_add; /* adds two registers of 4 bytes */
} pg_sum_type;

extern const ptxgen_dtype pg_sum_dtypes[];
/* Place i of the dtype parameter, NULL past the last. */
const pg_sum_type *pg_sum_type_at(int64_t i);
/* NULL for a type that has no sums. */
const pg_sum_type *pg_sum_type_of(ptxgen_dtype dtype);

/* The word of memory that one register holds: 8 bytes of 8-byte types, 2 where only 2 may be
 * read, else 4. */
static inline int pg_sum_type_word(const pg_sum_type *e, int access)
{
    return e->bytes == 8 ? 8 : access < 4 ? access : 4;
}

/* Register names: "%data3". */
typedef struct pg_name {
    char text[32];
} pg_name;
pg_name pg_name_of(const char *prefix, int i);

/* Loads or stores `count` registers from `first` on, `bytes` each, as wide as PTX allows: `what`
 * is the instruction up to the type ("ld.global.nc"), `guard` a predicate with its @ or "".
 * `address` is a register, to which `offset` bytes are added. Counts are powers of two. A store
 * has its operands the other way round: `store`. */
typedef struct pg_move {
    const char *what, *guard, *address;
    const char *prefix;
    int first, count, bytes, offset;
    bool store;
} pg_move;
void pg_move_words(pg_emit *E, const pg_move *m);

/* A word of memory in a register, and the values that it holds. */
typedef struct pg_word {
    const char *word;
    int bytes;          /* of memory */
    const char *values; /* registers of the accumulator's type, from `first` on */
    int first;
} pg_word;
void pg_unpack_word(pg_emit *E, const pg_sum_type *e, const pg_word *w);
/* The opposite, rounded to nearest even. */
void pg_pack_word(pg_emit *E, const pg_sum_type *e, const pg_word *w);
/* acc = acc (op) value. Scratch: .pred %nan, and %nan64 of .f64. */
void pg_reduce_value(pg_emit *E, const pg_sum_type *e, ptxgen_scatter_reduce op, const char *acc,
                     const char *value);

#endif
