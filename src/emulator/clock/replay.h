/* From a record to time: the warps of an SM's clusters run again, as a GPU would order them.
 * Every warp has a clock; every unit serves one request after the other and has a time from which
 * it is free. The warp that is earliest issues next: when its registers, its sub-partition and
 * the pipe are free. Asynchronous operations complete at a time of their own and contribute it to
 * events; what waits for an event goes on at the latest of its contributions. The SM has its
 * share of what all SMs use: L2, DRAM, atomics. */
#ifndef PG_CLOCK_REPLAY_H
#define PG_CLOCK_REPLAY_H

#include "emulator/clock/record.h"
#include "ptxgen/emulator.h"

/* X(name, text, servers of an SM) */
#define PG_CLOCK_UNITS(X)                                                                          \
    X(ISSUE, "issue slots", 4)                                                                     \
    X(ALU, "integer and f32 pipes", 4)                                                             \
    X(SPECIAL, "special functions", 4)                                                             \
    X(LSU, "load/store unit", 1)                                                                   \
    X(SHARED, "shared memory", 1)                                                                  \
    X(TMA, "copy engine", 1)                                                                       \
    X(FILL, "port from L2", 1)                                                                     \
    X(STORE, "port to L2", 1)                                                                      \
    X(TENSOR, "tensor core", 4)                                                                    \
    X(TMEM, "tensor memory", 4)                                                                    \
    X(L2, "L2", 1)                                                                                 \
    X(ATOMICS, "atomics in L2", 1)                                                                 \
    X(DRAM, "DRAM", 1)
typedef enum pg_clock_unit {
#define X(name, text, servers) UNIT_##name,
    PG_CLOCK_UNITS(X)
#undef X
        UNIT_COUNT
} pg_clock_unit;
enum { PG_MOST_SERVERS = 4 };
const char *pg_clock_unit_name(pg_clock_unit);
uint32_t pg_clock_unit_servers(pg_clock_unit);

typedef struct pg_clock_server {
    double free, busy; /* ns */
} pg_clock_server;

/* A multiprocessor. */
typedef struct pg_clock_sm {
    pg_clock_server units[UNIT_COUNT][PG_MOST_SERVERS];
} pg_clock_sm;

typedef struct pg_clock_replay {
    double first_ns, last_ns; /* when the first and the last cluster ended */
    double drained_ns;        /* when the last unit became free */
    double busy[UNIT_COUNT];  /* ns of a server, mean of SMs and servers */
    uint32_t clusters;
} pg_clock_replay;

/* What a trace hears, in order of time. */
typedef void (*pg_clock_teller)(void *user, const ptxgen_emulator_event *);
typedef struct pg_clock_told {
    pg_clock_teller tell; /* NULL: nobody */
    void *user;
    uint32_t launch;
} pg_clock_told;

/* False: out of memory. */
bool pg_clock_replay_run(const pg_clock *, const pg_grid_run *, const pg_clock_told *,
                         pg_clock_replay *);

#endif
