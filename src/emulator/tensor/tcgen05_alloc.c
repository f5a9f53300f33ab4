/* tcgen05.alloc, .dealloc and .relinquish_alloc_permit; PTX ISA 9.0, section 9.7.16.7. One warp
 * executes them; with cta_group::2 a warp of each CTA of the pair, and the second to arrive
 * carries them out for both. */
#include "emulator/tensor/tcgen05.h"

#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/tensor/tensor_memory.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/machine/observer.h"

/* One execution: who, and what the operands say. */
typedef struct request {
    pg_warp *w;
    const pg_op *op;
    pg_tensor_call call;
    uint32_t columns, address; /* address: of dealloc; the result of alloc */
} request;

static const char *const call_names[] = {
    [PG_TENSOR_NO_CALL] = "nothing",
    [PG_TENSOR_ALLOC] = "tcgen05.alloc",
    [PG_TENSOR_DEALLOC] = "tcgen05.dealloc",
    [PG_TENSOR_RELINQUISH] = "tcgen05.relinquish_alloc_permit",
};

static bool refuse(const request *r, const char *why)
{
    pg_stop(r->w, r->op, PTXGEN_EEMULATOR, "%s of %u columns: %s", call_names[r->call], r->columns,
            why);
    return false;
}

/* The rules that hold in one CTA, whatever the other does. */
static bool check_request(const request *r)
{
    const pg_tensor_allocator *a = &r->w->cta->tensor->allocator;
    if (r->call == PG_TENSOR_RELINQUISH)
        return true;
    if (r->columns < PG_TENSOR_UNIT || r->columns > PG_TENSOR_COLUMNS ||
        r->columns & (r->columns - 1))
        return refuse(r, "the number must be a power of two in 32..512");
    if (r->call == PG_TENSOR_DEALLOC)
        return true;
    if (a->relinquished)
        return refuse(r, "the CTA has executed tcgen05.relinquish_alloc_permit before");
    if (!a->last_columns || r->columns <= a->last_columns)
        return true;
    pg_stop(r->w, r->op, PTXGEN_EEMULATOR,
            "tcgen05.alloc of %u columns after one of %u: allocations of a CTA must not grow; "
            "allocate the largest first",
            r->columns, a->last_columns);
    return false;
}

/* Carries out a dealloc or relinquish in one CTA. */
static bool release(const request *r, pg_cta *cta)
{
    pg_tensor_allocator *a = &cta->tensor->allocator;
    if (r->call == PG_TENSOR_RELINQUISH) {
        a->relinquished = true;
        return true;
    }
    if (pg_tensor_lane(r->address) ||
        !pg_tensor_give_back(a, pg_tensor_column(r->address), r->columns)) {
        pg_stop(r->w, r->op, PTXGEN_EEMULATOR,
                "tcgen05.dealloc of %u columns at 0x%08x: CTA rank %u has no allocation of this "
                "size there; each must be given back whole, with the address and the number of "
                "its tcgen05.alloc",
                r->columns, r->address, cta->rank);
        return false;
    }
    PG_OBSERVE(r->w->launch, tensor_dealloc, cta == r->w->cta ? r->w : cta->tensor->pair.warp,
               r->op, pg_tensor_column(r->address), r->columns);
    return true;
}

static void take(const request *r, pg_cta *cta)
{
    pg_tensor_take(&cta->tensor->allocator, r->address, r->columns);
    PG_OBSERVE(r->w->launch, tensor_alloc, cta, r->address, r->columns);
}

/* Those who wait for columns or for their partner look again. */
static void wake(pg_cta *cta)
{
    cta->cluster->progress++;
    pg_wake_all(cta, PG_WAIT_TENSOR, 0);
}

/* columns: 0 waits for the other CTA of the pair. */
static pg_step wait_for(pg_warp *w, uint32_t columns)
{
    return pg_block(w, (pg_wait){.kind = PG_WAIT_TENSOR, .phase = columns, .again = true});
}

/* Carries out the request in these CTAs (NULL: in one only), or waits until all of them have the
 * columns. */
static pg_step carry_out(request *r, pg_cta *const ctas[2])
{
    uint32_t used = 0;
    for (int i = 0; i < 2 && ctas[i]; i++)
        used |= ctas[i]->tensor->allocator.used;
    if (r->call == PG_TENSOR_ALLOC) {
        const int first = pg_tensor_find(used, r->columns);
        if (first < 0)
            return wait_for(r->w, r->columns);
        r->address = (uint32_t)first;
    }
    for (int i = 0; i < 2 && ctas[i]; i++) {
        if (r->call == PG_TENSOR_ALLOC)
            take(r, ctas[i]);
        else if (!release(r, ctas[i]))
            return PG_STOP;
        wake(ctas[i]);
    }
    return PG_NEXT;
}

static bool check_partner(const request *r, const pg_cta *partner)
{
    const pg_tensor_pair_call *c = &partner->tensor->pair;
    if (c->call == r->call && c->columns == r->columns &&
        (r->call != PG_TENSOR_DEALLOC || c->address == r->address))
        return true;
    pg_stop(r->w, r->op, PTXGEN_EEMULATOR,
            "CTA rank %u executes %s (%u columns) while CTA rank %u, the other of its pair, "
            "executes %s (%u columns): with .cta_group::2 both must execute the same",
            r->w->cta->rank, call_names[r->call], r->columns, partner->rank, call_names[c->call],
            c->columns);
    return false;
}

/* cta_group::2: the first of the pair to arrive notes that and waits, the second carries it out
 * for both. */
static pg_step execute_in_pair(request *r)
{
    pg_cta *cta = r->w->cta, *partner = pg_pair_of(cta);
    pg_tensor_pair_call *own = &cta->tensor->pair;
    if (own->call != PG_TENSOR_NO_CALL && own->warp != r->w)
        return wait_for(r->w, 0); /* another warp of this CTA is at it */
    if (own->call != PG_TENSOR_NO_CALL && own->done) {
        r->address = own->address;
        *own = (pg_tensor_pair_call){0};
        wake(cta);
        return PG_NEXT;
    }
    *own = (pg_tensor_pair_call){
        .call = r->call, .warp = r->w, .columns = r->columns, .address = r->address};
    cta->cluster->progress++;
    if (!partner->live_warps)
        return pg_stop(
            r->w, r->op, PTXGEN_EEMULATOR,
            "%s.cta_group::2 in CTA rank %u: CTA rank %u, the other of its pair, has exited",
            call_names[r->call], cta->rank, partner->rank);
    if (!partner->tensor || partner->tensor->pair.call == PG_TENSOR_NO_CALL ||
        partner->tensor->pair.done)
        return wait_for(r->w, 0);
    if (!check_partner(r, partner))
        return PG_STOP;
    const pg_step step = carry_out(r, (pg_cta *const[2]){cta, partner});
    if (step != PG_NEXT)
        return step;
    partner->tensor->pair.address = r->address;
    partner->tensor->pair.done = true;
    *own = (pg_tensor_pair_call){0};
    return PG_NEXT;
}

/* The operand's value; false: the lanes do not agree on it, the launch is stopped. */
static bool operand(pg_warp *w, const pg_op *op, pg_row row, uint32_t *value)
{
    const uint32_t *lanes = pg_row_at(w, row);
    for (uint32_t l = 1; l < PG_LANES; l++)
        if (lanes[l] != lanes[0]) {
            pg_stop(w, op, PTXGEN_EEMULATOR,
                    "an operand is %u in lane 0 and %u in lane %u: all lanes must give the same",
                    lanes[0], lanes[l], l);
            return false;
        }
    *value = lanes[0];
    return true;
}

/* Gathers the warp, checks the request and carries it out. The op's operands: see tcgen05.h. */
static pg_step execute(request *r, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    if (!pg_gather_whole_warp(r->w, r->op, lanes, &all, &step))
        return step;
    if (!pg_tensor_group(r->w, r->op, r->op->mode) ||
        (r->call != PG_TENSOR_RELINQUISH && !operand(r->w, r->op, r->op->b, &r->columns)) ||
        (r->call == PG_TENSOR_DEALLOC && !operand(r->w, r->op, r->op->a, &r->address)) ||
        !check_request(r))
        return PG_STOP;
    return r->op->mode == 2 ? execute_in_pair(r) : carry_out(r, (pg_cta *const[2]){r->w->cta});
}

pg_step pg_op_tcgen05_alloc(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    request r = {.w = w, .op = op, .call = PG_TENSOR_ALLOC};
    const pg_step step = execute(&r, lanes);
    if (step != PG_NEXT)
        return step;
    uint8_t *at[PG_LANES];
    PG_OBSERVE(w->launch, warp_barrier, w, op, PG_ALL_LANES);
    if (!pg_resolve(w, op, 1, sizeof r.address, PG_ACCESS_WRITE, at))
        return PG_STOP;
    memcpy(at[0], &r.address, sizeof r.address);
    PG_OBSERVE(w->launch, warp_barrier, w, op,
               PG_ALL_LANES); /* every lane has written the address, in its order */
    return PG_NEXT;
}

pg_step pg_op_tcgen05_dealloc(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    request r = {.w = w, .op = op, .call = PG_TENSOR_DEALLOC};
    return execute(&r, lanes);
}

pg_step pg_op_tcgen05_relinquish(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    request r = {.w = w, .op = op, .call = PG_TENSOR_RELINQUISH};
    return execute(&r, lanes);
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
