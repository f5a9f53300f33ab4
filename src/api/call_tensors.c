/* ptxgen_call and its neighbours: operands as tensors, for every family. */
#include "api/call.h"

#include "base/sized.h"
#include "ptxgen/call.h"

ptxgen_status pg_call_take(pg_call *c, const pg_family *family, const pg_request *r,
                           ptxgen_error *err)
{
    pg_call_init(c, family);
    pg_params_default(&family->params, c->id.key, family->default_arch);
    PG_TRY(pg_call_parse(c, r->params, err));
    return pg_problem_take(&c->problem, r->tensors, r->count, err);
}

ptxgen_status ptxgen_call(ptxgen *ctx, const char *family, const char *params,
                          const ptxgen_tensor *tensors, size_t count, ptxgen_stream stream,
                          ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    return pg_call_run(&c, ctx, stream, err);
}

ptxgen_status ptxgen_call_kernel(ptxgen_kernel *kernel, const ptxgen_tensor *tensors, size_t count,
                                 ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    pg_call_init(&c, kernel->id.family);
    PG_TRY(pg_problem_take(&c.problem, tensors, count, err));
    return pg_call_kernel(&c, kernel, stream, err);
}

ptxgen_status ptxgen_call_params(ptxgen *ctx, const char *family, const char *params,
                                 const ptxgen_tensor *tensors, size_t count, char *out, size_t size,
                                 ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    return pg_call_params(&c, ctx, out, size, err);
}

ptxgen_status ptxgen_call_workspace(ptxgen *ctx, const char *family, const char *params,
                                    const ptxgen_tensor *tensors, size_t count, size_t *bytes,
                                    ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    return pg_call_workspace(&c, ctx, bytes, err);
}

ptxgen_status ptxgen_call_generic(ptxgen *ctx, const char *family, const char *params,
                                  const ptxgen_tensor *tensors, size_t count,
                                  ptxgen_generic_info *out, ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    ptxgen_generic_info info = {.size = sizeof info};
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    PG_TRY(pg_call_generic(&c, ctx, &info, err));
    pg_sized_give(out, &info, sizeof info);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_call_oracle(const char *family, const char *params,
                                 const ptxgen_tensor *tensors, size_t count, ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    return pg_call_oracle(&c, err);
}

/* Every operand once, a result that is read as well twice. */
static double all_bytes(const pg_problem *p)
{
    double bytes = 0;
    for (size_t i = 0; i < p->table->count; i++) {
        const pg_view *v = &p->operand[i];
        if (v->present && p->table->rows[i].role != PG_WORKSPACE)
            bytes += (double)pg_view_elements(v) * v->bits / 8 *
                     (p->table->rows[i].role == PG_INOUT ? 2 : 1);
    }
    return bytes;
}

ptxgen_status ptxgen_call_work(const char *family, const char *params, const ptxgen_tensor *tensors,
                               size_t count, double *flop, double *bytes, ptxgen_error *err)
{
    const pg_family *f;
    pg_call c;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&c, f, &(pg_request){params, tensors, count}, err));
    c.problem.host = true;
    PG_TRY(pg_call_check_shapes(&c, err));
    *flop = 0;
    *bytes = all_bytes(&c.problem);
    if (f->work)
        f->work(&c.problem, flop, bytes);
    return PTXGEN_OK;
}
