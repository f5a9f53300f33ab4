/* Vector clocks with sharing; see state.h. */
#include "emulator/check/state.h"

static size_t vector_bytes(const pg_cluster *c)
{
    return sizeof(pg_vector) + ((pg_cluster_check *)c->check)->agents * sizeof(uint32_t);
}

static uint64_t new_id(pg_cluster *c)
{
    return ++((pg_cluster_check *)c->check)->vector_ids;
}

static pg_vector *new_vector(pg_cluster *c, const pg_vector *copy)
{
    pg_vector *v = pg_alloc_zero(c->launch->alloc, vector_bytes(c));
    if (!v)
        return NULL; /* knowledge is lost: reports may follow, the launch goes on */
    if (copy) {
        memcpy(v, copy, vector_bytes(c));
        v->above = copy->id;
    }
    v->id = new_id(c);
    v->references = 1;
    return v;
}

static void drop(pg_cluster *c, pg_vector *v)
{
    if (v && --v->references == 0)
        pg_free(c->launch->alloc, v, vector_bytes(c));
}

static pg_vector *share(pg_vector *v)
{
    if (v)
        v->references++;
    return v;
}

/* 1: a >= b everywhere, 2: b >= a, 3: equal, 0: neither. 3 may be told as 1 or 2. */
static int compare(const pg_cluster *c, const pg_vector *a, const pg_vector *b)
{
    if (a->above == b->id)
        return 1;
    if (b->above == a->id)
        return 2;
    const uint32_t n = ((pg_cluster_check *)c->check)->agents;
    uint32_t less = 0, more = 0;
    for (uint32_t i = 0; i < n; i++) {
        less |= a->clock[i] < b->clock[i];
        more |= a->clock[i] > b->clock[i];
    }
    return (less ? 0 : 1) | (more ? 0 : 2);
}

static void join_vector(pg_cluster *c, pg_vector **to, pg_vector *from)
{
    if (!from || *to == from)
        return;
    const int order = *to ? compare(c, *to, from) : 2;
    if (order & 1)
        return;
    if (order == 2) {
        drop(c, *to);
        *to = share(from);
        return;
    }
    pg_vector *both = (*to)->references == 1 ? share(*to) : new_vector(c, *to);
    if (!both)
        return;
    const uint32_t n = ((pg_cluster_check *)c->check)->agents;
    for (uint32_t i = 0; i < n; i++)
        if (both->clock[i] < from->clock[i])
            both->clock[i] = from->clock[i];
    both->id = new_id(c);
    drop(c, *to);
    *to = both;
}

void pg_knowledge_join(pg_cluster *c, pg_knowledge *to, const pg_knowledge *from)
{
    join_vector(c, &to->seen, from->seen);
    join_vector(c, &to->fenced, from->fenced);
    join_vector(c, &to->ordered, from->ordered);
    to->foreign |= from->foreign;
}

void pg_vector_join(pg_cluster *c, pg_vector **to, pg_vector *from)
{
    join_vector(c, to, from);
}

void pg_vector_drop(pg_cluster *c, pg_vector **v)
{
    drop(c, *v);
    *v = NULL;
}

void pg_knowledge_set(pg_cluster *c, pg_knowledge *to, const pg_knowledge *from)
{
    const pg_knowledge copy = {share(from->seen), share(from->fenced), share(from->ordered),
                               from->foreign};
    pg_knowledge_drop(c, to);
    *to = copy;
}

void pg_knowledge_drop(pg_cluster *c, pg_knowledge *k)
{
    drop(c, k->seen);
    drop(c, k->fenced);
    drop(c, k->ordered);
    *k = (pg_knowledge){0};
}

/* The vector with no other holder, to be raised; NULL: out of memory. */
static pg_vector *own_vector(pg_cluster *c, pg_vector **v)
{
    if (!*v || (*v)->references > 1) {
        pg_vector *own = new_vector(c, *v);
        if (!own)
            return NULL;
        drop(c, *v);
        *v = own;
    }
    (*v)->id = new_id(c);
    return *v;
}

void pg_knowledge_raise(pg_cluster *c, pg_vector **v, uint16_t agent, uint32_t clock)
{
    pg_vector *own = pg_vector_at(*v, agent) < clock ? own_vector(c, v) : NULL;
    if (own)
        own->clock[agent] = clock;
}

/* `foreign` apart. */
static bool knows_the_same(const pg_knowledge *a, const pg_knowledge *b)
{
    return a->seen == b->seen && a->fenced == b->fenced && a->ordered == b->ordered;
}

void pg_check_release(pg_warp *w, uint32_t lanes, pg_knowledge *to)
{
    pg_cluster *c = w->cta->cluster;
    pg_warp_check *k = pg_warp_check_of(w);
    const uint16_t base = pg_warp_agent(w);
    const pg_knowledge *last = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const pg_knowledge *mine = &k->lane[l];
        if (!last || !knows_the_same(last, mine) || last->foreign != mine->foreign)
            pg_knowledge_join(c, to, mine);
        last = mine;
    }
    pg_vector *own = lanes ? own_vector(c, &to->seen) : NULL;
    for (uint32_t left = own ? lanes : 0; left; left &= left - 1)
        own->clock[base + __builtin_ctz(left)] = k->now; /* nobody has seen a later one */
    k->now++;
}

void pg_check_acquire(pg_warp *w, uint32_t lanes, const pg_knowledge *from)
{
    pg_cluster *c = w->cta->cluster;
    pg_warp_check *k = pg_warp_check_of(w);
    pg_knowledge before = {0};
    const pg_knowledge *after = NULL;
    for (uint32_t left = lanes; left; left &= left - 1) {
        pg_knowledge *mine = &k->lane[__builtin_ctz(left)];
        /* Lanes that knew the same before know the same after: one join for all of them. */
        if (after && knows_the_same(mine, &before)) {
            const pg_knowledge shared = {share(after->seen), share(after->fenced),
                                         share(after->ordered), mine->foreign | from->foreign};
            pg_knowledge_drop(c, mine);
            *mine = shared;
            continue;
        }
        pg_knowledge_drop(c, &before);
        before =
            (pg_knowledge){share(mine->seen), share(mine->fenced), share(mine->ordered), false};
        pg_knowledge_join(c, mine, from);
        after = mine;
    }
    pg_knowledge_drop(c, &before);
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
