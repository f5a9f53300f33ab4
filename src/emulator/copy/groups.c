/* Groups of copies: commit and wait, of bulk copies and of cp.async. */
#include "emulator/copy/copies.h"

#include "emulator/machine/observer.h"

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

pg_step pg_op_bulk_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_warp_async *n = pg_async_counters(w);
    if (!n)
        return PG_STOP;
    const bool read_only = op->mode != 0;
    for (const pg_async *a = w->cta->cluster->pending_first; a; a = a->next)
        if (a->warp == w && (lanes >> a->lane & 1) && a->kind->bulk_group &&
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

static bool copy_blocks(const pg_async_copy *c, const pg_warp_async *n, uint32_t lanes,
                        uint64_t newest)
{
    for (uint32_t left = c->lanes & lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (newest == UINT64_MAX || c->group[l] + newest < n->copy_commits[l])
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
        if (a->warp == w && a->kind == &pg_kind_copy &&
            copy_blocks((const pg_async_copy *)a, n, lanes, op->imm))
            return pg_block(w, (pg_wait){.kind = PG_WAIT_ASYNC, .again = true});
    PG_OBSERVE(w->launch, copy_wait, w, op, lanes);
    return PG_NEXT;
}
