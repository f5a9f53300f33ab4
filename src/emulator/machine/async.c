/* The queue of asynchronous operations, their order, and the waits for groups of them. See async.h. */
#include "emulator/machine/async.h"

#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

enum { ADVERSARY_WINDOW = 64 };

pg_async *pg_async_new(pg_warp *w, const pg_op *op, pg_async_kind kind, uint32_t lane)
{
    pg_async *a = pg_alloc_zero(w->launch->alloc, sizeof *a);
    if (!a) {
        pg_stop_memory(w->launch, sizeof *a);
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
        pg_free(alloc, a->staging, a->u.bulk.bytes);
    pg_free(alloc, a, sizeof *a);
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
    const bool ok = pg_async_complete(a);
    unlink_async(c, a);
    c->progress++;
    wake_issuer(a->warp);
    pg_async_free(c, a);
    return ok;
}

/* Whether an earlier pending operation must complete first. */
static bool must_wait(const pg_async *a)
{
    if (a->kind != PG_ASYNC_ARRIVE && a->kind != PG_ASYNC_MMA && !pg_async_is_tcgen05(a))
        return false;
    for (const pg_async *before = a->previous; before; before = before->previous) {
        if (pg_async_is_tcgen05(a) && pg_async_is_tcgen05(before) && pg_tcgen05_follows(a, before))
            return true;
        if (before->warp != a->warp)
            continue;
        if (a->kind == PG_ASYNC_MMA && before->kind == PG_ASYNC_MMA)
            return true;
        if (a->kind == PG_ASYNC_ARRIVE && before->kind == PG_ASYNC_COPY &&
            (before->u.copy.lanes >> a->lane & 1))
            return true;
    }
    return false;
}

static bool reads_then_writes(const pg_async *a)
{
    return a->kind == PG_ASYNC_BULK_STORE ||
           (a->kind == PG_ASYNC_BULK_REDUCE && !a->u.bulk.to_shared);
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
        if (must_wait(a) || (a->lazy && !forced))
            continue;
        if (reads_then_writes(a) && !a->read_done) {
            if (!pg_async_read(a))
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
        while (c->pending_first && finish(c, c->pending_first))
            ;
        return;
    }
    const bool forced = nothing_runs(c) || c->pending_count > ADVERSARY_WINDOW;
    uint32_t steps = (uint32_t)(pg_worker_random(c->worker) % 3) + (forced ? 1 : 0);
    while (steps-- && c->pending_first && advance_one(c, forced))
        ;
}

/* ---- commit and wait ---- */

pg_step pg_op_bulk_commit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    pg_warp_async *n = pg_async_counters(w);
    if (!n)
        return PG_STOP;
    for (uint32_t left = lanes; left; left &= left - 1)
        n->bulk_commits[__builtin_ctz(left)]++;
    return PG_NEXT;
}

static bool is_bulk_group(const pg_async *a)
{
    return a->kind == PG_ASYNC_BULK_STORE || a->kind == PG_ASYNC_TENSOR_STORE ||
           a->kind == PG_ASYNC_TENSOR_REDUCE ||
           (a->kind == PG_ASYNC_BULK_REDUCE && !a->u.bulk.to_shared);
}

pg_step pg_op_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_warp_async *n = pg_async_counters(w);
    if (!n)
        return PG_STOP;
    const bool read_only = op->mode != 0;
    for (const pg_async *a = w->cta->cluster->pending_first; a; a = a->next)
        if (a->warp == w && (lanes >> a->lane & 1) && is_bulk_group(a) &&
            !(read_only && a->read_done) && (uint64_t)a->group + op->imm < n->bulk_commits[a->lane])
            return pg_block(w, (pg_wait){.kind = PG_WAIT_ASYNC, .again = true});
    PG_OBSERVE(w->launch, bulk_wait, w, op, lanes);
    return PG_NEXT;
}

pg_step pg_op_cp_async_commit(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    pg_warp_async *n = pg_async_counters(w);
    if (!n)
        return PG_STOP;
    for (uint32_t left = lanes; left; left &= left - 1)
        n->copy_commits[__builtin_ctz(left)]++;
    return PG_NEXT;
}

static bool copy_blocks(const pg_async *a, const pg_warp_async *n, uint32_t lanes, uint64_t newest)
{
    for (uint32_t left = a->u.copy.lanes & lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (newest == UINT64_MAX || a->u.copy.group[l] + newest < n->copy_commits[l])
            return true;
    }
    return false;
}

pg_step pg_op_cp_async_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_warp_async *n = pg_async_counters(w);
    if (!n)
        return PG_STOP;
    for (const pg_async *a = w->cta->cluster->pending_first; a; a = a->next)
        if (a->warp == w && a->kind == PG_ASYNC_COPY && copy_blocks(a, n, lanes, op->imm))
            return pg_block(w, (pg_wait){.kind = PG_WAIT_ASYNC, .again = true});
    PG_OBSERVE(w->launch, copy_wait, w, op, lanes);
    return PG_NEXT;
}
