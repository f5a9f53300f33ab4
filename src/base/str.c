/* Small and plain: these run on command lines and parameter texts, not on PTX. */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

pg_str pg_str_of(const char *s)
{
    return (pg_str){s, strlen(s)};
}

bool pg_str_eq(pg_str a, pg_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool pg_str_is(pg_str a, const char *s)
{
    for (size_t i = 0; i < a.n; i++)
        if (s[i] != a.p[i] || !s[i])
            return false;
    return s[a.n] == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

pg_str pg_str_word(pg_str *rest)
{
    while (rest->n && is_space(*rest->p)) {
        rest->p++;
        rest->n--;
    }
    pg_str word = {rest->p, 0};
    while (word.n < rest->n && !is_space(word.p[word.n]))
        word.n++;
    rest->p += word.n;
    rest->n -= word.n;
    return word;
}

bool pg_str_i64(pg_str s, int64_t *out)
{
    bool negative = s.n && s.p[0] == '-';
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, v = 0;
    if (s.n == (negative ? 1u : 0u))
        return false;
    for (size_t i = negative; i < s.n; i++) {
        unsigned d = (unsigned)(s.p[i] - '0');
        if (d > 9 || v > (limit - d) / 10)
            return false;
        v = v * 10 + d;
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

size_t pg_str_distance(pg_str a, pg_str b)
{
    enum { MOST = 63 };
    if (a.n > MOST || b.n > MOST)
        return MOST + 1;
    unsigned char row[MOST + 1];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = (unsigned char)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned char diagonal = row[0];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= b.n; j++) {
            unsigned best = diagonal + (a.p[i - 1] != b.p[j - 1]);
            if (row[j] + 1u < best)
                best = row[j] + 1u;
            if (row[j - 1] + 1u < best)
                best = row[j - 1] + 1u;
            diagonal = row[j];
            row[j] = (unsigned char)best;
        }
    }
    return row[b.n];
}

size_t pg_str_find(pg_str wanted, pg_name_at name_at, const void *table, const char **nearest)
{
    const char *name;
    for (size_t i = 0; (name = name_at(table, i)); i++)
        if (pg_str_is(wanted, name))
            return i;
    size_t best = wanted.n < 4 ? 2 : wanted.n / 3 + 2; /* where more differs it is another word */
    *nearest = "";
    for (size_t i = 0; wanted.n > 0 && (name = name_at(table, i)); i++) {
        const bool begun = strlen(name) > wanted.n && memcmp(name, wanted.p, wanted.n) == 0;
        const size_t d = begun ? 1 : pg_str_distance(wanted, pg_str_of(name));
        if (d < best && (begun || d < wanted.n)) { /* one letter for another is no slip */
            best = d;
            *nearest = name;
        }
    }
    return SIZE_MAX;
}

const char *pg_str_suggest(const char *nearest, pg_name_at name_at, const void *table, char *out,
                           size_t size)
{
    if (nearest[0]) {
        snprintf(out, size, "did you mean %s?", nearest);
        return out;
    }
    size_t used = (size_t)snprintf(out, size, "there are");
    const char *name;
    for (size_t i = 0; (name = name_at(table, i)); i++) {
        if (used + strlen(name) + sizeof ": , ..." > size) {
            snprintf(out + used, size - used, ", ...");
            break;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : ": ", name);
    }
    return out;
}
