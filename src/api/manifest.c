/* Manifests, the public calls: lines "FAMILY name=value ..." are read, and written from what a
 * context was asked for. The reader knows lines and words only; what a family accepts is for
 * ptxgen_compile to say. */
#include "api/context.h"
#include "base/str.h"

#include <string.h>

enum { LINE_MAX_BYTES = 1024, TEXT_MAX_BYTES = 16 << 20 };

ptxgen_status ptxgen_manifest_write(ptxgen *ctx, const char *path, ptxgen_error *err)
{
    if (!path || !*path)
        return pg_fail(err, PTXGEN_EINVAL, "no path for the manifest");
    return pg_manifest_record_write(ctx->kernels.asked, path, err);
}

/* The line without its comment, checked for bytes that no parameter has. */
static ptxgen_status check_line(pg_str *text, int number, ptxgen_error *err)
{
    if (text->n && text->p[text->n - 1] == '\r')
        text->n--;
    const char *comment = memchr(text->p, '#', text->n);
    if (comment)
        text->n = (size_t)(comment - text->p);
    if (text->n > LINE_MAX_BYTES)
        return pg_fail_at(err, PTXGEN_EPARSE, "", number,
                          "line %d has %zu bytes; at most %d are a kernel", number, text->n,
                          (int)LINE_MAX_BYTES);
    for (size_t i = 0; i < text->n; i++) {
        const unsigned char c = (unsigned char)text->p[i];
        if ((c < ' ' && c != '\t') || c > '~')
            return pg_fail_at(err, PTXGEN_EPARSE, "", number,
                              "line %d has the byte 0x%02x at column %zu: a manifest is plain text",
                              number, c, i + 1);
    }
    return PTXGEN_OK;
}

/* Words with single spaces between them, NUL-terminated. `text` is at most LINE_MAX_BYTES long. */
static void join_words(pg_str text, char out[LINE_MAX_BYTES + 1])
{
    size_t n = 0;
    for (pg_str word; (word = pg_str_word(&text)).n;) {
        if (n)
            out[n++] = ' ';
        memcpy(out + n, word.p, word.n);
        n += word.n;
    }
    out[n] = 0;
}

enum { CHOICES_MAX = 4096 };

/* One line's words, and which choice of each list is meant. */
typedef struct expansion {
    char params[LINE_MAX_BYTES + 2]; /* of this choice */
    ptxgen_manifest_line line;
    ptxgen_manifest_visit visit;
    void *user;
} expansion;

/* How many choices `words` have, at most CHOICES_MAX + 1. */
static size_t count_choices(const char *words)
{
    size_t all = 1, here = 1;
    for (const char *p = words; all <= CHOICES_MAX; p++) {
        here += *p == ',';
        if (*p == ' ' || *p == 0) {
            all *= here;
            here = 1;
        }
        if (*p == 0)
            break;
    }
    return all;
}

/* Choice `number` of the words: the first list runs fastest. */
static void choose_words(const char *words, size_t number, char *out)
{
    for (pg_str rest = pg_str_of(words), word; (word = pg_str_word(&rest)).n;) {
        const char *equals = memchr(word.p, '=', word.n), *end = word.p + word.n;
        const char *value = equals ? equals + 1 : end;
        size_t choices = 1;
        for (const char *p = value; p < end; p++)
            choices += *p == ',';
        for (size_t skip = number % choices; skip; skip--)
            value = (const char *)memchr(value, ',', (size_t)(end - value)) + 1;
        number /= choices;
        const char *stop = memchr(value, ',', (size_t)(end - value));
        const size_t head = equals ? (size_t)(equals + 1 - word.p) : word.n;
        const size_t n = equals ? (size_t)((stop ? stop : end) - value) : 0;
        memcpy(out, word.p, head);
        memcpy(out + head, value, n);
        out += head + n;
        *out++ = rest.n ? ' ' : 0;
    }
    out[0] = 0;
}

/* false: the visitor has seen enough. */
static bool visit_choices(expansion *x, const char *words)
{
    const size_t count = count_choices(words);
    for (size_t i = 0; i < count; i++) {
        choose_words(words, i, x->params);
        const size_t n = strlen(x->params);
        if (n && x->params[n - 1] == ' ')
            x->params[n - 1] = 0;
        if (!x->visit(x->user, &x->line))
            return false;
    }
    return true;
}

ptxgen_status ptxgen_manifest_parse(const char *text, size_t size, ptxgen_manifest_visit visit,
                                    void *user, ptxgen_error *err)
{
    char family[LINE_MAX_BYTES + 1], words[LINE_MAX_BYTES + 1];
    expansion x = {.visit = visit, .user = user};
    if (size > TEXT_MAX_BYTES)
        return pg_fail(err, PTXGEN_EPARSE, "a manifest of %zu bytes; at most %d are read", size,
                       (int)TEXT_MAX_BYTES);
    int number = 0;
    for (const char *p = text, *end = text + size; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        pg_str rest = {p, (size_t)((newline ? newline : end) - p)};
        p = newline ? newline + 1 : end;
        PG_TRY(check_line(&rest, ++number, err));
        const pg_str word = pg_str_word(&rest);
        if (word.n == 0)
            continue;
        join_words(word, family);
        join_words(rest, words);
        if (count_choices(words) > CHOICES_MAX)
            return pg_fail_at(err, PTXGEN_EPARSE, "", number,
                              "line %d stands for more than %d lines", number, (int)CHOICES_MAX);
        x.line = (ptxgen_manifest_line){number, family, x.params};
        if (!visit_choices(&x, words))
            break;
    }
    return PTXGEN_OK;
}
