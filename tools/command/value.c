#include "command/value.h"

#include <math.h>
#include <string.h>

static double half_to_double(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

double cli_value(ptxgen_dtype dtype, const void *array, int64_t i)
{
    if (dtype == PTXGEN_F16)
        return half_to_double(((const uint16_t *)array)[i]);
    float value;
    uint32_t bits = dtype == PTXGEN_BF16 ? (uint32_t)((const uint16_t *)array)[i] << 16 : 0;
    memcpy(&value,
           dtype == PTXGEN_BF16 ? (const void *)&bits : (const void *)((const float *)array + i),
           sizeof value);
    return value;
}
