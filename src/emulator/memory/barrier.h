/* Barriers of a CTA (bar, barrier) and of a cluster, and mbarrier objects. */
#ifndef PG_EMULATOR_BARRIER_H
#define PG_EMULATOR_BARRIER_H

#include "emulator/machine/async.h"

/* bar/barrier: a: barrier row, b: thread count row when PG_BAR_COUNTED. Reductions: q source; d
 * or p result. */
typedef enum pg_bar_mode {
    PG_BAR_SYNC,
    PG_BAR_ARRIVE,
    PG_BAR_POPC,
    PG_BAR_AND,
    PG_BAR_OR
} pg_bar_mode;
enum { PG_BAR_COUNTED = 1, PG_BAR_ALIGNED = 2 }; /* op->imm; of barrier.cluster: ALIGNED */
pg_step pg_op_bar(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_cluster_arrive(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_cluster_wait(pg_warp *w, const pg_op *op, uint32_t lanes);

/* A warp lost lanes: barriers that only waited for them complete. */
void pg_barriers_after_exit(pg_warp *w);
/* The threads that a barrier in use waits for in all. */
uint32_t pg_barrier_expects(const pg_cta *cta, const pg_named_barrier *b);

/* mbarrier: address operand as for memory, rows[0] and rows[1] as commented in mbarrier.c. */
typedef enum pg_mbarrier_flags {
    PG_MBAR_EXPECT_TX = 1, /* arrive.expect_tx */
    PG_MBAR_DROP = 2,
    PG_MBAR_NO_COMPLETE = 4,
    PG_MBAR_PARITY = 8,
    PG_MBAR_TRY = 16,
    PG_MBAR_RESULT = 32, /* d receives the state */
    PG_MBAR_RELAXED = 64
} pg_mbarrier_flags;
pg_step pg_op_mbarrier_init(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_inval(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_arrive(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_expect_tx(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_complete_tx(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_mbarrier_pending_count(pg_warp *w, const pg_op *op, uint32_t lanes);

/* The mbarrier at a shared offset of a CTA, or NULL. */
pg_mbarrier *pg_mbarrier_find(const pg_cta *cta, uint32_t offset);
/* Where an operand's address points; false: not an address in this cluster's shared memory. */
bool pg_shared_target(pg_warp *w, pg_space space, uint64_t address, pg_cta **cta, uint32_t *offset);
/* What asynchronous operations do to a barrier on completion; `count` arrivals, `bytes` of
 * transfers. False: the barrier is gone (reported). */
typedef struct pg_mbarrier_signal {
    pg_cta *cta;
    uint32_t offset;
    uint32_t arrivals;
    uint32_t bytes;
} pg_mbarrier_signal;
bool pg_mbarrier_signal_completion(pg_warp *w, const pg_op *op, const pg_mbarrier_signal *signal);

/* Of an operation that signals (targets.c): the CTA whose barrier it signals for the target CTA
 * of rank `rank`; the same signal, for that CTA. */
pg_cta *pg_async_signalled_cta(const pg_async *a, uint32_t rank);
bool pg_async_signal_for(pg_async *a, uint32_t rank);
/* Calls `deliver` for every CTA of the multicast, or for `single`; false as soon as one says so. */
bool pg_async_each_target(pg_async *a, pg_cta *single, bool (*deliver)(pg_async *, pg_cta *));

#endif
