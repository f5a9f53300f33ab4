/* See stub_libcuda.h. The functions have the prototypes of runtime/driver.def. */
#include "stub_libcuda.h"

#include "device/cuda/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define PG_DRIVER_FUNCTION(name, symbol, since, parameters) EXPORT int symbol parameters;
#include "device/cuda/driver.def"
#undef PG_DRIVER_FUNCTION
EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                               int *status);
EXPORT stub *stub_get(void);
EXPORT void stub_reset(void);
EXPORT void stub_set_current(stub_context *);
EXPORT stub_context *stub_get_current(void);

static stub s;
/* what is allocated; a context that dies takes its memory along unseen */
static void *memory[1024];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local stub_context *current[16];
static _Thread_local int depth;

/* A program that is not a test finds the device of stub_reset. */
__attribute__((constructor)) static void start(void)
{
    stub_reset();
}

stub *stub_get(void)
{
    return &s;
}

void stub_reset(void)
{
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        free(memory[i]);
        memory[i] = NULL;
    }
    memset(&s, 0, sizeof s);
    s.version = 13000;
    s.devices = 1;
    s.cc_major = 9;
    s.next_id = 100;
    memset(current, 0, sizeof current);
    depth = 0;
}

void stub_set_current(stub_context *c)
{
    current[depth] = c;
}

stub_context *stub_get_current(void)
{
    return current[depth];
}

/* Counts the call under the lock; the error to answer it with. */
static int enter(const char *name)
{
    pthread_mutex_lock(&lock);
    s.calls++;
    const char *fail_name = s.fail_name;
    bool fail = (s.fail_at && s.calls == s.fail_at) || (fail_name && strcmp(fail_name, name) == 0);
    return fail ? s.fail_code : 0;
}

static int leave(int result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* What follows the name happens only when the call is not failed. */
#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        int result_ = enter(#name);                                                                \
        if (!result_) {                                                                            \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return leave(result_);                                                                     \
    } while (0)

int cuInit(unsigned flags)
{
    (void)flags;
    CALL(cuInit, );
}

int cuDriverGetVersion(int *version)
{
    *version = s.version;
    return 0;
}

int cuGetErrorName(int error, const char **name)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, "CUDA_ERROR_STUB_%d", error);
    *name = text;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    CALL(cuDeviceGetCount, *count = s.devices);
}

int cuDeviceGetName(char *name, int length, int device)
{
    CALL(cuDeviceGetName, snprintf(name, (size_t)length, "Stub %d", device));
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    CALL(cuDeviceGetAttribute, *value = attribute == PG_CU_DEVICE_CC_MAJOR   ? s.cc_major
                                        : attribute == PG_CU_DEVICE_CC_MINOR ? s.cc_minor
                                        : attribute == PG_CU_DEVICE_SM_COUNT ? 132
                                                                             : 232448);
}

int cuDevicePrimaryCtxRetain(pg_cu_context *context, int device)
{
    CALL(cuDevicePrimaryCtxRetain, {
        s.retains++;
        if (!s.primary[device].id || s.primary[device].dead)
            s.primary[device] = (stub_context){device, s.next_id++, false};
        *context = (pg_cu_context)&s.primary[device];
    });
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    CALL(cuDevicePrimaryCtxRelease, s.releases++);
}

int cuCtxGetCurrent(pg_cu_context *context)
{
    CALL(cuCtxGetCurrent, *context = (pg_cu_context)current[depth]);
}

int cuCtxPushCurrent_v2(pg_cu_context context)
{
    CALL(cuCtxPushCurrent, {
        s.pushes++;
        current[++depth] = (stub_context *)context;
    });
}

int cuCtxPopCurrent_v2(pg_cu_context *context)
{
    CALL(cuCtxPopCurrent, {
        s.pops++;
        *context = (pg_cu_context)current[depth--];
    });
}

int cuCtxGetDevice(int *device)
{
    CALL(cuCtxGetDevice, *device = current[depth]->device);
}

int cuCtxGetId(pg_cu_context context, unsigned long long *id)
{
    const stub_context *c = (stub_context *)context;
    if (c->dead)
        return PG_CU_ERROR_CONTEXT_IS_DESTROYED;
    CALL(cuCtxGetId, *id = c->id);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
    static _Thread_local int now;
    int before = now;
    now = *mode;
    *mode = before;
    pthread_mutex_lock(&lock);
    s.capture_mode = now;
    return leave(0);
}

int cuStreamIsCapturing(ptxgen_stream stream, int *status)
{
    (void)stream;
    int result = enter("cuStreamIsCapturing");
    *status = s.capture_status;
    return leave(result ? result : s.capture_result);
}

int cuStreamCreate(ptxgen_stream *stream, unsigned flags)
{
    CALL(cuStreamCreate, {
        s.live_streams++;
        *stream = (ptxgen_stream)(uintptr_t)(0x5700 + flags);
    });
}

int cuStreamDestroy_v2(ptxgen_stream stream)
{
    (void)stream;
    pthread_mutex_lock(&lock);
    s.live_streams--;
    return leave(0);
}

int cuStreamSynchronize(ptxgen_stream stream)
{
    (void)stream;
    s.waits++;
    CALL(cuStreamSynchronize, );
}

int cuMemAlloc_v2(pg_cu_pointer *out, size_t bytes)
{
    CALL(cuMemAlloc, {
        size_t i = 0;
        while (memory[i])
            i++;
        memory[i] = calloc(1, bytes);
        s.live_memory++;
        *out = (pg_cu_pointer)(uintptr_t)memory[i];
    });
}

int cuMemFree_v2(pg_cu_pointer p)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        if (memory[i] == (void *)(uintptr_t)p) {
            free(memory[i]);
            memory[i] = NULL;
            s.live_memory--;
        }
    }
    return leave(0);
}

int cuMemPoolCreate(pg_cu_pool *pool, const pg_cu_pool_settings *settings)
{
    (void)settings;
    CALL(cuMemPoolCreate, {
        s.live_pools++;
        *pool = (pg_cu_pool)(uintptr_t)0x9001;
    });
}

int cuMemPoolDestroy(pg_cu_pool pool)
{
    (void)pool;
    pthread_mutex_lock(&lock);
    s.live_pools--;
    return leave(0);
}

int cuMemPoolSetAttribute(pg_cu_pool pool, int attribute, void *value)
{
    (void)pool;
    (void)attribute;
    (void)value;
    CALL(cuMemPoolSetAttribute, );
}

int cuMemAllocFromPoolAsync(pg_cu_pointer *out, size_t bytes, pg_cu_pool pool, ptxgen_stream stream)
{
    (void)pool;
    (void)stream;
    return cuMemAlloc_v2(out, bytes);
}

int cuMemFreeAsync(pg_cu_pointer p, ptxgen_stream stream)
{
    (void)stream;
    return cuMemFree_v2(p);
}

int cuMemcpyHtoD_v2(pg_cu_pointer to, const void *from, size_t bytes)
{
    CALL(cuMemcpyHtoD, memcpy((void *)(uintptr_t)to, from, bytes));
}

int cuMemcpyDtoH_v2(void *to, pg_cu_pointer from, size_t bytes)
{
    CALL(cuMemcpyDtoH, memcpy(to, (void *)(uintptr_t)from, bytes));
}

int cuMemcpyHtoDAsync_v2(pg_cu_pointer to, const void *from, size_t bytes, ptxgen_stream stream)
{
    (void)stream;
    CALL(cuMemcpyHtoDAsync, memcpy((void *)(uintptr_t)to, from, bytes));
}

int cuMemcpyDtoHAsync_v2(void *to, pg_cu_pointer from, size_t bytes, ptxgen_stream stream)
{
    (void)stream;
    CALL(cuMemcpyDtoHAsync, memcpy(to, (void *)(uintptr_t)from, bytes));
}

int cuLibraryLoadData(pg_cu_library *library, const void *image, const int *jit_options,
                      void **jit_values, unsigned jit_count, const int *options, void **values,
                      unsigned count)
{
    (void)image;
    (void)jit_options;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    CALL(cuLibraryLoadData, {
        s.loads++;
        s.live_libraries++;
        *library = (pg_cu_library)(uintptr_t)0x11b;
    });
}

int cuLibraryUnload(pg_cu_library library)
{
    (void)library;
    pthread_mutex_lock(&lock);
    s.live_libraries--;
    return leave(0);
}

int cuLibraryGetKernel(pg_cu_kernel *kernel, pg_cu_library library, const char *name)
{
    (void)library;
    if (strcmp(name, "absent") == 0)
        return 500;
    CALL(cuLibraryGetKernel, *kernel = (pg_cu_kernel)(uintptr_t)0x4e1);
}

/* The function's address tells the context it was resolved in. */
int cuKernelGetFunction(pg_cu_function *function, pg_cu_kernel kernel)
{
    (void)kernel;
    CALL(cuKernelGetFunction, {
        s.resolves++;
        *function = (pg_cu_function)(uintptr_t)(0xf0000 + current[depth]->id);
    });
}

int cuModuleLoadData(pg_cu_module *module, const void *image)
{
    (void)image;
    CALL(cuModuleLoadData, {
        s.module_loads++;
        s.live_modules++;
        *module = (pg_cu_module)(uintptr_t)0x30d;
    });
}

int cuModuleUnload(pg_cu_module module)
{
    (void)module;
    pthread_mutex_lock(&lock);
    s.live_modules--;
    return leave(0);
}

int cuModuleGetFunction(pg_cu_function *function, pg_cu_module module, const char *name)
{
    (void)module;
    (void)name;
    CALL(cuModuleGetFunction, {
        s.resolves++;
        *function = (pg_cu_function)(uintptr_t)(0xf0000 + current[depth]->id);
    });
}

int cuFuncLoad(pg_cu_function function)
{
    (void)function;
    CALL(cuFuncLoad, s.function_loads++);
}

int cuFuncSetAttribute(pg_cu_function function, int attribute, int value)
{
    (void)function;
    CALL(cuFuncSetAttribute, {
        if (attribute == PG_CU_FUNCTION_MAX_DYNAMIC_SHARED)
            s.attribute_value = value;
    });
}

/* A function belongs to the context that it was resolved in. */
static int launch(const stub_launch *l, void **arguments)
{
    if ((uintptr_t)l->function != 0xf0000 + current[depth]->id)
        return 400;
    s.launches++;
    s.last = *l;
    for (int i = 0; i < s.argument_count; i++)
        memcpy(&s.last.values[i], arguments[i], 4);
    return 0;
}

int cuLaunchKernel(pg_cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   ptxgen_stream stream, void **arguments, void **extra)
{
    (void)extra;
    const stub_launch l = {.grid = {grid_x, grid_y, grid_z},
                           .block = {block_x, block_y, block_z},
                           .shared_bytes = shared_bytes,
                           .stream = stream,
                           .function = function};
    int result = enter("cuLaunchKernel");
    return leave(result ? result : launch(&l, arguments));
}

int cuLaunchKernelEx(const pg_cu_launch *c, pg_cu_function function, void **arguments, void **extra)
{
    (void)extra;
    stub_launch l = {.shared_bytes = c->shared_bytes, .stream = c->stream, .function = function};
    memcpy(l.grid, c->grid, sizeof l.grid);
    memcpy(l.block, c->block, sizeof l.block);
    if (c->attribute_count == 1 && c->attributes[0].id == PG_CU_LAUNCH_CLUSTER)
        memcpy(l.cluster, c->attributes[0].cluster, sizeof l.cluster);
    int result = enter("cuLaunchKernelEx");
    return leave(result ? result : launch(&l, arguments));
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box,
                           const uint32_t *element_strides, int interleave, int swizzle,
                           int l2_promotion, int oob_fill)
{
    (void)type;
    (void)rank;
    (void)address;
    (void)strides;
    (void)box;
    (void)element_strides;
    (void)interleave;
    (void)swizzle;
    (void)l2_promotion;
    (void)oob_fill;
    if ((uintptr_t)map % 64)
        return 1;
    CALL(cuTensorMapEncodeTiled, {
        memset(map, 0, 128);
        memcpy(map, &dims[0], 4);
    });
}

static void write_log(int option, const char *text, unsigned count, const int *options,
                      void **values)
{
    for (unsigned i = 0; i < count && text; i++)
        if (options[i] == option)
            strcpy(values[i], text);
}

int cuLinkCreate_v2(unsigned count, const int *options, void **values, pg_cu_link *state)
{
    CALL(cuLinkCreate, {
        s.live_links++;
        for (unsigned i = 0; i < count; i++)
            if (options[i] == PG_CU_JIT_TARGET)
                s.link_target = (int)(uintptr_t)values[i];
        write_log(PG_CU_JIT_INFO_LOG, s.info_log, count, options, values);
        write_log(PG_CU_JIT_ERROR_LOG, s.error_log, count, options, values);
        *state = (pg_cu_link)(uintptr_t)0x714c;
    });
}

int cuLinkAddData_v2(pg_cu_link state, int type, const void *data, size_t size, const char *name,
                     unsigned count, const int *options, void **values)
{
    (void)state;
    (void)name;
    (void)count;
    (void)options;
    (void)values;
    int result = enter("cuLinkAddData");
    if (!result && (type != PG_CU_JIT_INPUT_PTX || ((const char *)data)[size - 1] != 0))
        result = 1; /* PTX must end with a NUL */
    return leave(result ? result : s.error_log ? PG_CU_ERROR_INVALID_PTX : 0);
}

int cuLinkComplete(pg_cu_link state, void **cubin, size_t *size)
{
    (void)state;
    CALL(cuLinkComplete, {
        *cubin = (void *)s.cubin;
        *size = s.cubin_size;
    });
}

int cuLinkDestroy(pg_cu_link state)
{
    (void)state;
    pthread_mutex_lock(&lock);
    s.live_links--;
    return leave(0);
}

/* Time and graphs: a graph has what was launched while it was captured, at once; everything takes
 * one millisecond. */
int cuEventCreate(pg_cu_event *event, unsigned flags)
{
    *event = (pg_cu_event)(uintptr_t)(0xE700 + flags);
    return 0;
}

int cuEventDestroy_v2(pg_cu_event event)
{
    return event ? 0 : 1;
}

int cuEventRecord(pg_cu_event event, ptxgen_stream stream)
{
    (void)stream;
    return event ? 0 : 1;
}

int cuEventQuery(pg_cu_event event)
{
    return event ? s.event_result : 1;
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    *out = malloc(bytes);
    return *out ? 0 : 2;
}

int cuMemFreeHost(void *p)
{
    free(p);
    return 0;
}

int cuEventElapsedTime(float *ms, pg_cu_event from, pg_cu_event to)
{
    *ms = 1;
    return from && to ? 0 : 1;
}

int cuStreamBeginCapture_v2(ptxgen_stream stream, int mode)
{
    (void)mode;
    return stream ? 0 : 900; /* the default stream cannot be captured */
}

int cuStreamEndCapture(ptxgen_stream stream, pg_cu_graph *graph)
{
    *graph = (pg_cu_graph)(uintptr_t)0x6700;
    return stream ? 0 : 900;
}

int cuGraphInstantiateWithFlags(pg_cu_runnable *runnable, pg_cu_graph graph,
                                unsigned long long flags)
{
    *runnable = (pg_cu_runnable)(uintptr_t)(0x6800 + flags);
    return graph ? 0 : 1;
}

int cuGraphLaunch(pg_cu_runnable runnable, ptxgen_stream stream)
{
    (void)stream;
    return runnable ? 0 : 1;
}

int cuGraphExecDestroy(pg_cu_runnable runnable)
{
    return runnable ? 0 : 1;
}

int cuGraphDestroy(pg_cu_graph graph)
{
    return graph ? 0 : 1;
}

static const struct {
    const char *name;
    int since;
    int (*function)(void);
} functions[] = {
#define PG_DRIVER_FUNCTION(name, symbol, since, parameters) {#name, since, (int (*)(void))symbol},
#include "device/cuda/driver.def"
#undef PG_DRIVER_FUNCTION
};

int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
    (void)flags;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i].name, name) == 0 && functions[i].since <= s.version &&
            version == functions[i].since) {
            memcpy(out, &functions[i].function, sizeof *out);
            *status = 0;
            return 0;
        }
    }
    *status = 1;
    return 500;
}
