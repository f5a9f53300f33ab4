/* ptxgen_tcgen05_copy: checks the arguments, picks the kernel, launches. */
#include "api/family_call.h"

#include "base/error.h"
#include "tcgen05_copy/tcgen05_copy.h"

enum { ALIGNMENT = 16, ELEMENT_BITS = 32 };

static int64_t dtype_place(ptxgen_dtype dtype)
{
    static const int64_t place[] = {[PTXGEN_F32] = 0, [PTXGEN_S32] = 1, [PTXGEN_U32] = 2};
    return place[dtype];
}

/* `host`: memory that plain C reads, aligned to its elements only. */
static ptxgen_status check_memory(const ptxgen_tcgen05_copy_args *a, bool host, ptxgen_error *err)
{
    const int alignment = host ? ELEMENT_BITS / 8 : ALIGNMENT;
    const pg_matrix_arg out = {
        "out",         a->out,       a->m,      a->n,
        a->out_stride, ELEMENT_BITS, alignment, host ? "the elements" : "16-byte stores"};
    const pg_matrix_arg in = {
        "in",         a->in,        a->m,      a->n,
        a->in_stride, ELEMENT_BITS, alignment, host ? "the elements" : "16-byte loads"};
    PG_TRY(pg_check_matrix(&out, err));
    PG_TRY(pg_check_matrix(&in, err));
    if (pg_matrices_meet(&out, &in))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "out and in overlap: use two buffers");
    return PTXGEN_OK;
}

static ptxgen_status check(const ptxgen_tcgen05_copy_args *args, ptxgen_tcgen05_copy_args *a,
                           bool host, ptxgen_error *err)
{
    PG_TRY(pg_take_args(args, a, sizeof *a, "ptxgen_tcgen05_copy_args", err));
    if (a->dtype != PTXGEN_F32 && a->dtype != PTXGEN_S32 && a->dtype != PTXGEN_U32)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "dtype is %d: the copy into tensor memory takes 32-bit elements, "
                       "PTXGEN_F32, PTXGEN_S32 or"
                       " PTXGEN_U32",
                       (int)a->dtype);
    PG_TRY(pg_check_range("m", a->m, 1, INT32_MAX, err));
    PG_TRY(pg_check_range("n", a->n, 1, INT32_MAX, err));
    PG_TRY(pg_check_range("block", a->block, 0, INT32_MAX, err));
    PG_TRY(pg_check_range("swizzle", a->swizzle, 0, 128, err));
    a->out_stride = a->out_stride ? a->out_stride : a->n;
    a->in_stride = a->in_stride ? a->in_stride : a->n;
    return check_memory(a, host, err);
}

ptxgen_status ptxgen_tcgen05_copy(ptxgen *ctx, const ptxgen_tcgen05_copy_args *args,
                                  ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args a;
    pg_call call;
    PG_TRY(check(args, &a, false, err));
    PG_TRY(pg_call_begin(ctx->engine, &pg_family_tcgen05_copy, &call, err));
    pg_tcgen05_copy_key *k = (pg_tcgen05_copy_key *)call.id.key;
    k->m = a.m;
    k->n = a.n;
    k->block = a.block;
    k->swizzle = a.swizzle;
    k->dtype = dtype_place(a.dtype);
    return pg_call_run(ctx, &call, &a, stream, err);
}

ptxgen_status ptxgen_tcgen05_copy_launch(ptxgen_kernel *kernel,
                                         const ptxgen_tcgen05_copy_args *args, ptxgen_stream stream,
                                         ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args a;
    PG_TRY(check(args, &a, false, err));
    PG_TRY(pg_check_kernel_family(kernel, &pg_family_tcgen05_copy, err));
    const pg_tcgen05_copy_key *k = (const pg_tcgen05_copy_key *)kernel->id.key;
    if (k->m != a.m || k->n != a.n || k->dtype != dtype_place(a.dtype))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the kernel (%s) does not serve m=%lld n=%lld and this dtype: get one that does",
            pg_buf_text(&kernel->params), (long long)a.m, (long long)a.n);
    return pg_call_kernel(kernel, &a, stream, err);
}

ptxgen_status ptxgen_tcgen05_copy_oracle(const ptxgen_tcgen05_copy_args *args, ptxgen_error *err)
{
    ptxgen_tcgen05_copy_args a;
    PG_TRY(check(args, &a, true, err));
    return pg_tcgen05_copy_oracle(&a, err);
}
