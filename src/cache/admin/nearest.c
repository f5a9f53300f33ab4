/* Which entry is nearest to a key, and what differs: the answer to "why was this compiled again?".
 * A key is lines "name=value". */
#include "cache/admin/admin.h"

#include <stdio.h>
#include <string.h>

enum { FIELDS_MAX = 128 };

typedef struct field {
    pg_str name, value;
} field;

typedef struct fields {
    field at[FIELDS_MAX];
    size_t count;
} fields;

static pg_str cut(pg_str *rest, char at)
{
    const char *end = rest->n ? memchr(rest->p, at, rest->n) : NULL;
    pg_str head = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t skip = head.n + (end != NULL);
    rest->p += skip;
    rest->n -= skip;
    return head;
}

static void split(const char *key, fields *out)
{
    out->count = 0;
    for (pg_str rest = pg_str_of(key); rest.n && out->count < FIELDS_MAX;) {
        pg_str value = cut(&rest, '\n'), name = cut(&value, '=');
        out->at[out->count++] = (field){name, value};
    }
}

static const field *find_field(const fields *in, const field *like)
{
    for (size_t i = 0; i < in->count; i++)
        if (pg_str_eq(in->at[i].name, like->name))
            return &in->at[i];
    return NULL;
}

static void list_difference(ptxgen_cache_nearest_result *r, const field *named, const field *wanted,
                            const field *found)
{
    r->different++;
    if (r->listed == PTXGEN_CACHE_DIFFERENCES_MAX)
        return;
    ptxgen_cache_difference *d = &r->difference[r->listed++];
    snprintf(d->name, sizeof d->name, "%.*s", (int)named->name.n, named->name.p);
    snprintf(d->wanted, sizeof d->wanted, "%.*s", wanted ? (int)wanted->value.n : 0,
             wanted ? wanted->value.p : "");
    snprintf(d->found, sizeof d->found, "%.*s", found ? (int)found->value.n : 0,
             found ? found->value.p : "");
}

static void compare(const fields *wanted, const fields *found, ptxgen_cache_nearest_result *r)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const field *w = &wanted->at[i], *f = find_field(found, w);
        if (!f || !pg_str_eq(f->value, w->value))
            list_difference(r, w, w, f);
    }
    for (size_t i = 0; i < found->count; i++)
        if (!find_field(wanted, &found->at[i]))
            list_difference(r, &found->at[i], NULL, &found->at[i]);
}

typedef struct search {
    fields wanted, found;
    ptxgen_cache_nearest_result candidate, best;
    int64_t best_used;
    bool any;
} search;

static bool consider(void *user, const ptxgen_cache_record *record)
{
    search *s = user;
    if (*record->fault || record->status != PTXGEN_OK)
        return true;
    s->candidate.different = s->candidate.listed = 0;
    split(record->key, &s->found);
    compare(&s->wanted, &s->found, &s->candidate);
    size_t d = s->candidate.different;
    if (!s->any || d < s->best.different ||
        (d == s->best.different && record->used > s->best_used)) {
        memcpy(s->candidate.hash, record->hash, sizeof record->hash);
        s->best = s->candidate;
        s->best_used = record->used;
        s->any = true;
    }
    return true;
}

ptxgen_status ptxgen_cache_nearest(ptxgen_cache *cache, const char *key,
                                   ptxgen_cache_nearest_result *result, ptxgen_error *err)
{
    if (!key || !result)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL: give a key and a result",
                       key ? "result" : "key");
    search *s = pg_alloc_zero(&cache->alloc, sizeof *s);
    if (!s)
        return pg_fail_memory(err, sizeof *s);
    split(key, &s->wanted);
    ptxgen_status status = ptxgen_cache_each(cache, consider, s, err);
    if (status == PTXGEN_OK && !s->any)
        status = pg_fail(err, PTXGEN_EMISSING, "the cache '%s' has no kernel to compare with",
                         cache->path);
    pg_admin_give(result, &s->best, sizeof s->best);
    pg_free(&cache->alloc, s, sizeof *s);
    return status;
}
