/* Before a kernel is built behind the calls: what other machines have of it, or are making. Whoever
 * asks for the kernel meanwhile builds it without waiting for this. */
#ifndef PG_FLEET_H
#define PG_FLEET_H

#include "engine/kernel_store.h"

/* Zero before the first round. */
typedef struct pg_fleet {
    uint32_t rounds; /* in which another machine was at it */
    int64_t since_ms;
    pg_claim claim;
} pg_fleet;

/* false: another machine compiles it; do something else and ask again, in pg_fleet_pause_ms. Else
 * build the kernel, with what came in the folder or with the claim to it, and call pg_fleet_end. */
bool pg_fleet_begin(pg_kernel_store *, const pg_kernel_id *id, pg_fleet *);
void pg_fleet_end(pg_kernel_store *, pg_fleet *);
/* 0 at first, then 4 to 32. */
uint32_t pg_fleet_pause_ms(const pg_fleet *);

#endif
