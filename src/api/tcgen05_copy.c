/* ptxgen_tcgen05_copy: its struct as operands and parameters. */
#include "api/typed.h"

#include "tcgen05_copy/tcgen05_copy.h"

ptxgen_status pg_fill_tcgen05_copy(const ptxgen_tcgen05_copy_args *args, pg_call *c,
                                   ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args a;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_tcgen05_copy_args", err));
    pg_call_init(c, &pg_family_tcgen05_copy);
    pg_view *v = c->problem.operand;
    pg_view_matrix(&v[PG_COPY_OUT],
                   &(pg_matrix_arg){a.out, a.dtype, a.m, a.n, a.out_stride, false});
    pg_view_matrix(&v[PG_COPY_IN], &(pg_matrix_arg){a.in, a.dtype, a.m, a.n, a.in_stride, false});
    pg_tcgen05_copy_key *k = (pg_tcgen05_copy_key *)c->id.key;
    k->block = a.block;
    k->swizzle = a.swizzle;
    return PTXGEN_OK;
}

ptxgen_status ptxgen_tcgen05_copy(ptxgen *ctx, const ptxgen_tcgen05_copy_args *args,
                                  ptxgen_stream stream, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_tcgen05_copy(args, &c, err));
    return pg_call_run(&c, ctx, stream, err);
}

ptxgen_status ptxgen_tcgen05_copy_launch(ptxgen_kernel *kernel,
                                         const ptxgen_tcgen05_copy_args *args, ptxgen_stream stream,
                                         ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_tcgen05_copy(args, &c, err));
    return pg_call_kernel(&c, kernel, stream, err);
}

ptxgen_status ptxgen_tcgen05_copy_oracle(const ptxgen_tcgen05_copy_args *args, ptxgen_error *err)
{
    pg_call c;
    PG_TRY(pg_fill_tcgen05_copy(args, &c, err));
    return pg_call_oracle(&c, err);
}
