/* The plain C answer of an epilogue: every step in double, one rounding; a user function gets and
 * gives floats, as in the kernel.
 *
 * Bounds: steps up to the activation are linear, so what a sum may be off by goes through them as
 * the sum does, and each adds its own rounding. From there on the steps are done again with the
 * sums, and the activation's formula, as far off as they may be, up or down; the farthest result
 * counts. */
#include "common/epilogue.h"

#include "base/alloc.h"
#include "base/error.h"
#include "common/elements.h"
#include "common/small_floats.h"

#include <math.h>
#include <string.h>

/* A few roundings in f32, of the largest number. */
#define FEW_STEPS 0x1p-21

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

/* Where infinities took part nothing is known. */
static double known(double off)
{
    return isnan(off) ? INFINITY : off;
}

/* Infinities and NaN are not rounded. */
static double rounding(double step, double largest)
{
    return isfinite(largest) ? step * largest : 0;
}

/* Up to the activation; and what each of its inputs may be off by. */
static void add_inputs(const pg_answer_rows *r, int64_t i, double *z, double *off)
{
    const double alpha =
        r->steps->alpha ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_ALPHA) : 1;
    for (int64_t j = 0; j < r->n; j++) {
        const double factor = alpha * (side_at(r, PG_SIDE_ROW_SCALE, i, j, 1) *
                                       side_at(r, PG_SIDE_COL_SCALE, i, j, 1));
        const double residual = side_at(r, PG_SIDE_RESIDUAL, i, j, 0);
        const double bias = side_at(r, PG_SIDE_BIAS, i, j, 0);
        const double largest = fabs(factor * z[j]) + fabs(residual) + fabs(bias);
        if (off)
            off[j] = fabs(factor) * off[j] + rounding(FEW_STEPS, largest);
        z[j] = z[j] * factor + residual + bias;
    }
}

/* The least number above 0 of a type, which may be missed where numbers are that small. */
static double least_of(ptxgen_dtype dtype)
{
    switch (dtype) {
    case PTXGEN_F16:
        return 0x1p-24;
    case PTXGEN_E4M3:
        return 0x1p-9;
    case PTXGEN_E5M2:
        return 0x1p-16;
    case PTXGEN_E2M1:
        return 0.5;
    default:
        return 0x1p-126; /* subnormals are flushed */
    }
}

/* n numbers of row i of a result, and what they may be off by before rounding (NULL: no bounds). */
typedef struct result_row {
    int64_t i, n;
    const double *z, *off;
} result_row;

/* A value beside the middle of two numbers may become either. */
static void put_row(const pg_problem *p, size_t operand, const result_row *r)
{
    const pg_view *v = &p->operand[operand];
    const double step = pg_dtype_step(v->dtype), least = least_of(v->dtype);
    for (int64_t j = 0; j < r->n; j++) {
        pg_element_set(v, r->i * v->stride[0] + j * v->stride[1], r->z[j]);
        if (r->off)
            p->bounds[operand][r->i * r->n + j] =
                known(r->off[j] + rounding(step, fabs(r->z[j])) + least);
    }
}

/* What an activation's formula in f32 may be off by, absolute and relative (activation.h). */
static double formula_error(pg_activation activation, double y)
{
    const bool exact = activation == PG_ACTIVATION_NONE || activation == PG_ACTIVATION_RELU ||
                       activation == PG_ACTIVATION_CLAMP;
    return exact ? 0 : rounding(4 * FEW_STEPS, 1 + fabs(y));
}

/* The formula is right (side 0), or off by all that it may be, up (1) or down (-1). */
static void activate(const pg_answer_rows *r, double *z, int side)
{
    const pg_epilogue *e = r->steps;
    const bool clamps = e->activation == PG_ACTIVATION_CLAMP;
    const double low =
        clamps ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_LOW) : -HUGE_VAL;
    const double high =
        clamps ? pg_problem_scalar(r->problem, r->first_operand + PG_STEP_HIGH) : HUGE_VAL;
    for (int64_t j = 0; j < r->n; j += e->gate ? 2 : 1) {
        z[j] = pg_activate(e->activation, z[j], low, high);
        z[j] += side * formula_error(e->activation, z[j]);
    }
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

/* Divides a row of D, and what it may be off by, by the scales of its blocks, which it stores. */
static void scale_blocks(const pg_answer_rows *r, int64_t i, double *z, double *off,
                         int64_t columns)
{
    const size_t operand = r->first_operand + PG_STEP_D_SCALES;
    const pg_view *scales = &r->problem->operand[operand];
    const int64_t block = pg_epilogue_block(r->steps), words = (columns / block + 3) / 4;
    if (!scales->present)
        return;
    for (int64_t j = 0; j < columns; j += block) {
        double largest = 0;
        for (int64_t k = j; k < j + block; k++)
            largest = larger(largest, fabs(z[k]));
        const double scale = block_scale(r->steps, largest);
        const int64_t place = packed_place(i, j / block, words);
        pg_element_set(scales, place, scale);
        if (off)
            r->problem->bounds[operand][place] = pg_dtype_step(scales->dtype) * scale;
        for (int64_t k = j; k < j + block; k++) {
            z[k] = scale == 0 ? 0 : z[k] / scale;
            if (off)
                off[k] = scale == 0 ? 0 : off[k] / scale;
        }
    }
}

static void clear_scales(const pg_answer_rows *r)
{
    const pg_view *scales = &r->problem->operand[r->first_operand + PG_STEP_D_SCALES];
    for (int64_t i = 0; scales->present && r->first == 0 && i < scales->shape[0]; i++)
        pg_element_set(scales, i, 0);
}

/* amax and D. */
static void finish_row(const pg_answer_rows *r, int64_t i, double *z, double *off)
{
    const size_t largest = r->first_operand + PG_STEP_AMAX;
    const pg_view *amax = &r->problem->operand[largest];
    const int64_t columns = r->steps->gate ? r->n / 2 : r->n;
    const double d_scale = side_at(r, PG_SIDE_D_SCALE, 0, 0, 1);
    for (int64_t j = 0; j < columns; j++) {
        if (amax->present)
            pg_element_set(amax, 0, larger(pg_element(amax, 0), fabs(z[j])));
        if (amax->present && off)
            *r->problem->bounds[largest] = larger(*r->problem->bounds[largest], off[j]);
        z[j] *= d_scale;
        if (off)
            off[j] *= fabs(d_scale);
    }
    scale_blocks(r, i, z, off, columns);
    put_row(r->problem, r->d, &(result_row){i, columns, z, off});
}

/* ---- the user function ---- */

/* Floats of some rows for the function: values, its inputs, and what it gives, its second values
 * to `second`. */
static ptxgen_status map_rows(const pg_answer_rows *r, float *values, double *second,
                              ptxgen_error *err)
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
    for (int64_t at = 0; at < count; at++) {
        const int64_t to = at / columns * r->n + at % columns;
        r->sums[to] = (double)values[at];
        if (m.second)
            second[to] = (double)m.second[at];
    }
    return PTXGEN_OK;
}

static ptxgen_status apply_function(const pg_answer_rows *r, double *second, ptxgen_error *err)
{
    const size_t bytes = (size_t)(6 * r->rows * r->n) * sizeof(float);
    float *values = pg_alloc_libc.realloc(NULL, NULL, 0, bytes);
    if (!values)
        return pg_fail_memory(err, bytes);
    const ptxgen_status status = map_rows(r, values, second, err);
    pg_free(&pg_alloc_libc, values, bytes);
    return status;
}

/* ---- from the activation on ---- */

/* The sums become D before its scales, `second` the second values of a function. */
static ptxgen_status transform(const pg_answer_rows *r, int side, double *second, ptxgen_error *err)
{
    for (int64_t i = 0; i < r->rows; i++)
        activate(r, r->sums + i * r->n, side);
    return r->steps->function ? apply_function(r, second, err) : PTXGEN_OK;
}

/* Raises how far apart two results were found. */
static void widen(double *off, const double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double apart = a[i] == b[i] ? 0 : fabs(a[i] - b[i]);
        off[i] = larger(off[i], apart);
    }
}

/* Arrays of rows * n. */
typedef struct spread {
    double *begun, *moved, *moved_second; /* sums, and what one way makes of them */
    double *second, *second_off;          /* second values */
    double *off;
} spread;
enum { SPREAD_ARRAYS = sizeof(spread) / sizeof(double *) };

/* One way to be off: elements of even and of odd place, and the formula; 1: up, -1: down. */
typedef struct way {
    int even, odd, formula;
} way;
/* Without pairs those that move all elements alike are all there are. */
static const way ways[] = {{1, 1, 1},  {1, 1, -1},  {-1, -1, 1}, {-1, -1, -1},
                           {1, -1, 1}, {1, -1, -1}, {-1, 1, 1},  {-1, 1, -1}};
enum { WAYS_ALIKE = 4, WAYS = sizeof ways / sizeof *ways };

static ptxgen_status move(const pg_answer_rows *r, const spread *s, way w, ptxgen_error *err)
{
    const int64_t count = r->rows * r->n;
    pg_answer_rows moved = *r;
    moved.sums = s->moved;
    for (int64_t i = 0; i < count; i++)
        s->moved[i] = s->begun[i] + (i % r->n % 2 ? w.odd : w.even) * r->off[i];
    PG_TRY(transform(&moved, w.formula, s->moved_second, err));
    widen(s->off, s->moved, r->sums, count);
    if (pg_epilogue_two_values(r->steps))
        widen(s->second_off, s->moved_second, s->second, count);
    return PTXGEN_OK;
}

/* r->sums become D before its scales, r->off what that may be off by. */
static ptxgen_status transform_bounded(const pg_answer_rows *r, const spread *s, ptxgen_error *err)
{
    const int64_t count = r->rows * r->n;
    memcpy(s->begun, r->sums, (size_t)count * sizeof *s->begun);
    PG_TRY(transform(r, 0, s->second, err));
    for (int w = 0; r->off && w < (r->steps->gate ? WAYS : WAYS_ALIKE); w++)
        PG_TRY(move(r, s, ways[w], err));
    for (int64_t i = 0; r->off && i < count; i++)
        r->off[i] = known(s->off[i] + rounding(FEW_STEPS, fabs(r->sums[i])));
    return PTXGEN_OK;
}

static void put_aux(const pg_answer_rows *r, int64_t i, const double *z, const double *off)
{
    const bool half = r->steps->gate && pg_epilogue_two_values(r->steps);
    put_row(r->problem, r->first_operand + PG_STEP_AUX,
            &(result_row){r->first + i, half ? r->n / 2 : r->n, z, r->off ? off : NULL});
}

static ptxgen_status answer(const pg_answer_rows *r, const spread *s, ptxgen_error *err)
{
    const bool aux = r->problem->operand[r->first_operand + PG_STEP_AUX].present;
    const bool two = pg_epilogue_two_values(r->steps);
    clear_scales(r);
    for (int64_t i = 0; i < r->rows; i++) {
        double *z = r->sums + i * r->n, *off = r->off ? r->off + i * r->n : NULL;
        add_inputs(r, r->first + i, z, off);
        if (aux && !two)
            put_aux(r, i, z, off);
    }
    PG_TRY(transform_bounded(r, s, err));
    for (int64_t i = 0; i < r->rows; i++) {
        if (aux && two)
            put_aux(r, i, s->second + i * r->n, s->second_off + i * r->n);
        finish_row(r, r->first + i, r->sums + i * r->n, r->off ? r->off + i * r->n : NULL);
    }
    return PTXGEN_OK;
}

ptxgen_status pg_epilogue_answer(const pg_answer_rows *r, ptxgen_error *err)
{
    const size_t count = (size_t)(r->rows * r->n), bytes = SPREAD_ARRAYS * count * sizeof(double);
    double *memory = pg_alloc_zero(&pg_alloc_libc, bytes);
    if (!memory)
        return pg_fail_memory(err, bytes);
    const spread s = {memory,
                      memory + count,
                      memory + 2 * count,
                      memory + 3 * count,
                      memory + 4 * count,
                      memory + 5 * count};
    const ptxgen_status status = answer(r, &s, err);
    pg_free(&pg_alloc_libc, memory, bytes);
    return status;
}
