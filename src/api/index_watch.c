/* Bad indices of a call's own record, told without waiting for the stream. */
#include "api/typed.h"

#include "base/error.h"

struct ptxgen_index_watch {
    pg_engine *engine;
    pg_watch look;
    bool under_way;
};

ptxgen_status ptxgen_index_watch_create(ptxgen *ctx, ptxgen_index_watch **out, ptxgen_error *err)
{
    pg_device *device;
    *out = NULL;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    ptxgen_index_watch *const w = pg_alloc_zero(&ctx->engine->alloc, sizeof *w);
    if (!w)
        return pg_fail_memory(err, sizeof *w);
    w->engine = ctx->engine;
    atomic_fetch_add(&ctx->engine->refs, 1);
    *out = w;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_index_watch_start(ptxgen_index_watch *w, ptxgen_bad_index *record,
                                       ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *const device = atomic_load(&w->engine->device);
    if (!record || (uintptr_t)record % 16)
        return pg_fail(err, PTXGEN_EINVAL,
                       "record is at %p: it must be non-NULL and aligned to 16 bytes",
                       (void *)record);
    if (w->under_way)
        return pg_fail(err, PTXGEN_EINVAL,
                       "a look is under way: poll until the answer is not EPENDING, or take "
                       "another watch");
    PG_TRY(device->ops->watch(device, &w->look, record, stream, err));
    w->under_way = true;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_index_watch_poll(ptxgen_index_watch *w, ptxgen_error *err)
{
    pg_device *const device = atomic_load(&w->engine->device);
    pg_bad_index bad;
    bool done;
    if (!w->under_way)
        return pg_fail(err, PTXGEN_EINVAL, "no look is under way: start one first");
    PG_TRY(device->ops->watched(device, &w->look, &done, &bad, err));
    if (!done)
        return pg_fail(err, PTXGEN_EPENDING,
                       "the stream has not come to this look yet: poll again later");
    w->under_way = false;
    return ptxgen_bad_index_error(&(ptxgen_bad_index){.position = bad.position, .value = bad.value},
                                  err);
}

void ptxgen_index_watch_destroy(ptxgen_index_watch *w)
{
    if (!w)
        return;
    pg_engine *const engine = w->engine;
    pg_device *const device = atomic_load(&engine->device);
    device->ops->unwatch(device, &w->look);
    pg_free(&engine->alloc, w, sizeof *w);
    pg_engine_unref(engine);
}
