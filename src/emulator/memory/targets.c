/* Which CTAs an asynchronous operation reaches, and the barriers that it signals there. See
 * barrier.h. */
#include "emulator/memory/barrier.h"

pg_cta *pg_async_signalled_cta(const pg_async *a, uint32_t rank)
{
    const pg_async_targets t = pg_async_targets_of(a);
    if (!t.cta_mask)
        return t.signal->cta;
    return &a->warp->cta->cluster->ctas[t.pair ? (rank & ~1u) | (t.signal->cta->rank & 1) : rank];
}

bool pg_async_signal_for(pg_async *a, uint32_t rank)
{
    pg_mbarrier_signal s = *pg_async_targets_of(a).signal;
    s.cta = pg_async_signalled_cta(a, rank);
    return pg_mbarrier_signal_completion(a->warp, a->op, &s);
}

bool pg_async_each_target(pg_async *a, pg_cta *single, bool (*deliver)(pg_async *, pg_cta *))
{
    const uint16_t mask = pg_async_targets_of(a).cta_mask;
    pg_cluster *c = a->warp->cta->cluster;
    if (!mask)
        return deliver(a, single);
    for (uint32_t rank = 0; rank < c->cta_count; rank++)
        if ((mask >> rank & 1) && !deliver(a, &c->ctas[rank]))
            return false;
    return true;
}
