/* The plain C answer of scatter_add and how far from it a result may be. Sums in double, one rounding. Works on
 * column blocks, so that the double copy of out stays small whatever the row length. */
#include "scatter_add/scatter_add.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"

#include <math.h>

enum { MAX_ACCUMULATORS = 32 << 20 }; /* doubles */

static int64_t index_at(const pg_problem *p, int64_t i)
{
    return pg_element_integer(&p->operand[PG_SCATTER_INDEX], i);
}

static void add_columns(const pg_problem *p, int64_t first, int64_t count, double *sums)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT], *src = &p->operand[PG_SCATTER_SRC];
    const int64_t out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    for (int64_t r = 0; r < out_rows; r++)
        for (int64_t c = 0; c < count; c++)
            sums[r * count + c] = pg_element(out, r * out->stride[0] + first + c);
    for (int64_t i = 0; i < p->symbol[PG_SCATTER_ROWS]; i++) {
        double *row = sums + index_at(p, i) * count;
        for (int64_t c = 0; c < count; c++)
            row[c] += pg_element(src, i * src->stride[0] + first + c);
    }
    for (int64_t r = 0; r < out_rows; r++)
        for (int64_t c = 0; c < count; c++)
            pg_element_set(out, r * out->stride[0] + first + c, sums[r * count + c]);
}

static ptxgen_status check_indices(const pg_problem *p, ptxgen_error *err)
{
    const int64_t out_rows = p->symbol[PG_SCATTER_OUT_ROWS];
    for (int64_t i = 0; i < p->symbol[PG_SCATTER_ROWS]; i++) {
        const int64_t r = index_at(p, i);
        if (r < 0 || r >= out_rows)
            return pg_fail(err, PTXGEN_EINDEX,
                           "index[%lld] = %lld is outside 0..%lld (rows of out)", (long long)i,
                           (long long)r, (long long)out_rows - 1);
    }
    return PTXGEN_OK;
}

ptxgen_status pg_scatter_add_oracle(const pg_problem *p, ptxgen_error *err)
{
    const int64_t out_rows = p->symbol[PG_SCATTER_OUT_ROWS], n = p->symbol[PG_SCATTER_N];
    PG_TRY(check_indices(p, err));
    int64_t block = MAX_ACCUMULATORS / out_rows;
    if (block < 1)
        block = 1;
    if (block > n)
        block = n;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)(block * out_rows), sizeof(double), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    double *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    for (int64_t first = 0; first < n; first += block)
        add_columns(p, first, n - first < block ? n - first : block, sums);
    pg_free(&pg_alloc_libc, sums, bytes);
    return PTXGEN_OK;
}

/* ---- tolerance --------------------------------------------------------------------------------- */

/* What a type's rounding allows. */
typedef struct rounding {
    double unit; /* half a unit in the last place of 1 */
    double tiny; /* absolute error of one addition near zero */
    double largest;
} rounding;

static rounding rounding_of(ptxgen_dtype dtype)
{
    switch (dtype) {
    case PTXGEN_F16:
        return (rounding){0x1p-11, 0x1p-24, 65504};
    case PTXGEN_BF16:
        return (rounding){0x1p-8, 0x1p-133, 0x1.fep127};
    default:
        return (rounding){0x1p-24, 0x1p-126, 0x1.fffffep127}; /* subnormals are flushed */
    }
}

/* magnitude[row][column] = |out| + sum |src|, adds[row] = how many rows of src reach it. */
static void sum_magnitudes(const pg_problem *p, double *magnitude, int64_t *adds)
{
    const pg_view *out = &p->operand[PG_SCATTER_OUT], *src = &p->operand[PG_SCATTER_SRC];
    const int64_t n = p->symbol[PG_SCATTER_N];
    for (int64_t r = 0; r < p->symbol[PG_SCATTER_OUT_ROWS]; r++)
        for (int64_t c = 0; c < n; c++)
            magnitude[r * n + c] = fabs(pg_element(out, r * out->stride[0] + c));
    for (int64_t i = 0; i < p->symbol[PG_SCATTER_ROWS]; i++) {
        const int64_t row = index_at(p, i);
        adds[row]++;
        for (int64_t c = 0; c < n; c++)
            magnitude[row * n + c] += fabs(pg_element(src, i * src->stride[0] + c));
    }
}

/* (k + 1) roundings of at most |out| + sum |src| where k rows were added; anything where a partial sum may have
 * passed the largest number on the way. */
static ptxgen_status bounds(const pg_problem *p, double *bound, ptxgen_error *err)
{
    const int64_t out_rows = p->symbol[PG_SCATTER_OUT_ROWS], n = p->symbol[PG_SCATTER_N];
    const rounding r = rounding_of(p->operand[PG_SCATTER_OUT].dtype);
    const size_t bytes = (size_t)out_rows * sizeof(int64_t);
    int64_t *adds = pg_alloc_zero(&pg_alloc_libc, bytes);
    if (!adds)
        return pg_fail_memory(err, bytes);
    sum_magnitudes(p, bound, adds);
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

void pg_scatter_add_tolerance(const pg_problem *p, pg_tolerance *t)
{
    (void)p;
    t->bounds = bounds;
}
