/* The parts of a pg_cache, for the files that implement it. */
#ifndef PG_CACHE_STATE_H
#define PG_CACHE_STATE_H

#include "base/str.h"
#include "runtime/cache.h"
#include "runtime/cache_counts.h"
#include "runtime/cache_folder.h"
#include "runtime/cache_lock.h"

struct pg_cache {
    pg_alloc alloc;
    pg_log log;
    pg_cache_config config; /* defaults filled in; its texts point to `dir` or are unused */
    const pg_files *files;
    char *dir;
    size_t dir_size;
    bool on; /* the folder is open, `locks` is initialised */
    pg_folder folder;
    pg_locks locks;
    pg_counts counts;
    _Atomic int64_t write_after_ms; /* no store before this moment of the monotonic clock */
    _Atomic uint32_t write_pause_ms; /* the last pause after a failed store; 0: the last one went well */
};

/* ---- cache_read.c ---- */

/* Looks in one folder; `own` is false for a read-only layer, which is never changed. */
pg_cache_found pg_cache_read(pg_cache *cache, const pg_folder *folder, bool own, pg_str key, pg_cache_entry *out);
/* Moves folder/name out of the way: into quarantine/, or deletes it when that is not possible. `inode` 0: any;
 * else only if that is still the file of this name. */
void pg_cache_quarantine(pg_cache *cache, int folder, const char *name, uint64_t inode);

/* ---- cache_write.c ---- */

/* Publishes encoded bytes as the entry of `hash`; 0 or a negative errno. */
int pg_cache_publish(pg_cache *cache, pg_hash128 hash, const void *bytes, size_t n);

#endif
