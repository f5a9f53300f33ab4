/* Making a kernel ready on a device, and what happens when the driver does not like what the disk had. */
#include "api/context.h"

#include "base/error.h"

static ptxgen_status load(ptxgen_kernel *k, pg_device *device, ptxgen_error *err)
{
    const pg_plan_head *head = (const pg_plan_head *)k->plan;
    pg_image image = {
        .entry = head->entry, .arch = k->id.key[0], .shared_bytes = head->shared_bytes};
    image.ptx = pg_kernel_ptx(k, &image.ptx_size);
    image.cubin = pg_kernel_cubin(k, &image.cubin_size);
    pg_loaded *loaded = atomic_load(&k->loaded);
    if (loaded && device->ops->ready(device, loaded))
        return PTXGEN_OK;
    PG_TRY(device->ops->load(device, &image, &loaded, err));
    atomic_store(&k->loaded, loaded);
    return PTXGEN_OK;
}

static ptxgen_status refuse_capture(const pg_kernel_id *id, ptxgen_error *err)
{
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    pg_params_print(&id->family->params, id->key, &text);
    pg_fail(err, PTXGEN_ECAPTURE,
            "%s %s is not loaded and the stream is being captured: call ptxgen_get for it (or run "
            "it once) before"
            " the capture begins",
            id->family->name, pg_buf_text(&text));
    pg_buf_fini(&text);
    return PTXGEN_ECAPTURE;
}

static bool is_ready(ptxgen_kernel *k, pg_device *device)
{
    const pg_loaded *loaded = atomic_load_explicit(&k->loaded, memory_order_acquire);
    return loaded && device->ops->ready(device, loaded);
}

/* Nobody shall get this kernel again: not from memory, not from the disk. Under its load lock, so that only the
 * first thread that meets the refusal throws anything out: the next ones find the new entry there. */
static void reject(ptxgen_kernel *k)
{
    if (k->rejected)
        return;
    k->rejected = true;
    atomic_fetch_add(&k->ctx->rejected, 1);
    pg_cache_reject(k->ctx->cache, pg_buf_text(&k->key_text), k->key_text.len);
    pg_kernel_table_remove(k->ctx->kernels, k);
    pg_text_memo_clear(k->ctx->texts);
}

/* *bad: the driver refused the bytes, and they came from the disk. */
static ptxgen_status load_once(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream, bool *bad,
                               ptxgen_error *err)
{
    *bad = false;
    if (is_ready(k, device))
        return PTXGEN_OK;
    bool capturing = false;
    PG_TRY(device->ops->capturing(device, stream, &capturing, err));
    if (capturing)
        return refuse_capture(&k->id, err);
    pthread_mutex_lock(pg_load_lock(k));
    const ptxgen_status status = load(k, device, err);
    *bad = status != PTXGEN_OK && k->origin == PTXGEN_ORIGIN_DISK && pg_is_bad_image(err);
    if (*bad)
        reject(k);
    pthread_mutex_unlock(pg_load_lock(k));
    return status;
}

ptxgen_status pg_kernel_load(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream,
                             ptxgen_error *err)
{
    ptxgen_error local;
    bool bad;
    return load_once(k, device, stream, &bad, err ? err : &local);
}

ptxgen_status pg_kernel_load_or_drop(ptxgen_kernel **k, pg_device *device, ptxgen_stream stream,
                                     ptxgen_error *err)
{
    ptxgen_error local;
    bool bad;
    err = err ? err : &local;
    ptxgen_status status = load_once(*k, device, stream, &bad, err);
    if (bad) {
        ptxgen_kernel *const refused = *k;
        pg_log_line(&refused->ctx->log, PTXGEN_LOG_WARNING,
                    "%s %s from the cache is compiled again: %s", refused->id.family->name,
                    pg_buf_text(&refused->params), err->message);
        status = pg_kernel_get_fresh(refused->ctx, &refused->id, k, err);
        ptxgen_kernel_unref(refused);
        if (status == PTXGEN_OK)
            status = load_once(*k, device, stream, &bad, err);
    }
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*k);
        *k = NULL;
    }
    return status;
}

ptxgen_status pg_kernel_make_ready(ptxgen *ctx, pg_device *device, pg_kernel_id *id,
                                   ptxgen_stream stream, ptxgen_kernel **out, ptxgen_error *err)
{
    id->assembled = device->ops->kind != PTXGEN_DEVICE_EMULATOR;
    *out = pg_kernel_table_find(ctx->kernels, id);
    if (!*out) {
        bool capturing = false;
        PG_TRY(device->ops->capturing(device, stream, &capturing, err));
        if (capturing)
            return refuse_capture(id, err);
        PG_TRY(pg_kernel_get(ctx, id, out, err));
    }
    return pg_kernel_load_or_drop(out, device, stream, err);
}
