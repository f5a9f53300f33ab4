/* How far a tensor core's sum of products may be from the exact one, for plain C answers that say
 * so (pg_problem.bounds). The models are public measurements, those of the emulator
 * (src/emulator/matrix/wgmma.h): the terms of an instruction and the sum so far are cut to some
 * bits of the largest of them, then the sum is rounded towards zero. */
#ifndef PG_TEMPLATES_SUM_ERROR_H
#define PG_TEMPLATES_SUM_ERROR_H

#include <math.h>
#include <stdint.h>

/* An error that follows from numbers up to `largest`: where f32 may overflow on the way anything is
 * right, and infinities and NaN that are given stay what they are. */
static inline double pg_error_within_f32(double error, double largest)
{
    if (!isfinite(largest))
        return 0;
    return largest < 0x1p127 ? error : INFINITY;
}

/* Of k products and a number to begin with; `magnitude`: the sum of all absolute values. At most
 * 2^-23 of the largest term a product, in chunks of 4 and more; and some operations in f32. */
static inline double pg_sum_error(int64_t k, double magnitude)
{
    return pg_error_within_f32(0x1p-23 * (double)(k + 16) * magnitude, magnitude);
}

/* What operands in f32 lose when the core reads them as tf32: 13 bits each. */
static inline double pg_tf32_error(double magnitude)
{
    return pg_error_within_f32(0x1p-9 * magnitude, magnitude);
}

/* Of 8-bit floats where the core keeps 13 bits. `reach`: the largest |sum| on the way, so that no
 * term is over twice that; `signs`: the largest |positive - negative products| on the way. A term
 * loses up to a unit towards zero: what all lose alike adds up by its sign, the rest as a random
 * walk, of which 2 sqrt(k) units are seven standard deviations; and the sum loses one an
 * instruction, of at least 16 products. */
static inline double pg_short_sum_error(int64_t k, double reach, double signs)
{
    const double unit = 0x1p-13 * 2 * reach;
    const double units = signs + 2 * sqrt((double)k) + (double)k / 16 + 2;
    return pg_error_within_f32(units * unit, reach);
}

#endif
