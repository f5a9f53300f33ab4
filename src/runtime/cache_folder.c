/* Opening with checks. The path above the folder is not judged: whoever could exchange the folder
 * through it would have to put one there that this user owns and nobody else can write to. */
#include "runtime/cache_folder.h"

#include <errno.h>
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
        [PG_FOLDER_TYPE] = "is a link or not of the expected type",
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

/* Makes a folder that can be entered whatever the umask; 0 also when it exists. */
static int make_folder(const pg_files *files, int folder, const char *name)
{
    int r = files->make_folder(files->user, folder, name, 0700);
    if (r == 0)
        r = files->set_mode(files->user, folder, name, 0700);
    return r == -EEXIST ? 0 : r;
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

static pg_folder_fault open_judged(const pg_folder *folder, int at, const char *name, int *fd,
                                   int *fault_errno)
{
    const pg_files *files = folder->files;
    *fd = files->open(files->user, at, name, OPEN_FOLDER, 0);
    if (*fd < 0) {
        *fault_errno = -*fd;
        *fd = -1;
        return *fault_errno == ELOOP || *fault_errno == ENOTDIR ? PG_FOLDER_TYPE : PG_FOLDER_IO;
    }
    pg_file_stat st;
    int r = files->stat(files->user, *fd, &st);
    *fault_errno = r < 0 ? -r : 0;
    pg_folder_fault fault =
        r < 0 ? PG_FOLDER_IO : pg_folder_judge(&st, PG_FILE_FOLDER, folder->trust);
    if (fault != PG_FOLDER_OK) {
        files->close(files->user, *fd);
        *fd = -1;
    }
    return fault;
}

static pg_folder_fault open_both(const pg_folder *folder, bool create, int *root, int *entries,
                                 int *fault_errno)
{
    *root = *entries = -1;
    pg_folder_fault fault = open_judged(folder, AT_FDCWD, folder->path, root, fault_errno);
    if (fault == PG_FOLDER_IO && *fault_errno == ENOENT && create) {
        int r = pg_file_make_path(folder->files, folder->path);
        if (r < 0) {
            *fault_errno = -r;
            return PG_FOLDER_IO;
        }
        fault = open_judged(folder, AT_FDCWD, folder->path, root, fault_errno);
    }
    if (fault != PG_FOLDER_OK)
        return fault;
    fault = open_judged(folder, *root, "v1", entries, fault_errno);
    if (fault == PG_FOLDER_IO && *fault_errno == ENOENT && create) {
        write_tag(folder->files, *root);
        int r = make_folder(folder->files, *root, "v1");
        if (r < 0)
            *fault_errno = -r;
        else
            fault = open_judged(folder, *root, "v1", entries, fault_errno);
    }
    if (fault != PG_FOLDER_OK) {
        folder->files->close(folder->files->user, *root);
        *root = -1;
    }
    return fault;
}

pg_folder_fault pg_folder_open(pg_folder *folder, bool create, int *fault_errno)
{
    return open_both(folder, create, &folder->root, &folder->entries, fault_errno);
}

pg_folder_fault pg_folder_reopen(pg_folder *folder, int *fault_errno)
{
    int root, entries;
    pg_folder_fault fault = open_both(folder, true, &root, &entries, fault_errno);
    if (fault != PG_FOLDER_OK)
        return fault;
    const pg_files *files = folder->files;
    int r = files->replace(files->user, root, folder->root);
    int r2 = files->replace(files->user, entries, folder->entries);
    *fault_errno = r < 0 ? -r : r2 < 0 ? -r2 : 0;
    return *fault_errno ? PG_FOLDER_IO : PG_FOLDER_OK;
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

int pg_folder_open_shard(const pg_folder *folder, const char *shard)
{
    return folder->files->open(folder->files->user, folder->entries, shard, OPEN_SHARD, 0);
}

int pg_folder_make_shard(const pg_folder *folder, const char *shard)
{
    int fd = pg_folder_open_shard(folder, shard);
    if (fd != -ENOENT)
        return fd;
    int r = make_folder(folder->files, folder->entries, shard);
    return r < 0 ? r : pg_folder_open_shard(folder, shard);
}
