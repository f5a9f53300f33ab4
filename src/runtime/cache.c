/* Create, look up, lock, clear: the contract's calls, put together from the parts. */
#include "runtime/cache.h"

#include "base/error.h"
#include "runtime/cache_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { DEFAULT_WAIT_MS = 30000, DEFAULT_FAILURE_TTL = 600 };

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
    if (config->files == NULL)
        config->files = &pg_files_libc;
}

static void open_folder(pg_cache *cache)
{
    if (runs_with_raised_rights()) {
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING,
                    "cache: not used: this process runs with raised rights (setuid or setgid)");
        return;
    }
    if (cache->dir[0] != '/') {
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING, "cache: not used: the folder '%s' is not an absolute path",
                    cache->dir);
        return;
    }
    int fault_errno = 0;
    pg_folder_fault fault = pg_folder_open(&cache->folder, true, &fault_errno);
    if (fault != PG_FOLDER_OK) {
        pg_log_line(&cache->log, PTXGEN_LOG_WARNING,
                    "cache: not used: the folder '%s' %s%s%s; kernels stay in memory only", cache->dir,
                    pg_folder_fault_text(fault), fault == PG_FOLDER_IO ? ": " : "",
                    fault == PG_FOLDER_IO ? strerror(fault_errno) : "");
        return;
    }
    pg_locks_init(&cache->locks, cache->files, &cache->log, cache->folder.root);
    cache->on = true;
}

ptxgen_status pg_cache_create(const pg_alloc *alloc, const pg_log *log, const pg_cache_config *config,
                              pg_cache **out, ptxgen_error *err)
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
    if (!cache->dir) {
        pg_free(alloc, cache, sizeof *cache);
        return pg_fail_memory(err, strlen(dir) + 1);
    }
    memcpy(cache->dir, dir, cache->dir_size);
    cache->config.dir = cache->dir;
    cache->folder = (pg_folder){cache->files, cache->dir, config->trust, -1, -1};
    if (*dir)
        open_folder(cache);
    *out = cache;
    return PTXGEN_OK;
}

void pg_cache_destroy(pg_cache *cache)
{
    if (!cache)
        return;
    pg_alloc alloc = cache->alloc;
    if (cache->on)
        pg_locks_fini(&cache->locks);
    pg_folder_close(&cache->folder);
    pg_free(&alloc, cache->dir, cache->dir_size);
    pg_free(&alloc, cache, sizeof *cache);
}

pg_cache_found pg_cache_lookup(pg_cache *cache, const char *key, size_t key_size, pg_cache_entry *out)
{
    *out = (pg_cache_entry){0};
    if (!cache->on)
        return PG_CACHE_MISS;
    pg_cache_found found = pg_cache_read(cache, &cache->folder, true, (pg_str){key, key_size}, out);
    if (found != PG_CACHE_MISS)
        pg_count_add(&cache->counts, found == PG_CACHE_HIT ? PG_COUNT_HITS : PG_COUNT_FAILURE_HITS, 1);
    return found;
}

void pg_cache_entry_release(pg_cache *cache, pg_cache_entry *entry)
{
    pg_free(&cache->alloc, entry->storage, entry->storage_size);
    *entry = (pg_cache_entry){0};
}

void pg_cache_reject(pg_cache *cache, const char *key, size_t key_size)
{
    if (!cache->on)
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
    if (!cache->on)
        return;
    bool waited = false;
    uint64_t offset = pg_locks_key_offset(pg_hash(key, key_size));
    pg_lock_result r = pg_locks_take(&cache->locks, cache->folder.root, offset, cache->config.wait_ms, token, &waited);
    if (waited)
        pg_count_add(&cache->counts, PG_COUNT_LOCK_WAITS, 1);
    if (r == PG_LOCK_BUSY)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_LOCK_TIMEOUTS,
                         "another process has been compiling the same kernel for over %u ms; compiling it here too",
                         cache->config.wait_ms);
}

void pg_cache_take_slot(pg_cache *cache, uint64_t token)
{
    if (token)
        pg_locks_take_slot(&cache->locks, token, cache->config.slots, cache->config.wait_ms);
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
    info->disk_errors = pg_count_get(c, PG_COUNT_READ_ERRORS) + pg_count_get(c, PG_COUNT_WRITE_ERRORS);
    info->corrupt_entries = pg_count_get(c, PG_COUNT_CORRUPT) + pg_count_get(c, PG_COUNT_OTHER_KEY) +
                            pg_count_get(c, PG_COUNT_UNTRUSTED);
    info->waits = pg_count_get(c, PG_COUNT_LOCK_WAITS);
    info->wait_timeouts = pg_count_get(c, PG_COUNT_LOCK_TIMEOUTS);
    info->dir = cache->on ? cache->dir : "";
}

typedef struct clearing {
    const pg_files *files;
    int folder; /* being listed */
    int first_error;
    char first_name[64];
} clearing;

static bool clear_file(void *arg, const char *name)
{
    clearing *c = arg;
    /* Temporary files belong to a store that is under way. */
    int r = name[0] == '.' ? 0 : c->files->unlink(c->files->user, c->folder, name);
    if (r < 0 && r != -ENOENT && c->first_error == 0) {
        c->first_error = -r;
        snprintf(c->first_name, sizeof c->first_name, "%s", name);
    }
    return true;
}

static void clear_folder(clearing *c, int at, const char *name)
{
    int fd = c->files->open(c->files->user, at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    int outer = c->folder;
    c->folder = fd;
    int r = c->files->list(c->files->user, fd, clear_file, c);
    c->folder = outer;
    c->files->close(c->files->user, fd);
    if (r < 0 && c->first_error == 0) {
        c->first_error = -r;
        snprintf(c->first_name, sizeof c->first_name, "%s", name);
    }
}

static bool clear_shard(void *arg, const char *name)
{
    clearing *c = arg;
    clear_folder(c, c->folder, name);
    return true;
}

ptxgen_status pg_cache_clear(pg_cache *cache, ptxgen_error *err)
{
    if (!cache->on)
        return PTXGEN_OK;
    clearing c = {.files = cache->files, .folder = cache->folder.entries};
    int r = cache->files->list(cache->files->user, c.folder, clear_shard, &c);
    clear_folder(&c, cache->folder.root, "quarantine");
    if (r < 0 && c.first_error == 0)
        c.first_error = -r;
    if (c.first_error == 0)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EIO, "cannot remove '%s' from the cache folder '%s': %s", c.first_name, cache->dir,
                   strerror(c.first_error));
}
