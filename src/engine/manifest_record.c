/* A hash set whose nodes are made outside of its lock and live as long as it. */
#include "engine/manifest_record.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/system_words.h"
#include "ptxgen/ptxgen.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, LINES_MAX = 65536 };

typedef struct line {
    struct line *next;
    size_t size; /* of text, with its newline */
    char text[];
} line;

struct pg_manifest_record {
    pg_alloc alloc;
    pthread_mutex_t lock;
    line *buckets[BUCKETS];
    size_t count;
    bool incomplete; /* a line was left out */
};

ptxgen_status pg_manifest_record_create(const pg_alloc *alloc, pg_manifest_record **out,
                                        ptxgen_error *err)
{
    pg_manifest_record *r = pg_alloc_zero(alloc, sizeof *r);
    if (!r)
        return pg_fail_memory(err, sizeof *r);
    r->alloc = *alloc;
    pthread_mutex_init(&r->lock, NULL);
    *out = r;
    return PTXGEN_OK;
}

static void free_line(const pg_alloc *alloc, line *l)
{
    if (l)
        pg_free(alloc, l, sizeof *l + l->size);
}

void pg_manifest_record_destroy(pg_manifest_record *r)
{
    if (!r)
        return;
    for (size_t b = 0; b < BUCKETS; b++) {
        for (line *l = r->buckets[b], *next; l; l = next) {
            next = l->next;
            free_line(&r->alloc, l);
        }
    }
    pthread_mutex_destroy(&r->lock);
    const pg_alloc alloc = r->alloc;
    pg_free(&alloc, r, sizeof *r);
}

static line *make_line(const pg_alloc *alloc, const char *family, const char *params)
{
    const size_t f = strlen(family), p = strlen(params), size = f + 1 + p + 1;
    line *l = pg_alloc_zero(alloc, sizeof *l + size);
    if (!l)
        return NULL;
    l->size = size;
    memcpy(l->text, family, f);
    l->text[f] = ' ';
    memcpy(l->text + f + 1, params, p);
    l->text[size - 1] = '\n';
    return l;
}

void pg_manifest_record_add(pg_manifest_record *r, const char *family, const char *params)
{
    line *l = make_line(&r->alloc, family, params);
    line **bucket = l ? &r->buckets[pg_hash64(l->text, l->size) % BUCKETS] : NULL;
    pthread_mutex_lock(&r->lock);
    const line *same = l ? *bucket : NULL;
    while (same && !(same->size == l->size && memcmp(same->text, l->text, l->size) == 0))
        same = same->next;
    if (l && !same && r->count < LINES_MAX) {
        l->next = *bucket;
        *bucket = l;
        r->count++;
        l = NULL;
    } else if (!same) {
        r->incomplete = true;
    }
    pthread_mutex_unlock(&r->lock);
    free_line(&r->alloc, l);
}

/* ---- writing ---- */

static int by_text(const void *a, const void *b)
{
    const line *x = *(const line *const *)a, *y = *(const line *const *)b;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* Up to `count` lines into `lines`; how many. Lines do not change once they are there. */
static size_t collect(pg_manifest_record *r, const line **lines, size_t count)
{
    size_t n = 0;
    pthread_mutex_lock(&r->lock);
    for (size_t b = 0; b < BUCKETS; b++)
        for (const line *l = r->buckets[b]; l && n < count; l = l->next)
            lines[n++] = l;
    pthread_mutex_unlock(&r->lock);
    return n;
}

static ptxgen_status print_lines(pg_manifest_record *r, size_t count, pg_buf *out,
                                 ptxgen_error *err)
{
    const line **lines = pg_alloc_zero(&r->alloc, count * sizeof *lines);
    if (!lines)
        return pg_fail_memory(err, count * sizeof *lines);
    const size_t n = collect(r, lines, count);
    qsort(lines, n, sizeof *lines, by_text);
    pg_buf_puts(out, "# Kernels that were asked for; compile them with: ptxgen prewarm FILE\n");
    for (size_t i = 0; i < n; i++)
        pg_buf_append(out, lines[i]->text, lines[i]->size);
    pg_free(&r->alloc, lines, count * sizeof *lines);
    return out->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

/* The folder of `path` into folder[4096]; the name in it. NULL: too long, or no name. */
static const char *split_path(const char *path, char folder[4096])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= 4096 || !*name)
        return NULL;
    memcpy(folder, path, n);
    folder[n] = 0;
    if (n == 0)
        strcpy(folder, slash ? "/" : ".");
    return name;
}

/* 0 or a negative errno. */
static int replace_file(const char *path, const pg_buf *text)
{
    const pg_files *f = &pg_files_libc;
    const pg_file_temporary content = {text->data, text->len, true, 0};
    char folder_path[4096], temporary[64];
    const char *name = split_path(path, folder_path);
    if (!name)
        return -ENAMETOOLONG;
    const int folder = f->open(f->user, AT_FDCWD, folder_path, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return folder;
    pg_file_stat old;
    const bool other = f->stat_at(f->user, folder, name, &old) == 0 && old.type == PG_FILE_OTHER;
    int r =
        other ? -EEXIST : pg_file_write_temporary(f, folder, &content, temporary, sizeof temporary);
    if (r == 0) {
        r = f->rename(f->user, folder, temporary, folder, name);
        if (r < 0)
            f->unlink(f->user, folder, temporary);
    }
    f->close(f->user, folder);
    return r;
}

ptxgen_status pg_manifest_record_write(pg_manifest_record *r, const char *path, ptxgen_error *err)
{
    pg_buf text;
    pg_buf_init(&text, &r->alloc);
    pthread_mutex_lock(&r->lock);
    const size_t count = r->count;
    const bool incomplete = r->incomplete;
    pthread_mutex_unlock(&r->lock);
    ptxgen_status status = print_lines(r, count, &text, err);
    if (status == PTXGEN_OK) {
        const int result = replace_file(path, &text);
        if (result == -EEXIST)
            status = pg_fail(err, PTXGEN_EINVAL,
                             "%.300s is a link or device, which a manifest does not replace: "
                             "name a new or a regular file",
                             path);
        else if (result < 0)
            status = pg_fail(err, PTXGEN_EIO, "cannot write the manifest %.300s: %s", path,
                             pg_error_words(-result));
        else if (incomplete)
            status = pg_fail(
                err, PTXGEN_ENOMEM,
                "the manifest %.300s has %zu lines, but not all: it takes at most %d, or memory was"
                " short when a kernel was asked for",
                path, count, (int)LINES_MAX);
    }
    pg_buf_fini(&text);
    return status;
}

void pg_manifest_record_before_fork(pg_manifest_record *r)
{
    pthread_mutex_lock(&r->lock);
}

void pg_manifest_record_after_fork(pg_manifest_record *r)
{
    pthread_mutex_unlock(&r->lock);
}
