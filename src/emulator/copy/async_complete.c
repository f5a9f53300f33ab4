/* What asynchronous operations do when they complete: move bytes between shared and global
 * memory, combine, walk the box of a tensor map, and signal the mbarrier. */
#include "emulator/copy/copies.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
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

void pg_async_tensor_walk(const pg_async_tensor *t, pg_tensor_walk *walk)
{
    if (t->map.pixels)
        pg_tensor_walk_start_pixels(walk, &t->map, t->coords, t->offsets);
    else
        (t->four_rows ? pg_tensor_walk_start_rows : pg_tensor_walk_start)(walk, &t->map, t->coords);
}

uint32_t pg_async_tensor_box_bytes(const pg_async_tensor *t)
{
    return pg_tensor_box_bytes(&t->map) * (t->four_rows ? PG_TENSOR_ROWS : 1);
}

static bool deliver_bulk(pg_async *a, pg_cta *cta)
{
    pg_async_bulk *b = (pg_async_bulk *)a;
    uint8_t *target = b->cta_mask ? cta->shared + PG_SHARED_OFFSET(b->target_address) : b->target;
    memmove(target, b->source, b->bytes);
    return pg_async_signal_for(a, cta->rank);
}

static bool complete_bulk_load(pg_async *a)
{
    note_arrival(a);
    return pg_async_each_target(a, ((pg_async_bulk *)a)->target_cta, deliver_bulk);
}

static bool read_bulk(pg_async *a)
{
    const pg_async_bulk *b = (const pg_async_bulk *)a;
    if (!pg_async_stage(a, b->bytes))
        return false;
    memcpy(a->staging, b->source, b->bytes);
    return true;
}

static bool complete_bulk_store(pg_async *a)
{
    const pg_async_bulk *b = (const pg_async_bulk *)a;
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
    const pg_async_bulk *b = (const pg_async_bulk *)a;
    const uint8_t *source = a->staging ? a->staging : b->source;
    if (!(is_contended(a) ? pg_reduce_bytes_atomic : pg_reduce_bytes)(b->reduce, b->type, b->target,
                                                                      source, b->bytes))
        return unsupported_reduction(a);
    note_arrival(a);
    return a->kind->bulk_group || pg_mbarrier_signal_completion(a->warp, a->op, &b->signal);
}

/* The host address of a row's valid part; false: reported. */
static bool row_memory(pg_async *a, const pg_tensor_row *row, bool write, uint8_t **global)
{
    const pg_async_tensor *t = (const pg_async_tensor *)a;
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
    const pg_async_tensor *t = (const pg_async_tensor *)a;
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
    return pg_async_signal_for(a, cta->rank);
}

static bool complete_tensor_load(pg_async *a)
{
    note_arrival(a);
    return pg_async_each_target(a, ((pg_async_tensor *)a)->target_cta, deliver_tensor);
}

static bool complete_tensor_store(pg_async *a)
{
    const pg_async_tensor *t = (const pg_async_tensor *)a;
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
        if (a->kind == &pg_kind_tensor_store)
            pg_tensor_store_row(&copy, &row, global);
        else if (!pg_tensor_reduce_row(&copy, t->reduce, &row, global))
            return unsupported_reduction(a);
    }
    return true;
}

static bool complete_copy(pg_async *a)
{
    const pg_async_copy *c = (const pg_async_copy *)a;
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
    return pg_mbarrier_signal_completion(a->warp, a->op, &((pg_async_arrive *)a)->signal);
}

static bool complete_remote(pg_async *a)
{
    const pg_async_remote *r = (const pg_async_remote *)a;
    if (!r->is_reduction)
        memcpy(r->target, r->data, r->bytes);
    else if (!pg_reduce_bytes(r->reduce, r->type, r->target, r->data, r->bytes))
        return unsupported_reduction(a);
    note_arrival(a);
    return pg_mbarrier_signal_completion(a->warp, a->op, &r->signal);
}

/* ---- the kinds ---- */

/* cp.async.mbarrier.arrive comes after the thread's earlier cp.async. */
static bool arrive_follows(const pg_async *a, const pg_async *before)
{
    return before->warp == a->warp && before->kind == &pg_kind_copy &&
           (((const pg_async_copy *)before)->lanes >> a->lane & 1);
}

static pg_async_targets bulk_targets(const pg_async *a)
{
    const pg_async_bulk *b = (const pg_async_bulk *)a;
    return (pg_async_targets){&b->signal, b->cta_mask, false};
}

static pg_async_targets tensor_targets(const pg_async *a)
{
    const pg_async_tensor *t = (const pg_async_tensor *)a;
    return (pg_async_targets){&t->signal, t->cta_mask, t->pair};
}

static pg_async_targets remote_targets(const pg_async *a)
{
    return (pg_async_targets){&((const pg_async_remote *)a)->signal, 0, false};
}

const pg_async_kind pg_kind_bulk_load = {
    .bytes = sizeof(pg_async_bulk), .complete = complete_bulk_load, .targets = bulk_targets};
const pg_async_kind pg_kind_bulk_store = {.bytes = sizeof(pg_async_bulk),
                                          .complete = complete_bulk_store,
                                          .read = read_bulk,
                                          .bulk_group = true};
const pg_async_kind pg_kind_bulk_reduce = {.bytes = sizeof(pg_async_bulk),
                                           .complete = complete_bulk_reduce,
                                           .read = read_bulk,
                                           .bulk_group = true};
const pg_async_kind pg_kind_bulk_reduce_shared = {
    .bytes = sizeof(pg_async_bulk), .complete = complete_bulk_reduce, .targets = bulk_targets};
const pg_async_kind pg_kind_tensor_load = {
    .bytes = sizeof(pg_async_tensor), .complete = complete_tensor_load, .targets = tensor_targets};
const pg_async_kind pg_kind_tensor_store = {
    .bytes = sizeof(pg_async_tensor), .complete = complete_tensor_store, .bulk_group = true};
const pg_async_kind pg_kind_tensor_reduce = {
    .bytes = sizeof(pg_async_tensor), .complete = complete_tensor_store, .bulk_group = true};
const pg_async_kind pg_kind_copy = {.bytes = sizeof(pg_async_copy), .complete = complete_copy};
const pg_async_kind pg_kind_arrive = {
    .bytes = sizeof(pg_async_arrive), .complete = complete_arrive, .follows = arrive_follows};
const pg_async_kind pg_kind_remote = {
    .bytes = sizeof(pg_async_remote), .complete = complete_remote, .targets = remote_targets};
