/* The plain C answer of matmul_accumulate: sums in double, K in order, one rounding. Some rows at a time, so that B is
 * decoded once for all of them, and so that D may be the C it is made from. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"

enum { ROWS = 16 };

static double element(const ptxgen_matmul_accumulate_args *a, const void *base, int64_t i)
{
    const uint16_t bits = ((const uint16_t *)base)[i];
    return a->dtype == PTXGEN_F16 ? pg_f16_to_double(bits) : pg_bf16_to_double(bits);
}

static int64_t or_dense(int64_t stride, int64_t dense)
{
    return stride ? stride : dense;
}

/* Row k of B. */
static void decode_row(const ptxgen_matmul_accumulate_args *a, int64_t k, double *row)
{
    const int64_t stride = or_dense(a->b_stride, a->b_transposed ? a->k : a->n);
    for (int64_t j = 0; j < a->n; j++)
        row[j] = element(a, a->b, a->b_transposed ? j * stride + k : k * stride + j);
}

/* sums[r][j] += A[first + r, :] @ B[:, j] */
static void add_products(const ptxgen_matmul_accumulate_args *a, int64_t first, int64_t rows,
                         double *sums)
{
    const int64_t a_stride = or_dense(a->a_stride, a->k), n = a->n;
    double *b = sums + ROWS * n;
    for (int64_t k = 0; k < a->k; k++) {
        decode_row(a, k, b);
        for (int64_t r = 0; r < rows; r++) {
            const double x = element(a, a->a, (first + r) * a_stride + k);
            for (int64_t j = 0; j < n; j++)
                sums[r * n + j] += x * b[j];
        }
    }
}

ptxgen_status pg_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *a, ptxgen_error *err)
{
    const int64_t c_stride = or_dense(a->c_stride, a->n), d_stride = or_dense(a->d_stride, a->n);
    if (a->m == 0 || a->n == 0)
        return PTXGEN_OK;
    const size_t bytes = (size_t)a->n * (ROWS + 1) * sizeof(double);
    double *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    for (int64_t first = 0; first < a->m; first += ROWS) {
        const int64_t rows = a->m - first < ROWS ? a->m - first : ROWS;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < a->n; j++)
                sums[r * a->n + j] = a->c[(first + r) * c_stride + j];
        add_products(a, first, rows, sums);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < a->n; j++)
                a->d[(first + r) * d_stride + j] = (float)sums[r * a->n + j];
    }
    pg_free(&pg_alloc_libc, sums, bytes);
    return PTXGEN_OK;
}
