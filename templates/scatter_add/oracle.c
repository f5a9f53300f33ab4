/* The plain C answer of scatter_add: sums in double, one rounding. Works on column blocks, so that the double
 * copy of out stays small whatever the row length. */
#include "scatter_add/scatter_add.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"

#include <string.h>

enum { MAX_ACCUMULATORS = 32 << 20 }; /* doubles */

static double load(ptxgen_dtype dtype, const void *base, int64_t i)
{
    if (dtype == PTXGEN_F32)
        return ((const float *)base)[i];
    const uint16_t bits = ((const uint16_t *)base)[i];
    return dtype == PTXGEN_F16 ? pg_f16_to_double(bits) : pg_bf16_to_double(bits);
}

static void store(ptxgen_dtype dtype, void *base, int64_t i, double v)
{
    if (dtype == PTXGEN_F32)
        ((float *)base)[i] = (float)v;
    else
        ((uint16_t *)base)[i] =
            dtype == PTXGEN_F16 ? pg_f16_from_double(v) : pg_bf16_from_double(v);
}

static int64_t index_at(const ptxgen_scatter_add_args *a, int64_t i)
{
    return a->index_type == PTXGEN_INDEX_I32 ? ((const int32_t *)a->index)[i]
                                             : ((const int64_t *)a->index)[i];
}

static void add_columns(const ptxgen_scatter_add_args *a, int64_t first, int64_t count,
                        double *sums)
{
    const int64_t out_stride = a->out_stride ? a->out_stride : a->n;
    const int64_t src_stride = a->src_stride ? a->src_stride : a->n;
    for (int64_t r = 0; r < a->out_rows; r++)
        for (int64_t c = 0; c < count; c++)
            sums[r * count + c] = load(a->dtype, a->out, r * out_stride + first + c);
    for (int64_t i = 0; i < a->rows; i++) {
        double *row = sums + index_at(a, i) * count;
        for (int64_t c = 0; c < count; c++)
            row[c] += load(a->dtype, a->src, i * src_stride + first + c);
    }
    for (int64_t r = 0; r < a->out_rows; r++)
        for (int64_t c = 0; c < count; c++)
            store(a->dtype, a->out, r * out_stride + first + c, sums[r * count + c]);
}

ptxgen_status pg_scatter_add_oracle(const ptxgen_scatter_add_args *a, ptxgen_error *err)
{
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t r = index_at(a, i);
        if (r < 0 || r >= a->out_rows)
            return pg_fail(err, PTXGEN_EINDEX,
                           "index[%lld] = %lld is outside 0..%lld (rows of out)", (long long)i,
                           (long long)r, (long long)a->out_rows - 1);
    }
    if (a->rows == 0 || a->n == 0)
        return PTXGEN_OK;
    int64_t block = MAX_ACCUMULATORS / a->out_rows;
    if (block < 1)
        block = 1;
    if (block > a->n)
        block = a->n;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)(block * a->out_rows), sizeof(double), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    double *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    for (int64_t first = 0; first < a->n; first += block)
        add_columns(a, first, a->n - first < block ? a->n - first : block, sums);
    pg_free(&pg_alloc_libc, sums, bytes);
    return PTXGEN_OK;
}
