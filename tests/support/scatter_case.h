/* One scatter_add problem, run on a context's device and compared with the oracle, byte for byte.
 *
 * Integer values are so small that every partial sum is exact in the element type, in whatever
 * order the adds happen: the result must equal the oracle's bits, duplicates or not. Rough
 * values need an index without duplicates for that. out lies between guard zones, rows between
 * padding when not contiguous; everything is compared, so a byte written where it should not be
 * is a failure. */
#ifndef PG_SCATTER_CASE_H
#define PG_SCATTER_CASE_H

#include "ptxgen/ptxgen.h"

typedef enum distribution {
    INDEX_UNIFORM,
    INDEX_PERMUTATION, /* of out's rows; rows must not exceed out_rows */
    INDEX_SORTED,
    INDEX_HALF_ON_ROW_0,
    INDEX_FIRST_100_ROWS,
    DISTRIBUTIONS
} distribution;

typedef struct scatter_case {
    ptxgen_dtype dtype;
    ptxgen_index_type index_type;
    ptxgen_schedule schedule;
    ptxgen_oob oob;
    int64_t rows, out_rows, n;
    bool contig, dynamic_n, rough_values;
    distribution indices;
    uint64_t seed;
    int64_t offset; /* elements from an aligned address to out and to src */
    /* Planted bad index: at bad_position if has_bad; the row must be skipped and reported. */
    bool has_bad;
    int64_t bad_position, bad_value;
} scatter_case;

/* Fails the cmocka test on any difference. */
void run_scatter_case(ptxgen *ctx, const scatter_case *c);
/* "bf16 n=36 contig=no i32 bulk record uniform ..." in static storage. */
const char *scatter_case_text(const scatter_case *c);

uint64_t next_random(uint64_t *state);

#endif
