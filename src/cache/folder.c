/* Opening with checks. Of the path above the folder only the links are judged: whoever could
 * exchange the folder otherwise would have to put one there that this user owns and nobody else
 * can write to. */
#include "cache/folder.h"

#include "base/file_path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Shards are only passed through; O_PATH needs no read permission and costs least. */
enum {
    OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
    OPEN_SHARD = O_PATH | O_DIRECTORY | O_NOFOLLOW
};

const char *pg_folder_fault_text(pg_folder_fault fault)
{
    static const char *const texts[] = {
        [PG_FOLDER_OK] = "fine",
        [PG_FOLDER_IO] = "cannot be opened",
        [PG_FOLDER_FOREIGN] = "belongs to another user",
        [PG_FOLDER_WRITABLE] = "can be written by other users (chmod go-w)",
        [PG_FOLDER_LINK] = "is a symbolic link, and links are not followed: name what it points to",
        [PG_FOLDER_ON_LINK] =
            "is reached through a symbolic link of another user, which could lead "
            "elsewhere at any time: name the folder without it",
        [PG_FOLDER_TYPE] = "is not of the expected type",
    };
    return texts[fault];
}

pg_entry_name pg_entry_name_of(pg_hash128 hash)
{
    char hex[33];
    pg_hash_hex(hash, hex);
    pg_entry_name name = {{hex[0], hex[1], 0}, {0}};
    memcpy(name.leaf, hex + 2, sizeof name.leaf);
    return name;
}

pg_folder_fault pg_folder_judge(const pg_file_stat *stat, pg_file_type wanted, pg_cache_trust trust)
{
    if (stat->type != wanted)
        return PG_FOLDER_TYPE;
    if (trust == PG_CACHE_TRUST_ANY)
        return PG_FOLDER_OK;
    if (stat->owner != geteuid() && stat->owner != 0)
        return PG_FOLDER_FOREIGN;
    return stat->mode & 022 ? PG_FOLDER_WRITABLE : PG_FOLDER_OK;
}

int pg_folder_make(const pg_folder *folder, int at, const char *name)
{
    const pg_files *files = folder->files;
    int r = files->make_folder(files->user, at, name, 0700);
    if (r == 0)
        r = files->set_mode(files->user, at, name, folder->readable ? 0755 : 0700);
    return r == -EEXIST ? 0 : r;
}

unsigned pg_folder_file_mode(const pg_folder *folder)
{
    return folder->readable ? 0644 : 0600;
}

/* Tells backup programs to leave the folder alone. Its absence harms nothing. */
static void write_tag(const pg_files *files, int root)
{
    static const char tag[] =
        "Signature: 8a477f597d28d172789f06886806bc55\n"
        "# ptxgen's kernel cache; may be removed at any time. See bford.info/cachedir\n";
    int fd = files->open(files->user, root, "CACHEDIR.TAG",
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    (void)pg_file_write_all(files, fd, tag, sizeof tag - 1, 0);
    files->close(files->user, fd);
}

/* A link to a folder: neither folder nor file itself, but a folder when it is passed through. */
static bool is_link(const pg_files *files, int at, const char *name)
{
    char through[4096];
    pg_file_stat st;
    const int n = snprintf(through, sizeof through, "%s/.", name);
    return n > 0 && (size_t)n < sizeof through && files->stat_at(files->user, at, name, &st) == 0 &&
           st.type == PG_FILE_OTHER && files->stat_at(files->user, at, through, &st) == 0 &&
           st.type == PG_FILE_FOLDER;
}

static bool fails(pg_folder_problem *p, pg_folder_fault fault, int error, const char *action)
{
    p->fault = fault;
    p->error = error;
    p->action = action;
    return false;
}

static bool open_judged(const pg_folder *folder, int at, const char *name, int *fd,
                        pg_folder_problem *p)
{
    const pg_files *files = folder->files;
    *fd = files->open(files->user, at, name, OPEN_FOLDER, 0);
    if (*fd < 0) {
        const int error = -*fd;
        *fd = -1;
        if (error != ELOOP && error != ENOTDIR)
            return fails(p, PG_FOLDER_IO, error, "opened");
        return fails(p, is_link(files, at, name) ? PG_FOLDER_LINK : PG_FOLDER_TYPE, error,
                     "opened");
    }
    pg_file_stat st;
    int r = files->stat(files->user, *fd, &st);
    pg_folder_fault fault =
        r < 0 ? PG_FOLDER_IO : pg_folder_judge(&st, PG_FILE_FOLDER, folder->trust);
    if (fault == PG_FOLDER_OK)
        return true;
    files->close(files->user, *fd);
    *fd = -1;
    return fails(p, fault, r < 0 ? -r : 0, "opened");
}

/* The folder that holds the cache folder; what is missing above it is made if `create`. */
static int open_parent(const pg_folder *folder, bool create, char leaf[256], pg_folder_problem *p)
{
    const pg_file_walk walk = {folder->files, folder->path, create,
                               folder->trust == PG_CACHE_TRUST_ANY};
    const int parent = pg_file_open_parent(&walk, leaf);
    if (parent == -EXDEV)
        fails(p, PG_FOLDER_ON_LINK, EXDEV, "opened");
    else if (parent < 0)
        fails(p, parent == -ENOTDIR ? PG_FOLDER_TYPE : PG_FOLDER_IO, -parent,
              create ? "made" : "opened");
    return parent;
}

static bool make_root(const pg_folder *folder, int *root, pg_folder_problem *p)
{
    char leaf[256];
    const int parent = open_parent(folder, true, leaf, p);
    if (parent < 0)
        return false;
    const int r = pg_folder_make(folder, parent, leaf);
    const bool made =
        r < 0 ? fails(p, PG_FOLDER_IO, -r, "made") : open_judged(folder, parent, leaf, root, p);
    folder->files->close(folder->files->user, parent);
    return made;
}

static bool open_root(const pg_folder *folder, bool create, int *root, pg_folder_problem *p)
{
    char leaf[256];
    p->below = "";
    const int parent = open_parent(folder, false, leaf, p);
    bool opened = false;
    if (parent >= 0) {
        opened = open_judged(folder, parent, leaf, root, p);
        folder->files->close(folder->files->user, parent);
    }
    if (opened || p->fault != PG_FOLDER_IO || p->error != ENOENT || !create)
        return opened;
    return make_root(folder, root, p);
}

static bool open_entries(const pg_folder *folder, bool create, int root, int *entries,
                         pg_folder_problem *p)
{
    p->below = "/v1";
    if (open_judged(folder, root, "v1", entries, p))
        return true;
    if (p->fault != PG_FOLDER_IO || p->error != ENOENT)
        return false;
    if (!create)
        return true;
    write_tag(folder->files, root);
    int r = pg_folder_make(folder, root, "v1");
    return r < 0 ? fails(p, PG_FOLDER_IO, -r, "made") : open_judged(folder, root, "v1", entries, p);
}

static bool open_both(const pg_folder *folder, bool create, int fds[2], pg_folder_problem *p)
{
    fds[0] = fds[1] = -1;
    if (!open_root(folder, create, &fds[0], p))
        return false;
    if (open_entries(folder, create, fds[0], &fds[1], p))
        return true;
    folder->files->close(folder->files->user, fds[0]);
    fds[0] = -1;
    return false;
}

pg_folder_fault pg_folder_open(pg_folder *folder, bool create, pg_folder_problem *problem)
{
    int fds[2];
    const bool opened = open_both(folder, create, fds, problem);
    folder->root = fds[0];
    folder->entries = fds[1];
    return opened ? PG_FOLDER_OK : problem->fault;
}

pg_folder_fault pg_folder_reopen(pg_folder *folder, int *fault_errno)
{
    int fds[2];
    pg_folder_problem problem;
    if (!open_both(folder, true, fds, &problem)) {
        *fault_errno = problem.error;
        return problem.fault;
    }
    const pg_files *files = folder->files;
    int r = files->replace(files->user, fds[0], folder->root);
    int r2 = files->replace(files->user, fds[1], folder->entries);
    *fault_errno = r < 0 ? -r : r2 < 0 ? -r2 : 0;
    return *fault_errno ? PG_FOLDER_IO : PG_FOLDER_OK;
}

void pg_folder_describe(const pg_folder *folder, const pg_folder_problem *p, char *out, size_t size)
{
    if (p->fault == PG_FOLDER_IO)
        snprintf(out, size, "the folder '%s%s' cannot be %s: %s", folder->path, p->below, p->action,
                 strerror(p->error));
    else if (p->fault == PG_FOLDER_TYPE)
        snprintf(out, size, "'%s%s' is no folder", folder->path, p->below);
    else
        snprintf(out, size, "the folder '%s%s' %s", folder->path, p->below,
                 pg_folder_fault_text(p->fault));
}

void pg_folder_close(pg_folder *folder)
{
    const pg_files *files = folder->files;
    if (folder->entries >= 0)
        files->close(files->user, folder->entries);
    if (folder->root >= 0)
        files->close(files->user, folder->root);
    folder->root = folder->entries = -1;
}

int pg_folder_list(const pg_folder *folder, bool (*visit)(void *arg, const char *name), void *arg)
{
    return folder->entries < 0
               ? 0
               : folder->files->list(folder->files->user, folder->entries, visit, arg);
}

int pg_folder_open_shard(const pg_folder *folder, const char *shard)
{
    if (folder->entries < 0)
        return -ENOENT;
    return folder->files->open(folder->files->user, folder->entries, shard, OPEN_SHARD, 0);
}

bool pg_folder_has_none(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

int pg_folder_make_shard(const pg_folder *folder, const char *shard)
{
    int fd = pg_folder_open_shard(folder, shard);
    if (fd != -ENOENT)
        return fd;
    int r = pg_folder_make(folder, folder->entries, shard);
    return r < 0 ? r : pg_folder_open_shard(folder, shard);
}
