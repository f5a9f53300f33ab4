/* The checker's answers to the events of observer.h, file by file. */
#ifndef PG_EMULATOR_CHECK_EVENTS_H
#define PG_EMULATOR_CHECK_EVENTS_H

#include "emulator/machine/async.h"
#include "emulator/machine/observer.h"

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
void pg_check_mbarrier_expect(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b);
void pg_check_mbarrier_phase(pg_cta *cta, pg_mbarrier *b);
void pg_check_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_observed_wait wait);

/* Asynchronous operations. */
void pg_check_async_issue(pg_async *a);
void pg_check_async_arriving(
    pg_async *a); /* the data has moved, no barrier has been signalled yet */
void pg_check_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Shared addresses first .. end - 1 are read by an issued wgmma. */
void pg_check_mma_read(pg_async *a, uint32_t first, uint32_t end);
void pg_check_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
/* Registers of wgmma and tcgen05.ld (matrix.c): wgmma's fence, its issue; the issue of a
 * tcgen05.ld and the wait for it; any other instruction that touches them, before it runs. */
void pg_check_matrix_fence(pg_warp *w);
void pg_check_matrix_issue(pg_async *a);
void pg_check_matrix_load(pg_warp *w, const pg_op *op);
void pg_check_matrix_load_wait(pg_warp *w);
void pg_check_matrix_use(pg_warp *w, const pg_op *op, uint32_t lanes);

/* tcgen05 (tensor.c, tensor_order.c). */
/* Columns of the CTA have been allocated, for all its lanes. */
void pg_check_tensor_alloc(pg_cta *cta, uint32_t column, uint32_t columns);
/* The warp gives columns of its CTA back. */
void pg_check_tensor_dealloc(pg_warp *w, const pg_op *op, uint32_t column, uint32_t columns);
/* tcgen05.ld and st, of one or two areas. */
void pg_check_tensor_move(pg_warp *w, const pg_op *op, const pg_tensor_area *areas, uint32_t count);
void pg_check_tensor_lane(pg_warp *w, const pg_op *op, uint32_t named, uint32_t own);
void pg_check_tensor_wait(pg_warp *w, bool store);
void pg_check_tensor_fence(pg_warp *w, const pg_op *op, uint32_t lanes, bool after);
/* An issued mma, with all its operands (tensor_mma.c). */
void pg_check_tensor_mma(pg_async *a);
/* An issued cp or shift uses tensor memory, or reads shared addresses first .. end - 1, of a
 * CTA. */
void pg_check_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area);
void pg_check_tensor_read(pg_async *a, pg_cta *cta, uint32_t first, uint32_t end);

void pg_check_matrix_operand(pg_async *a, const struct pg_matrix_layout *layout,
                             const struct pg_matrix_shape *shape);
/* registers.c */
void pg_check_watch(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_shuffle(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t undefined);
void pg_check_local_write(pg_warp *w, uint32_t lane, uint64_t address, uint64_t bytes);
void pg_check_setmaxnreg(pg_warp *w, const pg_op *op, uint32_t lanes);

/* Life cycle of a cluster. */
bool pg_check_cluster_start(pg_cluster *c);
void pg_check_stuck(pg_cluster *c);
void pg_check_exit(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_check_cluster_end(pg_cluster *c); /* judges what is left, then frees */
void pg_check_cluster_free(pg_cluster *c);

#endif
