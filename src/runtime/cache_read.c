/* Reading one entry: open, judge, read, check, compare. Whatever is odd about it is a miss, and is moved out
 * of the way so that the next store starts clean. */
#include "runtime/cache_state.h"

#include "runtime/cache_entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    TOUCH_SECONDS = 3600, /* a used entry is dated at most this often */
    QUARANTINE_MAX = 16
};

typedef struct opened {
    int fd;
    pg_file_stat stat;
} opened;

/* Opens the entry; a negative errno on failure, with the file itself judged by the caller. */
static int open_entry(const pg_folder *folder, const pg_entry_name *name, opened *out)
{
    const pg_files *files = folder->files;
    int shard = pg_folder_open_shard(folder, name->shard);
    if (shard < 0)
        return shard;
    out->fd = files->open(files->user, shard, name->leaf, O_RDONLY | O_NOFOLLOW, 0);
    files->close(files->user, shard);
    if (out->fd < 0)
        return out->fd;
    int r = files->stat(files->user, out->fd, &out->stat);
    if (r < 0)
        files->close(files->user, out->fd);
    return r;
}

typedef struct oldest {
    const pg_files *files;
    int folder;
    size_t count;
    int64_t modified;
    char name[64];
} oldest;

static bool note_oldest(void *arg, const char *name)
{
    oldest *o = arg;
    pg_file_stat st;
    o->count++;
    if (strlen(name) < sizeof o->name && o->files->stat_at(o->files->user, o->folder, name, &st) == 0 &&
        (o->name[0] == 0 || st.modified < o->modified)) {
        o->modified = st.modified;
        memcpy(o->name, name, strlen(name) + 1);
    }
    return true;
}

static int open_quarantine(pg_cache *cache)
{
    const pg_files *files = cache->files;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = files->open(files->user, cache->folder.root, "quarantine", flags, 0);
    if (fd == -ENOENT && files->make_folder(files->user, cache->folder.root, "quarantine", 0700) == 0) {
        files->set_mode(files->user, cache->folder.root, "quarantine", 0700);
        fd = files->open(files->user, cache->folder.root, "quarantine", flags, 0);
    }
    if (fd < 0)
        return fd;
    oldest o = {.files = files, .folder = fd};
    if (files->list(files->user, fd, note_oldest, &o) == 0 && o.count >= QUARANTINE_MAX)
        files->unlink(files->user, fd, o.name);
    return fd;
}

void pg_cache_quarantine(pg_cache *cache, int folder, const char *name, uint64_t inode)
{
    const pg_files *files = cache->files;
    pg_file_stat st;
    if (files->stat_at(files->user, folder, name, &st) < 0 || (inode && st.inode != inode))
        return;
    int r = -EIO, to = open_quarantine(cache);
    if (to >= 0) {
        char target[64];
        pg_file_unique_name("", target, sizeof target);
        r = files->rename(files->user, folder, name, to, target);
        files->close(files->user, to);
    }
    if (r < 0)
        r = files->unlink(files->user, folder, name);
    if (r == 0)
        pg_count_add(&cache->counts, PG_COUNT_QUARANTINED, 1);
}

static void quarantine_entry(pg_cache *cache, const pg_entry_name *name, uint64_t inode)
{
    int shard = pg_folder_open_shard(&cache->folder, name->shard);
    if (shard == -ELOOP || shard == -ENOTDIR) {
        pg_cache_quarantine(cache, cache->folder.entries, name->shard, 0);
    } else if (shard >= 0) {
        pg_cache_quarantine(cache, shard, name->leaf, inode);
        cache->files->close(cache->files->user, shard);
    }
}

/* The whole file in memory at a 64-byte boundary; its storage is entered in *out. */
static int read_bytes(pg_cache *cache, const opened *file, pg_cache_entry *storage, unsigned char **bytes)
{
    size_t n = file->stat.size, size = n + PG_ENTRY_ALIGN;
    unsigned char *raw = cache->alloc.realloc(cache->alloc.user, NULL, 0, size);
    if (!raw)
        return -ENOMEM;
    *bytes = raw + (PG_ENTRY_ALIGN - (uintptr_t)raw % PG_ENTRY_ALIGN) % PG_ENTRY_ALIGN;
    storage->storage = raw;
    storage->storage_size = size;
    return pg_file_read_exact(cache->files, file->fd, *bytes, n, 0);
}

static void touch(pg_cache *cache, const opened *file)
{
    int64_t now = cache->files->now(cache->files->user), age = now - file->stat.modified;
    if (age >= TOUCH_SECONDS || age <= -TOUCH_SECONDS)
        cache->files->set_modified(cache->files->user, file->fd, now);
}

static bool is_fresh(const pg_cache *cache, const pg_cache_entry *entry)
{
    int64_t age = cache->files->now(cache->files->user) - entry->created;
    return age >= -60 && age <= cache->config.failure_ttl;
}

typedef enum verdict { GOOD, EXPIRED, COLLISION, BAD } verdict;

/* Judges and decodes an open file. BAD has been counted. */
static verdict examine(pg_cache *cache, const pg_folder *folder, const opened *file, pg_str key, pg_cache_entry *out)
{
    pg_folder_fault trust = pg_folder_judge(&file->stat, PG_FILE_REGULAR, folder->trust);
    if (trust != PG_FOLDER_OK) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_UNTRUSTED, "an entry in '%s' %s; it is not used",
                         folder->path, pg_folder_fault_text(trust));
        return BAD;
    }
    pg_str found = {0};
    unsigned char *bytes = NULL;
    pg_cache_entry storage = {0};
    pg_entry_fault fault = PG_ENTRY_FOREIGN;
    if (file->stat.size <= PG_ENTRY_FILE_MAX) {
        int r = read_bytes(cache, file, &storage, &bytes);
        fault = r < 0 ? PG_ENTRY_SHORT : pg_entry_decode(bytes, file->stat.size, out, &found);
        out->storage = storage.storage;
        out->storage_size = storage.storage_size;
        if (r < 0 && r != -ENODATA) {
            pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_READ_ERRORS, "cannot read an entry in '%s': %s",
                             folder->path, strerror(-r));
            return EXPIRED; /* nothing is wrong with the file */
        }
    }
    if (fault != PG_ENTRY_OK) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_CORRUPT, "an entry in '%s' is damaged: %s",
                         folder->path, pg_entry_fault_text(fault));
        return BAD;
    }
    if (pg_str_eq(found, key))
        return out->status == PTXGEN_OK || is_fresh(cache, out) ? GOOD : EXPIRED;
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_OTHER_KEY,
                     "an entry in '%s' holds another key than its name says", folder->path);
    pg_hash128 a = pg_hash(found.p, found.n), b = pg_hash(key.p, key.n);
    return a.lo == b.lo && a.hi == b.hi ? COLLISION : BAD;
}

pg_cache_found pg_cache_read(pg_cache *cache, const pg_folder *folder, bool own, pg_str key, pg_cache_entry *out)
{
    pg_entry_name name = pg_entry_name_of(pg_hash(key.p, key.n));
    opened file;
    int r = open_entry(folder, &name, &file);
    if (r == -ESTALE) /* a network filesystem's idea of the name was old */
        r = open_entry(folder, &name, &file);
    if (r == -ENOENT)
        return PG_CACHE_MISS;
    if (r < 0) {
        bool link = r == -ELOOP || r == -ENOTDIR;
        pg_count_trouble(&cache->counts, &cache->log, link ? PG_COUNT_UNTRUSTED : PG_COUNT_READ_ERRORS,
                         "cannot open an entry in '%s': %s", folder->path, strerror(-r));
        if (link && own)
            quarantine_entry(cache, &name, 0);
        return PG_CACHE_MISS;
    }
    verdict v = examine(cache, folder, &file, key, out);
    if (v == GOOD && own)
        touch(cache, &file);
    cache->files->close(cache->files->user, file.fd);
    if (v == GOOD)
        return out->status == PTXGEN_OK ? PG_CACHE_HIT : PG_CACHE_FAILED;
    pg_cache_entry_release(cache, out);
    if (v == BAD && own)
        quarantine_entry(cache, &name, file.stat.inode);
    return PG_CACHE_MISS;
}
