/* Driver API: start, devices, contexts, errors, entry points. */
#include "stand_in/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef pg_cuda_error CUresult;
enum { VERSION = 13000 };

typedef struct pg_context {
    unsigned flags;
} pg_context;

static pg_context primary;
static _Thread_local CUcontext stack[16];
static _Thread_local int depth;

PG_API(CUresult) cuInit(unsigned flags)
{
    return pg_device_get() ? PG_CUDA_Success : PG_CUDA_NoDevice;
}

static CUresult give(int *out, int value)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = value;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDriverGetVersion(int *version)
{
    return give(version, VERSION);
}

PG_API(CUresult) cuDeviceGetCount(int *count)
{
    return give(count, pg_device_get() ? 1 : 0);
}

PG_API(CUresult) cuDeviceGet(CUdevice *device, int ordinal)
{
    return ordinal ? PG_CUDA_InvalidDevice : give(device, 0);
}

PG_API(CUresult) cuDeviceGetName(char *out, int bytes, CUdevice device)
{
    cudaDeviceProp p;
    if (!out || bytes < 1)
        return PG_CUDA_InvalidValue;
    pg_device_properties(&p);
    snprintf(out, (size_t)bytes, "%s", p.name);
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDeviceGetUuid_v2(char *out, CUdevice device)
{
    cudaDeviceProp p;
    if (!out)
        return PG_CUDA_InvalidValue;
    pg_device_properties(&p);
    memcpy(out, p.uuid, sizeof p.uuid);
    return PG_CUDA_Success;
}
PG_SAME(cuDeviceGetUuid, cuDeviceGetUuid_v2);

PG_API(CUresult) cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const pg_device *d = pg_device_get();
    if (!bytes || !d)
        return PG_CUDA_InvalidValue;
    *bytes = d->settings.memory;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    return give(value, pg_device_attribute(attribute));
}

PG_API(CUresult) cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    give(major, pg_device_attribute(75));
    return give(minor, pg_device_attribute(76));
}

PG_API(CUresult) cuDeviceGetPCIBusId(char *out, int bytes, CUdevice device)
{
    if (!out || bytes < 13)
        return PG_CUDA_InvalidValue;
    snprintf(out, (size_t)bytes, "0000:%02x:00.0", (unsigned)pg_device_attribute(33));
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    return give(can, 0);
}

/* ---- contexts: there is one ---- */

PG_API(CUresult) cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = &primary;
    return pg_device_get() ? PG_CUDA_Success : PG_CUDA_NoDevice;
}

PG_API(CUresult) cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    primary.flags = flags;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    if (flags)
        *flags = primary.flags;
    return give(active, 1);
}

PG_API(CUresult) cuCtxGetCurrent(CUcontext *out)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = depth ? stack[depth - 1] : NULL;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuCtxSetCurrent(CUcontext context)
{
    depth = context ? 1 : 0;
    stack[0] = context;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuCtxPushCurrent_v2(CUcontext context)
{
    if (depth == (int)(sizeof stack / sizeof *stack))
        return PG_CUDA_InvalidValue;
    stack[depth++] = context;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuCtxPopCurrent_v2(CUcontext *out)
{
    if (!depth)
        return PG_CUDA_DeviceUninitialized;
    depth--;
    if (out)
        *out = stack[depth];
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuCtxCreate_v4(CUcontext *out, const void *params, unsigned flags, CUdevice device)
{
    const CUresult error = cuDevicePrimaryCtxRetain(out, device);
    return error ? error : cuCtxPushCurrent_v2(*out);
}

PG_API(CUresult) cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
    return cuCtxCreate_v4(out, NULL, flags, device);
}

PG_API(CUresult) cuCtxDestroy_v2(CUcontext context)
{
    if (depth && stack[depth - 1] == context)
        depth--;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuCtxGetDevice(CUdevice *device)
{
    return give(device, 0);
}

PG_API(CUresult) cuCtxGetFlags(unsigned *flags)
{
    return give((int *)flags, (int)primary.flags);
}

PG_API(CUresult) cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    return give((int *)version, 3020);
}

PG_API(CUresult) cuCtxSynchronize(void)
{
    return pg_synchronize();
}

PG_API(CUresult) cuCtxSetCacheConfig(int config)
{
    return PG_CUDA_Success;
}

PG_API(CUresult) cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    give(least, 0);
    return give(greatest, -5);
}

extern pg_cuda_error cudaDeviceSetLimit(int limit, size_t value);
extern pg_cuda_error cudaDeviceGetLimit(size_t *value, int limit);

PG_API(CUresult) cuCtxSetLimit(int limit, size_t value)
{
    return cudaDeviceSetLimit(limit, value);
}

PG_API(CUresult) cuCtxGetLimit(size_t *value, int limit)
{
    return cudaDeviceGetLimit(value, limit);
}

PG_API(CUresult) cuProfilerStart(void)
{
    return PG_CUDA_Success;
}

PG_API(CUresult) cuProfilerStop(void)
{
    return PG_CUDA_Success;
}

/* ---- errors ---- */

PG_API(CUresult) cuGetErrorName(CUresult error, const char **out)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = pg_driver_error_name((int)error);
    return *out ? PG_CUDA_Success : PG_CUDA_InvalidValue;
}

PG_API(CUresult) cuGetErrorString(CUresult error, const char **out)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = pg_error_text((int)error);
    return PG_CUDA_Success;
}

/* ---- entry points ---- */

void *pg_driver_function(const char *name)
{
    /* The newest form of a name is the one that cuda.h means by it. */
    static const char *const forms[] = {"%s_v4", "%s_v3", "%s_v2", "%s"};
    char text[128];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, forms[i], name);
        void *found = dlsym(RTLD_DEFAULT, text);
        if (found)
            return found;
    }
    return NULL;
}

PG_API(CUresult)
cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    if (!name || !out)
        return PG_CUDA_InvalidValue;
    *out = pg_driver_function(name);
    if (status)
        *status = *out ? 0 : 1; /* 1: symbol not found */
    return *out || status ? PG_CUDA_Success : PG_CUDA_SymbolNotFound;
}

PG_API(CUresult) cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

PG_API(CUresult) cuGetExportTable(const void **table, const void *id)
{
    return pg_refuse("cuGetExportTable", "the driver's private tables");
}
