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

static void fill_matrices(const ptxgen_scatter_add_args *a, pg_view *v)
{
    const int64_t src_rows = a->src_index ? a->src_rows : a->rows;
    pg_view_matrix(&v[PG_SCATTER_OUT],
                   &(pg_matrix_arg){a->out, a->dtype, a->out_rows, a->n, a->out_stride, false});
    pg_view_matrix(&v[PG_SCATTER_SRC],
                   &(pg_matrix_arg){a->src, a->dtype, src_rows, a->n, a->src_stride, false});
    pg_view_vector(&v[PG_SCATTER_INDEX], a->index, index_dtype(a->index_type), a->rows);
    if (a->out_inner)
        v[PG_SCATTER_OUT].stride[1] = a->out_inner;
    if (a->src_inner)
        v[PG_SCATTER_SRC].stride[1] = a->src_inner;
    if (a->index_stride)
        v[PG_SCATTER_INDEX].stride[0] = a->index_stride;
}

static void fill_scalar(pg_view *v, const void *data, ptxgen_dtype dtype)
{
    v->data = (void *)(uintptr_t)data;
    v->dtype = dtype;
    v->rank = 0;
    v->present = true;
}

/* What may be left out. `args` is the caller's struct, which holds the scalars. */
static void fill_options(const ptxgen_scatter_add_args *a, const ptxgen_scatter_add_args *args,
                         pg_view *v)
{
    const ptxgen_dtype weight = a->weight_dtype ? a->weight_dtype : a->dtype;
    if (a->plan) /* stands for the index, which is not read */
        v[PG_SCATTER_INDEX].data = a->plan->entries;
    if (a->weight)
        pg_view_vector(&v[PG_SCATTER_WEIGHT], a->weight, weight, a->rows);
    if (a->src_index)
        pg_view_vector(&v[PG_SCATTER_SRC_INDEX], a->src_index, index_dtype(a->index_type), a->rows);
    if (a->alpha != 0 && a->alpha != 1)
        fill_scalar(&v[PG_SCATTER_ALPHA], &args->alpha, PTXGEN_F64);
    if (a->device_rows)
        pg_view_vector(&v[PG_SCATTER_DEVICE_ROWS], a->device_rows, PTXGEN_S64, 1);
    if (a->has_padding_index)
        fill_scalar(&v[PG_SCATTER_PADDING_INDEX], &args->padding_index, PTXGEN_S64);
    if (a->record)
        pg_view_vector(&v[PG_SCATTER_RECORD], a->record, PTXGEN_S64, 2);
    if (a->counts)
        pg_view_vector(&v[PG_SCATTER_COUNTS], a->counts, PTXGEN_S32, a->out_rows);
    if (a->workspace)
        pg_view_vector(&v[PG_SCATTER_WORKSPACE], a->workspace, PTXGEN_U8,
                       (int64_t)a->workspace_bytes);
}

ptxgen_status pg_fill_scatter_add(const ptxgen_scatter_add_args *args, pg_call *c,
                                  ptxgen_error *err)
{
    ptxgen_scatter_add_args a;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_scatter_add_args", err));
    pg_call_init(c, &pg_family_scatter_add);
    fill_matrices(&a, c->problem.operand);
    fill_options(&a, args, c->problem.operand);
    c->problem.prepared = a.plan;
    pg_scatter_add_key *k = (pg_scatter_add_key *)c->id.key;
    k->schedule = a.schedule;
    k->oob = a.oob;
    k->function = a.function;
    k->reduce = (int)a.reduce; /* so that -1 is -1 */
    k->exact = a.deterministic || (a.accumulate_f32 && pg_dtype_bits(a.dtype) == 16);
    c->stall = a.stall;
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

ptxgen_status ptxgen_scatter_add_workspace(ptxgen *ctx, const ptxgen_scatter_add_args *args,
                                           size_t *bytes, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_scatter_add(args, &c, err));
    return pg_call_workspace(&c, ctx, bytes, err);
}
