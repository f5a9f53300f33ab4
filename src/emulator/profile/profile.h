/* What a launch did, by instruction: active lanes, how its accesses fall on sectors and banks,
 * bytes that asynchronous operations moved. It is an observer (observer.h); a launch with one
 * has one host thread, so nothing here is shared. */
#ifndef PG_EMULATOR_PROFILE_H
#define PG_EMULATOR_PROFILE_H

#include "emulator/machine/observer.h"
#include "ptxgen/emulator.h"

/* The units that work on their own. */
typedef enum pg_engine {
    PG_ENGINE_CP_ASYNC, /* cp.async */
    PG_ENGINE_BULK,     /* cp.async.bulk, cp.reduce.async.bulk */
    PG_ENGINE_TENSOR,   /* the same with .tensor */
    PG_ENGINE_REMOTE,   /* st.async, red.async */
    PG_ENGINE_WGMMA,
    PG_ENGINE_TCGEN05,     /* tcgen05.mma, .cp, .shift, .commit */
    PG_ENGINE_TENSOR_LOAD, /* tcgen05.ld: a warp instruction each */
    PG_ENGINE_TENSOR_STORE,
    PG_ENGINE_OTHER, /* arrivals, clusterlaunchcontrol */
    PG_ENGINE_COUNT
} pg_engine;
const char *pg_engine_name(pg_engine engine);

typedef struct pg_engine_use {
    uint64_t operations;
    uint64_t global_read, global_written, shared_read, shared_written; /* bytes */
    uint64_t tensor_read, tensor_written;                              /* of tensor memory */
} pg_engine_use;

/* Of one instruction, or of all of a line. Requests: warp instructions that access the space.
 * Sectors: the 32-byte pieces of memory that a request touches. Wavefronts: passes over the 32
 * banks of shared memory; `ideal`: as many as the bytes need. Lanes of 8 bytes go in two halves,
 * of 16 bytes in four quarters, each on its own; loads in half as many parts when all lanes
 * share their address with their neighbour, or all with the lane two further. */
typedef struct pg_op_profile {
    uint64_t executions, lanes;
    uint64_t global_requests, global_sectors;
    uint64_t shared_requests, shared_wavefronts, shared_ideal;
    uint64_t async_operations, async_bytes;
} pg_op_profile;

struct pg_profile {
    pg_op_profile *ops; /* by op of the program */
    pg_engine_use engines[PG_ENGINE_COUNT];
    /* config.trace and what it is told; NULL: nobody listens. */
    void (*trace)(void *user, const ptxgen_emulator_event *event);
    void *user;
    uint32_t launch, operations;
    struct {
        const pg_warp *warp;
        uint64_t ticks;
        bool done;
    } last_wait; /* lanes of a warp test a barrier together */
};

extern const pg_observer pg_profile_observer;

pg_engine pg_engine_use_of(const pg_async *a, pg_engine_use *use);
static inline pg_op_profile *pg_profile_of(const pg_warp *w, const pg_op *op)
{
    return &w->launch->profile->ops[pg_pc_of(w, op)];
}

/* Tensor memory (tensor.c). */
void pg_profile_tensor_move(pg_warp *w, const pg_op *op, const pg_tensor_area *areas,
                            uint32_t count);
void pg_profile_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area);
void pg_profile_tensor_mma(pg_async *a);

/* Events (trace.c); each does nothing when nobody listens. */
void pg_trace_issue(pg_async *a, pg_engine engine, const pg_engine_use *use);
void pg_trace_write(pg_warp *w, const pg_op *op);
void pg_trace_arriving(pg_async *a);
void pg_trace_done(pg_async *a);
void pg_trace_exit(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_trace_proxy_fence(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_trace_barrier(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id);
void pg_trace_barrier_passed(pg_warp *w, uint32_t lanes, uint32_t id);
void pg_trace_mbarrier_phase(pg_cta *cta, pg_mbarrier *b);
void pg_trace_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_observed_wait wait);
void pg_trace_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_trace_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_trace_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes);
void pg_trace_tensor_alloc(pg_cta *cta, uint32_t column, uint32_t columns);
void pg_trace_tensor_dealloc(pg_warp *w, const pg_op *op, uint32_t column, uint32_t columns);
void pg_trace_tensor(pg_cta *cta, const pg_op *op, const pg_tensor_area *area, const char *use);
bool pg_trace_cluster_start(pg_cluster *c);
void pg_trace_cluster_free(pg_cluster *c);

/* NULL: out of memory. */
pg_profile *pg_profile_new(const pg_grid_run *launch);
void pg_profile_free(pg_profile *profile, const pg_grid_run *launch);

#endif
