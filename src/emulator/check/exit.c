/* Checking mode: what is left when threads, CTAs and clusters end. */
#include "emulator/check/mbarrier.h"

#include <stdio.h>

/* ---- threads ---- */

static void check_bulk_stores(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_warp_check *k = pg_warp_check_of(w);
    const pg_op *vain = pg_cta_check_of(w->cta)->vain_wait;
    if (k->bulk_issued[lane] <= k->bulk_waited[lane])
        return;
    pg_check_complain(w, op, lane, PTXGEN_EMULATOR_REPORT_EXIT_IN_FLIGHT,
                      "the thread exits without waiting for its bulk stores, which may still read "
                      "shared memory");
    if (vain && !(k->bulk_tried >> lane & 1))
        pg_check_complain(w, vain, lane, PTXGEN_EMULATOR_REPORT_FOREIGN_BULK_GROUP,
                          "this wait was executed by threads that had issued no bulk store, so it "
                          "waited for nothing; the thread named here issued some and never waited");
}

void pg_check_exit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_cta_check *cta = pg_cta_check_of(w->cta);
    for (uint32_t left = lanes; left; left &= left - 1)
        check_bulk_stores(w, op, (uint32_t)__builtin_ctz(left));
    if (w->launch->ctas_per_cluster > 1)
        pg_check_release(w, lanes, &cta->exited);
}

/* ---- shared memory of other CTAs ---- */

static uint32_t cluster_threads(const pg_grid_run *launch)
{
    return launch->ctas_per_cluster * launch->warps_per_cta * PG_LANES;
}

void pg_check_remote_use(pg_warp *w, const pg_op *op, uint32_t lanes, pg_cta *cta)
{
    pg_cta_check *k = pg_cta_check_of(cta);
    if (!k->remote)
        k->remote = pg_alloc_zero(w->launch->alloc, cluster_threads(w->launch) * sizeof *k->remote);
    for (uint32_t left = k->remote ? lanes : 0; left; left &= left - 1)
        k->remote[pg_warp_agent(w) + (uint32_t)__builtin_ctz(left)] =
            (pg_remote_use){pg_warp_check_of(w)->now, pg_pc_of(w, op)};
}

/* Some thread of the CTA knew of every use before it ended: the CTA was there until the use was
 * over. */
void pg_check_remote_uses(pg_cta *cta)
{
    const pg_cta_check *k = pg_cta_check_of(cta);
    const pg_grid_run *launch = cta->cluster->launch;
    for (uint32_t i = 0; k->remote && i < cluster_threads(launch); i++) {
        const pg_remote_use *use = &k->remote[i];
        pg_cta *user = &cta->cluster->ctas[i / PG_LANES / launch->warps_per_cta];
        if (!use->clock || pg_vector_at(k->exited.seen, i) >= use->clock)
            continue;
        char where[64];
        snprintf(where, sizeof where, "shared memory of CTA rank %u", cta->rank);
        const pg_check_conflict c = {.warp = &user->warps[i / PG_LANES % launch->warps_per_cta],
                                     .op = &launch->program->ops[use->op],
                                     .lane = i % PG_LANES,
                                     .kind = PTXGEN_EMULATOR_REPORT_EXITED_CTA,
                                     .where = where};
        pg_check_report_conflict(&c, "the other CTA may have exited: it ends without knowing that "
                                     "this access is done (barrier.cluster after it, or a wait)");
    }
}

void pg_check_remote_free(pg_cta *cta)
{
    pg_cta_check *k = pg_cta_check_of(cta);
    const pg_grid_run *launch = cta->cluster->launch;
    if (k->remote)
        pg_free(launch->alloc, k->remote, cluster_threads(launch) * sizeof *k->remote);
    k->remote = NULL;
    pg_knowledge_drop(launch->checker, &k->exited);
}
