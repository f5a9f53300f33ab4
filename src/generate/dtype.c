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

static const struct {
    const char *word;
    int bits;
} elements[] = {
    [PTXGEN_DTYPE_NONE] = {"none", 0}, [PTXGEN_F32] = {"f32", 32},    [PTXGEN_F16] = {"f16", 16},
    [PTXGEN_BF16] = {"bf16", 16},      [PTXGEN_S32] = {"s32", 32},    [PTXGEN_U32] = {"u32", 32},
    [PTXGEN_S64] = {"s64", 64},        [PTXGEN_U64] = {"u64", 64},    [PTXGEN_F64] = {"f64", 64},
    [PTXGEN_S16] = {"s16", 16},        [PTXGEN_U16] = {"u16", 16},    [PTXGEN_S8] = {"s8", 8},
    [PTXGEN_U8] = {"u8", 8},           [PTXGEN_E4M3] = {"e4m3", 8},   [PTXGEN_E5M2] = {"e5m2", 8},
    [PTXGEN_E2M1] = {"e2m1", 4},       [PTXGEN_UE8M0] = {"ue8m0", 8},
};

static size_t place(ptxgen_dtype dtype)
{
    return (size_t)dtype < sizeof elements / sizeof *elements ? (size_t)dtype : 0;
}

const char *pg_dtype_word(ptxgen_dtype dtype)
{
    return elements[place(dtype)].word;
}

int pg_dtype_bits(ptxgen_dtype dtype)
{
    return elements[place(dtype)].bits;
}
