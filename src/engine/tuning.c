/* See tuning.h. A line is KEY tab PARAMETERS tab MICROSECONDS; the first line names the format. */
#include "engine/tuning.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char header[] = "ptxgen tuning 1\n";
enum { MOST_BYTES = 16 << 20, PATH_BYTES = 4200 };

/* What is added. */
typedef struct entry {
    const char *key, *params;
    double us;
} entry;

ptxgen_status pg_tuning_init(pg_tuning *t, const pg_alloc *alloc, const char *path,
                             ptxgen_error *err)
{
    memset(t, 0, sizeof *t);
    t->alloc = *alloc;
    pthread_mutex_init(&t->lock, NULL);
    if (!path || !*path)
        return PTXGEN_OK;
    t->path = pg_alloc_zero(alloc, strlen(path) + 1);
    if (!t->path)
        return pg_fail_memory(err, strlen(path) + 1);
    memcpy(t->path, path, strlen(path) + 1);
    return PTXGEN_OK;
}

static void forget(pg_tuning *t)
{
    if (t->text)
        pg_free(&t->alloc, t->text, t->size + 1);
    if (t->keys)
        pg_free(&t->alloc, t->keys, t->count * sizeof *t->keys);
    t->text = NULL;
    t->keys = NULL;
    t->size = t->count = 0;
}

void pg_tuning_fini(pg_tuning *t)
{
    if (!t->alloc.realloc)
        return;
    forget(t);
    if (t->path)
        pg_free(&t->alloc, t->path, strlen(t->path) + 1);
    pthread_mutex_destroy(&t->lock);
}

/* ---- reading ---- */

static ptxgen_status refuse(const pg_tuning *t, size_t line, const char *why, ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EPARSE,
                   "tuning file %s, line %zu: %s; it is not used: delete it, or mend the line",
                   t->path, line, why);
}

/* Only a file of this user (or root's) that nobody else can change decides which kernels run. */
static ptxgen_status check_file(const pg_tuning *t, int fd, struct stat *s, ptxgen_error *err)
{
    if (fstat(fd, s) != 0)
        return pg_fail(err, PTXGEN_EIO, "tuning file %s: %s", t->path, strerror(errno));
    const char *why = !S_ISREG(s->st_mode)                       ? "is no regular file"
                      : s->st_uid != geteuid() && s->st_uid != 0 ? "belongs to another user"
                      : (s->st_mode & (S_IWGRP | S_IWOTH)) != 0
                          ? "can be written by others: chmod go-w"
                      : s->st_size > MOST_BYTES ? "is larger than 16 MiB"
                                                : NULL;
    if (why)
        return pg_fail(err, PTXGEN_EPARSE, "tuning file %s %s; it is not used", t->path, why);
    return PTXGEN_OK;
}

static ptxgen_status load_text(pg_tuning *t, int fd, ptxgen_error *err)
{
    struct stat s;
    PG_TRY(check_file(t, fd, &s, err));
    const size_t size = (size_t)s.st_size;
    t->text = pg_alloc_zero(&t->alloc, size + 1);
    if (!t->text)
        return pg_fail_memory(err, size + 1);
    t->size = size;
    for (size_t done = 0; done < size;) {
        const ssize_t n = read(fd, t->text + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return pg_fail(err, PTXGEN_EIO, "tuning file %s: %s", t->path,
                           n < 0 ? strerror(errno) : "it became shorter while it was read");
        done += (size_t)n;
    }
    return PTXGEN_OK;
}

/* "KEY\tPARAMETERS\tNUMBER", cut in place; NULL or what is wrong. */
static const char *cut_line(char *line)
{
    char *params = strchr(line, '\t'), *number = params ? strchr(params + 1, '\t') : NULL, *end;
    if (!number || params == line || number == params + 1)
        return "not a key, parameters and microseconds with tabs between them";
    *params = *number = 0;
    const double us = strtod(number + 1, &end);
    return end == number + 1 || *end || !(us > 0) ? "the last field is no time" : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ptxgen_status parse(pg_tuning *t, ptxgen_error *err)
{
    size_t lines = 0, line = 1;
    if (strlen(t->text) != t->size || strncmp(t->text, header, strlen(header)) != 0)
        return refuse(t, 1, "it does not begin with \"ptxgen tuning 1\"", err);
    for (const char *p = t->text; *p; p++)
        lines += *p == '\n';
    if (t->text[t->size - 1] != '\n')
        return refuse(t, lines + 1, "the line does not end", err);
    if (lines == 1)
        return PTXGEN_OK;
    t->keys = pg_alloc_zero(&t->alloc, (lines - 1) * sizeof *t->keys);
    if (!t->keys)
        return pg_fail_memory(err, (lines - 1) * sizeof *t->keys);
    t->count = lines - 1;
    char *at = t->text + strlen(header);
    for (size_t i = 0; i < t->count; i++) {
        char *end = strchr(at, '\n');
        *end = 0;
        t->keys[i] = at;
        const char *why = cut_line(at);
        line++;
        if (why)
            return refuse(t, line, why, err);
        at = end + 1;
    }
    qsort(t->keys, t->count, sizeof *t->keys, by_text);
    return PTXGEN_OK;
}

static ptxgen_status read_file(pg_tuning *t, ptxgen_error *err)
{
    forget(t);
    t->read = true;
    if (!t->path)
        return PTXGEN_OK;
    const int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return PTXGEN_OK;
    if (fd < 0)
        return pg_fail(err, errno == ELOOP ? PTXGEN_EPARSE : PTXGEN_EIO,
                       "tuning file %s: %s; it is not used", t->path,
                       errno == ELOOP ? "it is a link" : strerror(errno));
    ptxgen_status status = load_text(t, fd, err);
    close(fd);
    if (status == PTXGEN_OK)
        status = parse(t, err);
    if (status != PTXGEN_OK)
        forget(t);
    return status;
}

ptxgen_status pg_tuning_read(pg_tuning *t, ptxgen_error *err)
{
    pthread_mutex_lock(&t->lock);
    const ptxgen_status status = read_file(t, err);
    pthread_mutex_unlock(&t->lock);
    return status;
}

static const char *value_of(const char *key)
{
    return key + strlen(key) + 1;
}

bool pg_tuning_find(pg_tuning *t, const char *key, char *out, size_t size, ptxgen_error *err)
{
    bool found = false;
    pthread_mutex_lock(&t->lock);
    if (!t->read)
        (void)read_file(t, err); /* refused: there are no entries */
    const char **at = t->count ? bsearch(&key, t->keys, t->count, sizeof key, by_text) : NULL;
    if (at)
        found = (size_t)snprintf(out, size, "%s", value_of(*at)) < size;
    pthread_mutex_unlock(&t->lock);
    return found;
}

void pg_tuning_count(pg_tuning *t, const char *prefix, size_t *all, size_t *with_prefix)
{
    *all = *with_prefix = 0;
    pthread_mutex_lock(&t->lock);
    *all = t->count;
    for (size_t i = 0; i < t->count; i++)
        *with_prefix += strncmp(t->keys[i], prefix, strlen(prefix)) == 0;
    pthread_mutex_unlock(&t->lock);
}

/* ---- writing ---- */

static void put_entry(pg_buf *out, const char *key, const char *params, const char *us)
{
    pg_buf_printf(out, "%s\t%s\t%s\n", key, params, us);
}

static void put_entries(const pg_tuning *t, const entry *new, pg_buf *out)
{
    char number[32];
    snprintf(number, sizeof number, "%.3f", new->us);
    pg_buf_puts(out, header);
    for (size_t i = 0; i < t->count; i++) {
        const char *value = value_of(t->keys[i]);
        if (strcmp(t->keys[i], new->key) != 0)
            put_entry(out, t->keys[i], value, value_of(value));
    }
    put_entry(out, new->key, new->params, number);
}

static bool write_all(int fd, const char *text, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text += n;
        size -= (size_t)n;
    }
    return fsync(fd) == 0;
}

static ptxgen_status fail_writing(const pg_tuning *t, int error, ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EIO, "tuning file %s cannot be written: %s", t->path,
                   strerror(error));
}

/* Beside the file, then in its place. */
static ptxgen_status replace(const pg_tuning *t, const pg_buf *text, ptxgen_error *err)
{
    char temporary[PATH_BYTES];
    snprintf(temporary, sizeof temporary, "%s.new.%ld", t->path, (long)getpid());
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail_writing(t, errno, err);
    bool fine = write_all(fd, pg_buf_text(text), text->len);
    int error = errno;
    if (close(fd) != 0 && fine) {
        fine = false;
        error = errno;
    }
    if (fine && rename(temporary, t->path) == 0)
        return PTXGEN_OK;
    error = fine ? errno : error;
    unlink(temporary);
    return fail_writing(t, error, err);
}

static ptxgen_status write_entry(const pg_tuning *t, const entry *new, ptxgen_error *err)
{
    pg_buf text;
    pg_buf_init(&text, &t->alloc);
    put_entries(t, new, &text);
    const ptxgen_status status = text.failed ? pg_fail_memory(err, 0) : replace(t, &text, err);
    pg_buf_fini(&text);
    return status;
}

/* One process at a time reads, adds and writes: a lock file beside it. */
static int lock_file(const pg_tuning *t)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.lock", t->path);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

ptxgen_status pg_tuning_keep(pg_tuning *t, const char *key, const char *params, double us,
                             ptxgen_error *err)
{
    if (!t->path)
        return pg_fail(err, PTXGEN_EINVAL,
                       "there is no tuning file: set tuning_file, or a cache folder");
    pthread_mutex_lock(&t->lock);
    const int fd = lock_file(t);
    ptxgen_status status = fd < 0 ? fail_writing(t, errno, err) : read_file(t, err);
    if (status == PTXGEN_OK)
        status = write_entry(t, &(entry){key, params, us}, err);
    if (status == PTXGEN_OK)
        status = read_file(t, err);
    if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&t->lock);
    return status;
}
