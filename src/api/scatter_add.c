/* ptxgen_scatter_add: its struct as operands and parameters. */
#include "api/typed.h"

#include "base/error.h"
#include "scatter_add/scatter_add.h"

static ptxgen_dtype index_dtype(ptxgen_index_type type)
{
    return type == PTXGEN_INDEX_I64   ? PTXGEN_S64
           : type == PTXGEN_INDEX_I32 ? PTXGEN_S32
                                      : PTXGEN_DTYPE_NONE;
}

static void fill_operands(const ptxgen_scatter_add_args *a, pg_view *v)
{
    pg_view_matrix(&v[PG_SCATTER_OUT],
                   &(pg_matrix_arg){a->out, a->dtype, a->out_rows, a->n, a->out_stride, false});
    pg_view_matrix(&v[PG_SCATTER_SRC],
                   &(pg_matrix_arg){a->src, a->dtype, a->rows, a->n, a->src_stride, false});
    pg_view_vector(&v[PG_SCATTER_INDEX], a->index, index_dtype(a->index_type), a->rows);
    if (a->out_inner)
        v[PG_SCATTER_OUT].stride[1] = a->out_inner;
    if (a->src_inner)
        v[PG_SCATTER_SRC].stride[1] = a->src_inner;
    if (a->index_stride)
        v[PG_SCATTER_INDEX].stride[0] = a->index_stride;
}

ptxgen_status pg_fill_scatter_add(const ptxgen_scatter_add_args *args, pg_call *c,
                                  ptxgen_error *err)
{
    ptxgen_scatter_add_args a;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_scatter_add_args", err));
    pg_call_init(c, &pg_family_scatter_add);
    fill_operands(&a, c->problem.operand);
    pg_scatter_add_key *k = (pg_scatter_add_key *)c->id.key;
    k->schedule = a.schedule;
    k->oob = a.oob;
    k->function = a.function;
    if (a.dynamic_n)
        pg_call_give(c, offsetof(pg_scatter_add_key, n));
    return PTXGEN_OK;
}

ptxgen_status ptxgen_scatter_add(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                 ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_scatter_add(args, &c, err));
    return pg_call_run(&c, ctx, stream, err);
}

ptxgen_status ptxgen_scatter_add_launch(ptxgen_kernel *k, const ptxgen_scatter_add_args *args,
                                        ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_scatter_add(args, &c, err));
    return pg_call_kernel(&c, k, stream, err);
}

ptxgen_status ptxgen_scatter_add_oracle(const ptxgen_scatter_add_args *args, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_scatter_add(args, &c, err));
    return pg_call_oracle(&c, err);
}

ptxgen_status ptxgen_check_indices(ptxgen *ctx, ptxgen_stream stream, ptxgen_error *err)
{
    pg_device *device;
    pg_bad_index bad;
    PG_TRY(pg_engine_device(ctx->engine, &device, err));
    PG_TRY(device->ops->take_bad_index(device, stream, &bad, err));
    if (bad.position == UINT64_MAX)
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EINDEX,
        "index[%llu] = %lld is out of range: its row was skipped (so was that of any later "
        "bad index), all others were done",
        (unsigned long long)bad.position, (long long)bad.value);
}
