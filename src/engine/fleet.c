/* A worker never waits here for another machine: its queue does (compile_pool.c), so that ten
 * machines with one list of kernels each take others of it. */
#include "engine/fleet.h"

#include "base/clock.h"
#include "engine/cache_key.h"
#include "engine/entry_judge.h"

enum { PAUSE_FIRST_MS = 4, PAUSE_DOUBLINGS = 3 };

static pg_fetched fetch(pg_kernel_store *s, const pg_kernel_id *id, pg_claim *claim)
{
    ptxgen_kernel *k;
    pg_engine *e = s->engine;
    pg_fetched got = PG_FETCHED_NOTHING;
    if (pg_kernel_create(e, id, &k, NULL) != PTXGEN_OK)
        return got; /* who builds it says why */
    if (pg_write_key(&k->id, &e->extra_key, &k->key_text, NULL) == PTXGEN_OK) {
        pg_entry_judge judge = {k, ""};
        const pg_cache_judge say = pg_entry_judge_of(&judge);
        const pg_str key = {pg_buf_text(&k->key_text), k->key_text.len};
        got = pg_cache_fetch(e->cache, key, &say, claim);
    }
    ptxgen_kernel_unref(k);
    return got;
}

bool pg_fleet_begin(pg_kernel_store *s, const pg_kernel_id *id, pg_fleet *a)
{
    a->claim = (pg_claim){0};
    if (!id->assembled || !pg_cache_has_remote(s->engine->cache) ||
        pg_kernel_table_peek(s->table, id) != PG_KERNEL_ABSENT)
        return true;
    const int64_t now = pg_clock_ms();
    if (a->rounds == 0)
        a->since_ms = now;
    else if (now - a->since_ms > (int64_t)pg_cache_longest_wait_ms(s->engine->cache))
        return true;
    if (fetch(s, id, &a->claim) != PG_FETCHED_LATER)
        return true;
    a->rounds++;
    return false;
}

void pg_fleet_end(pg_kernel_store *s, pg_fleet *a)
{
    if (a->claim.held)
        pg_cache_unclaim(s->engine->cache, &a->claim);
}

uint32_t pg_fleet_pause_ms(const pg_fleet *a)
{
    const uint32_t doublings = a->rounds < PAUSE_DOUBLINGS ? a->rounds : PAUSE_DOUBLINGS;
    return a->rounds < 2 ? 0 : (uint32_t)PAUSE_FIRST_MS << doublings;
}
