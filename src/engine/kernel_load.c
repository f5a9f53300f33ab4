/* Making a kernel ready on a device, and what happens when the driver does not like what the
 * disk had. */
#include "engine/build.h"

#include "base/error.h"

static ptxgen_status load(ptxgen_kernel *k, pg_device *device, ptxgen_error *err)
{
    const pg_plan_head *head = (const pg_plan_head *)k->plan;
    pg_image image = {.entry = head->entry,
                      .parts = head->parts,
                      .arch = k->id.key[0],
                      .shared_bytes = head->shared_bytes,
                      .user_code = pg_kernel_id_function(&k->id) != 0};
    image.ptx = pg_kernel_ptx(k, &image.ptx_size);
    image.cubin = pg_kernel_cubin(k, &image.cubin_size);
    pg_loaded *loaded = atomic_load(&k->loaded);
    if (loaded && device->ops->ready(device, loaded))
        return PTXGEN_OK;
    const ptxgen_status status = device->ops->load(device, &image, &loaded, err);
    if (status != PTXGEN_OK) {
        pg_locate_in_template(k, err);
        return status;
    }
    atomic_store(&k->loaded, loaded);
    return PTXGEN_OK;
}

ptxgen_status pg_refuse_capture(const pg_kernel_id *id, pg_device *device, ptxgen_stream stream,
                                ptxgen_error *err)
{
    bool capturing = false;
    PG_TRY(device->ops->capturing(device, stream, &capturing, err));
    if (!capturing)
        return PTXGEN_OK;
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

/* Nobody shall get this kernel again: not from memory, not from the disk. Under its load lock,
 * so that only the first thread that meets the refusal throws anything out: the next ones find
 * the new entry there. */
static void reject(ptxgen_kernel *k)
{
    if (atomic_exchange(&k->rejected, true))
        return;
    atomic_fetch_add(&k->engine->rejected, 1);
    pg_cache_reject(k->engine->cache, pg_buf_text(&k->key_text), k->key_text.len);
}

static ptxgen_status load_one(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream,
                              ptxgen_error *err)
{
    if (is_ready(k, device))
        return PTXGEN_OK;
    PG_TRY(pg_refuse_capture(&k->id, device, stream, err));
    return pg_kernel_load_behind(k, device, err);
}

ptxgen_status pg_kernel_load_behind(ptxgen_kernel *k, pg_device *device, ptxgen_error *err)
{
    pthread_mutex_t *const lock = &k->engine->load_locks[((uintptr_t)k >> 6) % PG_LOAD_LOCKS];
    pthread_mutex_lock(lock);
    const ptxgen_status status = load(k, device, err);
    if (status != PTXGEN_OK && k->origin == PTXGEN_ORIGIN_DISK && pg_is_bad_image(err))
        reject(k);
    pthread_mutex_unlock(lock);
    return status;
}

/* A kernel that did not come by a kernel store has to build its helper by itself. */
static ptxgen_status get_helper(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream,
                                ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id id;
    *out = atomic_load_explicit(&k->helper, memory_order_acquire);
    if (*out || !pg_kernel_helper_id(k, &id))
        return PTXGEN_OK;
    PG_TRY(pg_refuse_capture(&id, device, stream, err));
    PG_TRY(pg_build(k->engine, &id, PG_BUILD_ON_DEMAND, out, err));
    pg_kernel_set_helper(k, *out);
    ptxgen_kernel_unref(*out);
    *out = atomic_load_explicit(&k->helper, memory_order_acquire);
    return PTXGEN_OK;
}

ptxgen_status pg_kernel_load(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream,
                             ptxgen_error *err)
{
    ptxgen_error local;
    ptxgen_kernel *helper;
    err = err ? err : &local;
    PG_TRY(load_one(k, device, stream, err));
    PG_TRY(get_helper(k, device, stream, &helper, err));
    return helper ? load_one(helper, device, stream, err) : PTXGEN_OK;
}

bool pg_kernel_is_ready(ptxgen_kernel *k, pg_device *device)
{
    pg_kernel_id id;
    ptxgen_kernel *helper = atomic_load_explicit(&k->helper, memory_order_acquire);
    if (!is_ready(k, device))
        return false;
    return helper ? is_ready(helper, device) : !pg_kernel_helper_id(k, &id);
}
