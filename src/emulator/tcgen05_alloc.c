/* tcgen05.alloc, .dealloc and .relinquish_alloc_permit; PTX ISA 9.0, section 9.7.16.7. One warp executes them;
 * with cta_group::2 a warp of each CTA of the pair, and the second to arrive carries them out for both. */
#include "emulator/tcgen05.h"

#include "emulator/check.h"
#include "emulator/memory.h"
#include "emulator/report.h"
#include "emulator/tensor_memory.h"
#include "emulator/warp_sync.h"

/* What the warp's operands say. */
typedef struct request {
    pg_tensor_call call;
    uint32_t cta_group;
    uint32_t columns, address;
} request;

static const char *const call_names[] = {[PG_TENSOR_NO_CALL] = "nothing",
                                         [PG_TENSOR_ALLOC] = "tcgen05.alloc",
                                         [PG_TENSOR_DEALLOC] = "tcgen05.dealloc",
                                         [PG_TENSOR_RELINQUISH] =
                                             "tcgen05.relinquish_alloc_permit"};

static bool fail(pg_warp *w, const pg_op *op, const char *why, const request *r)
{
    pg_stop(w, op, PTXGEN_EEMULATOR, "%s of %u columns: %s", call_names[r->call], r->columns, why);
    return false;
}

/* The rules that hold in one CTA, whatever the other does. */
static bool check_request(pg_warp *w, const pg_op *op, const pg_tensor_allocator *a,
                          const request *r)
{
    if (r->call == PG_TENSOR_RELINQUISH)
        return true;
    if (r->columns < PG_TENSOR_UNIT || r->columns > PG_TENSOR_COLUMNS ||
        r->columns & (r->columns - 1))
        return fail(w, op, "the number must be a power of two in 32..512", r);
    if (r->call == PG_TENSOR_DEALLOC)
        return true;
    if (a->relinquished)
        return fail(w, op, "the CTA has executed tcgen05.relinquish_alloc_permit before", r);
    if (a->last_columns && r->columns > a->last_columns) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "tcgen05.alloc of %u columns after one of %u: allocations of a CTA must not grow; "
                "allocate the "
                "largest first",
                r->columns, a->last_columns);
        return false;
    }
    return true;
}

/* Carries out a dealloc or relinquish in one CTA. */
static bool release(pg_warp *w, const pg_op *op, pg_cta *cta, const request *r)
{
    pg_tensor_allocator *a = &cta->tensor->allocator;
    if (r->call == PG_TENSOR_RELINQUISH) {
        a->relinquished = true;
        return true;
    }
    if (pg_tensor_lane(r->address) ||
        !pg_tensor_give_back(a, pg_tensor_column(r->address), r->columns)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                "tcgen05.dealloc of %u columns at 0x%08x: CTA rank %u has no allocation of this "
                "size there; each "
                "must be given back whole, with the address and the number of its tcgen05.alloc",
                r->columns, r->address, cta->rank);
        return false;
    }
    if (w->launch->checker)
        pg_check_tensor_dealloc(cta == w->cta ? w : cta->tensor->pair.warp, op,
                                pg_tensor_column(r->address), r->columns);
    return true;
}

static void take(pg_cta *cta, const request *r)
{
    pg_tensor_take(&cta->tensor->allocator, r->address, r->columns);
    if (cta->cluster->launch->checker)
        pg_check_tensor_alloc(cta, r->address, r->columns);
}

/* Those who wait for columns or for their partner look again. */
static void wake(pg_cta *cta)
{
    cta->cluster->progress++;
    pg_wake_all(cta, PG_WAIT_TENSOR, 0);
}

/* Carries out the request in `count` CTAs; the result of an alloc is put into r->address. False: alloc has to wait
 * for columns, or the launch has been stopped (*stopped). */
static bool carry_out(pg_warp *w, const pg_op *op, pg_cta *const *ctas, uint32_t count, request *r,
                      bool *stopped)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used |= ctas[i]->tensor->allocator.used;
    if (r->call == PG_TENSOR_ALLOC) {
        const int first = pg_tensor_find(used, r->columns);
        if (first < 0)
            return false;
        r->address = (uint32_t)first;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (r->call == PG_TENSOR_ALLOC)
            take(ctas[i], r);
        else if (!release(w, op, ctas[i], r)) {
            *stopped = true;
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        wake(ctas[i]);
    return true;
}

static pg_step wait_for(pg_warp *w, uint32_t columns)
{
    return pg_block(w, (pg_wait){.kind = PG_WAIT_TENSOR, .phase = columns, .again = true});
}

static pg_step execute_alone(pg_warp *w, const pg_op *op, request *r)
{
    bool stopped = false;
    pg_cta *const ctas[] = {w->cta};
    if (carry_out(w, op, ctas, 1, r, &stopped))
        return PG_NEXT;
    return stopped ? PG_STOP : wait_for(w, r->columns);
}

static bool check_partner(pg_warp *w, const pg_op *op, const pg_cta *partner, const request *r)
{
    const pg_tensor_pair_call *c = &partner->tensor->pair;
    if (c->call == r->call && c->columns == r->columns &&
        (r->call != PG_TENSOR_DEALLOC || c->address == r->address))
        return true;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "CTA rank %u executes %s (%u columns) while CTA rank %u, the other of its pair, "
            "executes %s (%u "
            "columns): with .cta_group::2 both must execute the same",
            w->cta->rank, call_names[r->call], r->columns, partner->rank, call_names[c->call],
            c->columns);
    return false;
}

/* cta_group::2: the first of the pair to arrive notes that and waits, the second carries it out for both. */
static pg_step execute_in_pair(pg_warp *w, const pg_op *op, request *r)
{
    pg_cta *partner = pg_pair_of(w->cta);
    pg_tensor_pair_call *own = &w->cta->tensor->pair;
    if (own->call != PG_TENSOR_NO_CALL && own->warp != w)
        return wait_for(w, 0); /* another warp of this CTA is at it */
    if (own->call != PG_TENSOR_NO_CALL && own->done) {
        r->address = own->address;
        *own = (pg_tensor_pair_call){0};
        wake(w->cta);
        return PG_NEXT;
    }
    *own = (pg_tensor_pair_call){
        .call = r->call, .warp = w, .columns = r->columns, .address = r->address};
    w->cta->cluster->progress++;
    if (!partner->live_warps)
        return pg_stop(
            w, op, PTXGEN_EEMULATOR,
            "%s.cta_group::2 in CTA rank %u: CTA rank %u, the other of its pair, has exited",
            call_names[r->call], w->cta->rank, partner->rank);
    if (!partner->tensor || partner->tensor->pair.call == PG_TENSOR_NO_CALL ||
        partner->tensor->pair.done)
        return wait_for(w, 0);
    if (!check_partner(w, op, partner, r))
        return PG_STOP;
    bool stopped = false;
    pg_cta *const ctas[] = {w->cta, partner};
    if (!carry_out(w, op, ctas, 2, r, &stopped))
        return stopped ? PG_STOP : wait_for(w, r->columns);
    partner->tensor->pair.address = r->address;
    partner->tensor->pair.done = true;
    *own = (pg_tensor_pair_call){0};
    return PG_NEXT;
}

/* Checks the request and carries it out. */
static pg_step execute(pg_warp *w, const pg_op *op, request *r)
{
    if (!pg_tensor_group(w, op, r->cta_group) ||
        !check_request(w, op, &w->cta->tensor->allocator, r))
        return PG_STOP;
    return r->cta_group == 2 ? execute_in_pair(w, op, r) : execute_alone(w, op, r);
}

pg_step pg_op_tcgen05_alloc(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t lane = (uint32_t)__builtin_ctz(all);
    request r = {.call = PG_TENSOR_ALLOC,
                 .cta_group = op->mode,
                 .columns = ((const uint32_t *)pg_row_at(w, op->b))[lane]};
    step = execute(w, op, &r);
    if (step != PG_NEXT)
        return step;
    uint8_t *at[PG_LANES];
    if (w->launch->checker)
        pg_check_warp_barrier(w, op, all);
    if (!pg_resolve(w, op, 1u << lane, sizeof r.address, PG_ACCESS_WRITE, at))
        return PG_STOP;
    memcpy(at[lane], &r.address, sizeof r.address);
    if (w->launch->checker)
        pg_check_warp_barrier(w, op, all); /* every lane has written the address, in its order */
    return PG_NEXT;
}

pg_step pg_op_tcgen05_dealloc(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t lane = (uint32_t)__builtin_ctz(all);
    request r = {.call = PG_TENSOR_DEALLOC,
                 .cta_group = op->mode,
                 .columns = ((const uint32_t *)pg_row_at(w, op->b))[lane],
                 .address = ((const uint32_t *)pg_row_at(w, op->a))[lane]};
    return execute(w, op, &r);
}

pg_step pg_op_tcgen05_relinquish(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    request r = {.call = PG_TENSOR_RELINQUISH, .cta_group = op->mode};
    return execute(w, op, &r);
}

bool pg_tensor_all_given_back(pg_warp *w, const pg_op *op)
{
    const pg_tensor_memory *t = w->cta->tensor;
    if (!t || !t->allocator.used)
        return true;
    uint32_t first = 0;
    while (!t->allocator.size[first])
        first++;
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "CTA rank %u exits with %u columns of tensor memory allocated (%u of them at column "
            "%u): every "
            "tcgen05.alloc needs its tcgen05.dealloc",
            w->cta->rank, PG_TENSOR_COLUMNS - pg_tensor_free_columns(&t->allocator),
            t->allocator.size[first], first * PG_TENSOR_UNIT);
    return false;
}
