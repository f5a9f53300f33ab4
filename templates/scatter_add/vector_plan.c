/* What keys and problems schedule=vector takes: accesses of 16 bytes, or of fewer where rows are
 * aligned to fewer, and sums of hot rows. */
#include "scatter_add/vector.h"

#include "base/error.h"

enum { MAX_STATIC_SHARED = 48 << 10, WHOLE = 16, HALVES = 2 };

static ptxgen_status check_narrow(const pg_scatter_add_key *k, ptxgen_error *err)
{
    const pg_sum_type *e = pg_sum_type_at(k->dtype);
    const int64_t row_bytes = k->n * e->bytes;
    const bool known = k->access == 2 || k->access == 4 || k->access == 8 || k->access == WHOLE;
    if (known && k->access >= e->bytes && !k->function && row_bytes % k->access == 0)
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "access=%lld: schedule=vector needs 2 (halves), 4, 8 or 16 that divides a row of "
        "%lld bytes, and 16 with a user function",
        (long long)k->access, (long long)row_bytes);
}

ptxgen_status pg_scatter_add_resolve_vector(pg_scatter_add_key *k, const pg_arch *arch,
                                            ptxgen_error *err)
{
    if (k->access)
        PG_TRY(check_narrow(k, err));
    if (k->shift && !k->access)
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "shift=yes: schedule=vector has blocks of two accesses of 4 or 8 bytes: name "
            "access, or leave shift out");
    k->shift = k->shift || k->access == HALVES;
    /* reductions of f32 flush subnormal numbers, also of the row beside */
    if (k->shift && (arch->sm < 90 || k->panel || pg_sum_type_at(k->dtype)->bytes != HALVES))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "shift=yes and access=2: schedule=vector needs sm_90 or later, f16 or bf16, "
                       "and goes through whole rows: leave shift or panel out, or use "
                       "schedule=owner");
    k->hot = k->hot == PG_HOT_YES ? PG_HOT_YES : PG_HOT_NO;
    if (k->hot == PG_HOT_NO)
        return PTXGEN_OK;
    const int64_t bytes = pg_vector_hot_bytes(
        k->warps, pg_vector_piece_bytes(k->access ? k->access : WHOLE, k->shift));
    if (arch->sm < 90 || k->panel)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "hot=yes needs sm_90 or later, and goes through whole rows: leave hot or "
                       "panel out");
    if (bytes > MAX_STATIC_SHARED)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "hot=yes with warps=%lld needs %lld bytes of shared memory, the limit is "
                       "%d: lower warps",
                       (long long)k->warps, (long long)bytes, MAX_STATIC_SHARED);
    return PTXGEN_OK;
}

bool pg_scatter_add_dense_out(const pg_problem *p)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT];
    return out->shape[0] < 2 || out->stride[0] == out->shape[1];
}

bool pg_scatter_add_may_be_hot(const pg_problem *p, int64_t access, bool shift)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT];
    const int64_t row_bytes = out->shape[1] * pg_dtype_bits(out->dtype) / 8;
    return p->symbol[PG_SCATTER_ROWS] <= INT32_MAX && out->shape[0] <= INT32_MAX &&
           pg_vector_row_pieces(access, shift, row_bytes) <= PG_VECTOR_HOT_PIECES;
}

ptxgen_status pg_scatter_add_vector_limits(const pg_problem *p, ptxgen_error *err)
{
    const pg_scatter_add_key *k = p->key;
    if (k->shift && !pg_scatter_add_dense_out(p))
        return pg_fail(
            err, PTXGEN_EUNSUPPORTED,
            "shift=yes and access=2: schedule=vector needs rows of out without gaps, not of stride "
            "%lld: use schedule=owner or auto",
            (long long)p->operand[PG_SCATTER_OUT].stride[0]);
    if (k->hot == PG_HOT_YES &&
        !pg_scatter_add_may_be_hot(p, k->access ? k->access : WHOLE, k->shift))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "hot=yes takes up to %d values of index and rows of out, of up to %d "
                       "accesses each: leave it out",
                       INT32_MAX, PG_VECTOR_HOT_PIECES);
    return PTXGEN_OK;
}
