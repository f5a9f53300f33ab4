/* The plain C answer of matmul_accumulate: sums in double, one rounding. Row by row, so that a
 * row of D may be the row of C it is made from. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"

static double element(const ptxgen_matmul_accumulate_args *a, const void *base, int64_t i)
{
    const uint16_t bits = ((const uint16_t *)base)[i];
    return a->dtype == PTXGEN_F16 ? pg_f16_to_double(bits) : pg_bf16_to_double(bits);
}

static int64_t or_dense(int64_t stride, int64_t dense)
{
    return stride ? stride : dense;
}

/* sums[j] += A[row, :] @ B[:, j] */
static void add_products(const ptxgen_matmul_accumulate_args *a, int64_t row, double *sums)
{
    const int64_t a_stride = or_dense(a->a_stride, a->k);
    const int64_t b_stride = or_dense(a->b_stride, a->b_transposed ? a->k : a->n);
    for (int64_t k = 0; k < a->k; k++) {
        const double x = element(a, a->a, row * a_stride + k);
        for (int64_t j = 0; j < a->n; j++)
            sums[j] += x * element(a, a->b, a->b_transposed ? j * b_stride + k : k * b_stride + j);
    }
}

ptxgen_status ptxgen_matmul_accumulate_oracle(const ptxgen_matmul_accumulate_args *a,
                                              ptxgen_error *err)
{
    const int64_t c_stride = or_dense(a->c_stride, a->n), d_stride = or_dense(a->d_stride, a->n);
    if (a->m == 0 || a->n == 0)
        return PTXGEN_OK;
    const size_t bytes = (size_t)a->n * sizeof(double);
    double *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    for (int64_t row = 0; row < a->m; row++) {
        for (int64_t j = 0; j < a->n; j++)
            sums[j] = a->c[row * c_stride + j];
        add_products(a, row, sums);
        for (int64_t j = 0; j < a->n; j++)
            a->d[row * d_stride + j] = (float)sums[j];
    }
    pg_free(&pg_alloc_libc, sums, bytes);
    return PTXGEN_OK;
}
