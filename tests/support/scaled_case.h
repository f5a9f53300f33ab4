/* Problems of matmul_scaled for tests: random operands and scales as its reference test draws
 * them (4-bit values whatever the format, scales that are powers of two from 1/128 to 1, or for
 * nvfp4 any between), and a comparison with sums in double. */
#ifndef SCALED_CASE_H
#define SCALED_CASE_H

#include "test.h"

#include "ptxgen/matmul.h"

typedef struct scaled_case {
    ptxgen_scaled_format a_format, b_format;
    ptxgen_dtype out;
    int64_t m, n, k;
    ptxgen_matmul_tiling tiling;
    int d_pad; /* extra elements in a row of D */
} scaled_case;

typedef struct scaled_data {
    const scaled_case *problem;
    ptxgen_matmul_scaled_args args; /* host pointers */
    void *a, *b, *d;
    uint8_t *a_scales, *b_scales; /* packed */
    uint8_t *a_plain, *b_plain;   /* the same scales, a row for each of m, n */
    size_t a_plain_bytes, b_plain_bytes;
    size_t a_bytes, b_bytes, d_bytes, a_scale_bytes, b_scale_bytes;
    float *a_values, *b_values; /* elements times scales: m x k, n x k */
} scaled_data;

void scaled_case_make(const scaled_case *problem, scaled_data *data);
/* Fails the test at the first element that is further off than 1e-3 and 1e-3 of its value, or a
 * guard that is gone. Where D has more than `most` elements, as many are drawn from all of it. */
void scaled_case_compare(const scaled_data *data, int64_t most);
void scaled_case_free(scaled_data *data);

#endif
