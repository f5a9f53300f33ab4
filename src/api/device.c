/* The public device calls: each finds the context's device and hands on. */
#include "api/context.h"

#include "base/error.h"

#include <string.h>

ptxgen_status ptxgen_device_get_info(ptxgen *ctx, ptxgen_device_info *info, ptxgen_error *err)
{
    pg_device *d;
    const ptxgen_device_info *found;
    const size_t size = info->size < sizeof *found ? info->size : sizeof *found;
    PG_TRY(pg_context_device(ctx, &d, err));
    PG_TRY(d->ops->info(d, &found, err));
    memcpy(info, found, size);
    info->size = size;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_device_alloc(ptxgen *ctx, size_t bytes, void **out, ptxgen_error *err)
{
    pg_device *d;
    *out = NULL;
    PG_TRY(pg_context_device(ctx, &d, err));
    return d->ops->alloc(d, bytes, out, err);
}

void ptxgen_device_free(ptxgen *ctx, void *p)
{
    pg_device *d = atomic_load(&ctx->device);
    if (d && p)
        d->ops->free(d, p);
}

ptxgen_status ptxgen_device_upload(ptxgen *ctx, void *device, const void *host, size_t bytes,
                                   ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_context_device(ctx, &d, err));
    if (bytes && (!device || !host))
        return pg_fail(err, PTXGEN_EINVAL, "upload of %zu bytes: %s is NULL", bytes,
                       device ? "host" : "device");
    return bytes ? d->ops->upload(d, device, host, bytes, err) : PTXGEN_OK;
}

ptxgen_status ptxgen_device_download(ptxgen *ctx, void *host, const void *device, size_t bytes,
                                     ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_context_device(ctx, &d, err));
    if (bytes && (!device || !host))
        return pg_fail(err, PTXGEN_EINVAL, "download of %zu bytes: %s is NULL", bytes,
                       device ? "host" : "device");
    return bytes ? d->ops->download(d, host, device, bytes, err) : PTXGEN_OK;
}

ptxgen_status ptxgen_synchronize(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_context_device(ctx, &d, err));
    return d->ops->synchronize(d, stream, err);
}

bool ptxgen_part_at(ptxgen *ctx, size_t i, ptxgen_part *out)
{
    return pg_toolkit_part(ctx->toolkit, i, out);
}

void ptxgen_cache_get_info(ptxgen *ctx, ptxgen_cache_info *info)
{
    ptxgen_cache_info i = {.size = info->size};
    pg_cache_fill_info(ctx->cache, &i);
    i.on_disk = i.dir[0] != 0;
    i.dir = ctx->cache_dir;
    pg_kernel_table_counts(ctx->kernels, &i.memory_hits, &i.entries);
    i.memory_hits += pg_text_memo_hits(ctx->texts);
    i.failure_hits += pg_refusals_hits(ctx->refusals);
    i.misses = atomic_load(&ctx->misses);
    i.rejected = atomic_load(&ctx->rejected);
    i.pending = pg_compile_pool_pending(ctx->pool);
    memcpy(info, &i, info->size < sizeof i ? info->size : sizeof i);
}

ptxgen_status ptxgen_cache_clear(ptxgen *ctx, bool disk, ptxgen_error *err)
{
    pg_compile_pool_forget(ctx->pool);
    pg_refusals_clear(ctx->refusals);
    pg_text_memo_clear(ctx->texts);
    pg_kernel_table_clear(ctx->kernels);
    return disk ? pg_cache_clear(ctx->cache, err) : PTXGEN_OK;
}
