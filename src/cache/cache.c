/* Create, look up, lock, clear: the contract's calls, put together from the parts. */
#include "cache/cache.h"

#include "base/error.h"
#include "cache/layers.h"
#include "cache/remote_layer.h"
#include "cache/space.h"
#include "cache/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { CLEAR_WAIT_MS = 60000 };
enum {
    DEFAULT_WAIT_MS = 30000,
    DEFAULT_FAILURE_TTL = 600,
    DEFAULT_MIN_AGE = 3600,
    DEFAULT_ENTRIES = 100000
};
static const uint64_t default_bytes = (uint64_t)2 << 30;

/* A program that runs with rights its caller does not have must not believe the caller's files. */
static bool runs_with_raised_rights(void)
{
    return getauxval(AT_SECURE) || geteuid() != getuid() || getegid() != getgid();
}

static void fill_defaults(pg_cache_config *config)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (config->wait_ms == 0)
        config->wait_ms = DEFAULT_WAIT_MS;
    if (config->failure_ttl == 0)
        config->failure_ttl = DEFAULT_FAILURE_TTL;
    if (config->slots == 0)
        config->slots = cpus > 0 ? (uint32_t)cpus : 1;
    if (config->max_bytes == 0)
        config->max_bytes = default_bytes;
    if (config->max_entries == 0)
        config->max_entries = DEFAULT_ENTRIES;
    if (config->min_age_s == 0)
        config->min_age_s = DEFAULT_MIN_AGE;
    if (config->files == NULL)
        config->files = &pg_files_libc;
}

static ptxgen_status read_keys(pg_cache *cache, ptxgen_error *err)
{
    if (cache->config.trust != PG_CACHE_TRUST_SIGNED)
        return PTXGEN_OK;
    if (!cache->config.trusted_keys || !*cache->config.trusted_keys)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "cache_trust=signed needs cache_keys, a file with the keys that are trusted");
    cache->trusted = pg_alloc_zero(&cache->alloc, sizeof *cache->trusted);
    return cache->trusted ? pg_trusted_keys_read(cache->config.trusted_keys, cache->trusted, err)
                          : pg_fail_memory(err, sizeof *cache->trusted);
}

static ptxgen_status read_mac_key(pg_cache *cache, ptxgen_error *err)
{
    const char *path = cache->config.mac_key;
    if (!path || !*path)
        return PTXGEN_OK;
    cache->mac = pg_alloc_zero(&cache->alloc, sizeof *cache->mac);
    return cache->mac ? pg_mac_read(path, cache->mac, err)
                      : pg_fail_memory(err, sizeof *cache->mac);
}

ptxgen_status pg_cache_create(const pg_alloc *alloc, const pg_log *log,
                              const pg_cache_config *config, pg_cache **out, ptxgen_error *err)
{
    pg_cache *cache = pg_alloc_zero(alloc, sizeof *cache);
    if (!cache)
        return pg_fail_memory(err, sizeof *cache);
    cache->alloc = *alloc;
    if (log)
        cache->log = *log;
    cache->config = *config;
    fill_defaults(&cache->config);
    cache->files = cache->config.files;
    const char *dir = config->dir ? config->dir : "";
    cache->dir_size = strlen(dir) + 1;
    cache->dir = pg_alloc_zero(alloc, cache->dir_size);
    /* A signature says who made an entry; of the own folder that is said by its owner. */
    const pg_cache_trust own =
        config->trust == PG_CACHE_TRUST_SIGNED ? PG_CACHE_TRUST_OWNER : config->trust;
    cache->folder = (pg_folder){cache->files, cache->dir, own, config->readable, -1, -1};
    atomic_init(&cache->opening, PG_OPENING_NEVER);
    bool raised = runs_with_raised_rights();
    size_t layers = raised ? 0 : config->layer_count;
    ptxgen_status status = read_keys(cache, err);
    if (status == PTXGEN_OK)
        status = read_mac_key(cache, err);
    if (status == PTXGEN_OK)
        status = cache->dir ? pg_layers_open(cache, config->layers, layers, err)
                            : pg_fail_memory(err, cache->dir_size);
    if (status == PTXGEN_OK) {
        memcpy(cache->dir, dir, cache->dir_size);
        if (!raised)
            status = pg_remote_layer_open(cache, err);
    }
    if (status != PTXGEN_OK) {
        pg_cache_destroy(cache);
        return status;
    }
    if (raised && (*dir || config->layer_count))
        pg_cache_stay_off(cache, "this process runs with raised rights (setuid or setgid)");
    else if (*dir)
        atomic_store(&cache->opening, pg_cache_open_folder(cache));
    *out = cache;
    return PTXGEN_OK;
}

static void free_secret(const pg_alloc *alloc, void *secret, size_t n)
{
    if (secret)
        explicit_bzero(secret, n);
    pg_free(alloc, secret, n);
}

void pg_cache_destroy(pg_cache *cache)
{
    if (!cache)
        return;
    pg_alloc alloc = cache->alloc;
    const bool on = atomic_load(&cache->opening) == PG_OPENING_DONE;
    pg_remote_destroy(cache->remote); /* it counts to the end */
    if (on && !cache->config.observer)
        pg_cache_flush_counts(cache);
    if (on)
        pg_locks_fini(&cache->locks);
    pg_layers_close(cache);
    pg_free(&alloc, cache->trusted, sizeof *cache->trusted);
    free_secret(&alloc, cache->mac, sizeof *cache->mac);
    free_secret(&alloc, cache->signer, sizeof *cache->signer);
    pg_folder_close(&cache->folder);
    pg_free(&alloc, cache->dir, cache->dir_size);
    pg_free(&alloc, cache, sizeof *cache);
}

pg_cache_found pg_cache_find(pg_cache *cache, pg_lookup *look, pg_cache_entry *out)
{
    *out = (pg_cache_entry){0};
    look->why = "there is no cache folder in use";
    const pg_cache_found found = pg_cache_is_on(cache)
                                     ? pg_cache_read(cache, &cache->folder, true, look, out)
                                     : PG_CACHE_MISS;
    if (found != PG_CACHE_MISS || pg_layers_find(cache, look, out))
        return found != PG_CACHE_MISS ? found : PG_CACHE_HIT;
    return PG_CACHE_MISS;
}

pg_cache_found pg_cache_lookup_judged(pg_cache *cache, pg_str key, const pg_cache_judge *judge,
                                      pg_cache_entry *out)
{
    pg_lookup look = {key, judge, NULL, NULL};
    const pg_cache_found found = pg_cache_find(cache, &look, out);
    if (found == PG_CACHE_MISS)
        out->miss = look.why;
    else
        pg_count_add(&cache->counts,
                     found == PG_CACHE_FAILED ? PG_COUNT_FAILURE_HITS
                     : out->layer             ? PG_COUNT_LAYER_HITS
                                              : PG_COUNT_HITS,
                     1);
    return found;
}

pg_cache_found pg_cache_lookup(pg_cache *cache, const char *key, size_t key_size,
                               pg_cache_entry *out)
{
    return pg_cache_lookup_judged(cache, (pg_str){key, key_size}, NULL, out);
}

void pg_cache_reject(pg_cache *cache, const char *key, size_t key_size)
{
    if (!pg_cache_is_on(cache))
        return;
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_REJECTED,
                     "the driver refused an entry in '%s'; it is compiled again", cache->dir);
    pg_entry_name name = pg_entry_name_of(pg_hash(key, key_size));
    int shard = pg_folder_open_shard(&cache->folder, name.shard);
    if (shard < 0)
        return;
    pg_cache_quarantine(cache, shard, name.leaf, 0);
    cache->files->close(cache->files->user, shard);
}

void pg_cache_acquire(pg_cache *cache, const char *key, size_t key_size, uint64_t *token)
{
    *token = 0;
    if (!pg_cache_is_on(cache))
        return;
    bool waited = false;
    uint64_t offset = pg_locks_key_offset(pg_hash(key, key_size));
    pg_lock_result r = pg_locks_take(&cache->locks, cache->folder.root, offset,
                                     cache->config.wait_ms, token, &waited);
    if (waited)
        pg_count_add(&cache->counts, PG_COUNT_LOCK_WAITS, 1);
    if (r == PG_LOCK_BUSY)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_LOCK_TIMEOUTS,
                         "another process has been compiling the same kernel for over %u ms; "
                         "compiling it here too",
                         cache->config.wait_ms);
}

/* Half as long as others wait for the key, so that they do not give up before its compile began. */
void pg_cache_take_slot(pg_cache *cache, uint64_t token)
{
    if (token)
        pg_locks_take_slot(&cache->locks, token, cache->config.slots, cache->config.wait_ms / 2);
}

void pg_cache_release(pg_cache *cache, uint64_t token)
{
    if (token)
        pg_locks_release(&cache->locks, token);
}

void pg_cache_fill_info(pg_cache *cache, ptxgen_cache_info *info)
{
    const pg_counts *c = &cache->counts;
    info->disk_hits = pg_count_get(c, PG_COUNT_HITS) + pg_count_get(c, PG_COUNT_LAYER_HITS);
    info->disk_errors =
        pg_count_get(c, PG_COUNT_READ_ERRORS) + pg_count_get(c, PG_COUNT_WRITE_ERRORS);
    info->corrupt_entries = pg_count_get(c, PG_COUNT_CORRUPT) +
                            pg_count_get(c, PG_COUNT_OTHER_KEY) +
                            pg_count_get(c, PG_COUNT_UNTRUSTED);
    info->layer_hits = pg_count_get(c, PG_COUNT_LAYER_HITS);
    info->failure_hits = pg_count_get(c, PG_COUNT_FAILURE_HITS);
    info->stores = pg_count_get(c, PG_COUNT_STORES);
    info->stores_skipped = pg_count_get(c, PG_COUNT_SKIPPED);
    info->evicted = pg_count_get(c, PG_COUNT_EVICTED);
    info->quarantined = pg_count_get(c, PG_COUNT_QUARANTINED);
    info->waits = pg_count_get(c, PG_COUNT_LOCK_WAITS);
    info->wait_timeouts = pg_count_get(c, PG_COUNT_LOCK_TIMEOUTS);
    info->mismatched = pg_count_get(c, PG_COUNT_MISMATCHED);
    info->signatures_refused = pg_count_get(c, PG_COUNT_SIGNATURES);
    info->macs_refused = pg_count_get(c, PG_COUNT_CODES);
    info->remote_hits = pg_count_get(c, PG_COUNT_REMOTE_HITS);
    info->remote_misses = pg_count_get(c, PG_COUNT_REMOTE_MISSES);
    info->remote_errors = pg_count_get(c, PG_COUNT_REMOTE_ERRORS);
    info->remote_stores = pg_count_get(c, PG_COUNT_REMOTE_STORES);
    info->remote_dropped = pg_count_get(c, PG_COUNT_REMOTE_DROPPED);
    for (int i = PG_COUNT_REMOTE_DAMAGED; i <= PG_COUNT_REMOTE_MISMATCHED; i++)
        info->remote_refused += pg_count_get(c, (pg_count)i);
    info->remote_breaker =
        !cache->remote ? PTXGEN_BREAKER_NONE
                       : (ptxgen_breaker)(PTXGEN_BREAKER_CLOSED + pg_remote_breaker(cache->remote));
    const bool on = pg_cache_is_on(cache);
    info->dir = on ? cache->dir : "";
    info->why_off = on ? "" : pg_cache_why_off(cache);
}

ptxgen_status pg_cache_clear(pg_cache *cache, ptxgen_error *err)
{
    if (!pg_cache_is_on(cache))
        return PTXGEN_OK;
    const pg_prune_rule everything = {0, 0, -1, -1, false};
    pg_prune_result result;
    pg_cache_empty_aside(cache);
    int r = pg_space_prune(cache, &everything, CLEAR_WAIT_MS, &result);
    if (r == 0 && result.first_error == 0)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EIO, "cannot remove '%s' from the cache folder '%s': %s",
                   *result.first_name ? result.first_name : "v1", cache->dir,
                   strerror(result.first_error ? result.first_error : -r));
}
