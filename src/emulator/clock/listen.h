/* The two halves of the observer: listen.c (warps), listen_async.c (asynchronous operations). */
#ifndef PG_CLOCK_LISTEN_H
#define PG_CLOCK_LISTEN_H

#include "emulator/clock/record.h"

/* The event at a key in the cluster of `place`, made if need be; 0: nothing is recorded. */
uint32_t pg_clock_named_event(const pg_cta *place, uint64_t key, uint8_t barrier);
uint32_t pg_clock_mbarrier_event(const pg_cta *, const pg_mbarrier *, uint64_t phase);
void pg_clock_arrive(const pg_warp *, uint32_t event);
void pg_clock_wait(const pg_warp *, uint32_t event);
/* A line of global memory, by any cluster that runs. */
/* An atomic request on a line. */
void pg_clock_hot(const pg_cluster *, uint64_t line, uint32_t units);
void pg_clock_touch(const pg_cluster *, uint64_t line, uint8_t sectors, pg_touch);

void pg_clock_stepped(pg_warp *, const pg_op *, pg_step);
void pg_clock_async_issue(pg_async *);
void pg_clock_async_arriving(pg_async *);
void pg_clock_bulk_wait(pg_warp *, const pg_op *, uint32_t lanes);
void pg_clock_copy_wait(pg_warp *, const pg_op *, uint32_t lanes);
void pg_clock_mma_wait(pg_warp *, const pg_op *, uint32_t lanes);

#endif
