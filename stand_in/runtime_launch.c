/* Runtime API: launches, attributes of kernels, occupancy, libraries. */
#include "stand_in/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cudaError_t launch(cudaStream_t stream, pg_launch l)
{
    if (!l.function)
        return pg_set_error(PG_CUDA_InvalidDeviceFunction);
    pg_cuda_error error = pg_function_ready(l.function);
    if (!error)
        error = pg_submit(stream, &(pg_work){.kind = PG_WORK_LAUNCH, .launch = l});
    return pg_set_error(error);
}

PG_API(cudaError_t)
cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                 cudaStream_t stream)
{
    return launch(stream, (pg_launch){.function = pg_symbol_function(host),
                                      .grid = grid,
                                      .block = block,
                                      .dynamic_shared = shared,
                                      .args = args});
}
PG_SAME(cudaLaunchKernel_ptsz, cudaLaunchKernel);

/* What <<<>>> becomes from CUDA 13 on: the kernel comes from __cudaGetKernel. */
PG_API(cudaError_t)
__cudaLaunchKernel(cudaFunction_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                   cudaStream_t stream)
{
    return launch(stream, (pg_launch){.function = kernel,
                                      .grid = grid,
                                      .block = block,
                                      .dynamic_shared = shared,
                                      .args = args});
}
PG_SAME(__cudaLaunchKernel_ptsz, __cudaLaunchKernel);

PG_API(cudaError_t)
cudaLaunchCooperativeKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared,
                            cudaStream_t stream)
{
    return launch(stream, (pg_launch){.function = pg_symbol_function(host),
                                      .grid = grid,
                                      .block = block,
                                      .dynamic_shared = shared,
                                      .args = args,
                                      .cooperative = true});
}
PG_SAME(cudaLaunchCooperativeKernel_ptsz, cudaLaunchCooperativeKernel);

PG_API(cudaError_t)
cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **args)
{
    PG_NEED(config);
    pg_launch l = {.function = pg_symbol_function(host),
                   .grid = config->gridDim,
                   .block = config->blockDim,
                   .dynamic_shared = config->dynamicSmemBytes,
                   .args = args};
    pg_launch_attributes(&l, config->attrs, config->numAttrs);
    return launch(config->stream, l);
}
PG_SAME(cudaLaunchKernelExC_ptsz, cudaLaunchKernelExC);

/* ---- attributes ---- */

/* The function of a host stub, decoded; NULL with the error set. */
static pg_function *ready(const void *host)
{
    pg_function *f = pg_symbol_function(host);
    const pg_cuda_error error = f ? pg_function_ready(f) : PG_CUDA_InvalidDeviceFunction;
    pg_set_error(error);
    return error ? NULL : f;
}

/* Registers are ptxas's choice, which nothing here knows: what a thread may have at the block
 * size is told. */
int pg_registers_of(const pg_function *f)
{
    const int threads = f->info.max_threads ? (int)f->info.max_threads : 1024;
    const int most = pg_device_attribute(12) / threads;
    return most > 255 ? 255 : most;
}

PG_API(cudaError_t) cudaFuncGetAttributes(cudaFuncAttributes *out, const void *host)
{
    PG_NEED(out);
    const pg_function *f = ready(host);
    if (!f)
        return pg_last_error(false);
    const int version = pg_device_attribute(75) * 10 + pg_device_attribute(76);
    *out = (cudaFuncAttributes){
        .sharedSizeBytes = f->info.static_shared,
        .localSizeBytes = f->info.local,
        .maxThreadsPerBlock = f->info.max_threads ? (int)f->info.max_threads : 1024,
        .numRegs = pg_registers_of(f),
        .ptxVersion = version,
        .binaryVersion = version,
        .maxDynamicSharedSizeBytes = f->max_dynamic_shared,
        .preferredShmemCarveout = -1,
        .clusterDimMustBeSet = f->info.cluster[0] != 0,
        .requiredClusterWidth = (int)f->info.cluster[0],
        .requiredClusterHeight = (int)f->info.cluster[1],
        .requiredClusterDepth = (int)f->info.cluster[2],
        .nonPortableClusterSizeAllowed = f->cluster_of_any_size,
    };
    return PG_CUDA_Success;
}

pg_cuda_error pg_function_set_attribute(pg_function *f, int attribute, int value)
{
    enum { MAX_DYNAMIC_SHARED = 8, NON_PORTABLE_CLUSTER = 14 };
    if (attribute == MAX_DYNAMIC_SHARED) {
        const size_t most = (size_t)pg_device_attribute(97) - f->info.static_shared;
        if (value < 0 || (size_t)value > most)
            return PG_CUDA_InvalidValue;
        f->max_dynamic_shared = value;
    }
    if (attribute == NON_PORTABLE_CLUSTER)
        f->cluster_of_any_size = value != 0;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    pg_function *f = ready(host);
    return f ? pg_set_error(pg_function_set_attribute(f, attribute, value)) : pg_last_error(false);
}

PG_API(cudaError_t) cudaFuncSetCacheConfig(const void *host, int config)
{
    return ready(host) ? PG_CUDA_Success : pg_last_error(false);
}

PG_API(cudaError_t) cudaFuncSetSharedMemConfig(const void *host, int config)
{
    return ready(host) ? PG_CUDA_Success : pg_last_error(false);
}

PG_API(cudaError_t) cudaFuncGetName(const char **name, const void *host)
{
    PG_NEED(name);
    const pg_function *f = ready(host);
    *name = f ? f->name : NULL;
    return f ? PG_CUDA_Success : pg_last_error(false);
}

PG_API(cudaError_t)
cudaFuncGetParamInfo(const void *host, size_t index, size_t *offset, size_t *bytes)
{
    ptxgen_emulator_param p;
    const pg_function *f = ready(host);
    if (!f)
        return pg_last_error(false);
    PG_NEED(ptxgen_emulator_entry_param(f->entry, index, &p));
    if (offset)
        *offset = p.offset;
    if (bytes)
        *bytes = p.bytes;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) cudaGetFuncBySymbol(cudaFunction_t *out, const void *host)
{
    PG_NEED(out);
    *out = ready(host);
    return *out ? PG_CUDA_Success : pg_last_error(false);
}
PG_SAME(cudaGetKernel, cudaGetFuncBySymbol);

/* ---- occupancy ---- */

PG_API(cudaError_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *host, int threads,
                                                       size_t shared, unsigned flags)
{
    PG_NEED(blocks);
    const pg_function *f = ready(host);
    if (!f)
        return pg_last_error(false);
    *blocks = pg_occupancy(f, threads, shared);
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *host, int threads,
                                              size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, threads, shared, 0);
}

PG_API(cudaError_t)
cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *host, int blocks, int threads)
{
    PG_NEED(bytes && blocks > 0);
    const pg_function *f = ready(host);
    if (!f)
        return pg_last_error(false);
    const size_t each = (size_t)pg_device_attribute(81) / (size_t)blocks;
    const size_t taken = f->info.static_shared + (size_t)pg_device_attribute(111);
    const size_t most = (size_t)pg_device_attribute(97) - f->info.static_shared;
    *bytes = each > taken ? each - taken : 0;
    *bytes = *bytes < most ? *bytes : most;
    return PG_CUDA_Success;
}

PG_API(cudaError_t)
cudaOccupancyMaxPotentialClusterSize(int *size, const void *host, const cudaLaunchConfig_t *config)
{
    PG_NEED(size);
    const pg_function *f = ready(host);
    *size = f && f->cluster_of_any_size ? 16 : 8;
    return f ? PG_CUDA_Success : pg_last_error(false);
}

PG_API(cudaError_t)
cudaOccupancyMaxActiveClusters(int *clusters, const void *host, const cudaLaunchConfig_t *config)
{
    PG_NEED(clusters && config);
    const pg_function *f = ready(host);
    if (!f)
        return pg_last_error(false);
    pg_launch l = {.cluster = {f->info.cluster[0], f->info.cluster[1], f->info.cluster[2]}};
    pg_launch_attributes(&l, config->attrs, config->numAttrs);
    unsigned size = 1;
    for (int i = 0; i < 3; i++)
        size *= l.cluster[i] ? l.cluster[i] : 1;
    const int threads = (int)(config->blockDim.x * config->blockDim.y * config->blockDim.z);
    *clusters =
        pg_occupancy(f, threads, config->dynamicSmemBytes) * pg_device_attribute(16) / (int)size;
    return PG_CUDA_Success;
}
