/* Booking. The usage file is 64 bytes, written in place: magic, bytes, entries, counted, zeros,
 * XXH3-64 of the first 56. Torn or missing means the folder is counted. */
#include "cache/space.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "cache/prune.h"
#include "cache/state.h"

#include <errno.h>
#include <string.h>

enum {
    USAGE_SIZE = 64,
    RECOUNT_SECONDS = 24 * 3600,
    LOCK_WAIT_MS = 1000,
    BUSY_MS = 5000,         /* for so long after such a wait nobody waits again */
    FORGET_WAIT_MS = 20,    /* then the sum is too high until the next count */
    RETRY_MS = 30000,       /* after an eviction that found nothing to remove */
    FLOOR_BYTES = 64 << 20, /* never use the last of the disk */
    FLOOR_FILES = 256
};

static bool read_usage(pg_cache *cache, pg_space_ticket *t)
{
    unsigned char b[USAGE_SIZE];
    if (pg_file_read_exact(cache->files, t->fd, b, sizeof b, 0) < 0 ||
        memcmp(b, "PTXUSAGE", 8) != 0 || pg_get_le(b + 56, 8) != pg_hash64(b, 56))
        return false;
    t->usage = (pg_usage){pg_get_le(b + 8, 8), pg_get_le(b + 16, 8), (int64_t)pg_get_le(b + 24, 8)};
    int64_t age = cache->files->now(cache->files->user) - t->usage.counted;
    return age >= -RECOUNT_SECONDS && age < RECOUNT_SECONDS;
}

static void write_usage(pg_cache *cache, const pg_space_ticket *t)
{
    unsigned char b[USAGE_SIZE] = "PTXUSAGE";
    pg_put_le(b + 8, t->usage.bytes, 8);
    pg_put_le(b + 16, t->usage.entries, 8);
    pg_put_le(b + 24, (uint64_t)t->usage.counted, 8);
    pg_put_le(b + 56, pg_hash64(b, 56), 8);
    int r = pg_file_write_all(cache->files, t->fd, b, sizeof b, 0);
    if (r < 0)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_WRITE_ERRORS,
                         "cannot write '%s/usage': %s", cache->dir, strerror(-r));
}

static int take_lock(pg_cache *cache, uint32_t wait_ms, pg_space_ticket *t)
{
    bool waited;
    *t = (pg_space_ticket){.fd = -1};
    if (pg_locks_take(&cache->locks, cache->folder.root, PG_LOCK_SPACE, wait_ms, &t->lock,
                      &waited) == PG_LOCK_BUSY)
        return -EBUSY;
    t->fd = pg_file_open_or_create(cache->files, cache->folder.root, "usage");
    if (t->fd == -EISDIR || t->fd == -ELOOP) {
        cache->locks.clear_place(cache->locks.arg, "usage");
        t->fd = pg_file_open_or_create(cache->files, cache->folder.root, "usage");
    }
    if (t->fd >= 0)
        return 0;
    int r = t->fd;
    pg_locks_release(&cache->locks, t->lock);
    return r;
}

static void free_lock(pg_cache *cache, pg_space_ticket *t)
{
    cache->files->close(cache->files->user, t->fd);
    pg_locks_release(&cache->locks, t->lock);
}

/* Prunes under a lock that is held. */
static int prune_locked(pg_cache *cache, const pg_prune_rule *rule, pg_space_ticket *t,
                        pg_prune_result *result)
{
    int r = pg_prune_folder(cache, rule, result);
    if (r < 0)
        return r;
    t->usage = (pg_usage){result->bytes, result->entries, cache->files->now(cache->files->user)};
    write_usage(cache, t);
    pg_count_add(&cache->counts, PG_COUNT_EVICTED, result->removed);
    pg_count_add(&cache->counts, PG_COUNT_SWEPT, result->swept);
    return 0;
}

int pg_space_prune(pg_cache *cache, const pg_prune_rule *rule, uint32_t wait_ms,
                   pg_prune_result *result)
{
    pg_space_ticket t;
    *result = (pg_prune_result){0};
    if (rule->dry_run)
        return pg_prune_folder(cache, rule, result);
    int r = take_lock(cache, wait_ms, &t);
    if (r == -EBUSY)
        pg_locks_describe_holder(&cache->locks, cache->folder.root, PG_LOCK_SPACE, result->holder,
                                 sizeof result->holder);
    if (r < 0)
        return r;
    r = prune_locked(cache, rule, &t, result);
    free_lock(cache, &t);
    return r;
}

/* Bytes that are missing on the disk for an entry of this size. */
static uint64_t disk_shortage(pg_cache *cache, uint64_t bytes)
{
    pg_file_space space;
    if (cache->files->space(cache->files->user, cache->folder.root, &space) < 0)
        return 0;
    if (space.free_files < FLOOR_FILES)
        return bytes;
    return space.free_bytes < FLOOR_BYTES + bytes ? FLOOR_BYTES + bytes - space.free_bytes : 0;
}

static bool fits(const pg_cache *cache, const pg_usage *u, uint64_t bytes)
{
    const pg_cache_config *c = &cache->config;
    return bytes <= c->max_bytes && u->bytes <= c->max_bytes - bytes && u->entries < c->max_entries;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Down to nine tenths of the limits, so that the folder is not counted again at once. */
static int make_room(pg_cache *cache, uint64_t bytes, uint64_t shortage, pg_space_ticket *t)
{
    const pg_cache_config *c = &cache->config;
    if (bytes > c->max_bytes || pg_clock_ms() < atomic_load(&cache->make_room_after_ms))
        return -EDQUOT;
    uint64_t room = at_most(c->max_bytes - c->max_bytes / 10, c->max_bytes - bytes);
    if (shortage)
        room = at_most(room, t->usage.bytes > shortage ? t->usage.bytes - shortage : 0);
    pg_prune_rule rule = {room, c->max_entries - 1 - (c->max_entries - 1) / 10, c->min_age_s, -1,
                          false};
    pg_prune_result result = {0};
    int r = prune_locked(cache, &rule, t, &result);
    if (r < 0 || (fits(cache, &t->usage, bytes) && disk_shortage(cache, bytes) == 0))
        return r;
    atomic_store(&cache->make_room_after_ms, pg_clock_ms() + RETRY_MS);
    return -EDQUOT;
}

/* Without the lock: by the sums as they stand, if they do. */
static int enter_unbooked(pg_cache *cache, uint64_t bytes, pg_space_ticket *t)
{
    *t = (pg_space_ticket){.fd = -1, .unbooked = true};
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_LOCK_TIMEOUTS,
                     "the sums of '%s' are held by another process for over %d ms: entries are "
                     "added without it, and counted later",
                     cache->dir, (int)LOCK_WAIT_MS);
    if (bytes > cache->config.max_bytes || disk_shortage(cache, bytes))
        return -EDQUOT;
    t->fd = cache->files->open(cache->files->user, cache->folder.root, "usage",
                               O_RDONLY | O_NOFOLLOW, 0);
    const bool known = t->fd >= 0 && read_usage(cache, t);
    if (t->fd >= 0)
        cache->files->close(cache->files->user, t->fd);
    t->fd = -1;
    return known && !fits(cache, &t->usage, bytes) ? -EDQUOT : 0;
}

int pg_space_enter(pg_cache *cache, uint64_t bytes, pg_space_ticket *ticket)
{
    const bool busy = pg_clock_ms() < atomic_load(&cache->space_busy_until_ms);
    int r = take_lock(cache, busy ? 0 : LOCK_WAIT_MS, ticket);
    if (r == -EBUSY) {
        atomic_store(&cache->space_busy_until_ms, pg_clock_ms() + BUSY_MS);
        return enter_unbooked(cache, bytes, ticket);
    }
    if (r < 0)
        return r;
    if (!read_usage(cache, ticket)) {
        const pg_prune_rule keep_all = {UINT64_MAX, UINT64_MAX, -1, -1, false};
        pg_prune_result result = {0};
        r = prune_locked(cache, &keep_all, ticket, &result);
    }
    uint64_t shortage = disk_shortage(cache, bytes);
    if (r == 0 && (shortage || !fits(cache, &ticket->usage, bytes)))
        r = make_room(cache, bytes, shortage, ticket);
    if (r < 0)
        free_lock(cache, ticket);
    return r;
}

void pg_space_leave(pg_cache *cache, pg_space_ticket *ticket, int64_t bytes, int64_t entries)
{
    pg_usage *u = &ticket->usage;
    if (ticket->unbooked) { /* whoever finds no sums counts the folder */
        if (bytes || entries)
            cache->files->unlink(cache->files->user, cache->folder.root, "usage");
        return;
    }
    if (bytes || entries) {
        u->bytes = bytes < 0 && u->bytes < (uint64_t)-bytes ? 0 : u->bytes + (uint64_t)bytes;
        u->entries = entries < 0 && u->entries == 0 ? 0 : u->entries + (uint64_t)entries;
        write_usage(cache, ticket);
    }
    free_lock(cache, ticket);
}

void pg_space_forget(pg_cache *cache, uint64_t bytes)
{
    pg_space_ticket t;
    if (take_lock(cache, FORGET_WAIT_MS, &t) < 0)
        return;
    if (read_usage(cache, &t))
        pg_space_leave(cache, &t, -(int64_t)bytes, -1);
    else
        free_lock(cache, &t);
}
