/* Values that are hard to compute with, for problems drawn from a family's tables: NaN of any
 * bits, infinities, subnormal numbers, -0, any bits at all; and numbers whose products, sums and
 * copies lie next to the middle between two neighbours of the narrowest type that the problem
 * has, where a result that is rounded twice comes out wrong. */
#ifndef DRAW_VALUES_H
#define DRAW_VALUES_H

#include "draw.h"

enum { DRAW_POOL = 8 };

typedef struct draw_values {
    uint64_t state;
    int precision, least;   /* of the narrowest type: bits, exponent of its least normal number */
    double pool[DRAW_POOL]; /* numbers of that type that many elements have, but for exponents */
} draw_values;

/* The element types of the problem are drawn. */
void draw_values_begin(draw_values *v, const drawn *d, uint64_t seed);
/* Writes one element of a floating type, the one at `at`. */
void draw_hard_value(draw_values *v, void *at, ptxgen_dtype dtype);

#endif
