/* The cache's side of the remote store, as far as it gives: opening it, sending to it. */
#include "cache/remote_layer.h"

#include "base/error.h"

#include <string.h>

static void note(void *user, pg_remote_event event, const char *why)
{
    static const pg_count ids[] = {
        [PG_REMOTE_HIT] = PG_COUNT_REMOTE_HITS,        [PG_REMOTE_MISS] = PG_COUNT_REMOTE_MISSES,
        [PG_REMOTE_ERROR] = PG_COUNT_REMOTE_ERRORS,    [PG_REMOTE_STORED] = PG_COUNT_REMOTE_STORES,
        [PG_REMOTE_DROPPED] = PG_COUNT_REMOTE_DROPPED, [PG_REMOTE_OPENED] = PG_COUNT_REMOTE_OPENED};
    pg_cache *cache = user;
    if (event == PG_REMOTE_ERROR || event == PG_REMOTE_DROPPED)
        pg_count_trouble(&cache->counts, &cache->log, ids[event], "%s: %s",
                         cache->remote ? pg_remote_place(cache->remote) : "remote", why);
    else
        pg_count_add(&cache->counts, ids[event], 1);
}

ptxgen_status pg_remote_layer_open(pg_cache *cache, ptxgen_error *err)
{
    const pg_cache_config *c = &cache->config;
    if (c->sign_key && *c->sign_key) {
        cache->signer = pg_alloc_zero(&cache->alloc, sizeof *cache->signer);
        if (!cache->signer)
            return pg_fail_memory(err, sizeof *cache->signer);
        PG_TRY(pg_secret_key_read(c->sign_key, cache->signer, err));
    }
    if (!c->remote || !*c->remote || !cache->dir[0])
        return PTXGEN_OK;
    /* Where only what is signed is taken, what nobody signs would be sent in vain. */
    const pg_remote_config config = {
        .place = c->remote,
        .run_dir = c->remote_run_dir && *c->remote_run_dir ? c->remote_run_dir : cache->dir,
        .path = c->remote_path,
        .timeout_ms = c->remote_timeout_ms,
        .read_only = c->observer || (cache->trusted && !cache->signer),
        .note = note,
        .user = cache};
    return pg_remote_create(&cache->alloc, &cache->log, &config, &cache->remote, err);
}

void pg_remote_layer_put(pg_cache *cache, pg_str key, const pg_cache_entry *entry)
{
    if (!cache->remote || pg_remote_is_read_only(cache->remote) || entry->status != PTXGEN_OK ||
        !entry->cubin_size)
        return;
    pg_buf bytes;
    pg_buf_init(&bytes, &cache->alloc);
    pg_cache_entry bare = *entry;
    bare.mac = "";
    const bool good = cache->signer ? pg_signature_encode(cache->signer, key, &bare, 0, &bytes)
                                    : pg_entry_encode(&bytes, key, &bare);
    if (good)
        pg_remote_put(cache->remote, pg_hash(key.p, key.n), &bytes);
    else
        pg_buf_fini(&bytes);
}

/* ---- for who looks ---- */

const char *pg_cache_remote_place(const pg_cache *cache)
{
    return cache->remote ? pg_remote_place(cache->remote) : "";
}

ptxgen_status pg_cache_remote_ping(pg_cache *cache, double *us, ptxgen_error *err)
{
    return cache->remote
               ? pg_remote_ping(cache->remote, us, err)
               : pg_fail(err, PTXGEN_EMISSING,
                         "there is no remote store: set cache_remote, and a cache folder");
}

bool pg_cache_has_remote(const pg_cache *cache)
{
    return cache->remote != NULL;
}

uint32_t pg_cache_longest_wait_ms(const pg_cache *cache)
{
    return cache->config.wait_ms;
}
