/* Getting a kernel: the table decides who builds, build.c builds, kernel_load.c loads. */
#include "engine/kernel_store.h"

#include "engine/fleet.h"

#include "base/error.h"

ptxgen_status pg_kernel_store_init(pg_kernel_store *s, pg_engine *engine, ptxgen_error *err)
{
    s->engine = engine;
    PG_TRY(pg_kernel_table_create(&engine->alloc, &s->table, err));
    PG_TRY(pg_text_memo_create(&engine->alloc, &s->texts, err));
    PG_TRY(pg_call_memo_create(&engine->alloc, &s->calls, err));
    return pg_manifest_record_create(&engine->alloc, &s->asked, err);
}

void pg_kernel_store_clear(pg_kernel_store *s)
{
    pg_text_memo_clear(s->texts);
    pg_call_memo_clear(s->calls);
    pg_kernel_table_clear(s->table);
}

void pg_kernel_store_fini(pg_kernel_store *s)
{
    if (s->texts)
        pg_text_memo_destroy(s->texts);
    if (s->calls)
        pg_call_memo_destroy(s->calls);
    if (s->table)
        pg_kernel_table_destroy(s->table);
    pg_manifest_record_destroy(s->asked);
}

/* One request to build, as the table hands it back. */
typedef struct order {
    pg_kernel_store *store;
    pg_build_mode mode;
} order;

static ptxgen_status build(void *user, const pg_kernel_id *id, ptxgen_kernel **out,
                           ptxgen_error *err)
{
    const order *o = user;
    PG_TRY(pg_build(o->store->engine, id, o->mode, out, err));
    pg_manifest_record_add(o->store->asked, id->family->name, pg_buf_text(&(*out)->params));
    return PTXGEN_OK;
}

ptxgen_status pg_kernel_store_get(pg_kernel_store *s, const pg_kernel_id *id, pg_build_mode mode,
                                  ptxgen_kernel **out, ptxgen_error *err)
{
    order o = {s, mode};
    *out = NULL;
    return pg_kernel_table_get(s->table, id, (pg_kernel_source){build, &o, &s->engine->log}, out,
                               err);
}

/* The driver refused *k: it leaves the table, and a fresh one takes its place. */
static ptxgen_status replace(pg_kernel_store *s, ptxgen_kernel **k, ptxgen_error *err)
{
    ptxgen_kernel *const refused = *k;
    pg_log_line(&s->engine->log, PTXGEN_LOG_WARNING, "%s %s from the cache is compiled again: %s",
                refused->id.family->name, pg_buf_text(&refused->params), err->message);
    pg_kernel_table_remove(s->table, refused);
    const ptxgen_status status = pg_kernel_store_get(s, &refused->id, PG_BUILD_FRESH, k, err);
    ptxgen_kernel_unref(refused);
    return status;
}

ptxgen_status pg_kernel_store_load(pg_kernel_store *s, ptxgen_kernel **k, pg_device *device,
                                   ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_error local;
    err = err ? err : &local;
    ptxgen_status status = pg_kernel_load(*k, device, stream, err);
    if (status != PTXGEN_OK && pg_kernel_is_rejected(*k)) {
        status = replace(s, k, err);
        if (status == PTXGEN_OK)
            status = pg_kernel_load(*k, device, stream, err);
    }
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*k);
        *k = NULL;
    }
    return status;
}

/* The helper is shared: it is a kernel of the store like any other. */
static ptxgen_status add_helper(pg_kernel_store *s, ptxgen_kernel *k, pg_device *device,
                                ptxgen_stream stream, ptxgen_error *err)
{
    pg_kernel_id id;
    ptxgen_kernel *helper;
    if (atomic_load_explicit(&k->helper, memory_order_acquire) || !pg_kernel_helper_id(k, &id))
        return PTXGEN_OK;
    PG_TRY(pg_kernel_store_ready(s, device, &id, stream, &helper, err));
    pg_kernel_set_helper(k, helper);
    ptxgen_kernel_unref(helper);
    return PTXGEN_OK;
}

ptxgen_status pg_kernel_store_ready(pg_kernel_store *s, pg_device *device, pg_kernel_id *id,
                                    ptxgen_stream stream, ptxgen_kernel **out, ptxgen_error *err)
{
    id->assembled = device->ops->kind != PTXGEN_DEVICE_EMULATOR;
    *out = pg_kernel_table_find(s->table, id);
    if (!*out) {
        PG_TRY(pg_refuse_capture(id, device, stream, err));
        PG_TRY(pg_kernel_store_get(s, id, PG_BUILD_ON_DEMAND, out, err));
    }
    const ptxgen_status status = add_helper(s, *out, device, stream, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
        return status;
    }
    return pg_kernel_store_load(s, out, device, stream, err);
}

ptxgen_kernel *pg_kernel_store_find_ready(pg_kernel_store *s, pg_device *device, pg_kernel_id *id)
{
    id->assembled = device->ops->kind != PTXGEN_DEVICE_EMULATOR;
    ptxgen_kernel *k = pg_kernel_table_find(s->table, id);
    if (!k)
        return NULL;
    if (pg_kernel_is_ready(k, device))
        return k;
    ptxgen_kernel_unref(k);
    return NULL;
}

ptxgen_status pg_kernel_store_behind(pg_kernel_store *s, pg_device *device, pg_kernel_id *id,
                                     ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id helper_id;
    ptxgen_kernel *helper;
    id->assembled = device->ops->kind != PTXGEN_DEVICE_EMULATOR;
    PG_TRY(pg_kernel_store_get(s, id, PG_BUILD_AHEAD, out, err));
    ptxgen_status status = PTXGEN_OK;
    if (!atomic_load_explicit(&(*out)->helper, memory_order_acquire) &&
        pg_kernel_helper_id(*out, &helper_id)) {
        pg_fleet fleet = {0};
        helper_id.assembled = id->assembled;
        pg_fleet_begin(s, &helper_id, &fleet); /* made here when another machine is at it */
        status = pg_kernel_store_behind(s, device, &helper_id, &helper, err);
        pg_fleet_end(s, &fleet);
        if (status == PTXGEN_OK) {
            pg_kernel_set_helper(*out, helper);
            ptxgen_kernel_unref(helper);
        }
    }
    if (status == PTXGEN_OK)
        status = pg_kernel_load_behind(*out, device, err);
    if (status != PTXGEN_OK && pg_kernel_is_rejected(*out)) {
        status = replace(s, out, err);
        if (status == PTXGEN_OK)
            status = pg_kernel_load_behind(*out, device, err);
    }
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
    }
    return status;
}

void pg_kernel_store_before_fork(pg_kernel_store *s)
{
    pg_manifest_record_before_fork(s->asked);
    pg_kernel_table_before_fork(s->table);
    pg_text_memo_before_fork(s->texts);
    pg_call_memo_before_fork(s->calls);
}

void pg_kernel_store_after_fork(pg_kernel_store *s, bool child)
{
    pg_call_memo_after_fork(s->calls);
    pg_text_memo_after_fork(s->texts);
    pg_kernel_table_after_fork(s->table, child);
    pg_manifest_record_after_fork(s->asked);
}
