#include "common/tcgen05_time.h"

/* A stage takes what its slowest part takes: the tensor core, the fill of shared memory, or, with
 * few stages, the way of a stage through all of it. Bytes per ns and SM. */
static const struct rates {
    double clock;        /* cycles per ns */
    double fill;         /* shared memory, from L2 */
    double latency;      /* ns from the issue of a load to its barrier */
    double results;      /* rows to and from memory by the epilogue */
    double parts;        /* to another CTA of the cluster */
    double memory, l2;   /* device memory and L2, all SMs */
    double shared;       /* cost of a byte that several SMs ask for at a time */
    double launch, tile; /* ns; a tile's barriers */
    double meeting;      /* ns, of the CTAs of a cluster at the end of a part */
    double power_bytes;  /* per ns: bytes of device memory that cost power */
} r = {.clock = 1.85,
       .fill = 115,
       .latency = 700,
       .results = 59,
       .parts = 115,
       .memory = 7200,
       .l2 = 10000,
       .shared = 0.6,
       .launch = 2500,
       .tile = 300,
       .meeting = 300,
       .power_bytes = 60000};

static double more(double a, double b)
{
    return a > b ? a : b;
}

/* What runs beside each other: near the longer one's time, and more where both are about as long,
 * since then each waits for the other now and then. */
static double both(double a, double b)
{
    const double longer = more(a, b), share = (a + b - longer) / longer;
    return longer * (1 + 0.05 * share * share * share * share);
}

double pg_tcgen05_cycles(int columns)
{
    enum { FULL_RATE = 128 }; /* narrower tiles wait for A, at 128 bytes per cycle */
    return columns >= FULL_RATE ? columns / 2.0 : 32 + columns / 4.0;
}

double pg_tcgen05_l2(double bytes, double times)
{
    enum { SEVERAL = 3 };
    return bytes * times * (times > SEVERAL ? r.shared : 1);
}

double pg_tcgen05_time(const pg_tcgen05_work *w)
{
    const double tensor = w->step_cycles / r.clock, fill = w->stage_bytes / r.fill;
    const double stage = more(more(tensor, fill), (r.latency + fill + tensor) / w->stages);
    const double main = (double)w->k_blocks * stage + r.tile;
    const double meeting = w->part_bytes > 0 ? r.meeting + w->part_bytes / r.parts : 0;
    const double results = w->result_bytes / r.results + meeting;
    const double waves = (double)((w->tiles - 1) / (w->clusters > 1 ? w->clusters : 1) + 1);
    const double tiles =
        main + (waves - 1) * (w->overlapped ? more(main, results) : main + results) + results;
    const double power = w->flop / w->most_flops + w->memory_bytes / r.power_bytes;
    const double bytes = more(w->memory_bytes / r.memory, w->l2_bytes / r.l2);
    return r.launch + more(power, both(r.latency + tiles, bytes));
}
