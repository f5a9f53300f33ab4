/* The parts of a pg_cache, for the files that implement it. */
#ifndef PG_CACHE_STATE_H
#define PG_CACHE_STATE_H

#include "base/str.h"
#include "cache/cache.h"
#include "cache/block.h"
#include "cache/counts.h"
#include "cache/folder.h"
#include "cache/lock.h"
#include "cache/mac.h"
#include "cache/pack.h"
#include "cache/signature.h"
#include "remote/remote.h"

enum {
    PG_CACHE_FLUSH_MS = 60000
}; /* the counters are written at most this often, and at the end */

/* What became of opening a folder or layer. Only a lasting reason keeps it out for good. */
typedef enum pg_opening {
    PG_OPENING_LATER, /* a passing failure (no descriptors, no memory): tried again */
    PG_OPENING_DONE,
    PG_OPENING_NEVER
} pg_opening;

/* A read-only source below the folder: another folder, or a pack. */
typedef struct pg_layer {
    const char *path;            /* in pg_cache.layer_paths */
    _Atomic(pg_opening) opening; /* DONE: the rest may be used */
    bool is_pack;
    pg_folder folder;
    pg_pack pack;
} pg_layer;

struct pg_cache {
    pg_alloc alloc;
    pg_log log;
    pg_cache_config config; /* defaults filled in; `dir` and `layers` are not used from here */
    const pg_files *files;
    char *dir;
    size_t dir_size;
    /* DONE: the folder is open, `locks` is initialised. */
    _Atomic(pg_opening) opening;
    char off_reason[512];          /* why not, "" when no folder was named */
    _Atomic int64_t open_after_ms; /* no further attempt before, of the folder or a layer */
    _Atomic uint32_t open_pause_ms;
    _Atomic int opener; /* process id of the thread that makes one; another's: it has forked */
    pg_folder folder;
    pg_locks locks;
    pg_layer *layers;
    size_t layer_count, layers_size;
    char *layer_paths; /* their texts, one after the other */
    size_t layer_paths_size;
    pg_trusted_keys *trusted; /* of trust SIGNED */
    pg_mac *mac;              /* of the folder's entries; NULL: they have none */
    pg_secret_key *signer;    /* of what is sent to the remote store */
    pg_remote *remote;
    pg_counts counts;
    /* Moments of the monotonic clock. */
    _Atomic int64_t write_after_ms; /* no store before */
    _Atomic int64_t
        space_busy_until_ms; /* another held the space lock too long: not waited for before */
    _Atomic int64_t make_room_after_ms; /* no eviction before: the last removed nothing */
    _Atomic int64_t flush_after_ms;     /* next time for writing the counters */
    _Atomic uint32_t write_pause_ms;    /* the last pause after a failed store; 0: none */
};

/* ---- opening.c ---- */

/* Keeps the folder out for good, for a reason that is logged and kept. */
pg_opening pg_cache_stay_off(pg_cache *, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Opens cache->dir; the caller keeps what became of it. */
pg_opening pg_cache_open_folder(pg_cache *cache);
/* Whether the folder is in use; opens it when an earlier attempt failed for a reason that may
 * have passed. */
bool pg_cache_is_on(pg_cache *cache);
/* Of a folder that is not in use: why, "" when none was named. Stays as long as the cache. */
const char *pg_cache_why_off(pg_cache *cache);
/* Between these two no other thread opens anything; false: another does, or it is too early to
 * try again. */
bool pg_cache_begin_opening(pg_cache *cache);
void pg_cache_end_opening(pg_cache *cache);

/* ---- read.c ---- */

typedef struct pg_opened {
    int fd;
    pg_file_stat stat;
} pg_opened;

/* Opens an entry's file; a negative errno on failure. */
int pg_cache_open_entry(const pg_folder *folder, const pg_entry_name *name, pg_opened *out);
/* One question to the cache. */
typedef struct pg_lookup {
    pg_str key;
    const pg_cache_judge *judge; /* NULL: takes any entry */
    const char *why;             /* of a miss */
    char *made_by; /* PG_CACHE_MADE_BY bytes for the assembler of a remote entry; NULL: untold */
} pg_lookup;
/* Looks in one folder; `own` is false for a read-only layer, which is never changed. */
pg_cache_found pg_cache_read(pg_cache *cache, const pg_folder *folder, bool own, pg_lookup *look,
                             pg_cache_entry *out);
/* What the judge says of a sound entry; a wrong one is counted and logged with `where` it lies. */
pg_cache_verdict pg_cache_judge_entry(pg_cache *cache, pg_lookup *look, const pg_cache_entry *,
                                      bool own, const char *where);

/* ---- cache.c ---- */

/* A lookup in folder and layers that counts no hit. */
pg_cache_found pg_cache_find(pg_cache *cache, pg_lookup *look, pg_cache_entry *out);

/* ---- quarantine.c ---- */

/* Moves folder/name out of the way: into quarantine/, or deletes it when that is not possible.
 * `inode` 0: any; else only if that is still the file of this name. */
void pg_cache_quarantine(pg_cache *cache, int folder, const char *name, uint64_t inode);
void pg_cache_quarantine_entry(pg_cache *cache, const pg_entry_name *name, uint64_t inode);
/* Moves away what lies in the place of a file of ours and is no file, and says so. */
void pg_cache_clear_place(pg_cache *cache, const char *name);
/* Removes what quarantine/ and failed/ hold. */
void pg_cache_empty_aside(pg_cache *cache);

/* ---- write.c ---- */

/* Publishes encoded bytes as the entry of `hash`: 0, or a negative errno; -EDQUOT when there is no
 * room. */
int pg_cache_publish(pg_cache *cache, pg_hash128 hash, const void *bytes, size_t n);

/* Appends the file that the folder keeps of an entry; false: too large, or no memory. */
bool pg_cache_encode_own(pg_cache *cache, pg_str key, const pg_cache_entry *, pg_buf *out);
/* Publishes encoded bytes as the entry of a key; trouble is counted. */
bool pg_cache_keep(pg_cache *cache, pg_str key, const pg_buf *bytes);

/* ---- stats.c ---- */

/* Adds what was counted since the last time to the file "stats". */
void pg_cache_flush_counts(pg_cache *cache);
/* Begins that file anew; 0 or a negative errno. */
int pg_cache_zero_counts(pg_cache *cache);
/* Reads that file; zeros when there is none. */
void pg_cache_read_counts(pg_cache *cache, uint64_t values[PG_COUNT_TOTAL]);

#endif
