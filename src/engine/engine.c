/* Parts of the engine, made in order and given back in the opposite one. */
#include "engine/engine.h"

#include "base/error.h"
#include "device/emulated/emulator_device.h"
#include "engine/cache_key.h"
#include "engine/functions.h"

static void before_fork(void *user)
{
    pg_engine *e = user;
    pg_refusals_before_fork(e->refusals);
}

static void after_fork(void *user, bool child)
{
    pg_engine *e = user;
    pg_refusals_after_fork(e->refusals);
    if (!child)
        return;
    e->device_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    e->tuning.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < PG_LOAD_LOCKS; i++)
        e->load_locks[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static ptxgen_status create_parts(pg_engine *e, const pg_engine_config *c, ptxgen_error *err)
{
    if (!pg_dump_init(&e->dump, &e->alloc, &e->log, c->dump_dir))
        return pg_fail_memory(err, 0);
    PG_TRY(pg_tuning_init(&e->tuning, &e->alloc, c->tuning_file, err));
    PG_TRY(pg_refusals_create(&e->alloc, c->failure_s, &e->refusals, err));
    PG_TRY(pg_write_extra_key(c->extra_key, c->extra_key_count, &e->extra_key, err));
    PG_TRY(pg_toolkit_create(&e->alloc, &e->log, &c->toolkit, &e->toolkit, err));
    return pg_cache_create(&e->alloc, &e->log, &c->cache, &e->cache, err);
}

ptxgen_status pg_engine_create(const pg_engine_config *c, pg_engine **out, ptxgen_error *err)
{
    pg_engine *e = pg_alloc_zero(&c->alloc, sizeof *e);
    if (!e)
        return pg_fail_memory(err, sizeof *e);
    atomic_init(&e->refs, 1);
    e->alloc = c->alloc;
    e->log = c->log;
    e->device_kind = c->device_kind;
    e->emulated_sms = c->emulated_sms;
    e->accept = c->accept;
    pg_buf_init(&e->extra_key, &e->alloc);
    pthread_mutex_init(&e->device_lock, NULL);
    for (int i = 0; i < PG_LOAD_LOCKS; i++)
        pthread_mutex_init(&e->load_locks[i], NULL);
    const ptxgen_status status = create_parts(e, c, err);
    if (status != PTXGEN_OK) {
        pg_engine_unref(e);
        return status;
    }
    e->watcher = (pg_fork_watcher){.before = before_fork, .after = after_fork, .user = e};
    pg_fork_watch(&e->watcher);
    *out = e;
    return PTXGEN_OK;
}

void pg_engine_unref(pg_engine *e)
{
    if (!e || atomic_fetch_sub(&e->refs, 1) != 1)
        return;
    pg_fork_unwatch(&e->watcher);
    pg_device *device = atomic_load(&e->device);
    if (device)
        device->ops->destroy(device);
    pg_functions_destroy(e);
    if (e->cache)
        pg_cache_destroy(e->cache);
    if (e->toolkit)
        pg_toolkit_destroy(e->toolkit);
    pg_refusals_destroy(e->refusals);
    pg_dump_fini(&e->dump);
    pg_tuning_fini(&e->tuning);
    pg_buf_fini(&e->extra_key);
    pthread_mutex_destroy(&e->device_lock);
    for (int i = 0; i < PG_LOAD_LOCKS; i++)
        pthread_mutex_destroy(&e->load_locks[i]);
    const pg_alloc alloc = e->alloc;
    pg_free(&alloc, e, sizeof *e);
}

static ptxgen_status create_device(pg_engine *e, pg_device **out, ptxgen_error *err)
{
    if (e->device_kind == PTXGEN_DEVICE_EMULATOR)
        return pg_emulator_device_create(&e->alloc, &e->log, e->emulated_sms, out, err);
    ptxgen_error missing = {0}; /* no failure of the call when the emulator takes its place */
    const ptxgen_status status = pg_cuda_device_create(&e->alloc, &e->log, out, &missing);
    if (status == PTXGEN_EMISSING && e->device_kind == PTXGEN_DEVICE_AUTO)
        return pg_emulator_device_create(&e->alloc, &e->log, e->emulated_sms, out, err);
    if (status != PTXGEN_OK && err)
        *err = missing;
    return status;
}

ptxgen_status pg_engine_device(pg_engine *e, pg_device **out, ptxgen_error *err)
{
    *out = atomic_load_explicit(&e->device, memory_order_acquire);
    if (*out)
        return PTXGEN_OK;
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&e->device_lock);
    *out = atomic_load(&e->device);
    if (!*out) {
        status = create_device(e, out, err);
        if (status == PTXGEN_OK)
            atomic_store(&e->device, *out);
    }
    pthread_mutex_unlock(&e->device_lock);
    return status;
}
