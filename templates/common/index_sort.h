/* index_sort: an index as a list of (row, position) entries in the order of rows, and of positions
 * among equal rows. That is what scatter_add's owner schedule works from, and what a prepared index
 * keeps.
 *
 * A stable radix sort, least significant digit first. Each pass is three kernels: `count` (how
 * often each digit occurs in each tile), `scan` (where each tile's entries of each digit begin) and
 * `place`. As many passes as the number of rows needs with digits of at most 11 bits: one to 2048
 * rows, two to 4 million. Nothing depends on how the index is distributed, and no kernel waits for
 * another CTA.
 *
 * Where it is enough that the entries of a row lie together (`grouped`), a second pass is replaced
 * by `group`: one pass by the high digit, then each tile is sorted by the low one by itself. Only
 * the rows of a bin that lies in two tiles are found in two places.
 *
 * Entries whose index is no row of out, or is the padding, are left out; `total` says how many
 * there are. */
#ifndef PG_INDEX_SORT_H
#define PG_INDEX_SORT_H

#include "generate/family.h"

typedef struct pg_index_sort_key {
    int64_t arch;
    int64_t index; /* ptxgen_index_type */
    int64_t oob;   /* ptxgen_oob */
} pg_index_sort_key;

typedef struct pg_index_sort_plan {
    pg_plan_head head;
    const pg_arch *arch;
    int max_digit;          /* bits of a digit; as shared memory allows */
    const char *index_type; /* "s64", "s32" */
    int index_bytes;
    ptxgen_oob oob;
} pg_index_sort_plan;

enum {
    PG_SORT_TILE = 4096, /* entries of one CTA */
    PG_SORT_THREADS = 512,
    PG_SORT_ITEMS = PG_SORT_TILE / PG_SORT_THREADS, /* entries of a thread */
    PG_SORT_WARPS = PG_SORT_THREADS / 32,
    PG_SORT_MAX_DIGIT = 11, /* bits */
    PG_SORT_SMALL_DIGIT = 10,
    PG_SORT_ENTRY_BYTES = 8,
    PG_SORT_PAD = 16, /* entries after the last that may be read */
};

/* In the position of an entry whose row may lie in another tile too (`marked`). */
#define PG_SORT_MARK UINT32_C(0x80000000)

/* Most rows: a row is a 32-bit word, of which the last two values are reserved. */
#define PG_SORT_MAX INT64_C(0xfffffffd)

typedef struct pg_index_sort_args {
    const void *index;
    int64_t rows;               /* length of index */
    int64_t out_rows;           /* 1 to PG_SORT_MAX; rows: at most INT32_MAX */
    const int64_t *device_rows; /* device memory, or NULL: only so many of the rows count */
    bool has_padding;
    int64_t padding;
    bool grouped;    /* see above; false: sorted by row and position */
    bool marked;     /* grouped: positions may have PG_SORT_MARK */
    void *record;    /* the caller's bad-index record, or NULL: the device's */
    void *entries;   /* device, rows + PG_SORT_PAD entries of 8 bytes, 16-byte aligned */
    uint32_t *total; /* device */
} pg_index_sort_args;

extern const pg_family pg_family_index_sort;

/* The entries of the module, in the order of its parts. */
typedef enum pg_sort_part {
    PG_SORT_COUNT_INDEX,
    PG_SORT_PLACE_INDEX,
    PG_SORT_SCAN,
    PG_SORT_COUNT_ENTRIES,
    PG_SORT_PLACE_ENTRIES,
    PG_SORT_GROUP,
    PG_SORT_CLEAR_ROWS,
    PG_SORT_COUNT_ROWS
} pg_sort_part;

void pg_index_sort_emit(pg_emit *E, const void *plan);
pg_param_list pg_index_sort_params(const void *plan, uint32_t part);
/* Dynamic shared memory of `place` with digits of so many bits. */
uint32_t pg_index_sort_shared_bytes(int max_digit);
/* Of the entries and, in the last 256, their number. */
size_t pg_index_sort_entries_bytes(int64_t rows);
/* A sort as a sequence of launches, for families that have this one as their helper. */
pg_sequence pg_index_sort_sequence(const pg_index_sort_plan *, const pg_index_sort_args *);
/* How many of the sorted entries each row has, to out_rows s32 numbers: launches
 * PG_SORT_CLEAR_ROWS, then COUNT_ROWS. */
void pg_index_sort_count_rows(const pg_index_sort_plan *, const pg_index_sort_args *,
                              pg_sort_part part, int32_t *counts, pg_launch *);
void pg_index_sort_launch(const pg_index_sort_plan *, const pg_index_sort_args *, const pg_step *,
                          pg_launch *);

#endif
