/* A runtime with a launcher of its own: ptxgen writes the kernel and says what to launch; the
 * CUDA driver API does the rest. After ptxgen_call_describe nothing of ptxgen runs.
 *
 *     cc -std=c11 launch_record.c $(pkg-config --cflags --libs ptxgen) -ldl && ./a.out
 *
 * Without a GPU: `ptxgen emulate -- ./a.out`. The driver is opened by name, so CUDA's headers
 * are not needed. */
#include <ptxgen/ptxgen.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000, OUT_ROWS = 10, N = 64, MOST_ARGS = 32 };

/* ---- the driver's functions that a launcher needs ---- */

typedef int (*driver_function)(); /* each has its own parameters */

static driver_function driver(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    driver_function f = NULL;
    void *const symbol = library ? dlsym(library, name) : NULL;
    memcpy(&f, &symbol, sizeof f);
    if (!f) {
        fprintf(stderr, "%s: no CUDA driver here; try `ptxgen emulate -- %s`\n", name, "./a.out");
        exit(77);
    }
    return f;
}

static void check(const char *what, int result)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", what, result);
    exit(1);
}

#define CU(name, ...) check(#name, driver(#name)(__VA_ARGS__))

static void *device_memory(const void *from, size_t bytes)
{
    void *p = NULL;
    CU(cuMemAlloc_v2, &p, bytes);
    if (from)
        CU(cuMemcpyHtoD_v2, p, from, bytes);
    else
        CU(cuMemsetD8_v2, p, 0, bytes);
    return p;
}

/* ---- from the record to a launch ---- */

typedef struct launcher {
    void *module;
    int launches;
} launcher;

/* A tensor map is 128 bytes that the driver makes from what the record says. */
static void encode(const ptxgen_launch_map *m, void *out)
{
    uint32_t steps[5] = {1, 1, 1, 1, 1};
    CU(cuTensorMapEncodeTiled, out, m->data_type, m->rank, m->address, m->dims, m->strides, m->box,
       steps, 0, m->swizzle, m->l2_promotion, m->oob_fill);
}

/* Each parameter's value at its address; a record is 16 bytes of 0xff, in which the kernel
 * leaves the first bad index. */
static bool launch(void *user, const ptxgen_launch *l)
{
    launcher *const run = user;
    static _Alignas(64) unsigned char maps[MOST_ARGS][128];
    uint64_t values[MOST_ARGS];
    void *params[MOST_ARGS], *function = NULL;
    for (size_t i = 0; i < l->arg_count; i++) {
        const ptxgen_launch_arg *a = &l->args[i];
        values[i] = a->value;
        params[i] = &values[i];
        if (a->kind == PTXGEN_ARG_TENSOR_MAP) {
            encode(&a->map, maps[i]);
            params[i] = maps[i];
        } else if (a->kind == PTXGEN_ARG_RECORD) {
            void *record = device_memory(NULL, 16);
            CU(cuMemsetD8_v2, record, 0xff, (size_t)16);
            values[i] = (uint64_t)(uintptr_t)record;
        }
    }
    CU(cuModuleGetFunction, &function, run->module, l->entry);
    if (l->dynamic_shared_bytes)
        CU(cuFuncSetAttribute, function, 8,
           (int)l->dynamic_shared_bytes); /* MAX_DYNAMIC_SHARED_SIZE_BYTES */
    CU(cuLaunchKernel, function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
       l->block[2], l->dynamic_shared_bytes, NULL, params, NULL);
    run->launches++;
    return true;
}

int main(void)
{
    static float src[ROWS * N], out[OUT_ROWS * N];
    static int64_t index[ROWS];
    ptxgen_error err;
    ptxgen *ctx;
    ptxgen_kernel *kernel;
    int device;
    void *context;
    for (int i = 0; i < ROWS; i++)
        index[i] = i * 7 % OUT_ROWS;
    for (int i = 0; i < ROWS * N; i++)
        src[i] = 1;
    CU(cuInit, 0);
    CU(cuDeviceGet, &device, 0);
    CU(cuDevicePrimaryCtxRetain, &context, device);
    CU(cuCtxSetCurrent, context);

    void *const d_out = device_memory(NULL, sizeof out);
    const int64_t out_shape[] = {OUT_ROWS, N}, src_shape[] = {ROWS, N}, index_shape[] = {ROWS};
    const ptxgen_tensor operands[] = {
        {d_out, PTXGEN_F32, 2, out_shape, PTXGEN_DENSE},
        {device_memory(src, sizeof src), PTXGEN_F32, 2, src_shape, PTXGEN_DENSE},
        {device_memory(index, sizeof index), PTXGEN_S64, 1, index_shape, PTXGEN_DENSE}};

    char params[1024];
    launcher run = {0};
    if (ptxgen_create(NULL, &ctx, &err) ||
        ptxgen_call_params(ctx, "scatter_add", "schedule=vector", operands, 3, params,
                           sizeof params, &err) ||
        ptxgen_emit(ctx, "scatter_add", params, &kernel, &err))
        return fprintf(stderr, "%s\n", err.message), 1;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    CU(cuModuleLoadData, &run.module, info.ptx); /* or the cubin of ptxgen_compile */
    if (ptxgen_call_describe(kernel, operands, 3, launch, &run, &err))
        return fprintf(stderr, "%s\n", err.message), 1;
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);

    CU(cuCtxSynchronize);
    CU(cuMemcpyDtoH_v2, out, d_out, sizeof out);
    for (int i = 0; i < OUT_ROWS * N; i++)
        if (out[i] != ROWS / OUT_ROWS)
            return fprintf(stderr, "element %d is %g\n", i, out[i]), 1;
    printf("%s: %d launch, every row has %g\n", info.entry[0] ? "scatter_add" : "", run.launches,
           out[0]);
    return 0;
}
