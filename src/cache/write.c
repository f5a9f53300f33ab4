/* Writing one entry: a temporary file in the entry's own shard, synced, renamed into place. After
 * an error no store is tried for a while: 1 s, doubled up to 5 minutes. */
#include "base/clock.h"
#include "cache/remote_layer.h"
#include "cache/space.h"
#include "cache/state.h"

#include <errno.h>
#include <string.h>

enum { PAUSE_FIRST_MS = 1000, PAUSE_MAX_MS = 300000 };

/* Renames under the space lock, so that the sums of the folder change together with it. */
static int put_in_place(pg_cache *cache, int shard, const char *temporary, const char *leaf,
                        size_t n)
{
    const pg_files *files = cache->files;
    pg_space_ticket ticket;
    pg_file_stat old;
    int r = pg_space_enter(cache, n, &ticket);
    if (r < 0)
        return r;
    bool replaces =
        files->stat_at(files->user, shard, leaf, &old) == 0 && old.type == PG_FILE_REGULAR;
    r = files->rename(files->user, shard, temporary, shard, leaf);
    if (r < 0)
        pg_space_leave(cache, &ticket, 0, 0);
    else
        pg_space_leave(cache, &ticket, (int64_t)n - (replaces ? (int64_t)old.size : 0),
                       replaces ? 0 : 1);
    return r;
}

int pg_cache_publish(pg_cache *cache, pg_hash128 hash, const void *bytes, size_t n)
{
    const pg_files *files = cache->files;
    pg_entry_name name = pg_entry_name_of(hash);
    int shard = pg_folder_make_shard(&cache->folder, name.shard);
    if (shard < 0)
        return shard;
    char temporary[64];
    const pg_file_temporary what = {bytes, n, !cache->config.no_sync,
                                    pg_folder_file_mode(&cache->folder)};
    int r = pg_file_write_temporary(files, shard, &what, temporary, sizeof temporary);
    if (r == 0) {
        r = put_in_place(cache, shard, temporary, name.leaf, n);
        if (r < 0)
            files->unlink(files->user, shard, temporary);
    }
    files->close(files->user, shard);
    return r;
}

static void note_error(pg_cache *cache, int error)
{
    uint32_t pause = atomic_load(&cache->write_pause_ms);
    pause = pause == 0 ? PAUSE_FIRST_MS : pause < PAUSE_MAX_MS / 2 ? pause * 2 : PAUSE_MAX_MS;
    atomic_store(&cache->write_pause_ms, pause);
    atomic_store(&cache->write_after_ms, pg_clock_ms() + pause);
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_WRITE_ERRORS,
                     "cannot write to '%s': %s; kernels stay in memory only", cache->dir,
                     strerror(error));
}

bool pg_cache_keep(pg_cache *cache, pg_str key, const pg_buf *bytes)
{
    pg_hash128 hash = pg_hash(key.p, key.n);
    int fault_errno, r = pg_cache_publish(cache, hash, bytes->data, bytes->len);
    /* The folder was removed under us: make it again, once. */
    if (r == -ENOENT && pg_folder_reopen(&cache->folder, &fault_errno) == PG_FOLDER_OK)
        r = pg_cache_publish(cache, hash, bytes->data, bytes->len);
    if (r == 0) {
        pg_count_add(&cache->counts, PG_COUNT_STORES, 1);
        atomic_store(&cache->write_pause_ms, 0);
    } else if (r == -EDQUOT) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_SKIPPED,
                         "no room in '%s': its limits or the disk's are reached and no entry is "
                         "old enough to be "
                         "removed; kernels stay in memory only",
                         cache->dir);
    } else {
        note_error(cache, -r);
    }
    return r == 0;
}

bool pg_cache_encode_own(pg_cache *cache, pg_str key, const pg_cache_entry *entry, pg_buf *out)
{
    return cache->mac ? pg_mac_encode(cache->mac, key, entry, out)
                      : pg_entry_encode(out, key, entry);
}

void pg_cache_store(pg_cache *cache, const char *key, size_t key_size, const pg_cache_entry *entry)
{
    pg_count_add(&cache->counts, PG_COUNT_MISSES, 1);
    if (!pg_cache_is_on(cache))
        return;
    int64_t now = pg_clock_ms();
    pg_cache_entry dated = *entry;
    if (dated.created == 0)
        dated.created = cache->files->now(cache->files->user);
    const pg_str text = {key, key_size};
    pg_buf bytes;
    pg_buf_init(&bytes, &cache->alloc);
    if (now < atomic_load(&cache->write_after_ms) ||
        !pg_cache_encode_own(cache, text, &dated, &bytes))
        pg_count_add(&cache->counts, PG_COUNT_SKIPPED, 1);
    else
        pg_cache_keep(cache, text, &bytes);
    pg_buf_fini(&bytes);
    pg_remote_layer_put(cache, text, &dated);
    if (now >= atomic_load(&cache->flush_after_ms)) {
        atomic_store(&cache->flush_after_ms, now + PG_CACHE_FLUSH_MS);
        pg_cache_flush_counts(cache);
    }
}
