/* The model of mma_numerics.h for eight f32 results at a time in float arithmetic, which gives the
 * same bits: a product of two significands of 12 bits and the scaling by a power of two are exact
 * in a float, and its conversion to an integer cuts towards zero, as the model cuts.
 *
 * It serves operands whose exponents are within LIMIT, and results whose largest exponent is within
 * MOST; then nothing overflows, and what underflows is less than one unit in any case. */
#ifndef PG_EMULATOR_MMA_QUICK_H
#define PG_EMULATOR_MMA_QUICK_H

#include "emulator/matrix/mma_model.h"
#include "emulator/matrix/mma_numerics.h"

/* These functions are always inlined: how a call would pass a vector does not matter. */
#pragma GCC diagnostic ignored "-Wpsabi"

enum {
    PG_QUICK_LIMIT = 40,
    PG_QUICK_MOST = 100,
    PG_QUICK_ZERO = PG_MMA_EXP_OF_ZERO / 2, /* an exponent below: no term but zeros */
    PG_QUICK_CHUNK = 16 /* products whose sum fits 32 bits: each is below 2^27 */
};

typedef double pg_f64x4 __attribute__((vector_size(32)));
typedef int64_t pg_s64x4 __attribute__((vector_size(32)));
typedef int32_t pg_s32x4 __attribute__((vector_size(16)));
typedef float pg_f32x4 __attribute__((vector_size(16)));
/* The same in memory, as pg_s32x8_in_memory is of pg_s32x8. */
typedef int32_t pg_s32x4_in_memory __attribute__((vector_size(16), aligned(4), may_alias));
typedef float pg_f32x4_in_memory __attribute__((vector_size(16), aligned(4), may_alias));

/* Values of `count` numbers, four or more, that were taken apart: sig * 2^exp, 0 for those that are
 * to be passed over. False: an exponent is too large or too small for this file. */
bool pg_mma_quick_values(const int32_t *sig, const int32_t *exp, size_t count, float *values);

/* What eight results are made of: k values and exponents of A, `a_step` words apart, one for all
 * eight or (a_each) eight a step; of B eight a step. */
typedef struct pg_mma_quick {
    const float *value_a, *value_b;
    const int32_t *exp_a, *exp_b;
    uint32_t k, a_step, b_step;
    bool a_each;
    int32_t fraction;   /* bits kept below the largest exponent: 13 or 25 */
    bool low_precision; /* results keep 13 fraction bits */
} pg_mma_quick;

static inline __attribute__((always_inline)) pg_s32x8 pg_quick_fill(int32_t x)
{
    return (pg_s32x8){x, x, x, x, x, x, x, x};
}

static inline __attribute__((always_inline)) pg_s32x8 pg_quick_larger(pg_s32x8 x, pg_s32x8 y)
{
    const pg_s32x8 larger = x > y;
    return (x & larger) | (y & ~larger);
}

/* 2^exp, exp within -126 .. 127. */
static inline __attribute__((always_inline)) pg_f32x8 pg_quick_power(pg_s32x8 exp)
{
    return (pg_f32x8)((exp + 127) << 23);
}

static inline __attribute__((always_inline)) pg_s32x8 pg_quick_exponents(const pg_mma_quick *q,
                                                                         pg_s32x8 max)
{
    for (uint32_t i = 0; i < q->k; i++) {
        const pg_s32x8 b = *(const pg_s32x8_in_memory *)(q->exp_b + (size_t)i * q->b_step);
        const int32_t *a = q->exp_a + (size_t)i * q->a_step;
        const pg_s32x8 sum = q->a_each ? (pg_s32x8) * (const pg_s32x8_in_memory *)a + b : *a + b;
        max = pg_quick_larger(sum, max);
    }
    return max;
}

/* The sum of the products of a chunk, in units of 2^(largest exponent - fraction). */
static inline __attribute__((always_inline)) pg_s32x8
pg_quick_products(const pg_mma_quick *q, uint32_t first, pg_f32x8 scale)
{
    const uint32_t end = q->k - first < PG_QUICK_CHUNK ? q->k : first + PG_QUICK_CHUNK;
    pg_s32x8 sum = {0};
    for (uint32_t i = first; i < end; i++) {
        const pg_f32x8 b = *(const pg_f32x8_in_memory *)(q->value_b + (size_t)i * q->b_step);
        const float *a = q->value_a + (size_t)i * q->a_step;
        const pg_f32x8 product =
            q->a_each ? (pg_f32x8) * (const pg_f32x8_in_memory *)a * b : *a * b;
        sum += __builtin_convertvector(product * scale, pg_s32x8);
    }
    return sum;
}

/* Sums of 34 bits and less, cut towards zero to a float's significand. */
static inline __attribute__((always_inline)) pg_f32x4 pg_quick_cut(pg_f64x4 sum, bool low_precision)
{
    const int64_t mask = low_precision ? ~0x7fffffffffLL : ~0x1fffffffLL;
    return __builtin_convertvector((pg_f64x4)((pg_s64x4)sum & mask), pg_f32x4);
}

static inline __attribute__((always_inline)) pg_f64x4 pg_quick_half(pg_s32x8 x, int half)
{
    const pg_s32x4 low = {x[0], x[1], x[2], x[3]}, high = {x[4], x[5], x[6], x[7]};
    return __builtin_convertvector(half ? high : low, pg_f64x4);
}

/* A * B + C of eight results; `exp_c` as pg_mma_addend's. False: one of them is not for this file,
 * and nothing was done. */
static inline __attribute__((always_inline)) bool
pg_mma_quick_sum(const pg_mma_quick *q, pg_f32x8 c, pg_s32x8 exp_c, pg_f32x8 *d)
{
    pg_s32x8 max = pg_quick_exponents(q, exp_c);
    const pg_s32x8 zero = max < PG_QUICK_ZERO;
    const pg_s32x8 outside = (max > PG_QUICK_MOST) | ((max < -PG_QUICK_MOST) & ~zero);
    int32_t any = 0;
    for (int i = 0; i < 8; i++)
        any |= outside[i];
    if (any)
        return false;
    max = (pg_quick_fill(0) & zero) | (max & ~zero);
    const pg_f32x8 scale = pg_quick_power(-max);
    const pg_f32x8 units = pg_quick_power(pg_quick_fill(q->fraction) - max);
    const pg_s32x8 cut_c = __builtin_convertvector(c * units, pg_s32x8);
    pg_f64x4 low = pg_quick_half(cut_c, 0), high = pg_quick_half(cut_c, 1);
    for (uint32_t first = 0; first < q->k; first += PG_QUICK_CHUNK) {
        const pg_s32x8 sum = pg_quick_products(q, first, scale);
        low += pg_quick_half(sum, 0);
        high += pg_quick_half(sum, 1);
    }
    const pg_f32x4 x = pg_quick_cut(low, q->low_precision),
                   y = pg_quick_cut(high, q->low_precision);
    *d = (pg_f32x8){x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]} *
         pg_quick_power(max - q->fraction);
    return true;
}

/* Exponents of eight floats as pg_mma_addend_f32 has them; infinities and NaN get 128. */
static inline __attribute__((always_inline)) pg_s32x8 pg_quick_exponents_of(pg_s32x8 bits)
{
    const pg_s32x8 e = bits >> 23 & 0xff, subnormal = e == 0, zero = (bits & 0x7fffffff) == 0;
    const pg_s32x8 exp = e - subnormal - 127; /* a comparison that holds is -1 */
    return (pg_quick_fill(PG_MMA_EXP_OF_ZERO) & zero) | (exp & ~zero);
}

#endif
