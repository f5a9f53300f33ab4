/* From a kernel's identity to a kernel: emit, or disk, or assemble.
 *
 * A builder always gets an error record: the kernel table keeps it for the threads that wait for the result. */
#include "api/context.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
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

ptxgen_status pg_kernel_emit(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                             ptxgen_error *err)
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

/* An assembler speaks of PTX lines; the reader wants the template's. */
static void locate_in_template(const ptxgen_kernel *k, ptxgen_error *err)
{
    if (err->status != PTXGEN_EASSEMBLE || err->line <= 0)
        return;
    const pg_line_origin o = pg_emit_origin(&k->emitted, err->line);
    if (o.line)
        pg_fail_at(err, PTXGEN_EASSEMBLE, o.file, o.line, "%s:%d (PTX line %d of %s %s): %s",
                   o.file, o.line, err->line, k->id.family->name, pg_buf_text(&k->params),
                   err->message);
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
    const ptxgen_status status =
        pg_toolkit_assemble(k->ctx->toolkit, kind, &request, &k->assembly, err);
    k->assemble_us = now_us() - start;
    k->origin = PTXGEN_ORIGIN_ASSEMBLED;
    if (status != PTXGEN_OK)
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

static void store_failure(const ptxgen_kernel *k, const ptxgen_error *err)
{
    const pg_cache_entry entry = {
        .status = err->status,
        .message = err->message,
        .error_file = err->file,
        .error_line = err->line,
        .family = k->id.family->name,
        .params = pg_buf_text(&k->params),
        .entry_name = ((const pg_plan_head *)k->plan)->entry,
        .assembler = k->assembler,
        .log = pg_buf_text(&k->assembly.log),
        .arch = k->id.key[0],
        .registers = -1,
        .shared_bytes = -1,
        .local_bytes = -1,
        .spill_bytes = -1,
        .emit_us = k->emit_us,
        .assemble_us = k->assemble_us,
        .ptx = pg_buf_text(&k->emitted.text),
        .ptx_size = k->emitted.text.len,
    };
    pg_cache_store(k->ctx->cache, pg_buf_text(&k->key_text), k->key_text.len, &entry);
    pg_refusals_remember(k->ctx->refusals, pg_buf_text(&k->key_text), k->key_text.len, err);
}

static void take_entry(ptxgen_kernel *k)
{
    k->origin = PTXGEN_ORIGIN_DISK;
    k->emit_us = k->disk.emit_us;
    k->assemble_us = k->disk.assemble_us;
    k->assembly.registers = k->disk.registers;
    k->assembly.shared_bytes = k->disk.shared_bytes;
    k->assembly.local_bytes = k->disk.local_bytes;
    k->assembly.spill_bytes = k->disk.spill_bytes;
}

/* true when the disk has the answer: *status OK, or a failure, which the context may remember itself. */
static bool look_up(ptxgen_kernel *k, ptxgen_status *status, ptxgen_error *err)
{
    const char *const key = pg_buf_text(&k->key_text);
    if (pg_refusals_recall(k->ctx->refusals, key, k->key_text.len, err)) {
        *status = err->status;
        return true;
    }
    const pg_cache_found found = pg_cache_lookup(k->ctx->cache, key, k->key_text.len, &k->disk);
    *status = PTXGEN_OK;
    if (found == PG_CACHE_HIT)
        take_entry(k);
    else if (found == PG_CACHE_FAILED)
        *status = pg_fail_at(err, k->disk.status, k->disk.error_file, k->disk.error_line, "%s",
                             k->disk.message);
    return found != PG_CACHE_MISS;
}

typedef enum build_mode {
    BUILD_ON_DEMAND,
    BUILD_FRESH, /* what the disk has is not good enough */
    BUILD_AHEAD  /* in the background: a failure is told, and tried again by who needs the kernel */
} build_mode;

static ptxgen_status assemble_and_store(ptxgen_kernel *k, ptxgen_assembler kind, build_mode mode,
                                        ptxgen_error *err)
{
    atomic_fetch_add(&k->ctx->misses, 1);
    const ptxgen_status status = assemble_into(k, kind, err);
    if (status == PTXGEN_OK)
        store(k);
    else if (k->assembly.text_at_fault && mode != BUILD_AHEAD)
        store_failure(k, err);
    return status;
}

/* Disk; else, under the key's lock across processes, disk again and then the assembler. */
static ptxgen_status fill(ptxgen_kernel *k, build_mode mode, ptxgen_error *err)
{
    ptxgen_assembler kind;
    const char *identity;
    ptxgen_status status;
    pg_cache *cache = k->ctx->cache;
    PG_TRY(pg_toolkit_choose(k->ctx->toolkit, k->id.family->whole_program, &kind, &identity, err));
    snprintf(k->assembler, sizeof k->assembler, "%s", identity);
    PG_TRY(pg_write_key(k->ctx, &k->id, k->assembler, &k->key_text, err));
    if (mode != BUILD_FRESH && look_up(k, &status, err))
        return status;
    uint64_t token;
    pg_cache_acquire(cache, pg_buf_text(&k->key_text), k->key_text.len, &token);
    if (mode == BUILD_FRESH || !look_up(k, &status, err)) {
        pg_cache_take_slot(cache, token);
        status = assemble_and_store(k, kind, mode, err);
    }
    pg_cache_release(cache, token);
    return status;
}

static ptxgen_status build_assembled(ptxgen *ctx, const pg_kernel_id *id, build_mode mode,
                                     ptxgen_kernel **out, ptxgen_error *err)
{
    PG_TRY(kernel_create(ctx, id, out, err));
    const ptxgen_status status = fill(*out, mode, err);
    if (status != PTXGEN_OK) {
        ptxgen_kernel_unref(*out);
        *out = NULL;
    }
    return status;
}

static ptxgen_status build_and_record(ptxgen *ctx, const pg_kernel_id *id, build_mode mode,
                                      ptxgen_kernel **out, ptxgen_error *err)
{
    PG_TRY(id->assembled ? build_assembled(ctx, id, mode, out, err)
                         : pg_kernel_emit(ctx, id, out, err));
    pg_manifest_record_add(ctx->asked, id->family->name, pg_buf_text(&(*out)->params));
    return PTXGEN_OK;
}

static ptxgen_status build(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                           ptxgen_error *err)
{
    return build_and_record(ctx, id, BUILD_ON_DEMAND, out, err);
}

static ptxgen_status build_ahead(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                 ptxgen_error *err)
{
    return build_and_record(ctx, id, BUILD_AHEAD, out, err);
}

static ptxgen_status build_fresh(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                 ptxgen_error *err)
{
    return build_assembled(ctx, id, BUILD_FRESH, out, err);
}

ptxgen_status pg_kernel_get(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                            ptxgen_error *err)
{
    *out = NULL;
    return pg_kernel_table_get(ctx->kernels, ctx, id, build, out, err);
}

ptxgen_status pg_kernel_get_ahead(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                  ptxgen_error *err)
{
    *out = NULL;
    return pg_kernel_table_get(ctx->kernels, ctx, id, build_ahead, out, err);
}

ptxgen_status pg_kernel_get_fresh(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                  ptxgen_error *err)
{
    *out = NULL;
    return pg_kernel_table_get(ctx->kernels, ctx, id, build_fresh, out, err);
}
