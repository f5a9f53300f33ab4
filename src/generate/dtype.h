/* Facts of the element types that kernels move and add. */
#ifndef PG_DTYPE_H
#define PG_DTYPE_H

#include "device/launch.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_dtype {
    const char *name; /* "bf16" */
    int bytes;
    const char *reduce_add;   /* modifiers of cp.reduce.async.bulk's add */
    const char *vector_add;   /* modifiers of a 16-byte red.global add */
    const char *register_add; /* adds two registers of 4 bytes */
    pg_tensor_type tensor_type;
} pg_dtype;

/* Every element type, whether kernels add it or not: "bf16", 16; "none", 0 for a number that is
 * none. */
const char *pg_dtype_word(ptxgen_dtype dtype);
int pg_dtype_bits(ptxgen_dtype dtype);

/* NULL for a dtype that kernels do not add. */
const pg_dtype *pg_dtype_find(ptxgen_dtype dtype);

#endif
