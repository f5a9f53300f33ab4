/* The plain C answer of scatter_add and how far from it a result may be. Sums in double, one
 * rounding. Works on column blocks, so that the double copy of out stays small whatever the row
 * length. */
#include "scatter_add/scatter_add.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"

#include <math.h>

enum { MAX_ACCUMULATORS = 32 << 20 };

/* A sum: of floats the double, of integers the whole number. */
typedef union value {
    double f;
    int64_t i;
} value;

/* What the entries of the index say. */
typedef struct entries {
    const pg_problem *p;
    const pg_view *out, *src, *index, *weight, *src_index;
    int64_t count;
    bool whole; /* integers */
    ptxgen_scatter_reduce reduce;
    double alpha;
    int32_t *counts; /* of each row of out; NULL: neither asked for nor needed */
} entries;

static entries entries_of(const pg_problem *p)
{
    const pg_view *v = p->operand;
    const pg_scatter_add_key *k = p->key;
    entries e = {.p = p,
                 .out = &v[PG_SCATTER_OUT],
                 .src = &v[PG_SCATTER_SRC],
                 .index = &v[PG_SCATTER_INDEX],
                 .weight = v[PG_SCATTER_WEIGHT].present ? &v[PG_SCATTER_WEIGHT] : NULL,
                 .src_index = v[PG_SCATTER_SRC_INDEX].present ? &v[PG_SCATTER_SRC_INDEX] : NULL,
                 .count = p->symbol[PG_SCATTER_ROWS],
                 .reduce = (ptxgen_scatter_reduce)k->reduce,
                 .alpha = pg_scatter_add_alpha(p)};
    e.whole = e.out->dtype == PTXGEN_S32 || e.out->dtype == PTXGEN_S64;
    if (v[PG_SCATTER_DEVICE_ROWS].present) {
        const int64_t rows = *(const int64_t *)v[PG_SCATTER_DEVICE_ROWS].data;
        e.count = rows < 0 ? 0 : rows < e.count ? rows : e.count;
    }
    return e;
}

static bool is_padding(const entries *e, int64_t row)
{
    const pg_view *padding = &e->p->operand[PG_SCATTER_PADDING_INDEX];
    return padding->present && row == pg_element_integer(padding, 0);
}

static int64_t source_of(const entries *e, int64_t i)
{
    return e->src_index ? pg_element_integer(e->src_index, i) : i;
}

static value load(const entries *e, const pg_view *v, int64_t i)
{
    return e->whole ? (value){.i = pg_element_integer(v, i)} : (value){.f = pg_element(v, i)};
}

/* A NaN wins, -0 is less than +0. */
static double least(double acc, double x)
{
    if (isnan(acc) || isnan(x))
        return acc + x;
    return x < acc || (x == acc && signbit(x)) ? x : acc;
}

static value reduce(const entries *e, value acc, value x)
{
    const bool add = e->reduce == PTXGEN_SCATTER_ADD || e->reduce == PTXGEN_SCATTER_MEAN;
    const bool min = e->reduce == PTXGEN_SCATTER_MIN;
    const bool mul = e->reduce == PTXGEN_SCATTER_MUL;
    if (e->whole && add)
        acc.i = (int64_t)((uint64_t)acc.i + (uint64_t)x.i);
    else if (e->whole && mul)
        acc.i = (int64_t)((uint64_t)acc.i * (uint64_t)x.i);
    else if (e->whole)
        acc.i = (x.i < acc.i) == min ? x.i : acc.i;
    else if (add)
        acc.f += x.f;
    else if (mul)
        acc.f *= x.f;
    else
        acc.f = min ? least(acc.f, x.f) : -least(-acc.f, -x.f);
    return acc;
}

static value scale(const entries *e, value x, int64_t i)
{
    if (!e->weight && e->alpha == 1)
        return x;
    if (!e->whole)
        return (value){.f = x.f * e->alpha * (e->weight ? pg_element(e->weight, i) : 1)};
    const uint64_t weight = e->weight ? (uint64_t)pg_element_integer(e->weight, i) : 1;
    return (value){.i = (int64_t)((uint64_t)x.i * (uint64_t)(int64_t)e->alpha * weight)};
}

static void add_columns(const entries *e, int64_t first, int64_t count, value *sums)
{
    const int64_t out_rows = e->p->symbol[PG_SCATTER_OUT_ROWS];
    for (int64_t r = 0; r < out_rows; r++)
        for (int64_t c = 0; c < count; c++)
            sums[r * count + c] = e->reduce == PTXGEN_SCATTER_MEAN
                                      ? (value){.f = -0.0}
                                      : load(e, e->out, r * e->out->stride[0] + first + c);
    for (int64_t i = 0; i < e->count; i++) {
        const int64_t row = pg_element_integer(e->index, i);
        const int64_t from = source_of(e, i) * e->src->stride[0] + first;
        for (int64_t c = 0; c < count && !is_padding(e, row); c++) {
            value *sum = &sums[row * count + c];
            *sum = reduce(e, *sum, scale(e, load(e, e->src, from + c), i));
        }
    }
    for (int64_t r = 0; r < out_rows; r++)
        for (int64_t c = 0; c < count; c++) {
            const int64_t at = r * e->out->stride[0] + first + c;
            if (e->reduce == PTXGEN_SCATTER_MEAN && e->counts[r])
                pg_element_set(e->out, at, sums[r * count + c].f / e->counts[r]);
            if (e->reduce == PTXGEN_SCATTER_MEAN)
                continue;
            if (e->whole)
                pg_element_set_integer(e->out, at, sums[r * count + c].i);
            else
                pg_element_set(e->out, at, sums[r * count + c].f);
        }
}

static void count_entries(const entries *e)
{
    const int64_t out_rows = e->p->symbol[PG_SCATTER_OUT_ROWS];
    for (int64_t r = 0; r < out_rows; r++)
        e->counts[r] = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const int64_t row = pg_element_integer(e->index, i);
        if (!is_padding(e, row))
            e->counts[row]++;
    }
}

static ptxgen_status check_indices(const entries *e, ptxgen_error *err)
{
    const int64_t out_rows = e->p->symbol[PG_SCATTER_OUT_ROWS];
    const int64_t src_rows = e->src->shape[0];
    for (int64_t i = 0; i < e->count; i++) {
        const int64_t r = pg_element_integer(e->index, i), s = source_of(e, i);
        if (is_padding(e, r))
            continue;
        if (r < 0 || r >= out_rows)
            return pg_fail(err, PTXGEN_EINDEX,
                           "index[%lld] = %lld is outside 0..%lld (rows of out)", (long long)i,
                           (long long)r, (long long)out_rows - 1);
        if (s < 0 || s >= src_rows)
            return pg_fail(err, PTXGEN_EINDEX,
                           "src_index[%lld] = %lld is outside 0..%lld (rows of src)", (long long)i,
                           (long long)s, (long long)src_rows - 1);
    }
    return PTXGEN_OK;
}

static ptxgen_status add_all(const entries *e, ptxgen_error *err)
{
    const int64_t out_rows = e->p->symbol[PG_SCATTER_OUT_ROWS], n = e->p->symbol[PG_SCATTER_N];
    int64_t block = MAX_ACCUMULATORS / out_rows;
    if (block < 1)
        block = 1;
    if (block > n)
        block = n;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)(block * out_rows), sizeof(value), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    value *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    for (int64_t first = 0; first < n; first += block)
        add_columns(e, first, n - first < block ? n - first : block, sums);
    pg_free(&pg_alloc_libc, sums, bytes);
    return PTXGEN_OK;
}

/* ---- bounds ---- */

/* What a type's rounding allows. */
typedef struct rounding {
    double unit; /* half a unit in the last place of 1 */
    double tiny; /* absolute error of one addition near zero */
    double largest;
} rounding;

static rounding rounding_of(ptxgen_dtype dtype)
{
    const double unit = pg_dtype_step(dtype) / 2;
    switch (dtype) {
    case PTXGEN_F16:
        return (rounding){unit, 0x1p-24, 65504};
    case PTXGEN_BF16:
        return (rounding){unit, 0x1p-133, 0x1.fep127};
    case PTXGEN_F64:
        return (rounding){unit, 0x1p-1074, 0x1.fffffffffffffp1023};
    case PTXGEN_F32:
        return (rounding){unit, 0x1p-126, 0x1.fffffep127}; /* subnormals are flushed */
    default:
        return (rounding){0, 0, INFINITY};
    }
}

/* magnitude[row][column] = |out| + sum |src| (of mul: the largest product on any way),
 * adds[row] = how many rows of src reach it. */
static void sum_magnitudes(const entries *e, double *magnitude, int64_t *adds)
{
    const int64_t n = e->p->symbol[PG_SCATTER_N];
    const bool mul = e->reduce == PTXGEN_SCATTER_MUL;
    for (int64_t r = 0; r < e->p->symbol[PG_SCATTER_OUT_ROWS]; r++)
        for (int64_t c = 0; c < n; c++) {
            const double x = fabs(pg_element(e->out, r * e->out->stride[0] + c));
            magnitude[r * n + c] = mul ? fmax(x, 1) : x;
        }
    for (int64_t i = 0; i < e->count; i++) {
        const int64_t row = pg_element_integer(e->index, i),
                      from = source_of(e, i) * e->src->stride[0];
        const double factor = e->alpha * (e->weight ? pg_element(e->weight, i) : 1);
        if (is_padding(e, row))
            continue;
        adds[row]++;
        for (int64_t c = 0; c < n; c++) {
            const double x = fabs(factor * pg_element(e->src, from + c));
            if (mul)
                magnitude[row * n + c] *= fmax(x, 1);
            else
                magnitude[row * n + c] += x;
        }
    }
}

/* (k + 1) roundings of at most |out| + sum |src| where k rows were added; anything where a
 * partial sum may have passed the largest number on the way. */
static ptxgen_status find_bounds(const pg_problem *p, double *bound, ptxgen_error *err)
{
    const int64_t out_rows = p->symbol[PG_SCATTER_OUT_ROWS], n = p->symbol[PG_SCATTER_N];
    const rounding r = rounding_of(p->operand[PG_SCATTER_OUT].dtype);
    const size_t bytes = (size_t)out_rows * sizeof(int64_t);
    int64_t *adds = pg_alloc_zero(&pg_alloc_libc, bytes);
    if (!adds)
        return pg_fail_memory(err, bytes);
    const entries e = entries_of(p);
    sum_magnitudes(&e, bound, adds);
    for (int64_t i = 0; i < out_rows * n; i++) {
        const double magnitude = bound[i];
        const int64_t k = adds[i / n];
        bound[i] = k ? (double)(k + 1) * (r.unit * magnitude + r.tiny) : 0;
        if (!isinf(magnitude) && k && magnitude + bound[i] >= r.largest)
            bound[i] = INFINITY;
        if (isinf(magnitude))
            bound[i] = 0;
    }
    pg_free(&pg_alloc_libc, adds, bytes);
    return PTXGEN_OK;
}

/* ---- the whole ---- */

ptxgen_status pg_scatter_add_oracle(const pg_problem *p, ptxgen_error *err)
{
    const pg_view *counts = &p->operand[PG_SCATTER_COUNTS];
    const size_t bytes = (size_t)p->symbol[PG_SCATTER_OUT_ROWS] * sizeof(int32_t);
    entries e = entries_of(p);
    int32_t *own = NULL;
    if (p->prepared)
        return pg_fail(err, PTXGEN_EINVAL, "a plan is given: plain C needs the index itself");
    PG_TRY(check_indices(&e, err));
    if (counts->present)
        e.counts = counts->data;
    else if (e.reduce == PTXGEN_SCATTER_MEAN)
        e.counts = own = pg_alloc_zero(&pg_alloc_libc, bytes);
    if (e.reduce == PTXGEN_SCATTER_MEAN && !e.counts)
        return pg_fail_memory(err, bytes);
    if (e.counts)
        count_entries(&e);
    ptxgen_status status = PTXGEN_OK;
    if (p->bounds)
        status = find_bounds(p, p->bounds[PG_SCATTER_OUT], err);
    if (status == PTXGEN_OK)
        status = add_all(&e, err);
    pg_free(&pg_alloc_libc, own, own ? bytes : 0);
    return status;
}
