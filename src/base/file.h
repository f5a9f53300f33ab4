/* File access of the library: one table of calls, so that a test can fail, fake or count each of
 * them.
 *
 * Every call returns a negative errno value on failure and never touches errno for the caller;
 * interrupted calls are retried inside. Names are relative to an open folder wherever possible, so
 * that a folder that was checked once cannot be exchanged underneath. */
#ifndef PG_FILE_H
#define PG_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pg_file_type { PG_FILE_REGULAR, PG_FILE_FOLDER, PG_FILE_OTHER } pg_file_type;

typedef struct pg_file_stat {
    pg_file_type type; /* a symbolic link is OTHER */
    uint32_t mode;     /* permission bits, 07777 */
    uint32_t owner;    /* uid */
    uint64_t size, device, inode;
    int64_t modified; /* seconds since 1970 */
} pg_file_stat;

typedef struct pg_file_space {
    uint64_t free_bytes,
        free_files; /* for this user; UINT64_MAX where the filesystem does not say */
} pg_file_space;

typedef enum pg_file_lock { PG_FILE_UNLOCK, PG_FILE_LOCK } pg_file_lock;

typedef struct pg_files {
    void *user;
    /* open, create: O_* flags; O_CLOEXEC, O_NOCTTY and O_NONBLOCK are added. `folder` may be
     * AT_FDCWD. */
    int (*open)(void *user, int folder, const char *name, int flags, unsigned mode);
    int (*close)(void *user, int fd);
    int (*stat)(void *user, int fd, pg_file_stat *out);
    int (*stat_at)(void *user, int folder, const char *name,
                   pg_file_stat *out); /* of a link itself */
    int64_t (*read_at)(void *user, int fd, void *to, size_t n, uint64_t offset);
    int64_t (*write_at)(void *user, int fd, const void *from, size_t n, uint64_t offset);
    int (*sync)(void *user, int fd); /* data only */
    int (*set_modified)(void *user, int fd, int64_t seconds);
    int (*set_mode)(void *user, int folder, const char *name,
                    unsigned mode); /* follows no link: -EOPNOTSUPP or -ELOOP */
    int (*rename)(void *user, int from_folder, const char *from, int to_folder, const char *to);
    int (*unlink)(void *user, int folder, const char *name);
    /* The target of a symbolic link (not NUL-terminated) and the link's owner: its length, or
     * -EINVAL when it is no link. */
    int (*read_link)(void *user, int folder, const char *name, char *out, size_t size,
                     uint32_t *owner);
    int (*make_folder)(void *user, int folder, const char *name, unsigned mode);
    int (*remove_folder)(void *user, int folder, const char *name); /* an empty one */
    /* Calls visit with each name but "." and ".." until it returns false. */
    int (*list)(void *user, int folder, bool (*visit)(void *arg, const char *name), void *arg);
    int (*space)(void *user, int fd, pg_file_space *out);
    int (*filesystem)(void *user, int fd, uint64_t *magic); /* statfs f_type */
    /* Exclusive lock of one byte that belongs to the open file (not to the process or thread) and
     * dies with it. Never waits: -EAGAIN when another open file holds it. */
    int (*lock)(void *user, int fd, uint64_t offset, pg_file_lock what);
    /* Makes the number `target` mean what `fd` means, in one step, and closes `fd`. */
    int (*replace)(void *user, int fd, int target);
    int64_t (*now)(void *user); /* seconds since 1970, as files are dated */
} pg_files;

typedef struct pg_file_temporary {
    const void *bytes;
    size_t n;
    bool sync;
    unsigned mode; /* whatever the umask; 0: 0600 */
} pg_file_temporary;

/* The real ones. */
extern const pg_files pg_files_libc;

/* Whether an error (an errno) tells what is there: it does not exist, may not be used, is of
 * another kind. The others (no descriptor, no memory, a failing disk) pass, and nothing may be
 * concluded from them. */
bool pg_errno_is_lasting(int error);
/* Of those that pass: the process or machine has no more of something. */
bool pg_errno_is_shortage(int error);
/* All n bytes, or a negative errno; -ENODATA when the file ends early. */
int pg_file_read_exact(const pg_files *files, int fd, void *to, size_t n, uint64_t offset);
int pg_file_write_all(const pg_files *files, int fd, const void *from, size_t n, uint64_t offset);
/* Opens a file for reading and writing; creates it with mode 0600 whatever the umask. -ELOOP: a
 * link is in its place, -EISDIR: a folder, or another thing that is no file. */
int pg_file_open_or_create(const pg_files *files, int folder, const char *name);
/* Writes a new file ".tmp-<16 hex>" in the folder, synced if wanted; its name goes into name[size].
 * Nothing is left behind on failure. */
int pg_file_write_temporary(const pg_files *files, int folder, const pg_file_temporary *what,
                            char *name, size_t size);
/* A name that no other process or thread will choose: prefix and 16 hex digits, into out[size]. */
void pg_file_unique_name(const char *prefix, char *out, size_t size);

#endif
