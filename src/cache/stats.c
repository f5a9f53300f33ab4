/* Counters that outlive the process: the file "stats" holds the sums of all processes. It is
 * rewritten under a lock by temporary file and rename, when a cache is closed and at most once a
 * minute. */
#include "cache/state.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

enum { HEADER = 16, WAIT_MS = 20, ZERO_WAIT_MS = 10000, FILE_MAX = HEADER + 64 * 8 + 8 };

/* "PTXSTATS", count u32, zero u32, count x u64 in the order of PG_COUNT_MAP, XXH3-64 of that. */
static size_t encode(const uint64_t values[PG_COUNT_TOTAL], unsigned char out[FILE_MAX])
{
    memset(out, 0, FILE_MAX);
    memcpy(out, "PTXSTATS", 8);
    pg_put_le(out + 8, PG_COUNT_TOTAL, 4);
    size_t n = HEADER;
    for (size_t i = 0; i < PG_COUNT_TOTAL; i++, n += 8)
        pg_put_le(out + n, values[i], 8);
    pg_put_le(out + n, pg_hash64(out, n), 8);
    return n + 8;
}

/* A file of another version may have fewer or more counters. */
static void decode(const unsigned char *bytes, size_t size, uint64_t values[PG_COUNT_TOTAL])
{
    uint64_t count = size >= HEADER + 8 ? pg_get_le(bytes + 8, 4) : 0;
    memset(values, 0, PG_COUNT_TOTAL * sizeof *values);
    if (memcmp(bytes, "PTXSTATS", 8) != 0 || count > 64 || size < HEADER + count * 8 + 8 ||
        pg_get_le(bytes + HEADER + count * 8, 8) != pg_hash64(bytes, HEADER + count * 8))
        return;
    for (size_t i = 0; i < count && i < PG_COUNT_TOTAL; i++)
        values[i] = pg_get_le(bytes + HEADER + i * 8, 8);
}

void pg_cache_read_counts(pg_cache *cache, uint64_t values[PG_COUNT_TOTAL])
{
    const pg_files *files = cache->files;
    unsigned char bytes[FILE_MAX] = {0};
    int64_t n = 0;
    int fd = pg_cache_is_on(cache)
                 ? files->open(files->user, cache->folder.root, "stats", O_RDONLY | O_NOFOLLOW, 0)
                 : -1;
    if (fd >= 0) {
        n = files->read_at(files->user, fd, bytes, sizeof bytes, 0);
        files->close(files->user, fd);
    }
    decode(bytes, n > 0 ? (size_t)n : 0, values);
}

static int write_counts(pg_cache *cache, const uint64_t values[PG_COUNT_TOTAL])
{
    const pg_files *files = cache->files;
    unsigned char bytes[FILE_MAX];
    char temporary[64];
    const pg_file_temporary what = {bytes, encode(values, bytes), false,
                                    pg_folder_file_mode(&cache->folder)};
    int r = pg_file_write_temporary(files, cache->folder.root, &what, temporary, sizeof temporary);
    if (r < 0)
        return r;
    const int root = cache->folder.root;
    r = files->rename(files->user, root, temporary, root, "stats");
    if (r == -EISDIR || r == -ENOTEMPTY || r == -EEXIST) {
        cache->locks.clear_place(cache->locks.arg, "stats");
        r = files->rename(files->user, root, temporary, root, "stats");
    }
    if (r < 0)
        files->unlink(files->user, root, temporary);
    return r;
}

int pg_cache_zero_counts(pg_cache *cache)
{
    uint64_t token;
    bool waited;
    static const uint64_t none[PG_COUNT_TOTAL];
    if (pg_locks_take(&cache->locks, cache->folder.root, PG_LOCK_STATS, ZERO_WAIT_MS, &token,
                      &waited) == PG_LOCK_BUSY)
        return -EBUSY;
    const int r = write_counts(cache, none);
    pg_locks_release(&cache->locks, token);
    return r;
}

void pg_cache_flush_counts(pg_cache *cache)
{
    uint64_t added[PG_COUNT_TOTAL], values[PG_COUNT_TOTAL], sum = 0, token;
    bool waited;
    if (pg_locks_take(&cache->locks, cache->folder.root, PG_LOCK_STATS, WAIT_MS, &token, &waited) ==
        PG_LOCK_BUSY)
        return; /* they stay due */
    pg_counts_take_unflushed(&cache->counts, added);
    for (size_t i = 0; i < PG_COUNT_TOTAL; i++)
        sum += added[i];
    if (sum) {
        pg_cache_read_counts(cache, values);
        for (size_t i = 0; i < PG_COUNT_TOTAL; i++)
            values[i] += added[i];
        (void)write_counts(cache, values); /* they are only statistics */
    }
    pg_locks_release(&cache->locks, token);
}
