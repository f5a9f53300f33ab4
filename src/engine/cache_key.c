/* Everything that decides the PTX, and nothing else: no paths, no dates. */
#include "engine/cache_key.h"

#include "assemble/release.h"
#include "base/error.h"
#include "base/hash.h"
#include "generator_fingerprint.h"

#include <string.h>

enum { KEY_FORMAT = 2 };      /* part of every key: a change of meaning is a new number */
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

const char *pg_generator_fingerprint(const char *family)
{
    static const struct {
        const char *family, *fingerprint;
    } table[] = {PG_FAMILY_FINGERPRINTS};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].family, family) == 0)
            return table[i].fingerprint;
    return "none";
}

ptxgen_status pg_write_key(const pg_kernel_id *id, const pg_buf *extra, pg_buf *out,
                           ptxgen_error *err)
{
    const pg_family *f = id->family;
    pg_buf_printf(out, "format=%d\nfamily=%s\n", KEY_FORMAT, f->name);
    for (size_t i = 0; i < f->params.count; i++) {
        const pg_param *p = &f->params.rows[i];
        pg_buf_printf(out, "%s=", p->name);
        pg_param_print_value(p, id->key[p->offset / sizeof(int64_t)], out);
        pg_buf_putc(out, '\n');
    }
    pg_buf_printf(out, "generator=%s\n", pg_generator_fingerprint(f->name));
    pg_buf_append(out, pg_buf_text(extra), extra->len);
    return out->failed ? pg_fail_memory(err, 0) : PTXGEN_OK;
}

pg_assembly_need pg_kernel_need(const pg_kernel_id *id)
{
    const pg_arch *arch = pg_arch_find(id->key[0]);
    return (pg_assembly_need){.whole_program = id->family->whole_program,
                              .release = arch ? pg_release_for_ptx(arch->ptx_version) : 0};
}
