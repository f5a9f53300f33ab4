/* The public calls on kernels in the background. */
#include "api/context.h"

static ptxgen_status parse(const char *family, const char *params, pg_kernel_id *id,
                           ptxgen_error *err)
{
    PG_TRY(pg_kernel_id_parse(family ? family : "", params ? params : "", 0, id, err));
    id->assembled = true;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_prefetch(ptxgen *ctx, const char *family, const char *params,
                              ptxgen_error *err)
{
    pg_kernel_id id;
    PG_TRY(parse(family, params, &id, err));
    if (pg_kernel_table_peek(ctx->kernels.table, &id) == PG_KERNEL_PRESENT)
        return PTXGEN_OK;
    return pg_compile_pool_submit(ctx->pool, &id, err);
}

ptxgen_status ptxgen_poll(ptxgen *ctx, const char *family, const char *params, ptxgen_error *err)
{
    pg_kernel_id id;
    PG_TRY(parse(family, params, &id, err));
    /* The pool first: a job leaves it only when its kernel is in the table. */
    ptxgen_error failure = {0};
    const ptxgen_status background = pg_compile_pool_poll(ctx->pool, &id, &failure);
    const pg_presence presence = pg_kernel_table_peek(ctx->kernels.table, &id);
    if (presence == PG_KERNEL_PRESENT)
        return PTXGEN_OK;
    if (presence == PG_KERNEL_IN_FLIGHT || background == PTXGEN_EPENDING)
        return pg_fail(err, PTXGEN_EPENDING,
                       "%s %s is still being compiled: poll again, or wait for it with "
                       "ptxgen_compile",
                       id.family->name, params ? params : "");
    if (background == PTXGEN_OK)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s %s was not asked for, or was forgotten since: call ptxgen_prefetch",
                       id.family->name, params ? params : "");
    if (err)
        *err = failure;
    return background;
}
