/* The folder is made and reached as the cache folder is: without following links of other users. */
#include "engine/dump.h"

#include "base/file_path.h"
#include "base/system_words.h"

#include <stdio.h>
#include <string.h>

bool pg_dump_init(pg_dump *d, const pg_alloc *alloc, const pg_log *log, const char *dir)
{
    *d = (pg_dump){.alloc = alloc, .log = log};
    if (!dir || !*dir)
        return true;
    d->size = strlen(dir) + 1;
    d->dir = pg_alloc_zero(alloc, d->size);
    if (d->dir)
        memcpy(d->dir, dir, d->size);
    return d->dir != NULL;
}

void pg_dump_fini(pg_dump *d)
{
    if (d->dir)
        pg_free(d->alloc, d->dir, d->size);
}

static int write_file(const char *path, const pg_file_temporary *what)
{
    const pg_files *files = &pg_files_libc;
    const pg_file_walk walk = {.files = files, .path = path, .create = true};
    char leaf[256], temporary[64];
    const int folder = pg_file_open_parent(&walk, leaf);
    if (folder < 0)
        return folder;
    /* The walk's descriptors are for reaching only; this one can be written through as well. */
    int r = pg_file_write_temporary(files, folder, what, temporary, sizeof temporary);
    if (r == 0 && (r = files->rename(files->user, folder, temporary, folder, leaf)) < 0)
        files->unlink(files->user, folder, temporary);
    files->close(files->user, folder);
    return r;
}

bool pg_dump_write(const pg_dump *d, const char *name, pg_str bytes, char *path, size_t size)
{
    if (!d->dir)
        return false;
    const pg_file_temporary what = {bytes.p, bytes.n, false, 0644};
    const int length = snprintf(path, size, "%s/%s", d->dir, name);
    const int r = length > 0 && (size_t)length < size ? write_file(path, &what) : -1;
    if (r < 0)
        pg_log_line(d->log, PTXGEN_LOG_WARNING, "cannot write '%s': %s", path, pg_error_words(-r));
    return r == 0;
}
