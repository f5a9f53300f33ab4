/* What somebody may want to look at: damaged and untrusted entries are moved to quarantine/, the
 * PTX of kernels that could not be assembled is kept in failed/. Both hold few: the oldest makes
 * room. */
#include "base/clock.h"
#include "cache/space.h"
#include "cache/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ASIDE_MAX = 16 };

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
    if (strlen(name) < sizeof o->name &&
        o->files->stat_at(o->files->user, o->folder, name, &st) == 0 &&
        (o->name[0] == 0 || st.modified < o->modified)) {
        o->modified = st.modified;
        memcpy(o->name, name, strlen(name) + 1);
    }
    return true;
}

/* A folder with room for one more. */
static int open_aside(pg_cache *cache, const char *name)
{
    const pg_files *files = cache->files;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    int fd = files->open(files->user, cache->folder.root, name, flags, 0);
    if (fd == -ENOENT && pg_folder_make(&cache->folder, cache->folder.root, name) == 0)
        fd = files->open(files->user, cache->folder.root, name, flags, 0);
    if (fd < 0)
        return fd;
    oldest o = {.files = files, .folder = fd};
    if (files->list(files->user, fd, note_oldest, &o) == 0 && o.count >= ASIDE_MAX)
        files->unlink(files->user, fd, o.name);
    return fd;
}

bool pg_cache_keep_refused(pg_cache *cache, const char *name, pg_str ptx, char *path, size_t size)
{
    const pg_files *files = cache->files;
    const pg_file_temporary what = {ptx.p, ptx.n, false, pg_folder_file_mode(&cache->folder)};
    char temporary[64];
    if (atomic_load(&cache->opening) != PG_OPENING_DONE ||
        pg_clock_ms() < atomic_load(&cache->write_after_ms))
        return false;
    const int folder = open_aside(cache, "failed");
    int r = folder < 0 ? folder
                       : pg_file_write_temporary(files, folder, &what, temporary, sizeof temporary);
    if (r == 0 && (r = files->rename(files->user, folder, temporary, folder, name)) < 0)
        files->unlink(files->user, folder, temporary);
    if (folder >= 0)
        files->close(files->user, folder);
    return r == 0 && snprintf(path, size, "%s/failed/%s", cache->dir, name) < (int)size;
}

void pg_cache_quarantine(pg_cache *cache, int folder, const char *name, uint64_t inode)
{
    const pg_files *files = cache->files;
    pg_file_stat st;
    if (files->stat_at(files->user, folder, name, &st) < 0 || (inode && st.inode != inode))
        return;
    int r = -EIO, to = open_aside(cache, "quarantine");
    if (to >= 0) {
        char target[64];
        pg_file_unique_name("", target, sizeof target);
        r = files->rename(files->user, folder, name, to, target);
        files->close(files->user, to);
    }
    if (r < 0)
        r = files->unlink(files->user, folder, name);
    if (r == 0) {
        pg_count_add(&cache->counts, PG_COUNT_QUARANTINED, 1);
        if (st.type == PG_FILE_REGULAR)
            pg_space_forget(cache, st.size);
    }
}

void pg_cache_quarantine_entry(pg_cache *cache, const pg_entry_name *name, uint64_t inode)
{
    int shard = pg_folder_open_shard(&cache->folder, name->shard);
    if (shard == -ELOOP || shard == -ENOTDIR) {
        pg_cache_quarantine(cache, cache->folder.entries, name->shard, 0);
    } else if (shard >= 0) {
        pg_cache_quarantine(cache, shard, name->leaf, inode);
        cache->files->close(cache->files->user, shard);
    }
}

void pg_cache_clear_place(pg_cache *cache, const char *name)
{
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_UNTRUSTED,
                     "'%s/%s' is no file: it is moved out of the way", cache->dir, name);
    pg_cache_quarantine(cache, cache->folder.root, name, 0);
}

typedef struct emptying {
    const pg_files *files;
    int folder;
} emptying;

static bool remove_file(void *arg, const char *name)
{
    const emptying *e = arg;
    e->files->unlink(e->files->user, e->folder, name);
    return true;
}

static void empty(pg_cache *cache, const char *name)
{
    const pg_files *files = cache->files;
    emptying e = {files, files->open(files->user, cache->folder.root, name,
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)};
    if (e.folder < 0)
        return;
    files->list(files->user, e.folder, remove_file, &e);
    files->close(files->user, e.folder);
}

void pg_cache_empty_aside(pg_cache *cache)
{
    empty(cache, "quarantine");
    empty(cache, "failed");
}
