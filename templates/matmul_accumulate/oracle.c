/* The plain C answer of matmul_accumulate: sums in double, K in order, one rounding. Some rows
 * at a time, so that B is decoded once for all of them, and so that D may be the C it is made
 * from. */
#include "matmul_accumulate/matmul_accumulate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"
#include "common/sum_error.h"

#include <math.h>
#include <string.h>

enum { ROWS = 16 };

/* Element [row, column] of one matrix. */
static double at_element(const pg_view *v, int64_t row, int64_t column)
{
    return pg_element(v, row * v->stride[0] + column * v->stride[1]);
}

/* Some rows of the answer, n numbers each, and a row of B. Of each sum what its error follows from
 * (common/sum_error.h): the sum of absolute values, or how far sum and signs went. All begin with
 * what C brings. */
typedef struct block {
    int64_t n;
    bool bounded, short_sums;
    double *sums, *b_row, *magnitude, *reach, *signs, *most_signs;
} block;

static size_t block_doubles(int64_t n, bool bounded)
{
    return (size_t)n * (bounded ? 5 * ROWS + 1 : ROWS + 1);
}

static block block_of(const pg_problem *p, double *memory)
{
    const ptxgen_dtype type = p->operand[PG_MATMUL_A].dtype;
    const int64_t n = p->symbol[PG_MATMUL_N], rows = ROWS * n;
    block b = {.n = n,
               .bounded = p->bounds != NULL,
               .short_sums = type == PTXGEN_E4M3 || type == PTXGEN_E5M2,
               .sums = memory,
               .b_row = memory + rows};
    if (!b.bounded)
        return b;
    b.magnitude = b.b_row + n;
    b.reach = b.magnitude + rows;
    b.signs = b.reach + rows;
    b.most_signs = b.signs + rows;
    return b;
}

static void begin(block *b, int64_t r, const pg_view *c, int64_t row, double ratio)
{
    for (int64_t j = 0; j < b->n; j++) {
        const int64_t at = r * b->n + j;
        b->sums[at] = c->present && ratio != 0 ? ratio * at_element(c, row, j) : 0;
        if (b->bounded) {
            b->magnitude[at] = b->reach[at] = fabs(b->sums[at]);
            b->signs[at] = b->most_signs[at] = 0;
        }
    }
}

/* x times the row of B. */
static void add_row(const block *b, int64_t r, double x)
{
    double *sums = b->sums + r * b->n;
    for (int64_t j = 0; j < b->n; j++)
        sums[j] += x * b->b_row[j];
}

static void watch_magnitude(const block *b, int64_t r, double x)
{
    double *magnitude = b->magnitude + r * b->n;
    for (int64_t j = 0; j < b->n; j++)
        magnitude[j] += fabs(x * b->b_row[j]);
}

/* After add_row. */
static void watch_way(const block *b, int64_t r, double x)
{
    const int64_t from = r * b->n;
    for (int64_t j = 0; j < b->n; j++) {
        const double product = x * b->b_row[j], sum = fabs(b->sums[from + j]);
        b->reach[from + j] = fmax(b->reach[from + j], sum);
        b->signs[from + j] += (product > 0) - (product < 0);
        b->most_signs[from + j] = fmax(b->most_signs[from + j], fabs(b->signs[from + j]));
    }
}

/* The sums of `rows` rows from `first` on += A @ B */
static void add_products(const pg_problem *p, int64_t first, int64_t rows, const block *s)
{
    const pg_view *a = &p->operand[PG_MATMUL_A], *b = &p->operand[PG_MATMUL_B];
    for (int64_t k = 0; k < p->symbol[PG_MATMUL_K]; k++) {
        for (int64_t j = 0; j < s->n; j++)
            s->b_row[j] = at_element(b, k, j);
        for (int64_t r = 0; r < rows; r++) {
            const double x = at_element(a, first + r, k);
            add_row(s, r, x);
            if (s->bounded)
                (s->short_sums ? watch_way : watch_magnitude)(s, r, x);
        }
    }
}

/* What each sum may be off by, in place of the magnitudes. */
static void find_errors(const pg_problem *p, const block *b, int64_t count)
{
    const int64_t k = pg_matmul_depth(p);
    const bool tf32 = p->operand[PG_MATMUL_A].dtype == PTXGEN_F32;
    for (int64_t i = 0; i < count; i++) {
        const double m = b->magnitude[i];
        b->magnitude[i] = b->short_sums && k ? pg_short_sum_error(k, b->reach[i], b->most_signs[i])
                                             : pg_sum_error(k, m) + (tf32 ? pg_tf32_error(m) : 0);
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
    const size_t bytes = block_doubles(n, p->bounds != NULL) * sizeof(double);
    double *memory = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!memory)
        return pg_fail_memory(err, bytes);
    block b = block_of(p, memory);
    ptxgen_status status = PTXGEN_OK;
    for (int64_t first = from; first < m && status == PTXGEN_OK; first += ROWS) {
        const int64_t rows = m - first < ROWS ? m - first : ROWS;
        for (int64_t r = 0; r < rows; r++)
            begin(&b, r, c, first + r, ratio);
        if (alpha != 0)
            add_products(p, first, rows, &b);
        if (b.bounded)
            find_errors(p, &b, rows * n);
        for (int64_t i = 0; i < rows * n; i++)
            b.sums[i] *= factor;
        for (int64_t i = 0; b.bounded && i < rows * n; i++)
            b.magnitude[i] *= fabs(factor);
        const pg_answer_rows done = {.problem = p,
                                     .first_operand = PG_MATMUL_STEPS,
                                     .d = PG_MATMUL_D,
                                     .steps = &steps,
                                     .n = n,
                                     .first = first,
                                     .rows = rows,
                                     .sums = b.sums,
                                     .off = b.magnitude};
        status = pg_epilogue_answer(&done, err);
    }
    pg_free(&pg_alloc_libc, memory, bytes);
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

/* Bounds of a result from one matrix of the batch to the next; 0: the same matrix for all. */
static int64_t bounds_of_matrix(const pg_problem *p, size_t operand)
{
    const pg_view *v = &p->operand[operand];
    return pg_matmul_batch_bytes(v) ? v->shape[PG_ROW] * v->shape[PG_COLUMN] : 0;
}

ptxgen_status pg_matmul_accumulate_oracle(const pg_problem *p, ptxgen_error *err)
{
    static const size_t batched[] = {PG_MATMUL_A, PG_MATMUL_B, PG_MATMUL_C, PG_MATMUL_D,
                                     PG_MATMUL_STEPS + PG_STEP_AUX};
    pg_problem one = *p;
    double *bounds[PG_MAX_OPERANDS] = {0};
    int64_t first = 0;
    if (p->bounds)
        one.bounds = memcpy(bounds, p->bounds, sizeof bounds);
    for (int64_t batch = 0; batch < p->symbol[PG_MATMUL_BATCH]; batch++) {
        for (size_t i = 0; i < sizeof batched / sizeof *batched; i++)
            if (p->operand[batched[i]].present)
                one.operand[batched[i]] = matrix_of(&p->operand[batched[i]], batch);
        for (size_t i = 0; p->bounds && i < sizeof batched / sizeof *batched; i++)
            if (p->bounds[batched[i]])
                bounds[batched[i]] =
                    p->bounds[batched[i]] + batch * bounds_of_matrix(p, batched[i]);
        const int64_t rows = rows_of_group(p, batch, first);
        PG_TRY(answer_rows(&one, first, first + rows, err));
        if (pg_matmul_rows_follow(p) && p->operand[PG_MATMUL_GROUP_ROWS].present)
            first += rows;
    }
    return PTXGEN_OK;
}
