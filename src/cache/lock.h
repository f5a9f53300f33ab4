/* Locks between processes: one byte each of the file "lock" in the cache folder, which nobody ever
 * removes. The kernel frees them when their holder dies. A child made by fork() gives up its
 * copies at once, so it cannot keep a lock of its parent alive. Without a filesystem that is known
 * to lock well there are none. */
#ifndef PG_CACHE_LOCK_H
#define PG_CACHE_LOCK_H

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <pthread.h>

/* Bytes with a fixed meaning; keys use those from PG_LOCK_KEYS on. */
enum {
    PG_LOCK_SLOTS = 0,
    PG_LOCK_SLOTS_MAX = 1024,
    PG_LOCK_SPACE = 2048,
    PG_LOCK_STATS = 2049,
    PG_LOCK_WAITING = 2050, /* of one who waits for a slot */
    PG_LOCK_KEYS = 4096
};

enum { PG_LOCKS_HELD_MAX = 512 };

typedef struct pg_locks {
    const pg_files *files;
    const pg_log *log;
    pthread_mutex_t mutex;       /* guards what follows; never held while waiting */
    int held[PG_LOCKS_HELD_MAX]; /* descriptors of the lock file, -1: free */
    uint32_t forks;              /* tokens of before a fork mean nothing in the child */
    bool off;                    /* no locks here; was said */
    void (*in_child)(void *arg); /* called in a forked child; NULL: nothing */
    /* What lies in the place of a file of ours and is no file: moves it away; NULL: it stays. */
    void (*clear_place)(void *arg, const char *name);
    void *arg;
    struct pg_locks *next; /* list of all, for fork */
} pg_locks;

typedef enum pg_lock_result {
    PG_LOCK_TAKEN,
    PG_LOCK_BUSY, /* still held by another after the longest wait */
    PG_LOCK_NONE  /* no locks here */
} pg_lock_result;

/* The caller has set files, log and the functions. `folder` only tells what filesystem it
 * is on. */
void pg_locks_init(pg_locks *locks, int folder);
/* No token may be in use. */
void pg_locks_fini(pg_locks *locks);

/* Takes the byte at `offset`, waiting at most wait_ms; *token is then for pg_locks_release, else 0.
 * *waited: it was not free at once. After a second of waiting the log says for whom. */
pg_lock_result pg_locks_take(pg_locks *locks, int folder, uint64_t offset, uint32_t wait_ms,
                             uint64_t *token, bool *waited);
/* Adds one of `count` slot bytes to what the token holds; false: none was had in wait_ms. Those who
 * wait have equal chances at the next free one, in whatever thread or process they are. */
bool pg_locks_take_slot(pg_locks *locks, uint64_t token, uint32_t count, uint32_t wait_ms);
/* Who holds the byte at `offset`, for a message. */
void pg_locks_describe_holder(pg_locks *locks, int folder, uint64_t offset, char *out, size_t size);
void pg_locks_release(pg_locks *locks, uint64_t token);

uint64_t pg_locks_key_offset(pg_hash128 key);

#endif
