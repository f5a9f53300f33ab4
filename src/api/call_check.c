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
    const double *bound; /* by element, or NULL */
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
 * answer is one, an infinity where it is the same one; a bound of its own that is infinite
 * allows anything else. */
static double judge(double got, double want, double bound, bool own_bound)
{
    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (own_bound && isinf(bound) && !isnan(want))
        return 0;
    const double error = fabs(got - want);
    return isfinite(error) && error <= bound ? error / bound : INFINITY;
}

static void compare_element(comparison *c, int64_t at, int64_t want_at, int64_t got_at)
{
    ptxgen_call_verdict *v = c->verdict;
    const bool exact = !c->bound && v->atol == 0 && v->rtol == 0;
    double share, error, bound = 0;
    const double want = pg_element(c->want, want_at), got = pg_element(c->got, got_at);
    error = got == want || (isnan(got) && isnan(want)) ? 0 : fabs(got - want);
    if (exact) {
        const bool right = same_bits(c->want, want_at, c->got, got_at) ||
                           both_computed_nan(c->want, want_at, c->got, got_at);
        share = right ? 0 : INFINITY;
    } else {
        bound = c->bound ? c->bound[at] : v->atol + v->rtol * fabs(want);
        share = judge(got, want, bound, c->bound != NULL);
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

static void compare(comparison *c)
{
    const pg_view *w = c->want, *g = c->got;
    int64_t index[PG_MAX_RANK] = {0};
    const int64_t elements = pg_view_elements(w);
    for (int64_t at = 0; at < elements; at++) {
        int64_t want_at = 0, got_at = 0;
        for (int d = 0; d < w->rank; d++) {
            want_at += index[d] * w->stride[d];
            got_at += index[d] * g->stride[d];
        }
        compare_element(c, at, want_at, got_at);
        for (int d = w->rank - 1; d >= 0 && ++index[d] == w->shape[d]; d--)
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

/* Bounds of the first result, when the family gives one for each element. */
static ptxgen_status get_bounds(const pg_problem *p, const pg_tolerance *t, double **bounds,
                                size_t *bytes, ptxgen_error *err)
{
    size_t i = 0;
    while (!is_result(p, i))
        i++;
    *bounds = NULL;
    if (!t->bounds)
        return PTXGEN_OK;
    *bytes = (size_t)pg_view_elements(&p->operand[i]) * sizeof **bounds;
    *bounds = pg_alloc_zero(&pg_alloc_libc, *bytes);
    return *bounds ? t->bounds(p, *bounds, err) : pg_fail_memory(err, *bytes);
}

static ptxgen_status judge_results(const pg_problem *p, const pg_problem *after,
                                   ptxgen_call_verdict *v, ptxgen_error *err)
{
    pg_tolerance t = {0};
    double *bounds;
    size_t bytes = 0;
    if (p->family->tolerance)
        p->family->tolerance(p, &t);
    v->atol = t.atol;
    v->rtol = t.rtol;
    v->by_element = t.bounds != NULL;
    ptxgen_status status = get_bounds(p, &t, &bounds, &bytes, err);
    if (status == PTXGEN_OK)
        status = p->family->oracle(p, err);
    comparison c = {.bound = bounds, .verdict = v, .worst = -1};
    for (size_t i = 0; i < p->table->count && status == PTXGEN_OK; i++) {
        if (!is_result(p, i) || pg_view_is_empty(&p->operand[i]))
            continue;
        c.want = &p->operand[i];
        c.got = &after->operand[i];
        compare(&c);
        c.bound = NULL;
    }
    if (bounds)
        pg_free(&pg_alloc_libc, bounds, bytes);
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
    for (size_t i = 0; i < PG_MAX_OPERANDS; i++)
        if (copies[i].alloc)
            pg_buf_fini(&copies[i]);
    memcpy(verdict, &v, verdict->size < sizeof v ? verdict->size : sizeof v);
    return status;
}
