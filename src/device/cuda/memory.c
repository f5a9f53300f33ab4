/* Device memory and waiting, for tools, tests and first steps. */
#include "device/cuda/device.h"

#include "base/error.h"

#include <stdio.h>

ptxgen_status pg_cuda_alloc(pg_device *device, size_t bytes, void **out, ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    pg_cu_pointer p = 0;
    char doing[64];
    *out = NULL;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    int result = cuda->driver->cuMemAlloc(&p, bytes ? bytes : 1);
    pg_cuda_leave(&scope);
    snprintf(doing, sizeof doing, "allocate %zu bytes of device memory", bytes);
    PG_TRY(pg_driver_check(cuda->driver, result, doing, err));
    *out = (void *)(uintptr_t)p;
    return PTXGEN_OK;
}

void pg_cuda_free(pg_device *device, void *p)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    if (!p || pg_cuda_enter(&cuda->contexts, &scope, NULL) != PTXGEN_OK)
        return;
    cuda->driver->cuMemFree((pg_cu_pointer)(uintptr_t)p);
    pg_cuda_leave(&scope);
}

ptxgen_status pg_cuda_upload(pg_device *device, void *to, const void *from, size_t bytes,
                             ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    if (!bytes)
        return PTXGEN_OK;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    int result = cuda->driver->cuMemcpyHtoD((pg_cu_pointer)(uintptr_t)to, from, bytes);
    pg_cuda_leave(&scope);
    return pg_driver_check(cuda->driver, result, "copy to the device", err);
}

ptxgen_status pg_cuda_download(pg_device *device, void *to, const void *from, size_t bytes,
                               ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    if (!bytes)
        return PTXGEN_OK;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    int result = cuda->driver->cuMemcpyDtoH(to, (pg_cu_pointer)(uintptr_t)from, bytes);
    pg_cuda_leave(&scope);
    return pg_driver_check(cuda->driver, result, "copy from the device", err);
}

ptxgen_status pg_cuda_synchronize(pg_device *device, ptxgen_stream stream, ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    int result = cuda->driver->cuStreamSynchronize(stream);
    pg_cuda_leave(&scope);
    return pg_driver_check(cuda->driver, result, "wait for the stream", err);
}
