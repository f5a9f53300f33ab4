/* From a cubin to a function that can be launched in the current context.
 *
 * The library (cuLibraryLoadData) serves every context; its function is resolved once in each,
 * at load time or at the first launch there, and fully loaded at once (cuFuncLoad): a lazy first
 * launch would take the driver's context lock and wait for running kernels. Drivers before CUDA
 * 12.0 get a module in each context. */
#include "device/cuda/device.h"

#include "base/error.h"
#include "ptxgen/inspect.h"
#include "base/arch.h"
#include "base/fork_guard.h"

#include <stdio.h>
#include <string.h>

static pg_cuda_function *known(const pg_loaded *loaded, const pg_cuda_context *context)
{
    pg_cuda_function *f = atomic_load_explicit(&loaded->first, memory_order_acquire);
    while (f && f->context != context)
        f = f->next;
    return f;
}

static ptxgen_status check_fits(const pg_loaded *loaded, const pg_cuda_context *context,
                                ptxgen_error *err)
{
    PG_TRY(pg_arch_check(loaded->arch, context->info.arch, err));
    if (loaded->shared_bytes > context->info.shared_bytes_per_block)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s needs %u bytes of dynamic shared memory; %s allows %zu: choose smaller "
                       "tiles or fewer stages",
                       loaded->entry, loaded->shared_bytes, context->info.name,
                       context->info.shared_bytes_per_block);
    return PTXGEN_OK;
}

enum { MAX_NAME = 128 };

/* The name of part i. */
static void entry_name(const pg_loaded *loaded, uint32_t i, char name[MAX_NAME])
{
    snprintf(name, MAX_NAME, loaded->parts ? "%s_%s" : "%s", loaded->entry,
             loaded->parts ? loaded->parts[i] : "");
}

/* Fills f->handles[i] in the current context. */
static ptxgen_status get_function(const pg_driver *d, const pg_loaded *loaded, uint32_t i,
                                  pg_cuda_function *f, ptxgen_error *err)
{
    char name[MAX_NAME];
    if (loaded->library)
        return pg_driver_check(d, d->cuKernelGetFunction(&f->handles[i], loaded->kernels[i]),
                               "load the kernel into the context", err);
    entry_name(loaded, i, name);
    return pg_driver_check(d, d->cuModuleGetFunction(&f->handles[i], f->module, name),
                           "find the kernel in the cubin", err);
}

static ptxgen_status prepare_function(const pg_driver *d, const pg_loaded *loaded, uint32_t i,
                                      pg_cuda_function *f, ptxgen_error *err)
{
    PG_TRY(get_function(d, loaded, i, f, err));
    if (d->cuFuncLoad)
        PG_TRY(pg_driver_check(d, d->cuFuncLoad(f->handles[i]), "load the kernel's code", err));
    if (loaded->shared_bytes)
        PG_TRY(
            pg_driver_check(d,
                            d->cuFuncSetAttribute(f->handles[i], PG_CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                                  (int)loaded->shared_bytes),
                            "reserve dynamic shared memory for the kernel", err));
    return PTXGEN_OK;
}

static ptxgen_status prepare_functions(const pg_driver *d, const pg_loaded *loaded,
                                       pg_cuda_function *f, ptxgen_error *err)
{
    if (!loaded->library)
        PG_TRY(pg_driver_check(d, d->cuModuleLoadData(&f->module, loaded->image), "load the cubin",
                               err));
    for (uint32_t i = 0; i < loaded->part_count; i++)
        PG_TRY(prepare_function(d, loaded, i, f, err));
    return PTXGEN_OK;
}

/* Under loaded->lock. */
static ptxgen_status add_function(pg_cuda *cuda, pg_loaded *loaded, const pg_cuda_scope *scope,
                                  pg_cuda_function **out, ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    PG_TRY(check_fits(loaded, scope->context, err));
    PG_TRY(pg_cuda_make_record(cuda, scope, err));
    pg_cuda_function *f = pg_alloc_zero(&cuda->alloc, sizeof *f);
    if (!f)
        return pg_fail_memory(err, sizeof *f);
    f->context = scope->context;
    ptxgen_status status = prepare_functions(d, loaded, f, err);
    if (status != PTXGEN_OK) {
        if (f->module)
            d->cuModuleUnload(f->module);
        pg_free(&cuda->alloc, f, sizeof *f);
        return status;
    }
    f->next = atomic_load(&loaded->first);
    atomic_store_explicit(&loaded->first, f, memory_order_release);
    *out = f;
    return PTXGEN_OK;
}

static ptxgen_status resolve(pg_cuda *cuda, pg_loaded *loaded, const pg_cuda_scope *scope,
                             pg_cuda_function **out, ptxgen_error *err)
{
    pthread_mutex_lock(&loaded->lock);
    ptxgen_status status = PTXGEN_OK;
    *out = known(loaded, scope->context);
    if (!*out) {
        int mode = pg_cuda_relax_capture(cuda->driver);
        status = add_function(cuda, loaded, scope, out, err);
        pg_cuda_restore_capture(cuda->driver, mode);
    }
    pthread_mutex_unlock(&loaded->lock);
    return status;
}

ptxgen_status pg_cuda_resolve(pg_cuda *cuda, pg_loaded *loaded, const pg_cuda_scope *scope,
                              const pg_cuda_function **out, ptxgen_error *err)
{
    pg_cuda_function *f = known(loaded, scope->context);
    if (!f) {
        bool capturing;
        PG_TRY(pg_cuda_capturing(cuda->driver, scope->stream, &capturing, err));
        if (capturing)
            return pg_fail(
                err, PTXGEN_ECAPTURE,
                "%s is not loaded in this context and the stream is being captured: call "
                "ptxgen_get in this context before the capture begins",
                loaded->entry);
        PG_TRY(resolve(cuda, loaded, scope, &f, err));
    }
    *out = f;
    return PTXGEN_OK;
}

static size_t loaded_size(const char *entry)
{
    return sizeof(pg_loaded) + strlen(entry) + 1;
}

static void discard(pg_cuda *cuda, pg_loaded *loaded)
{
    if (loaded->library && cuda->contexts.fork_generation == pg_fork_generation())
        cuda->driver->cuLibraryUnload(loaded->library);
    for (pg_cuda_function *f = atomic_load(&loaded->first), *next; f; f = next) {
        next = f->next;
        pg_free(&cuda->alloc, f, sizeof *f);
    }
    pg_free(&cuda->alloc, loaded->image, loaded->image_size);
    pthread_mutex_destroy(&loaded->lock);
    pg_free(&cuda->alloc, loaded, loaded_size(loaded->entry));
}

static ptxgen_status load_image(pg_cuda *cuda, pg_loaded *loaded, const pg_image *image,
                                ptxgen_error *err)
{
    const pg_driver *d = cuda->driver;
    if (!d->cuLibraryLoadData || !d->cuLibraryGetKernel || !d->cuKernelGetFunction ||
        !d->cuLibraryUnload) {
        loaded->image = pg_alloc_zero(&cuda->alloc, image->cubin_size);
        if (!loaded->image)
            return pg_fail_memory(err, image->cubin_size);
        loaded->image_size = image->cubin_size;
        memcpy(loaded->image, image->cubin, image->cubin_size);
        return PTXGEN_OK;
    }
    int mode = pg_cuda_relax_capture(d);
    int result = d->cuLibraryLoadData(&loaded->library, image->cubin, NULL, NULL, 0, NULL, NULL, 0);
    ptxgen_status status = pg_driver_check(d, result, "load the cubin", err);
    for (uint32_t i = 0; i < loaded->part_count && status == PTXGEN_OK; i++) {
        char name[MAX_NAME];
        entry_name(loaded, i, name);
        status =
            pg_driver_check(d, d->cuLibraryGetKernel(&loaded->kernels[i], loaded->library, name),
                            "find the kernel in the cubin", err);
    }
    pg_cuda_restore_capture(d, mode);
    return status;
}

/* Before the driver sees the bytes: it answers a wrong architecture with error 209 at best, and
 * bytes that are no whole cubin may take it down (or, under MPS, everyone's server). The cubin's
 * own word counts as well. */
static ptxgen_status check_image(const pg_loaded *loaded, const pg_image *image,
                                 const pg_cuda_context *context, ptxgen_error *err)
{
    ptxgen_cubin_info info = {.size = sizeof info};
    PG_TRY(check_fits(loaded, context, err));
    PG_TRY(ptxgen_cubin_inspect(image->cubin, image->cubin_size, &info, err));
    return pg_arch_check(info.arch, context->info.arch, err);
}

static ptxgen_status load_in(pg_cuda *cuda, const pg_cuda_scope *scope, const pg_image *image,
                             pg_loaded **out, ptxgen_error *err)
{
    size_t size = loaded_size(image->entry);
    pg_loaded *loaded = pg_alloc_zero(&cuda->alloc, size);
    if (!loaded)
        return pg_fail_memory(err, size);
    loaded->arch = image->arch;
    loaded->shared_bytes = image->shared_bytes;
    loaded->parts = image->parts;
    loaded->part_count = 1;
    while (image->parts && image->parts[loaded->part_count])
        loaded->part_count++;
    pthread_mutex_init(&loaded->lock, NULL);
    memcpy(loaded->entry, image->entry, strlen(image->entry) + 1);
    ptxgen_status status = check_image(loaded, image, scope->context, err);
    if (status == PTXGEN_OK)
        status = load_image(cuda, loaded, image, err);
    pg_cuda_function *f;
    if (status == PTXGEN_OK)
        status = resolve(cuda, loaded, scope, &f, err);
    if (status == PTXGEN_OK)
        *out = loaded;
    else
        discard(cuda, loaded);
    return status;
}

ptxgen_status pg_cuda_load(pg_device *device, const pg_image *image, pg_loaded **out,
                           ptxgen_error *err)
{
    pg_cuda *cuda = (pg_cuda *)device;
    pg_cuda_scope scope;
    *out = NULL;
    if (!image->cubin_size)
        return pg_fail(err, PTXGEN_EINVAL, "%s has no cubin: a GPU runs cubins, compile it first",
                       image->entry);
    PG_TRY(pg_cuda_enter(&cuda->contexts, &scope, err));
    ptxgen_status status = load_in(cuda, &scope, image, out, err);
    pg_cuda_leave(&scope);
    return status;
}

bool pg_cuda_ready(pg_device *device, const pg_loaded *loaded)
{
    pg_cuda_context *context;
    return pg_cuda_find(&((pg_cuda *)device)->contexts, &context, NULL) == PTXGEN_OK &&
           known(loaded, context) != NULL;
}

/* A module lives in its own context, which may be gone: only the current one's is unloaded here,
 * the others go with their contexts. */
static void unload_module(pg_cuda *cuda, const pg_loaded *loaded)
{
    pg_cuda_context *context;
    if (pg_cuda_find(&cuda->contexts, &context, NULL) != PTXGEN_OK)
        return;
    pg_cuda_function *f = known(loaded, context);
    pg_cuda_scope scope;
    if (f && f->module && pg_cuda_enter(&cuda->contexts, &scope, NULL) == PTXGEN_OK) {
        cuda->driver->cuModuleUnload(f->module);
        pg_cuda_leave(&scope);
    }
}

void pg_cuda_unload(pg_device *device, pg_loaded *loaded)
{
    pg_cuda *cuda = (pg_cuda *)device;
    if (!loaded)
        return;
    if (!loaded->library)
        unload_module(cuda, loaded);
    discard(cuda, loaded);
}
