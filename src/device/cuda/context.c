/* Finds the context of a call. The list of known contexts only grows: a reader walks it without
 * a lock, and an entry stays right for ever because an id is never used twice. */
#include "device/cuda/context.h"

#include "base/error.h"
#include "base/arch.h"
#include "base/fork_guard.h"

void pg_cuda_contexts_init(pg_cuda_contexts *c, const pg_alloc *alloc, const pg_driver *driver)
{
    *c = (pg_cuda_contexts){
        .alloc = alloc, .driver = driver, .fork_generation = pg_fork_generation()};
    pthread_mutex_init(&c->lock, NULL);
}

static pg_cuda_context *known(const pg_cuda_contexts *c, pg_cu_context handle,
                              unsigned long long id)
{
    pg_cuda_context *p = atomic_load_explicit(&c->first, memory_order_acquire);
    while (p && (p->id != id || p->handle != handle))
        p = p->next;
    return p;
}

/* 0 where the driver has no ids (before CUDA 12.0): the address alone has to do there. */
static int context_id(const pg_driver *d, pg_cu_context handle, unsigned long long *id)
{
    *id = 0;
    return d->cuCtxGetId ? d->cuCtxGetId(handle, id) : 0;
}

/* Only of a context that is certainly alive: a destroyed one took its memory along, and the
 * address may be someone else's by now. */
static void free_memory(pg_cuda_contexts *c, pg_cu_context handle)
{
    const pg_driver *d = c->driver;
    unsigned long long id;
    pg_cuda_context *p = handle && context_id(d, handle, &id) == 0 ? known(c, handle, id) : NULL;
    pg_cu_pointer record = p ? atomic_exchange(&p->record, 0) : 0;
    pg_cu_pool pool = p ? atomic_exchange(&p->pool, NULL) : NULL;
    if ((record || pool) && d->cuCtxPushCurrent(handle) == 0) {
        if (record)
            d->cuMemFree(record);
        if (pool)
            d->cuMemPoolDestroy(pool);
        d->cuCtxPopCurrent(&handle);
    }
}

void pg_cuda_contexts_fini(pg_cuda_contexts *c)
{
    if (c->fork_generation == pg_fork_generation()) {
        pg_cu_context current = NULL, primary = atomic_load(&c->primary);
        if (c->driver->cuCtxGetCurrent(&current) == 0)
            free_memory(c, current);
        free_memory(c, primary);
        if (primary)
            c->driver->cuDevicePrimaryCtxRelease(0);
    }
    for (pg_cuda_context *p = atomic_load(&c->first), *next; p; p = next) {
        next = p->next;
        pg_free(c->alloc, p, sizeof *p);
    }
    pthread_mutex_destroy(&c->lock);
}

static ptxgen_status describe_device(const pg_driver *d, int device, ptxgen_device_info *out,
                                     ptxgen_error *err)
{
    int major = 0, minor = 0, shared = 0, sms = 0, l2 = 0;
    const struct {
        int *value, attribute;
    } wanted[] = {{&major, PG_CU_DEVICE_CC_MAJOR},
                  {&minor, PG_CU_DEVICE_CC_MINOR},
                  {&shared, PG_CU_DEVICE_SHARED_BYTES_OPTIN},
                  {&sms, PG_CU_DEVICE_SM_COUNT},
                  {&l2, PG_CU_DEVICE_L2_BYTES}};
    *out = (ptxgen_device_info){.size = sizeof *out, .kind = PTXGEN_DEVICE_CUDA, .ordinal = device};
    PG_TRY(pg_driver_check(d, d->cuDeviceGetName(out->name, sizeof out->name, device),
                           "read the device's name", err));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        PG_TRY(pg_driver_check(
            d, d->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, device),
            "read the device's attributes", err));
    out->arch = pg_arch_of_device(major, minor);
    out->sm_count = sms;
    out->shared_bytes_per_block = (size_t)shared;
    out->l2_bytes = (size_t)l2;
    out->driver_version = d->version;
    return PTXGEN_OK;
}

static ptxgen_status add(pg_cuda_contexts *c, const pg_cuda_context *like, pg_cuda_context **out,
                         ptxgen_error *err)
{
    pthread_mutex_lock(&c->lock);
    *out = known(c, like->handle, like->id);
    if (!*out && (*out = pg_alloc_zero(c->alloc, sizeof **out))) {
        **out = *like;
        (*out)->next = atomic_load(&c->first);
        atomic_store_explicit(&c->first, *out, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
    return *out ? PTXGEN_OK : pg_fail_memory(err, sizeof **out);
}

/* `device` < 0: ask; the context is then the current one. */
static ptxgen_status look_up(pg_cuda_contexts *c, pg_cu_context handle, int device,
                             pg_cuda_context **out, ptxgen_error *err)
{
    const pg_driver *d = c->driver;
    unsigned long long id;
    PG_TRY(pg_driver_check(d, context_id(d, handle, &id), "identify the context", err));
    *out = known(c, handle, id);
    if (*out)
        return PTXGEN_OK;
    pg_cuda_context fresh = {.handle = handle, .id = id};
    if (device < 0)
        PG_TRY(pg_driver_check(d, d->cuCtxGetDevice(&device), "find the context's device", err));
    PG_TRY(describe_device(d, device, &fresh.info, err));
    return add(c, &fresh, out, err);
}

/* `stale`: the handle that proved dead, or NULL. */
static ptxgen_status retain_primary(pg_cuda_contexts *c, pg_cu_context stale, pg_cu_context *out,
                                    ptxgen_error *err)
{
    pthread_mutex_lock(&c->lock);
    ptxgen_status status = PTXGEN_OK;
    *out = atomic_load(&c->primary);
    if (*out == stale) {
        int result = c->driver->cuDevicePrimaryCtxRetain(out, 0);
        status = pg_driver_check(c->driver, result, "retain the primary context of device 0", err);
        if (result == 0) {
            if (stale) /* keep one reference, whatever became of the old one */
                c->driver->cuDevicePrimaryCtxRelease(0);
            atomic_store(&c->primary, *out);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

/* *current: whether the context is already the thread's current one. */
static ptxgen_status find(pg_cuda_contexts *c, pg_cuda_context **out, bool *current,
                          ptxgen_error *err)
{
    if (c->fork_generation != pg_fork_generation())
        return pg_fail(
            err, PTXGEN_EDRIVER,
            "this process was forked from one that had opened CUDA, which does not survive "
            "a fork: create ptxgen in the child before any CUDA use in the parent, or exec");
    pg_cu_context handle = NULL;
    PG_TRY(pg_driver_check(c->driver, c->driver->cuCtxGetCurrent(&handle),
                           "read the current context", err));
    *current = handle != NULL;
    if (handle)
        return look_up(c, handle, -1, out, err);
    handle = atomic_load_explicit(&c->primary, memory_order_acquire);
    if (!handle)
        PG_TRY(retain_primary(c, NULL, &handle, err));
    ptxgen_error dead; /* filled when it is read */
    dead.driver_error = 0;
    if (look_up(c, handle, 0, out, &dead) == PTXGEN_OK)
        return PTXGEN_OK;
    if (dead.driver_error != PG_CU_ERROR_INVALID_CONTEXT &&
        dead.driver_error != PG_CU_ERROR_CONTEXT_IS_DESTROYED) {
        if (err)
            *err = dead;
        return dead.status;
    }
    /* Someone reset the device: the primary context that we held is gone. */
    PG_TRY(retain_primary(c, handle, &handle, err));
    return look_up(c, handle, 0, out, err);
}

ptxgen_status pg_cuda_find(pg_cuda_contexts *c, pg_cuda_context **out, ptxgen_error *err)
{
    bool current;
    return find(c, out, &current, err);
}

ptxgen_status pg_cuda_enter(pg_cuda_contexts *c, pg_cuda_scope *out, ptxgen_error *err)
{
    bool current;
    *out = (pg_cuda_scope){.contexts = c};
    PG_TRY(find(c, &out->context, &current, err));
    if (!current)
        PG_TRY(pg_driver_check(c->driver, c->driver->cuCtxPushCurrent(out->context->handle),
                               "make the primary context current", err));
    out->pushed = !current;
    return PTXGEN_OK;
}

void pg_cuda_leave(pg_cuda_scope *scope)
{
    pg_cu_context popped;
    if (scope->pushed)
        scope->contexts->driver->cuCtxPopCurrent(&popped);
    scope->pushed = false;
}

int pg_cuda_relax_capture(const pg_driver *driver)
{
    int mode = PG_CU_CAPTURE_MODE_RELAXED;
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

void pg_cuda_restore_capture(const pg_driver *driver, int mode)
{
    driver->cuThreadExchangeStreamCaptureMode(&mode);
}

ptxgen_status pg_cuda_capturing(const pg_driver *d, ptxgen_stream stream, bool *out,
                                ptxgen_error *err)
{
    int status = 0;
    int result = d->cuStreamIsCapturing(stream, &status);
    /* The legacy stream is not captured itself, but another stream's capture forbids its use. */
    *out = status != 0 || result == PG_CU_ERROR_CAPTURE_IMPLICIT;
    if (result == PG_CU_ERROR_CAPTURE_IMPLICIT)
        return PTXGEN_OK;
    return pg_driver_check(d, result, "ask whether the stream is being captured", err);
}
