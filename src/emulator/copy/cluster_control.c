/* clusterlaunchcontrol; see cluster_control.h. */
#include "emulator/copy/cluster_control.h"

#include "emulator/copy/copies.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"

/* An operand's place in the own shared memory. */
static bool own_place(pg_warp *w, const pg_op *op, uint64_t address, uint32_t align,
                      uint32_t *offset)
{
    pg_cta *cta = NULL;
    if (pg_shared_target(w, (pg_space)op->space, address, &cta, offset) && cta == w->cta &&
        *offset % align == 0 && *offset + align <= cta->shared_bytes)
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "address 0x%llx is not a multiple of %u in the shared memory of the executing CTA",
            (unsigned long long)address, align);
    return false;
}

static bool may_request(pg_warp *w, const pg_op *op)
{
    const pg_cluster *c = w->cta->cluster;
    if (w->cta->cancel_failed)
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "this CTA has seen a request fail: to make another one is undefined");
    else if (op->mode && c->live_ctas < c->cta_count)
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "%u of the cluster's %u CTAs have exited: .multicast::cluster::all writes to all",
                c->cta_count - c->live_ctas, c->cta_count);
    else
        return true;
    return false;
}

static bool issue_request(pg_warp *w, const pg_op *op, uint64_t address, uint64_t barrier,
                          uint32_t lane)
{
    pg_mbarrier_signal signal = {.cta = w->cta, .bytes = PG_CANCEL_RESPONSE_BYTES};
    uint32_t offset;
    if (!may_request(w, op) || !own_place(w, op, address, PG_CANCEL_RESPONSE_BYTES, &offset) ||
        !own_place(w, op, barrier, PG_MBARRIER_BYTES, &signal.offset))
        return false;
    if (!pg_mbarrier_find(w->cta, signal.offset)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "there is no mbarrier at shared offset %u: it must be initialised first",
                signal.offset);
        return false;
    }
    pg_async_cancel *c = pg_async_new(w, op, &pg_kind_cancel, lane);
    if (!c)
        return false;
    c->offset = offset;
    c->signal = signal;
    c->target_cta = w->cta;
    c->cta_mask = (uint16_t)(op->mode ? (1u << w->cta->cluster->cta_count) - 1 : 0);
    pg_async_issue(&c->head);
    return true;
}

pg_step pg_op_try_cancel(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_cancel_operands *o = op->extra;
    uint64_t address[PG_LANES], barrier[PG_LANES];
    pg_addresses(w, op, lanes, address);
    pg_addresses(w, &o->barrier, lanes, barrier);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        if (!issue_request(w, op, address[l], barrier[l], l))
            return PG_STOP;
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

/* The response in a lane's register; NULL: it is none, the launch has been stopped. */
static const pg_cancel_response *response_of(pg_warp *w, const pg_op *op, uint32_t lane)
{
    const pg_cancel_response *r = (const pg_cancel_response *)pg_row_at(w, op->a) + lane;
    if (r->mark == PG_CANCEL_GRANTED || r->mark == PG_CANCEL_REFUSED)
        return r;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "lane %u: these 16 bytes (0x%08x ...) are not a response of try_cancel: wait for its "
            "mbarrier, then load them",
            lane, r->mark);
    return NULL;
}

pg_step pg_op_is_canceled(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t yes = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        const pg_cancel_response *r = response_of(w, op, l);
        if (!r)
            return PG_STOP;
        if (r->mark == PG_CANCEL_GRANTED)
            yes |= 1u << l;
        else
            w->cta->cancel_failed = true;
    }
    pg_pred_write(w, op->p, lanes, yes);
    return PG_NEXT;
}

pg_step pg_op_first_ctaid(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uint32_t l = (uint32_t)__builtin_ctz(left);
        const pg_cancel_response *r = response_of(w, op, l);
        if (!r)
            return PG_STOP;
        for (uint32_t i = 0; i < 3; i++)
            ((uint32_t *)pg_row_at(w, op->rows[i]))[l] = r->first_ctaid[i];
    }
    return PG_NEXT;
}
