/* The plain C answer of matmul_scaled: sums in double, one rounding. Both operands are first
 * decoded, scales included (each product of an element and its scale is exact in double). */
#include "matmul_scaled/matmul_scaled.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"
#include "common/small_floats.h"
#include "matmul_scaled/scales.h"

#include <string.h>

typedef struct operand {
    ptxgen_scaled_format format;
    const uint8_t *elements, *scales;
    int64_t rows, k, stride;
} operand;

static double element(const operand *o, int64_t row, int64_t k)
{
    const int64_t i = row * o->stride + k;
    if (o->format == PTXGEN_MXFP8)
        return pg_e4m3_to_double(o->elements[i]);
    return pg_e2m1_to_double((uint8_t)(o->elements[i / 2] >> (i % 2 * 4)));
}

static double scale(const operand *o, int64_t row, int64_t k)
{
    const int64_t group = ptxgen_scale_group(o->format);
    const uint8_t bits = o->scales[pg_scale_offset(row, k / group, (o->k + group - 1) / group)];
    return o->format == PTXGEN_NVFP4 ? pg_e4m3_to_double(bits & 0x7F) : pg_e8m0_to_double(bits);
}

static void decode(const operand *o, double *out)
{
    for (int64_t row = 0; row < o->rows; row++)
        for (int64_t k = 0; k < o->k; k++)
            out[row * o->k + k] = element(o, row, k) * scale(o, row, k);
}

static void store(ptxgen_dtype dtype, void *d, int64_t i, double v)
{
    if (dtype == PTXGEN_F32)
        ((float *)d)[i] = (float)v;
    else
        ((uint16_t *)d)[i] = dtype == PTXGEN_F16 ? pg_f16_from_double(v) : pg_bf16_from_double(v);
}

/* Columns at a time: sums of their own, so that additions need not wait for each other. `right` has as many more rows,
 * of zeros. */
enum { COLUMNS = 4 };

/* sums[c] = row . right[c], each of k elements, in order. */
static void dot(const double *row, const double *right, int64_t k, double sums[COLUMNS])
{
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t i = 0; i < k; i++) {
        s0 += row[i] * right[i];
        s1 += row[i] * right[k + i];
        s2 += row[i] * right[2 * k + i];
        s3 += row[i] * right[3 * k + i];
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static void multiply(const ptxgen_matmul_scaled_args *a, const double *left, const double *right)
{
    const int64_t d_stride = a->d_stride ? a->d_stride : a->n;
    double sums[COLUMNS];
    for (int64_t i = 0; i < a->m; i++) {
        for (int64_t j = 0; j < a->n; j += COLUMNS) {
            dot(left + i * a->k, right + j * a->k, a->k, sums);
            for (int64_t c = 0; c < COLUMNS && j + c < a->n; c++)
                store(a->out, a->d, i * d_stride + j + c, sums[c]);
        }
    }
}

ptxgen_status pg_matmul_scaled_oracle(const ptxgen_matmul_scaled_args *a, ptxgen_error *err)
{
    const operand left = {a->a_format, a->a, a->a_scales,
                          a->m,        a->k, a->a_stride ? a->a_stride : a->k};
    const operand right = {a->b_format, a->b, a->b_scales,
                           a->n,        a->k, a->b_stride ? a->b_stride : a->k};
    if (a->m == 0 || a->n == 0)
        return PTXGEN_OK;
    const size_t left_count = (size_t)a->m * (size_t)a->k; /* below 2^62 */
    const size_t right_count = ((size_t)a->n + COLUMNS) * (size_t)a->k;
    size_t bytes;
    if (__builtin_mul_overflow(left_count + right_count, sizeof(double), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    double *values = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!values)
        return pg_fail_memory(err, bytes);
    memset(values + left_count, 0, right_count * sizeof(double));
    decode(&left, values);
    decode(&right, values + left_count);
    multiply(a, values, values + left_count);
    pg_free(&pg_alloc_libc, values, bytes);
    return PTXGEN_OK;
}
