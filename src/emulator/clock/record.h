/* What the clock keeps of a run. Of the clusters of one SM (or of one cluster's SMs): every warp
 * instruction in order, with what it asks of memory and of asynchronous units, and which events
 * (a barrier's phase, a group of copies) it waits for. The order in which the emulator ran the
 * warps is not kept: replay.h finds a GPU's. Of all clusters that run: the lines of global memory
 * (footprint.h). */
#ifndef PG_CLOCK_RECORD_H
#define PG_CLOCK_RECORD_H

#include "emulator/clock/chip.h"
#include "emulator/clock/footprint.h"
#include "emulator/clock/operations.h"
#include "emulator/machine/observer.h"

/* A growing array; index 0 is never used, so that 0 can mean "none". */
typedef struct pg_clock_list {
    void *items;
    uint32_t count, room, bytes; /* bytes: of an item */
} pg_clock_list;
/* The index of a new zeroed item; 0: out of memory. */
uint32_t pg_clock_list_add(pg_clock_list *, const pg_alloc *);
void pg_clock_list_free(pg_clock_list *, const pg_alloc *);
#define PG_CLOCK_AT(list, type, index) (&((type *)(list).items)[index])

/* What completes once all its contributions have: a phase of a barrier, a group of copies. */
typedef struct pg_clock_event {
    uint32_t contributions;
    uint8_t barrier;       /* 1 named barrier, 2 of a cluster, 0 other */
    bool group;            /* of copies or matrix instructions: no barrier */
    uint32_t place, phase; /* shared offset of an mbarrier or number of a named one */
    uint32_t rank;         /* of its CTA */
} pg_clock_event;

typedef enum pg_clock_ask {
    ASK_LOAD,   /* global: `a` sectors in `b` lines of buffer `buffer` */
    ASK_STORE,  /* the same */
    ASK_ATOMIC, /* the same; `a`: units of 16 bytes, `b`: lines; `returns`: the warp waits */
    ASK_SHARED, /* `a` wavefronts */
    ASK_ASYNC,  /* `a`: index of a pg_clock_async */
    ASK_ARRIVE, /* `a`: event */
    ASK_WAIT    /* `a`: event */
} pg_clock_ask;

/* Something that an instruction asks for; a list by `next`. */
typedef struct pg_clock_detail {
    uint8_t ask;
    bool returns;
    uint16_t buffer;
    uint32_t next, a, b;
} pg_clock_detail;

typedef struct pg_clock_step {
    uint32_t op;
    uint32_t detail; /* 0: none */
} pg_clock_step;

typedef enum pg_clock_work {
    WORK_LOAD,   /* global to shared */
    WORK_STORE,  /* shared to global */
    WORK_REDUCE, /* the same, adding */
    WORK_LOCAL,  /* within the cluster */
    WORK_COPY,   /* cp.async */
    WORK_AFTER_COPIES,
    WORK_WGMMA,
    WORK_TENSOR, /* tcgen05: in order */
    WORK_NOTHING /* st.async, try_cancel: a latency */
} pg_clock_work;

/* An asynchronous operation. */
typedef struct pg_clock_async {
    uint8_t work;
    bool tensor_map;
    bool pair;
    uint16_t buffer, ctas;                    /* ctas: bit mask of receivers */
    uint32_t bytes, lines, rows, units, line; /* line: of the PTX */
    uint32_t clocks;                          /* of the tensor core */
    uint32_t shared_bytes;                    /* that the operands of a matrix instruction read */
    uint32_t read_event;                      /* a group that waits for the source only; 0: none */
    uint32_t target, target_count;            /* events that it contributes to, in `targets` */
    double flop_f16, flop_f8, flop_f4, flop_tf32;
} pg_clock_async;

/* Of a warp. */
typedef struct pg_clock_stream {
    pg_clock_list steps;
    uint32_t pending, pending_last; /* details of the instruction that is running */
    bool vain;                      /* it tested a barrier that was not ready */
    bool entered;                   /* it arrived at a barrier: it counts though it blocks */
} pg_clock_stream;

typedef struct pg_clock_cluster {
    uint64_t index;
    pg_clock_stream *streams; /* by CTA and warp */
    uint32_t stream_count;
    uint64_t *keys; /* open addressing: what an event is */
    uint32_t *events;
    uint32_t slots, used;
} pg_clock_cluster;

/* probe.h */
typedef struct pg_clock_probe {
    bool runs;           /* clusters beside the sample run for what they multiply, and no more */
    uint64_t at;         /* the cluster that runs */
    uint64_t full, less; /* the last that has as much as the first; the first that has less */
    double flop, last;   /* of the one that runs; of the grid's last */
} pg_clock_probe;

typedef struct pg_clock {
    const pg_clock_chip *chip;
    const pg_alloc *alloc;
    pg_clock_operations operations;
    pg_clock_list details, events, asyncs, targets, clusters;
    pg_footprint *footprint;
    uint64_t groups;    /* clusters that run at the same time when each SM has one CTA */
    uint32_t occupancy; /* CTAs on an SM */
    uint64_t listed;    /* clusters of the sample that have been started */
    uint64_t wanted;    /* clusters that this SM has to run */
    uint64_t given;     /* clusters of the sample whose work a running one took over */
    uint64_t others;    /* the next cluster beside the sample */
    uint64_t started_others;
    uint64_t steps;                               /* recorded */
    uint64_t ticks;                               /* of the running cluster */
    bool whole;                                   /* all clusters have run */
    bool tensor;                                  /* some matrix instruction was recorded */
    bool failed;                                  /* out of memory */
    double flop_f16, flop_f8, flop_f4, flop_tf32; /* of the sample */
    pg_clock_probe probe;
} pg_clock;

extern const pg_observer pg_clock_observer;

/* NULL: out of memory. */
pg_clock *pg_clock_new(const pg_grid_run *, const pg_ptx_module *, const pg_clock_chip *);
void pg_clock_free(pg_clock *);
/* launch->choose_cluster: the sample first, then the others if that is affordable. */
bool pg_clock_next_cluster(pg_grid_run *, uint64_t *index);
/* launch->give_cluster: what of the sample has not been started, as an SM's share of the grid. */
bool pg_clock_give_cluster(pg_grid_run *, uint64_t *index);
/* Clusters whose work has been recorded. */
static inline uint64_t pg_clock_recorded(const pg_clock *c)
{
    return (c->clusters.count ? c->clusters.count - 1 : 0) + c->given;
}

/* ---- for listen.c and observe_*.c ---- */
/* NULL: of a cluster beside the sample. cluster->check holds its number. */
pg_clock_cluster *pg_clock_cluster_of(const pg_cluster *);
pg_clock_stream *pg_clock_stream_of(const pg_warp *);
/* Adds to what the running instruction of the warp asks for. NULL: nothing is recorded. */
pg_clock_detail *pg_clock_add_detail(const pg_warp *, pg_clock_ask);

/* Kinds of events by name. */
typedef enum pg_clock_key {
    KEY_MBARRIER,
    KEY_NAMED,
    KEY_CLUSTER,
    KEY_BULK,
    KEY_BULK_READ,
    KEY_COPY,
    KEY_WGMMA,
    KEY_GENERATION
} pg_clock_key;
static inline uint64_t pg_clock_key_of(pg_clock_key kind, uint32_t place, uint32_t which,
                                       uint32_t phase)
{
    return (uint64_t)(kind + 1) << 60 | (uint64_t)(place & 0xfff) << 48 |
           (uint64_t)(which & 0xffffff) << 24 | (phase & 0xffffff);
}
/* The value at a key, made as 0; NULL: out of memory. */
uint32_t *pg_clock_value(pg_clock *, pg_clock_cluster *, uint64_t key);
/* The event at a key; `make`: or a new one. 0: none. */
uint32_t pg_clock_event_at(pg_clock *, pg_clock_cluster *, uint64_t key, bool make);

#endif
