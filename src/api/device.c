/* The public device calls: each finds the context's device and hands on. */
#include "api/context.h"

#include "base/error.h"
#include "base/sized.h"

ptxgen_status ptxgen_device_get_info(ptxgen *ctx, ptxgen_device_info *info, ptxgen_error *err)
{
    pg_device *d;
    const ptxgen_device_info *found;
    PG_TRY(pg_engine_device(ctx->engine, &d, err));
    PG_TRY(d->ops->info(d, &found, err));
    pg_sized_give(info, found, sizeof *found);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_device_alloc(ptxgen *ctx, size_t bytes, void **out, ptxgen_error *err)
{
    pg_device *d;
    *out = NULL;
    PG_TRY(pg_engine_device(ctx->engine, &d, err));
    return d->ops->alloc(d, bytes, out, err);
}

void ptxgen_device_free(ptxgen *ctx, void *p)
{
    pg_device *d = atomic_load(&ctx->engine->device);
    if (d && p)
        d->ops->free(d, p);
}

ptxgen_status ptxgen_device_upload(ptxgen *ctx, void *device, const void *host, size_t bytes,
                                   ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_engine_device(ctx->engine, &d, err));
    if (bytes && (!device || !host))
        return pg_fail(err, PTXGEN_EINVAL, "upload of %zu bytes: %s is NULL", bytes,
                       device ? "host" : "device");
    return bytes ? d->ops->upload(d, device, host, bytes, err) : PTXGEN_OK;
}

ptxgen_status ptxgen_device_download(ptxgen *ctx, void *host, const void *device, size_t bytes,
                                     ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_engine_device(ctx->engine, &d, err));
    if (bytes && (!device || !host))
        return pg_fail(err, PTXGEN_EINVAL, "download of %zu bytes: %s is NULL", bytes,
                       device ? "host" : "device");
    return bytes ? d->ops->download(d, host, device, bytes, err) : PTXGEN_OK;
}

ptxgen_status ptxgen_synchronize(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *d;
    PG_TRY(pg_engine_device(ctx->engine, &d, err));
    return d->ops->synchronize(d, stream, err);
}
