/* The pieces of the index_sort module, one file each. */
#ifndef PG_SORT_KERNELS_H
#define PG_SORT_KERNELS_H

#include "common/index_sort.h"

/* What the kernels take; each lacks some (launch.c). index_ to record_: of the first pass, from_
 * and count_: the entries of later ones; to_ and total_: where entries are placed, and how many;
 * bin_shift_, mark_: of group; row_counts_: of clear_rows and count_rows. */
#define PG_SORT_PARAMS(X)                                                                          \
    X(index_, POINTER)                                                                             \
    X(rows_, U64)                                                                                  \
    X(device_rows_, POINTER)                                                                       \
    X(out_rows_, U64)                                                                              \
    X(padding_, U64)                                                                               \
    X(has_padding_, U32)                                                                           \
    X(record_, RECORD)                                                                             \
    X(from_, POINTER)                                                                              \
    X(count_, POINTER)                                                                             \
    X(to_, POINTER)                                                                                \
    X(total_, POINTER)                                                                             \
    X(totals_, POINTER)                                                                            \
    X(counts_, POINTER)                                                                            \
    X(digits_, U32)                                                                                \
    X(shift_, U32)                                                                                 \
    X(tiles_, U32)                                                                                 \
    X(bin_shift_, U32)                                                                             \
    X(mark_, U32)                                                                                  \
    X(row_counts_, POINTER)

/* Kernels. `first`: of the first pass, which reads the index; later ones read entries. */
void pg_sort_count(pg_emit *E, const pg_index_sort_plan *p, bool first);
void pg_sort_scan(pg_emit *E, const pg_index_sort_plan *p);
void pg_sort_place(pg_emit *E, const pg_index_sort_plan *p, bool first);
void pg_sort_group(pg_emit *E, const pg_index_sort_plan *p);
void pg_sort_clear_rows(pg_emit *E, const pg_index_sort_plan *p);
void pg_sort_count_rows(pg_emit *E, const pg_index_sort_plan *p);

/* Shared by count and place (read.ptxc). */
void pg_sort_declare(pg_emit *E, bool first);
void pg_sort_set_up(pg_emit *E, bool first);
void pg_sort_load(pg_emit *E, const pg_index_sort_plan *p, bool first, bool whole, int i);
void pg_sort_judge(pg_emit *E, const pg_index_sort_plan *p, bool report, int i);

#endif
