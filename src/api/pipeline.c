/* From a kernel's identity to a kernel: emit, or disk, or assemble; then load. */
#include "api/context.h"

#include "base/error.h"
#include "generator_fingerprint.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { KEY_FORMAT = 1 }; /* part of every key: a change of meaning is a new number */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- identity ---- */

ptxgen_status pg_kernel_id_resolve(pg_kernel_id *id, ptxgen_error *err)
{
    const pg_arch *arch = pg_arch_find(id->key[0]);
    if (!arch)
        return pg_fail(err, PTXGEN_EINVAL, "architecture number %lld is not known", (long long)id->key[0]);
    return id->family->resolve(id->key, arch, err);
}

ptxgen_status pg_kernel_id_parse(const char *family, const char *params, ptxgen_arch arch,
                                 pg_kernel_id *out, ptxgen_error *err)
{
    memset(out, 0, sizeof *out);
    PG_TRY(pg_family_find(family, &out->family, err));
    pg_params_default(&out->family->params, out->key, arch ? arch : out->family->default_arch);
    PG_TRY(pg_params_parse(&out->family->params, params, out->key, err));
    return pg_kernel_id_resolve(out, err);
}

/* ---- kernels ---- */

static ptxgen_status kernel_create(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                   ptxgen_error *err)
{
    ptxgen_kernel *k = pg_alloc_zero(&ctx->alloc, sizeof *k);
    if (!k)
        return pg_fail_memory(err, sizeof *k);
    atomic_init(&k->refs, 1);
    atomic_fetch_add(&ctx->refs, 1);
    k->ctx = ctx;
    k->alloc = ctx->alloc;
    k->id = *id;
    pthread_mutex_init(&k->load_lock, NULL);
    pg_buf_init(&k->params, &k->alloc);
    pg_buf_init(&k->key_text, &k->alloc);
    pg_buf_init(&k->emitted.text, &k->alloc);
    pg_buf_init(&k->emitted.origins, &k->alloc);
    pg_buf_init(&k->assembly.cubin, &k->alloc);
    pg_buf_init(&k->assembly.log, &k->alloc);
    k->assembly.registers = k->assembly.shared_bytes = -1;
    k->assembly.local_bytes = k->assembly.spill_bytes = -1;
    id->family->plan(id->key, pg_arch_find(id->key[0]), k->plan);
    pg_params_print(&id->family->params, id->key, &k->params);
    if (k->params.failed) {
        pg_kernel_free(k);
        return pg_fail_memory(err, 0);
    }
    *out = k;
    return PTXGEN_OK;
}

void pg_kernel_free(ptxgen_kernel *k)
{
    pg_loaded *loaded = atomic_load(&k->loaded);
    ptxgen *ctx = k->ctx;
    if (loaded) {
        pg_device *device = atomic_load(&ctx->device);
        device->ops->unload(device, loaded);
    }
    if (k->disk.storage)
        pg_cache_entry_release(ctx->cache, &k->disk);
    pg_buf_fini(&k->params);
    pg_buf_fini(&k->key_text);
    pg_emit_fini(&k->emitted);
    pg_buf_fini(&k->assembly.cubin);
    pg_buf_fini(&k->assembly.log);
    pthread_mutex_destroy(&k->load_lock);
    const pg_alloc alloc = k->alloc;
    pg_free(&alloc, k, sizeof *k);
    pg_context_unref(ctx);
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

static ptxgen_status emit_into(ptxgen_kernel *k, ptxgen_error *err)
{
    const double start = now_us();
    pg_emit_init(&k->emitted, &k->alloc);
    k->id.family->emit(&k->emitted, k->plan);
    k->emit_us = now_us() - start;
    return pg_emit_failed(&k->emitted) ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status pg_kernel_emit(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out, ptxgen_error *err)
{
    PG_TRY(kernel_create(ctx, id, out, err));
    (*out)->origin = PTXGEN_ORIGIN_EMITTED;
    const ptxgen_status status = emit_into(*out, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
    }
    return status;
}

/* ---- assembling ---- */

/* The key: everything that decides the cubin, a line each. */
static ptxgen_status write_key(const pg_kernel_id *id, const char *assembler, pg_buf *b, ptxgen_error *err)
{
    const pg_family *f = id->family;
    pg_buf_printf(b, "format=%d\nfamily=%s\n", KEY_FORMAT, f->name);
    for (size_t i = 0; i < f->params.count; i++) {
        const pg_param *p = &f->params.rows[i];
        pg_buf_printf(b, "%s=", p->name);
        pg_param_print_value(p, id->key[p->offset / sizeof(int64_t)], b);
        pg_buf_putc(b, '\n');
    }
    pg_buf_printf(b, "assembler=%s\ngenerator=%s\n", assembler, PG_GENERATOR_FINGERPRINT);
    return b->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status ptxgen_key(ptxgen *ctx, const char *family, const char *params, char *out, size_t size,
                         ptxgen_error *err)
{
    pg_kernel_id id;
    ptxgen_assembler kind;
    const char *identity;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    PG_TRY(pg_toolkit_choose(ctx->toolkit, id.family->whole_program, &kind, &identity, err));
    pg_buf text;
    pg_buf_init(&text, &ctx->alloc);
    ptxgen_status status = write_key(&id, identity, &text, err);
    if (status == PTXGEN_OK && size > 0)
        snprintf(out, size, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return status;
}

/* An assembler speaks of PTX lines; the reader wants the template's. */
static void locate_in_template(const ptxgen_kernel *k, ptxgen_error *err)
{
    if (!err || err->status != PTXGEN_EASSEMBLE || err->line <= 0)
        return;
    const pg_line_origin o = pg_emit_origin(&k->emitted, err->line);
    if (o.line)
        pg_fail_at(err, PTXGEN_EASSEMBLE, o.file, o.line, "%s:%d (PTX line %d of %s %s): %s", o.file, o.line,
                   err->line, k->id.family->name, pg_buf_text(&k->params), err->message);
}

static ptxgen_status assemble_into(ptxgen_kernel *k, ptxgen_assembler kind, ptxgen_error *err)
{
    PG_TRY(emit_into(k, err));
    const pg_assembly_request request = {
        .ptx = pg_buf_text(&k->emitted.text),
        .ptx_size = k->emitted.text.len,
        .arch = k->id.key[0],
        .whole_program = k->id.family->whole_program,
    };
    const double start = now_us();
    const ptxgen_status status = pg_toolkit_assemble(k->ctx->toolkit, kind, &request, &k->assembly, err);
    k->assemble_us = now_us() - start;
    k->origin = PTXGEN_ORIGIN_ASSEMBLED;
    locate_in_template(k, err);
    return status;
}

static void store(ptxgen_kernel *k)
{
    const pg_cache_entry entry = {
        .family = k->id.family->name,
        .params = pg_buf_text(&k->params),
        .entry_name = ((const pg_plan_head *)k->plan)->entry,
        .assembler = k->assembler,
        .log = pg_buf_text(&k->assembly.log),
        .arch = k->id.key[0],
        .registers = k->assembly.registers,
        .shared_bytes = k->assembly.shared_bytes,
        .local_bytes = k->assembly.local_bytes,
        .spill_bytes = k->assembly.spill_bytes,
        .emit_us = k->emit_us,
        .assemble_us = k->assemble_us,
        .created = (int64_t)time(NULL),
        .cubin = k->assembly.cubin.data,
        .cubin_size = k->assembly.cubin.len,
        .ptx = pg_buf_text(&k->emitted.text),
        .ptx_size = k->emitted.text.len,
    };
    pg_cache_store(k->ctx->cache, pg_buf_text(&k->key_text), k->key_text.len, &entry);
}

static bool load_from_disk(ptxgen_kernel *k)
{
    if (!pg_cache_lookup(k->ctx->cache, pg_buf_text(&k->key_text), k->key_text.len, &k->disk))
        return false;
    k->origin = PTXGEN_ORIGIN_DISK;
    k->emit_us = k->disk.emit_us;
    k->assemble_us = k->disk.assemble_us;
    k->assembly.registers = k->disk.registers;
    k->assembly.shared_bytes = k->disk.shared_bytes;
    k->assembly.local_bytes = k->disk.local_bytes;
    k->assembly.spill_bytes = k->disk.spill_bytes;
    return true;
}

/* Disk; else, under the key's lock across processes, disk again and then the assembler. */
static ptxgen_status fill(ptxgen_kernel *k, ptxgen_error *err)
{
    ptxgen_assembler kind;
    const char *identity;
    PG_TRY(pg_toolkit_choose(k->ctx->toolkit, k->id.family->whole_program, &kind, &identity, err));
    snprintf(k->assembler, sizeof k->assembler, "%s", identity);
    PG_TRY(write_key(&k->id, k->assembler, &k->key_text, err));
    if (load_from_disk(k))
        return PTXGEN_OK;
    uint64_t token;
    pg_cache_acquire(k->ctx->cache, pg_buf_text(&k->key_text), k->key_text.len, &token);
    ptxgen_status status = PTXGEN_OK;
    if (!load_from_disk(k)) {
        atomic_fetch_add(&k->ctx->misses, 1);
        status = assemble_into(k, kind, err);
        if (status == PTXGEN_OK)
            store(k);
    }
    pg_cache_release(k->ctx->cache, token);
    return status;
}

static ptxgen_status build(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out, ptxgen_error *err)
{
    if (!id->assembled)
        return pg_kernel_emit(ctx, id, out, err);
    PG_TRY(kernel_create(ctx, id, out, err));
    const ptxgen_status status = fill(*out, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
    }
    return status;
}

ptxgen_status pg_kernel_get(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out, ptxgen_error *err)
{
    *out = NULL;
    return pg_kernel_table_get(ctx->kernels, ctx, id, build, out, err);
}

/* ---- loading ---- */

static ptxgen_status load(ptxgen_kernel *k, pg_device *device, ptxgen_error *err)
{
    const pg_plan_head *head = (const pg_plan_head *)k->plan;
    pg_image image = {.entry = head->entry, .arch = k->id.key[0], .shared_bytes = head->shared_bytes};
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
            "%s %s is not loaded and the stream is being captured: call ptxgen_get for it (or run it once) before"
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

ptxgen_status pg_kernel_load(ptxgen_kernel *k, pg_device *device, ptxgen_stream stream, ptxgen_error *err)
{
    if (is_ready(k, device))
        return PTXGEN_OK;
    bool capturing = false;
    PG_TRY(device->ops->capturing(device, stream, &capturing, err));
    if (capturing)
        return refuse_capture(&k->id, err);
    pthread_mutex_lock(&k->load_lock);
    const ptxgen_status status = load(k, device, err);
    pthread_mutex_unlock(&k->load_lock);
    return status;
}

ptxgen_status pg_kernel_load_or_drop(ptxgen_kernel **k, pg_device *device, ptxgen_stream stream,
                                     ptxgen_error *err)
{
    const ptxgen_status status = pg_kernel_load(*k, device, stream, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*k);
        *k = NULL;
    }
    return status;
}

ptxgen_status pg_kernel_make_ready(ptxgen *ctx, pg_device *device, pg_kernel_id *id, ptxgen_stream stream,
                                   ptxgen_kernel **out, ptxgen_error *err)
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
