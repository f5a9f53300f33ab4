/* ptxgen_matmul_accumulate: checks the arguments, picks the kernel, launches. */
#include "api/family_call.h"

#include "base/error.h"
#include "matmul_accumulate/matmul_accumulate.h"

#include <stdio.h>

enum { MAP_ALIGNMENT = 16, OPERAND_BITS = 16, ACCUMULATOR_BITS = 32 };

/* Tensor coordinates are 32-bit and signed, and the last tile may reach past the end. */
static const int64_t max_extent = INT32_MAX - 4096;
static const char maps[] = "tensor-map loads", elements[] = "the elements";

static int64_t or_dense(int64_t stride, int64_t dense)
{
    return stride ? stride : dense;
}

static ptxgen_status check_numbers(ptxgen_matmul_accumulate_args *a, ptxgen_error *err)
{
    if (a->dtype != PTXGEN_F16 && a->dtype != PTXGEN_BF16)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "dtype is %d: A and B are PTXGEN_F16 or PTXGEN_BF16", (int)a->dtype);
    PG_TRY(pg_check_range("m", a->m, 0, max_extent, err));
    PG_TRY(pg_check_range("n", a->n, 0, max_extent, err));
    PG_TRY(pg_check_range("k", a->k, 0, max_extent, err));
    a->a_stride = or_dense(a->a_stride, a->k);
    a->b_stride = or_dense(a->b_stride, a->b_transposed ? a->k : a->n);
    a->c_stride = or_dense(a->c_stride, a->n);
    a->d_stride = or_dense(a->d_stride, a->n);
    return PTXGEN_OK;
}

static ptxgen_status check_output(const pg_matrix_arg *d, const pg_matrix_arg *c, ptxgen_error *err)
{
    const bool in_place = d->base == c->base && (d->stride == c->stride || d->rows == 1);
    PG_TRY(pg_check_matrix(d, err));
    if (!in_place && pg_matrices_meet(d, c))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "d overlaps c without being the same matrix: tiles of c would be "
                       "overwritten before they are"
                       " read (use d = c with the same row stride, or two buffers)");
    return PTXGEN_OK;
}

static ptxgen_status check_operand(const pg_matrix_arg *operand, const pg_matrix_arg *d,
                                   ptxgen_error *err)
{
    PG_TRY(pg_check_matrix(operand, err));
    if (pg_matrices_meet(d, operand))
        return pg_fail(err, PTXGEN_EUNSUPPORTED, "d and %s overlap: use two buffers",
                       operand->name);
    return PTXGEN_OK;
}

/* `host`: memory that plain C reads, aligned to its elements only. */
static ptxgen_status check_memory(const ptxgen_matmul_accumulate_args *a, bool host,
                                  ptxgen_error *err)
{
    const int operand = host ? OPERAND_BITS / 8 : MAP_ALIGNMENT;
    const int accumulator = host ? ACCUMULATOR_BITS / 8 : MAP_ALIGNMENT;
    const char *needed_by = host ? elements : maps;
    const int64_t b_rows = a->b_transposed ? a->n : a->k, b_columns = a->b_transposed ? a->k : a->n;
    const pg_matrix_arg ma = {"a", a->a, a->m, a->k, a->a_stride, OPERAND_BITS, operand, needed_by};
    const pg_matrix_arg mb = {"b",         a->b,         b_rows,  b_columns,
                              a->b_stride, OPERAND_BITS, operand, needed_by};
    const pg_matrix_arg mc = {"c",         a->c,     a->m, a->n, a->c_stride, ACCUMULATOR_BITS,
                              accumulator, needed_by};
    const pg_matrix_arg md = {"d", a->d,           a->m, a->n, a->d_stride, ACCUMULATOR_BITS,
                              4,   "32-bit stores"};
    PG_TRY(pg_check_matrix(&mc, err));
    PG_TRY(check_output(&md, &mc, err));
    if (a->k == 0) /* nothing of A and B is read */
        return PTXGEN_OK;
    PG_TRY(check_operand(&ma, &md, err));
    return check_operand(&mb, &md, err);
}

/* *nothing: a legal call without a result. */
static ptxgen_status check(const ptxgen_matmul_accumulate_args *args,
                           ptxgen_matmul_accumulate_args *a, bool host, bool *nothing,
                           ptxgen_error *err)
{
    PG_TRY(pg_take_args(args, a, sizeof *a, "ptxgen_matmul_accumulate_args", err));
    PG_TRY(check_numbers(a, err));
    *nothing = a->m == 0 || a->n == 0;
    return *nothing ? PTXGEN_OK : check_memory(a, host, err);
}

static ptxgen_status fill_tiling(const ptxgen_matmul_tiling *t, pg_matmul_accumulate_key *k,
                                 ptxgen_error *err)
{
    PG_TRY(pg_check_range("tiling.block_n", t->block_n, 0, 256, err));
    PG_TRY(pg_check_range("tiling.block_k", t->block_k, 0, 128, err));
    PG_TRY(pg_check_range("tiling.stages", t->stages, 0, 6, err));
    PG_TRY(pg_check_range("tiling.group_m", t->group_m, 0, 1024, err));
    PG_TRY(pg_check_range("tiling.swizzle", t->swizzle, 0, 128, err));
    PG_TRY(pg_check_range("tiling.ctas", t->ctas, 0, 2, err));
    k->block_n = t->block_n;
    k->block_k = t->block_k;
    k->stages = t->stages;
    k->group_m = t->group_m;
    k->swizzle = t->swizzle;
    k->ctas = t->ctas;
    return pg_params_check_numbers(&pg_family_matmul_accumulate.params, k,
                                   err); /* so that a manifest replays */
}

/* The kernel for these arguments on the context's device. */
static ptxgen_status begin(ptxgen *ctx, const ptxgen_matmul_accumulate_args *a, pg_call *call,
                           ptxgen_error *err)
{
    PG_TRY(pg_call_begin(ctx->engine, &pg_family_matmul_accumulate, call, err));
    pg_matmul_accumulate_key *k = (pg_matmul_accumulate_key *)call->id.key;
    k->dtype = a->dtype == PTXGEN_BF16;
    k->b = a->b_transposed;
    PG_TRY(fill_tiling(&a->tiling, k, err));
    pg_matmul_accumulate_choose(k, &(pg_matmul_extent){a->m, a->n, call->info->sm_count});
    return PTXGEN_OK;
}

ptxgen_status ptxgen_matmul_accumulate(ptxgen *ctx, const ptxgen_matmul_accumulate_args *args,
                                       ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args a;
    bool nothing;
    pg_call call;
    PG_TRY(check(args, &a, false, &nothing, err));
    if (nothing)
        return PTXGEN_OK;
    PG_TRY(begin(ctx, &a, &call, err));
    return pg_call_run(ctx, &call, &a, stream, err);
}

ptxgen_status ptxgen_matmul_accumulate_params(ptxgen *ctx,
                                              const ptxgen_matmul_accumulate_args *args, char *out,
                                              size_t size, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args a;
    pg_call call;
    pg_buf text;
    PG_TRY(pg_take_args(args, &a, sizeof a, "ptxgen_matmul_accumulate_args", err));
    PG_TRY(check_numbers(&a, err));
    PG_TRY(begin(ctx, &a, &call, err));
    PG_TRY(pg_kernel_id_resolve(&call.id, err));
    pg_buf_init(&text, &ctx->engine->alloc);
    pg_params_print(&call.id.family->params, call.id.key, &text);
    const bool failed = text.failed;
    snprintf(out, size, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status ptxgen_matmul_accumulate_launch(ptxgen_kernel *kernel,
                                              const ptxgen_matmul_accumulate_args *args,
                                              ptxgen_stream stream, ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args a;
    bool nothing;
    PG_TRY(check(args, &a, false, &nothing, err));
    PG_TRY(pg_check_kernel_family(kernel, &pg_family_matmul_accumulate, err));
    const pg_matmul_accumulate_key *k = (const pg_matmul_accumulate_key *)kernel->id.key;
    if (k->dtype != (a.dtype == PTXGEN_BF16) || k->b != a.b_transposed)
        return pg_fail(err, PTXGEN_EINVAL,
                       "the kernel (%s) does not serve this dtype with %s B: get one that does",
                       pg_buf_text(&kernel->params),
                       a.b_transposed ? "a transposed" : "a row-major");
    return nothing ? PTXGEN_OK : pg_call_kernel(kernel, &a, stream, err);
}

ptxgen_status ptxgen_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *args,
                                              ptxgen_error *err)
{
    ptxgen_matmul_accumulate_args a;
    bool nothing;
    PG_TRY(check(args, &a, true, &nothing, err));
    return nothing ? PTXGEN_OK : pg_matmul_accumulate_oracle(&a, err);
}
