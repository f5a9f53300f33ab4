/* The plain C answer of matmul_scaled: sums in double, one rounding. Both operands are first
 * decoded, scales included (each product of an element and its scale is exact in double). */
#include "matmul_scaled/matmul_scaled.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"
#include "common/sum_error.h"
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

/* Elements with their scales, of A and B (COLUMNS more rows); a row of sums (COLUMNS more), what
 * they may be off by, and the lengths of B's rows. */
typedef struct work {
    double *left, *right, *sums, *off, *lengths;
} work;

static double length_of(const double *row, int64_t k)
{
    double squares = 0;
    for (int64_t i = 0; i < k; i++)
        squares += row[i] * row[i];
    return sqrt(squares);
}

/* The products of two rows are, without their signs, at most the product of the lengths. */
static void find_errors(const pg_problem *p, const work *w, int64_t row)
{
    const int64_t n = p->symbol[PG_SCALED_N], k = p->symbol[PG_SCALED_K];
    const double length = length_of(w->left + row * k, k);
    for (int64_t j = 0; j < n; j++)
        w->off[j] = pg_sum_error(k, length * w->lengths[j]);
}

/* A row of sums at a time. */
static ptxgen_status multiply(const pg_problem *p, const work *w, ptxgen_error *err)
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
                        .sums = w->sums,
                        .off = p->bounds ? w->off : NULL};
    for (int64_t j = 0; r.off && j < n; j++)
        w->lengths[j] = length_of(w->right + j * k, k);
    for (; r.first < p->symbol[PG_SCALED_M]; r.first++) {
        for (int64_t j = 0; j < n; j += COLUMNS)
            dot(w->left + r.first * k, w->right + j * k, k, w->sums + j);
        if (r.off)
            find_errors(p, w, r.first);
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
    const size_t columns = (size_t)right.rows + COLUMNS;
    size_t bytes;
    if (__builtin_mul_overflow(left_count + right_count + 3 * columns, sizeof(double), &bytes))
        return pg_fail_memory(err, SIZE_MAX);
    double *values = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!values)
        return pg_fail_memory(err, bytes);
    work w = {.left = values, .right = values + left_count};
    w.sums = w.right + right_count;
    w.off = w.sums + columns;
    w.lengths = w.off + columns;
    memset(w.right, 0, right_count * sizeof(double));
    decode(&left, w.left);
    decode(&right, w.right);
    const ptxgen_status status = multiply(p, &w, err);
    pg_free(&pg_alloc_libc, values, bytes);
    return status;
}
