/* How `ptxgen run --check` of a matrix judges: element by element, within tolerances, or bit for bit. */
#ifndef PTXGEN_RUN_CHECK_H
#define PTXGEN_RUN_CHECK_H

#include "ptxgen/ptxgen.h"

typedef struct run_check {
    double atol, rtol; /* an element may be off by atol + rtol |answer|; both 0: equal bits */
    int64_t elements, wrong, worst_row, worst_column;
    double worst_error, worst_bound; /* 0 where bits are compared */
} run_check;

/* A result and the answer, both [rows, columns] without gaps. */
typedef struct run_pair {
    ptxgen_dtype dtype; /* F32, F16, BF16; for equal bits any type of 32 bits */
    const void *got, *want;
    int64_t rows, columns;
} run_pair;

/* Fills what follows the tolerances. A NaN is right where the answer is NaN, an infinity where it is the same one. */
void run_check_compare(run_check *, const run_pair *);

#endif
