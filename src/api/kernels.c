/* The public calls that name a kernel by family and parameters. */
#include "api/context.h"

#include "base/error.h"
#include "engine/build.h"
#include "engine/cache_key.h"

#include <stdio.h>
#include <string.h>

enum { SCOPE_COMPILE = 0 }; /* ptxgen_get's scope is the device's architecture */

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
    return pg_build_text(ctx->engine, &id, out, err);
}

ptxgen_status ptxgen_compile(ptxgen *ctx, const char *family, const char *params,
                             ptxgen_kernel **out, ptxgen_error *err)
{
    pg_kernel_id id;
    family = family ? family : "";
    params = params ? params : "";
    *out = pg_text_memo_recall(ctx->kernels.texts, SCOPE_COMPILE, family, params);
    if (*out)
        return PTXGEN_OK;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    id.assembled = true;
    PG_TRY(pg_kernel_store_get(&ctx->kernels, &id, PG_BUILD_ON_DEMAND, out, err));
    pg_text_memo_remember(ctx->kernels.texts, SCOPE_COMPILE, family, params, *out);
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
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->info(device, &info, err));
    *out = pg_text_memo_recall(ctx->kernels.texts, info->arch, family, params);
    if (*out)
        return pg_kernel_store_load(&ctx->kernels, out, device, stream, err);
    PG_TRY(pg_kernel_id_parse(family, params, pg_kernel_id_arch(f, device->ops->kind, info->arch),
                              &id, err));
    PG_TRY(pg_kernel_store_ready(&ctx->kernels, device, &id, stream, out, err));
    pg_text_memo_remember(ctx->kernels.texts, info->arch, family, params, *out);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_toolkit_needed(ptxgen *ctx, const char *family, const char *params, char *out,
                                    size_t size, ptxgen_error *err)
{
    pg_kernel_id id;
    ptxgen_kernel *k;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    PG_TRY(pg_build_text(ctx->engine, &id, &k, err));
    const int release = pg_build_release(k);
    if (size > 0)
        snprintf(out, size, "%d.%d", release / 100, release % 100);
    ptxgen_kernel_unref(k);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_key(ptxgen *ctx, const char *family, const char *params, char *out,
                         size_t size, ptxgen_error *err)
{
    pg_kernel_id id;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    pg_buf text;
    pg_buf_init(&text, &ctx->engine->alloc);
    ptxgen_status status = pg_write_key(&id, &ctx->engine->extra_key, &text, err);
    if (status == PTXGEN_OK && size > 0)
        snprintf(out, size, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return status;
}
