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

ptxgen_status ptxgen_manifest_parse(const char *text, size_t size, ptxgen_manifest_visit visit,
                                    void *user, ptxgen_error *err)
{
    char family[LINE_MAX_BYTES + 1], params[LINE_MAX_BYTES + 1];
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
        join_words(rest, params);
        const ptxgen_manifest_line line = {number, family, params};
        if (!visit(user, &line))
            break;
    }
    return PTXGEN_OK;
}
