/* The plain C answer of matmul_accumulate: sums in double, K in order, one rounding. Some rows
 * at a time, so that B is decoded once for all of them, and so that D may be the C it is made
 * from. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"

#include <math.h>

enum { ROWS = 16 };

/* Element [row, column] of one matrix. */
static double at(const pg_view *v, int64_t row, int64_t column)
{
    return pg_element(v, row * v->stride[0] + column * v->stride[1]);
}

/* sums[r][j] += A[first + r, :] @ B[:, j] */
static void add_products(const pg_problem *p, int64_t first, int64_t rows, double *sums)
{
    const pg_view *a = &p->operand[PG_MATMUL_A], *b = &p->operand[PG_MATMUL_B];
    const int64_t n = p->symbol[PG_MATMUL_N];
    double *b_row = sums + ROWS * n;
    for (int64_t k = 0; k < p->symbol[PG_MATMUL_K]; k++) {
        for (int64_t j = 0; j < n; j++)
            b_row[j] = at(b, k, j);
        for (int64_t r = 0; r < rows; r++) {
            const double x = at(a, first + r, k);
            for (int64_t j = 0; j < n; j++)
                sums[r * n + j] += x * b_row[j];
        }
    }
}

/* Rows `from` to `m` - 1 of the result; views of rank 2. */
static ptxgen_status answer_rows(const pg_problem *p, int64_t from, int64_t m, ptxgen_error *err)
{
    const pg_view *c = &p->operand[PG_MATMUL_C], *d = &p->operand[PG_MATMUL_D];
    const int64_t n = p->symbol[PG_MATMUL_N];
    const pg_matmul_accumulate_key *key = p->key;
    const pg_epilogue steps = pg_epilogue_of(&key->steps, d->dtype);
    const double alpha = (double)pg_matmul_alpha(p), beta = (double)pg_matmul_beta(p);
    const double factor = alpha != 0 ? alpha : 1, ratio = beta / factor;
    const size_t bytes = (size_t)n * (ROWS + 1) * sizeof(double);
    double *sums = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!sums)
        return pg_fail_memory(err, bytes);
    ptxgen_status status = PTXGEN_OK;
    for (int64_t first = from; first < m && status == PTXGEN_OK; first += ROWS) {
        const int64_t rows = m - first < ROWS ? m - first : ROWS;
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < n; j++)
                sums[r * n + j] = c->present && ratio != 0 ? ratio * at(c, first + r, j) : 0;
        if (alpha != 0)
            add_products(p, first, rows, sums);
        for (int64_t i = 0; i < rows * n; i++)
            sums[i] *= factor;
        const pg_answer_rows done = {.problem = p,
                                     .first_operand = PG_MATMUL_STEPS,
                                     .d = PG_MATMUL_D,
                                     .steps = &steps,
                                     .n = n,
                                     .first = first,
                                     .rows = rows,
                                     .sums = sums};
        status = pg_epilogue_answer(&done, err);
    }
    pg_free(&pg_alloc_libc, sums, bytes);
    return status;
}

/* One matrix of the batch. */
static pg_view matrix_of(const pg_view *v, int64_t batch)
{
    pg_view one = *v;
    one.data = (char *)v->data + batch * pg_matmul_batch_bytes(v);
    one.rank = PG_MATMUL_RANK - 1;
    for (int d = 0; d < one.rank; d++) {
        one.shape[d] = v->shape[d + 1];
        one.stride[d] = v->stride[d + 1];
    }
    return one;
}

/* As many as there are, from row `first` on. */
static int64_t rows_of_group(const pg_problem *p, int64_t group, int64_t first)
{
    const pg_view *v = &p->operand[PG_MATMUL_GROUP_ROWS];
    const int64_t most = p->symbol[PG_MATMUL_M] - first;
    if (!v->present)
        return most;
    const int64_t rows = v->dtype == PTXGEN_S64 ? ((const int64_t *)v->data)[group]
                                                : ((const int32_t *)v->data)[group];
    return rows < 0 ? 0 : rows < most ? rows : most;
}

ptxgen_status pg_matmul_accumulate_oracle(const pg_problem *p, ptxgen_error *err)
{
    static const size_t batched[] = {PG_MATMUL_A, PG_MATMUL_B, PG_MATMUL_C, PG_MATMUL_D,
                                     PG_MATMUL_STEPS + PG_STEP_AUX};
    pg_problem one = *p;
    int64_t first = 0;
    for (int64_t batch = 0; batch < p->symbol[PG_MATMUL_BATCH]; batch++) {
        for (size_t i = 0; i < sizeof batched / sizeof *batched; i++)
            if (p->operand[batched[i]].present)
                one.operand[batched[i]] = matrix_of(&p->operand[batched[i]], batch);
        const int64_t rows = rows_of_group(p, batch, first);
        PG_TRY(answer_rows(&one, first, first + rows, err));
        if (pg_matmul_rows_follow(p) && p->operand[PG_MATMUL_GROUP_ROWS].present)
            first += rows;
    }
    return PTXGEN_OK;
}

/* The largest finite magnitude; 1 of an operand that is left out. */
static double largest(const pg_problem *p, size_t operand)
{
    const pg_view *v = &p->operand[operand];
    double most = 0;
    if (!v->present)
        return 1;
    if (v->rank == 0)
        return fabs(pg_element(v, 0));
    int64_t index[PG_MAX_RANK] = {0};
    const int64_t count = pg_view_elements(v);
    for (int64_t n = 0; n < count; n++) {
        int64_t place = 0;
        for (int d = 0; d < v->rank; d++)
            place += index[d] * v->stride[d];
        const double x = fabs(pg_element(v, place));
        most = x > most && x < HUGE_VAL ? x : most;
        for (int d = v->rank - 1; d >= 0 && ++index[d] == v->shape[d]; d--)
            index[d] = 0;
    }
    return most;
}

double pg_matmul_inexact(const pg_problem *p)
{
    const ptxgen_dtype type = p->operand[PG_MATMUL_A].dtype;
    const pg_matmul_accumulate_key *k = p->key;
    if ((type == PTXGEN_F16 || type == PTXGEN_BF16) || !pg_matmul_depth(p))
        return 0;
    const double products = fabs((double)pg_matmul_alpha(p)) * (double)p->symbol[PG_MATMUL_K] *
                            largest(p, PG_MATMUL_A) * largest(p, PG_MATMUL_B);
    double off = products * (type == PTXGEN_F32 ? 0x1p-9 : 0x1p-12);
    off *= largest(p, PG_MATMUL_STEPS + PG_STEP_SIDE + PG_SIDE_ROW_SCALE) *
           largest(p, PG_MATMUL_STEPS + PG_STEP_SIDE + PG_SIDE_COL_SCALE) *
           largest(p, PG_MATMUL_STEPS + PG_STEP_SIDE + PG_SIDE_D_SCALE);
    /* What squares or multiplies a result with another multiplies its error too. */
    return k->steps.activation == PG_ACTIVATION_SQUARED_RELU || k->steps.gate
               ? off * 4 * products + off
               : 2 * off;
}
