/* Runtime API: devices, errors, limits, versions. */
#include "stand_in/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 13000 };

PG_API(cudaError_t) cudaGetDeviceCount(int *count)
{
    PG_NEED(count);
    *count = pg_device_get() ? 1 : 0;
    return *count ? PG_CUDA_Success : pg_set_error(PG_CUDA_NoDevice);
}

PG_API(cudaError_t) cudaGetDevice(int *device)
{
    PG_NEED(device);
    *device = 0;
    return PG_CUDA_Success;
}

static cudaError_t check_device(int device)
{
    return pg_set_error(device == 0 ? PG_CUDA_Success : PG_CUDA_InvalidDevice);
}

PG_API(cudaError_t) cudaSetDevice(int device)
{
    return check_device(device);
}

PG_API(cudaError_t) cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return check_device(device);
}

PG_API(cudaError_t) cudaSetValidDevices(int *devices, int count)
{
    (void)devices, (void)count;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGetDeviceProperties(cudaDeviceProp *out, int device)
{
    PG_NEED(out);
    pg_device_properties(out);
    return check_device(device);
}

PG_API(cudaError_t) cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    PG_NEED(value);
    *value = pg_device_attribute(attribute);
    return check_device(device);
}

PG_API(cudaError_t) cudaChooseDevice(int *device, const cudaDeviceProp *wanted)
{
    PG_NEED(device && wanted);
    *device = 0;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaDeviceGetPCIBusId(char *out, int bytes, int device)
{
    PG_NEED(out && bytes > 12);
    snprintf(out, (size_t)bytes, "0000:%02x:00.0", (unsigned)pg_device_attribute(33));
    return check_device(device);
}

PG_API(cudaError_t) cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    PG_NEED(device && id);
    *device = 0;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaDeviceSynchronize(void)
{
    return pg_set_error(pg_synchronize());
}
PG_SAME(cudaThreadSynchronize, cudaDeviceSynchronize);

PG_API(cudaError_t) cudaDeviceReset(void)
{
    fflush(stdout);
    return PG_CUDA_Success;
}

/* Kept, so that a program reads what it wrote; nothing else depends on them. */
enum { LIMITS = 16 };
static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

PG_API(cudaError_t) cudaDeviceSetLimit(int limit, size_t value)
{
    PG_NEED(limit >= 0 && limit < LIMITS);
    limits[limit] = value;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaDeviceGetLimit(size_t *value, int limit)
{
    PG_NEED(value && limit >= 0 && limit < LIMITS);
    *value = limits[limit];
    return PG_CUDA_Success;
}

/* Settings without a meaning here. */
#define ACCEPTED(name, ...)                                                                        \
    PG_API(cudaError_t) name(__VA_ARGS__)                                                          \
    {                                                                                              \
        return PG_CUDA_Success;                                                                    \
    }
ACCEPTED(cudaSetDeviceFlags, unsigned flags)
ACCEPTED(cudaDeviceSetCacheConfig, int config)
ACCEPTED(cudaDeviceSetSharedMemConfig, int config)
ACCEPTED(cudaCtxResetPersistingL2Cache, void)
ACCEPTED(cudaProfilerStart, void)
ACCEPTED(cudaProfilerStop, void)
ACCEPTED(cudaDeviceFlushGPUDirectRDMAWrites, int target, int scope)

static cudaError_t give(int *out, int value)
{
    PG_NEED(out);
    *out = value;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGetDeviceFlags(unsigned *flags)
{
    return give((int *)flags, 0);
}

PG_API(cudaError_t) cudaDeviceGetCacheConfig(int *config)
{
    return give(config, 0);
}

PG_API(cudaError_t) cudaDeviceGetSharedMemConfig(int *config)
{
    return give(config, 1); /* banks of four bytes */
}

PG_API(cudaError_t) cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    return give(can, 0);
}

PG_API(cudaError_t) cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return pg_set_error(PG_CUDA_InvalidDevice);
}

PG_API(cudaError_t) cudaDeviceDisablePeerAccess(int peer)
{
    return pg_set_error(PG_CUDA_InvalidDevice);
}

PG_API(cudaError_t) cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
    return give(value, 0);
}

PG_API(cudaError_t) cudaDriverGetVersion(int *version)
{
    return give(version, VERSION);
}

PG_API(cudaError_t) cudaRuntimeGetVersion(int *version)
{
    return give(version, VERSION);
}

/* ---- errors ---- */

PG_API(cudaError_t) cudaGetLastError(void)
{
    return pg_last_error(true);
}

PG_API(cudaError_t) cudaPeekAtLastError(void)
{
    return pg_last_error(false);
}

PG_API(const char *) cudaGetErrorName(cudaError_t error)
{
    return pg_error_name((int)error);
}

PG_API(const char *) cudaGetErrorString(cudaError_t error)
{
    return pg_error_text((int)error);
}

/* ---- the driver's entry points ---- */

PG_API(cudaError_t)
cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version, uint64_t flags,
                                 int *status)
{
    PG_NEED(name && out);
    *out = pg_driver_function(name);
    if (status)
        *status = *out ? 0 : 1; /* 1: symbol not found */
    return *out || status ? PG_CUDA_Success : pg_set_error(PG_CUDA_SymbolNotFound);
}
PG_SAME(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);

PG_API(cudaError_t)
cudaGetDriverEntryPoint(const char *name, void **out, uint64_t flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(name, out, VERSION, flags, status);
}
PG_SAME(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);

PG_API(cudaError_t) cudaGetExportTable(const void **table, const void *id)
{
    return pg_refuse("cudaGetExportTable", "the runtime's private tables");
}
