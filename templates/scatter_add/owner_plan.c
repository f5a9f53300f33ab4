/* Numbers of schedule=owner: what its key may be, and what its plan is. */
#include "scatter_add/owner.h"

#include "base/error.h"

#include <string.h>

enum { SHARE_UNIT = 8 };

/* ---- key and plan ---- */

static ptxgen_status check_access(const pg_scatter_add_key *k, const pg_sum_type *e,
                                  ptxgen_error *err)
{
    if ((k->access & (k->access - 1)) == 0 && k->access >= e->bytes)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "access=%lld is not a power of two from %d (an element of %s) to 16",
                   (long long)k->access, e->bytes, e->name);
}

ptxgen_status pg_scatter_add_resolve_owner(pg_scatter_add_key *k, const pg_arch *arch,
                                           ptxgen_error *err)
{
    const pg_sum_type *e = pg_sum_type_at(k->dtype);
    if (arch->sm < 80)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "schedule=owner needs sm_80 or later, not %s",
                       arch->name);
    if (k->weight && k->reduce != PTXGEN_SCATTER_ADD)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "weight needs reduce=add");
    if (k->reduce == PTXGEN_SCATTER_MEAN && e->acc[0] == 's')
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "reduce=mean needs a float dtype, not %s",
                       e->name);
    if (k->reduce == PTXGEN_SCATTER_MEAN && k->ahead == PG_AHEAD_YES)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "reduce=mean does not read out: ahead=no");
    if (k->weight == PG_WEIGHT_F32 && (e->acc[0] == 's'))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "weight holds f32 and out %s: whole numbers take a weight of their own type "
                       "(weight=element)",
                       e->name);
    if (k->pieces && k->pieces % 2)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "pieces=%lld: schedule=owner needs 2, 4, 6 or 8",
                       (long long)k->pieces);
    if (k->shift && k->access && k->access != e->bytes)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "access=%lld: shift=yes takes rows of any alignment: leave one of them out",
                       (long long)k->access);
    const int64_t row_bytes = k->n * e->bytes | 16;
    k->access = k->shift ? e->bytes : k->access ? k->access : row_bytes & -row_bytes;
    if (k->shift && k->ahead == PG_AHEAD_YES)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "ahead=yes needs rows of one alignment: shift=no");
    PG_TRY(check_access(k, e, err));
    /* Without 16-byte float reductions all sums are stored by their owner. */
    k->exact = k->exact || arch->sm < 90 || (k->access < 16 && !k->shift) ||
               k->reduce != PTXGEN_SCATTER_ADD || !e->vector_add;
    k->weight =
        k->weight == PG_WEIGHT_F32 && e->dtype == PTXGEN_F32 ? PG_WEIGHT_ELEMENT : k->weight;
    k->ahead = k->ahead ? k->ahead : PG_AHEAD_NO;
    k->pieces = k->pieces ? k->pieces : k->ahead == PG_AHEAD_YES ? 2 : 4;
    if (k->share % SHARE_UNIT)
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "share=%d is no multiple of %d: take %d",
                       (int)k->share, SHARE_UNIT,
                       (int)((k->share + SHARE_UNIT - 1) / SHARE_UNIT * SHARE_UNIT));
    /* One kernel serves every row length and stride. */
    k->n = 0;
    return PTXGEN_OK;
}

bool pg_owner_has_lone_halves(const pg_scatter_add_plan *p)
{
    return p->shift && !p->exact && !p->contig && p->element->bytes == 2;
}

void pg_scatter_add_plan_owner(const pg_scatter_add_key *k, pg_scatter_add_plan *p)
{
    static const char *const parts[] = {"sum", NULL}, *const exact_parts[] = {"sum", "merge", NULL};
    p->shift = k->shift != 0;
    p->access = p->shift ? 16 : (int)k->access;
    p->share = k->share;
    p->mean = k->reduce == PTXGEN_SCATTER_MEAN;
    p->reduce = p->mean ? PTXGEN_SCATTER_ADD : (ptxgen_scatter_reduce)k->reduce;
    p->weight = (pg_weight)k->weight;
    p->exact = k->exact != 0;
    p->gather = k->gather != 0;
    p->ahead = k->ahead == PG_AHEAD_YES;
    p->head.parts = p->exact ? exact_parts : parts;
}
