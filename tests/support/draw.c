#include "draw.h"

#include "draw_values.h"

#include "common/elements.h"
#include "generate/dtype.h"

enum { MARGIN = 64, PATTERN = 0x5A, PLACE = 256 };

uint64_t draw_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

typedef struct draw {
    drawn *d;
    const draw_options *options;
    uint64_t state;
    bool transposed[PG_MAX_OPERANDS], absent[PG_MAX_OPERANDS];
    bool hard;
    draw_values values;
} draw;

static int64_t below(draw *w, int64_t n)
{
    return (int64_t)(draw_random(&w->state) % (uint64_t)n);
}

static bool one_in(draw *w, int n)
{
    return !w->options->plain && below(w, n) == 0;
}

/* ---- what, and how large --------------------------------------------------------------------- */

static void draw_dtypes(draw *w)
{
    const pg_operand_table *t = &w->d->family->operands;
    for (size_t i = 0; i < t->count; i++) {
        const ptxgen_dtype *list = t->rows[i].dtypes;
        int n = 0;
        while (list[n])
            n++;
        ptxgen_tensor *x = &w->d->tensors[i];
        if (t->rows[i].same_dtype_as)
            x->dtype = w->d->tensors[t->rows[i].same_dtype_as - 1].dtype;
        else
            x->dtype = list[below(w, n)];
    }
}

/* Is it an extent of matrices, not one of theirs? Few of them will do. */
static bool counts_matrices(const pg_operand_table *t, size_t symbol)
{
    for (size_t i = 0; i < t->count; i++)
        for (int d = 0; d < t->rows[i].leading && !t->rows[i].spread; d++)
            if (t->rows[i].extents[d] == symbol)
                return true;
    return false;
}

static int64_t draw_extent(draw *w, size_t symbol)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 7, 8, 12, 16, 20, 33, 64, 100, 128, 130, 256};
    enum { FEW = 3 };
    const pg_operand_table *t = &w->d->family->operands;
    const pg_symbol *s = &t->symbols[symbol];
    const int64_t any = w->options->most ? w->options->most : 260;
    const int64_t most = counts_matrices(t, symbol) && any > FEW ? FEW : any;
    if (s->min == 0 && !w->options->no_zeros && one_in(w, 24))
        return 0;
    int64_t v = sizes[below(w, sizeof sizes / sizeof *sizes)];
    v = v > most ? most : v;
    v = v < s->min ? s->min : v;
    return v > s->max ? s->max : v;
}

/* Bits that a row's length must be a multiple of. */
static int64_t row_unit(const pg_operand *row)
{
    return 8 * (row->row_multiple ? row->row_multiple : 1);
}

static int inner_of(const draw *w, size_t i)
{
    return w->d->family->operands.rows[i].rank - (w->transposed[i] ? 2 : 1);
}

/* A workspace is given when it is known how large: draw_workspace. */
static void draw_presence(draw *w)
{
    const pg_operand_table *t = &w->d->family->operands;
    for (size_t i = 0; i < t->count; i++)
        w->absent[i] = t->rows[i].belongs_to || t->rows[i].role == PG_WORKSPACE ||
                       (t->rows[i].optional && one_in(w, 2));
}

static void draw_extents(draw *w)
{
    const pg_operand_table *t = &w->d->family->operands;
    for (size_t s = 0; s < t->symbol_count; s++) {
        const pg_symbol *symbol = &t->symbols[s];
        w->d->symbols[s] = symbol->equals && w->absent[symbol->unless - 1]
                               ? w->d->symbols[symbol->equals - 1]
                               : draw_extent(w, s);
    }
    for (size_t i = 0; i < t->count; i++) {
        const pg_operand *row = &t->rows[i];
        if (!row->rank)
            continue;
        w->transposed[i] = row->inner == PG_INNER_EITHER && one_in(w, 2);
        const int64_t bits = pg_dtype_bits(w->d->tensors[i].dtype), unit = row_unit(row);
        int64_t *n = &w->d->symbols[row->extents[inner_of(w, i)]];
        while (*n * bits % unit)
            ++*n;
    }
}

/* Does a drawn parameter halve the operand's last dimension? */
static bool is_halved(const draw *w, size_t i)
{
    char word[64];
    const pg_param_table *t = &w->d->family->params;
    const pg_operand *row = &w->d->family->operands.rows[i];
    for (size_t k = 0; k < t->count && row->halved_by; k++) {
        if (t->rows[k].offset + 1 != row->halved_by)
            continue;
        snprintf(word, sizeof word, " %s=%s", t->rows[k].name, t->rows[k].choices[1]);
        if (strstr(w->d->params, word))
            return true;
    }
    return false;
}

static void make_even(draw *w)
{
    const pg_operand_table *t = &w->d->family->operands;
    for (size_t i = 0; i < t->count; i++) {
        int64_t *n =
            is_halved(w, i) ? &w->d->symbols[t->rows[i].extents[t->rows[i].rank - 1]] : NULL;
        if (n)
            *n += *n % 2;
    }
}

/* Extents that follow from the others. */
static void complete_extents(draw *w)
{
    const pg_operand_table *t = &w->d->family->operands;
    for (size_t s = 0; s < t->symbol_count; s++) {
        pg_problem p;
        if (!t->symbols[s].least)
            continue;
        pg_problem_init(&p, w->d->family);
        for (size_t i = 0; i < t->count; i++) {
            p.operand[i].dtype = w->d->tensors[i].dtype;
            p.operand[i].present = w->d->tensors[i].dtype != PTXGEN_DTYPE_NONE;
            p.operand[i].rank = t->rows[i].rank;
            for (int d = 0; d < t->rows[i].rank; d++)
                p.operand[i].shape[d] = w->d->symbols[t->rows[i].extents[d]];
        }
        memcpy(p.symbol, w->d->symbols, sizeof p.symbol);
        w->d->symbols[s] = t->symbols[s].least(&p);
    }
}

/* ---- where ----------------------------------------------------------------------------------- */

static int64_t round_up(int64_t v, int64_t unit)
{
    return (v + unit - 1) / unit * unit;
}

/* Elements that strides are multiples of. */
static int64_t stride_unit(draw *w, size_t i)
{
    const int64_t bits = pg_dtype_bits(w->d->tensors[i].dtype);
    const int64_t bytes = w->d->family->operands.rows[i].alignment;
    const int64_t wanted = one_in(w, 2) ? 128 : bytes;
    return wanted * 8 > bits ? wanted * 8 / bits : bits < 8 ? 8 / bits : 1;
}

static void draw_strides(draw *w, size_t i)
{
    const pg_operand *row = &w->d->family->operands.rows[i];
    ptxgen_tensor *t = &w->d->tensors[i];
    int64_t *strides = w->d->strides[i], *shape = w->d->shapes[i];
    const int inner = t->rank - (w->transposed[i] ? 2 : 1);
    const int64_t unit = stride_unit(w, i);
    int64_t at = shape[inner];
    strides[inner] = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        if (d == inner)
            continue;
        at = round_up(at, unit);
        if (!row->dense && one_in(w, 3))
            at += unit * (1 + below(w, 3));
        strides[d] = at;
        const bool leads = d < row->leading - (row->rank - t->rank) && !row->spread;
        if (((row->broadcast && t->rank == 2) || (leads && !pg_operand_is_written(row))) &&
            one_in(w, leads ? 3 : 8))
            strides[d] = 0;
        at = strides[d] * shape[d];
    }
}

/* All of its leading dimensions: a result may leave them out. */
static bool is_one(const draw *w, const pg_operand *row)
{
    for (int d = 0; d < row->leading; d++)
        if (w->d->symbols[row->extents[d]] != 1)
            return false;
    return true;
}

static void place_operand(draw *w, size_t i)
{
    drawn *d = w->d;
    const pg_operand *row = &d->family->operands.rows[i];
    ptxgen_tensor *t = &d->tensors[i];
    const bool may_lead = row->leading && (!pg_operand_is_written(row) || is_one(w, row));
    t->rank = row->rank - (may_lead && one_in(w, 3) ? 1 + (int)below(w, row->leading) : 0);
    for (int k = 0; k < t->rank; k++)
        d->shapes[i][k] =
            row->spread && one_in(w, 3) ? 1 : d->symbols[row->extents[row->rank - t->rank + k]];
    if (is_halved(w, i))
        d->shapes[i][t->rank - 1] /= 2;
    t->shape = d->shapes[i];
    int64_t last = 0;
    if (t->rank)
        draw_strides(w, i);
    for (int k = 0; k < t->rank; k++)
        last += d->shapes[i][k] ? (d->shapes[i][k] - 1) * d->strides[i][k] : 0;
    t->strides = d->strides[i];
    const size_t element = (size_t)pg_dtype_bits(t->dtype);
    size_t unit = row->alignment > element / 8 ? row->alignment : element / 8;
    unit = one_in(w, 2) || !unit ? 128 : unit;
    const size_t offset = (size_t)round_up(MARGIN, (int64_t)unit) +
                          unit * (size_t)(w->options->plain ? 0 : below(w, 4));
    d->bytes[i] = offset + ((size_t)(last + 1) * element + 7) / 8 + MARGIN;
    d->memory[i] = aligned_alloc(PLACE, (d->bytes[i] + PLACE - 1) / PLACE * PLACE);
    memset(d->memory[i], PATTERN, d->bytes[i]);
    t->data = d->memory[i] + offset;
}

/* A result that may be in place of an operand is. */
static void put_in_place(draw *w, size_t i)
{
    drawn *d = w->d;
    const size_t like = d->family->operands.rows[i].same_as;
    if (!like || !d->memory[i] || !d->memory[like - 1])
        return;
    const ptxgen_tensor *t = &d->tensors[i], *same = &d->tensors[like - 1];
    const size_t bytes = sizeof(int64_t) * (size_t)t->rank;
    if (t->dtype != same->dtype || t->rank != same->rank || !t->rank ||
        memcmp(t->shape, same->shape, bytes) != 0 || same->strides[0] == 0)
        return;
    free(d->memory[i]);
    d->memory[i] = NULL;
    d->in_place_of[i] = (uint8_t)like;
    memcpy(d->strides[i], d->strides[like - 1], bytes);
    d->tensors[i].data = same->data;
}

/* Choices that came later than the others are made by sequences of their own, so that the
 * problems of a seed remain what they are. */
static bool also_one_in(const draw *w, uint64_t salt, uint64_t n)
{
    uint64_t state = w->options->seed * 31 + salt;
    return !w->options->plain && draw_random(&state) % n == 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_floating(ptxgen_dtype dtype)
{
    return pg_dtype_bits(dtype) >= 8 && pg_dtype_word(dtype)[0] != 's' &&
           pg_dtype_word(dtype)[0] != 'u';
}

static void put_value(draw *w, size_t i, int64_t element)
{
    const pg_operand *row = &w->d->family->operands.rows[i];
    const ptxgen_dtype dtype = w->d->tensors[i].dtype;
    const int bits = pg_dtype_bits(dtype);
    char *at = (char *)w->d->tensors[i].data + element * bits / 8;
    uint64_t r = draw_random(&w->state);
    if (w->hard && is_floating(dtype)) {
        draw_hard_value(&w->values, at, dtype);
        return;
    }
    if (row->indexes)
        r %= (uint64_t)(w->d->symbols[row->indexes - 1] ? w->d->symbols[row->indexes - 1] : 1);
    switch (dtype) {
    case PTXGEN_F32:
    case PTXGEN_F16:
    case PTXGEN_BF16:
    case PTXGEN_F64:
        pg_element_set(&(pg_view){.data = at, .dtype = dtype}, 0,
                       (double)(int64_t)(r % 4097) / 1024 - 2);
        break;
    case PTXGEN_E4M3: /* no NaN; as a scale its sign means nothing */
        *at = (char)(r % 128 == 127 ? 0x38 : r);
        *at = (char)(*at == (char)0xFF ? 0x30 : *at);
        break;
    case PTXGEN_UE8M0:
        *at = (char)(120 + r % 12);
        break;
    default:
        memcpy(at, (uint64_t[]){r, ~r}, bits < 8 ? 1 : (size_t)bits / 8);
    }
}

static void each_element(const drawn *d, size_t i, void (*visit)(void *, size_t, int64_t),
                         void *user)
{
    const ptxgen_tensor *t = &d->tensors[i];
    int64_t index[PG_MAX_RANK] = {0}, count = 1;
    for (int k = 0; k < t->rank; k++)
        count *= t->shape[k];
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (int k = 0; k < t->rank; k++)
            at += index[k] * t->strides[k];
        visit(user, i, at);
        for (int k = t->rank - 1; k >= 0 && ++index[k] == t->shape[k]; k--)
            index[k] = 0;
    }
}

static void fill_element(void *user, size_t i, int64_t element)
{
    draw *w = user;
    if (pg_dtype_bits(w->d->tensors[i].dtype) >= 8 || element % 2 == 0)
        put_value(w, i, element);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void draw_params(draw *w)
{
    const pg_param_table *t = &w->d->family->params;
    const char *arch = getenv("PTXGEN_ARCH"); /* else the family's own */
    if (arch)
        snprintf(w->d->params, sizeof w->d->params, " arch=%s", arch);
    for (size_t i = 1; i < t->count && !w->options->plain; i++) {
        const pg_param *p = &t->rows[i];
        if (p->from || p->kind == PG_PARAM_FUNCTION || !one_in(w, 5))
            continue;
        const size_t used = strlen(w->d->params);
        char *to = w->d->params + used;
        if (p->kind == PG_PARAM_CHOICE) {
            int n = 0;
            while (p->choices[n])
                n++;
            snprintf(to, sizeof w->d->params - used, " %s=%s", p->name, p->choices[below(w, n)]);
        } else {
            int64_t v = INT64_C(1) << below(w, 10);
            v = v < p->min ? p->min : v > p->max ? p->max : v;
            snprintf(to, sizeof w->d->params - used, " %s=%lld", p->name, (long long)v);
        }
    }
}

bool draw_workspace(ptxgen *ctx, drawn *d)
{
    const pg_operand_table *t = &d->family->operands;
    size_t bytes = 0, i = 0;
    while (i < t->count && t->rows[i].role != PG_WORKSPACE)
        i++;
    if (i == t->count || ptxgen_call_workspace(ctx, d->family->name, d->params, d->tensors,
                                               d->count, &bytes, NULL) != PTXGEN_OK)
        return false;
    draw w = {.d = d, .options = &(draw_options){.plain = true}};
    d->symbols[t->rows[i].extents[0]] = (int64_t)bytes;
    if (!bytes)
        return false;
    d->tensors[i].dtype = t->rows[i].dtypes[0];
    place_operand(&w, i);
    memset(d->tensors[i].data, 0xA5, bytes); /* what is in it means nothing */
    return true;
}

void draw_problem(drawn *d, const pg_family *family, const draw_options *options)
{
    draw w = {.d = d, .options = options, .state = options->seed};
    memset(d, 0, sizeof *d);
    d->family = family;
    d->count = family->operands.count;
    draw_dtypes(&w);
    draw_params(&w);
    draw_presence(&w);
    draw_extents(&w);
    make_even(&w);
    complete_extents(&w);
    /* Of what is added up in any order, and has a tolerance, hard values have no one answer. */
    w.hard = !family->inexact && also_one_in(&w, 1, 2);
    draw_values_begin(&w.values, d, options->seed);
    for (size_t i = 0; i < d->count; i++) {
        if (w.absent[i]) {
            d->tensors[i] = (ptxgen_tensor){0};
            continue;
        }
        place_operand(&w, i);
    }
    for (size_t i = 0; i < d->count && also_one_in(&w, 2, 3); i++)
        put_in_place(&w, i);
    for (size_t i = 0; i < d->count; i++) {
        if (d->memory[i])
            each_element(d, i, fill_element, &w);
    }
}

void draw_free(drawn *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->memory[i]);
}

void draw_copy(drawn *to, const drawn *from)
{
    *to = *from;
    for (size_t i = 0; i < from->count; i++) {
        to->tensors[i].shape = to->shapes[i];
        to->tensors[i].strides = to->strides[i];
        if (!from->memory[i])
            continue;
        const size_t bytes = (from->bytes[i] + PLACE - 1) / PLACE * PLACE;
        to->memory[i] = aligned_alloc(PLACE, bytes);
        memcpy(to->memory[i], from->memory[i], bytes);
        to->tensors[i].data = to->memory[i] + ((char *)from->tensors[i].data - from->memory[i]);
    }
    for (size_t i = 0; i < from->count; i++)
        if (from->in_place_of[i])
            to->tensors[i].data = to->tensors[from->in_place_of[i] - 1].data;
}

/* Takes an element of `after` out of the comparison: makes it what it was before. */
typedef struct restore {
    const drawn *before;
    char *copy; /* of after's memory */
    const drawn *after;
} restore;

static void restore_element(void *user, size_t i, int64_t element)
{
    restore *r = user;
    const int bits = pg_dtype_bits(r->after->tensors[i].dtype);
    const size_t at = (size_t)((char *)r->after->tensors[i].data - r->after->memory[i]) +
                      (size_t)(element * bits / 8);
    memcpy(r->copy + at, r->before->memory[i] + at, bits < 8 ? 1 : (size_t)bits / 8);
}

/* By its role, or by a result that is in place of it. */
static bool is_written(const drawn *d, size_t i)
{
    bool written = pg_operand_is_written(&d->family->operands.rows[i]);
    for (size_t j = 0; j < d->count; j++)
        written |= d->in_place_of[j] == i + 1;
    return written;
}

bool draw_untouched(const drawn *before, const drawn *after, const char **operand)
{
    bool same = true;
    for (size_t i = 0; i < before->count && same; i++) {
        if (!before->memory[i])
            continue;
        char *copy = malloc(before->bytes[i]);
        memcpy(copy, after->memory[i], before->bytes[i]);
        restore r = {before, copy, after};
        if (is_written(before, i))
            each_element(after, i, restore_element, &r);
        same = memcmp(copy, before->memory[i], before->bytes[i]) == 0;
        *operand = before->family->operands.rows[i].name;
        free(copy);
    }
    return same;
}

const char *draw_text(const drawn *d)
{
    static char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text, "%s%s:", d->family->name, d->params);
    for (size_t i = 0; i < d->count && used < sizeof text - 128; i++) {
        const ptxgen_tensor *t = &d->tensors[i];
        used += (size_t)snprintf(text + used, sizeof text - used, " %s %s",
                                 d->family->operands.rows[i].name, pg_dtype_word(t->dtype));
        for (int k = 0; k < t->rank; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld:%lld", k ? "," : "[",
                                     (long long)t->shape[k], (long long)t->strides[k]);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", t->rank ? "]" : "",
                                 d->in_place_of[i] ? " in place" : "");
    }
    return text;
}

static bool is_fixed(const pg_family *f, size_t operand, int dimension)
{
    const pg_symbol *s = &f->operands.symbols[f->operands.rows[operand].extents[dimension]];
    return s->min == s->max;
}

bool draw_served(ptxgen *ctx, const pg_family *f, drawn *out)
{
    for (uint64_t seed = 1; seed < 3000; seed++) {
        drawn probe;
        draw_problem(out, f, &(draw_options){.seed = seed, .plain = true, .no_zeros = true});
        bool wide = true; /* rows and columns enough that every stride means something */
        for (size_t i = 0; i < out->count; i++)
            for (int k = 0; k < out->tensors[i].rank; k++)
                wide &= out->tensors[i].shape[k] > 1 || is_fixed(f, i, k);
        draw_copy(&probe, out);
        const bool served = wide && ptxgen_call(ctx, f->name, "", probe.tensors, probe.count, NULL,
                                                NULL) == PTXGEN_OK;
        draw_free(&probe);
        if (served) {
            draw_workspace(ctx, out);
            return true;
        }
        draw_free(out);
    }
    return false;
}
