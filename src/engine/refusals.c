/* Each refusal is one block: error record and key. Blocks are made and freed outside the lock. */
#include "engine/refusals.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"

#include <pthread.h>
#include <string.h>

enum { PLACES = 64, DEFAULT_SECONDS = 600 };

typedef struct refusal {
    int64_t until_s;
    ptxgen_error error;
    size_t key_size;
    char key[];
} refusal;

struct pg_refusals {
    pg_alloc alloc;
    uint32_t seconds;
    pthread_mutex_t lock; /* of what follows */
    refusal *places[PLACES];
    uint64_t hits;
};

static refusal **place_of(pg_refusals *r, const char *key, size_t size)
{
    return &r->places[pg_hash64(key, size) % PLACES];
}

static void free_refusal(pg_refusals *r, refusal *old)
{
    if (old)
        pg_free(&r->alloc, old, sizeof *old + old->key_size);
}

ptxgen_status pg_refusals_create(const pg_alloc *alloc, uint32_t seconds, pg_refusals **out,
                                 ptxgen_error *err)
{
    pg_refusals *r = pg_alloc_zero(alloc, sizeof *r);
    if (!r)
        return pg_fail_memory(err, sizeof *r);
    r->alloc = *alloc;
    r->seconds = seconds ? seconds : DEFAULT_SECONDS;
    pthread_mutex_init(&r->lock, NULL);
    *out = r;
    return PTXGEN_OK;
}

void pg_refusals_destroy(pg_refusals *r)
{
    if (!r)
        return;
    const pg_alloc alloc = r->alloc;
    pg_refusals_clear(r);
    pthread_mutex_destroy(&r->lock);
    pg_free(&alloc, r, sizeof *r);
}

void pg_refusals_clear(pg_refusals *r)
{
    refusal *old[PLACES];
    pthread_mutex_lock(&r->lock);
    memcpy(old, r->places, sizeof old);
    memset(r->places, 0, sizeof r->places);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < PLACES; i++)
        free_refusal(r, old[i]);
}

bool pg_refusals_recall(pg_refusals *r, const char *key, size_t size, ptxgen_error *err)
{
    bool found = false;
    pthread_mutex_lock(&r->lock);
    const refusal *known = *place_of(r, key, size);
    if (known && known->key_size == size && memcmp(known->key, key, size) == 0 &&
        pg_clock_s() < known->until_s) {
        *err = known->error;
        r->hits++;
        found = true;
    }
    pthread_mutex_unlock(&r->lock);
    return found;
}

void pg_refusals_remember(pg_refusals *r, const char *key, size_t size, const ptxgen_error *err)
{
    refusal *fresh = pg_alloc_zero(&r->alloc, sizeof *fresh + size);
    if (!fresh)
        return;
    fresh->until_s = pg_clock_s() + r->seconds;
    fresh->error = *err;
    fresh->key_size = size;
    memcpy(fresh->key, key, size);
    pthread_mutex_lock(&r->lock);
    refusal **place = place_of(r, key, size), *old = *place;
    *place = fresh;
    pthread_mutex_unlock(&r->lock);
    free_refusal(r, old);
}

uint64_t pg_refusals_hits(pg_refusals *r)
{
    pthread_mutex_lock(&r->lock);
    const uint64_t hits = r->hits;
    pthread_mutex_unlock(&r->lock);
    return hits;
}

void pg_refusals_before_fork(pg_refusals *r)
{
    pthread_mutex_lock(&r->lock);
}

void pg_refusals_after_fork(pg_refusals *r)
{
    pthread_mutex_unlock(&r->lock);
}
