/* Element types, extents and symbols of a problem: what can be judged without looking at memory. */
#include "generate/dtype.h"
#include "generate/family.h"
#include "generate/operands/problem.h"

#include <stdio.h>

enum { UNKNOWN = -1, MOST_WORDS = 160, MOST_DTYPES = 32 };

/* "f32, f16 or bf16" */
static const char *list_dtypes(const ptxgen_dtype *dtypes, char *out, size_t size)
{
    size_t used = 0, count = 0;
    ptxgen_dtype unlike[MOST_DTYPES];
    out[0] = '\0';
    for (size_t i = 0; dtypes[i] && count < MOST_DTYPES; i++) {
        size_t same = 0; /* a table may say a type once for each choice that means it */
        while (same < count && unlike[same] != dtypes[i])
            same++;
        if (same == count)
            unlike[count++] = dtypes[i];
    }
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                                 : " or ",
                                 pg_dtype_word(unlike[i]));
    return out;
}

static ptxgen_status refuse_dtype(const pg_operand *row, ptxgen_dtype dtype, ptxgen_error *err)
{
    char words[MOST_WORDS];
    list_dtypes(row->dtypes, words, sizeof words);
    if (pg_dtype_bits(dtype) == 0)
        return pg_fail(err, PTXGEN_EINVAL, "%s has element type %d, which is none: use %s",
                       row->name, (int)dtype, words);
    return pg_fail(err, PTXGEN_EUNSUPPORTED, "%s holds %s: use %s", row->name, pg_dtype_word(dtype),
                   words);
}

static ptxgen_status check_dtype(pg_problem *p, size_t i, ptxgen_error *err)
{
    const pg_operand *row = &p->table->rows[i];
    const ptxgen_dtype dtype = p->operand[i].dtype;
    size_t place = 0;
    while (row->dtypes[place] && row->dtypes[place] != dtype)
        place++;
    if (!row->dtypes[place])
        return refuse_dtype(row, dtype, err);
    p->operand[i].bits = (uint8_t)pg_dtype_bits(dtype);
    const size_t like = row->same_dtype_as;
    if (like && p->operand[like - 1].present && p->operand[like - 1].dtype != dtype)
        return pg_fail(err, PTXGEN_EINVAL, "%s holds %s and %s %s: they must hold the same",
                       row->name, pg_dtype_word(dtype), p->table->rows[like - 1].name,
                       pg_dtype_word(p->operand[like - 1].dtype));
    return PTXGEN_OK;
}

/* Does the key say that an operand's last dimension is half as long as its symbol? */
static bool is_halved(const pg_problem *p, const pg_operand *row)
{
    return row->halved_by && p->key &&
           *(const int64_t *)((const char *)p->key + row->halved_by - 1) != 0;
}

/* The operand before the i-th that said what a symbol is: the first that is read, as those who
 * call by the command have given no results, or else the first. */
static size_t said_first(const pg_problem *p, size_t i, uint8_t symbol)
{
    size_t first = i;
    for (size_t k = i; k-- > 0;)
        for (int d = 0; d < p->table->rows[k].rank; d++)
            if (p->operand[k].present && p->table->rows[k].extents[d] == symbol &&
                (first == i || p->table->rows[k].role != PG_OUT ||
                 p->table->rows[first].role == PG_OUT))
                first = k;
    return first;
}

/* For the sentence of an operand that says something else. */
static ptxgen_status refuse_extent(const pg_problem *p, size_t i, int dimension, ptxgen_error *err)
{
    const uint8_t s = p->table->rows[i].extents[dimension];
    const bool halved = dimension == p->table->rows[i].rank - 1 && is_halved(p, &p->table->rows[i]);
    const size_t first = said_first(p, i, s);
    const char *name = p->table->symbols[s].name;
    if (halved)
        return pg_fail(err, PTXGEN_EINVAL,
                       "%s has %lld columns, but %s has %s=%lld, of which a gate leaves half: %s "
                       "must have %s / 2",
                       p->table->rows[i].name, (long long)p->operand[i].shape[dimension],
                       p->table->rows[first].name, name, (long long)p->symbol[s],
                       p->table->rows[i].name, name);
    return pg_fail(err, PTXGEN_EINVAL, "%s has %s=%lld, but %s has %s=%lld: they must be equal",
                   p->table->rows[i].name, name, (long long)p->operand[i].shape[dimension],
                   p->table->rows[first].name, name, (long long)p->symbol[s]);
}

/* Leading dimensions that the caller left out: an input is the same for all of them. */
static void add_leading(pg_problem *p, size_t i)
{
    const pg_operand *row = &p->table->rows[i];
    pg_view *v = &p->operand[i];
    const bool one = pg_operand_is_written(row) && !pg_problem_has_rows_by(p, i);
    const int missing = row->rank - v->rank;
    if (!missing)
        return;
    for (int d = row->rank - 1; d >= missing; d--) {
        v->shape[d] = v->shape[d - missing];
        v->stride[d] = v->stride[d - missing];
    }
    for (int d = 0; d < missing; d++) {
        v->shape[d] = one ? 1 : UNKNOWN;
        v->stride[d] = 0;
    }
    v->rank = row->rank;
}

/* What dimension d of an operand says of its symbol. */
static int64_t said_extent(const pg_problem *p, size_t i, int d)
{
    const pg_operand *row = &p->table->rows[i];
    int64_t extent = p->operand[i].shape[d];
    if (d == row->rank - 1 && is_halved(p, row) && __builtin_mul_overflow(extent, 2, &extent))
        extent = INT64_MAX;
    return extent;
}

/* One element for all of a dimension. */
static bool spreads(const pg_operand *row, pg_view *v, int d)
{
    if (!row->spread || v->shape[d] != 1)
        return false;
    v->shape[d] = UNKNOWN;
    v->stride[d] = 0;
    return true;
}

static ptxgen_status take_extents(pg_problem *p, size_t i, ptxgen_error *err)
{
    const pg_operand *row = &p->table->rows[i];
    pg_view *v = &p->operand[i];
    for (int d = 0; d < v->rank; d++)
        if (v->shape[d] < 0)
            return pg_fail(err, PTXGEN_EINVAL, "%s has %s=%lld: an extent cannot be negative",
                           row->name, p->table->symbols[row->extents[row->rank - v->rank + d]].name,
                           (long long)v->shape[d]);
    add_leading(p, i);
    for (int d = 0; d < v->rank; d++) {
        int64_t *symbol = &p->symbol[row->extents[d]];
        if (v->shape[d] == UNKNOWN || spreads(row, v, d)) /* of a leading dimension */
            continue;
        const int64_t said = said_extent(p, i, d);
        if (*symbol == UNKNOWN)
            *symbol = said;
        else if (*symbol != said)
            return refuse_extent(p, i, d, err);
    }
    return PTXGEN_OK;
}

/* The first operand that has the symbol. */
static const char *owner_of(const pg_problem *p, size_t symbol)
{
    for (size_t g = 0; g < p->given_count; g++) {
        const pg_operand *row = &p->table->rows[p->given[g]];
        for (int d = 0; d < row->rank; d++)
            if (row->extents[d] == symbol)
                return row->name;
    }
    return "";
}

static ptxgen_status check_equal(const pg_problem *p, size_t s, ptxgen_error *err)
{
    const pg_symbol *symbol = &p->table->symbols[s];
    const size_t other = symbol->equals - 1;
    if (p->operand[symbol->unless - 1].present || p->symbol[s] == p->symbol[other])
        return PTXGEN_OK;
    const char *name = p->table->symbols[other].name;
    return pg_fail(err, PTXGEN_EINVAL, "%s has %s=%lld, but %s has %s=%lld: they must be equal",
                   owner_of(p, other), name, (long long)p->symbol[other], owner_of(p, s), name,
                   (long long)p->symbol[s]);
}

/* *settled: no extent is 0 and none was left out, as in most calls. */
static ptxgen_status check_symbols(pg_problem *p, bool *settled, ptxgen_error *err)
{
    *settled = true;
    for (size_t s = 0; s < p->table->symbol_count; s++) {
        const pg_symbol *symbol = &p->table->symbols[s];
        const int64_t value = p->symbol[s];
        *settled &= value > 0;
        if (value == UNKNOWN) /* of operands that were left out */
            p->symbol[s] = 1;
        else if (value < symbol->min || value > symbol->max)
            return pg_fail(err, PTXGEN_EUNSUPPORTED, "%s=%lld is out of range: use %lld to %lld",
                           symbol->name, (long long)value, (long long)symbol->min,
                           (long long)symbol->max);
        if (symbol->equals)
            PG_TRY(check_equal(p, s, err));
    }
    return PTXGEN_OK;
}

/* Extents that depend on others. */
static ptxgen_status check_least(const pg_problem *p, ptxgen_error *err)
{
    for (size_t s = 0; s < p->table->symbol_count; s++) {
        const pg_symbol *symbol = &p->table->symbols[s];
        const int64_t least = symbol->least ? symbol->least(p) : 0;
        if (p->symbol[s] < least)
            return pg_fail(err, PTXGEN_EINVAL, "%s=%lld is too small, %lld are needed: %s",
                           symbol->name, (long long)p->symbol[s], (long long)least, symbol->remedy);
    }
    return PTXGEN_OK;
}

/* Extents of leading dimensions that the caller left out. */
static void fill_leading(pg_problem *p)
{
    for (size_t g = 0; g < p->given_count; g++) {
        const pg_operand *row = &p->table->rows[p->given[g]];
        pg_view *v = &p->operand[p->given[g]];
        for (int d = 0; d < (row->spread ? row->rank : row->leading); d++)
            if (v->shape[d] == UNKNOWN)
                v->shape[d] = p->symbol[row->extents[d]];
    }
}

/* A written operand with an extent of 0 that no index runs over: whatever the rest is, nothing
 * happens. */
static bool has_empty_rows(const pg_problem *p, size_t i, uint8_t indexed)
{
    const pg_view *v = &p->operand[i];
    for (int d = 0; d < v->rank; d++)
        if (v->shape[d] == 0 && p->table->rows[i].extents[d] + 1 != indexed)
            return true;
    return false;
}

/* Nothing to do when no result has an element or an index none; an index into no rows is a bad
 * one. */
static ptxgen_status find_empty(pg_problem *p, ptxgen_error *err)
{
    const pg_operand_table *t = p->table;
    size_t index = t->count;
    bool any = false;
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].role == PG_INDEX && t->rows[i].indexes && p->operand[i].present)
            index = i;
    const uint8_t indexed = index < t->count ? t->rows[index].indexes : 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].role == PG_OUT || t->rows[i].role == PG_INOUT)
            any |= p->operand[i].present && !has_empty_rows(p, i, indexed);
    p->empty = !any || (indexed && pg_view_is_empty(&p->operand[index]));
    if (!p->empty && indexed && p->symbol[indexed - 1] == 0)
        return pg_fail(err, PTXGEN_EINDEX,
                       "%s=0: there are no rows, so each of the %lld values of %s is out of range",
                       t->symbols[indexed - 1].name, (long long)p->operand[index].shape[0],
                       t->rows[index].name);
    return PTXGEN_OK;
}

static ptxgen_status refuse_rows(const pg_problem *p, size_t i, int unit, ptxgen_error *err)
{
    const pg_operand *row = &p->table->rows[i];
    const pg_view *v = &p->operand[i];
    const int along = pg_view_along(v), bits = v->bits;
    const char *name = p->table->symbols[row->extents[along]].name;
    const bool in_bytes = bits >= 8;
    return pg_fail(err, PTXGEN_EUNSUPPORTED,
                   "%s has rows of %s=%lld %s, %lld %s, not a multiple of %d: use %s divisible by "
                   "%d (pad the rows)",
                   row->name, name, (long long)v->shape[along], pg_dtype_word(v->dtype),
                   (long long)(v->shape[along] * bits / (in_bytes ? 8 : 1)),
                   in_bytes ? "bytes" : "bits", in_bytes ? unit / 8 : unit, name, unit / bits);
}

/* Rows of whole bytes, and of what the kernels need. All sizes are powers of two. */
static ptxgen_status check_rows(const pg_problem *p, size_t i, ptxgen_error *err)
{
    const pg_view *v = &p->operand[i];
    const int wanted = p->host ? 0 : p->table->rows[i].row_multiple;
    const int unit = wanted ? 8 * wanted : 8;
    if (v->rank == 0 || unit <= v->bits)
        return PTXGEN_OK;
    if (((uint64_t)v->shape[pg_view_along(v)] * v->bits & (uint64_t)(unit - 1)) == 0)
        return PTXGEN_OK;
    return refuse_rows(p, i, unit, err);
}

/* PG_INNER_EITHER: the columns are the runs of adjacent elements. A single column of adjacent
 * elements counts as one: its rows would be of one element each. */
static bool is_transposed(const pg_view *v)
{
    const int64_t *shape = v->shape + v->rank - 2, *stride = v->stride + v->rank - 2;
    const bool rows = stride[1] == 1 || shape[1] <= 1, columns = stride[0] == 1 || shape[0] <= 1;
    return columns && (!rows || (shape[1] == 1 && shape[0] > 1 && stride[0] == 1));
}

/* Strides that nothing steps over become those of a dense array, so that they decide nothing. */
static void settle_strides(const pg_operand *row, pg_view *v)
{
    const int r = v->rank;
    if (r == 0 || (pg_view_is_plain(v) && v->shape[0] > 1 && v->shape[r - 1] > 1))
        return;
    if (row->inner == PG_INNER_EITHER && !v->transposed)
        v->transposed = is_transposed(v);
    const int inner = pg_view_along(v);
    if (v->shape[inner] <= 1)
        v->stride[inner] = 1;
    int64_t dense = v->shape[inner];
    for (int d = r - 1; d >= 0; d--) {
        if (d == inner)
            continue;
        if (v->shape[d] <= 1)
            v->stride[d] = dense;
        if (__builtin_mul_overflow(v->shape[d], v->stride[d], &dense))
            return; /* refused as too large */
    }
}

ptxgen_status pg_problem_check_shapes(pg_problem *p, ptxgen_error *err)
{
    const pg_operand_table *t = p->table;
    bool settled;
    p->empty = false;
    p->given_count = 0;
    for (size_t s = 0; s < t->symbol_count; s++)
        p->symbol[s] = UNKNOWN;
    for (size_t i = 0; i < t->count; i++) {
        if (p->operand[i].present)
            p->given[p->given_count++] = (uint8_t)i;
        else if (!t->rows[i].optional)
            return pg_fail(err, PTXGEN_EINVAL, "%s is missing: %s", t->rows[i].name,
                           t->rows[i].doc);
    }
    for (size_t g = 0; g < p->given_count; g++)
        PG_TRY(check_dtype(p, p->given[g], err));
    for (size_t g = 0; g < p->given_count; g++)
        PG_TRY(take_extents(p, p->given[g], err));
    PG_TRY(check_symbols(p, &settled, err));
    fill_leading(p);
    for (size_t g = 0; g < p->given_count; g++)
        settle_strides(&t->rows[p->given[g]], &p->operand[p->given[g]]);
    if (!settled || p->family->empty)
        PG_TRY(p->family->empty ? p->family->empty(p, err) : find_empty(p, err));
    if (p->empty)
        return PTXGEN_OK;
    PG_TRY(check_least(p, err));
    for (size_t g = 0; g < p->given_count; g++)
        PG_TRY(check_rows(p, p->given[g], err));
    return PTXGEN_OK;
}
