/* From the time of a sample to that of a grid: waves, the bounds that one SM does not see (power,
 * one hot line), what limits. */
#ifndef PG_CLOCK_ESTIMATE_H
#define PG_CLOCK_ESTIMATE_H

#include "emulator/clock/replay.h"

/* Bounds beside the units, as limits. */
enum { PG_CLOCK_MOST_LIMIT = 40 };

typedef struct pg_clock_time {
    const pg_clock_chip *chip;
    double ns; /* of the launch, with its overhead */
    char limit[PG_CLOCK_MOST_LIMIT];
    bool tensor_or_dram;     /* what limits: the tensor core or DRAM */
    double busy[UNIT_COUNT]; /* of the time, 0 to 1 */
    double launch_ns, power_ns, hot_ns, dram_bytes, flop;
    uint64_t clusters, sampled;
    uint32_t occupancy;
    bool crowded; /* one part of L2 has most of the atomics */
    bool whole;   /* all clusters ran */
} pg_clock_time;

/* `first`: no launch of the call came before. False: out of memory. */
bool pg_clock_estimate(pg_clock *, const pg_grid_run *, const pg_clock_told *, bool first,
                       pg_clock_time *);

#endif
