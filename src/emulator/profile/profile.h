/* What a launch did, by instruction: active lanes, how its accesses fall on sectors and banks, bytes that
 * asynchronous operations moved. It is an observer (observer.h); a launch with one has one host thread, so nothing
 * here is shared. */
#ifndef PG_EMULATOR_PROFILE_H
#define PG_EMULATOR_PROFILE_H

#include "emulator/machine/observer.h"

/* The units that work on their own. */
typedef enum pg_engine {
    PG_ENGINE_CP_ASYNC, /* cp.async */
    PG_ENGINE_BULK,     /* cp.async.bulk, cp.reduce.async.bulk */
    PG_ENGINE_TENSOR,   /* the same with .tensor */
    PG_ENGINE_REMOTE,   /* st.async, red.async */
    PG_ENGINE_WGMMA,
    PG_ENGINE_TCGEN05, /* tcgen05.mma, .cp, .shift, .commit */
    PG_ENGINE_OTHER,   /* arrivals, clusterlaunchcontrol */
    PG_ENGINE_COUNT
} pg_engine;
const char *pg_engine_name(pg_engine engine);

typedef struct pg_engine_use {
    uint64_t operations;
    uint64_t global_read, global_written, shared_read, shared_written; /* bytes */
} pg_engine_use;

/* Of one instruction, or of all of a line. Requests: warp instructions that access the space. Sectors: the 32-byte
 * pieces of memory that a request touches. Wavefronts: passes over the 32 banks of shared memory; `ideal`: as many as
 * the bytes need. Lanes of 8 bytes go in two halves, of 16 bytes in four quarters, each on its own. */
typedef struct pg_op_profile {
    uint64_t executions, lanes;
    uint64_t global_requests, global_sectors;
    uint64_t shared_requests, shared_wavefronts, shared_ideal;
    uint64_t async_operations, async_bytes;
} pg_op_profile;

struct pg_profile {
    pg_op_profile *ops; /* by op of the program */
    pg_engine_use engines[PG_ENGINE_COUNT];
};

extern const pg_observer pg_profile_observer;

/* NULL: out of memory. */
pg_profile *pg_profile_new(const pg_grid_run *launch);
void pg_profile_free(pg_profile *profile, const pg_grid_run *launch);

#endif
