/* Each taken lock has its own open file description, so that release is a close, two takers in one
 * process exclude each other as two processes do, and death frees everything. Waiting is polling
 * with a back-off from 0.2 to 20 ms (1 ms for what is held for microseconds): there is no way to
 * wait for a byte lock with a deadline.
 *
 * Compile slots are taken again by a busy thread the moment it has freed one, and a poller would
 * find them free by luck only. So one of those who wait holds the byte PG_LOCK_WAITING; who comes
 * new and finds it taken does not try at once but waits like everybody else, and all poll at the
 * same pace: each has the same chance. Nobody waits for the holder of that byte, so it may be
 * stopped. */
#include "cache/lock.h"

#include "base/clock.h"
#include "cache/holder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Filesystems of one machine whose byte locks are sound, by statfs magic. Everything else (NFS,
 * SMB, FUSE, Lustre, GPFS, unknown ones) is used without locks. */
static const uint32_t local_filesystems[] = {
    0xef53,     /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0x01021994, /* tmpfs */
    0x858458f6, /* ramfs */
    0x794c7630, /* overlayfs */
    0xf2f52010, /* f2fs */
    0x2fc12fc1, /* zfs */
    0xca451a4e, /* bcachefs */
    0x3153464a, /* jfs */
    0x52654973, /* reiserfs */
};

/* How often those who wait for a compile slot look; a compile takes 5 to 500 ms. */
enum { SLOT_PACE_US = 3000 };
enum { SAY_AFTER_US = 1000000 };

/* All lock tables of the process, for fork. */
static pthread_mutex_t all_mutex = PTHREAD_MUTEX_INITIALIZER;
static pg_locks *all;

static void before_fork(void)
{
    pthread_mutex_lock(&all_mutex);
    for (pg_locks *l = all; l; l = l->next)
        pthread_mutex_lock(&l->mutex);
}

static void after_fork_parent(void)
{
    for (pg_locks *l = all; l; l = l->next)
        pthread_mutex_unlock(&l->mutex);
    pthread_mutex_unlock(&all_mutex);
}

static void after_fork_child(void)
{
    for (pg_locks *l = all; l; l = l->next) {
        for (size_t i = 0; i < PG_LOCKS_HELD_MAX; i++)
            if (l->held[i] >= 0) {
                l->files->close(l->files->user, l->held[i]);
                l->held[i] = -1;
            }
        l->forks++;
        if (l->in_child)
            l->in_child(l->arg);
        pthread_mutex_unlock(&l->mutex);
    }
    pthread_mutex_unlock(&all_mutex);
}

static void install_fork_handlers(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

static bool is_local(const pg_files *files, int folder)
{
    uint64_t magic;
    if (files->filesystem(files->user, folder, &magic) < 0)
        return false;
    for (size_t i = 0; i < sizeof local_filesystems / sizeof *local_filesystems; i++)
        if (local_filesystems[i] == magic)
            return true;
    return false;
}

/* The host's log hook is called without the mutex: it may do anything, fork for instance. */
static void turn_off(pg_locks *locks, const char *why)
{
    pthread_mutex_lock(&locks->mutex);
    bool first = !locks->off;
    locks->off = true;
    pthread_mutex_unlock(&locks->mutex);
    if (first)
        pg_log_line(locks->log, PTXGEN_LOG_WARNING,
                    "cache: no locks between processes (%s): a kernel may be compiled by several "
                    "processes at once; a cache folder on a local disk avoids that",
                    why);
}

void pg_locks_init(pg_locks *locks, int folder)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install_fork_handlers);
    pthread_mutex_init(&locks->mutex, NULL);
    for (size_t i = 0; i < PG_LOCKS_HELD_MAX; i++)
        locks->held[i] = -1;
    if (!is_local(locks->files, folder))
        turn_off(locks, "the cache folder is on a network or unknown filesystem");
    pthread_mutex_lock(&all_mutex);
    locks->next = all;
    all = locks;
    pthread_mutex_unlock(&all_mutex);
}

void pg_locks_fini(pg_locks *locks)
{
    pthread_mutex_lock(&all_mutex);
    for (pg_locks **p = &all; *p; p = &(*p)->next)
        if (*p == locks) {
            *p = locks->next;
            break;
        }
    pthread_mutex_unlock(&all_mutex);
    pthread_mutex_destroy(&locks->mutex);
}

/* Opening and entering in the table is one step under the mutex: a fork in between would leave
 * the child a descriptor that it does not know of. 0: *error says why, 0 for no locks here or
 * too many. */
static uint64_t open_lock_file(pg_locks *locks, int folder, int *out, int *error)
{
    uint64_t token = 0;
    *error = 0;
    pthread_mutex_lock(&locks->mutex);
    for (uint32_t i = 0; i < PG_LOCKS_HELD_MAX && !locks->off && !token; i++) {
        if (locks->held[i] >= 0)
            continue;
        *out = pg_file_open_or_create(locks->files, folder, "lock");
        if (*out < 0) {
            *error = -*out;
            break;
        }
        locks->held[i] = *out;
        token = (uint64_t)locks->forks << 32 | (i + 1);
    }
    pthread_mutex_unlock(&locks->mutex);
    return token;
}

/* Once more when something lay in the place of the file. What cannot be opened for a lasting
 * reason is said, but for a folder that this user may only read. */
static uint64_t open_or_say(pg_locks *locks, int folder, int *out)
{
    int error;
    uint64_t token = open_lock_file(locks, folder, out, &error);
    if ((error == EISDIR || error == ELOOP) && locks->clear_place) {
        locks->clear_place(locks->arg, "lock");
        token = open_lock_file(locks, folder, out, &error);
    }
    if (error && error != EACCES && error != EROFS && error != ENOENT && pg_errno_is_lasting(error))
        turn_off(locks, strerror(error));
    return token;
}

/* The descriptor of a token, -1 if it is of before a fork. */
static int descriptor_of(pg_locks *locks, uint64_t token)
{
    uint32_t i = (uint32_t)token - 1;
    int fd = -1;
    pthread_mutex_lock(&locks->mutex);
    if (i < PG_LOCKS_HELD_MAX && token >> 32 == locks->forks)
        fd = locks->held[i];
    pthread_mutex_unlock(&locks->mutex);
    return fd;
}

typedef struct polling {
    int64_t start_us, deadline_us;
    uint32_t pause_us, longest_us;
    bool said; /* for whom it waits */
} polling;

static polling start_polling(uint32_t wait_ms, uint32_t first_us, uint32_t longest_us)
{
    const int64_t now = pg_clock_ns() / 1000;
    return (polling){now, now + (int64_t)wait_ms * 1000, first_us, longest_us, false};
}

/* Sleeps before the next try; false when the deadline has passed. */
static bool back_off(polling *p)
{
    int64_t left = p->deadline_us - pg_clock_ns() / 1000;
    if (left <= 0)
        return false;
    uint32_t us = left < p->pause_us ? (uint32_t)left : p->pause_us, next = p->pause_us * 3 / 2;
    nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
    p->pause_us = next < p->longest_us ? next : p->longest_us;
    return true;
}

static int try_byte(const pg_locks *locks, int fd, uint64_t offset)
{
    return locks->files->lock(locks->files->user, fd, offset, PG_FILE_LOCK);
}

/* What the holder of a byte does, for "waiting for WHO, which DOES". */
static const char *deed_of(uint64_t offset)
{
    return offset >= PG_LOCK_KEYS       ? "compiles the same kernel"
           : offset == PG_LOCK_SPACE    ? "is changing the cache folder"
           : offset < PG_LOCK_SLOTS_MAX ? "compile as many kernels as this machine has processors"
                                        : "holds the statistics";
}

/* Once, after a second. */
static void say_who_is_awaited(const pg_locks *locks, int fd, uint64_t first, uint64_t last,
                               polling *p)
{
    char who[256];
    if (p->said || pg_clock_ns() / 1000 - p->start_us < SAY_AFTER_US)
        return;
    p->said = true;
    pg_lock_holders(fd, first, last, who, sizeof who);
    pg_log_line(locks->log, PTXGEN_LOG_WARNING, "waiting for %s, which %s", who, deed_of(first));
}

/* 0, -EAGAIN at the deadline, other errors. */
static int poll_byte(const pg_locks *locks, int fd, uint64_t offset, uint32_t wait_ms, bool *waited)
{
    bool brief = offset == PG_LOCK_SPACE || offset == PG_LOCK_STATS;
    polling p = start_polling(wait_ms, 200, brief ? 1000 : 20000);
    for (;; *waited = true) {
        int r = try_byte(locks, fd, offset);
        if (r != -EAGAIN || !back_off(&p))
            return r;
        say_who_is_awaited(locks, fd, offset, offset, &p);
    }
}

/* One of the slots that is free now: 0, -EAGAIN, other errors. */
static int try_slots(const pg_locks *locks, int fd, uint32_t count)
{
    int r = -EAGAIN;
    for (uint32_t i = 0; i < count && r == -EAGAIN; i++)
        r = try_byte(locks, fd, PG_LOCK_SLOTS + i);
    return r;
}

static int poll_slots(const pg_locks *locks, int fd, uint32_t count, uint32_t wait_ms)
{
    polling p = start_polling(wait_ms, SLOT_PACE_US, SLOT_PACE_US);
    bool first = true, marked = false;
    int r;
    do {
        marked = marked || try_byte(locks, fd, PG_LOCK_WAITING) == 0;
        r = marked || !first ? try_slots(locks, fd, count) : -EAGAIN;
        first = false;
        if (r == -EAGAIN)
            say_who_is_awaited(locks, fd, PG_LOCK_SLOTS, PG_LOCK_SLOTS + count - 1, &p);
    } while (r == -EAGAIN && back_off(&p));
    if (marked)
        locks->files->lock(locks->files->user, fd, PG_LOCK_WAITING, PG_FILE_UNLOCK);
    return r;
}

pg_lock_result pg_locks_take(pg_locks *locks, int folder, uint64_t offset, uint32_t wait_ms,
                             uint64_t *token, bool *waited)
{
    int fd = -1;
    *waited = false;
    *token = open_or_say(locks, folder, &fd);
    if (!*token)
        return PG_LOCK_NONE;
    int r = poll_byte(locks, fd, offset, wait_ms, waited);
    if (r == 0)
        return PG_LOCK_TAKEN;
    pg_locks_release(locks, *token);
    *token = 0;
    if (r == -EAGAIN)
        return PG_LOCK_BUSY;
    turn_off(locks, strerror(-r));
    return PG_LOCK_NONE;
}

bool pg_locks_take_slot(pg_locks *locks, uint64_t token, uint32_t count, uint32_t wait_ms)
{
    int fd = descriptor_of(locks, token);
    if (count > PG_LOCK_SLOTS_MAX)
        count = PG_LOCK_SLOTS_MAX;
    return fd < 0 || poll_slots(locks, fd, count, wait_ms) == 0;
}

void pg_locks_describe_holder(pg_locks *locks, int folder, uint64_t offset, char *out, size_t size)
{
    const int fd = pg_file_open_or_create(locks->files, folder, "lock");
    snprintf(out, size, "another process");
    if (fd < 0)
        return;
    pg_lock_holders(fd, offset, offset, out, size);
    locks->files->close(locks->files->user, fd);
}

void pg_locks_release(pg_locks *locks, uint64_t token)
{
    uint32_t i = (uint32_t)token - 1;
    pthread_mutex_lock(&locks->mutex);
    if (i < PG_LOCKS_HELD_MAX && token >> 32 == locks->forks && locks->held[i] >= 0) {
        locks->files->close(locks->files->user, locks->held[i]);
        locks->held[i] = -1;
    }
    pthread_mutex_unlock(&locks->mutex);
}

uint64_t pg_locks_key_offset(pg_hash128 key)
{
    return PG_LOCK_KEYS + (key.lo & (((uint64_t)1 << 62) - 1));
}
