/* Groups of rows of matmul_accumulate for tests: row counts in device memory, a matrix of B for
 * each group, rows that follow each other or lie in a matrix for each; the answer in double, by
 * plain loops. On an emulated device or a GPU. */
#ifndef GROUP_CASE_H
#define GROUP_CASE_H

#include "test.h"

#include "ptxgen/ptxgen.h"

enum { MOST_GROUPS = 200 };

typedef struct group_case {
    int64_t m, n, k; /* m: of all groups, or with `apart` of each */
    int groups;
    int64_t rows[MOST_GROUPS]; /* any number: what does not fit is cut */
    bool apart, wide;          /* wide: counts of 64 bits */
    bool a_transposed, b_transposed, no_c, in_place;
    ptxgen_dtype d_dtype;
    const char *params;
} group_case;

void group_case_run(ptxgen *ctx, const group_case *c);
group_case group_case_draw(uint64_t *state);

#endif
