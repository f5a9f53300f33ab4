/* Wraps each call of the file table: counts it, fails it when its turn has come, else does the
 * real thing. */
#include "cache_helpers.h"

#include <errno.h>
#include <signal.h>

/* Also true right before death, so that a write is torn first. */
static bool fails(faulty_files *f, const char *name)
{
    if (f->only && strcmp(f->only, name) != 0)
        return false;
    uint64_t call = ++f->calls;
    return f->fail_count && call >= f->fail_from && call - f->fail_from < f->fail_count;
}

static int fault(const faulty_files *f)
{
    if (f->kill)
        raise(SIGKILL);
    return -f->error;
}

#define WRAP(type, name, params, args)                                                             \
    static type faulty_##name params                                                               \
    {                                                                                              \
        faulty_files *f = user;                                                                    \
        return fails(f, #name) ? (type)fault(f) : pg_files_libc.name args;                         \
    }

WRAP(int64_t, read_at, (void *user, int fd, void *to, size_t n, uint64_t offset),
     (NULL, fd, to, n, offset))
WRAP(int, set_modified, (void *user, int fd, int64_t s), (NULL, fd, s))
WRAP(int, set_mode, (void *user, int folder, const char *name, unsigned mode),
     (NULL, folder, name, mode))
WRAP(int, rename, (void *user, int a, const char *from, int b, const char *to),
     (NULL, a, from, b, to))
WRAP(int, unlink, (void *user, int folder, const char *name), (NULL, folder, name))
WRAP(int, read_link,
     (void *user, int folder, const char *name, char *out, size_t size, uint32_t *owner),
     (NULL, folder, name, out, size, owner))
WRAP(int, make_folder, (void *user, int folder, const char *name, unsigned mode),
     (NULL, folder, name, mode))
WRAP(int, remove_folder, (void *user, int folder, const char *name), (NULL, folder, name))
WRAP(int, list, (void *user, int folder, bool (*visit)(void *, const char *), void *arg),
     (NULL, folder, visit, arg))
WRAP(int, lock, (void *user, int fd, uint64_t offset, pg_file_lock what), (NULL, fd, offset, what))
WRAP(int, replace, (void *user, int fd, int target), (NULL, fd, target))

static int faulty_open(void *user, int folder, const char *name, int flags, unsigned mode)
{
    faulty_files *f = user;
    if (fails(f, (flags & O_ACCMODE) != O_RDONLY ? "create" : "open"))
        return fault(f);
    return pg_files_libc.open(NULL, folder, name, flags, mode);
}

/* A failing close still closes, as in the kernel. */
static int faulty_close(void *user, int fd)
{
    faulty_files *f = user;
    int r = pg_files_libc.close(NULL, fd);
    return fails(f, "close") ? fault(f) : r;
}

/* Never waits for the disk: no test can see the difference. */
static int faulty_sync(void *user, int fd)
{
    (void)fd;
    faulty_files *f = user;
    return fails(f, "sync") ? fault(f) : 0;
}

/* A failing write writes half first. */
static int64_t faulty_write_at(void *user, int fd, const void *from, size_t n, uint64_t offset)
{
    faulty_files *f = user;
    if (!fails(f, "write_at"))
        return pg_files_libc.write_at(NULL, fd, from, n, offset);
    pg_files_libc.write_at(NULL, fd, from, n / 2, offset);
    return fault(f);
}

static int faulty_stat(void *user, int fd, pg_file_stat *out)
{
    faulty_files *f = user;
    if (fails(f, "stat"))
        return fault(f);
    int r = pg_files_libc.stat(NULL, fd, out);
    if (r == 0 && f->owner)
        out->owner = f->owner;
    return r;
}

static int faulty_stat_at(void *user, int folder, const char *name, pg_file_stat *out)
{
    faulty_files *f = user;
    return fails(f, "stat_at") ? fault(f) : pg_files_libc.stat_at(NULL, folder, name, out);
}

static int faulty_space(void *user, int fd, pg_file_space *out)
{
    faulty_files *f = user;
    if (fails(f, "space"))
        return fault(f);
    int r = pg_files_libc.space(NULL, fd, out);
    if (f->free_bytes)
        out->free_bytes = f->free_bytes;
    if (f->free_files)
        out->free_files = f->free_files;
    return r;
}

static int faulty_filesystem(void *user, int fd, uint64_t *magic)
{
    faulty_files *f = user;
    if (fails(f, "filesystem"))
        return fault(f);
    *magic = f->filesystem;
    return f->filesystem ? 0 : pg_files_libc.filesystem(NULL, fd, magic);
}

static int64_t faulty_now(void *user)
{
    const faulty_files *f = user;
    return pg_files_libc.now(NULL) + f->clock_offset;
}

void faulty_files_init(faulty_files *f)
{
    memset(f, 0, sizeof *f);
    f->files = (pg_files){.user = f,
                          .open = faulty_open,
                          .close = faulty_close,
                          .stat = faulty_stat,
                          .stat_at = faulty_stat_at,
                          .read_at = faulty_read_at,
                          .write_at = faulty_write_at,
                          .sync = faulty_sync,
                          .set_modified = faulty_set_modified,
                          .set_mode = faulty_set_mode,
                          .rename = faulty_rename,
                          .unlink = faulty_unlink,
                          .read_link = faulty_read_link,
                          .make_folder = faulty_make_folder,
                          .remove_folder = faulty_remove_folder,
                          .list = faulty_list,
                          .space = faulty_space,
                          .filesystem = faulty_filesystem,
                          .lock = faulty_lock,
                          .replace = faulty_replace,
                          .now = faulty_now};
}

void faulty_files_set(faulty_files *f, const char *only, int error, uint64_t from, uint64_t count)
{
    f->only = only;
    f->error = error;
    f->fail_from = from;
    f->fail_count = count;
    f->calls = 0;
}
