/* PTX ISA 9.7.9.25.5 (cp.reduce.async.bulk: f16 and bf16 must say .noftz), 9.7.13.6 (red). */
#include "generate/dtype.h"

#include <stddef.h>

static const pg_dtype dtypes[] = {
    [PTXGEN_F32] = {"f32", 4, "add.f32", "add.v4.f32", "add.ftz.f32", PG_TENSOR_F32},
    [PTXGEN_F16] = {"f16", 2, "add.noftz.f16", "add.noftz.v4.f16x2", "add.rn.f16x2", PG_TENSOR_F16},
    [PTXGEN_BF16] = {"bf16", 2, "add.noftz.bf16", "add.noftz.v4.bf16x2", "add.rn.bf16x2",
                     PG_TENSOR_BF16},
};

const pg_dtype *pg_dtype_find(ptxgen_dtype dtype)
{
    const size_t i = (size_t)dtype;
    return i && i < sizeof dtypes / sizeof *dtypes ? &dtypes[i] : NULL;
}
