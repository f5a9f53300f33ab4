/* See estimate.h. */
#include "emulator/clock/estimate.h"

#include "emulator/clock/probe.h"

#include <math.h>
#include <string.h>

/* A unit that is busier than this is what limits; else latency is. */
static const double limiting = 0.7;

static double dram_bytes(const pg_clock *c)
{
    double bytes = 0;
    for (uint32_t i = 0; i < pg_footprint_buffers(c->footprint); i++) {
        const pg_buffer_traffic *b = pg_footprint_traffic(c->footprint, (uint16_t)i);
        for (int t = 0; t < 3; t++)
            bytes += b->asked[t] * (b->misses[t] + b->written[t]);
    }
    return bytes;
}

/* The time of the clusters that were not recorded, at the rate of those that were. */
static double extrapolate(const pg_clock *c, const pg_clock_replay *r)
{
    const double n = (double)(r->clusters + c->given), wanted = (double)c->wanted;
    if (wanted <= n)
        return r->drained_ns;
    const double steady = n > c->occupancy && !c->given
                              ? (r->last_ns - r->first_ns) / (n - c->occupancy)
                              : r->last_ns / n;
    return r->drained_ns + (wanted - n) * steady;
}

static double power_ns(const pg_clock *c, double scale, double bytes)
{
    const pg_clock_chip *p = c->chip;
    return scale *
               (c->flop_f16 / p->power_f16_tflops + c->flop_f8 / p->power_f8_tflops +
                c->flop_f4 / p->power_f4_tflops + c->flop_tf32 / p->power_tf32_tflops) /
               1000 +
           bytes / p->power_dram_tbs / 1000;
}

static void name_limit(pg_clock_time *t, const char *name)
{
    strncpy(t->limit, name, sizeof t->limit - 1);
}

/* What takes most of the time. */
static void find_limit(pg_clock_time *t, double run)
{
    int most = 0;
    for (int u = 1; u < UNIT_COUNT; u++)
        if (t->busy[u] > t->busy[most])
            most = u;
    t->tensor_or_dram = false;
    if (t->crowded || t->hot_ns * t->hot_ns > run * run / 2) {
        name_limit(t, "atomics on few lines");
    } else if (t->power_ns > 0.98 * run) {
        name_limit(t, "power");
        t->tensor_or_dram = true;
    } else if (t->launch_ns > run) {
        name_limit(t, "launch");
    } else if (t->busy[most] > limiting) {
        name_limit(t, pg_clock_unit_name((pg_clock_unit)most));
        t->tensor_or_dram = most == UNIT_TENSOR || most == UNIT_DRAM;
    } else {
        name_limit(t, "latency");
    }
}

bool pg_clock_estimate(pg_clock *c, const pg_grid_run *launch, const pg_clock_told *told,
                       bool first, pg_clock_time *out)
{
    const uint64_t recorded = pg_clock_recorded(c);
    const double scale = recorded ? (double)launch->cluster_count / (double)recorded : 0;
    pg_clock_replay r;
    *out = (pg_clock_time){.chip = c->chip, .clusters = launch->cluster_count};
    if (c->failed || !pg_footprint_settle(c->footprint, c->chip->l2_bytes, c->whole ? 1 : scale) ||
        !pg_clock_replay_run(c, launch, told, &r))
        return false;
    const double alone = extrapolate(c, &r);
    out->dram_bytes = dram_bytes(c);
    const double grid = recorded ? pg_clock_probe_scale(c, launch->cluster_count) : 0;
    out->flop = grid * (c->flop_f16 + c->flop_f8 + c->flop_f4 + c->flop_tf32);
    out->power_ns = out->flop > 0 ? power_ns(c, grid, out->dram_bytes) : 0;
    const pg_hot_cost cost = {.request_ns = c->chip->hot_request_ns,
                              .unit_ns = c->chip->hot_unit_ns,
                              .slice_unit_ns = c->chip->slices / c->chip->red_unit_gs,
                              .slices = (uint32_t)c->chip->slices};
    const pg_hot_times hot = pg_footprint_hottest(c->footprint, &cost);
    const double all = c->whole ? 1 : scale;
    double run = alone > out->power_ns ? alone : out->power_ns;
    out->hot_ns = hot.line_ns * all;
    /* While a line holds its requests up, the others get on with theirs, but not all of them. */
    run = sqrt(run * run + out->hot_ns * out->hot_ns);
    out->crowded = hot.slice_ns * all > run;
    run = out->crowded ? hot.slice_ns * all : run;
    const double grown = r.drained_ns > 0 ? alone / r.drained_ns : 1;
    for (int u = 0; u < UNIT_COUNT; u++)
        out->busy[u] = run > 0 ? r.busy[u] * grown / run : 0;
    out->launch_ns = first ? c->chip->launch_ns : c->chip->dependent_ns;
    out->ns = run + out->launch_ns;
    out->sampled = recorded;
    out->occupancy = c->occupancy;
    out->whole = c->whole;
    find_limit(out, run);
    return true;
}
