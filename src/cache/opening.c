/* Opening the folder, now or at a later request: a reason that may pass is tried again, with
 * growing pauses. */
#include "base/clock.h"
#include "cache/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum {
    OPEN_PAUSE_FIRST_MS = 100, /* after a passing failure, doubled each time */
    OPEN_PAUSE_MAX_MS = 60000
};

static void forget_parents_counts(void *arg)
{
    uint64_t added[PG_COUNT_TOTAL];
    pg_counts_take_unflushed(&((pg_cache *)arg)->counts, added);
}

static void clear_place(void *arg, const char *name)
{
    pg_cache_clear_place(arg, name);
}

pg_opening pg_cache_stay_off(pg_cache *cache, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(cache->off_reason, sizeof cache->off_reason, format, args);
    va_end(args);
    pg_log_line(&cache->log, PTXGEN_LOG_WARNING, "cache: not used: %s; kernels stay in memory only",
                cache->off_reason);
    return PG_OPENING_NEVER;
}

pg_opening pg_cache_open_folder(pg_cache *cache)
{
    if (cache->dir[0] != '/')
        return pg_cache_stay_off(cache, "the folder '%s' is not an absolute path", cache->dir);
    pg_folder_problem problem;
    if (pg_folder_open(&cache->folder, !cache->config.must_exist, &problem) != PG_FOLDER_OK) {
        char why[sizeof cache->off_reason];
        pg_folder_describe(&cache->folder, &problem, why, sizeof why);
        if (problem.fault != PG_FOLDER_IO || pg_errno_is_lasting(problem.error))
            return pg_cache_stay_off(cache, "%s", why);
        snprintf(cache->off_reason, sizeof cache->off_reason, "%s", why);
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_READ_ERRORS,
                         "not used for now: %s; it is tried again", why);
        return PG_OPENING_LATER;
    }
    cache->locks = (pg_locks){.files = cache->files,
                              .log = &cache->log,
                              .in_child = forget_parents_counts,
                              .clear_place = clear_place,
                              .arg = cache};
    pg_locks_init(&cache->locks, cache->folder.root);
    atomic_store(&cache->flush_after_ms, pg_clock_ms() + PG_CACHE_FLUSH_MS);
    return PG_OPENING_DONE;
}

const char *pg_cache_why_off(pg_cache *cache)
{
    /* A reason that may pass is written anew by every attempt. */
    return atomic_load(&cache->opening) == PG_OPENING_LATER
               ? "the folder cannot be opened just now (descriptors, memory); it is tried again"
               : cache->off_reason;
}

bool pg_cache_begin_opening(pg_cache *cache)
{
    int other = atomic_load(&cache->opener);
    const int self = (int)getpid();
    const int64_t now = pg_clock_ms();
    if (now < atomic_load(&cache->open_after_ms) || other == self ||
        !atomic_compare_exchange_strong(&cache->opener, &other, self))
        return false;
    uint32_t pause = atomic_load(&cache->open_pause_ms);
    pause = pause == 0                      ? OPEN_PAUSE_FIRST_MS
            : pause < OPEN_PAUSE_MAX_MS / 2 ? pause * 2
                                            : OPEN_PAUSE_MAX_MS;
    atomic_store(&cache->open_pause_ms, pause);
    atomic_store(&cache->open_after_ms, now + pause);
    return true;
}

void pg_cache_end_opening(pg_cache *cache)
{
    atomic_store(&cache->opener, 0);
}

bool pg_cache_is_on(pg_cache *cache)
{
    pg_opening opening = atomic_load_explicit(&cache->opening, memory_order_acquire);
    if (opening == PG_OPENING_LATER && pg_cache_begin_opening(cache)) {
        opening = atomic_load(&cache->opening);
        if (opening == PG_OPENING_LATER) {
            opening = pg_cache_open_folder(cache);
            atomic_store(&cache->opening, opening);
        }
        pg_cache_end_opening(cache);
    }
    return opening == PG_OPENING_DONE;
}
