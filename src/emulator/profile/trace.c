/* The events of config.trace: what an observer hears, with its time and place. */
#include "emulator/profile/profile.h"

#include "emulator/memory/barrier.h"
#include "ptxgen/emulator.h"

/* Of a cluster: warps that have written shared memory since they last fenced, a bit each, by
 * CTA. */
typedef struct unfenced {
    uint32_t warps[PG_MAX_CTAS_IN_CLUSTER];
} unfenced;

static const pg_profile *listener(const pg_grid_run *launch)
{
    return launch->profile && launch->profile->trace ? launch->profile : NULL;
}

static ptxgen_emulator_event event_of(const pg_cta *cta, ptxgen_emulator_event_kind kind)
{
    return (ptxgen_emulator_event){.kind = kind,
                                   .time = cta->cluster->worker->ticks,
                                   .launch = cta->cluster->launch->profile->launch,
                                   .cluster = cta->cluster->index,
                                   .cta_rank = cta->rank,
                                   .cta = {cta->id[0], cta->id[1], cta->id[2]}};
}

static void tell(const pg_grid_run *launch, const ptxgen_emulator_event *e)
{
    launch->profile->trace(launch->profile->user, e);
}

/* An event of a warp that has no more to say. */
static void tell_of_warp(const pg_warp *w, const pg_op *op, ptxgen_emulator_event_kind kind,
                         uint32_t barrier)
{
    if (!listener(w->launch))
        return;
    ptxgen_emulator_event e = event_of(w->cta, kind);
    e.warp = w->index;
    e.line = op ? op->line : 0;
    e.barrier = barrier;
    e.barrier_cta = w->cta->rank;
    tell(w->launch, &e);
}

/* ---- asynchronous operations ---- */

static ptxgen_emulator_event event_of_operation(const pg_async *a, ptxgen_emulator_event_kind kind)
{
    ptxgen_emulator_event e = event_of(a->warp->cta, kind);
    pg_engine_use use = {0};
    e.warp = a->warp->index;
    e.line = a->op->line;
    e.operation = a->check_id;
    e.unit = pg_engine_name(pg_engine_use_of(a, &use));
    return e;
}

void pg_trace_issue(pg_async *a, pg_engine engine, const pg_engine_use *use)
{
    pg_profile *p = a->warp->launch->profile;
    if (!listener(a->warp->launch))
        return;
    a->check_id = ++p->operations;
    ptxgen_emulator_event e = event_of_operation(a, PTXGEN_EMULATOR_ISSUES);
    e.bytes = use->global_read + use->global_written;
    e.bytes = e.bytes ? e.bytes : use->shared_written;
    e.reads_shared =
        use->shared_read > 0 || engine == PG_ENGINE_WGMMA || engine == PG_ENGINE_TCGEN05;
    tell(a->warp->launch, &e);
}

void pg_trace_arriving(pg_async *a)
{
    const pg_async_targets targets = pg_async_targets_of(a);
    if (!listener(a->warp->launch) || !a->check_id || !targets.signal)
        return;
    for (uint32_t rank = 0; rank < a->warp->cta->cluster->cta_count; rank++) {
        const bool single = !targets.cta_mask;
        const pg_cta *cta = single ? targets.signal->cta : pg_async_signalled_cta(a, rank);
        if (!single && !(targets.cta_mask >> rank & 1))
            continue;
        ptxgen_emulator_event e = event_of_operation(a, PTXGEN_EMULATOR_SIGNALS);
        e.barrier = targets.signal->offset;
        e.barrier_cta = cta ? cta->rank : e.cta_rank;
        tell(a->warp->launch, &e);
        if (single)
            return;
    }
}

void pg_trace_done(pg_async *a)
{
    if (!listener(a->warp->launch) || !a->check_id)
        return;
    const ptxgen_emulator_event e = event_of_operation(a, PTXGEN_EMULATOR_COMPLETES);
    tell(a->warp->launch, &e);
}

/* ---- warps ---- */

void pg_trace_exit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    if ((w->live & ~lanes) == 0)
        tell_of_warp(w, op, PTXGEN_EMULATOR_WARP_ENDS, 0);
}

void pg_trace_write(pg_warp *w, const pg_op *op)
{
    unfenced *u = w->cta->cluster->check;
    if (!u || u->warps[w->cta->rank] >> w->index & 1)
        return;
    u->warps[w->cta->rank] |= 1u << w->index;
    tell_of_warp(w, op, PTXGEN_EMULATOR_WRITES, 0);
}

void pg_trace_proxy_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)lanes;
    unfenced *u = w->cta->cluster->check;
    if (u)
        u->warps[w->cta->rank] &= ~(1u << w->index);
    tell_of_warp(w, op, PTXGEN_EMULATOR_FENCES, 0);
}

void pg_trace_barrier(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t id)
{
    (void)lanes;
    tell_of_warp(w, op, PTXGEN_EMULATOR_ARRIVES, id);
}

void pg_trace_barrier_passed(pg_warp *w, uint32_t lanes, uint32_t id)
{
    (void)lanes;
    tell_of_warp(w, NULL, PTXGEN_EMULATOR_PASSES, id);
}

void pg_trace_mbarrier_phase(pg_cta *cta, pg_mbarrier *b)
{
    if (!listener(cta->cluster->launch))
        return;
    ptxgen_emulator_event e = event_of(cta, PTXGEN_EMULATOR_PHASE);
    e.barrier = b->offset;
    e.barrier_cta = cta->rank;
    e.phase = b->phase;
    tell(cta->cluster->launch, &e);
}

void pg_trace_mbarrier_wait(pg_warp *w, const pg_op *op, int lane, pg_mbarrier *b,
                            pg_observed_wait wait)
{
    (void)lane;
    pg_profile *p = w->launch->profile;
    const uint64_t ticks = w->cta->cluster->worker->ticks;
    if (p->last_wait.warp == w && p->last_wait.ticks == ticks && p->last_wait.done == wait.done)
        return;
    p->last_wait.warp = w;
    p->last_wait.ticks = ticks;
    p->last_wait.done = wait.done;
    tell_of_warp(w, op, wait.done ? PTXGEN_EMULATOR_WAITED : PTXGEN_EMULATOR_WAITS, b->offset);
}

static void tell_of_groups(pg_warp *w, const pg_op *op, const char *unit)
{
    if (!listener(w->launch))
        return;
    ptxgen_emulator_event e = event_of(w->cta, PTXGEN_EMULATOR_GROUPS_WAITED);
    e.warp = w->index;
    e.line = op->line;
    e.unit = unit;
    tell(w->launch, &e);
}

void pg_trace_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)lanes;
    tell_of_groups(w, op, pg_engine_name(PG_ENGINE_BULK));
}

void pg_trace_copy_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)lanes;
    tell_of_groups(w, op, pg_engine_name(PG_ENGINE_CP_ASYNC));
}

void pg_trace_mma_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)lanes;
    tell_of_groups(w, op, pg_engine_name(PG_ENGINE_WGMMA));
}

/* ---- tensor memory ---- */

void pg_trace_tensor_alloc(pg_cta *cta, uint32_t column, uint32_t columns)
{
    if (!listener(cta->cluster->launch))
        return;
    ptxgen_emulator_event e = event_of(cta, PTXGEN_EMULATOR_TENSOR_ALLOCATES);
    e.column = column;
    e.columns = columns;
    tell(cta->cluster->launch, &e);
}

void pg_trace_tensor_dealloc(pg_warp *w, const pg_op *op, uint32_t column, uint32_t columns)
{
    if (!listener(w->launch))
        return;
    ptxgen_emulator_event e = event_of(w->cta, PTXGEN_EMULATOR_TENSOR_FREES);
    e.warp = w->index;
    e.line = op->line;
    e.column = column;
    e.columns = columns;
    tell(w->launch, &e);
}

void pg_trace_tensor(pg_cta *cta, const pg_op *op, const pg_tensor_area *area, const char *use)
{
    if (!listener(cta->cluster->launch))
        return;
    ptxgen_emulator_event e = event_of(cta, PTXGEN_EMULATOR_TENSOR_USES);
    e.line = op->line;
    e.use = use;
    e.column = area->column;
    e.columns = area->columns;
    memcpy(e.lanes, area->lanes, sizeof e.lanes);
    e.reads = area->reads;
    e.writes = area->writes;
    tell(cta->cluster->launch, &e);
}

/* ---- clusters ---- */

bool pg_trace_cluster_start(pg_cluster *c)
{
    if (!listener(c->launch))
        return true;
    c->check = pg_alloc_zero(c->launch->alloc, sizeof(unfenced));
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++) {
            ptxgen_emulator_event e = event_of(&c->ctas[i], PTXGEN_EMULATOR_WARP_STARTS);
            e.warp = k;
            e.bytes = c->ctas[i].shared_bytes - PG_SHARED_BASE;
            tell(c->launch, &e);
        }
    return c->check != NULL;
}

void pg_trace_cluster_free(pg_cluster *c)
{
    pg_free(c->launch->alloc, c->check, sizeof(unfenced));
    c->check = NULL;
}
