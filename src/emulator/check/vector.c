/* Vector clocks with sharing; see state.h. */
#include "emulator/check/state.h"

enum {
    LENGTH_STEP = 32, /* vectors grow by so many components */
    SKIP_STEP = 512   /* and are passed over by so many where they are equal, as most are */
};

static size_t vector_bytes(uint32_t length)
{
    return sizeof(pg_vector) + length * sizeof(uint32_t);
}

static pg_vector *new_vector(pg_checker *k, const pg_vector *copy, uint32_t length)
{
    length = (length + LENGTH_STEP - 1) / LENGTH_STEP * LENGTH_STEP;
    if (copy && copy->length > length)
        length = copy->length;
    const pg_alloc *alloc = k->launch->alloc;
    pg_vector *v = alloc->realloc(alloc->user, NULL, 0, vector_bytes(length));
    if (!v)
        return NULL; /* knowledge is lost: reports may follow, the launch goes on */
    const uint32_t known = copy ? copy->length : 0;
    if (copy)
        memcpy(v->clock, copy->clock, known * sizeof *v->clock);
    memset(v->clock + known, 0, (length - known) * sizeof *v->clock);
    v->length = length;
    v->above = copy ? copy->id : 0;
    v->id = ++k->vector_ids;
    v->references = 1;
    return v;
}

static void drop(pg_checker *k, pg_vector *v)
{
    if (v && --v->references == 0)
        pg_free(k->launch->alloc, v, vector_bytes(v->length));
}

static pg_vector *share(pg_vector *v)
{
    if (v)
        v->references++;
    return v;
}

/* Lengths are multiples of LENGTH_STEP, and so many rounds without a branch become vector
 * instructions. */
static uint32_t any_of(const uint32_t *clock)
{
    uint32_t any = 0;
    for (int i = 0; i < LENGTH_STEP; i++)
        any |= clock[i];
    return any;
}

static bool any_above_zero(const pg_vector *v, uint32_t from)
{
    for (; from < v->length; from += LENGTH_STEP)
        if (any_of(v->clock + from))
            return true;
    return false;
}

/* The first step from `i` on in which the two differ; n: none. */
static uint32_t skip_equal(const uint32_t *a, const uint32_t *b, uint32_t i, uint32_t n)
{
    while (i + SKIP_STEP <= n && !memcmp(a + i, b + i, SKIP_STEP * sizeof *a))
        i += SKIP_STEP;
    while (i < n && !memcmp(a + i, b + i, LENGTH_STEP * sizeof *a))
        i += LENGTH_STEP;
    return i;
}

/* All bits, or none. */
static uint32_t where_below(uint32_t a, uint32_t b)
{
    return a < b ? UINT32_MAX : 0;
}

static bool any_below(const uint32_t *a, const uint32_t *b)
{
    uint32_t below = 0;
    for (int i = 0; i < LENGTH_STEP; i++)
        below |= where_below(a[i], b[i]);
    return below;
}

static void raise_all(uint32_t *restrict to, const uint32_t *restrict from)
{
    for (int i = 0; i < LENGTH_STEP; i++)
        to[i] += (from[i] - to[i]) & where_below(to[i], from[i]);
}

/* 1: a >= b everywhere, 2: b >= a, 3: equal, 0: neither. 3 may be told as 1 or 2. What was found is
 * kept: lanes that share a vector meet the same one in turn. */
static int compare(pg_vector *a, pg_vector *b)
{
    if (a->above == b->id)
        return 1;
    if (b->above == a->id)
        return 2;
    const uint32_t n = a->length < b->length ? a->length : b->length;
    bool less = any_above_zero(b, n), more = any_above_zero(a, n);
    for (uint32_t i = 0; (i = skip_equal(a->clock, b->clock, i, n)) < n && !(less && more);
         i += LENGTH_STEP) {
        less = less || any_below(a->clock + i, b->clock + i);
        more = more || any_below(b->clock + i, a->clock + i);
    }
    if (!less)
        a->above = b->id;
    else if (!more)
        b->above = a->id;
    return (less ? 0 : 1) | (more ? 0 : 2);
}

void pg_vector_join(pg_checker *k, pg_vector **to, pg_vector *from)
{
    if (!from || *to == from)
        return;
    const int order = *to ? compare(*to, from) : 2;
    if (order & 1)
        return;
    if (order == 2) {
        drop(k, *to);
        *to = share(from);
        return;
    }
    pg_vector *both = (*to)->references == 1 && (*to)->length >= from->length
                          ? share(*to)
                          : new_vector(k, *to, from->length);
    if (!both)
        return;
    const uint32_t n = from->length;
    for (uint32_t i = 0; (i = skip_equal(both->clock, from->clock, i, n)) < n; i += LENGTH_STEP)
        raise_all(both->clock + i, from->clock + i);
    both->id = ++k->vector_ids;
    drop(k, *to);
    *to = both;
}

void pg_vector_drop(pg_checker *k, pg_vector **v)
{
    drop(k, *v);
    *v = NULL;
}

pg_vector *pg_vector_share(pg_vector *v)
{
    return share(v);
}

pg_vector *pg_vector_own(pg_checker *k, pg_vector **v, uint32_t length)
{
    if (!*v || (*v)->references > 1 || (*v)->length < length) {
        pg_vector *own = new_vector(k, *v, length);
        if (!own)
            return NULL;
        drop(k, *v);
        *v = own;
    }
    (*v)->id = ++k->vector_ids;
    return *v;
}

void pg_vector_raise(pg_checker *k, pg_vector **v, uint16_t agent, uint32_t clock)
{
    pg_vector *own =
        pg_vector_at(*v, agent) < clock ? pg_vector_own(k, v, (uint32_t)agent + 1) : NULL;
    if (own)
        own->clock[agent] = clock;
}
