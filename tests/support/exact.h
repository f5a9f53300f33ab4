/* Exact arithmetic for references in tests: signed fixed-point numbers of 1280 bits whose unit is
 * 2^-640. Slow, and deliberately unlike the code under test: no exponents, no rounding, just long
 * addition. */
#ifndef PG_TEST_EXACT_H
#define PG_TEST_EXACT_H

#include <stdbool.h>
#include <stdint.h>

enum { EXACT_WORDS = 40, EXACT_UNIT = 640 }; /* 40 words of 32 bits, two's complement */

typedef struct exact {
    uint32_t w[EXACT_WORDS];
} exact;

/* (-1)^negative * sig * 2^exp; everything must fit. */
exact exact_of(bool negative, uint64_t sig, int exp);
/* A finite double (|x| < 2^600, no bit below 2^-640). */
exact exact_of_double(double x);
exact exact_add(exact a, exact b);
exact exact_neg(exact a);
exact exact_double(exact a); /* 2 * a */
int exact_sign(const exact *a);
int exact_cmp(exact a, exact b);
/* a * b of two doubles with at most 32 significant bits each. */
exact exact_product(double a, double b);
/* a cut towards zero to a multiple of 2^unit. */
exact exact_truncate(exact a, int unit);
/* Position of the top bit of |a| as a power of two; INT32_MIN for zero. */
int exact_top(exact a);
/* The value, when a double can hold it exactly. */
double exact_to_double(exact a);

/* Rounding direction: which of two neighbours lo <= x <= hi is right? mode: 'n' nearest (even_lo
 * breaks ties), 'a' nearest, ties away from zero, 'z', 'm', 'p'. True: hi. */
bool exact_rounds_to_high(exact x, exact lo, exact hi, char mode, bool lo_is_even);

#endif
