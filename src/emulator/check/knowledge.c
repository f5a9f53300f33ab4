/* What is known within a cluster, and how threads hand it on; see state.h. */
#include "emulator/check/state.h"

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
        copy.part[i] = pg_vector_share(k->part[i]);
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
        pg_vector_drop(k, &what->part[i]);
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
    pg_vector *own = lanes ? pg_vector_own(checker, &to->seen, base + (uint32_t)PG_LANES) : NULL;
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
