/* The hot path: a launch record becomes one driver call. Everything is on the caller's stack. */
#include "device/cuda/device.h"

#include "base/error.h"

/* A tensor map as the kernel's parameter: 128 bytes, 64-byte aligned (CUtensorMap). */
typedef struct tensor_map {
    _Alignas(64) uint64_t words[16];
} tensor_map;

typedef struct arguments {
    tensor_map maps[PG_LAUNCH_MAX_ARGS]; /* only those of tensor arguments are touched */
    pg_cu_pointer record;
    void *pointers[PG_LAUNCH_MAX_ARGS];
} arguments;

static ptxgen_status fill_arguments(const pg_driver *d, const pg_launch *launch,
                                    const pg_cuda_context *context, arguments *a, ptxgen_error *err)
{
    if (launch->nargs > PG_LAUNCH_MAX_ARGS)
        return pg_fail(err, PTXGEN_EINVAL, "%u kernel arguments; at most %d", launch->nargs,
                       PG_LAUNCH_MAX_ARGS);
    for (uint32_t i = 0; i < launch->nargs; i++) {
        const pg_arg *arg = &launch->args[i];
        switch (arg->kind) {
        case PG_ARG_U32:
            a->pointers[i] = (void *)&arg->u32;
            break;
        case PG_ARG_U64:
        case PG_ARG_POINTER:
            a->pointers[i] = (void *)&arg->u64;
            break;
        case PG_ARG_TENSOR:
            PG_TRY(pg_cuda_encode_tensor(d, &arg->tensor, &a->maps[i], err));
            a->pointers[i] = &a->maps[i];
            break;
        case PG_ARG_RECORD:
            a->record = atomic_load_explicit(&context->record, memory_order_acquire);
            a->pointers[i] = &a->record;
            break;
        }
    }
    return PTXGEN_OK;
}

static int start_kernel(const pg_driver *d, pg_cu_function function, const pg_launch *l,
                        ptxgen_stream stream, void **pointers)
{
    pg_cu_launch_attribute attributes[2];
    unsigned count = 0;
    if (l->cluster[0])
        attributes[count++] = (pg_cu_launch_attribute){
            .id = PG_CU_LAUNCH_CLUSTER, .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]}};
    if (l->early && d->cuLaunchKernelEx)
        attributes[count++] = (pg_cu_launch_attribute){.id = PG_CU_LAUNCH_EARLY, .flag = 1};
    if (!count)
        return d->cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                 l->block[1], l->block[2], l->shared_bytes, stream, pointers, NULL);
    pg_cu_launch config = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                           .block = {l->block[0], l->block[1], l->block[2]},
                           .shared_bytes = l->shared_bytes,
                           .stream = stream,
                           .attributes = attributes,
                           .attribute_count = count};
    return d->cuLaunchKernelEx(&config, function, pointers, NULL);
}

static ptxgen_status launch_in(pg_cuda *cuda, const pg_cuda_scope *scope, pg_loaded *loaded,
                               const pg_launch *launch, ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    const pg_cuda_function *function;
    arguments a;
    if (launch->cluster[0] && !d->cuLaunchKernelEx)
        return pg_driver_too_old(d, 11060, "a launch with clusters", err);
    if (launch->shared_bytes > loaded->shared_bytes)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "%s is launched with %u bytes of dynamic shared memory but was loaded for %u",
            loaded->entry, launch->shared_bytes, loaded->shared_bytes);
    if (launch->part >= loaded->part_count)
        return pg_fail(err, PTXGEN_EINVAL, "%s has %u parts, part %u is launched", loaded->entry,
                       loaded->part_count, launch->part);
    PG_TRY(pg_cuda_resolve(cuda, loaded, scope, &function, err));
    PG_TRY(fill_arguments(d, launch, scope->context, &a, err));
    int result =
        start_kernel(d, function->handles[launch->part], launch, scope->stream, a.pointers);
    return result == 0 ? PTXGEN_OK : pg_driver_check(d, result, "launch the kernel", err);
}

ptxgen_status pg_cuda_launch(pg_device *device, pg_loaded *loaded, const pg_launch *launch,
                             ptxgen_stream stream, ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    scope.stream = stream;
    ptxgen_status status = launch_in(cuda, &scope, loaded, launch, err);
    pg_cuda_leave(&scope);
    return status;
}
