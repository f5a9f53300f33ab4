/* What a request of clusterlaunchcontrol does when it completes: takes a cluster that has not
 * started, if there is one, and writes the response. */
#include "emulator/copy/cluster_control.h"
#include "emulator/copy/copies.h"
#include "emulator/machine/observer.h"

enum { UNWILLING = 8 }; /* order=isa: one request in so many fails although clusters are left */

static void respond(pg_cluster *cluster, uint8_t *bytes)
{
    pg_grid_run *launch = cluster->launch;
    pg_cancel_response r = {.mark = PG_CANCEL_REFUSED};
    uint64_t index;
    bool (*give)(pg_grid_run *, uint64_t *) =
        launch->give_cluster ? launch->give_cluster : pg_cluster_claim;
    const bool unwilling = launch->isa_order && pg_worker_random(cluster->worker) % UNWILLING == 0;
    if (!unwilling && give(launch, &index)) {
        r.mark = PG_CANCEL_GRANTED;
        pg_cluster_first_ctaid(launch, index, r.first_ctaid);
    }
    memcpy(bytes, &r, sizeof r);
}

/* The response is made once, then delivered to one CTA or to all of the cluster. */
static bool deliver(pg_async *a, pg_cta *cta)
{
    const pg_async_cancel *c = (const pg_async_cancel *)a;
    memcpy(cta->shared + c->offset, c->response, PG_CANCEL_RESPONSE_BYTES);
    return pg_async_signal_for(a, cta->rank);
}

static bool complete(pg_async *a)
{
    pg_async_cancel *c = (pg_async_cancel *)a;
    respond(a->warp->cta->cluster, c->response);
    PG_OBSERVE(a->warp->launch, async_arriving, a); /* before any thread can be told */
    return pg_async_each_target(a, c->target_cta, deliver);
}

static pg_async_targets targets(const pg_async *a)
{
    const pg_async_cancel *c = (const pg_async_cancel *)a;
    return (pg_async_targets){&c->signal, c->cta_mask, false};
}

const pg_async_kind pg_kind_cancel = {
    .bytes = sizeof(pg_async_cancel), .complete = complete, .targets = targets};
