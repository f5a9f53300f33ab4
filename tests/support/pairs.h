/* Pairwise covering arrays: every two values of any two factors stand together in some row. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stdbool.h>
#include <stddef.h>

enum { PAIRS_MAX_FACTORS = 24, PAIRS_MAX_LEVELS = 24 };

typedef struct pairs_row {
    int level[PAIRS_MAX_FACTORS];
} pairs_row;

/* Fills at most `most` rows for factors of so many levels each; returns how many. `fits` says
 * whether a row is allowed where level -1 means "not chosen yet". *left_out: pairs that no
 * allowed row was found for. */
size_t pairs_cover(const int *levels, int factors, bool (*fits)(const pairs_row *), pairs_row *rows,
                   size_t most, size_t *left_out);

#endif
