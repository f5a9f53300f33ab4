/* ptxgen_function_add and ptxgen_function_ptx. */
#include "api/context.h"

#include "base/error.h"
#include "base/sized.h"
#include "engine/functions.h"

ptxgen_status ptxgen_function_add(ptxgen *ctx, const ptxgen_function *function, int64_t *id,
                                  ptxgen_error *err)
{
    if (!ctx || !id)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", ctx ? "id" : "ctx");
    *id = 0;
    return pg_functions_add(ctx->engine, function, id, err);
}

ptxgen_status ptxgen_function_ptx(ptxgen *ctx, int64_t id, ptxgen_arch arch, bool exact,
                                  ptxgen_function_info *out, ptxgen_error *err)
{
    const pg_function_text *t;
    if (!ctx || !out)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", ctx ? "out" : "ctx");
    PG_TRY(pg_functions_text(ctx->engine, id, &(pg_function_use){.arch = arch, .exact = exact}, &t,
                             err));
    const ptxgen_function_info info = {.ptx = pg_buf_text(&t->ptx),
                                       .ptx_size = t->ptx.len,
                                       .log = pg_buf_text(&t->log),
                                       .name = t->name,
                                       .origin = t->origin,
                                       .compile_us = t->compile_us};
    pg_sized_give(out, &info, sizeof info);
    return PTXGEN_OK;
}
