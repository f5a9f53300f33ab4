/* The kernels in memory: a hash table in 32 independent shards, each with a lock that is held
 * for a lookup only, never while a kernel is built or memory is allocated. A kernel being built
 * is a flight: the first thread that asks builds, the others wait on the shard's condition for
 * the flight's result. */
#include "engine/kernel_table.h"

#include "base/error.h"
#include "base/fork_guard.h"
#include "base/hash.h"
#include "base/lock.h"
#include "engine/kernel.h"

#include <sys/syscall.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

enum { SHARDS = 32, FIRST_BUCKETS = 16 };

/* One build in progress. Lives on the builder's stack: it leaves only when no waiter looks at it
 * any more. */
typedef struct flight {
    struct flight *next;
    const pg_kernel_id *id;
    uint64_t hash;
    bool done;
    size_t waiters;
    pid_t builder;         /* its thread, as the system counts them */
    ptxgen_kernel *kernel; /* the result; NULL: it failed with `error` */
    ptxgen_kernel *stale;  /* what it takes the place of: a rejected one */
    ptxgen_error error;
} flight;

typedef struct shard {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ptxgen_kernel **buckets;      /* chains through ptxgen_kernel.next */
    size_t bucket_count, entries; /* bucket_count: a power of two */
    uint64_t hits;
    flight *flights;
} shard;

struct pg_kernel_table {
    pg_alloc alloc;
    shard shards[SHARDS];
};

static uint64_t hash_id(const pg_kernel_id *id)
{
    return pg_hash64(id->key, id->family->params.key_size) ^ (uintptr_t)id->family ^ id->assembled;
}

ptxgen_status pg_kernel_table_create(const pg_alloc *alloc, pg_kernel_table **out,
                                     ptxgen_error *err)
{
    pg_kernel_table *t = pg_alloc_zero(alloc, sizeof *t);
    if (!t)
        return pg_fail_memory(err, sizeof *t);
    t->alloc = *alloc;
    for (int i = 0; i < SHARDS; i++) {
        pg_lock_init(&t->shards[i].lock);
        pthread_cond_init(&t->shards[i].changed, NULL);
    }
    *out = t;
    return PTXGEN_OK;
}

void pg_kernel_table_clear(pg_kernel_table *t)
{
    for (int i = 0; i < SHARDS; i++) {
        shard *s = &t->shards[i];
        pthread_mutex_lock(&s->lock);
        ptxgen_kernel **buckets = s->buckets;
        const size_t count = s->bucket_count;
        s->buckets = NULL;
        s->bucket_count = s->entries = 0;
        pthread_mutex_unlock(&s->lock);
        for (size_t b = 0; b < count; b++) {
            for (ptxgen_kernel *k = buckets[b], *next; k; k = next) {
                next = k->next;
                ptxgen_kernel_unref(k);
            }
        }
        pg_free(&t->alloc, buckets, count * sizeof *buckets);
    }
}

void pg_kernel_table_destroy(pg_kernel_table *t)
{
    pg_kernel_table_clear(t);
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_destroy(&t->shards[i].lock);
        pthread_cond_destroy(&t->shards[i].changed);
    }
    const pg_alloc alloc = t->alloc;
    pg_free(&alloc, t, sizeof *t);
}

static ptxgen_kernel **bucket_of(ptxgen_kernel **buckets, size_t count, uint64_t hash)
{
    return &buckets[(hash >> 6) & (count - 1)];
}

static ptxgen_kernel *find(const shard *s, const pg_kernel_id *id, uint64_t hash)
{
    if (!s->bucket_count)
        return NULL;
    for (ptxgen_kernel *k = *bucket_of(s->buckets, s->bucket_count, hash); k; k = k->next)
        if (k->hash == hash && pg_kernel_id_same(&k->id, id) && !pg_kernel_is_rejected(k))
            return k;
    return NULL;
}

/* Takes a rejected kernel of this identity out of the shard; NULL when there is none. */
static ptxgen_kernel *take_rejected(shard *s, const pg_kernel_id *id, uint64_t hash)
{
    if (!s->bucket_count)
        return NULL;
    ptxgen_kernel **link = bucket_of(s->buckets, s->bucket_count, hash), *k;
    while ((k = *link) &&
           !(k->hash == hash && pg_kernel_id_same(&k->id, id) && pg_kernel_is_rejected(k)))
        link = &k->next;
    if (k) {
        *link = k->next;
        s->entries--;
    }
    return k;
}

/* Puts `buckets` in the place of the shard's own, which are given back. */
static ptxgen_kernel **exchange_buckets(shard *s, ptxgen_kernel **buckets, size_t count)
{
    ptxgen_kernel **const old = s->buckets;
    for (size_t b = 0; b < s->bucket_count; b++) {
        for (ptxgen_kernel *k = old[b], *next; k; k = next) {
            next = k->next;
            ptxgen_kernel **bucket = bucket_of(buckets, count, k->hash);
            k->next = *bucket;
            *bucket = k;
        }
    }
    s->buckets = buckets;
    s->bucket_count = count;
    return old;
}

/* Doubles the buckets of a full shard. Called without its lock. Failing is no fault: chains grow
 * longer. */
static void make_room(pg_kernel_table *t, shard *s)
{
    pthread_mutex_lock(&s->lock);
    const size_t had = s->bucket_count;
    const bool full = s->entries >= had;
    pthread_mutex_unlock(&s->lock);
    size_t count = had ? had * 2 : FIRST_BUCKETS;
    ptxgen_kernel **buckets = full ? pg_alloc_zero(&t->alloc, count * sizeof *buckets) : NULL;
    if (!buckets)
        return;
    pthread_mutex_lock(&s->lock);
    if (s->bucket_count == had) {
        buckets = exchange_buckets(s, buckets, count);
        count = had;
    }
    pthread_mutex_unlock(&s->lock);
    pg_free(&t->alloc, buckets, count * sizeof *buckets);
}

/* false when there was no memory for even the first buckets: the kernel is then not kept. */
static bool insert(shard *s, ptxgen_kernel *k)
{
    if (!s->bucket_count)
        return false;
    ptxgen_kernel **bucket = bucket_of(s->buckets, s->bucket_count, k->hash);
    k->next = *bucket;
    *bucket = k;
    s->entries++;
    return true;
}

static flight *find_flight(const shard *s, const pg_kernel_id *id, uint64_t hash)
{
    flight *f = s->flights;
    while (f && !(f->hash == hash && pg_kernel_id_same(f->id, id)))
        f = f->next;
    return f;
}

/* The flight stays while it has waiters, also without the shard's lock. */
static void say_who_is_awaited(shard *s, const flight *f, const pg_log *log)
{
    pthread_mutex_unlock(&s->lock);
    pg_log_line(log, PTXGEN_LOG_WARNING,
                "waiting for thread %d of this process, which compiles the same kernel of %s",
                (int)f->builder, f->id->family->name);
    pthread_mutex_lock(&s->lock);
}

/* Waits for another thread's build. The shard's lock is held. */
static ptxgen_status join(shard *s, flight *f, const pg_log *log, ptxgen_kernel **out,
                          ptxgen_error *err)
{
    struct timespec said_at;
    clock_gettime(CLOCK_REALTIME, &said_at);
    said_at.tv_sec++;
    f->waiters++;
    int r = 0;
    while (!f->done && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&s->changed, &s->lock, &said_at);
    if (!f->done)
        say_who_is_awaited(s, f, log);
    while (!f->done)
        pthread_cond_wait(&s->changed, &s->lock);
    ptxgen_status status = PTXGEN_OK;
    if (f->kernel) {
        *out = ptxgen_kernel_ref(f->kernel);
    } else {
        status = f->error.status;
        if (err)
            *err = f->error;
    }
    if (--f->waiters == 0)
        pthread_cond_broadcast(&s->changed);
    return status;
}

/* In a child of fork() the flight is not there any more. */
static void remove_flight(shard *s, flight *f)
{
    flight **link = &s->flights;
    while (*link && *link != f)
        link = &(*link)->next;
    if (*link)
        *link = f->next;
}

/* Builds, publishes, and lets the waiters go. The shard's lock is held on entry and on return. */
static ptxgen_status fly(pg_kernel_table *t, shard *s, flight *f, pg_kernel_source source)
{
    f->next = s->flights;
    s->flights = f;
    pthread_mutex_unlock(&s->lock);
    const unsigned generation = pg_fork_generation();
    ptxgen_kernel *k = NULL;
    const ptxgen_status status = source.build(source.user, f->id, &k, &f->error);
    make_room(t, s);
    pthread_mutex_lock(&s->lock);
    if (pg_fork_generation() != generation)
        f->waiters = 0; /* the build itself forked, and they wait in the parent */
    remove_flight(s, f);
    if (status == PTXGEN_OK) {
        k->hash = f->hash;
        f->stale = take_rejected(s, f->id, f->hash);
        if (insert(s, k))
            ptxgen_kernel_ref(k);
        f->kernel = k;
    }
    f->done = true;
    pthread_cond_broadcast(&s->changed);
    while (f->waiters)
        pthread_cond_wait(&s->changed, &s->lock);
    return status;
}

ptxgen_status pg_kernel_table_get(pg_kernel_table *t, const pg_kernel_id *id,
                                  pg_kernel_source source, ptxgen_kernel **out, ptxgen_error *err)
{
    const uint64_t hash = hash_id(id);
    shard *s = &t->shards[hash % SHARDS];
    ptxgen_status status = PTXGEN_OK;
    pthread_mutex_lock(&s->lock);
    ptxgen_kernel *k = find(s, id, hash);
    if (k) {
        s->hits++;
        *out = ptxgen_kernel_ref(k);
        pthread_mutex_unlock(&s->lock);
        return PTXGEN_OK;
    }
    flight mine = {.id = id, .hash = hash, .builder = (pid_t)syscall(SYS_gettid)},
           *f = find_flight(s, id, hash);
    if (f) {
        status = join(s, f, source.log, out, err);
    } else {
        status = fly(t, s, &mine, source);
        *out = mine.kernel;
        if (status != PTXGEN_OK && err)
            *err = mine.error;
    }
    pthread_mutex_unlock(&s->lock);
    ptxgen_kernel_unref(mine.stale);
    return status;
}

ptxgen_kernel *pg_kernel_table_find(pg_kernel_table *t, const pg_kernel_id *id)
{
    const uint64_t hash = hash_id(id);
    shard *s = &t->shards[hash % SHARDS];
    pthread_mutex_lock(&s->lock);
    ptxgen_kernel *k = find(s, id, hash);
    if (k) {
        s->hits++;
        ptxgen_kernel_ref(k);
    }
    pthread_mutex_unlock(&s->lock);
    return k;
}

pg_presence pg_kernel_table_peek(pg_kernel_table *t, const pg_kernel_id *id)
{
    const uint64_t hash = hash_id(id);
    shard *s = &t->shards[hash % SHARDS];
    pthread_mutex_lock(&s->lock);
    const pg_presence p = find(s, id, hash)          ? PG_KERNEL_PRESENT
                          : find_flight(s, id, hash) ? PG_KERNEL_IN_FLIGHT
                                                     : PG_KERNEL_ABSENT;
    pthread_mutex_unlock(&s->lock);
    return p;
}

void pg_kernel_table_remove(pg_kernel_table *t, ptxgen_kernel *k)
{
    shard *s = &t->shards[k->hash % SHARDS];
    bool found = false;
    pthread_mutex_lock(&s->lock);
    ptxgen_kernel **link = s->bucket_count ? bucket_of(s->buckets, s->bucket_count, k->hash) : NULL;
    while (link && *link && *link != k)
        link = &(*link)->next;
    if (link && *link) {
        *link = k->next;
        s->entries--;
        found = true;
    }
    pthread_mutex_unlock(&s->lock);
    if (found)
        ptxgen_kernel_unref(k);
}

void pg_kernel_table_before_fork(pg_kernel_table *t)
{
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_lock(&t->shards[i].lock);
}

void pg_kernel_table_after_fork(pg_kernel_table *t, bool child)
{
    for (int i = 0; i < SHARDS; i++) {
        shard *s = &t->shards[i];
        if (child) { /* the builders and their waiters exist in the parent only */
            s->flights = NULL;
            s->changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        }
        pthread_mutex_unlock(&s->lock);
    }
}

void pg_kernel_table_counts(pg_kernel_table *t, uint64_t *hits, uint64_t *entries)
{
    *hits = *entries = 0;
    for (int i = 0; i < SHARDS; i++) {
        shard *s = &t->shards[i];
        pthread_mutex_lock(&s->lock);
        *hits += s->hits;
        *entries += s->entries;
        pthread_mutex_unlock(&s->lock);
    }
}
