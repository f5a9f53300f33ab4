/* Problems of matmul_accumulate for tests: random operands in padded host arrays, the plain C
 * answer, and the comparison, with guards around D. The same cases run on the emulator and on a
 * GPU. */
#ifndef MATMUL_CASE_H
#define MATMUL_CASE_H

#include "test.h"

#include "ptxgen/matmul.h"

typedef struct matmul_case {
    int64_t m, n, k;
    ptxgen_matmul_tiling tiling;
    bool b_transposed, bf16, in_place;
    bool a_transposed, no_c;
    int c_pad;          /* extra elements in a row of C */
    int ab_pad;         /* extra elements in a row of A and of B, which also begin as many late */
    const char *params; /* of the family, as text; with it tiling is ignored */
    int d_pad;          /* extra elements in a row of D */
    /* D = alpha A @ B + beta C; both 0: not given. */
    float alpha, beta;
    ptxgen_dtype c_dtype, d_dtype; /* 0: f32 */
    int64_t sample;                /* elements of D to compare, drawn from all; 0: all of them */
} matmul_case;

typedef struct matmul_data {
    const matmul_case *problem;
    ptxgen_matmul_accumulate_args args; /* host pointers; d is c when in place */
    uint16_t *a, *b;
    void *c, *d, *want; /* want: the answer, unless a sample is compared */
    void *c_before;     /* C, for the sample */
    size_t a_bytes, b_bytes, c_bytes, d_bytes;
} matmul_data;

/* The parameters of its kernel for `arch` as text: what a call would find, and problem->params. */
void matmul_case_params(const matmul_case *problem, const char *arch, char *text, size_t size);
void matmul_case_make(const matmul_case *problem, matmul_data *data);
/* `got`: the bytes of D after the call. Fails the test at the first element that is off, or a
 * guard that is gone. */
void matmul_case_compare(const matmul_data *data, const void *got);
void matmul_case_free(matmul_data *data);
/* Makes it, runs it through the public call on the context's device, compares, frees. */
void matmul_case_run(ptxgen *ctx, const matmul_case *problem);

/* Runs it `runs` times; the first run is compared with the answer, the others with its bits. Not in
 * place. */
void matmul_case_repeat(ptxgen *ctx, const matmul_case *problem, int runs);

/* Odd shapes, both layouts of B, row strides, K = 0, D in place, single CTAs and pairs. */
extern const matmul_case matmul_cases[];
extern const size_t matmul_case_count;

#endif
