/* Workspaces in stream order. They come from a pool of our own, one per context, which keeps
 * what it was given: the driver's default pool returns its memory at every synchronization, and
 * what it keeps is the program's to say. */
#include "device/cuda/device.h"

#include "base/error.h"

#include <stdio.h>

static ptxgen_status make_pool(pg_cuda *cuda, const pg_cuda_scope *scope, ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    const pg_cu_pool_settings settings = {.allocation = PG_CU_ALLOCATION_PINNED,
                                          .location = PG_CU_LOCATION_DEVICE,
                                          .device = scope->context->info.ordinal};
    unsigned long long keep = ~0ULL;
    pg_cu_pool pool, none = NULL;
    if (!d->cuMemPoolCreate || !d->cuMemAllocFromPoolAsync || !d->cuMemFreeAsync)
        return pg_driver_too_old(d, 11020, "memory in stream order", err);
    PG_TRY(pg_driver_check(d, d->cuMemPoolCreate(&pool, &settings),
                           "make a memory pool (pass a workspace instead)", err));
    const int result = d->cuMemPoolSetAttribute(pool, PG_CU_POOL_RELEASE_THRESHOLD, &keep);
    if (result == 0 && atomic_compare_exchange_strong(&scope->context->pool, &none, pool))
        return PTXGEN_OK;
    d->cuMemPoolDestroy(pool); /* it failed, or another thread was faster */
    return pg_driver_check(d, result, "set up the memory pool", err);
}

static ptxgen_status borrow_in(pg_cuda *cuda, const pg_cuda_scope *scope, size_t bytes,
                               pg_cu_pointer *out, ptxgen_error *err)
{
    char doing[80];
    if (!atomic_load_explicit(&scope->context->pool, memory_order_acquire)) {
        const int mode = pg_cuda_relax_capture(cuda->driver);
        const ptxgen_status status = make_pool(cuda, scope, err);
        pg_cuda_restore_capture(cuda->driver, mode);
        PG_TRY(status);
    }
    const pg_cu_pool pool = atomic_load_explicit(&scope->context->pool, memory_order_acquire);
    snprintf(doing, sizeof doing, "allocate a workspace of %zu bytes", bytes);
    return pg_driver_check(cuda->driver,
                           cuda->driver->cuMemAllocFromPoolAsync(out, bytes, pool, scope->stream),
                           doing, err);
}

ptxgen_status pg_cuda_borrow(pg_device *device, size_t bytes, ptxgen_stream stream, void **out,
                             ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    pg_cu_pointer p = 0;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    scope.stream = stream;
    const ptxgen_status status = borrow_in(cuda, &scope, bytes, &p, err);
    pg_cuda_leave(&scope);
    *out = (void *)(uintptr_t)p;
    return status;
}

ptxgen_status pg_cuda_give_back(pg_device *device, void *p, ptxgen_stream stream, ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    const int result = cuda->driver->cuMemFreeAsync((pg_cu_pointer)(uintptr_t)p, stream);
    pg_cuda_leave(&scope);
    return pg_driver_check(cuda->driver, result, "give the workspace back", err);
}
