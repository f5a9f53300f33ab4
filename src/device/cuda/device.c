/* The CUDA device: its table, life, and the questions about it. */
#include "device/cuda/device.h"

#include "base/error.h"

static void destroy(pg_device *device)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_alloc alloc = cuda->alloc;
    pg_cuda_contexts_fini(&cuda->contexts);
    pg_driver_close(&alloc, cuda->driver);
    pg_free(&alloc, cuda, sizeof *cuda);
}

static ptxgen_status info(pg_device *device, const ptxgen_device_info **out, ptxgen_error *err)
{
    pg_cuda_context *context;
    PG_TRY(pg_cuda_find(&((pg_cuda *)device)->contexts, &context, err));
    *out = &context->info;
    return PTXGEN_OK;
}

static ptxgen_status capturing(pg_device *device, ptxgen_stream stream, bool *out,
                               ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    ptxgen_status status = pg_cuda_capturing(cuda->driver, stream, out, err);
    pg_cuda_leave(&scope);
    return status;
}

static ptxgen_status where(pg_device *device, void **out, ptxgen_error *err)
{
    pg_cuda_context *context;
    PG_TRY(pg_cuda_find(&((pg_cuda *)device)->contexts, &context, err));
    *out = context->handle;
    return PTXGEN_OK;
}

static ptxgen_status enter(pg_device *device, void *context, ptxgen_error *err)
{
    const pg_driver *d = ((pg_cuda *)device)->driver;
    return pg_driver_check(d, d->cuCtxPushCurrent(context), "make the call's context current", err);
}

static void leave(pg_device *device, void *context)
{
    pg_cu_context popped;
    (void)context;
    ((pg_cuda *)device)->driver->cuCtxPopCurrent(&popped);
}

static const pg_device_ops ops = {
    .kind = PTXGEN_DEVICE_CUDA,
    .destroy = destroy,
    .info = info,
    .capturing = capturing,
    .load = pg_cuda_load,
    .where = where,
    .enter = enter,
    .leave = leave,
    .ready = pg_cuda_ready,
    .unload = pg_cuda_unload,
    .launch = pg_cuda_launch,
    .borrow = pg_cuda_borrow,
    .give_back = pg_cuda_give_back,
    .alloc = pg_cuda_alloc,
    .free = pg_cuda_free,
    .upload = pg_cuda_upload,
    .download = pg_cuda_download,
    .synchronize = pg_cuda_synchronize,
    .time = pg_cuda_time,
    .take_bad_index = pg_cuda_take_bad_index,
    .watch = pg_cuda_watch,
    .watched = pg_cuda_watched,
    .unwatch = pg_cuda_unwatch,
};

static ptxgen_status expect_device(const pg_driver *d, ptxgen_error *err)
{
    int count = 0;
    PG_TRY(pg_driver_check(d, d->cuDeviceGetCount(&count), "count the devices", err));
    if (count == 0)
        return pg_driver_check(d, PG_CU_ERROR_NO_DEVICE, "find a device", err);
    return PTXGEN_OK;
}

ptxgen_status pg_cuda_device_open(const pg_alloc *alloc, const pg_log *log, const char *library,
                                  pg_device **out, ptxgen_error *err)
{
    *out = NULL;
    pg_driver *driver;
    PG_TRY(pg_driver_open(alloc, library, &driver, err));
    ptxgen_status status = expect_device(driver, err);
    pg_cuda *cuda = status == PTXGEN_OK ? pg_alloc_zero(alloc, sizeof *cuda) : NULL;
    if (!cuda) {
        pg_driver_close(alloc, driver);
        return status == PTXGEN_OK ? pg_fail_memory(err, sizeof *cuda) : status;
    }
    cuda->base.ops = &ops;
    cuda->alloc = *alloc;
    cuda->log = *log;
    cuda->driver = driver;
    pg_cuda_contexts_init(&cuda->contexts, &cuda->alloc, driver);
    pg_log_line(log, PTXGEN_LOG_INFO, "CUDA driver %s, CUDA %d.%d", pg_driver_path(driver),
                driver->version / 1000, driver->version % 1000 / 10);
    *out = &cuda->base;
    return PTXGEN_OK;
}

ptxgen_status pg_cuda_device_create(const pg_alloc *alloc, const pg_log *log, pg_device **out,
                                    ptxgen_error *err)
{
    return pg_cuda_device_open(alloc, log, NULL, out, err);
}
