/* Pointers, strides, alignment and overlap of a problem's operands. Strides are believed: a
 * stride of 0 is one row again and again, a negative one goes backwards; both are refused by
 * name where no kernel serves them. */
#include "generate/operands/problem.h"

static const char elements[] = "the elements";

static ptxgen_status check_inner(const pg_operand *row, const pg_view *v, ptxgen_error *err)
{
    const int inner = pg_view_along(v);
    if (v->stride[inner] == 1 || (row->spread && v->stride[inner] == 0))
        return PTXGEN_OK;
    return pg_fail(
        err, PTXGEN_EUNSUPPORTED,
        "%s has inner stride %lld: its elements must be adjacent (make a contiguous copy)",
        row->name, (long long)v->stride[inner]);
}

/* Everything that a dimension steps over, in elements, must lie within its stride. */
static ptxgen_status check_step(const pg_problem *p, size_t operand, int d, ptxgen_error *err)
{
    const pg_operand *row = &p->table->rows[operand];
    const pg_view *v = &p->operand[operand];
    const int64_t stride = v->stride[d];
    int64_t within = 1;
    const bool same = pg_operand_is_written(row)
                          ? d < row->leading && pg_problem_has_rows_by(p, operand)
                          : row->broadcast || row->spread || d < row->leading;
    if (v->shape[d] == 1 || (stride == 0 && same))
        return PTXGEN_OK;
    if (stride == 0)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s has stride 0 over %lld rows, a broadcast: %s (make a contiguous copy)",
                       row->name, (long long)v->shape[d],
                       pg_operand_is_written(row) ? "they would be written over each other"
                                                  : "the kernels do not serve one");
    if (stride < 0)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s has row stride %lld: rows that go backwards are not served (make a "
                       "contiguous copy)",
                       row->name, (long long)stride);
    for (int i = 0; i < v->rank; i++) {
        int64_t reach;
        if (i == d || v->shape[i] == 1 || v->stride[i] > stride || v->stride[i] < 0)
            continue;
        if (v->stride[i] == stride && i < d)
            continue;
        if (__builtin_mul_overflow(v->shape[i] - 1, v->stride[i], &reach) ||
            __builtin_add_overflow(within, reach, &within))
            within = INT64_MAX;
    }
    if (stride >= within)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "%s has %s stride %lld, less than its %lld elements: rows would overlap",
                   row->name, d < row->leading ? "batch" : "row", (long long)stride,
                   (long long)within);
}

static ptxgen_status check_dense(const pg_operand *row, const pg_view *v, ptxgen_error *err)
{
    int64_t dense = 1;
    for (int d = v->rank - 1; d >= 0; d--) {
        if (v->stride[d] != dense)
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "%s has stride %lld where a dense one has %lld: make a contiguous copy",
                           row->name, (long long)v->stride[d], (long long)dense);
        dense *= v->shape[d];
    }
    return PTXGEN_OK;
}

/* No memory holds an array of more; spans of less are sums that do not overflow. */
enum { MOST_BYTES_LOG2 = 47 };

static ptxgen_status check_extent(const pg_operand *row, const pg_view *v, ptxgen_error *err)
{
    const int64_t most = (INT64_C(8) << MOST_BYTES_LOG2) / v->bits;
    int64_t last = 0, reach, farthest = -1;
    int outer = 0; /* what reaches farthest */
    for (int d = 0; d < v->rank; d++) {
        if (__builtin_mul_overflow(v->shape[d], v->stride[d], &reach))
            reach = INT64_MAX;
        if (reach > farthest) {
            farthest = reach;
            outer = d;
        }
        if (__builtin_add_overflow(last, reach, &last))
            last = INT64_MAX;
    }
    if (last <= most)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "%s has %lld %s of stride %lld, more bytes than can be addressed: an array has "
                   "at most 2^%d",
                   row->name, (long long)v->shape[outer],
                   outer < row->leading        ? "matrices"
                   : outer == pg_view_along(v) ? "elements"
                                               : "rows",
                   (long long)v->stride[outer], MOST_BYTES_LOG2);
}

static ptxgen_status check_alignment(const pg_operand *row, const pg_view *v, int bytes,
                                     const char *needed_by, ptxgen_error *err)
{
    const int bits = v->bits;
    const uint64_t low = 8 * (uint64_t)bytes - 1; /* a power of two - 1 */
    if ((uintptr_t)v->data & (uintptr_t)(bytes - 1))
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s is at %p, not %d-byte aligned: %s need it (copy to an aligned buffer)",
                       row->name, v->data, bytes, needed_by);
    for (int d = 0; d < v->rank; d++)
        if (d != pg_view_along(v) && v->shape[d] > 1 &&
            ((uint64_t)v->stride[d] * (uint64_t)bits & low))
            return pg_fail(err, PTXGEN_EUNSUPPORTED,
                           "%s has row stride %lld, not a multiple of %d elements (%d bytes): %s "
                           "need it (pad the rows)",
                           row->name, (long long)v->stride[d], 8 * bytes / bits, bytes, needed_by);
    return PTXGEN_OK;
}

static int alignment_of(const pg_problem *p, size_t i)
{
    const int element = (p->operand[i].bits + 7) / 8, wanted = p->table->rows[i].alignment;
    return p->host || wanted < element ? (element ? element : 1) : wanted;
}

static ptxgen_status check_operand(const pg_problem *p, size_t i, ptxgen_error *err)
{
    const pg_operand *row = &p->table->rows[i];
    const pg_view *v = &p->operand[i];
    if (!v->data)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL", row->name);
    if (v->rank && !pg_view_is_plain(v)) {
        PG_TRY(check_inner(row, v, err));
        for (int d = 0; d < v->rank; d++)
            if (d != pg_view_along(v))
                PG_TRY(check_step(p, i, d, err));
    }
    PG_TRY(check_extent(row, v, err));
    if (row->dense)
        PG_TRY(check_dense(row, v, err));
    return check_alignment(row, v, alignment_of(p, i),
                           p->host || !row->alignment ? elements : row->needed_by, err);
}

ptxgen_status pg_problem_require_alignment(const pg_problem *p, size_t operand, int bytes,
                                           const char *needed_by, ptxgen_error *err)
{
    const pg_view *v = &p->operand[operand];
    if (p->host || !v->present || pg_view_is_empty(v))
        return PTXGEN_OK;
    return check_alignment(&p->table->rows[operand], v, bytes, needed_by, err);
}

/* ---- overlap ---- */

/* Different columns of one wider buffer: rows on one grid of strides that interleave without
 * touching. */
static bool interleave(const pg_view *a, const pg_view *b)
{
    if (a->rank < 2 || b->rank < 2)
        return false;
    const int64_t row = a->stride[a->rank - 1 - !a->transposed];
    const int bits = a->bits;
    const int64_t bytes = row * bits / 8;
    if (bytes == 0 || bytes != b->stride[b->rank - 1 - !b->transposed] * b->bits / 8)
        return false;
    for (int d = 0; d < a->rank - 2; d++)
        if (a->stride[d] % row)
            return false;
    for (int d = 0; d < b->rank - 2; d++)
        if (b->stride[d] * b->bits / 8 % bytes)
            return false;
    const int64_t apart = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data) % bytes;
    const int64_t shift = apart < 0 ? apart + bytes : apart;
    return shift >= a->shape[pg_view_along(a)] * bits / 8 &&
           shift + b->shape[pg_view_along(b)] * b->bits / 8 <= bytes;
}

/* Where an operand lies; empty when it takes no part. */
typedef struct range {
    uintptr_t first, end;
} range;

static bool is_same(const pg_view *a, const pg_view *b)
{
    bool same = a->data == b->data && a->dtype == b->dtype && a->rank == b->rank;
    for (int d = 0; same && d < a->rank; d++)
        same = a->shape[d] == b->shape[d] && (a->shape[d] == 1 || a->stride[d] == b->stride[d]);
    return same;
}

/* The bytes of the two meet: is it allowed? */
static ptxgen_status check_apart(const pg_problem *p, size_t out, size_t other, ptxgen_error *err)
{
    const pg_operand *rows = p->table->rows;
    const pg_view *a = &p->operand[out], *b = &p->operand[other];
    const bool may_be_same = rows[out].same_as == other + 1 || rows[other].same_as == out + 1;
    if (interleave(a, b) || (may_be_same && is_same(a, b)))
        return PTXGEN_OK;
    if (may_be_same)
        return pg_fail(err, PTXGEN_EUNSUPPORTED,
                       "%s overlaps %s without being the same array: use %s = %s with the same "
                       "strides, or two buffers",
                       rows[out].name, rows[other].name, rows[out].name, rows[other].name);
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%s and %s overlap: what is written would change what is read (use two "
                   "buffers; %s takes %lld bytes, %s %lld)",
                   rows[out].name, rows[other].name, rows[out].name, (long long)pg_view_span(a),
                   rows[other].name, (long long)pg_view_span(b));
}

static range range_of(const pg_problem *p, size_t i)
{
    const pg_view *v = &p->operand[i];
    if (p->table->rows[i].role == PG_SCALAR || pg_view_is_empty(v))
        return (range){0, 0};
    const uintptr_t first = (uintptr_t)v->data;
    return (range){first, first + (uintptr_t)pg_view_span(v)};
}

ptxgen_status pg_problem_check_overlap(const pg_problem *p, ptxgen_error *err)
{
    range at[PG_MAX_OPERANDS];
    for (size_t g = 0; g < p->given_count; g++)
        at[g] = range_of(p, p->given[g]);
    for (size_t g = 0; g < p->given_count; g++) {
        const size_t i = p->given[g];
        if (!pg_operand_is_written(&p->table->rows[i]))
            continue;
        for (size_t h = 0; h < p->given_count; h++) {
            const size_t j = p->given[h];
            if (at[g].first < at[h].end && at[h].first < at[g].end && h != g &&
                (h > g || !pg_operand_is_written(&p->table->rows[j])))
                PG_TRY(check_apart(p, i, j, err));
        }
    }
    return PTXGEN_OK;
}

ptxgen_status pg_problem_check_memory(const pg_problem *p, ptxgen_error *err)
{
    if (p->empty)
        return PTXGEN_OK;
    for (size_t g = 0; g < p->given_count; g++)
        if (!pg_view_is_empty(&p->operand[p->given[g]]))
            PG_TRY(check_operand(p, p->given[g], err));
    return pg_problem_check_overlap(p, err);
}
