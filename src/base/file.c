/* The POSIX and Linux calls behind the table. Locks are open-file-description locks: one byte
 * each, freed by the kernel when the last copy of the descriptor is closed, also by SIGKILL. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

static int result(int r)
{
    return r < 0 ? -errno : r;
}

static int file_open(void *user, int folder, const char *name, int flags, unsigned mode)
{
    (void)user;
    int fd;
    do
        fd = openat(folder, name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, (mode_t)mode);
    while (fd < 0 && errno == EINTR);
    return result(fd);
}

static int file_close(void *user, int fd)
{
    (void)user;
    /* Not retried: after EINTR Linux has freed the number already. */
    return result(close(fd));
}

static void fill_stat(const struct stat *s, pg_file_stat *out)
{
    *out = (pg_file_stat){
        .type = S_ISREG(s->st_mode)   ? PG_FILE_REGULAR
                : S_ISDIR(s->st_mode) ? PG_FILE_FOLDER
                                      : PG_FILE_OTHER,
        .mode = s->st_mode & 07777,
        .owner = s->st_uid,
        .size = (uint64_t)s->st_size,
        .device = s->st_dev,
        .inode = s->st_ino,
        .modified = s->st_mtim.tv_sec,
    };
}

static int file_stat(void *user, int fd, pg_file_stat *out)
{
    (void)user;
    struct stat s;
    if (fstat(fd, &s) < 0)
        return -errno;
    fill_stat(&s, out);
    return 0;
}

static int file_stat_at(void *user, int folder, const char *name, pg_file_stat *out)
{
    (void)user;
    struct stat s;
    if (fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    fill_stat(&s, out);
    return 0;
}

static int64_t file_read_at(void *user, int fd, void *to, size_t n, uint64_t offset)
{
    (void)user;
    ssize_t got;
    do
        got = pread(fd, to, n, (off_t)offset);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Beyond the process's limit on file sizes (ulimit -f) the kernel would raise SIGXFSZ, which
 * ends the host. */
static int64_t file_write_at(void *user, int fd, const void *from, size_t n, uint64_t offset)
{
    (void)user;
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
        if (offset >= most.rlim_cur)
            return -EFBIG;
        if (n > most.rlim_cur - offset)
            n = (size_t)(most.rlim_cur - offset);
    }
    ssize_t put;
    do
        put = pwrite(fd, from, n, (off_t)offset);
    while (put < 0 && errno == EINTR);
    return put < 0 ? -errno : put;
}

static int file_sync(void *user, int fd)
{
    (void)user;
    int r;
    do
        r = fdatasync(fd);
    while (r < 0 && errno == EINTR);
    return result(r);
}

static int file_set_modified(void *user, int fd, int64_t seconds)
{
    (void)user;
    const struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
    return result(futimens(fd, t));
}

static int file_set_mode(void *user, int folder, const char *name, unsigned mode)
{
    (void)user;
    if (fchmodat(folder, name, (mode_t)mode, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    struct stat s;
    if (errno != EOPNOTSUPP || fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) < 0 ||
        S_ISLNK(s.st_mode))
        return -errno;
    return result(fchmodat(folder, name, (mode_t)mode, 0)); /* a C library or system without it */
}

static int file_rename(void *user, int from_folder, const char *from, int to_folder, const char *to)
{
    (void)user;
    return result(renameat(from_folder, from, to_folder, to));
}

static int file_unlink(void *user, int folder, const char *name)
{
    (void)user;
    return result(unlinkat(folder, name, 0));
}

/* Both are asked of one open link, so the owner is that of this target. */
static int file_read_link(void *user, int folder, const char *name, char *out, size_t size,
                          uint32_t *owner)
{
    (void)user;
    struct stat s;
    const int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = fstat(fd, &s) < 0 ? -errno : S_ISLNK(s.st_mode) ? 0 : -EINVAL;
    if (n == 0 && (n = readlinkat(fd, "", out, size)) < 0)
        n = -errno;
    close(fd);
    *owner = s.st_uid;
    return (int)n;
}

static int file_make_folder(void *user, int folder, const char *name, unsigned mode)
{
    (void)user;
    return result(mkdirat(folder, name, (mode_t)mode));
}

static int file_remove_folder(void *user, int folder, const char *name)
{
    (void)user;
    return result(unlinkat(folder, name, AT_REMOVEDIR));
}

static int file_list(void *user, int folder, bool (*visit)(void *arg, const char *name), void *arg)
{
    (void)user;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    DIR *d = fdopendir(fd);
    if (!d) {
        int error = errno;
        close(fd);
        return -error;
    }
    int r = 0;
    for (;;) {
        errno = 0;
        const struct dirent *e = readdir(d);
        if (!e) {
            r = -errno;
            break;
        }
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (!visit(arg, e->d_name))
            break;
    }
    closedir(d);
    return r;
}

static int file_space(void *user, int fd, pg_file_space *out)
{
    (void)user;
    struct statvfs s;
    if (fstatvfs(fd, &s) < 0)
        return -errno;
    out->free_bytes = s.f_blocks ? (uint64_t)s.f_bavail * s.f_frsize : UINT64_MAX;
    out->free_files = s.f_files ? (uint64_t)s.f_favail : UINT64_MAX; /* btrfs says 0 of 0 */
    return 0;
}

static int file_filesystem(void *user, int fd, uint64_t *magic)
{
    (void)user;
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return -errno;
    *magic = (uint32_t)s.f_type;
    return 0;
}

static int file_lock(void *user, int fd, uint64_t offset, pg_file_lock what)
{
    (void)user;
    struct flock l = {
        .l_type = what == PG_FILE_LOCK ? F_WRLCK : F_UNLCK,
        .l_whence = SEEK_SET,
        .l_start = (off_t)offset,
        .l_len = 1,
    };
    int r;
    do
        r = fcntl(fd, F_OFD_SETLK, &l);
    while (r < 0 && errno == EINTR);
    return r < 0 && errno == EACCES ? -EAGAIN : result(r);
}

static int file_replace(void *user, int fd, int target)
{
    int r;
    do
        r = dup3(fd, target, O_CLOEXEC);
    while (r < 0 && (errno == EINTR || errno == EBUSY));
    r = result(r);
    file_close(user, fd);
    return r;
}

static int64_t file_now(void *user)
{
    (void)user;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

const pg_files pg_files_libc = {
    .open = file_open,
    .close = file_close,
    .stat = file_stat,
    .stat_at = file_stat_at,
    .read_at = file_read_at,
    .write_at = file_write_at,
    .sync = file_sync,
    .set_modified = file_set_modified,
    .set_mode = file_set_mode,
    .rename = file_rename,
    .unlink = file_unlink,
    .read_link = file_read_link,
    .make_folder = file_make_folder,
    .remove_folder = file_remove_folder,
    .list = file_list,
    .space = file_space,
    .filesystem = file_filesystem,
    .lock = file_lock,
    .replace = file_replace,
    .now = file_now,
};

bool pg_errno_is_lasting(int error)
{
    static const int lasting[] = {ENOENT, ENOTDIR, EACCES,       EPERM,  EROFS, ELOOP,
                                  EISDIR, EINVAL,  ENAMETOOLONG, EEXIST, ENODEV};
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
        if (lasting[i] == error)
            return true;
    return false;
}

bool pg_errno_is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

int pg_file_read_exact(const pg_files *files, int fd, void *to, size_t n, uint64_t offset)
{
    for (size_t done = 0; done < n;) {
        int64_t got = files->read_at(files->user, fd, (char *)to + done, n - done, offset + done);
        if (got <= 0)
            return got < 0 ? (int)got : -ENODATA;
        done += (size_t)got;
    }
    return 0;
}

int pg_file_write_all(const pg_files *files, int fd, const void *from, size_t n, uint64_t offset)
{
    for (size_t done = 0; done < n;) {
        int64_t put =
            files->write_at(files->user, fd, (const char *)from + done, n - done, offset + done);
        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        done += (size_t)put;
    }
    return 0;
}

/* -EISDIR for what is no regular file, a folder or not. */
static int only_regular(const pg_files *files, int fd)
{
    pg_file_stat st;
    int r = fd < 0 ? fd : files->stat(files->user, fd, &st);
    if (fd >= 0 && r == 0 && st.type != PG_FILE_REGULAR)
        r = -EISDIR;
    if (fd >= 0 && r < 0)
        files->close(files->user, fd);
    return r < 0 ? r : fd;
}

int pg_file_open_or_create(const pg_files *files, int folder, const char *name)
{
    int fd = files->open(files->user, folder, name, O_RDWR | O_NOFOLLOW, 0);
    if (fd != -ENOENT)
        return only_regular(files, fd);
    fd = files->open(files->user, folder, name, O_RDWR | O_NOFOLLOW | O_CREAT | O_EXCL, 0600);
    if (fd == -EEXIST)
        return only_regular(files, files->open(files->user, folder, name, O_RDWR | O_NOFOLLOW, 0));
    if (fd >= 0)
        (void)files->set_mode(files->user, folder, name, 0600);
    return fd;
}

static int write_new(const pg_files *files, int folder, const pg_file_temporary *what,
                     const char *name)
{
    const unsigned mode = what->mode ? what->mode : 0600;
    int fd = files->open(files->user, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fd;
    int r = files->set_mode(files->user, folder, name, mode);
    if (r == 0)
        r = pg_file_write_all(files, fd, what->bytes, what->n, 0);
    if (r == 0 && what->sync)
        r = files->sync(files->user, fd);
    int closed = files->close(files->user, fd); /* network filesystems report here */
    if (r == 0)
        r = closed;
    if (r < 0)
        files->unlink(files->user, folder, name);
    return r;
}

int pg_file_write_temporary(const pg_files *files, int folder, const pg_file_temporary *what,
                            char *name, size_t size)
{
    pg_file_unique_name(".tmp-", name, size);
    return write_new(files, folder, what, name);
}

void pg_file_unique_name(const char *prefix, char *out, size_t size)
{
    static _Atomic uint64_t counter;
    struct {
        uint64_t random, count;
        struct timespec time;
        const void *address;
        pid_t pid;
    } seed;
    memset(&seed, 0, sizeof seed);
    /* The rest stands in where the kernel has no randomness yet. */
    if (getrandom(&seed.random, sizeof seed.random, GRND_NONBLOCK) < 0)
        seed.random = 0;
    seed.count = atomic_fetch_add(&counter, 1);
    clock_gettime(CLOCK_REALTIME, &seed.time);
    seed.address = &seed;
    seed.pid = getpid();
    snprintf(out, size, "%s%016llx", prefix, (unsigned long long)pg_hash64(&seed, sizeof seed));
}
