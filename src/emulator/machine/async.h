/* Asynchronous operations: a queue per cluster of what has been issued and not completed. Issuing
 * resolves and checks addresses (a fault names the issuing instruction); completing moves the data
 * and signals the barrier. With order=hw everything pending completes, in order, after each
 * scheduling round; with order=isa the seed decides, within what the ISA promises: an operation
 * waits for those that it `follows`, nothing else.
 *
 * A kind of operation is a const row of the room that issues it; its payload is a struct that
 * begins with pg_async. So this file knows none of them. */
#ifndef PG_EMULATOR_ASYNC_H
#define PG_EMULATOR_ASYNC_H

#include "emulator/machine/launch.h"

struct pg_mbarrier_signal;

/* The mbarriers that an operation signals when it completes. */
typedef struct pg_async_targets {
    const struct pg_mbarrier_signal *signal; /* NULL: none */
    uint16_t cta_mask; /* multicast: every CTA in it receives and is signalled; 0: one target */
    bool pair;         /* multicast with cta_group::2: the barrier is in the CTA or in its peer */
} pg_async_targets;

typedef struct pg_async_kind {
    size_t bytes; /* of the payload */
    /* Moves the data and signals; false: the launch has been stopped. */
    bool (*complete)(pg_async *a);
    /* Whether `before`, issued earlier and pending, must complete first; NULL: it never has to
     * wait. */
    bool (*follows)(const pg_async *a, const pg_async *before);
    /* Whether it can complete, as far as other warps go; NULL: always. */
    bool (*ready)(const pg_async *a);
    /* order=isa: the reading half alone, into a->staging; NULL: it reads and writes at once. */
    bool (*read)(pg_async *a);
    /* NULL: it signals no mbarrier. */
    pg_async_targets (*targets)(const pg_async *a);
    bool bulk_group; /* of a bulk group of its thread */
} pg_async_kind;

struct pg_async {
    pg_async *previous, *next;
    const pg_async_kind *kind;
    pg_warp *warp; /* issuer */
    const pg_op *op;
    uint32_t lane;
    uint32_t group;    /* number of the bulk or wgmma group that it belongs to */
    uint32_t check_id; /* what the checker knows it by */
    bool read_done;    /* the source may be overwritten; order=isa: the target is not yet written */
    bool lazy;         /* order=isa: completes when nothing else can run */
    uint8_t *staging;  /* order=isa: data between reading and writing */
    size_t staging_bytes;
};

/* Group counters of a warp. A group's number is the count of commits before it. */
typedef struct pg_warp_async {
    uint32_t bulk_commits[PG_LANES];
    uint32_t copy_commits[PG_LANES];
    uint32_t mma_commits, mma_issued;
} pg_warp_async;

/* A zeroed operation, not yet queued; NULL: out of memory, the launch is stopped. */
void *pg_async_new(pg_warp *w, const pg_op *op, const pg_async_kind *kind, uint32_t lane);
/* Queues it. */
void pg_async_issue(pg_async *a);
/* The warp's counters, created on first use; NULL: out of memory, the launch is stopped. */
pg_warp_async *pg_async_counters(pg_warp *w);
/* Frees what is still queued (a stopped launch). */
void pg_async_drop_all(pg_cluster *c);
void pg_async_free(pg_cluster *c, pg_async *a);
/* Room for the data between reading and writing; false: out of memory, the launch is stopped. */
bool pg_async_stage(pg_async *a, size_t bytes);

static inline pg_async_targets pg_async_targets_of(const pg_async *a)
{
    return a->kind->targets ? a->kind->targets(a) : (pg_async_targets){NULL, 0, false};
}

#endif
