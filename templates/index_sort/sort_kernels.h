/* The pieces of the index_sort module, one file each. */
#ifndef PG_SORT_KERNELS_H
#define PG_SORT_KERNELS_H

#include "common/index_sort.h"

/* Kernels. `first`: of the first pass, which reads the index; later ones read entries. */
void pg_sort_count(pg_emit *E, const pg_index_sort_plan *p, bool first);
void pg_sort_scan(pg_emit *E, const pg_index_sort_plan *p);
void pg_sort_place(pg_emit *E, const pg_index_sort_plan *p, bool first);
void pg_sort_group(pg_emit *E, const pg_index_sort_plan *p);

/* Shared by count and place (main.ptxc). */
void pg_sort_parameters(pg_emit *E, bool first);
void pg_sort_declare(pg_emit *E, bool first);
void pg_sort_set_up(pg_emit *E, bool first);
void pg_sort_load(pg_emit *E, const pg_index_sort_plan *p, bool first, bool whole, int i);
void pg_sort_judge(pg_emit *E, const pg_index_sort_plan *p, bool report, int i);

#endif
