#include "command/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ptxgen_status too_large(const char *path, ptxgen_error *err)
{
    return cli_fail(err, PTXGEN_EINVAL, "%s has more than %d MiB, the limit", path,
                    CLI_FILE_MAX >> 20);
}

/* /dev/null ends at once. */
static bool is_null(const struct stat *s)
{
    struct stat null;
    return stat("/dev/null", &null) == 0 && null.st_rdev == s->st_rdev;
}

/* The regular files that have been read; past the last place, the latest. */
static struct {
    dev_t device;
    ino_t inode;
} read_files[64];
static size_t read_count;

static void note_read(const struct stat *s)
{
    const size_t last = sizeof read_files / sizeof *read_files - 1;
    const size_t at = read_count < last ? read_count++ : last;
    read_files[at].device = s->st_dev;
    read_files[at].inode = s->st_ino;
}

bool cli_was_read(const struct stat *file)
{
    for (size_t i = 0; i < sizeof read_files / sizeof *read_files; i++)
        if (read_files[i].inode == file->st_ino && read_files[i].device == file->st_dev)
            return true;
    return false;
}

/* A device may have no end. */
static ptxgen_status check_kind(FILE *file, const char *path, ptxgen_error *err)
{
    struct stat s;
    if (fstat(fileno(file), &s) != 0)
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(errno));
    if (S_ISDIR(s.st_mode))
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: it is a folder", path);
    if (S_ISBLK(s.st_mode) || (S_ISCHR(s.st_mode) && !isatty(fileno(file)) && !is_null(&s)))
        return cli_fail(err, PTXGEN_EINVAL, "%s is a device: name a file, or - for standard input",
                        path);
    if (S_ISREG(s.st_mode))
        note_read(&s);
    return S_ISREG(s.st_mode) && s.st_size > CLI_FILE_MAX ? too_large(path, err) : PTXGEN_OK;
}

static ptxgen_status read_all(FILE *file, const char *path, char **out, size_t *size,
                              ptxgen_error *err)
{
    size_t room = 0, used = 0;
    char *bytes = NULL;
    do {
        room = room ? room * 2 : 65536;
        char *more = realloc(bytes, room);
        if (!more) {
            free(bytes);
            return cli_fail(err, PTXGEN_ENOMEM, "out of memory while reading %s", path);
        }
        bytes = more;
        used += fread(bytes + used, 1, room - used - 1, file);
    } while (used == room - 1 && used <= CLI_FILE_MAX);
    bytes[used] = '\0';
    *out = bytes;
    *size = used;
    ptxgen_status status = PTXGEN_OK;
    if (ferror(file))
        status = cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(errno));
    else if (used > CLI_FILE_MAX)
        status = too_large(path, err);
    if (status != PTXGEN_OK)
        free(bytes);
    return status;
}

ptxgen_status cli_read_file(const char *path, char **out, size_t *size, ptxgen_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (!file)
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(errno));
    ptxgen_status status = check_kind(file, path, err);
    if (status == PTXGEN_OK)
        status = read_all(file, path, out, size, err);
    if (file != stdin)
        fclose(file);
    return status;
}

ptxgen_status cli_read_text(const char *path, char **out, ptxgen_error *err)
{
    size_t size;
    ptxgen_status status = cli_read_file(path, out, &size, err);
    if (status != PTXGEN_OK || strlen(*out) == size)
        return status;
    free(*out);
    *out = NULL;
    return cli_fail(err, PTXGEN_EINVAL, "%s is no text file", path);
}
