/* See probe.h. */
#include "emulator/clock/probe.h"

static double of_sample(const pg_clock *c)
{
    return c->flop_f16 + c->flop_f8 + c->flop_f4 + c->flop_tf32;
}

static bool is_less(double a, double b)
{
    return a < 0.999 * b;
}

/* What the cluster that has run says. */
static void learn(pg_clock *c, uint64_t cluster_count)
{
    pg_clock_probe *p = &c->probe;
    if (p->at == cluster_count - 1)
        p->last = p->flop;
    if (is_less(p->flop, of_sample(c)))
        p->less = p->at;
    else
        p->full = p->at;
}

bool pg_clock_probe_next(pg_clock *c, uint64_t cluster_count, uint64_t *index)
{
    pg_clock_probe *p = &c->probe;
    if (!c->tensor || c->listed != 1 || cluster_count < 2)
        return false;
    if (!p->runs) {
        p->runs = true;
        p->at = cluster_count - 1;
        p->less = cluster_count;
    } else {
        learn(c, cluster_count);
        if (p->less - p->full <= 1)
            return false;
        p->at = p->full + (p->less - p->full) / 2;
    }
    p->flop = 0;
    *index = p->at;
    return true;
}

double pg_clock_probe_scale(const pg_clock *c, uint64_t cluster_count)
{
    const pg_clock_probe *p = &c->probe;
    const double recorded = (double)pg_clock_recorded(c);
    if (!p->runs || of_sample(c) <= 0)
        return (double)cluster_count / recorded;
    return (double)p->less + (double)(cluster_count - p->less) * p->last / of_sample(c);
}
