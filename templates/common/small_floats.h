/* 8-bit and 4-bit floats to double, exactly (OCP 8-bit floating point and microscaling formats,
 * 1.0). */
#ifndef PG_TEMPLATES_SMALL_FLOATS_H
#define PG_TEMPLATES_SMALL_FLOATS_H

#include <stdint.h>

/* Sign, 4 bits of exponent, 3 of mantissa; no infinities, NaN is 0x7F. Without its sign it is
 * also the scale type ue4m3. */
double pg_e4m3_to_double(uint8_t bits);
/* Sign, 2 bits of exponent, 1 of mantissa: 0, 0.5, 1, 1.5, 2, 3, 4, 6. The low 4 bits of `bits`. */
double pg_e2m1_to_double(uint8_t bits);
/* The scale type ue8m0: a power of two, 2^-127 to 2^127; NaN is 0xFF. */
double pg_e8m0_to_double(uint8_t bits);

#endif
