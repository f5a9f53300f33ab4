/* See dtype.h. */
#include "generate/dtype.h"

#include <math.h>
#include <stddef.h>

enum { DL_BOOL = 6 };

#define ROW(name, word, bits, fraction, code, map)                                                 \
    [PTXGEN_##name] = {word, bits, bits / 8, fraction, code, PG_TENSOR_##map},
static const pg_dtype dtypes[] = {[PTXGEN_DTYPE_NONE] = {.name = "none", .fraction = -1},
                                  PG_DTYPES(ROW)};
enum { COUNT = sizeof dtypes / sizeof *dtypes };

const pg_dtype *pg_dtype_find(ptxgen_dtype dtype)
{
    return &dtypes[(size_t)dtype < COUNT ? (size_t)dtype : PTXGEN_DTYPE_NONE];
}

const char *pg_dtype_word(ptxgen_dtype dtype)
{
    return pg_dtype_find(dtype)->name;
}

int pg_dtype_bits(ptxgen_dtype dtype)
{
    return pg_dtype_find(dtype)->bits;
}

double pg_dtype_step(ptxgen_dtype dtype)
{
    const int fraction = pg_dtype_find(dtype)->fraction;
    return fraction < 0 ? 0 : ldexp(1, -fraction);
}

ptxgen_dtype pg_dtype_of_dlpack(int code, int bits)
{
    if (code == DL_BOOL && bits == 8)
        return PTXGEN_U8;
    for (size_t i = PTXGEN_F32; i < COUNT; i++)
        if (dtypes[i].dl_code == code && dtypes[i].bits == bits)
            return (ptxgen_dtype)i;
    return PTXGEN_DTYPE_NONE;
}
