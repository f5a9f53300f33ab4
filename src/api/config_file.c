/* jsmn (header-only) cuts the text into tokens; a name's value is a string, a number, true,
 * false, null (not set) or a list of strings. */
#include "api/config_file.h"

#include "base/error.h"
#include "base/file.h"
#include "base/system_words.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

enum { SIZE_MAX_BYTES = 64 << 10, TOKENS_MAX = 512 };

typedef struct reader {
    pg_config_file *file;
    char *text;
    const jsmntok_t *tokens;
    ptxgen_error *err;
} reader;

static int line_of(const char *text, size_t offset)
{
    int line = 1;
    for (size_t i = 0; i < offset && text[i]; i++)
        line += text[i] == '\n';
    return line;
}

static ptxgen_status refuse(const reader *r, size_t offset, const char *why)
{
    const int line = line_of(r->text, offset);
    return pg_fail_at(r->err, PTXGEN_EINVAL, r->file->path, line, "%.300s:%d: %s", r->file->path,
                      line, why);
}

/* Appends a string without its escapes; those of \u are refused (the file is UTF-8 as it is). */
static ptxgen_status append_string(const reader *r, const jsmntok_t *t)
{
    static const char from[] = "\"\\/nt", to[] = "\"\\/\n\t";
    for (int i = t->start; i < t->end; i++) {
        char c = r->text[i];
        if (c == '\\') {
            const char *known = strchr(from, r->text[++i]);
            if (!known || !*known)
                return refuse(r, (size_t)i,
                              "escapes other than \\\" \\\\ \\/ \\n \\t are not read: "
                              "write the character itself");
            c = to[known - from];
        }
        if (c == 0)
            return refuse(r, (size_t)i, "a NUL is no text");
        pg_buf_putc(&r->file->texts, c);
    }
    return PTXGEN_OK;
}

/* The value at token *at, which moves behind it. */
static ptxgen_status append_value(const reader *r, int *at)
{
    const jsmntok_t *t = &r->tokens[(*at)++];
    if (t->type == JSMN_STRING)
        return append_string(r, t);
    if (t->type == JSMN_PRIMITIVE) {
        if (r->text[t->start] != 'n')
            pg_buf_append(&r->file->texts, r->text + t->start, (size_t)(t->end - t->start));
        return PTXGEN_OK;
    }
    if (t->type == JSMN_OBJECT)
        return refuse(r, (size_t)t->start, "a value is a text, a number or a list of texts");
    for (int i = 0; i < t->size; i++) {
        const jsmntok_t *e = &r->tokens[(*at)++];
        if (e->type != JSMN_STRING)
            return refuse(r, (size_t)e->start, "a list holds texts only");
        if (i)
            pg_buf_putc(&r->file->texts, PG_CONFIG_SEPARATOR);
        PG_TRY(append_string(r, e));
    }
    return PTXGEN_OK;
}

static ptxgen_status take_items(const reader *r, int count)
{
    pg_config_file *f = r->file;
    if (count < 1 || r->tokens[0].type != JSMN_OBJECT)
        return refuse(r, 0, "a configuration is one JSON object: {\"name\": value, ...}");
    for (int at = 1; at < count;) {
        const jsmntok_t *name = &r->tokens[at++];
        if (name->type != JSMN_STRING || name->size != 1 || at == count)
            return refuse(r, (size_t)name->start, "a name and its value are expected here");
        if (f->count == PG_CONFIG_ITEMS_MAX)
            return refuse(r, (size_t)name->start, "more than 64 names");
        f->items[f->count].name = f->texts.len;
        PG_TRY(append_string(r, name));
        pg_buf_putc(&f->texts, 0);
        f->items[f->count].value = f->texts.len;
        PG_TRY(append_value(r, &at));
        pg_buf_putc(&f->texts, 0);
        f->count++;
    }
    return f->texts.failed ? pg_fail_memory(r->err, 0) : PTXGEN_OK;
}

static ptxgen_status parse(pg_config_file *f, char *text, size_t size, ptxgen_error *err)
{
    jsmntok_t tokens[TOKENS_MAX];
    jsmn_parser parser;
    const reader r = {f, text, tokens, err};
    jsmn_init(&parser);
    const int count = jsmn_parse(&parser, text, size, tokens, TOKENS_MAX);
    if (count == JSMN_ERROR_NOMEM)
        return refuse(&r, parser.pos, "more than 512 names and values");
    if (count < 0)
        return refuse(&r, parser.pos, "this is not JSON (no comments, no comma after the last)");
    return take_items(&r, count);
}

static ptxgen_status check(const char *path, const pg_file_stat *st, ptxgen_error *err)
{
    if (st->type != PG_FILE_REGULAR)
        return pg_fail(err, PTXGEN_EINVAL, "the configuration '%.300s' is no file", path);
    if (st->owner != geteuid() && st->owner != 0)
        return pg_fail(
            err, PTXGEN_EINVAL,
            "the configuration '%.300s' belongs to another user, who could have code run "
            "through it: it is not read",
            path);
    if (st->mode & 022)
        return pg_fail(err, PTXGEN_EINVAL,
                       "the configuration '%.300s' can be written by other users, who could have "
                       "code run through it: chmod go-w",
                       path);
    if (st->size > SIZE_MAX_BYTES)
        return pg_fail(err, PTXGEN_EINVAL, "the configuration '%.300s' has over %d bytes", path,
                       (int)SIZE_MAX_BYTES);
    return PTXGEN_OK;
}

static ptxgen_status fail_to_read(const char *path, int error, ptxgen_error *err)
{
    return pg_fail(err, PTXGEN_EIO, "the configuration '%.300s' cannot be read: %s", path,
                   pg_error_words(error));
}

static ptxgen_status read_open(pg_config_file *f, int fd, ptxgen_error *err)
{
    const pg_files *files = &pg_files_libc;
    pg_file_stat st;
    const int r = files->stat(files->user, fd, &st);
    if (r < 0)
        return fail_to_read(f->path, -r, err);
    PG_TRY(check(f->path, &st, err));
    const pg_alloc *alloc = f->texts.alloc;
    char *text = pg_alloc_zero(alloc, st.size + 1);
    if (!text)
        return pg_fail_memory(err, st.size + 1);
    const int got = pg_file_read_exact(files, fd, text, st.size, 0);
    const ptxgen_status status =
        got < 0 ? fail_to_read(f->path, -got, err) : parse(f, text, st.size, err);
    pg_free(alloc, text, st.size + 1);
    return status;
}

ptxgen_status pg_config_file_read(pg_config_file *f, const pg_alloc *alloc, const char *path,
                                  bool required, ptxgen_error *err)
{
    const pg_files *files = &pg_files_libc;
    pg_file_stat st;
    *f = (pg_config_file){.path = ""};
    pg_buf_init(&f->texts, alloc);
    /* Asked first without a descriptor: a process that has none left, and no such file, is not
     * kept from starting. */
    int r = files->stat_at(files->user, AT_FDCWD, path, &st);
    if (r == -ENOENT || r == -ENOTDIR || (r == -EACCES && !required))
        return required ? pg_fail(err, PTXGEN_EMISSING, "there is no configuration '%.300s'", path)
                        : PTXGEN_OK;
    const int fd = r < 0 ? r : files->open(files->user, AT_FDCWD, path, O_RDONLY, 0);
    if (fd < 0)
        return fail_to_read(path, -fd, err);
    f->path = path;
    const ptxgen_status status = read_open(f, fd, err);
    files->close(files->user, fd);
    return status;
}

void pg_config_file_free(pg_config_file *f)
{
    pg_buf_fini(&f->texts);
}

const char *pg_config_file_name(const pg_config_file *f, size_t i)
{
    return pg_buf_text(&f->texts) + f->items[i].name;
}

const char *pg_config_file_value(const pg_config_file *f, size_t i)
{
    return pg_buf_text(&f->texts) + f->items[i].value;
}
