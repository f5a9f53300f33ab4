/* The numeric model of the tensor cores, one number at a time: operands taken apart, terms cut
 * towards zero, sums rounded into the result's format. The exact engines of wgmma (wgmma_exact.c)
 * and of tcgen05.mma (tcgen05_exact.c) are built from it.
 *
 * A finite number is sig * 2^(exp - fraction bits). Zeros get an exponent that never is the
 * largest of an output's terms, infinities and NaN one that always is. Pure; any thread. Source:
 * the model of arXiv 2512.07004 and of the MMA-Sim project. */
#ifndef PG_EMULATOR_MMA_NUMERICS_H
#define PG_EMULATOR_MMA_NUMERICS_H

#include "emulator/number/formats.h"

#include <stddef.h>

enum {
    PG_MMA_EXP_OF_ZERO = -4096, /* lower than any product of finite operands */
    PG_MMA_EXP_ABSENT = -32768, /* of what a sparse operand does not store: lower with any factor */
    PG_MMA_EXP_MIN_F32 = -126,  /* of subnormals */
    PG_MMA_EXP_SPECIAL = 8192 /* of infinities and NaN; what is over a quarter of it has met one */
};

/* Bytes of the container that one element of this format has in an operand array. */
static inline uint32_t pg_mma_container(pg_format_id format)
{
    const int bits = pg_formats[format].bits;
    return bits > 16 ? 4 : bits > 8 ? 2 : 1;
}

/* How to take an array of numbers apart: significands are shifted left by `up` and negated if
 * `negate`. */
typedef struct pg_mma_split {
    /* tf32: the low 13 bits of a word are not read; below 8 bits: the low bits of a byte */
    pg_format_id format;
    uint32_t up;
    bool negate;
} pg_mma_split;

/* Signed significands with the format's man_bits + up fraction bits, and exponents, of `count`
 * elements, four or more. */
void pg_mma_split_array(const pg_mma_split *how, const void *in, size_t count, int32_t *sig,
                        int32_t *exp);

/* The value of element i, exactly; NaN for NaN. */
double pg_mma_element(pg_format_id format, const void *in, size_t i);

/* A sum that has met an infinity or NaN: finite terms do not matter. */
typedef struct pg_mma_special {
    bool plus, minus, nan;
} pg_mma_special;
void pg_mma_special_add(pg_mma_special *s, double term);
/* NaN is 0x7fffffff; 0 when no term was special. */
float pg_mma_special_sum(pg_mma_special s);

/* C, or D before the instruction. */
typedef struct pg_mma_addend {
    int64_t sig; /* 23 fraction bits */
    int32_t exp;
} pg_mma_addend;

static inline pg_mma_addend pg_mma_addend_f32(uint32_t bits)
{
    const uint32_t man = bits & 0x7fffffu, e = bits >> 23 & 0xff;
    const int64_t s = e ? man | 0x800000u : man;
    return (pg_mma_addend){bits >> 31 ? -s : s,
                           s ? (int32_t)(e ? e : 1) - 127 : PG_MMA_EXP_OF_ZERO};
}

static inline pg_mma_addend pg_mma_addend_f16(uint16_t bits)
{
    const uint32_t man = bits & 0x3ffu, e = bits >> 10 & 0x1f;
    const int64_t s = (int64_t)(e ? man | 0x400u : man) << 13;
    return (pg_mma_addend){bits >> 15 ? -s : s, s ? (int32_t)(e ? e : 1) - 15 : PG_MMA_EXP_OF_ZERO};
}

/* s * 2^-down towards zero, for any down. */
static inline int64_t pg_mma_cut(int64_t s, int32_t down)
{
    if (down <= 0)
        return s * ((int64_t)1 << -down);
    if (down > 62)
        return 0;
    const int64_t magnitude = s < 0 ? -s : s;
    return s < 0 ? -(magnitude >> down) : magnitude >> down;
}

/* sum * 2^exp towards zero as f32; low precision keeps 13 fraction bits. */
static inline uint32_t pg_mma_truncate_to_f32(int64_t sum, int32_t exp, bool low_precision)
{
    if (sum == 0)
        return 0;
    const uint32_t sign = sum < 0 ? 0x80000000u : 0;
    const uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    const int32_t top = 63 - __builtin_clzll(magnitude);
    const int32_t e = exp + top;
    if (e > 127)
        return sign | 0x7f800000u;
    const int32_t unit =
        (e < PG_MMA_EXP_MIN_F32 ? PG_MMA_EXP_MIN_F32 : e) - 23; /* of the last mantissa bit */
    const int32_t down = unit - exp;
    uint32_t bits = down > 63 ? 0 : (uint32_t)(down >= 0 ? magnitude >> down : magnitude << -down);
    if (low_precision)
        bits &= ~0x3ffu;
    if (!bits)
        return 0; /* never -0 */
    /* A normal number's leading one carries into the exponent. */
    return sign | (e < PG_MMA_EXP_MIN_F32 ? bits : bits + ((uint32_t)(e + 126) << 23));
}

static inline uint16_t pg_mma_round_to_f16(int64_t sum, int32_t exp)
{
    const pg_encode_mode rn = {.round = PG_ROUND_RN};
    const uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    const uint64_t bits = pg_pack(&pg_formats[PG_FMT_F16], sum < 0, magnitude, exp, rn);
    return bits == 0x8000 ? 0 : (uint16_t)bits; /* never -0 */
}

#endif
