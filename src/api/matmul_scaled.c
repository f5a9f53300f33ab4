/* ptxgen_matmul_scaled: its struct as operands and parameters. */
#include "api/typed.h"

#include "base/error.h"
#include "matmul_scaled/matmul_scaled.h"

static ptxgen_status fill_key(const ptxgen_matmul_scaled_args *a, pg_call *c, ptxgen_error *err)
{
    pg_matmul_scaled_key *k = (pg_matmul_scaled_key *)c->id.key;
    const ptxgen_matmul_tiling *t = &a->tiling;
    if (t->swizzle != 0)
        return pg_fail(err, PTXGEN_EINVAL, "tiling.swizzle=%lld: matmul_scaled takes 0",
                       (long long)t->swizzle);
    k->a = a->a_format;
    k->b = a->b_format;
    k->block_n = t->block_n;
    k->block_k = t->block_k;
    k->stages = t->stages;
    k->group_m = t->group_m;
    k->ctas = t->ctas;
    k->steps.activation = (int)a->epilogue;
    k->steps.function = a->function;
    pg_call_give(c, offsetof(pg_matmul_scaled_key, a));
    pg_call_give(c, offsetof(pg_matmul_scaled_key, b));
    return PTXGEN_OK;
}

static ptxgen_dtype element_dtype(ptxgen_scaled_format format)
{
    return format == PTXGEN_MXFP8 ? PTXGEN_E4M3 : PTXGEN_E2M1;
}

/* Packed scales of `rows` rows: as many bytes as they must be. */
static void fill_scales(const uint8_t *scales, ptxgen_scaled_format format, const int64_t shape[2],
                        pg_view *v)
{
    const int64_t bytes = pg_matmul_scaled_scale_bytes(format, shape[0], shape[1]);
    pg_view_vector(v, scales, format == PTXGEN_NVFP4 ? PTXGEN_E4M3 : PTXGEN_UE8M0, bytes);
}

ptxgen_status pg_fill_matmul_scaled(const ptxgen_matmul_scaled_args *args, pg_call *c,
                                    ptxgen_error *err)
{
    ptxgen_matmul_scaled_args a;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_matmul_scaled_args", err));
    pg_call_init(c, &pg_family_matmul_scaled);
    pg_view *v = c->problem.operand;
    pg_view_matrix(&v[PG_SCALED_A],
                   &(pg_matrix_arg){a.a, element_dtype(a.a_format), a.m, a.k, a.a_stride, false});
    pg_view_matrix(&v[PG_SCALED_B],
                   &(pg_matrix_arg){a.b, element_dtype(a.b_format), a.n, a.k, a.b_stride, false});
    fill_scales(a.a_scales, a.a_format, (const int64_t[]){a.m, a.k}, &v[PG_SCALED_A_SCALES]);
    fill_scales(a.b_scales, a.b_format, (const int64_t[]){a.n, a.k}, &v[PG_SCALED_B_SCALES]);
    pg_view_matrix(&v[PG_SCALED_D], &(pg_matrix_arg){a.d, a.out, a.m, a.n, a.d_stride, false});
    c->stall = a.stall;
    if (a.row_scale)
        pg_view_vector(&v[PG_SCALED_STEPS + PG_SIDE_ROW_SCALE], a.row_scale, PTXGEN_F32, a.m);
    if (a.col_scale)
        pg_view_vector(&v[PG_SCALED_STEPS + PG_SIDE_COL_SCALE], a.col_scale, PTXGEN_F32, a.n);
    if (a.bias)
        pg_view_vector(&v[PG_SCALED_STEPS + PG_SIDE_BIAS], a.bias, PTXGEN_F32, a.n);
    return fill_key(&a, c, err);
}

ptxgen_status ptxgen_matmul_scaled(ptxgen *ctx, const ptxgen_matmul_scaled_args *args,
                                   ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_scaled(args, &c, err));
    return pg_call_run(&c, ctx, stream, err);
}

ptxgen_status ptxgen_matmul_scaled_launch(ptxgen_kernel *kernel,
                                          const ptxgen_matmul_scaled_args *args,
                                          ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_scaled(args, &c, err));
    return pg_call_kernel(&c, kernel, stream, err);
}

ptxgen_status ptxgen_matmul_scaled_oracle(const ptxgen_matmul_scaled_args *args, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_matmul_scaled(args, &c, err));
    return pg_call_oracle(&c, err);
}
