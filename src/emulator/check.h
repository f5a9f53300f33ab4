/* Checking mode: every access and every synchronisation of a program passes through these calls when
 * launch->checker is set. Fast mode tests that pointer once per memory or synchronising instruction and pays
 * nothing else. What the checker reports never stops a launch: values stay those of fast mode. */
#ifndef PG_EMULATOR_CHECK_H
#define PG_EMULATOR_CHECK_H

#include "emulator/async.h"
#include "emulator/memory.h"

typedef struct pg_checked_access {
    uint32_t lanes;
    uint32_t bytes;
    pg_access_kind kind;
    const uint64_t *address; /* per lane, as the program wrote it, for op->space */
} pg_checked_access;
void pg_check_access(pg_warp *w, const pg_op *op, const pg_checked_access *access);

/* fence and membar; op->flags say which of acquire and release they are. */
void pg_check_fence(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Fences: fence.proxy.async; fence.mbarrier_init; griddepcontrol.wait. */
void pg_check_proxy_fence(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_init_fence(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_grid_wait(pg_warp *w, uint32_t lanes);

/* Barriers. */
void pg_check_warp_barrier(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_barrier(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id);
/* Before a waiting group, or the last to arrive, goes on; then once when all have. */
void pg_check_barrier_passed(pg_warp *w, uint32_t lanes, uint32_t id);
void pg_check_barrier_done(pg_cta *cta, uint32_t id);
void pg_check_cluster_arrive(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_cluster_done(pg_cluster *c);
void pg_check_cluster_wait(pg_warp *w, const pg_op *op, uint32_t lanes);

/* mbarriers. */
void pg_check_mbarrier_init(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b, bool was_valid);
void pg_check_mbarrier_inval(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b);
void pg_check_mbarrier_arrive(pg_warp *w, const pg_op *op, int lane, pg_cta *cta, pg_mbarrier *b);
void pg_check_mbarrier_phase(pg_cta *cta, pg_mbarrier *b);
typedef struct pg_check_wait {
    uint64_t wanted; /* parity or state */
    bool done;
} pg_check_wait;
void pg_check_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_check_wait wait);

/* Asynchronous operations. */
void pg_check_async_issue(pg_async *a);
void pg_check_async_arriving(
    pg_async *a); /* the data has moved, no barrier has been signalled yet */
void pg_check_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Shared addresses first .. end - 1 are read by an issued wgmma. */
void pg_check_mma_read(pg_async *a, uint32_t first, uint32_t end);
void pg_check_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Registers of wgmma (check_matrix.c): its fence, its issue, any other instruction that touches them. */
void pg_check_matrix_fence(pg_warp *w);
void pg_check_matrix_issue(pg_async *a);
void pg_check_matrix_use(pg_warp *w, const pg_op *op, uint32_t lanes);

/* One checker per launch; NULL: out of memory. */
pg_checker *pg_checker_new(pg_grid_run *launch);
void pg_checker_free(pg_checker *checker);

/* Life cycle of a cluster. */
bool pg_check_cluster_start(pg_cluster *c);
void pg_check_exit(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_cluster_end(pg_cluster *c); /* judges what is left, then frees */
void pg_check_cluster_free(pg_cluster *c);

#endif
