/* The queue of asynchronous operations and their order. See async.h. */
#include "emulator/machine/async.h"

#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

enum { ADVERSARY_WINDOW = 64 };

void *pg_async_new(pg_warp *w, const pg_op *op, const pg_async_kind *kind, uint32_t lane)
{
    pg_async *a = pg_alloc_zero(w->launch->alloc, kind->bytes);
    if (!a) {
        pg_stop_memory(w->launch, kind->bytes);
        return NULL;
    }
    a->kind = kind;
    a->warp = w;
    a->op = op;
    a->lane = lane;
    return a;
}

pg_warp_async *pg_async_counters(pg_warp *w)
{
    if (!w->async) {
        w->async = pg_alloc_zero(w->launch->alloc, sizeof *w->async);
        if (!w->async)
            pg_stop_memory(w->launch, sizeof *w->async);
    }
    return w->async;
}

void pg_async_issue(pg_async *a)
{
    pg_cluster *c = a->warp->cta->cluster;
    a->previous = c->pending_last;
    if (c->pending_last)
        c->pending_last->next = a;
    else
        c->pending_first = a;
    c->pending_last = a;
    c->pending_count++;
    if (c->launch->isa_order)
        a->lazy = pg_worker_random(c->worker) % 4 == 0;
    PG_OBSERVE(c->launch, async_issue, a);
}

static void unlink_async(pg_cluster *c, pg_async *a)
{
    if (a->previous)
        a->previous->next = a->next;
    else
        c->pending_first = a->next;
    if (a->next)
        a->next->previous = a->previous;
    else
        c->pending_last = a->previous;
    c->pending_count--;
}

void pg_async_free(pg_cluster *c, pg_async *a)
{
    const pg_alloc *alloc = c->launch->alloc;
    if (a->staging)
        pg_free(alloc, a->staging, a->staging_bytes);
    pg_free(alloc, a, a->kind->bytes);
}

bool pg_async_stage(pg_async *a, size_t bytes)
{
    a->staging = pg_alloc_zero(a->warp->launch->alloc, bytes);
    a->staging_bytes = bytes;
    if (!a->staging)
        pg_stop_memory(a->warp->launch, bytes);
    return a->staging != NULL;
}

void pg_async_drop_all(pg_cluster *c)
{
    while (c->pending_first) {
        pg_async *a = c->pending_first;
        unlink_async(c, a);
        pg_async_free(c, a);
    }
}

/* Groups of the issuing warp that wait for operations look again. */
static void wake_issuer(pg_warp *w)
{
    for (uint32_t i = 0; i < w->group_count; i++)
        if (w->groups[i].wait.kind == PG_WAIT_ASYNC)
            pg_wake(w, &w->groups[i]);
}

static bool finish(pg_cluster *c, pg_async *a)
{
    const bool ok = a->kind->complete(a);
    PG_OBSERVE(c->launch, async_done, a);
    unlink_async(c, a);
    c->progress++;
    wake_issuer(a->warp);
    pg_async_free(c, a);
    return ok;
}

/* Whether an earlier pending operation must complete first. */
static bool must_wait(const pg_async *a)
{
    if (!a->kind->follows)
        return false;
    for (const pg_async *before = a->previous; before; before = before->previous)
        if (a->kind->follows(a, before))
            return true;
    return false;
}

static bool is_ready(const pg_async *a)
{
    return !a->kind->ready || a->kind->ready(a);
}

/* All that are ready, in order. */
static void advance_all(pg_cluster *c)
{
    bool skipped = false, ok = true;
    for (pg_async *a = c->pending_first, *next; a && ok; a = next) {
        next = a->next;
        if (is_ready(a) && !(skipped && must_wait(a)))
            ok = finish(c, a);
        else
            skipped = true;
    }
}

bool pg_async_any_ready(const pg_cluster *c)
{
    for (const pg_async *a = c->pending_first; a; a = a->next)
        if (is_ready(a))
            return true;
    return false;
}

/* One step of one operation that the seed picks; false: none can complete. */
static bool advance_one(pg_cluster *c, bool forced)
{
    const uint32_t window =
        c->pending_count < ADVERSARY_WINDOW ? c->pending_count : ADVERSARY_WINDOW;
    uint32_t skip = window ? (uint32_t)(pg_worker_random(c->worker) % window) : 0;
    pg_async *a = c->pending_first;
    while (a && skip--)
        a = a->next;
    for (uint32_t tried = 0; tried < window; tried++, a = a->next ? a->next : c->pending_first) {
        if (!is_ready(a) || must_wait(a) || (a->lazy && !forced))
            continue;
        if (a->kind->read && !a->read_done) {
            if (!a->kind->read(a))
                return false;
            a->read_done = true;
            c->progress++;
            wake_issuer(a->warp);
            return true;
        }
        return finish(c, a);
    }
    return false;
}

static bool nothing_runs(const pg_cluster *c)
{
    for (uint32_t i = 0; i < c->cta_count; i++)
        for (uint32_t k = 0; k < c->ctas[i].warp_count; k++)
            if (c->ctas[i].warps[k].runnable)
                return false;
    return true;
}

void pg_async_advance(pg_cluster *c)
{
    if (!c->launch->isa_order) {
        advance_all(c);
        return;
    }
    const bool forced = nothing_runs(c) || c->pending_count > ADVERSARY_WINDOW;
    uint32_t steps = (uint32_t)(pg_worker_random(c->worker) % 3) + (forced ? 1 : 0);
    while (steps-- && c->pending_first && advance_one(c, forced))
        ;
}
