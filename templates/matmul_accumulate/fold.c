/* Batches that are one product: A [batch, m, k] times one B is [batch * m, k] times B where rows
 * follow each other, and then tiles are full and B is read once for all. */
#include "matmul_accumulate/matmul_accumulate.h"

/* From row to row of all matrices; 0: they do not follow each other. */
static int64_t folded_stride(const pg_view *v)
{
    const int64_t rows = v->shape[PG_ROW], row = v->stride[PG_ROW], matrix = v->stride[PG_BATCH];
    if (v->transposed || matrix <= 0)
        return 0;
    if (rows == 1)
        return matrix;
    return row > 0 && matrix % rows == 0 && matrix / rows == row ? row : 0;
}

static const size_t with_rows[] = {PG_MATMUL_A, PG_MATMUL_C, PG_MATMUL_D,
                                   PG_MATMUL_STEPS + PG_STEP_AUX};
enum { WITH_ROWS = sizeof with_rows / sizeof *with_rows };

/* What the steps do depends on the row. */
static bool counts_rows(const pg_problem *p)
{
    const pg_matmul_accumulate_key *k = p->key;
    if (!k || k->steps.function || p->operand[PG_MATMUL_STEPS + PG_SIDE_ROW_SCALE].present)
        return true;
    for (int i = PG_SIDE_RESIDUAL; i < PG_SIDE_D_SCALE; i++) {
        const pg_view *v = &p->operand[PG_MATMUL_STEPS + (size_t)i];
        if (v->present && v->rank == 2 && v->stride[0] != 0)
            return true;
    }
    return false;
}

bool pg_matmul_is_one_product(const pg_problem *p)
{
    enum { MOST_ROWS = INT32_MAX - 4096 };
    const int64_t batch = p->symbol[PG_MATMUL_BATCH], m = p->symbol[PG_MATMUL_M];
    if (batch <= 1 || m < 1 || p->operand[PG_MATMUL_B].stride[PG_BATCH] != 0 ||
        p->operand[PG_MATMUL_GROUP_ROWS].present || batch > MOST_ROWS / m || counts_rows(p))
        return false;
    for (size_t i = 0; i < WITH_ROWS; i++) {
        const pg_view *v = &p->operand[with_rows[i]];
        if (v->present && !folded_stride(v))
            return false;
    }
    return true;
}

static void set_one(pg_view *v)
{
    v->shape[PG_BATCH] = 1;
    v->stride[PG_BATCH] = v->shape[PG_ROW] * v->shape[PG_COLUMN];
}

void pg_matmul_fold(pg_problem *p)
{
    const int64_t rows = p->symbol[PG_MATMUL_BATCH] * p->symbol[PG_MATMUL_M];
    for (size_t i = 0; i < WITH_ROWS; i++) {
        pg_view *v = &p->operand[with_rows[i]];
        if (!v->present)
            continue;
        v->stride[PG_ROW] = folded_stride(v);
        v->shape[PG_ROW] = rows;
        set_one(v);
    }
    for (int i = PG_SIDE_RESIDUAL; i < PG_SIDE_D_SCALE; i++) { /* the same for all rows */
        pg_view *v = &p->operand[PG_MATMUL_STEPS + (size_t)i];
        if (v->present && v->rank == 2)
            v->shape[0] = rows;
    }
    set_one(&p->operand[PG_MATMUL_B]);
    p->symbol[PG_MATMUL_M] = rows;
    p->symbol[PG_MATMUL_BATCH] = 1;
}
