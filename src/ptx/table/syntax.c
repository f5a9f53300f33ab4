/* See syntax.h. */
#include "ptx/table/syntax.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *types;
} groups[] = {
#define PG_PTX_TYPE_GROUP(name, types) {name, types},
#include "ptx/table/type_groups.def"
#undef PG_PTX_TYPE_GROUP
};

/* "$int" is a set of types, anything else a word. */
static pg_str word_of(pg_str text)
{
    for (size_t i = 0; text.n && text.p[0] == '$' && i < sizeof groups / sizeof *groups; i++)
        if (pg_str_is((pg_str){text.p + 1, text.n - 1}, groups[i].name))
            return pg_str_of(groups[i].types);
    return text;
}

static size_t put(char *out, size_t size, size_t used, pg_str text)
{
    if (used < size)
        snprintf(out + used, size - used, "%.*s", (int)text.n, text.p);
    return used + text.n;
}

/* The item's words without the name of its field. */
static pg_str choices_of(pg_str item)
{
    const char *colon = memchr(item.p, ':', item.n);
    if (!colon)
        return item;
    const size_t field = (size_t)(colon - item.p) + 1;
    return (pg_str){item.p + field, item.n - field};
}

static size_t put_item(char *out, size_t size, size_t used, pg_str item)
{
    pg_str rest = choices_of(item);
    const bool optional = rest.n && rest.p[rest.n - 1] == '?';
    rest.n -= optional;
    used = put(out, size, used, pg_str_of(optional ? "[." : "."));
    while (rest.n) {
        const char *bar = memchr(rest.p, '|', rest.n);
        const size_t n = bar ? (size_t)(bar - rest.p) : rest.n, step = bar ? n + 1 : n;
        used = put(out, size, used, word_of((pg_str){rest.p, n}));
        if (bar)
            used = put(out, size, used, pg_str_of("|"));
        rest = (pg_str){rest.p + step, rest.n - step};
    }
    return optional ? put(out, size, used, pg_str_of("]")) : used;
}

void pg_ptx_syntax(pg_str modifiers, char *out, size_t size)
{
    size_t used = 0;
    pg_str item;
    out[0] = '\0';
    while ((item = pg_str_word(&modifiers)).n) {
        if (used)
            used = put(out, size, used, pg_str_of(" "));
        used = put_item(out, size, used, item);
    }
}
