/* ptxgen_matmul_accumulate: its struct as operands and parameters. */
#include "api/typed.h"

#include "matmul_accumulate/matmul_accumulate.h"

static void fill_tiling(const ptxgen_matmul_tiling *t, pg_matmul_accumulate_key *k)
{
    k->block_n = t->block_n;
    k->block_k = t->block_k;
    k->stages = t->stages;
    k->group_m = t->group_m;
    k->swizzle = t->swizzle;
    k->ctas = t->ctas;
}

static void fill_scalar(pg_view *v, const float *value)
{
    if (!value)
        return;
    v->data = (void *)(uintptr_t)value;
    v->dtype = PTXGEN_F32;
    v->rank = 0;
    v->present = true;
}

/* A view of one matrix becomes one of `count` of them, `stride` elements apart. */
static void add_batch(pg_view *v, int64_t count, int64_t stride)
{
    if (!v->present)
        return;
    for (int d = PG_COLUMN; d > PG_BATCH; d--) {
        v->shape[d] = v->shape[d - 1];
        v->stride[d] = v->stride[d - 1];
    }
    v->rank = PG_MATMUL_RANK;
    v->shape[PG_BATCH] = count;
    v->stride[PG_BATCH] = stride;
}

ptxgen_status pg_fill_matmul_accumulate(const ptxgen_matmul_accumulate_args *args, pg_call *c,
                                        ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args a;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_matmul_accumulate_args", err));
    pg_call_init(c, &pg_family_matmul_accumulate);
    pg_view *v = c->problem.operand;
    pg_view_matrix(&v[PG_MATMUL_A],
                   &(pg_matrix_arg){a.a, a.dtype, a.m, a.k, a.a_stride, a.a_transposed});
    pg_view_matrix(&v[PG_MATMUL_B],
                   &(pg_matrix_arg){a.b, a.dtype, a.k, a.n, a.b_stride, a.b_transposed});
    if (a.c)
        pg_view_matrix(&v[PG_MATMUL_C], &(pg_matrix_arg){a.c, a.c_dtype ? a.c_dtype : PTXGEN_F32,
                                                         a.m, a.n, a.c_stride, false});
    pg_view_matrix(&v[PG_MATMUL_D], &(pg_matrix_arg){a.d, a.d_dtype ? a.d_dtype : PTXGEN_F32, a.m,
                                                     a.n, a.d_stride, false});
    if (a.batch) {
        const int64_t strides[] = {a.a_batch_stride, a.b_batch_stride, a.c_batch_stride,
                                   a.d_batch_stride};
        for (int i = PG_MATMUL_A; i <= PG_MATMUL_D; i++)
            add_batch(&v[i], a.batch, strides[i]);
    }
    fill_scalar(&v[PG_MATMUL_ALPHA], a.alpha);
    fill_scalar(&v[PG_MATMUL_BETA], a.beta);
    pg_matmul_accumulate_key *k = (pg_matmul_accumulate_key *)c->id.key;
    fill_tiling(&a.tiling, k);
    k->steps.activation = (int)a.epilogue;
    k->steps.function = a.function;
    if (a.params)
        PG_TRY(pg_call_parse(c, a.params, err));
    if (a.stall)
        c->stall = a.stall;
    if (a.workspace)
        pg_view_vector(&v[PG_MATMUL_WORKSPACE], a.workspace, PTXGEN_U8, (int64_t)a.workspace_bytes);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_matmul_accumulate(ptxgen *ctx, const ptxgen_matmul_accumulate_args *args,
                                       ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_accumulate(args, &c, err));
    return pg_call_run(&c, ctx, stream, err);
}

ptxgen_status ptxgen_matmul_accumulate_workspace(ptxgen *ctx,
                                                 const ptxgen_matmul_accumulate_args *args,
                                                 size_t *bytes, ptxgen_error *err)
{
    pg_call c;
    *bytes = 0;
    PG_TRY(pg_fill_matmul_accumulate(args, &c, err));
    return pg_call_workspace(&c, ctx, bytes, err);
}

ptxgen_status ptxgen_matmul_accumulate_params(ptxgen *ctx,
                                              const ptxgen_matmul_accumulate_args *args, char *out,
                                              size_t size, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_accumulate(args, &c, err));
    return pg_call_params(&c, ctx, out, size, err);
}

ptxgen_status ptxgen_matmul_accumulate_launch(ptxgen_kernel *kernel,
                                              const ptxgen_matmul_accumulate_args *args,
                                              ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_accumulate(args, &c, err));
    return pg_call_kernel(&c, kernel, stream, err);
}

ptxgen_status ptxgen_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *args,
                                              ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_accumulate(args, &c, err));
    return pg_call_oracle(&c, err);
}
