/* The cases of scatter_add that every device must pass: test_gpu_scatter_add runs them on a GPU,
 * test_emulator_scatter_add on the emulator. Each fails the cmocka test on the first difference
 * from the oracle. */
#ifndef PG_SCATTER_SUITE_H
#define PG_SCATTER_SUITE_H

#include "scatter_case.h"

typedef struct scatter_suite {
    ptxgen *ctx;
    size_t every;     /* take every n-th combination */
    int64_t elements; /* about how many a case has; sizes leave partial last tiles */
} scatter_suite;

enum { SCATTER_COMBINATIONS = 14 * 3 * 2 * 2 * 3 * 2 };
/* Combination i: row length (0: dynamic), dtype, contig, index type, schedule, oob. false when
 * the row length does not suit the dtype. */
bool scatter_combination(size_t i, scatter_case *c);
/* The kernel's parameters as text, arch included. */
void scatter_combination_params(const scatter_case *c, char *text, size_t size);

void scatter_every_combination(const scatter_suite *);
void scatter_every_distribution(const scatter_suite *);
void scatter_small_and_single_rows(const scatter_suite *);
/* Short rows, at any element; many enough for a look at what is hot. */
void scatter_narrow_rows(const scatter_suite *);
void scatter_bad_indices(const scatter_suite *);

#endif
