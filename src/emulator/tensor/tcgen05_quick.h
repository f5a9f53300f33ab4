/* mma_quick.h's arithmetic for whole tiles of tcgen05.mma, sixteen columns at a time with AVX2:
 * exponents are summed and compared as 16-bit numbers. K is at most 16, whose products sum up in 32
 * bits. */
#ifndef PG_EMULATOR_TCGEN05_QUICK_H
#define PG_EMULATOR_TCGEN05_QUICK_H

#include <stdbool.h>
#include <stdint.h>

/* A's values and exponents m x k, B's k x n, as pg_mma_quick_values gives them; exponents twice in
 * a word for A, as 16-bit numbers for B. */
typedef struct pg_tcgen05_quick {
    const float *value_a, *value_b;
    const uint32_t *exp_a;
    const int16_t *exp_b;
    uint32_t k, n;
    float down; /* a power of two that D counts times */
    bool zero_d;
} pg_tcgen05_quick;

/* Whether this processor has what pg_tcgen05_quick_columns needs. */
bool pg_tcgen05_quick_runs(void);
/* Packs exponents; those of zeros keep below all others. */
void pg_tcgen05_quick_pack(const int32_t *exp, uint32_t count, bool twice, void *out);
/* d[0 .. 15] of row `row` from column `at` on. False: not for this file, nothing was written. */
bool pg_tcgen05_quick_columns(const pg_tcgen05_quick *q, uint32_t row, uint32_t at, uint32_t *d);

#endif
