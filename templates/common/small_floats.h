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
/* Sign, 5 bits of exponent, 2 of mantissa; infinity 0x7C, NaN above. */
double pg_e5m2_to_double(uint8_t bits);
/* To nearest, ties to even; what is too large, infinities too, becomes the largest (448, 57344,
 * 6), as .satfinite does (PTX ISA 9.7.9.21). A NaN is 0x7F; e2m1 has none and takes the largest. */
uint8_t pg_e4m3_from_double(double v);
uint8_t pg_e5m2_from_double(double v);
uint8_t pg_e2m1_from_double(double v);
/* The scale type ue8m0: a power of two, 2^-127 to 2^127; NaN is 0xFF. */
double pg_e8m0_to_double(uint8_t bits);
/* Of a power of two; of 0, the least. */
uint8_t pg_e8m0_from_double(double v);

#endif
