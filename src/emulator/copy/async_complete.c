/* What asynchronous operations do when they complete: move bytes between shared and global memory, combine,
 * walk the box of a tensor map, and signal the mbarrier. */
#include "emulator/machine/async.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/matrix/wgmma_op.h"
#include "emulator/machine/observer.h"

/* The checker must know before any thread can be told. */
static void note_arrival(pg_async *a)
{
    PG_OBSERVE(a->warp->launch, async_arriving, a);
}

static bool unsupported_reduction(pg_async *a)
{
    pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
            "this combination of reduction and type does not exist");
    return false;
}

/* The CTAs that receive a load, and what happens at each. */
static bool each_target(pg_async *a, uint16_t mask, pg_cta *single,
                        bool (*deliver)(pg_async *, pg_cta *))
{
    if (!mask)
        return deliver(a, single);
    pg_cluster *c = a->warp->cta->cluster;
    for (uint32_t rank = 0; rank < c->cta_count; rank++)
        if ((mask >> rank & 1) && !deliver(a, &c->ctas[rank]))
            return false;
    return true;
}

uint16_t pg_async_cta_mask(const pg_async *a)
{
    return a->kind == PG_ASYNC_BULK_LOAD        ? a->u.bulk.cta_mask
           : a->kind == PG_ASYNC_TENSOR_LOAD    ? a->u.tensor.cta_mask
           : a->kind == PG_ASYNC_CANCEL         ? a->u.cancel.cta_mask
           : a->kind == PG_ASYNC_TCGEN05_COMMIT ? a->u.tcgen05_commit.cta_mask
                                                : 0;
}

pg_cta *pg_async_signalled_cta(const pg_async *a, const pg_mbarrier_signal *signal, uint32_t rank)
{
    if (!pg_async_cta_mask(a))
        return signal->cta;
    const bool pair = a->kind == PG_ASYNC_TENSOR_LOAD && a->u.tensor.pair;
    return &a->warp->cta->cluster->ctas[pair ? (rank & ~1u) | (signal->cta->rank & 1) : rank];
}

void pg_async_tensor_walk(const pg_async_tensor *t, pg_tensor_walk *walk)
{
    (t->four_rows ? pg_tensor_walk_start_rows : pg_tensor_walk_start)(walk, &t->map, t->coords);
}

uint32_t pg_async_tensor_box_bytes(const pg_async_tensor *t)
{
    return pg_tensor_box_bytes(&t->map) * (t->four_rows ? PG_TENSOR_ROWS : 1);
}

/* The barrier of the target CTA of rank `rank`. */
static bool signal_for(pg_async *a, const pg_mbarrier_signal *signal, uint32_t rank)
{
    pg_mbarrier_signal s = *signal;
    s.cta = pg_async_signalled_cta(a, signal, rank);
    return pg_mbarrier_signal_completion(a->warp, a->op, &s);
}

static bool deliver_bulk(pg_async *a, pg_cta *cta)
{
    pg_async_bulk *b = &a->u.bulk;
    uint8_t *target = b->cta_mask ? cta->shared + PG_SHARED_OFFSET(b->target_address) : b->target;
    memmove(target, b->source, b->bytes);
    return signal_for(a, &b->signal, cta->rank);
}

static bool complete_bulk_load(pg_async *a)
{
    note_arrival(a);
    return each_target(a, a->u.bulk.cta_mask, a->u.bulk.target_cta, deliver_bulk);
}

bool pg_async_read(pg_async *a)
{
    pg_async_bulk *b = &a->u.bulk;
    a->staging = pg_alloc_zero(a->warp->launch->alloc, b->bytes);
    if (!a->staging) {
        pg_stop_memory(a->warp->launch, b->bytes);
        return false;
    }
    memcpy(a->staging, b->source, b->bytes);
    return true;
}

static bool complete_bulk_store(pg_async *a)
{
    const pg_async_bulk *b = &a->u.bulk;
    const uint8_t *source = a->staging ? a->staging : b->source;
    if (b->byte_mask == UINT16_MAX)
        memcpy(b->target, source, b->bytes);
    else
        for (uint32_t i = 0; i < b->bytes; i++)
            if (b->byte_mask >> i % 16 & 1)
                b->target[i] = source[i];
    return true;
}

/* Other host threads may reduce into the same global memory. */
static bool is_contended(const pg_async *a)
{
    return a->warp->launch->host_threads > 1;
}

static bool complete_bulk_reduce(pg_async *a)
{
    const pg_async_bulk *b = &a->u.bulk;
    const uint8_t *source = a->staging ? a->staging : b->source;
    if (!(is_contended(a) ? pg_reduce_bytes_atomic : pg_reduce_bytes)(b->reduce, b->type, b->target,
                                                                      source, b->bytes))
        return unsupported_reduction(a);
    note_arrival(a);
    return !b->to_shared || pg_mbarrier_signal_completion(a->warp, a->op, &b->signal);
}

/* The host address of a row's valid part; false: reported. */
static bool row_memory(pg_async *a, const pg_tensor_row *row, bool write, uint8_t **global)
{
    const pg_async_tensor *t = &a->u.tensor;
    *global = NULL;
    if (!row->valid)
        return true;
    const uint32_t bytes = pg_tensor_row_global_bytes(&t->map, row);
    *global = pg_global_at(a->warp->cta->cluster->worker, row->global, bytes, write);
    if (*global)
        return true;
    pg_stop_fault(a->warp, a->op,
                  &(pg_fault){.lane = a->lane,
                              .space = PG_MEM_GLOBAL,
                              .address = row->global,
                              .bytes = bytes,
                              .write = write,
                              .what = "(a row of the tensor map's box) is out of bounds"});
    return false;
}

static bool deliver_tensor(pg_async *a, pg_cta *cta)
{
    const pg_async_tensor *t = &a->u.tensor;
    const pg_tensor_copy copy = {&t->map, cta->shared, t->box_address, false};
    pg_tensor_walk walk;
    pg_tensor_row row;
    pg_async_tensor_walk(t, &walk);
    while (pg_tensor_walk_next(&walk, &row)) {
        uint8_t *global;
        if (!row_memory(a, &row, false, &global))
            return false;
        pg_tensor_load_row(&copy, &row, global);
    }
    return signal_for(a, &t->signal, cta->rank);
}

static bool complete_tensor_load(pg_async *a)
{
    note_arrival(a);
    return each_target(a, a->u.tensor.cta_mask, a->u.tensor.target_cta, deliver_tensor);
}

static bool complete_tensor_store(pg_async *a)
{
    const pg_async_tensor *t = &a->u.tensor;
    const pg_tensor_copy copy = {&t->map, a->warp->cta->shared, t->box_address, is_contended(a)};
    pg_tensor_walk walk;
    pg_tensor_row row;
    pg_async_tensor_walk(t, &walk);
    while (pg_tensor_walk_next(&walk, &row)) {
        uint8_t *global;
        if (!row.valid)
            continue;
        if (!row_memory(a, &row, true, &global))
            return false;
        if (a->kind == PG_ASYNC_TENSOR_STORE)
            pg_tensor_store_row(&copy, &row, global);
        else if (!pg_tensor_reduce_row(&copy, t->reduce, &row, global))
            return unsupported_reduction(a);
    }
    return true;
}

static bool complete_copy(pg_async *a)
{
    const pg_async_copy *c = &a->u.copy;
    for (uint32_t left = c->lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        memset(c->target[l], 0, c->bytes);
        if (c->source_bytes[l])
            memcpy(c->target[l], c->source[l], c->source_bytes[l]);
    }
    return true;
}

static bool complete_arrive(pg_async *a)
{
    note_arrival(a);
    return pg_mbarrier_signal_completion(a->warp, a->op, &a->u.arrive);
}

static bool complete_remote(pg_async *a)
{
    const pg_async_remote *r = &a->u.remote;
    if (!r->is_reduction)
        memcpy(r->target, r->data, r->bytes);
    else if (!pg_reduce_bytes(r->reduce, r->type, r->target, r->data, r->bytes))
        return unsupported_reduction(a);
    note_arrival(a);
    return pg_mbarrier_signal_completion(a->warp, a->op, &r->signal);
}

/* The response is made once, then delivered to one CTA or to all of the cluster. */
static bool deliver_response(pg_async *a, pg_cta *cta)
{
    memcpy(cta->shared + a->u.cancel.offset, a->u.cancel.response, PG_CANCEL_RESPONSE_BYTES);
    return signal_for(a, &a->u.cancel.signal, cta->rank);
}

static bool complete_cancel(pg_async *a)
{
    pg_cancel_respond(a->warp->cta->cluster, a->u.cancel.response);
    note_arrival(a);
    return each_target(a, a->u.cancel.cta_mask, a->u.cancel.target_cta, deliver_response);
}

/* tcgen05.commit: one arrival at each barrier. */
static bool arrive_at(pg_async *a, pg_cta *cta)
{
    pg_mbarrier_signal s = a->u.tcgen05_commit.signal;
    s.cta = cta;
    return pg_mbarrier_signal_completion(a->warp, a->op, &s);
}

static bool complete_commit(pg_async *a)
{
    note_arrival(a);
    return each_target(a, a->u.tcgen05_commit.cta_mask, a->u.tcgen05_commit.signal.cta, arrive_at);
}

bool pg_async_complete(pg_async *a)
{
    static bool (*const complete[])(pg_async *) = {
        [PG_ASYNC_BULK_LOAD] = complete_bulk_load,
        [PG_ASYNC_BULK_STORE] = complete_bulk_store,
        [PG_ASYNC_BULK_REDUCE] = complete_bulk_reduce,
        [PG_ASYNC_TENSOR_LOAD] = complete_tensor_load,
        [PG_ASYNC_TENSOR_STORE] = complete_tensor_store,
        [PG_ASYNC_TENSOR_REDUCE] = complete_tensor_store,
        [PG_ASYNC_COPY] = complete_copy,
        [PG_ASYNC_ARRIVE] = complete_arrive,
        [PG_ASYNC_REMOTE] = complete_remote,
        [PG_ASYNC_CANCEL] = complete_cancel,
        [PG_ASYNC_MMA] = pg_wgmma_execute,
        [PG_ASYNC_TCGEN05_CP] = pg_tcgen05_cp_execute,
        [PG_ASYNC_TCGEN05_MMA] = pg_tcgen05_mma_execute,
        [PG_ASYNC_TCGEN05_SHIFT] = pg_tcgen05_shift_execute,
        [PG_ASYNC_TCGEN05_COMMIT] = complete_commit,
    };
    return complete[a->kind](a);
}
