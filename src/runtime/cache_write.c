/* Writing one entry: a temporary file in the entry's own shard, synced, renamed into place. After an error
 * no store is tried for a while: 1 s, doubled up to 5 minutes. */
#include "runtime/cache_state.h"

#include "runtime/cache_entry.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 300000 };

static int64_t monotonic_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int write_temporary(pg_cache *cache, int shard, const char *temporary, const void *bytes, size_t n)
{
    const pg_files *files = cache->files;
    int fd = files->open(files->user, shard, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fd;
    int r = files->set_mode(files->user, shard, temporary, 0600); /* the umask may have taken bits */
    if (r == 0)
        r = pg_file_write_all(files, fd, bytes, n, 0);
    if (r == 0 && !cache->config.no_sync)
        r = files->sync(files->user, fd);
    int closed = files->close(files->user, fd); /* network filesystems report here */
    return r < 0 ? r : closed;
}

static int publish_in_shard(pg_cache *cache, int shard, const char *leaf, const void *bytes, size_t n)
{
    const pg_files *files = cache->files;
    char temporary[64];
    pg_file_unique_name(".tmp-", temporary, sizeof temporary);
    int r = write_temporary(cache, shard, temporary, bytes, n);
    if (r == 0)
        r = files->rename(files->user, shard, temporary, shard, leaf);
    if (r < 0)
        files->unlink(files->user, shard, temporary);
    return r;
}

int pg_cache_publish(pg_cache *cache, pg_hash128 hash, const void *bytes, size_t n)
{
    pg_entry_name name = pg_entry_name_of(hash);
    int shard = pg_folder_make_shard(&cache->folder, name.shard);
    if (shard < 0)
        return shard;
    int r = publish_in_shard(cache, shard, name.leaf, bytes, n);
    cache->files->close(cache->files->user, shard);
    return r;
}

static void note_write(pg_cache *cache, int r)
{
    if (r == 0) {
        pg_count_add(&cache->counts, PG_COUNT_STORES, 1);
        atomic_store(&cache->write_pause_ms, 0);
        return;
    }
    uint32_t pause = atomic_load(&cache->write_pause_ms);
    pause = pause == 0 ? PAUSE_FIRST_MS : pause < PAUSE_MAX_MS / 2 ? pause * 2 : PAUSE_MAX_MS;
    atomic_store(&cache->write_pause_ms, pause);
    atomic_store(&cache->write_after_ms, monotonic_ms() + pause);
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_WRITE_ERRORS,
                     "cannot write to '%s': %s; kernels stay in memory only", cache->dir, strerror(-r));
}

void pg_cache_store(pg_cache *cache, const char *key, size_t key_size, const pg_cache_entry *entry)
{
    pg_count_add(&cache->counts, PG_COUNT_MISSES, 1);
    if (!cache->on)
        return;
    pg_cache_entry dated = *entry;
    if (dated.created == 0)
        dated.created = cache->files->now(cache->files->user);
    pg_buf bytes;
    pg_buf_init(&bytes, &cache->alloc);
    if (monotonic_ms() < atomic_load(&cache->write_after_ms) ||
        !pg_entry_encode(&bytes, (pg_str){key, key_size}, &dated)) {
        pg_count_add(&cache->counts, PG_COUNT_SKIPPED, 1);
    } else {
        pg_hash128 hash = pg_hash(key, key_size);
        int fault_errno, r = pg_cache_publish(cache, hash, bytes.data, bytes.len);
        /* The folder was removed under us: make it again, once. */
        if (r == -ENOENT && pg_folder_reopen(&cache->folder, &fault_errno) == PG_FOLDER_OK)
            r = pg_cache_publish(cache, hash, bytes.data, bytes.len);
        note_write(cache, r);
    }
    pg_buf_fini(&bytes);
}
