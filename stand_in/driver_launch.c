/* Driver API: modules, libraries, kernels, launches, streams, events. */
#include "stand_in/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef pg_cuda_error CUresult;

/* ---- modules; a CUlibrary is one too ---- */

static CUresult load(pg_module **out, const void *image, const char *name)
{
    if (!out || !image)
        return PG_CUDA_InvalidValue;
    *out = pg_module_new(image, name);
    const CUresult error = *out ? pg_module_ready(*out) : PG_CUDA_MemoryAllocation;
    if (!error)
        return error;
    pg_module_free(*out);
    *out = NULL;
    return error;
}

PG_API(CUresult)
cuModuleLoadDataEx(pg_module **out, const void *image, unsigned count, int *options, void **values)
{
    return load(out, image, "module");
}
PG_API(CUresult) cuModuleLoadData(pg_module **out, const void *image)
{
    return load(out, image, "module");
}
PG_API(CUresult) cuModuleLoadFatBinary(pg_module **out, const void *image)
{
    return load(out, image, "module");
}

/* The whole file with a NUL behind it; NULL: it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        const long bytes = ftell(file);
        rewind(file);
        text = bytes >= 0 ? calloc(1, (size_t)bytes + 1) : NULL;
        if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

PG_API(CUresult) cuModuleLoad(pg_module **out, const char *path)
{
    char *image = path ? read_file(path) : NULL;
    if (!image)
        return PG_CUDA_FileNotFound;
    const CUresult error = load(out, image, path);
    free(image); /* it was read */
    return error;
}

PG_API(CUresult) cuModuleUnload(pg_module *module)
{
    pg_module_free(module);
    return PG_CUDA_Success;
}

PG_API(CUresult) cuModuleGetFunction(cudaFunction_t *out, pg_module *module, const char *name)
{
    pg_cuda_error error = PG_CUDA_InvalidValue;
    if (out && module && name)
        *out = pg_module_function(module, name, &error);
    return error;
}

PG_API(CUresult) cuModuleGetFunctionCount(unsigned *count, pg_module *module)
{
    unsigned n = 0;
    if (!count || !module)
        return PG_CUDA_InvalidValue;
    while (pg_module_entry_name(module, n))
        n++;
    *count = n;
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuModuleEnumerateFunctions(cudaFunction_t *out, unsigned count, pg_module *module)
{
    pg_cuda_error error = out && module ? PG_CUDA_Success : PG_CUDA_InvalidValue;
    for (unsigned i = 0; !error && i < count && pg_module_entry_name(module, i); i++)
        out[i] = pg_module_function(module, pg_module_entry_name(module, i), &error);
    return error;
}

PG_API(CUresult)
cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, pg_module *module, const char *name)
{
    void *where;
    size_t size;
    if (!module || !name || !pg_module_variable(module, name, &where, &size))
        return PG_CUDA_SymbolNotFound;
    if (address)
        *address = (CUdeviceptr)(uintptr_t)where;
    if (bytes)
        *bytes = size;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuModuleGetLoadingMode(int *mode)
{
    if (!mode)
        return PG_CUDA_InvalidValue;
    *mode = 2; /* lazy */
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuLibraryLoadData(pg_module **out, const void *image, int *jit, void **jit_values,
                  unsigned jit_count, int *options, void **values, unsigned count)
{
    return load(out, image, "library");
}
PG_API(CUresult)
cuLibraryLoadFromFile(pg_module **out, const char *path, int *jit, void **jit_values,
                      unsigned jit_count, int *options, void **values, unsigned count)
{
    return cuModuleLoad(out, path);
}
PG_SAME(cuLibraryUnload, cuModuleUnload);
PG_SAME(cuLibraryGetKernel, cuModuleGetFunction);
PG_SAME(cuLibraryGetKernelCount, cuModuleGetFunctionCount);
PG_SAME(cuLibraryEnumerateKernels, cuModuleEnumerateFunctions);

PG_API(CUresult)
cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, pg_module *module, const char *name)
{
    return cuModuleGetGlobal_v2(address, bytes, module, name);
}
PG_SAME(cuLibraryGetManaged, cuLibraryGetGlobal);

PG_API(CUresult) cuLibraryGetModule(pg_module **out, pg_module *library)
{
    if (!out)
        return PG_CUDA_InvalidValue;
    *out = library;
    return PG_CUDA_Success;
}

/* The runtime's names of the same calls. */
PG_SAME(cudaLibraryLoadData, cuLibraryLoadData);
PG_SAME(cudaLibraryUnload, cuModuleUnload);
PG_SAME(cudaLibraryGetKernel, cuModuleGetFunction);

PG_API(CUresult) cuKernelGetFunction(cudaFunction_t *out, cudaFunction_t kernel)
{
    if (!out || !kernel)
        return PG_CUDA_InvalidValue;
    *out = kernel;
    return PG_CUDA_Success;
}

/* ---- functions ---- */

PG_API(CUresult) cuFuncGetAttribute(int *value, int attribute, cudaFunction_t f)
{
    if (!value || !f)
        return PG_CUDA_InvalidValue;
    const CUresult error = pg_function_ready(f);
    if (error)
        return error;
    const int version = pg_device_attribute(75) * 10 + pg_device_attribute(76);
    const int values[] = {f->info.max_threads ? (int)f->info.max_threads : 1024,
                          (int)f->info.static_shared,
                          0,
                          (int)f->info.local,
                          pg_registers_of(f),
                          version,
                          version,
                          0,
                          f->max_dynamic_shared,
                          -1,
                          f->info.cluster[0] != 0,
                          (int)f->info.cluster[0],
                          (int)f->info.cluster[1],
                          (int)f->info.cluster[2],
                          f->cluster_of_any_size,
                          0};
    if (attribute < 0 || attribute >= (int)(sizeof values / sizeof *values))
        return PG_CUDA_InvalidValue;
    *value = values[attribute];
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuKernelGetAttribute(int *value, int attribute, cudaFunction_t kernel, CUdevice device)
{
    return cuFuncGetAttribute(value, attribute, kernel);
}

PG_API(CUresult) cuFuncSetAttribute(cudaFunction_t f, int attribute, int value)
{
    const CUresult error = f ? pg_function_ready(f) : PG_CUDA_InvalidValue;
    return error ? error : pg_function_set_attribute(f, attribute, value);
}

PG_API(CUresult)
cuKernelSetAttribute(int attribute, int value, cudaFunction_t kernel, CUdevice device)
{
    return cuFuncSetAttribute(kernel, attribute, value);
}

PG_API(CUresult) cuFuncSetCacheConfig(cudaFunction_t f, int config)
{
    return PG_CUDA_Success;
}

PG_API(CUresult) cuFuncGetModule(pg_module **out, cudaFunction_t f)
{
    if (!out || !f)
        return PG_CUDA_InvalidValue;
    *out = f->module;
    return PG_CUDA_Success;
}

PG_API(CUresult) cuFuncGetName(const char **out, cudaFunction_t f)
{
    if (!out || !f)
        return PG_CUDA_InvalidValue;
    *out = f->name;
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuFuncGetParamInfo(cudaFunction_t f, size_t index, size_t *offset, size_t *bytes)
{
    ptxgen_emulator_param p;
    if (!f || pg_function_ready(f) || !ptxgen_emulator_entry_param(f->entry, index, &p))
        return PG_CUDA_InvalidValue;
    if (offset)
        *offset = p.offset;
    if (bytes)
        *bytes = p.bytes;
    return PG_CUDA_Success;
}
PG_SAME(cuKernelGetParamInfo, cuFuncGetParamInfo);

PG_API(CUresult)
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cudaFunction_t f, int threads,
                                            size_t shared)
{
    if (!blocks || !f || pg_function_ready(f))
        return PG_CUDA_InvalidValue;
    *blocks = pg_occupancy(f, threads, shared);
    return PG_CUDA_Success;
}

PG_API(CUresult)
cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, cudaFunction_t f, int threads,
                                                     size_t shared, unsigned flags)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}

/* The block that keeps most threads on a multiprocessor, of those the larger. */
PG_API(CUresult)
cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, cudaFunction_t f,
                                          size_t (*shared_of)(int threads), size_t shared,
                                          int limit, unsigned flags)
{
    int most = 0;
    if (!grid || !block || !f || pg_function_ready(f))
        return PG_CUDA_InvalidValue;
    const int kernels = f->info.max_threads ? (int)f->info.max_threads : 1024,
              longest = limit > 0 && limit < kernels ? limit : kernels;
    for (int threads = longest / 32 * 32; threads > 0; threads -= 32) {
        const int blocks = pg_occupancy(f, threads, shared_of ? shared_of(threads) : shared);
        if (blocks * threads <= most)
            continue;
        most = blocks * threads;
        *block = threads;
        *grid = blocks * (int)pg_device_get()->settings.sm_count;
    }
    return most ? PG_CUDA_Success : PG_CUDA_InvalidValue;
}

PG_API(CUresult)
cuOccupancyMaxPotentialBlockSize(int *grid, int *block, cudaFunction_t f,
                                 size_t (*shared_of)(int threads), size_t shared, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, f, shared_of, shared, limit, 0);
}

/* ---- launches ---- */

static CUresult launch(pg_launch l, void **extra, cudaStream_t stream)
{
    if (!l.function)
        return PG_CUDA_InvalidResourceHandle;
    CUresult error = pg_function_ready(l.function);
    if (error)
        return error;
    void **unpacked = NULL;
    if (!l.args && extra) {
        unpacked = calloc(l.function->parameter_count + 1, sizeof *unpacked);
        error = unpacked ? pg_launch_unpack(l.function, extra, unpacked) : PG_CUDA_MemoryAllocation;
        l.args = unpacked;
    }
    if (!error && !l.args && l.function->parameter_count)
        error = PG_CUDA_InvalidValue;
    if (!error)
        error = pg_submit(stream, &(pg_work){.kind = PG_WORK_LAUNCH, .launch = l});
    free(unpacked);
    return error;
}

PG_API(CUresult)
cuLaunchKernel(cudaFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, cudaStream_t stream, void **args, void **extra)
{
    return launch((pg_launch){.function = f,
                              .grid = {gx, gy, gz},
                              .block = {bx, by, bz},
                              .dynamic_shared = shared,
                              .args = args},
                  extra, stream);
}
PG_SAME(cuLaunchKernel_ptsz, cuLaunchKernel);

PG_API(CUresult)
cuLaunchCooperativeKernel(cudaFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, cudaStream_t stream,
                          void **args)
{
    return launch((pg_launch){.function = f,
                              .grid = {gx, gy, gz},
                              .block = {bx, by, bz},
                              .dynamic_shared = shared,
                              .args = args,
                              .cooperative = true},
                  NULL, stream);
}
PG_SAME(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);

PG_API(CUresult)
cuLaunchKernelEx(const CUlaunchConfig *c, cudaFunction_t f, void **args, void **extra)
{
    if (!c)
        return PG_CUDA_InvalidValue;
    pg_launch l = {.function = f,
                   .grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
                   .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
                   .dynamic_shared = c->sharedMemBytes,
                   .args = args};
    pg_launch_attributes(&l, c->attrs, c->numAttrs);
    return launch(l, extra, c->hStream);
}
PG_SAME(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);

PG_API(CUresult) cuLaunchHostFunc(cudaStream_t stream, pg_host_function call, void *user)
{
    const pg_work work = {.kind = PG_WORK_HOST, .host = {call, user}};
    return call ? pg_submit(stream, &work) : PG_CUDA_InvalidValue;
}
PG_SAME(cuLaunchHostFunc_ptsz, cuLaunchHostFunc);

/* ---- streams and events ---- */

PG_API(CUresult) cuStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    return out ? pg_stream_new(flags, priority, out) : PG_CUDA_InvalidValue;
}
PG_API(CUresult) cuStreamCreate(cudaStream_t *out, unsigned flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}
PG_API(CUresult) cuStreamDestroy_v2(cudaStream_t stream)
{
    return pg_stream_free(stream);
}
PG_API(CUresult) cuStreamSynchronize(cudaStream_t stream)
{
    return pg_stream_synchronize(stream);
}
PG_SAME(cuStreamSynchronize_ptsz, cuStreamSynchronize);
PG_API(CUresult) cuStreamQuery(cudaStream_t stream)
{
    return pg_stream_synchronize(stream);
}
PG_SAME(cuStreamQuery_ptsz, cuStreamQuery);
PG_API(CUresult) cuStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    return pg_stream_wait(stream, event);
}
PG_SAME(cuStreamWaitEvent_ptsz, cuStreamWaitEvent);
PG_API(CUresult) cuStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    if (!flags)
        return PG_CUDA_InvalidValue;
    *flags = pg_stream_of(stream)->flags;
    return PG_CUDA_Success;
}
PG_SAME(cuStreamGetFlags_ptsz, cuStreamGetFlags);
PG_API(CUresult) cuStreamGetPriority(cudaStream_t stream, int *priority)
{
    if (!priority)
        return PG_CUDA_InvalidValue;
    *priority = pg_stream_of(stream)->priority;
    return PG_CUDA_Success;
}
PG_SAME(cuStreamGetPriority_ptsz, cuStreamGetPriority);
PG_API(CUresult) cuStreamGetCtx(cudaStream_t stream, CUcontext *out)
{
    extern CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
    return cuDevicePrimaryCtxRetain(out, 0);
}
PG_SAME(cuStreamGetCtx_ptsz, cuStreamGetCtx);
PG_API(CUresult) cuStreamIsCapturing(cudaStream_t stream, int *status)
{
    if (!status)
        return PG_CUDA_InvalidValue;
    *status = pg_stream_of(stream)->capture != NULL;
    return PG_CUDA_Success;
}
PG_SAME(cuStreamIsCapturing_ptsz, cuStreamIsCapturing);
PG_API(CUresult) cuStreamBeginCapture_v2(cudaStream_t stream, int mode)
{
    return pg_stream_begin_capture(stream, NULL);
}
PG_SAME(cuStreamBeginCapture_v2_ptsz, cuStreamBeginCapture_v2);
PG_API(CUresult) cuStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    return out ? pg_stream_end_capture(stream, out) : PG_CUDA_InvalidValue;
}
PG_SAME(cuStreamEndCapture_ptsz, cuStreamEndCapture);

PG_API(CUresult) cuEventCreate(cudaEvent_t *out, unsigned flags)
{
    return out ? pg_event_new(flags, out) : PG_CUDA_InvalidValue;
}
PG_API(CUresult) cuEventDestroy_v2(cudaEvent_t event)
{
    return pg_event_free(event);
}
PG_API(CUresult) cuEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return pg_event_record(event, stream);
}
PG_SAME(cuEventRecord_ptsz, cuEventRecord);
PG_API(CUresult) cuEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    return pg_event_record(event, stream);
}
PG_SAME(cuEventRecordWithFlags_ptsz, cuEventRecordWithFlags);
PG_API(CUresult) cuEventQuery(cudaEvent_t event)
{
    return event ? pg_synchronize() : PG_CUDA_InvalidResourceHandle;
}
PG_API(CUresult) cuEventSynchronize(cudaEvent_t event)
{
    return event ? pg_synchronize() : PG_CUDA_InvalidResourceHandle;
}
PG_API(CUresult) cuEventElapsedTime_v2(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    return pg_event_elapsed(ms, from, to);
}
PG_SAME(cuEventElapsedTime, cuEventElapsedTime_v2);
