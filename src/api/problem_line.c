/* ptxgen_problem_params: a problem as text becomes operands without memory, and these a kernel. */
#include "api/call.h"

#include "base/error.h"
#include "generate/dtype.h"
#include "ptxgen/kernel.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 1024 };
#define NOT_GIVEN INT64_MIN

/* A line, sorted into what its words are. */
typedef struct line {
    const pg_family *family;
    int64_t symbol[PG_MAX_SYMBOLS]; /* NOT_GIVEN */
    bool has_extents;               /* one that is no parameter */
    ptxgen_dtype dtype[PG_MAX_OPERANDS];
    char params[TEXT_MAX]; /* the other words */
} line;

static size_t find_symbol(const pg_operand_table *t, pg_str name)
{
    size_t i = 0;
    while (i < t->symbol_count && !pg_str_is(name, t->symbols[i].name))
        i++;
    return i;
}

static size_t find_operand(const pg_operand_table *t, pg_str name)
{
    size_t i = 0;
    while (i < t->count && !pg_str_is(name, t->rows[i].name))
        i++;
    return i;
}

static bool is_param(const pg_family *f, pg_str name)
{
    for (size_t i = 0; i < f->params.count; i++)
        if (pg_str_is(name, f->params.rows[i].name))
            return true;
    return false;
}

static ptxgen_dtype find_dtype(const pg_operand *o, pg_str word)
{
    for (size_t i = 0; o->dtypes[i]; i++)
        if (pg_str_is(word, pg_dtype_word(o->dtypes[i])))
            return o->dtypes[i];
    return PTXGEN_DTYPE_NONE;
}

/* An extent or an element type; false: a parameter. "n=dynamic" is one, for n is both. */
static bool take_word(line *l, pg_str name, pg_str value)
{
    const pg_operand_table *t = &l->family->operands;
    const size_t s = find_symbol(t, name), o = find_operand(t, name);
    int64_t number;
    if (s < t->symbol_count && pg_str_i64(value, &number)) {
        l->symbol[s] = number;
        l->has_extents = l->has_extents || !is_param(l->family, name);
        return true;
    }
    const ptxgen_dtype dtype = o < t->count ? find_dtype(&t->rows[o], value) : PTXGEN_DTYPE_NONE;
    if (dtype)
        l->dtype[o] = dtype;
    return dtype != PTXGEN_DTYPE_NONE;
}

/* An extent is given once, and one that is no parameter as well is a number. */
static ptxgen_status check_extent(const line *l, pg_str name, pg_str value, ptxgen_error *err)
{
    const pg_operand_table *t = &l->family->operands;
    const size_t s = find_symbol(t, name);
    int64_t number;
    if (s >= t->symbol_count)
        return PTXGEN_OK;
    if (l->symbol[s] != NOT_GIVEN)
        return pg_fail(err, PTXGEN_EINVAL, "%s is given twice: keep one", t->symbols[s].name);
    if (!is_param(l->family, name) && !pg_str_i64(value, &number))
        return pg_fail(err, PTXGEN_EINVAL, "%s=%.*s: an extent is a whole number",
                       t->symbols[s].name, (int)(value.n < 60 ? value.n : 60), value.p);
    return PTXGEN_OK;
}

static ptxgen_status read_line(line *l, const char *text, ptxgen_error *err)
{
    size_t used = 0;
    pg_str rest = pg_str_of(text);
    for (size_t i = 0; i < PG_MAX_SYMBOLS; i++)
        l->symbol[i] = NOT_GIVEN;
    for (pg_str word; (word = pg_str_word(&rest)).n;) {
        const char *equals = memchr(word.p, '=', word.n);
        const size_t n = equals ? (size_t)(equals - word.p) : word.n;
        const pg_str name = {word.p, n}, value = {word.p + n + 1, equals ? word.n - n - 1 : 0};
        if (equals)
            PG_TRY(check_extent(l, name, value, err));
        if (equals && take_word(l, name, value))
            continue;
        if (used + word.n + 2 > sizeof l->params)
            return pg_fail(err, PTXGEN_EINVAL, "more than %d bytes of parameters", TEXT_MAX - 1);
        if (used)
            l->params[used++] = ' ';
        memcpy(l->params + used, word.p, word.n);
        used += word.n;
    }
    l->params[used] = 0;
    return PTXGEN_OK;
}

/* ---- operands without memory ---- */

/* What a parameter says of an operand's type, given or by default. */
static ptxgen_dtype dtype_by_params(const pg_call *c, size_t operand)
{
    const pg_family *f = c->id.family;
    for (size_t i = 0; i < f->params.count; i++) {
        const pg_param *p = &f->params.rows[i];
        if (p->from == PG_FROM_DTYPE && p->source == operand)
            return f->operands.rows[operand].dtypes[c->id.key[p->offset / sizeof(int64_t)]];
    }
    return PTXGEN_DTYPE_NONE;
}

static ptxgen_dtype dtype_of(const line *l, const pg_call *c, size_t i)
{
    const pg_operand *o = &l->family->operands.rows[i];
    if (l->dtype[i])
        return l->dtype[i];
    if (o->same_dtype_as)
        return c->problem.operand[o->same_dtype_as - 1].dtype;
    const ptxgen_dtype said = dtype_by_params(c, i);
    return said ? said : o->dtypes[0];
}

static bool is_there(const line *l, size_t i)
{
    const pg_operand *o = &l->family->operands.rows[i];
    return o->role != PG_WORKSPACE && o->role != PG_SCALAR && (!o->optional || l->dtype[i]);
}

static ptxgen_status extent_of(line *l, pg_call *c, uint8_t symbol, int64_t *out, ptxgen_error *err)
{
    const pg_symbol *s = &l->family->operands.symbols[symbol];
    if (l->symbol[symbol] == NOT_GIVEN && s->equals && !is_there(l, s->unless - 1))
        l->symbol[symbol] = l->symbol[s->equals - 1];
    if (l->symbol[symbol] == NOT_GIVEN && s->least) { /* as many as the others need */
        memcpy(c->problem.symbol, l->symbol, sizeof l->symbol);
        l->symbol[symbol] = s->least(&c->problem);
    }
    if (l->symbol[symbol] == NOT_GIVEN)
        return pg_fail(err, PTXGEN_EINVAL, "a problem of %s needs %s=: %s", l->family->name,
                       s->name, s->doc);
    *out = l->symbol[symbol];
    if (*out < s->min || *out > s->max)
        return pg_fail(err, PTXGEN_EINVAL, "%s=%lld: %s are from %lld to %lld", s->name,
                       (long long)*out, s->doc, (long long)s->min, (long long)s->max);
    return PTXGEN_OK;
}

static ptxgen_status fill_view(line *l, pg_call *c, size_t i, ptxgen_error *err)
{
    const pg_operand *o = &l->family->operands.rows[i];
    pg_view *v = &c->problem.operand[i];
    *v = (pg_view){.dtype = dtype_of(l, c, i), .present = true, .rank = o->rank};
    v->bits = (uint8_t)pg_dtype_bits(v->dtype);
    int64_t stride = 1;
    for (int d = o->rank - 1; d >= 0; d--) {
        if (d < o->leading && l->symbol[o->extents[d]] == NOT_GIVEN)
            l->symbol[o->extents[d]] = 1;
        PG_TRY(extent_of(l, c, o->extents[d], &v->shape[d], err));
        v->stride[d] = stride;
        if (__builtin_mul_overflow(stride, v->shape[d] ? v->shape[d] : 1, &stride))
            return pg_fail(err, PTXGEN_EINVAL, "%s has more elements than 64 bits count", o->name);
    }
    return PTXGEN_OK;
}

/* Transposed where a parameter says so ("b=transposed"): the table's hook reads it off the view. */
static void lay_out(const line *l, pg_call *c, size_t i)
{
    const pg_operand *o = &l->family->operands.rows[i];
    pg_view *v = &c->problem.operand[i];
    char wanted[80];
    snprintf(wanted, sizeof wanted, "%s=transposed", o->name);
    const char *at = strstr(l->params, wanted);
    if (o->inner != PG_INNER_EITHER || o->rank < 2 || !at || (at > l->params && at[-1] != ' '))
        return;
    v->transposed = true;
    v->stride[o->rank - 1] = v->shape[o->rank - 2];
    v->stride[o->rank - 2] = 1;
}

static ptxgen_status fill_call(line *l, pg_call *c, ptxgen_error *err)
{
    pg_call_init(c, l->family);
    pg_params_default(&l->family->params, c->id.key, l->family->default_arch);
    PG_TRY(pg_call_parse(c, l->params, err));
    for (size_t i = 0; i < l->family->operands.count; i++)
        if (is_there(l, i)) {
            PG_TRY(fill_view(l, c, i, err));
            lay_out(l, c, i);
        }
    return PTXGEN_OK;
}

ptxgen_status ptxgen_problem_params(ptxgen *ctx, const char *family, const char *text, char *out,
                                    size_t size, ptxgen_error *err)
{
    line l = {0};
    pg_call c;
    text = text ? text : "";
    PG_TRY(pg_family_find(family, &l.family, err));
    PG_TRY(read_line(&l, text, err));
    if (!l.has_extents)
        return ptxgen_canonical(l.family->name, text, out, size, err);
    PG_TRY(fill_call(&l, &c, err));
    return pg_call_params(&c, ctx, out, size, err);
}
