/* What the operands of matmul_scaled say of its formats, and limits that depend on them. */
#include "matmul_scaled/matmul_scaled.h"

#include "base/error.h"
#include "matmul_scaled/scales.h"

enum { UNPACKED_ALIGNMENT = 32, UNPACKED_K = 128 };

static ptxgen_scaled_format format_of(const pg_view *elements, const pg_view *scales)
{
    if (elements->dtype == PTXGEN_E4M3)
        return PTXGEN_MXFP8;
    return scales->dtype == PTXGEN_E4M3 ? PTXGEN_NVFP4 : PTXGEN_MXFP4;
}

ptxgen_dtype pg_matmul_scaled_out(const pg_matmul_scaled_key *k)
{
    return pg_result_dtypes[k->out];
}

void pg_matmul_scaled_bind(const pg_problem *p, void *key)
{
    pg_matmul_scaled_key *k = key;
    k->a = format_of(&p->operand[PG_SCALED_A], &p->operand[PG_SCALED_A_SCALES]);
    k->b = format_of(&p->operand[PG_SCALED_B], &p->operand[PG_SCALED_B_SCALES]);
    pg_epilogue_bind(p, PG_SCALED_STEPS, &k->steps);
}

int64_t pg_matmul_scaled_scale_bytes(ptxgen_scaled_format format, int64_t rows, int64_t k)
{
    const int64_t group = ptxgen_scale_group(format);
    if (!group || rows < 0 || k < 0 || rows > INT32_MAX || k > INT32_MAX)
        return 0;
    return ptxgen_packed_scales_bytes(rows, (k + group - 1) / group);
}

static int64_t bytes_of(const pg_problem *p, size_t elements, size_t scales)
{
    const pg_view *e = &p->operand[elements];
    return pg_matmul_scaled_scale_bytes(format_of(e, &p->operand[scales]), e->shape[0],
                                        e->shape[1]);
}

int64_t pg_matmul_scaled_a_scale_bytes(const pg_problem *p)
{
    return bytes_of(p, PG_SCALED_A, PG_SCALED_A_SCALES);
}

int64_t pg_matmul_scaled_b_scale_bytes(const pg_problem *p)
{
    return bytes_of(p, PG_SCALED_B, PG_SCALED_B_SCALES);
}

static ptxgen_status check_scales(const pg_problem *p, size_t elements, size_t scales,
                                  ptxgen_error *err)
{
    if (p->operand[elements].dtype != PTXGEN_E4M3 || p->operand[scales].dtype == PTXGEN_UE8M0)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EUNSUPPORTED, "%s holds e4m3 and %s not ue8m0: mxfp8 needs that",
                   p->table->rows[elements].name, p->table->rows[scales].name);
}

/* 4-bit elements beside 8-bit ones are unpacked on the way into shared memory. */
static ptxgen_status check_mixed(const pg_problem *p, ptxgen_error *err)
{
    const int64_t k = p->symbol[PG_SCALED_K];
    if (p->operand[PG_SCALED_A].dtype == p->operand[PG_SCALED_B].dtype)
        return PTXGEN_OK;
    if (k % UNPACKED_K)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "k=%lld: 4-bit beside 8-bit elements are unpacked on the way in 128 at a "
                       "time, so k must be a multiple of 128 (pad it)",
                       (long long)k);
    const size_t packed = p->operand[PG_SCALED_A].dtype == PTXGEN_E2M1 ? PG_SCALED_A : PG_SCALED_B;
    return pg_problem_require_alignment(p, packed, UNPACKED_ALIGNMENT, "loads that unpack", err);
}

ptxgen_status pg_matmul_scaled_limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_matmul_scaled_key *k = p->key;
    const pg_epilogue steps = pg_epilogue_of(&k->steps, pg_matmul_scaled_out(k));
    PG_TRY(pg_epilogue_limits(p, PG_SCALED_STEPS, &steps, err));
    PG_TRY(pg_epilogue_check_blocks(p, PG_SCALED_D, &steps, err));
    if (k->d_store == PG_D_TENSOR && !p->host)
        PG_TRY(pg_problem_require_alignment(p, PG_SCALED_D, 16, "tensor-map stores", err));
    PG_TRY(check_scales(p, PG_SCALED_A, PG_SCALED_A_SCALES, err));
    PG_TRY(check_scales(p, PG_SCALED_B, PG_SCALED_B_SCALES, err));
    return check_mixed(p, err);
}
