/* ptxgen_matmul_scaled: checks the arguments, picks the kernel, launches. */
#include "api/family_call.h"

#include "base/error.h"
#include "matmul_scaled/matmul_scaled.h"
#include "matmul_scaled/scales.h"

enum { MAP_ALIGNMENT = 16, UNPACKED_ALIGNMENT = 32, UNPACKED_K = 128 };

/* Tensor coordinates are 32-bit and signed, and the last tile may reach past the end. */
static const int64_t max_extent = INT32_MAX - 4096;
static const char maps[] = "tensor-map loads", whole_elements[] = "the elements";

static bool is_mixed(const ptxgen_matmul_scaled_args *a)
{
    return a->a_format != a->b_format;
}

static ptxgen_status check_numbers(ptxgen_matmul_scaled_args *a, bool host, ptxgen_error *err)
{
    if (!ptxgen_scale_group(a->a_format) || !ptxgen_scale_group(a->b_format))
        return pg_fail(
            err, PTXGEN_EINVAL,
            "a_format is %d and b_format %d: use PTXGEN_MXFP8, PTXGEN_MXFP4 or PTXGEN_NVFP4",
            (int)a->a_format, (int)a->b_format);
    if (a->out != PTXGEN_F32 && a->out != PTXGEN_F16 && a->out != PTXGEN_BF16)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "out is %d: use PTXGEN_F32, PTXGEN_F16 or PTXGEN_BF16", (int)a->out);
    PG_TRY(pg_check_range("m", a->m, 0, max_extent, err));
    PG_TRY(pg_check_range("n", a->n, 0, max_extent, err));
    PG_TRY(pg_check_range("k", a->k, 1, max_extent, err));
    if ((a->a_format != PTXGEN_MXFP8 || a->b_format != PTXGEN_MXFP8) && a->k % 2)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "k=%lld is odd: 4-bit elements are packed two to a byte (pad k)",
                       (long long)a->k);
    if (!host && is_mixed(a) && a->k % UNPACKED_K)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "k=%lld: 4-bit beside 8-bit elements are unpacked on the way in 128 at a "
                       "time, so k must be a"
                       " multiple of 128 (pad it)",
                       (long long)a->k);
    a->a_stride = a->a_stride ? a->a_stride : a->k;
    a->b_stride = a->b_stride ? a->b_stride : a->k;
    a->d_stride = a->d_stride ? a->d_stride : a->n;
    return PTXGEN_OK;
}

static ptxgen_status check_input(const pg_matrix_arg *input, const pg_matrix_arg *d,
                                 ptxgen_error *err)
{
    PG_TRY(pg_check_matrix(input, err));
    if (pg_matrices_meet(d, input))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "d and %s overlap: use two buffers", input->name);
    return PTXGEN_OK;
}

/* Which operand, and whether it is memory that plain C reads: aligned to its elements only. */
typedef struct place {
    bool is_b, host;
} place;

static int alignment_of(const ptxgen_matmul_scaled_args *a, const place *p)
{
    const ptxgen_scaled_format format = p->is_b ? a->b_format : a->a_format;
    if (p->host)
        return 1;
    return is_mixed(a) && format == PTXGEN_MXFP4 ? UNPACKED_ALIGNMENT : MAP_ALIGNMENT;
}

/* An operand and its packed scales. */
static ptxgen_status check_operand(const ptxgen_matmul_scaled_args *a, const place *p,
                                   const pg_matrix_arg *d, ptxgen_error *err)
{
    const bool is_b = p->is_b;
    const char *needed_by = p->host ? whole_elements : maps;
    const ptxgen_scaled_format format = is_b ? a->b_format : a->a_format;
    const int64_t rows = is_b ? a->n : a->m, group = ptxgen_scale_group(format);
    const int64_t packed = ptxgen_packed_scales_bytes(rows, (a->k + group - 1) / group);
    const pg_matrix_arg elements = {is_b ? "b" : "a",
                                    is_b ? a->b : a->a,
                                    rows,
                                    a->k,
                                    is_b ? a->b_stride : a->a_stride,
                                    format == PTXGEN_MXFP8 ? 8 : 4,
                                    alignment_of(a, p),
                                    needed_by};
    const pg_matrix_arg scales = {is_b ? "b_scales" : "a_scales",
                                  is_b ? a->b_scales : a->a_scales,
                                  1,
                                  packed,
                                  packed,
                                  8,
                                  p->host ? 1 : MAP_ALIGNMENT,
                                  needed_by};
    PG_TRY(check_input(&elements, d, err));
    return check_input(&scales, d, err);
}

static ptxgen_status check_memory(const ptxgen_matmul_scaled_args *a, bool host, ptxgen_error *err)
{
    const int bytes = pg_dtype_find(a->out)->bytes;
    const pg_matrix_arg d = {"d",         a->d,      a->m,  a->n,
                             a->d_stride, 8 * bytes, bytes, "stores of an element"};
    PG_TRY(pg_check_matrix(&d, err));
    PG_TRY(check_operand(a, &(place){false, host}, &d, err));
    return check_operand(a, &(place){true, host}, &d, err);
}

/* *nothing: a legal call without a result. */
static ptxgen_status check(const ptxgen_matmul_scaled_args *args, ptxgen_matmul_scaled_args *a,
                           bool host, bool *nothing, ptxgen_error *err)
{
    PG_TRY(pg_take_args(args, a, sizeof *a, "ptxgen_matmul_scaled_args", err));
    PG_TRY(check_numbers(a, host, err));
    *nothing = a->m == 0 || a->n == 0;
    return *nothing ? PTXGEN_OK : check_memory(a, host, err);
}

static ptxgen_status fill_tiling(const ptxgen_matmul_tiling *t, pg_matmul_scaled_key *k,
                                 ptxgen_error *err)
{
    PG_TRY(pg_check_range("tiling.block_n", t->block_n, 0, 256, err));
    PG_TRY(pg_check_range("tiling.block_k", t->block_k, 0, 512, err));
    PG_TRY(pg_check_range("tiling.stages", t->stages, 0, 6, err));
    PG_TRY(pg_check_range("tiling.group_m", t->group_m, 0, 1024, err));
    PG_TRY(pg_check_range("tiling.swizzle", t->swizzle, 0, 0, err));
    PG_TRY(pg_check_range("tiling.ctas", t->ctas, 0, 1, err));
    k->block_n = t->block_n;
    k->block_k = t->block_k;
    k->stages = t->stages;
    k->group_m = t->group_m;
    return pg_params_check_numbers(&pg_family_matmul_scaled.params, k,
                                   err); /* so that a manifest replays */
}

ptxgen_status ptxgen_matmul_scaled(ptxgen *ctx, const ptxgen_matmul_scaled_args *args,
                                   ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_matmul_scaled_args a;
    bool nothing;
    pg_call call;
    PG_TRY(check(args, &a, false, &nothing, err));
    if (nothing)
        return PTXGEN_OK;
    PG_TRY(pg_call_begin(ctx->engine, &pg_family_matmul_scaled, &call, err));
    pg_matmul_scaled_key *k = (pg_matmul_scaled_key *)call.id.key;
    k->a = a.a_format;
    k->b = a.b_format;
    k->out = (int64_t)a.out - 1;
    PG_TRY(fill_tiling(&a.tiling, k, err));
    return pg_call_run(ctx, &call, &a, stream, err);
}

ptxgen_status ptxgen_matmul_scaled_launch(ptxgen_kernel *kernel,
                                          const ptxgen_matmul_scaled_args *args,
                                          ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_matmul_scaled_args a;
    bool nothing;
    PG_TRY(check(args, &a, false, &nothing, err));
    PG_TRY(pg_check_kernel_family(kernel, &pg_family_matmul_scaled, err));
    const pg_matmul_scaled_key *k = (const pg_matmul_scaled_key *)kernel->id.key;
    if (k->a != (int64_t)a.a_format || k->b != (int64_t)a.b_format || k->out + 1 != (int64_t)a.out)
        return pg_fail(err, PTXGEN_EINVAL,
                       "the kernel (%s) does not serve these formats: get one that does",
                       pg_buf_text(&kernel->params));
    return nothing ? PTXGEN_OK : pg_call_kernel(kernel, &a, stream, err);
}

ptxgen_status ptxgen_matmul_scaled_oracle(const ptxgen_matmul_scaled_args *args, ptxgen_error *err)
{
    ptxgen_matmul_scaled_args a;
    bool nothing;
    PG_TRY(check(args, &a, true, &nothing, err));
    return nothing ? PTXGEN_OK : pg_matmul_scaled_oracle(&a, err);
}
