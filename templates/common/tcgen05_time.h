/* How long a persistent tcgen05 kernel takes on a B200, by a model: enough to choose a tile.
 * Rates are published ones, the times of a launch and of a tile are estimates, none was measured
 * here (docs/benchmarks.md, "Blackwell by a model"). */
#ifndef PG_TEMPLATES_TCGEN05_TIME_H
#define PG_TEMPLATES_TCGEN05_TIME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pg_tcgen05_work {
    int stages;
    bool overlapped;     /* a tile's results leave while the next one is multiplied */
    double step_cycles;  /* of the tensor core, for a stage: pg_tcgen05_cycles() a multiplication */
    double stage_bytes;  /* that each CTA loads for a stage */
    double result_bytes; /* that each CTA stores, and loads of C, for a tile */
    double part_bytes;   /* that CTAs send each other at its end */
    double l2_bytes;     /* of the whole problem; those that many ask for at a time cost less */
    double flop, memory_bytes; /* of the whole problem */
    double most_flops;         /* per ns, at the power limit */
    int64_t k_blocks, tiles;
    int clusters; /* that run side by side */
} pg_tcgen05_work;

/* Bytes of L2 that cost as much as `bytes`, if each line is asked for `times` times. */
double pg_tcgen05_l2(double bytes, double times);

/* ns from launch to end. */
double pg_tcgen05_time(const pg_tcgen05_work *w);
/* Cycles of one multiplication, 32 bytes of K, of a tile of `columns`. */
double pg_tcgen05_cycles(int columns);

#endif
