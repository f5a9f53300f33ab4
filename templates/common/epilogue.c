/* The plain C answer of an epilogue: every step in double, one rounding; a user function gets and
 * gives floats, as in the kernel. */
#include "common/epilogue.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"
#include "common/small_floats.h"

#include <math.h>

static double side_at(const pg_answer_rows *r, int place, int64_t i, int64_t j, double otherwise)
{
    const pg_view *v = &r->problem->operand[r->first_operand + (size_t)place];
    if (!v->present)
        return otherwise;
    if (v->rank == 0)
        return pg_element(v, 0);
    if (v->rank == 1)
        return pg_element(v, (place == PG_SIDE_ROW_SCALE ? i : j) * v->stride[0]);
    return pg_element(v, i * v->stride[0] + j * v->stride[1]);
}

/* Up to the activation. */
static void add_inputs(const pg_answer_rows *r, int64_t i, double *z)
{
    const double alpha =
        r->steps->alpha ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_ALPHA) : 1;
    for (int64_t j = 0; j < r->n; j++) {
        z[j] *= alpha;
        z[j] *= side_at(r, PG_SIDE_ROW_SCALE, i, j, 1) * side_at(r, PG_SIDE_COL_SCALE, i, j, 1);
        z[j] += side_at(r, PG_SIDE_RESIDUAL, i, j, 0);
        z[j] += side_at(r, PG_SIDE_BIAS, i, j, 0);
    }
}

static void put_row(const pg_view *v, int64_t i, const double *z, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        pg_element_set(v, i * v->stride[0] + j * v->stride[1], z[j]);
}

static void activate(const pg_answer_rows *r, double *z)
{
    const pg_epilogue *e = r->steps;
    const bool clamps = e->activation == PG_ACTIVATION_CLAMP;
    const double low =
        clamps ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_LOW) : -HUGE_VAL;
    const double high =
        clamps ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_HIGH) : HUGE_VAL;
    for (int64_t j = 0; j < r->n; j += e->gate ? 2 : 1)
        z[j] = pg_activate(e->activation, z[j], low, high);
    for (int64_t j = 0; e->gate && !e->function && j < r->n / 2; j++)
        z[j] = z[2 * j] * z[2 * j + 1];
}

static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* The scale of a block whose largest element is `largest`, and its place in the packed scales
 * (common/epilogue.h). */
static double block_scale(const pg_epilogue *e, double largest)
{
    const double least = largest / (e->out == PTXGEN_E4M3 ? 448 : 6);
    int exponent;
    if (e->d_scales == PTXGEN_E4M3)
        return pg_e4m3_to_double(pg_e4m3_from_double(least));
    const double fraction = frexp(least, &exponent); /* 0.5 to 1, or 0 */
    if (least == 0)
        return 0x1p-127;
    return isfinite(least) ? ldexp(1, fraction == 0.5 ? exponent - 1 : exponent) : 0x1p127;
}

static int64_t packed_place(int64_t row, int64_t block, int64_t words)
{
    return (row / 128 * words + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

/* Divides a row of D by the scales of its blocks, which it stores. */
static void scale_blocks(const pg_answer_rows *r, int64_t i, double *z, int64_t columns)
{
    const pg_view *scales = &r->problem->operand[r->first_operand + PG_STEP_D_SCALES];
    const int64_t block = pg_epilogue_block(r->steps), words = (columns / block + 3) / 4;
    if (!scales->present)
        return;
    for (int64_t j = 0; j < columns; j += block) {
        double largest = 0;
        for (int64_t k = j; k < j + block; k++)
            largest = larger(largest, fabs(z[k]));
        const double scale = block_scale(r->steps, largest);
        pg_element_set(scales, packed_place(i, j / block, words), scale);
        for (int64_t k = j; k < j + block; k++)
            z[k] = scale == 0 ? 0 : z[k] / scale;
    }
}

static void clear_scales(const pg_answer_rows *r)
{
    const pg_view *scales = &r->problem->operand[r->first_operand + PG_STEP_D_SCALES];
    for (int64_t i = 0; scales->present && r->first == 0 && i < scales->shape[0]; i++)
        pg_element_set(scales, i, 0);
}

/* amax and D. */
static void finish_row(const pg_answer_rows *r, int64_t i, double *z)
{
    const pg_view *amax = &r->problem->operand[r->first_operand + PG_STEP_AMAX];
    const int64_t columns = r->steps->gate ? r->n / 2 : r->n;
    for (int64_t j = 0; j < columns; j++) {
        if (amax->present)
            pg_element_set(amax, 0, larger(pg_element(amax, 0), fabs(z[j])));
        z[j] *= side_at(r, PG_SIDE_D_SCALE, 0, 0, 1);
    }
    scale_blocks(r, i, z, columns);
    put_row(&r->problem->operand[r->d], i, z, columns);
}

/* ---- the user function ---- */

/* Floats of some rows for the function: values, its inputs, and what it gives. */
static ptxgen_status map_rows(const pg_answer_rows *r, float *values, ptxgen_error *err)
{
    const pg_epilogue *e = r->steps;
    const int inputs = e->gate ? 1 : pg_epilogue_inputs(e);
    const int64_t columns = e->gate ? r->n / 2 : r->n, count = columns * r->rows;
    pg_mapping m = {.rows = r->rows,
                    .n = columns,
                    .first_row = r->first,
                    .values = values,
                    .inputs = inputs,
                    .second = pg_epilogue_two_values(e) ? values : NULL};
    float *in[PG_SIDE_INPUTS] = {values + count, values + 2 * count, values + 3 * count,
                                 values + 4 * count};
    if (m.second)
        m.second = values + 5 * count;
    for (int k = 0; k < inputs; k++)
        m.in[k] = in[k];
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = i * columns + j;
            values[at] = (float)r->sums[i * r->n + (e->gate ? 2 * j : j)];
            for (int k = 0; k < inputs; k++)
                in[k][at] = (float)(e->gate ? r->sums[i * r->n + 2 * j + 1]
                                            : side_at(r, PG_SIDE_IN0 + k, r->first + i, j, 0));
        }
    PG_TRY(r->problem->map(r->problem->map_user, &m, err));
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < columns; j++)
            r->sums[i * r->n + j] = (double)values[i * columns + j];
    const pg_view *aux = &r->problem->operand[r->first_operand + PG_STEP_AUX];
    for (int64_t at = 0; m.second && at < count; at++)
        pg_element_set(aux,
                       (r->first + at / columns) * aux->stride[0] + at % columns * aux->stride[1],
                       (double)m.second[at]);
    return PTXGEN_OK;
}

static ptxgen_status apply_function(const pg_answer_rows *r, ptxgen_error *err)
{
    const size_t bytes = (size_t)(6 * r->rows * r->n) * sizeof(float);
    float *values = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!values)
        return pg_fail_memory(err, bytes);
    const ptxgen_status status = map_rows(r, values, err);
    pg_free(&pg_alloc_libc, values, bytes);
    return status;
}

ptxgen_status pg_epilogue_answer(const pg_answer_rows *r, ptxgen_error *err)
{
    const pg_view *aux = &r->problem->operand[r->first_operand + PG_STEP_AUX];
    clear_scales(r);
    for (int64_t i = 0; i < r->rows; i++) {
        double *z = r->sums + i * r->n;
        add_inputs(r, r->first + i, z);
        if (aux->present && !pg_epilogue_two_values(r->steps))
            put_row(aux, r->first + i, z, r->n);
        activate(r, z);
    }
    if (r->steps->function)
        PG_TRY(apply_function(r, err));
    for (int64_t i = 0; i < r->rows; i++)
        finish_row(r, r->first + i, r->sums + i * r->n);
    return PTXGEN_OK;
}
