#include "common/tcgen05_time.h"

/* A stage takes what its slowest part takes: the tensor core, the fill of shared memory, or, with
 * few stages, the way of a stage through all of it. Bytes per ns and SM. */
static const struct rates {
    double clock;        /* cycles per ns */
    double fill;         /* shared memory, from L2 */
    double latency;      /* ns from the issue of a load to its barrier */
    double results;      /* rows to and from memory by the epilogue */
    double memory;       /* device memory, all SMs */
    double launch, tile; /* ns; a tile's barriers */
} r = {.clock = 1.85,
       .fill = 115,
       .latency = 700,
       .results = 59,
       .memory = 7200,
       .launch = 2500,
       .tile = 300};

static double more(double a, double b)
{
    return a > b ? a : b;
}

double pg_tcgen05_cycles(int columns)
{
    enum { FULL_RATE = 128 }; /* narrower tiles wait for A, at 128 bytes per cycle */
    return columns >= FULL_RATE ? columns / 2.0 : 32 + columns / 4.0;
}

double pg_tcgen05_time(const pg_tcgen05_work *w)
{
    const double tensor = w->step_cycles / r.clock, fill = w->stage_bytes / r.fill;
    const double stage = more(more(tensor, fill), (r.latency + fill + tensor) / w->stages);
    const double main = (double)w->k_blocks * stage + r.tile;
    const double results = w->result_bytes / r.results;
    const int64_t workers = w->sm_count / w->ctas > 1 ? w->sm_count / w->ctas : 1;
    const double waves = (double)((w->tiles - 1) / workers + 1);
    const double tiles =
        w->overlapped ? waves * more(main, results) + results : waves * (main + results);
    const double limit = more(w->flop / w->most_flops, w->memory_bytes / r.memory);
    return r.launch + more(r.latency + tiles, limit);
}
