/* Vector clocks with sharing; see state.h. */
#include "emulator/check/state.h"

enum { LENGTH_STEP = 32 }; /* vectors grow by so many components */

static size_t vector_bytes(uint32_t length)
{
    return sizeof(pg_vector) + length * sizeof(uint32_t);
}

static pg_vector *new_vector(pg_checker *k, const pg_vector *copy, uint32_t length)
{
    length = (length + LENGTH_STEP - 1) / LENGTH_STEP * LENGTH_STEP;
    if (copy && copy->length > length)
        length = copy->length;
    pg_vector *v = pg_alloc_zero(k->launch->alloc, vector_bytes(length));
    if (!v)
        return NULL; /* knowledge is lost: reports may follow, the launch goes on */
    v->length = length;
    if (copy) {
        memcpy(v->clock, copy->clock, copy->length * sizeof *v->clock);
        v->above = copy->id;
    }
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

static bool any_above_zero(const pg_vector *v, uint32_t from)
{
    uint32_t any = 0;
    for (uint32_t i = from; i < v->length; i++)
        any |= v->clock[i];
    return any != 0;
}

/* 1: a >= b everywhere, 2: b >= a, 3: equal, 0: neither. 3 may be told as 1 or 2. */
static int compare(const pg_vector *a, const pg_vector *b)
{
    if (a->above == b->id)
        return 1;
    if (b->above == a->id)
        return 2;
    const uint32_t n = a->length < b->length ? a->length : b->length;
    uint32_t less = 0, more = 0;
    for (uint32_t i = 0; i < n; i++) {
        less |= a->clock[i] < b->clock[i];
        more |= a->clock[i] > b->clock[i];
    }
    less |= any_above_zero(b, n);
    more |= any_above_zero(a, n);
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
    for (uint32_t i = 0; i < from->length; i++)
        if (both->clock[i] < from->clock[i])
            both->clock[i] = from->clock[i];
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

/* The vector with no other holder and room for the agent, to be raised; NULL: out of memory. */
static pg_vector *own_vector(pg_checker *k, pg_vector **v, uint32_t length)
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
        pg_vector_at(*v, agent) < clock ? own_vector(k, v, (uint32_t)agent + 1) : NULL;
    if (own)
        own->clock[agent] = clock;
}

/* ---- knowledge ---- */

void pg_knowledge_join(pg_checker *k, pg_knowledge *to, const pg_knowledge *from)
{
    for (int i = 0; i < PG_KNOWN_PARTS; i++)
        pg_vector_join(k, &to->part[i], from->part[i]);
    pg_foreign_join(k, &to->foreign, from->foreign);
}

static pg_knowledge shared(const pg_knowledge *k)
{
    pg_knowledge copy;
    for (int i = 0; i < PG_KNOWN_PARTS; i++)
        copy.part[i] = share(k->part[i]);
    copy.foreign = pg_foreign_share(k->foreign);
    return copy;
}

void pg_knowledge_set(pg_checker *k, pg_knowledge *to, const pg_knowledge *from)
{
    const pg_knowledge copy = shared(from);
    pg_knowledge_drop(k, to);
    *to = copy;
}

void pg_knowledge_drop(pg_checker *k, pg_knowledge *what)
{
    for (int i = 0; i < PG_KNOWN_PARTS; i++)
        drop(k, what->part[i]);
    pg_foreign_drop(k, what->foreign);
    *what = (pg_knowledge){.foreign = NULL};
}

bool pg_knowledge_is_empty(const pg_knowledge *k)
{
    for (int i = 0; i < PG_KNOWN_PARTS; i++)
        if (k->part[i])
            return false;
    return !k->foreign;
}

static bool knows_the_same(const pg_knowledge *a, const pg_knowledge *b)
{
    return !memcmp(a, b, sizeof *a);
}

void pg_check_release(pg_warp *w, uint32_t lanes, pg_knowledge *to)
{
    pg_checker *checker = w->launch->checker;
    pg_warp_check *k = pg_warp_check_of(w);
    const uint16_t base = pg_warp_agent(w);
    const pg_knowledge *last = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const pg_knowledge *mine = &k->lane[__builtin_ctz(left)];
        if (!last || !knows_the_same(last, mine))
            pg_knowledge_join(checker, to, mine);
        last = mine;
    }
    pg_vector *own = lanes ? own_vector(checker, &to->seen, base + (uint32_t)PG_LANES) : NULL;
    for (uint32_t left = own ? lanes : 0; left; left &= left - 1)
        own->clock[base + __builtin_ctz(left)] = k->now; /* nobody has seen a later one */
    k->now++;
}

void pg_check_acquire(pg_warp *w, uint32_t lanes, const pg_knowledge *from)
{
    pg_checker *checker = w->launch->checker;
    pg_warp_check *k = pg_warp_check_of(w);
    pg_knowledge before = {.foreign = NULL};
    const pg_knowledge *after = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        pg_knowledge *mine = &k->lane[__builtin_ctz(left)];
        /* Lanes that knew the same before know the same after: one join for all of them. */
        if (after && knows_the_same(mine, &before)) {
            pg_knowledge_set(checker, mine, after);
            continue;
        }
        pg_knowledge_set(checker, &before, mine);
        pg_knowledge_join(checker, mine, from);
        after = mine;
    }
    pg_knowledge_drop(checker, &before);
}

uint16_t pg_new_agent(pg_cluster *c, uint16_t count)
{
    pg_cluster_check *k = c->check;
    if (k->next_agent + count > k->agents)
        return (uint16_t)(k->agents - count);
    const uint16_t agent = (uint16_t)k->next_agent;
    k->next_agent += count;
    return agent;
}
