/* ptxgen_call_check: a call's results against the plain C answer. */
#include "api/call.h"

#include "api/function_map.h"

#include "base/error.h"
#include "common/elements.h"
#include "generate/dtype.h"
#include "ptxgen/call.h"

#include <math.h>
#include <string.h>

/* One operand's worth of the comparison. */
typedef struct comparison {
    const pg_view *want, *got;
    const double *bound; /* by element; NULL: equal bits */
    ptxgen_call_verdict *verdict;
    double worst; /* error / bound so far; -1: none */
} comparison;

static bool same_bits(const pg_view *a, int64_t i, const pg_view *b, int64_t j)
{
    const size_t bytes = a->bits / 8;
    return memcmp((const char *)a->data + (size_t)i * bytes,
                  (const char *)b->data + (size_t)j * bytes, bytes) == 0;
}

/* Bits of a NaN that was computed (pg_element_set) mean nothing; those of a copied one do. */
static bool both_computed_nan(const pg_view *want, int64_t i, const pg_view *got, int64_t j)
{
    double storage = 0;
    const pg_view computed = {.data = &storage, .dtype = want->dtype, .bits = want->bits};
    if (want->bits < 8 || pg_dtype_find(want->dtype)->fraction < 0 || !isnan(pg_element(want, i)) ||
        !isnan(pg_element(got, j)))
        return false;
    pg_element_set(&computed, 0, (double)NAN);
    return same_bits(want, i, &computed, 0);
}

/* How far out an element is: 0 exact, up to 1 allowed, more wrong. A NaN is right where the
 * answer is one, an infinity where it is the same one; a bound that is infinite allows anything
 * else. */
static double judge(double got, double want, double bound)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (isinf(bound) && !isnan(want))
        return 0;
    const double error = fabs(got - want);
    return isfinite(error) && error <= bound ? error / bound : INFINITY;
}

static void compare_element(comparison *c, int64_t at, int64_t want_at, int64_t got_at)
{
    ptxgen_call_verdict *v = c->verdict;
    double share, error, bound = 0;
    const double want = pg_element(c->want, want_at), got = pg_element(c->got, got_at);
    error = got == want || (isnan(got) && isnan(want)) ? 0 : fabs(got - want);
    const bool whole_numbers = pg_dtype_find(c->want->dtype)->fraction < 0;
    if (!c->bound || whole_numbers) {
        const bool right = same_bits(c->want, want_at, c->got, got_at) ||
                           both_computed_nan(c->want, want_at, c->got, got_at);
        share = right ? 0 : INFINITY;
    } else {
        bound = c->bound[at];
        share = judge(got, want, bound);
    }
    v->elements++;
    v->wrong += share > 1;
    if (share <= c->worst)
        return;
    c->worst = share;
    v->worst_error = isnan(error) ? INFINITY : error;
    v->worst_bound = bound;
    v->worst_got = got;
    v->worst_want = want;
    const int64_t columns = c->want->rank ? c->want->shape[c->want->rank - 1] : 1;
    v->worst_row = at / columns;
    v->worst_column = at % columns;
}

/* Each element once: what all of a dimension share is one. */
static pg_view distinct(const pg_view *v)
{
    pg_view once = *v;
    for (int d = 0; d < once.rank; d++)
        if (once.stride[d] == 0)
            once.shape[d] = 1;
    return once;
}

static void compare(comparison *c)
{
    const pg_view w = distinct(c->want), *g = c->got;
    int64_t index[PG_MAX_RANK] = {0};
    const int64_t elements = pg_view_elements(&w);
    for (int64_t at = 0; at < elements; at++) {
        int64_t want_at = 0, got_at = 0;
        for (int d = 0; d < w.rank; d++) {
            want_at += index[d] * w.stride[d];
            got_at += index[d] * g->stride[d];
        }
        compare_element(c, at, want_at, got_at);
        for (int d = w.rank - 1; d >= 0 && ++index[d] == w.shape[d]; d--)
            index[d] = 0;
    }
}

static bool is_result(const pg_problem *p, size_t i)
{
    const pg_role role = p->table->rows[i].role;
    return p->operand[i].present && (role == PG_OUT || role == PG_INOUT);
}

static ptxgen_status reserve(pg_buf *b, size_t bytes, ptxgen_error *err)
{
    pg_buf_init(b, &pg_alloc_libc);
    if (!pg_buf_reserve(b, bytes))
        return pg_fail_memory(err, bytes);
    memset(b->data, 0, bytes);
    return PTXGEN_OK;
}

static void free_all(pg_buf *memory)
{
    for (size_t i = 0; i < PG_MAX_OPERANDS; i++)
        if (memory[i].alloc)
            pg_buf_fini(&memory[i]);
}

/* Results that are only written: dense memory of our own, whatever the caller's is. */
static ptxgen_status replace_outputs(pg_problem *p, pg_buf *copies, ptxgen_error *err)
{
    for (size_t i = 0; i < p->table->count; i++) {
        pg_view *v = &p->operand[i];
        if (!is_result(p, i) || p->table->rows[i].role != PG_OUT || pg_view_is_empty(v))
            continue;
        int64_t dense = 1;
        for (int d = v->rank - 1; d >= 0; d--) {
            if (pg_problem_has_rows_by(p, i) && v->stride[d] == 0)
                continue;
            v->stride[d] = dense;
            dense *= v->shape[d];
        }
        PG_TRY(reserve(&copies[i], (size_t)pg_view_span(v), err));
        v->data = copies[i].data;
    }
    return PTXGEN_OK;
}

/* Elements that no call writes are as they are. */
static void keep_elements(pg_problem *p, const pg_problem *after)
{
    for (size_t i = 0; i < p->table->count; i++) {
        const pg_view *to = &p->operand[i], *from = &after->operand[i];
        int64_t index[PG_MAX_RANK] = {0};
        if (!is_result(p, i) || pg_view_is_empty(to) || !pg_problem_has_rows_by(p, i))
            continue;
        const int64_t elements = pg_view_elements(to), bytes = to->bits / 8;
        for (int64_t n = 0; n < elements; n++) {
            int64_t to_at = 0, from_at = 0;
            for (int d = 0; d < to->rank; d++) {
                to_at += index[d] * to->stride[d];
                from_at += index[d] * from->stride[d];
            }
            memcpy((char *)to->data + to_at * bytes, (const char *)from->data + from_at * bytes,
                   (size_t)bytes);
            for (int d = to->rank - 1; d >= 0 && ++index[d] == to->shape[d]; d--)
                index[d] = 0;
        }
    }
}

/* Results that are read as well: copies, once their strides are known to be sound. */
static ptxgen_status copy_results(pg_problem *p, pg_buf *copies, ptxgen_error *err)
{
    for (size_t i = 0; i < p->table->count; i++) {
        pg_view *v = &p->operand[i];
        if (!is_result(p, i) || p->table->rows[i].role != PG_INOUT || pg_view_is_empty(v))
            continue;
        PG_TRY(reserve(&copies[i], (size_t)pg_view_span(v), err));
        v->data = memcpy(copies[i].data, v->data, (size_t)pg_view_span(v));
    }
    return PTXGEN_OK;
}

/* A bound for each element of each result. */
static ptxgen_status reserve_bounds(const pg_problem *p, pg_buf *memory, double **bounds,
                                    ptxgen_error *err)
{
    for (size_t i = 0; i < p->table->count; i++) {
        if (!is_result(p, i) || pg_view_is_empty(&p->operand[i]))
            continue;
        const pg_view once = distinct(&p->operand[i]);
        PG_TRY(reserve(&memory[i], (size_t)pg_view_elements(&once) * sizeof(double), err));
        bounds[i] = (double *)(void *)memory[i].data;
    }
    return PTXGEN_OK;
}

static ptxgen_status compare_results(const pg_problem *p, const pg_problem *after,
                                     ptxgen_call_verdict *v, ptxgen_error *err)
{
    PG_TRY(p->family->oracle(p, err));
    comparison c = {.verdict = v, .worst = -1};
    for (size_t i = 0; i < p->table->count; i++) {
        if (!is_result(p, i) || pg_view_is_empty(&p->operand[i]))
            continue;
        c.want = &p->operand[i];
        c.got = &after->operand[i];
        c.bound = p->bounds ? p->bounds[i] : NULL;
        compare(&c);
    }
    return PTXGEN_OK;
}

static ptxgen_status judge_results(pg_problem *p, const pg_problem *after, ptxgen_call_verdict *v,
                                   ptxgen_error *err)
{
    double *bounds[PG_MAX_OPERANDS] = {0};
    pg_buf memory[PG_MAX_OPERANDS] = {0};
    ptxgen_status status = PTXGEN_OK;
    v->by_element = p->family->inexact;
    if (v->by_element) {
        status = reserve_bounds(p, memory, bounds, err);
        p->bounds = bounds;
    }
    if (status == PTXGEN_OK)
        status = compare_results(p, after, v, err);
    p->bounds = NULL;
    free_all(memory);
    return status;
}

/* The results alone: of `after` nothing else is looked at. */
static ptxgen_status check_after(pg_call *after, ptxgen_error *err)
{
    pg_problem *p = &after->problem;
    PG_TRY(pg_call_check_shapes(after, err));
    p->given_count = 0;
    for (size_t i = 0; i < p->table->count; i++)
        if (is_result(p, i))
            p->given[p->given_count++] = (uint8_t)i;
    return pg_problem_check_memory(p, err);
}

static ptxgen_status judge_call(pg_call *before, pg_call *after, pg_buf *copies,
                                ptxgen_call_verdict *v, ptxgen_error *err)
{
    pg_problem *p = &before->problem;
    p->host = after->problem.host = true;
    PG_TRY(check_after(after, err));
    PG_TRY(pg_call_check_shapes(before, err));
    if (p->empty)
        return PTXGEN_OK;
    PG_TRY(replace_outputs(p, copies, err));
    keep_elements(p, &after->problem);
    PG_TRY(pg_call_check_memory(before, err));
    PG_TRY(copy_results(p, copies, err));
    return judge_results(p, &after->problem, v, err);
}

ptxgen_status ptxgen_call_check(const char *family, const char *params, const ptxgen_tensor *before,
                                const ptxgen_tensor *after, size_t count,
                                ptxgen_call_verdict *verdict, ptxgen_error *err)
{
    const pg_family *f;
    pg_call was, is;
    pg_buf copies[PG_MAX_OPERANDS] = {0};
    ptxgen_call_verdict v = {.size = verdict->size};
    if (verdict->size >= sizeof v)
        v.functions = verdict->functions;
    PG_TRY(pg_family_find(family, &f, err));
    PG_TRY(pg_call_take(&was, f, &(pg_request){params, before, count}, err));
    PG_TRY(pg_call_take(&is, f, &(pg_request){params, after, count}, err));
    pg_function_caller caller = {v.functions, f, was.id.key};
    if (v.functions && f->function && f->function->shape) {
        was.problem.map = pg_map_function;
        was.problem.map_user = &caller;
    }
    const ptxgen_status status = judge_call(&was, &is, copies, &v, err);
    free_all(copies);
    memcpy(verdict, &v, verdict->size < sizeof v ? verdict->size : sizeof v);
    return status;
}
