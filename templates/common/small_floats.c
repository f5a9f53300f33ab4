#include "common/small_floats.h"

#include <math.h>

double pg_e4m3_to_double(uint8_t bits)
{
    const int exponent = bits >> 3 & 15, mantissa = bits & 7;
    if ((bits & 0x7F) == 0x7F)
        return NAN;
    const double size = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
    return bits & 0x80 ? -size : size;
}

double pg_e2m1_to_double(uint8_t bits)
{
    static const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return bits & 8 ? -sizes[bits & 7] : sizes[bits & 7];
}

double pg_e8m0_to_double(uint8_t bits)
{
    return bits == 0xFF ? NAN : ldexp(1, bits - 127);
}

double pg_e5m2_to_double(uint8_t bits)
{
    const int exponent = bits >> 2 & 31, mantissa = bits & 3;
    double size = exponent ? ldexp(4 + mantissa, exponent - 17) : ldexp(mantissa, -16);
    if (exponent == 31)
        size = mantissa ? NAN : INFINITY;
    return bits & 0x80 ? -size : size;
}

/* What a small float is made of. */
typedef struct small_float {
    int mantissa_bits, bias, sign_bit;
    unsigned largest; /* code */
    double maximum;
} small_float;

static uint8_t encode(double v, const small_float *f)
{
    const unsigned sign = signbit(v) ? 1U << f->sign_bit : 0;
    const double size = fabs(v);
    if (size >= f->maximum)
        return (uint8_t)(sign | f->largest);
    int exponent = size > 0 ? ilogb(size) : -1100;
    if (exponent < 1 - f->bias)
        exponent = 1 - f->bias; /* subnormal */
    /* In units of the last place; a carry to the next power of two is one more code too. */
    const double units = nearbyint(ldexp(size, f->mantissa_bits - exponent));
    const unsigned below = (unsigned)(exponent - (1 - f->bias)) << f->mantissa_bits;
    return (uint8_t)(sign | (below + (unsigned)units));
}

uint8_t pg_e4m3_from_double(double v)
{
    const small_float f = {3, 7, 7, 0x7E, 448};
    return isnan(v) ? 0x7F : encode(v, &f);
}

uint8_t pg_e5m2_from_double(double v)
{
    const small_float f = {2, 15, 7, 0x7B, 57344};
    return isnan(v) ? 0x7F : encode(v, &f);
}

uint8_t pg_e2m1_from_double(double v)
{
    const small_float f = {1, 1, 3, 7, 6};
    return isnan(v) ? 7 : encode(v, &f);
}

uint8_t pg_e8m0_from_double(double v)
{
    const int exponent = v == 0 ? 0 : isfinite(v) ? ilogb(v) + 127 : 255;
    return (uint8_t)(exponent < 0 ? 0 : exponent > 255 ? 255 : exponent);
}
