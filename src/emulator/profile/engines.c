/* Which unit carries an asynchronous operation out, and the bytes that it moves. */
#include "emulator/profile/profile.h"

#include "emulator/copy/copies.h"
#include "emulator/matrix/wgmma_op.h"

const char *pg_engine_name(pg_engine engine)
{
    static const char *const names[PG_ENGINE_COUNT] = {[PG_ENGINE_CP_ASYNC] = "cp.async",
                                                       [PG_ENGINE_BULK] = "cp.async.bulk",
                                                       [PG_ENGINE_TENSOR] = "cp.async.bulk.tensor",
                                                       [PG_ENGINE_REMOTE] = "st.async",
                                                       [PG_ENGINE_WGMMA] = "wgmma",
                                                       [PG_ENGINE_TCGEN05] = "tcgen05",
                                                       [PG_ENGINE_TENSOR_LOAD] = "tcgen05.ld",
                                                       [PG_ENGINE_TENSOR_STORE] = "tcgen05.st",
                                                       [PG_ENGINE_OTHER] = "other"};
    return names[engine];
}

static uint32_t receivers(uint16_t cta_mask)
{
    return cta_mask ? (uint32_t)__builtin_popcount(cta_mask) : 1;
}

static pg_engine use_bulk(const pg_async *a, pg_engine_use *use)
{
    const pg_async_bulk *b = (const pg_async_bulk *)a;
    if (a->kind == &pg_kind_bulk_store || a->kind == &pg_kind_bulk_reduce) {
        use->shared_read = b->bytes;
        use->global_written = b->bytes;
    } else {
        const bool from_shared =
            a->kind == &pg_kind_bulk_reduce_shared ||
            ((const pg_bulk_operands *)a->op->extra)->source.space == PG_MEM_SHARED;
        *(from_shared ? &use->shared_read : &use->global_read) = b->bytes;
        use->shared_written = (uint64_t)b->bytes * receivers(b->cta_mask);
    }
    return PG_ENGINE_BULK;
}

static pg_engine use_tensor(const pg_async *a, pg_engine_use *use)
{
    const pg_async_tensor *t = (const pg_async_tensor *)a;
    const uint64_t bytes = pg_async_tensor_box_bytes(t);
    if (a->kind == &pg_kind_tensor_load) {
        use->global_read = bytes;
        use->shared_written = bytes * receivers(t->cta_mask);
    } else {
        use->shared_read = bytes;
        use->global_written = bytes;
    }
    return PG_ENGINE_TENSOR;
}

pg_engine pg_engine_use_of(const pg_async *a, pg_engine_use *use)
{
    const pg_async_kind *k = a->kind;
    if (k == &pg_kind_bulk_load || k == &pg_kind_bulk_store || k == &pg_kind_bulk_reduce ||
        k == &pg_kind_bulk_reduce_shared)
        return use_bulk(a, use);
    if (k == &pg_kind_tensor_load || k == &pg_kind_tensor_store || k == &pg_kind_tensor_reduce)
        return use_tensor(a, use);
    if (k == &pg_kind_copy) {
        const pg_async_copy *c = (const pg_async_copy *)a;
        for (uint32_t l = 0; l < PG_LANES; l++) {
            use->global_read += c->lanes >> l & 1 ? c->source_bytes[l] : 0;
            use->shared_written += c->lanes >> l & 1 ? c->bytes : 0;
        }
        return PG_ENGINE_CP_ASYNC;
    }
    if (k == &pg_kind_remote) {
        use->shared_written = ((const pg_async_remote *)a)->bytes;
        return PG_ENGINE_REMOTE;
    }
    if (k == &pg_kind_mma)
        return PG_ENGINE_WGMMA;
    return k == &pg_kind_arrive || k == &pg_kind_cancel ? PG_ENGINE_OTHER : PG_ENGINE_TCGEN05;
}
