/* f16 and bf16 (as their 16 bits) to and from double. Exact one way, rounded to nearest even the
 * other. */
#ifndef PG_HALF_H
#define PG_HALF_H

#include <stdint.h>

double pg_f16_to_double(uint16_t bits);
double pg_bf16_to_double(uint16_t bits);
/* One rounding from double: overflow becomes infinity, NaN a quiet NaN. */
uint16_t pg_f16_from_double(double v);
uint16_t pg_bf16_from_double(double v);

#endif
