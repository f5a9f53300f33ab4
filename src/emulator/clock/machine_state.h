/* The state of a replay, and the calls between replay.c (warps), units.c (what they ask of
 * units) and queue.c. */
#ifndef PG_CLOCK_MACHINE_STATE_H
#define PG_CLOCK_MACHINE_STATE_H

#include "emulator/clock/replay.h"

/* What waits for a unit for longer than this holds up who asks: queues are finite. */
#define PG_REPLAY_BACKLOG_NS 1500.0

typedef struct pg_replay_event {
    uint32_t remaining; /* contributions */
    uint32_t waiter;    /* first waiting warp + 1; 0: none */
    double time;
} pg_replay_event;

typedef struct pg_replay_warp {
    const pg_clock_stream *stream;
    uint64_t cluster;           /* its number in the grid */
    uint32_t slot;              /* which of the clusters that run side by side */
    uint16_t rank, index, part; /* part: its sub-partition */
    uint32_t at;                /* the next step */
    uint32_t detail;            /* where it goes on within a step; 0: at its begin */
    uint32_t next_waiter;
    bool waiting;
    double time, issued, tensor_memory, copies, result;
    double *ready; /* by register */
} pg_replay_warp;

typedef struct pg_replay {
    const pg_clock *clock;
    const pg_grid_run *launch;
    const pg_clock_chip *chip;
    const pg_clock_told *told;
    double cycle;                               /* ns */
    double l2_ns, dram_ns, red_ns, bulk_red_ns; /* of a byte (or unit) of this SM's share */
    pg_clock_sm *sms;
    uint32_t sm_count;
    pg_replay_event *events;
    pg_replay_warp *warps;
    uint32_t warp_count;
    double *ready;
    uint32_t *heap; /* warps, the earliest first */
    uint32_t heap_count;
    uint32_t *left;                /* warps that have not ended, by slot */
    uint32_t next_cluster;         /* of the record */
    struct pg_replay_trace *trace; /* NULL: nobody listens */
    pg_clock_replay *out;
} pg_replay;

/* Takes `ns` of a unit's server from `from` on; when it has been served. */
double pg_replay_serve(pg_replay *, uint32_t rank, pg_clock_unit, uint32_t server, double from,
                       double ns);
/* A plain access; when its data is there (or it may be forgotten). */
double pg_replay_access(pg_replay *, const pg_replay_warp *, const pg_clock_detail *, double from);
/* An asynchronous operation; contributes to its events. */
void pg_replay_async(pg_replay *, pg_replay_warp *, const pg_clock_async *, double from);
/* ---- trace.c ---- */
/* What a warp did at a time. `event`: of the record; 0: none. */
void pg_replay_note(pg_replay *, const pg_replay_warp *, ptxgen_emulator_event_kind,
                    uint32_t event);
/* An operation from its issue to its completion. */
void pg_replay_note_operation(pg_replay *, const pg_replay_warp *, const pg_clock_async *,
                              double from, double done);
/* Nothing is noted unless somebody listens. False: out of memory. */
bool pg_replay_trace_start(pg_replay *);
/* Tells all in order of time. False: out of memory. */
bool pg_replay_trace_end(pg_replay *);

/* ---- queue.c ---- */
void pg_replay_push(pg_replay *, uint32_t warp);
/* The earliest. */
uint32_t pg_replay_pop(pg_replay *);
bool pg_replay_is_earlier(const pg_replay *, uint32_t a, uint32_t b);
/* From the last contribution to an event to the warp that waits for it. */
double pg_replay_wake_latency(const pg_replay *, uint32_t event);
/* Wakes who waits, if it was the last. */
void pg_replay_contribute(pg_replay *, uint32_t event, double time);

#endif
