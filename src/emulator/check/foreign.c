/* Checking mode: what is known about other clusters. An entry per cluster, sorted by its index;
 * a list is shared like a vector (reference counted, changed only while it has one holder). */
#include "emulator/check/state.h"

static size_t foreign_bytes(uint32_t capacity)
{
    return sizeof(pg_foreign) + capacity * sizeof(pg_foreign_entry);
}

static pg_foreign *new_list(pg_checker *k, uint32_t capacity)
{
    pg_foreign *f = pg_alloc_zero(k->launch->alloc, foreign_bytes(capacity));
    if (f) {
        f->references = 1;
        f->capacity = capacity;
    }
    return f;
}

pg_foreign *pg_foreign_share(pg_foreign *f)
{
    if (f)
        f->references++;
    return f;
}

void pg_foreign_drop(pg_checker *k, pg_foreign *f)
{
    if (!f || --f->references)
        return;
    for (uint32_t i = 0; i < f->count; i++)
        for (int p = 0; p < PG_KNOWN_PARTS; p++)
            pg_vector_drop(k, &f->entry[i].part[p]);
    pg_free(k->launch->alloc, f, foreign_bytes(f->capacity));
}

/* Index of the cluster's entry, or of the first one after it. */
static uint32_t place_of(const pg_foreign *f, uint32_t cluster)
{
    uint32_t low = 0, high = f->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (f->entry[middle].cluster < cluster)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const pg_foreign_entry *pg_foreign_find(const pg_foreign *f, uint32_t cluster)
{
    const uint32_t at = f ? place_of(f, cluster) : 0;
    return f && at < f->count && f->entry[at].cluster == cluster ? &f->entry[at] : NULL;
}

static void append_shared(pg_foreign *to, const pg_foreign_entry *e)
{
    pg_foreign_entry *copy = &to->entry[to->count++];
    copy->cluster = e->cluster;
    for (int p = 0; p < PG_KNOWN_PARTS; p++)
        copy->part[p] = pg_vector_share(e->part[p]);
}

/* The list with one holder and room for another entry; NULL: out of memory. */
static pg_foreign *own_list(pg_checker *k, pg_foreign **f)
{
    pg_foreign *old = *f;
    if (old && old->references == 1 && old->count < old->capacity)
        return old;
    const uint32_t count = old ? old->count : 0;
    pg_foreign *own = new_list(k, count + count / 2 + 4);
    if (!own)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        append_shared(own, &old->entry[i]);
    pg_foreign_drop(k, old);
    return *f = own;
}

static bool has_all(const pg_foreign_entry *e, pg_vector *const *part)
{
    for (int p = 0; p < PG_KNOWN_PARTS; p++)
        if (part[p] && e->part[p] != part[p])
            return false;
    return true;
}

void pg_foreign_add(pg_checker *k, pg_foreign **f, uint32_t cluster, pg_vector *const *part)
{
    const pg_foreign_entry *known = pg_foreign_find(*f, cluster);
    pg_foreign *own = known && has_all(known, part) ? NULL : own_list(k, f);
    if (!own)
        return;
    const uint32_t at = place_of(own, cluster);
    if (!known) {
        memmove(&own->entry[at + 1], &own->entry[at], (own->count - at) * sizeof *own->entry);
        own->entry[at] = (pg_foreign_entry){.cluster = cluster};
        own->count++;
    }
    for (int p = 0; p < PG_KNOWN_PARTS; p++)
        pg_vector_join(k, &own->entry[at].part[p], part[p]);
}

void pg_foreign_join(pg_checker *k, pg_foreign **to, pg_foreign *from)
{
    if (!from || *to == from)
        return;
    if (!*to) {
        *to = pg_foreign_share(from);
        return;
    }
    for (uint32_t i = 0; i < from->count; i++)
        pg_foreign_add(k, to, from->entry[i].cluster, from->entry[i].part);
}

void pg_foreign_fence(pg_checker *k, pg_foreign **f, int part)
{
    const pg_foreign *old = *f;
    bool fenced = true;
    for (uint32_t i = 0; old && i < old->count && fenced; i++)
        fenced = old->entry[i].part[part] == old->entry[i].part[PG_KNOWN_SEEN];
    for (uint32_t i = 0; !fenced && *f && i < (*f)->count; i++) {
        pg_vector *only[PG_KNOWN_PARTS] = {NULL};
        only[part] = (*f)->entry[i].part[PG_KNOWN_SEEN];
        pg_foreign_add(k, f, (*f)->entry[i].cluster, only);
    }
}
