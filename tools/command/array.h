/* Arrays made on the spot, for trying kernels without other tools: zeros, uniform random
 * numbers, random indices. The generator is splitmix64, so a seed means the same array
 * everywhere. */
#ifndef PTXGEN_ARRAY_H
#define PTXGEN_ARRAY_H

#include "npy/npy.h"

/* Uniform in [-1, 1), rounded to the element type (F32, F16, BF16). */
void array_fill_random(npy_array *array, uint64_t seed);
/* Random bytes, as numbers of 8 bits and fewer: each is a sign, if `is_signed`, and a magnitude
 * of first + 0 .. choices - 1. */
typedef struct array_bytes {
    uint8_t first;
    uint16_t choices;
    bool is_signed;
} array_bytes;
void array_fill_bytes(npy_array *array, const array_bytes *kind, uint64_t seed);
/* Uniform integers in [0, below) (I64, I32). */
void array_fill_indices(npy_array *array, int64_t below, uint64_t seed);

#endif
