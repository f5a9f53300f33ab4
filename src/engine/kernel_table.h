/* The kernels in memory by identity. A missing kernel is built by exactly one of the threads
 * that ask for it, outside of all locks; the others wait for its result. A kernel that the
 * driver refused (pg_kernel_is_rejected) counts as missing. */
#ifndef PG_KERNEL_TABLE_H
#define PG_KERNEL_TABLE_H

#include "base/alloc.h"
#include "base/log.h"
#include "engine/kernel_id.h"

typedef struct pg_kernel_table pg_kernel_table;
/* Makes the kernel of `id`. *err is never NULL. */
typedef ptxgen_status (*pg_kernel_builder)(void *user, const pg_kernel_id *id, ptxgen_kernel **out,
                                           ptxgen_error *err);
/* Who builds a missing kernel. */
typedef struct pg_kernel_source {
    pg_kernel_builder build;
    void *user;
    const pg_log *log; /* told after a second of waiting for another thread */
} pg_kernel_source;

ptxgen_status pg_kernel_table_create(const pg_alloc *, pg_kernel_table **out, ptxgen_error *err);
/* Gives up the table's reference to every kernel. */
void pg_kernel_table_clear(pg_kernel_table *);
void pg_kernel_table_destroy(pg_kernel_table *);
/* The kernel of `id` with a reference for the caller; a failed build is every waiter's failure. */
ptxgen_status pg_kernel_table_get(pg_kernel_table *, const pg_kernel_id *id, pg_kernel_source,
                                  ptxgen_kernel **out, ptxgen_error *err);
/* The kernel if it is there, with a reference; NULL otherwise. Never builds, never waits. */
ptxgen_kernel *pg_kernel_table_find(pg_kernel_table *, const pg_kernel_id *id);
typedef enum pg_presence { PG_KERNEL_ABSENT, PG_KERNEL_IN_FLIGHT, PG_KERNEL_PRESENT } pg_presence;
/* The same question without a reference; no hit is counted. */
pg_presence pg_kernel_table_peek(pg_kernel_table *, const pg_kernel_id *id);
/* Gives up the table's reference to exactly this kernel, if it has one. */
void pg_kernel_table_remove(pg_kernel_table *, ptxgen_kernel *k);
void pg_kernel_table_counts(pg_kernel_table *, uint64_t *hits, uint64_t *entries);
/* Around fork(): takes every lock; gives them back, in a child without the flights of its
 * parent. */
void pg_kernel_table_before_fork(pg_kernel_table *);
void pg_kernel_table_after_fork(pg_kernel_table *, bool child);

#endif
