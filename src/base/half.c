/* IEEE 754 binary16 and bfloat16 by scaling: no table, no intermediate float, so only one rounding. */
#include "base/half.h"

#include <math.h>
#include <string.h>

/* A small binary format: 1 sign bit, `exponent` bits, `fraction` bits, IEEE infinities and NaNs. */
typedef struct format {
    int fraction, bias, max_exponent;
} format;

static const format f16_format = {10, 15, 31};
static const format bf16_format = {7, 127, 255};

static double decode(const format *f, uint16_t bits)
{
    const int fraction = bits & ((1 << f->fraction) - 1);
    const int exponent = bits >> f->fraction & f->max_exponent;
    double v;
    if (exponent == f->max_exponent)
        v = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        v = ldexp(fraction, 1 - f->bias - f->fraction);
    else
        v = ldexp(fraction + (1 << f->fraction), exponent - f->bias - f->fraction);
    return bits >> 15 ? -v : v;
}

static uint16_t encode(const format *f, double v)
{
    const uint16_t sign = (uint16_t)(signbit(v) ? 0x8000 : 0);
    const uint16_t infinity = (uint16_t)(f->max_exponent << f->fraction);
    if (isnan(v))
        return (uint16_t)(sign | infinity | 1 << (f->fraction - 1));
    if (isinf(v))
        return sign | infinity;
    int exponent;
    frexp(v, &exponent); /* |v| in [2^(exponent-1), 2^exponent) */
    int scale = exponent - 1 > 1 - f->bias ? exponent - 1 : 1 - f->bias;
    /* nearbyint follows the rounding mode, which is to nearest even unless a host program changed it. */
    const double units = nearbyint(ldexp(fabs(v), f->fraction - scale));
    uint64_t q = (uint64_t)units;
    if (q >> (f->fraction + 1)) {
        q >>= 1;
        scale++;
    }
    if (scale + f->bias >= f->max_exponent)
        return sign | infinity;
    if (!(q >> f->fraction))
        return (uint16_t)(sign | q); /* subnormal or zero */
    return (uint16_t)(sign | (uint64_t)(scale + f->bias) << f->fraction |
                      (q & ((UINT64_C(1) << f->fraction) - 1)));
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
