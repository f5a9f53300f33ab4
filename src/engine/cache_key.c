/* The text under which a kernel is kept on disk: everything that decides the cubin, and nothing else (no paths, no
 * dates). */
#include "api/context.h"

#include "base/error.h"
#include "base/hash.h"
#include "generator_fingerprint.h"

#include <stdio.h>
#include <string.h>

enum { KEY_FORMAT = 1 };      /* part of every key: a change of meaning is a new number */
enum { EXTRA_TEXT_MAX = 96 }; /* a longer text of the caller's enters as its hash */

static bool fits_a_line(const char *text)
{
    size_t n = 0;
    for (; text[n] && n <= EXTRA_TEXT_MAX; n++)
        if (text[n] < ' ' || text[n] > '~')
            return false;
    return n <= EXTRA_TEXT_MAX;
}

ptxgen_status pg_write_extra_key(const char *const *texts, size_t count, pg_buf *out,
                                 ptxgen_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!texts || !texts[i])
            return pg_fail(err, PTXGEN_EINVAL, "extra_key[%zu] is NULL: extra_key_count is %zu", i,
                           count);
        char hex[33];
        pg_hash_hex(pg_hash(texts[i], strlen(texts[i])), hex);
        const bool whole = fits_a_line(texts[i]);
        pg_buf_printf(out, "extra.%zu=%s%s\n", i, whole ? "" : "xxh128:", whole ? texts[i] : hex);
    }
    return out->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status pg_write_key(const ptxgen *ctx, const pg_kernel_id *id, const char *assembler,
                           pg_buf *out, ptxgen_error *err)
{
    const pg_family *f = id->family;
    pg_buf_printf(out, "format=%d\nfamily=%s\n", KEY_FORMAT, f->name);
    for (size_t i = 0; i < f->params.count; i++) {
        const pg_param *p = &f->params.rows[i];
        pg_buf_printf(out, "%s=", p->name);
        pg_param_print_value(p, id->key[p->offset / sizeof(int64_t)], out);
        pg_buf_putc(out, '\n');
    }
    pg_buf_printf(out, "assembler=%s\ngenerator=%s\n", assembler, PG_GENERATOR_FINGERPRINT);
    pg_buf_append(out, pg_buf_text(&ctx->extra_key), ctx->extra_key.len);
    return out->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

ptxgen_status ptxgen_key(ptxgen *ctx, const char *family, const char *params, char *out,
                         size_t size, ptxgen_error *err)
{
    pg_kernel_id id;
    ptxgen_assembler kind;
    const char *identity;
    PG_TRY(pg_kernel_id_parse(family, params, 0, &id, err));
    PG_TRY(pg_toolkit_choose(ctx->toolkit, id.family->whole_program, &kind, &identity, err));
    pg_buf text;
    pg_buf_init(&text, &ctx->alloc);
    ptxgen_status status = pg_write_key(ctx, &id, identity, &text, err);
    if (status == PTXGEN_OK && size > 0)
        snprintf(out, size, "%s", pg_buf_text(&text));
    pg_buf_fini(&text);
    return status;
}
