#include "command/problem.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { NOT_GIVEN = -1, NO_NUMBER = -2, TOO_MUCH = -3 };
static const int64_t most_elements = INT64_C(1) << 31;

/* ---- words ---- */

static void find_symbols(cli_problem *p)
{
    ptxgen_operand_info o = {.size = sizeof o};
    for (size_t i = 0; ptxgen_family_operand(p->place, i, &o); i++)
        for (int d = 0; d < o.rank && o.role != PTXGEN_ROLE_WORKSPACE; d++) {
            size_t s = 0;
            while (s < p->symbol_count && strcmp(p->symbols[s].name, o.extents[d]) != 0)
                s++;
            if (s < p->symbol_count || s == PROBLEM_MAX_SYMBOLS)
                continue;
            p->symbols[p->symbol_count].name = o.extents[d];
            p->symbols[p->symbol_count].usual = o.usual[d];
            p->symbols[p->symbol_count++].value = NOT_GIVEN;
        }
}

static bool take_symbol(cli_problem *p, const char *word)
{
    const size_t n = strcspn(word, "=");
    for (size_t i = 0; i < p->symbol_count; i++) {
        if (strlen(p->symbols[i].name) != n || strncmp(word, p->symbols[i].name, n) != 0)
            continue;
        char *end = NULL;
        const long long value = word[n] ? strtoll(word + n + 1, &end, 10) : 0;
        const bool good = end && end != word + n + 1 && !*end && value >= 0;
        p->symbols[i].value = !good ? NO_NUMBER : value <= most_elements ? value : TOO_MUCH;
        return true;
    }
    return false;
}

static void read_words(cli_problem *p, char *const *words, size_t count)
{
    find_symbols(p);
    p->words = cli_format("%s", "");
    for (size_t i = 0; i < count; i++) {
        if (take_symbol(p, words[i]))
            continue;
        char *more = cli_format("%s%s%s", p->words, *p->words ? " " : "", words[i]);
        free(p->words);
        p->words = more;
    }
}

/* The value of a parameter among the words; NULL when it is not there. */
static const char *word_of(const cli_problem *p, const char *name, char *out, size_t size)
{
    const size_t n = strlen(name);
    for (const char *w = p->words; n && *w; w += strcspn(w, " "), w += strspn(w, " "))
        if (strncmp(w, name, n) == 0 && w[n] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(w + n + 1, " "), w + n + 1);
            return out;
        }
    return NULL;
}

static int64_t extent(const cli_problem *p, const char *name)
{
    for (size_t s = 0; s < p->symbol_count; s++)
        if (strcmp(p->symbols[s].name, name) == 0)
            return p->symbols[s].value == NOT_GIVEN && *p->symbols[s].usual
                       ? extent(p, p->symbols[s].usual)
                       : p->symbols[s].value;
    return NOT_GIVEN;
}

/* ---- operands ---- */

static ptxgen_dtype dtype_of(const cli_problem *p, const ptxgen_operand_info *o)
{
    char word[32];
    if (o->like >= 0)
        return p->tensors[o->like].dtype;
    if (word_of(p, o->dtype_param, word, sizeof word))
        for (size_t i = 0; o->dtypes[i]; i++)
            if (strcmp(ptxgen_dtype_name(o->dtypes[i]), word) == 0)
                return o->dtypes[i];
    return o->dtypes[0];
}

static bool find_param(const cli_problem *p, const char *name, ptxgen_param_info *out)
{
    const size_t count = ptxgen_family_param_count(p->place);
    for (size_t i = 0; i < count && ptxgen_family_param(p->place, i, out); i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* An optional operand that a parameter speaks of ("c": add or none) is there unless that says
 * none. */
static bool is_present(const cli_problem *p, const ptxgen_operand_info *o)
{
    char word[32];
    ptxgen_param_info param;
    const bool has_param = find_param(p, o->name, &param);
    const char *said = word_of(p, o->name, word, sizeof word);
    const char *how = said || !has_param ? said : param.default_text;
    if (o->role == PTXGEN_ROLE_WORKSPACE || o->role == PTXGEN_ROLE_SCALAR ||
        (how && strcmp(how, "none") == 0))
        return false;
    return !o->optional || o->zero_if_absent || has_param;
}

static ptxgen_status describe_operand(cli_problem *p, size_t i, const ptxgen_operand_info *o,
                                      ptxgen_error *err)
{
    char word[32];
    int64_t *shape = p->shape[i], *stride = p->stride[i], dense = 1;
    if (!is_present(p, o))
        return PTXGEN_OK;
    for (int d = o->rank - 1; d >= 0; d--) {
        shape[d] = extent(p, o->extents[d]);
        if (shape[d] == NOT_GIVEN && d < o->leading)
            shape[d] = 1;
        if (shape[d] == TOO_MUCH)
            return cli_fail(err, PTXGEN_EINVAL, "%s is more than %lld, the limit here",
                            o->extents[d], (long long)most_elements);
        if (shape[d] < 0)
            return cli_fail(err, PTXGEN_EINVAL, "%s=NUMBER %s", o->extents[d],
                            shape[d] == NOT_GIVEN ? "is missing" : "takes a whole number");
        stride[d] = dense;
        if (shape[d] && dense > most_elements / shape[d])
            return cli_fail(err, PTXGEN_EINVAL,
                            "%s would have more than %lld elements; make the problem smaller",
                            o->name, (long long)most_elements);
        dense *= shape[d];
    }
    const char *how = word_of(p, o->name, word, sizeof word);
    if (how && o->transposable && strcmp(how, "transposed") == 0) {
        stride[o->rank - 2] = 1;
        stride[o->rank - 1] = shape[o->rank - 2];
    }
    p->tensors[i] = (ptxgen_tensor){
        .dtype = dtype_of(p, o), .rank = o->rank, .shape = shape, .strides = stride};
    return PTXGEN_OK;
}

ptxgen_status cli_problem_read(cli_problem *p, size_t family, char *const *words, size_t count,
                               ptxgen_error *err)
{
    ptxgen_operand_info o = {.size = sizeof o};
    ptxgen_status status = PTXGEN_OK;
    *p = (cli_problem){.family = ptxgen_family_name(family), .place = family};
    read_words(p, words, count);
    for (size_t i = 0;
         status == PTXGEN_OK && i < PROBLEM_MAX_OPERANDS && ptxgen_family_operand(family, i, &o);
         i++) {
        status = describe_operand(p, i, &o, err);
        p->count = i + 1;
    }
    return status;
}

bool cli_problem_is_one(size_t family, char *const *words, size_t count)
{
    cli_problem p;
    ptxgen_error ignored;
    ptxgen_param_info param;
    bool one = cli_problem_read(&p, family, words, count, &ignored) == PTXGEN_OK;
    for (size_t s = 0; s < p.symbol_count; s++)
        one |= p.symbols[s].value != NOT_GIVEN && !find_param(&p, p.symbols[s].name, &param);
    cli_problem_free(&p);
    return one;
}

void cli_problem_free(cli_problem *p)
{
    free(p->words);
    p->words = NULL;
}

/* ---- values ---- */

static int64_t elements_of(const ptxgen_tensor *t)
{
    int64_t n = t->rank ? 1 : 0;
    for (int d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

size_t cli_problem_bytes(const cli_problem *p, size_t i)
{
    const ptxgen_tensor *t = &p->tensors[i];
    return ((size_t)elements_of(t) * (size_t)ptxgen_dtype_bits(t->dtype) + 7) / 8;
}

/* Floats of either sign between 1/16 and 1: zeros would be multiplied faster. */
static uint64_t random_element(ptxgen_dtype dtype, uint32_t r)
{
    const uint32_t step = r >> 8 & 3;
    switch (dtype) {
    case PTXGEN_F16:
        return (r & 0x83ff) | (11 + step) << 10;
    case PTXGEN_BF16:
        return (r & 0x807f) | (123 + step) << 7;
    case PTXGEN_F64:
        return ((uint64_t)(r & 0x800fffff) | (uint64_t)(1019 + step) << 20) << 32;
    case PTXGEN_E4M3:
        return (r & 0x87) | (3 + step) << 3;
    case PTXGEN_E5M2:
        return (r & 0x83) | (11 + step) << 2;
    case PTXGEN_UE8M0:
        return 120 + (r & 7);
    case PTXGEN_F32:
        return (r & 0x807fffff) | (123 + step) << 23;
    default: /* whole numbers, 4-bit floats two to a byte */
        return r & 0x3f;
    }
}

void cli_problem_values(const cli_problem *p, size_t i, void *to)
{
    const ptxgen_tensor *t = &p->tensors[i];
    ptxgen_operand_info o = {.size = sizeof o};
    const bool known = ptxgen_family_operand(p->place, i, &o);
    const int64_t below = known && o.role == PTXGEN_ROLE_INDEX ? extent(p, o.indexes) : 0;
    const size_t bytes = cli_problem_bytes(p, i);
    const size_t element = t->rank ? ((size_t)ptxgen_dtype_bits(t->dtype) + 7) / 8 : 1;
    uint64_t state = i + 1;
    for (size_t at = 0; at + element <= bytes; at += element) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint32_t r = (uint32_t)(state >> 32);
        const uint64_t v = below > 0 ? r % (uint64_t)below : random_element(t->dtype, r);
        const uint64_t words[] = {v, v}; /* a complex number has two */
        memcpy((char *)to + at, words, element);
    }
}
