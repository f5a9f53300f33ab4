/* Text helpers on pointer + length strings, and number parsing that never depends on the locale. */
#ifndef PG_STR_H
#define PG_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pg_str {
    const char *p;
    size_t n;
} pg_str;

pg_str pg_str_of(const char *s);
bool pg_str_eq(pg_str a, pg_str b);
bool pg_str_is(pg_str a, const char *s);
/* Cuts the next word (split at spaces, tabs, newlines) off *rest; n = 0 when none is left. */
pg_str pg_str_word(pg_str *rest);
/* The whole of s as a decimal integer, optional '-'; false if it is not one or does not fit. */
bool pg_str_i64(pg_str s, int64_t *out);
/* Levenshtein distance; strings over 63 bytes count as far apart. */
size_t pg_str_distance(pg_str a, pg_str b);

/* Walks names for the one that is wanted: NAME(i) of a table, NULL past the last. */
typedef const char *(*pg_name_at)(const void *table, size_t i);
/* The place of `wanted`; SIZE_MAX when it is not there, and then *nearest is the least different
 * name, "" when all differ by too much to be meant. */
size_t pg_str_find(pg_str wanted, pg_name_at name_at, const void *table, const char **nearest);
/* "did you mean NEAREST?", or "there are: ..." with as many names as fit: the end of a message,
 * in out. */
const char *pg_str_suggest(const char *nearest, pg_name_at name_at, const void *table, char *out,
                           size_t size);

#endif
