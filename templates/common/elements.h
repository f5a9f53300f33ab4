/* Elements of an operand as numbers, for plain C answers: plain loops over offsets, no layout. */
#ifndef PG_TEMPLATES_ELEMENTS_H
#define PG_TEMPLATES_ELEMENTS_H

#include "generate/operands/problem.h"

/* Element `i` elements after the first; of a complex one the real part. Every type but the 64-bit
 * integers is exact in double. */
double pg_element(const pg_view *v, int64_t i);
/* Rounded once, to nearest even; of every floating type but UE8M0. Types of 8 bits and fewer
 * saturate. A NaN becomes always the same one, which says that it was computed. */
void pg_element_set(const pg_view *v, int64_t i, double value);
/* Of the integer types; of an index. */
int64_t pg_element_integer(const pg_view *v, int64_t i);
/* The low bits; of S32 and S64. */
void pg_element_set_integer(const pg_view *v, int64_t i, int64_t value);

#endif
