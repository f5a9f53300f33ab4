/* The plain C answer of matmul_scaled: sums in double, one rounding. Both operands are first
 * decoded, scales included (each product of an element and its scale is exact in double). */
#include "matmul_scaled/matmul_scaled.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"
#include "matmul_scaled/scales.h"

#include <math.h>
#include <string.h>

typedef struct operand {
    const pg_view *elements, *scales;
    int64_t rows, k, group;
} operand;

static double scale(const operand *o, int64_t row, int64_t k)
{
    const int64_t groups = (o->k + o->group - 1) / o->group;
    const pg_view *s = o->scales;
    return fabs(pg_element(s, pg_scale_offset(row, k / o->group, groups)));
}

static void decode(const operand *o, double *out)
{
    const pg_view *e = o->elements;
    for (int64_t row = 0; row < o->rows; row++)
        for (int64_t k = 0; k < o->k; k++)
            out[row * o->k + k] = pg_element(e, row * e->stride[0] + k) * scale(o, row, k);
}

/* Columns at a time: sums of their own, so that additions need not wait for each other. `right`
 * has as many more rows, of zeros. */
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

/* A row of sums at a time; `sums` has COLUMNS more. */
static ptxgen_status multiply(const pg_problem *p, const double *left, const double *right,
                              double *sums, ptxgen_error *err)
{
    const pg_matmul_scaled_key *key = p->key;
    const int64_t n = p->symbol[PG_SCALED_N], k = p->symbol[PG_SCALED_K];
    const pg_epilogue steps = pg_epilogue_of(&key->steps, p->operand[PG_SCALED_D].dtype);
    pg_answer_rows r = {.problem = p,
                        .first_operand = PG_SCALED_STEPS,
                        .d = PG_SCALED_D,
                        .steps = &steps,
                        .n = n,
                        .rows = 1,
                        .sums = sums};
    for (; r.first < p->symbol[PG_SCALED_M]; r.first++) {
        for (int64_t j = 0; j < n; j += COLUMNS)
            dot(left + r.first * k, right + j * k, k, sums + j);
        PG_TRY(pg_epilogue_answer(&r, err));
    }
    return PTXGEN_OK;
}

static operand operand_of(const pg_problem *p, size_t elements, size_t scales)
{
    const pg_matmul_scaled_key *key = p->key;
    const int64_t format = elements == PG_SCALED_A ? key->a : key->b;
    const pg_view *v = &p->operand[elements];
    return (operand){v, &p->operand[scales], v->shape[0], v->shape[1],
                     ptxgen_scale_group((ptxgen_scaled_format)format)};
}

ptxgen_status pg_matmul_scaled_oracle(const pg_problem *p, ptxgen_error *err)
{
    const operand left = operand_of(p, PG_SCALED_A, PG_SCALED_A_SCALES);
    const operand right = operand_of(p, PG_SCALED_B, PG_SCALED_B_SCALES);
    const size_t left_count = (size_t)left.rows * (size_t)left.k; /* below 2^62 */
    const size_t right_count = ((size_t)right.rows + COLUMNS) * (size_t)right.k;
    size_t bytes;
    const size_t sum_count = (size_t)right.rows + COLUMNS;
    if (__builtin_mul_overflow(left_count + right_count + sum_count, sizeof(double), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    double *values = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!values)
        return pg_fail_memory(err, bytes);
    memset(values + left_count, 0, right_count * sizeof(double));
    decode(&left, values);
    decode(&right, values + left_count);
    const ptxgen_status status =
        multiply(p, values, values + left_count, values + left_count + right_count, err);
    pg_free(&pg_alloc_libc, values, bytes);
    return status;
}
