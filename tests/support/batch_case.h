/* Strided batches of matmul_accumulate for tests: operands in one buffer each, in any order of
 * batch and rows, some the same for the whole batch; the answer of every matrix by itself; and the
 * comparison of all bytes of D's buffer. The same cases run on the emulator and on a GPU. */
#ifndef BATCH_CASE_H
#define BATCH_CASE_H

#include "test.h"

#include "ptxgen/matmul.h"

enum { BATCH_A = 1, BATCH_B = 2, BATCH_C = 4, BATCH_D = 8 };

typedef struct batch_case {
    int64_t batch, m, n, k; /* batch 1: no batch */
    bool a_transposed, b_transposed, bf16, no_c, in_place;
    int same;                      /* operands that are one matrix for all: BATCH_A, ... */
    int inside;                    /* operands stored as [rows, batch, columns] */
    int pad;                       /* elements between rows; 0: rows of whole 16 bytes */
    int shift;                     /* elements from a multiple of 16 bytes to the first one */
    bool folds;                    /* matrices follow each other without a gap */
    float alpha, beta;             /* both 0: not given */
    ptxgen_dtype c_dtype, d_dtype; /* 0: f32 */
    ptxgen_epilogue epilogue;
    const char *params; /* of the family, as text, or NULL */
} batch_case;

/* Through the public call on the context's device. */
void batch_case_run(ptxgen *ctx, const batch_case *c);
/* On an emulator that watches it, for an architecture; seed 0: order=hw. */
void batch_case_check(ptxgen *ctx, const batch_case *c, const char *arch, uint64_t seed);
/* One that nobody chose; `aligned`: of rows that tensor maps take. */
batch_case batch_case_draw(uint64_t *state, bool aligned);

#endif
