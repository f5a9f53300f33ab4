/* The element types: the one table that everything about them is read from. */
#ifndef PG_DTYPE_H
#define PG_DTYPE_H

#include "device/launch.h"
#include "ptxgen/ptxgen.h"

/* X(name, word, bits, fraction, DLPack's code, type of a tensor map). `fraction` is a float's bits
 * behind the point, -1 of whole numbers and of pairs. DLPack's codes: 0 int, 1 uint, 2 float, 4
 * bfloat, 5 complex, 10, 12, 14 and 17 the small floats (dlpack.h, 1.1). */
#define PG_DTYPE_F32(X)   X(F32, "f32", 32, 23, 2, F32)
#define PG_DTYPE_F16(X)   X(F16, "f16", 16, 10, 2, F16)
#define PG_DTYPE_BF16(X)  X(BF16, "bf16", 16, 7, 4, BF16)
#define PG_DTYPE_S32(X)   X(S32, "s32", 32, -1, 0, S32)
#define PG_DTYPE_U32(X)   X(U32, "u32", 32, -1, 1, U32)
#define PG_DTYPE_S64(X)   X(S64, "s64", 64, -1, 0, S64)
#define PG_DTYPE_U64(X)   X(U64, "u64", 64, -1, 1, U64)
#define PG_DTYPE_F64(X)   X(F64, "f64", 64, 52, 2, F64)
#define PG_DTYPE_S16(X)   X(S16, "s16", 16, -1, 0, U16)
#define PG_DTYPE_U16(X)   X(U16, "u16", 16, -1, 1, U16)
#define PG_DTYPE_S8(X)    X(S8, "s8", 8, -1, 0, U8)
#define PG_DTYPE_U8(X)    X(U8, "u8", 8, -1, 1, U8)
#define PG_DTYPE_E4M3(X)  X(E4M3, "e4m3", 8, 3, 10, U8)
#define PG_DTYPE_E5M2(X)  X(E5M2, "e5m2", 8, 2, 12, U8)
#define PG_DTYPE_E2M1(X)  X(E2M1, "e2m1", 4, 1, 17, 16U4_ALIGN8B)
#define PG_DTYPE_UE8M0(X) X(UE8M0, "ue8m0", 8, 0, 14, U8)
#define PG_DTYPE_C64(X)   X(C64, "c64", 64, -1, 5, U64)
#define PG_DTYPE_C128(X)  X(C128, "c128", 128, -1, 5, U64)

/* clang-format off */
#define PG_DTYPES(X) \
    PG_DTYPE_F32(X) PG_DTYPE_F16(X) PG_DTYPE_BF16(X) PG_DTYPE_S32(X) PG_DTYPE_U32(X) \
    PG_DTYPE_S64(X) PG_DTYPE_U64(X) PG_DTYPE_F64(X) PG_DTYPE_S16(X) PG_DTYPE_U16(X) \
    PG_DTYPE_S8(X) PG_DTYPE_U8(X) PG_DTYPE_E4M3(X) PG_DTYPE_E5M2(X) PG_DTYPE_E2M1(X) \
    PG_DTYPE_UE8M0(X) PG_DTYPE_C64(X) PG_DTYPE_C128(X)
/* clang-format on */

/* Some of them, said once as a list of rows, as operands and parameters want them:
 *
 *     #define HALVES(X) PG_DTYPE_F16(X) PG_DTYPE_BF16(X)
 *     static const ptxgen_dtype dtypes[] = PG_DTYPE_LIST(HALVES);
 *     static const char *const dtype_words[] = PG_DTYPE_WORDS(HALVES);
 */
#define PG_DTYPE_ITEM(name, ...)       PTXGEN_##name,
#define PG_DTYPE_WORD(name, word, ...) word,
/* clang-format off */
#define PG_DTYPE_LIST(LIST) {LIST(PG_DTYPE_ITEM) PTXGEN_DTYPE_NONE}
#define PG_DTYPE_WORDS(LIST) {LIST(PG_DTYPE_WORD) NULL}
/* clang-format on */

typedef struct pg_dtype {
    const char *name; /* "bf16"; "none" of a number that is no element type */
    int bits, bytes, fraction, dl_code;
    pg_tensor_type tensor_type;
} pg_dtype;

/* Never NULL: a number that is no element type has 0 bits. */
const pg_dtype *pg_dtype_find(ptxgen_dtype dtype);
const char *pg_dtype_word(ptxgen_dtype dtype);
int pg_dtype_bits(ptxgen_dtype dtype);
/* From 1 to the next number: 0x1p-10 of f16; 0 of whole numbers. */
double pg_dtype_step(ptxgen_dtype dtype);
/* DLPack's code and bits; PTXGEN_DTYPE_NONE for what no kernel takes. */
ptxgen_dtype pg_dtype_of_dlpack(int code, int bits);

#endif
