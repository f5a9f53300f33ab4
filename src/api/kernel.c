/* Kernels as the public API shows them: making, references, facts. */
#include "api/context.h"

#include "base/error.h"

#include <string.h>

enum { SCOPE_COMPILE = 0 }; /* ptxgen_get's scope is the device's architecture */

ptxgen_kernel *ptxgen_kernel_ref(ptxgen_kernel *k)
{
    atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
    return k;
}

void ptxgen_kernel_unref(ptxgen_kernel *k)
{
    if (k && atomic_fetch_sub(&k->refs, 1) == 1)
        pg_kernel_free(k);
}

ptxgen_status ptxgen_canonical(const char *family, const char *params, char *out, size_t size,
                               ptxgen_error *err)
{
    pg_kernel_id id;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    pg_params_print(&id.family->params, id.key, &text);
    const ptxgen_status status = text.failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
    if (size) {
        const size_t n = text.len < size ? text.len : size - 1;
        memcpy(out, pg_buf_text(&text), n);
        out[n] = 0;
    }
    pg_buf_fini(&text);
    return status;
}

ptxgen_status ptxgen_emit(ptxgen *ctx, const char *family, const char *params, ptxgen_kernel **out,
                          ptxgen_error *err)
{
    pg_kernel_id id;
    *out = NULL;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    return pg_kernel_emit(ctx, &id, out, err);
}

ptxgen_status ptxgen_compile(ptxgen *ctx, const char *family, const char *params,
                             ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id id;
    family = family ? family : "";
    params = params ? params : "";
    *out = pg_text_memo_recall(ctx->texts, SCOPE_COMPILE, family, params);
    if (*out)
        return PTXGEN_OK;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    id.assembled = true;
    PG_TRY(pg_kernel_get(ctx, &id, out, err));
    pg_text_memo_remember(ctx->texts, SCOPE_COMPILE, family, params, *out);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_get(ptxgen *ctx, const char *family, const char *params, ptxgen_stream stream,
                         ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id id;
    const pg_family *f;
    pg_device *device;
    const ptxgen_device_info *info;
    family = family ? family : "";
    params = params ? params : "";
    *out = NULL;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_context_device(ctx, &device, err));
    PG_TRY(device->ops->info(device, &info, err));
    *out = pg_text_memo_recall(ctx->texts, info->arch, family, params);
    if (*out)
        return pg_kernel_load_or_drop(out, device, stream, err);
    PG_TRY(pg_kernel_id_parse(family, params, pg_kernel_id_arch(f, device->ops->kind, info->arch),
                              &id, err));
    PG_TRY(pg_kernel_make_ready(ctx, device, &id, stream, out, err));
    pg_text_memo_remember(ctx->texts, info->arch, family, params, *out);
    return PTXGEN_OK;
}

static const char *text_of(const pg_buf *b)
{
    return pg_buf_text(b);
}

void ptxgen_kernel_describe(const ptxgen_kernel *k, ptxgen_kernel_info *info)
{
    ptxgen_kernel_info i = {
        .size = info->size,
        .family = k->id.family->name,
        .params = text_of(&k->params),
        .entry = ((const pg_plan_head *)k->plan)->entry,
        .key = text_of(&k->key_text),
        .arch = k->id.key[0],
        .origin = k->origin,
        .assembler = k->assembler,
        .log = k->disk.storage ? k->disk.log : text_of(&k->assembly.log),
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
    memcpy(info, &i, info->size < sizeof i ? info->size : sizeof i);
}

bool ptxgen_kernel_line_origin(const ptxgen_kernel *k, int ptx_line, const char **file, int *line)
{
    const pg_line_origin o = pg_emit_origin(&k->emitted, ptx_line);
    *file = o.file;
    *line = o.line;
    return o.line != 0;
}
