/* IEEE 754 binary16 and bfloat16 by integer arithmetic on the double's bits: one rounding, no
 * dependence on the rounding mode of the host program. */
#include "base/half.h"

#include <string.h>

/* A small binary format: 1 sign bit, exponent bits, `fraction` bits, IEEE infinities and NaNs. */
typedef struct format {
    int fraction, bias, max_exponent;
} format;

static const format f16_format = {10, 15, 31};
static const format bf16_format = {7, 127, 255};

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023, DOUBLE_MAX_EXPONENT = 2047 };

static double from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static double decode(const format *f, uint16_t bits)
{
    const uint64_t sign = (uint64_t)(bits >> 15) << 63;
    const uint64_t fraction = bits & ((1u << f->fraction) - 1);
    const int exponent = bits >> f->fraction & f->max_exponent;
    if (exponent == 0) {
        /* fraction * 2^(1 - bias - fraction bits), exact */
        const double unit =
            from_bits((uint64_t)(DOUBLE_BIAS + 1 - f->bias - f->fraction) << DOUBLE_FRACTION);
        const double v = (double)fraction * unit;
        return sign ? -v : v;
    }
    const uint64_t wide = exponent == f->max_exponent
                              ? (uint64_t)DOUBLE_MAX_EXPONENT
                              : (uint64_t)(exponent - f->bias + DOUBLE_BIAS);
    return from_bits(sign | wide << DOUBLE_FRACTION | fraction << (DOUBLE_FRACTION - f->fraction));
}

static uint16_t encode(const format *f, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    const uint16_t infinity = (uint16_t)(f->max_exponent << f->fraction);
    const int wide = (int)(bits >> DOUBLE_FRACTION & DOUBLE_MAX_EXPONENT);
    uint64_t fraction = bits & ((UINT64_C(1) << DOUBLE_FRACTION) - 1);
    if (wide == DOUBLE_MAX_EXPONENT)
        return (uint16_t)(sign | infinity | (fraction ? 1 << (f->fraction - 1) : 0));
    int exponent = wide - DOUBLE_BIAS + f->bias;
    int drop = DOUBLE_FRACTION - f->fraction;
    fraction |= wide ? UINT64_C(1) << DOUBLE_FRACTION : 0;
    if (exponent < 1) { /* subnormal: the leading bit moves into the fraction */
        drop += 1 - exponent;
        exponent = 1;
        if (drop > DOUBLE_FRACTION + 2)
            return sign;
    }
    const uint64_t half = UINT64_C(1) << (drop - 1), rest = fraction & (half * 2 - 1);
    uint64_t q = fraction >> drop;
    q += rest > half || (rest == half && (q & 1));
    /* q holds the implicit bit, if any: adding it to the exponent below is the carry as well. */
    const uint64_t result = ((uint64_t)(exponent - 1) << f->fraction) + q;
    return (uint16_t)(sign | (result >= infinity ? infinity : result));
}

double pg_f16_to_double(uint16_t bits)
{
    return decode(&f16_format, bits);
}

double pg_bf16_to_double(uint16_t bits)
{
    return decode(&bf16_format, bits);
}

uint16_t pg_f16_from_double(double v)
{
    return encode(&f16_format, v);
}

uint16_t pg_bf16_from_double(double v)
{
    return encode(&bf16_format, v);
}
