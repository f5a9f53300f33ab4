/* The kernel object: made empty, filled by build.c, given back when nobody holds it. */
#include "engine/kernel.h"

#include "base/error.h"
#include "base/sized.h"

#include <string.h>

ptxgen_status pg_kernel_create(pg_engine *engine, const pg_kernel_id *id, ptxgen_kernel **out,
                               ptxgen_error *err)
{
    ptxgen_kernel *k = pg_alloc_zero(&engine->alloc, sizeof *k);
    if (!k)
        return pg_fail_memory(err, sizeof *k);
    atomic_init(&k->refs, 1);
    atomic_fetch_add(&engine->refs, 1);
    k->engine = engine;
    k->id = *id;
    pg_buf_init(&k->params, &engine->alloc);
    pg_buf_init(&k->key_text, &engine->alloc);
    pg_buf_init(&k->emitted.text, &engine->alloc);
    pg_buf_init(&k->emitted.origins, &engine->alloc);
    pg_buf_init(&k->assembly.cubin, &engine->alloc);
    pg_buf_init(&k->assembly.log, &engine->alloc);
    k->assembly.registers = k->assembly.shared_bytes = -1;
    k->assembly.local_bytes = k->assembly.spill_bytes = -1;
    id->family->plan(id->key, pg_arch_find(id->key[0]), k->plan);
    pg_params_print(&id->family->params, id->key, &k->params);
    if (k->params.failed) {
        ptxgen_kernel_unref(k);
        return pg_fail_memory(err, 0);
    }
    *out = k;
    return PTXGEN_OK;
}

static void destroy(ptxgen_kernel *k)
{
    pg_engine *engine = k->engine;
    pg_loaded *loaded = atomic_load(&k->loaded);
    ptxgen_kernel_unref(atomic_load(&k->helper));
    if (atomic_load(&k->calls))
        pg_call_memo_free(atomic_load(&k->calls));
    if (loaded) {
        pg_device *device = atomic_load(&engine->device);
        device->ops->unload(device, loaded);
    }
    if (k->disk.storage)
        pg_cache_entry_release(engine->cache, &k->disk);
    pg_buf_fini(&k->params);
    pg_buf_fini(&k->key_text);
    pg_emit_fini(&k->emitted);
    pg_buf_fini(&k->assembly.cubin);
    pg_buf_fini(&k->assembly.log);
    pg_free(&engine->alloc, k, sizeof *k);
    pg_engine_unref(engine);
}

ptxgen_kernel *ptxgen_kernel_ref(ptxgen_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void ptxgen_kernel_unref(ptxgen_kernel *k)
{
    if (k && atomic_fetch_sub(&k->refs, 1) == 1)
        destroy(k);
}

const char *pg_kernel_ptx(const ptxgen_kernel *k, size_t *size)
{
    *size = k->disk.storage ? k->disk.ptx_size : k->emitted.text.len;
    return k->disk.storage ? k->disk.ptx : pg_buf_text(&k->emitted.text);
}

const void *pg_kernel_cubin(const ptxgen_kernel *k, size_t *size)
{
    *size = k->disk.storage ? k->disk.cubin_size : k->assembly.cubin.len;
    return k->disk.storage ? k->disk.cubin : k->assembly.cubin.data;
}

void ptxgen_kernel_describe(const ptxgen_kernel *k, ptxgen_kernel_info *info)
{
    ptxgen_kernel_info i = {
        .family = k->id.family->name,
        .params = pg_buf_text(&k->params),
        .entry = ((const pg_plan_head *)k->plan)->entry,
        .key = pg_buf_text(&k->key_text),
        .arch = k->id.key[0],
        .origin = k->origin,
        .assembler = k->assembler,
        .log = k->disk.storage ? k->disk.log : pg_buf_text(&k->assembly.log),
        .registers = k->assembly.registers,
        .shared_bytes = k->assembly.shared_bytes,
        .local_bytes = k->assembly.local_bytes,
        .spill_bytes = k->assembly.spill_bytes,
        .emit_us = k->emit_us,
        .assemble_us = k->assemble_us,
        .dynamic_shared_bytes = (int)((const pg_plan_head *)k->plan)->shared_bytes,
    };
    i.ptx = pg_kernel_ptx(k, &i.ptx_size);
    i.cubin = pg_kernel_cubin(k, &i.cubin_size);
    pg_sized_give(info, &i, sizeof i);
}

bool ptxgen_kernel_line_origin(const ptxgen_kernel *k, int ptx_line, const char **file, int *line)
{
    const pg_line_origin o = pg_emit_origin(&k->emitted, ptx_line);
    *file = o.file;
    *line = o.line;
    return o.line != 0;
}

bool pg_kernel_helper_id(const ptxgen_kernel *k, pg_kernel_id *out)
{
    memset(out, 0, sizeof *out);
    out->assembled = k->id.assembled;
    out->family = k->id.family->helper ? k->id.family->helper(k->id.key, out->key) : NULL;
    return out->family != NULL;
}

void pg_kernel_set_helper(ptxgen_kernel *k, ptxgen_kernel *helper)
{
    ptxgen_kernel *none = NULL;
    ptxgen_kernel_ref(helper);
    if (!atomic_compare_exchange_strong(&k->helper, &none, helper))
        ptxgen_kernel_unref(helper);
}
