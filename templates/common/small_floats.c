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
