/* What the code that nvcc adds to a program calls before main and around each <<<>>>. */
#include "stand_in/runtime.h"

#include <errno.h>

PG_API(void **) __cudaRegisterFatBinary(const void *wrapper)
{
    return (void **)pg_module_new(wrapper, program_invocation_short_name);
}

PG_API(void) __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

PG_API(void) __cudaUnregisterFatBinary(void **handle)
{
    pg_symbols_forget((pg_module *)handle);
    pg_module_free((pg_module *)handle);
}

PG_API(void)
__cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name,
                       int thread_limit, void *tid, void *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device_name, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid;
    (void)warp;
    if (handle)
        pg_symbol_add_function(host, pg_module_declare((pg_module *)handle, name));
}

PG_API(void)
__cudaRegisterVar(void **handle, char *host, char *device_address, const char *name, int is_extern,
                  size_t size, int constant, int global)
{
    (void)device_address, (void)is_extern, (void)size, (void)constant, (void)global;
    if (handle)
        pg_symbol_add_variable(host, (pg_module *)handle, name, NULL);
}

PG_API(void) __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
    (void)handle, (void)name, (void)host, (void)size;
}

PG_API(void)
__cudaRegisterManagedVar(void **handle, void **host, char *device_address, const char *name,
                         int is_extern, size_t size, int constant, int global)
{
    (void)device_address, (void)is_extern, (void)size, (void)constant, (void)global;
    if (handle)
        pg_symbol_add_variable(host, (pg_module *)handle, name, host);
}

PG_API(void) __cudaRegisterUnifiedTable(void **handle, void *table)
{
    (void)handle, (void)table;
}

/* Called before the host touches a managed variable. */
PG_API(char) __cudaInitModule(void **handle)
{
    return handle && !pg_module_ready((pg_module *)handle);
}

/* ---- <<<grid, block, shared, stream>>> ---- */

typedef struct call_configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} call_configuration;

enum { MOST_CONFIGURATIONS = 32 };
static _Thread_local call_configuration configurations[MOST_CONFIGURATIONS];
static _Thread_local int depth;

PG_API(unsigned)
__cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (depth == MOST_CONFIGURATIONS)
        return 1;
    configurations[depth++] = (call_configuration){grid, block, shared, stream};
    return 0;
}

PG_API(cudaError_t)
__cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, cudaStream_t *stream)
{
    if (!depth)
        return pg_set_error(PG_CUDA_InvalidConfiguration);
    const call_configuration *c = &configurations[--depth];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *stream = c->stream;
    return PG_CUDA_Success;
}

PG_API(cudaError_t) __cudaGetKernel(cudaFunction_t *out, const void *host)
{
    *out = pg_symbol_function(host);
    return *out ? PG_CUDA_Success : pg_set_error(PG_CUDA_InvalidDeviceFunction);
}
