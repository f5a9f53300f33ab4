/* Parsing and printing of parameter texts. */
#include "generate/params.h"

#include "base/str.h"
#include "base/arch.h"

#include <stdio.h>
#include <string.h>

static int64_t *field(const pg_param *p, void *key)
{
    return (int64_t *)((char *)key + p->offset);
}

static int64_t field_value(const pg_param *p, const void *key)
{
    return *(const int64_t *)((const char *)key + p->offset);
}

void pg_params_default(const pg_param_table *t, void *key, int64_t arch)
{
    memset(key, 0, t->key_size);
    for (size_t i = 0; i < t->count; i++)
        *field(&t->rows[i], key) = t->rows[i].kind == PG_PARAM_ARCH ? arch : t->rows[i].def;
}

static const char *param_name(const void *table, size_t i)
{
    const pg_param_table *t = table;
    return i < t->count ? t->rows[i].name : NULL;
}

static void list_words(const pg_param *p, pg_buf *out)
{
    for (size_t i = 0; p->choices[i]; i++) {
        pg_buf_puts(out, i ? ", " : "");
        pg_buf_puts(out, p->choices[i]);
    }
}

static ptxgen_status refuse_choice(const pg_param *p, pg_str value, ptxgen_error *err)
{
    pg_buf words;
    pg_buf_init(&words, &pg_alloc_libc);
    list_words(p, &words);
    pg_fail(err, PTXGEN_EINVAL, "%s=%.*s is not one of: %s", p->name,
            (int)(value.n < 60 ? value.n : 60), value.p, pg_buf_text(&words));
    pg_buf_fini(&words);
    return PTXGEN_EINVAL;
}

static ptxgen_status parse_choice(const pg_param *p, pg_str value, int64_t *out, ptxgen_error *err)
{
    for (int64_t i = 0; p->choices[i]; i++) {
        if (pg_str_is(value, p->choices[i])) {
            *out = i;
            return PTXGEN_OK;
        }
    }
    return refuse_choice(p, value, err);
}

static ptxgen_status check_number(const pg_param *p, int64_t v, ptxgen_error *err)
{
    if (v >= p->min && v <= p->max)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL, "%s=%lld is out of range: use %lld to %lld or %s", p->name,
                   (long long)v, (long long)p->min, (long long)p->max, p->zero_words[0]);
}

static ptxgen_status check_place(const pg_param *p, int64_t v, ptxgen_error *err)
{
    for (int64_t i = 0; p->choices[i]; i++)
        if (i == v)
            return PTXGEN_OK;
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)v);
    return refuse_choice(p, pg_str_of(number), err);
}

ptxgen_status pg_params_check(const pg_param_table *t, const void *key, ptxgen_error *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const int64_t v = field_value(&t->rows[i], key);
        if (v == 0)
            continue;
        if (t->rows[i].kind >= PG_PARAM_INTEGER)
            PG_TRY(check_number(&t->rows[i], v, err));
        if (t->rows[i].kind == PG_PARAM_CHOICE)
            PG_TRY(check_place(&t->rows[i], v, err));
    }
    return PTXGEN_OK;
}

static ptxgen_status parse_integer(const pg_param *p, pg_str value, int64_t *out, ptxgen_error *err)
{
    if (pg_str_is(value, p->zero_words[0])) {
        *out = 0;
        return PTXGEN_OK;
    }
    int64_t v;
    const int shown = (int)(value.n < 60 ? value.n : 60);
    if (!pg_str_i64(value, &v))
        return pg_fail(err, PTXGEN_EINVAL, "%s=%.*s is not a whole number or the word %s", p->name,
                       shown, value.p, p->zero_words[0]);
    PG_TRY(check_number(p, v, err));
    *out = v;
    return PTXGEN_OK;
}

static ptxgen_status parse_value(const pg_param *p, pg_str value, int64_t *out, ptxgen_error *err)
{
    char name[32];
    switch (p->kind) {
    case PG_PARAM_CHOICE:
        return parse_choice(p, value, out, err);
    case PG_PARAM_INTEGER:
    case PG_PARAM_FUNCTION:
        return parse_integer(p, value, out, err);
    case PG_PARAM_ARCH:
        break;
    }
    memset(name, 0, sizeof name);
    memcpy(name, value.p, value.n < sizeof name ? value.n : sizeof name - 1);
    return ptxgen_arch_parse(name, out, err);
}

ptxgen_status pg_params_parse(const pg_param_table *t, const char *text, void *key,
                              ptxgen_error *err)
{
    uint64_t given;
    return pg_params_parse_given(t, text, key, &given, err);
}

ptxgen_status pg_params_parse_given(const pg_param_table *t, const char *text, void *key,
                                    uint64_t *given, ptxgen_error *err)
{
    uint64_t seen = 0;
    char end[240];
    *given = 0;
    pg_str rest = pg_str_of(text ? text : "");
    for (pg_str word; (word = pg_str_word(&rest)).n;) {
        const char *equals = memchr(word.p, '=', word.n), *nearest = "";
        if (!equals)
            return pg_fail(err, PTXGEN_EINVAL, "\"%.*s\" is not a parameter: write name=value",
                           (int)(word.n < 60 ? word.n : 60), word.p);
        const pg_str name = {word.p, (size_t)(equals - word.p)};
        const pg_str value = {equals + 1, word.n - name.n - 1};
        const size_t place = pg_str_find(name, param_name, t, &nearest);
        if (place == SIZE_MAX && name.n == 1)
            return pg_fail(err, PTXGEN_EINVAL,
                           "there is no parameter \"%c\": of a problem's extents "
                           "ptxgen_problem_params makes the parameters of a kernel",
                           *name.p);
        if (place == SIZE_MAX)
            return pg_fail(err, PTXGEN_EINVAL, "there is no parameter \"%.*s\"; %s",
                           (int)(name.n < 60 ? name.n : 60), name.p,
                           pg_str_suggest(nearest, param_name, t, end, sizeof end));
        const pg_param *p = &t->rows[place];
        const uint64_t bit = UINT64_C(1) << place;
        if (seen & bit)
            return pg_fail(err, PTXGEN_EINVAL, "%s is given twice: keep one", p->name);
        *given = seen |= bit;
        PG_TRY(parse_value(p, value, field(p, key), err));
    }
    return PTXGEN_OK;
}

void pg_param_print_value(const pg_param *p, int64_t value, pg_buf *out)
{
    if (p->kind == PG_PARAM_ARCH)
        pg_buf_puts(out, ptxgen_arch_name(value));
    else if (p->kind == PG_PARAM_CHOICE)
        pg_buf_puts(out, p->choices[value]);
    else if (value == 0)
        pg_buf_puts(out, p->zero_words[0]);
    else
        pg_buf_put_i64(out, value);
}

void pg_params_print(const pg_param_table *t, const void *key, pg_buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        if (i)
            pg_buf_putc(out, ' ');
        pg_buf_puts(out, t->rows[i].name);
        pg_buf_putc(out, '=');
        pg_param_print_value(&t->rows[i], field_value(&t->rows[i], key), out);
    }
}
