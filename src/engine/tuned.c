/* What the tuning file says of a call. The key of an entry is text: device, number of SMs, driver
 * release, the family's fingerprint, then the problem: the parameters that follow from the
 * operands or are fixed by the caller, the extents, and the alignment of each operand's rows. */
#include "engine/tuned.h"
#include "base/error.h"
#include "engine/cache_key.h"

#include <stdio.h>
#include <string.h>

enum { PARAMS_BYTES = 1024, MOST_ALIGNMENT = 128 };

/* Of this device, driver and generator. A tab or newline in a name would break the file. */
int pg_tuned_place(const ptxgen_device_info *d, const pg_family *f, char *out, size_t size)
{
    const int n = snprintf(out, size, "%s|%d SMs|driver %d|%s %s|", d->name, d->sm_count,
                           d->driver_version / 10, f->name, pg_generator_fingerprint(f->name));
    for (char *p = out; *p; p++)
        if (*p == '\t' || *p == '\n')
            *p = ' ';
    return n;
}

/* Bytes that the base and all strides but the inner are multiples of. */
static int alignment_of(const pg_view *v)
{
    uint64_t bits = (uintptr_t)v->data | MOST_ALIGNMENT;
    for (int d = 0; d < v->rank; d++)
        if (d != pg_view_along(v) && v->shape[d] > 1)
            bits |= (uint64_t)v->stride[d] * v->bits / 8;
    return (int)(bits & -bits);
}

static void put_problem(const pg_problem *p, const void *key, pg_buf *out)
{
    const pg_param_table *t = &p->family->params;
    for (size_t i = 1; i < t->count; i++) {
        const int64_t value = *(const int64_t *)((const char *)key + t->rows[i].offset);
        if (!t->rows[i].from && !value)
            continue;
        pg_buf_printf(out, "%s=", t->rows[i].name);
        pg_param_print_value(&t->rows[i], value, out);
        pg_buf_putc(out, ' ');
    }
    for (size_t s = 0; s < p->table->symbol_count; s++)
        pg_buf_printf(out, "%s=%lld ", p->table->symbols[s].name, (long long)p->symbol[s]);
    for (size_t i = 0; i < p->table->count; i++) {
        const pg_view *v = &p->operand[i];
        const pg_role role = p->table->rows[i].role;
        if (v->present && role != PG_WORKSPACE && role != PG_SCALAR)
            pg_buf_printf(out, "%s:%d ", p->table->rows[i].name, alignment_of(v));
    }
}

/* false: it does not fit, and the problem has no entry. The workspace is no part of a problem. */
bool pg_tuned_key(const pg_problem *problem, const void *key, char *out, size_t size)
{
    pg_problem p = *problem;
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    for (size_t i = 0; i < p.table->count; i++)
        if (p.table->rows[i].role == PG_WORKSPACE)
            for (int d = 0; d < p.table->rows[i].rank; d++)
                p.symbol[p.table->rows[i].extents[d]] = 0;
    put_problem(&p, key, &text);
    const int used = pg_tuned_place(p.device, p.family, out, size);
    const bool fits = !text.failed && used > 0 && (size_t)used + text.len < size;
    if (fits)
        memcpy(out + used, pg_buf_text(&text), text.len + 1);
    pg_buf_fini(&text);
    return fits;
}

/* ---- in a call ---- */

static int64_t *field(const pg_param *row, void *key)
{
    return (int64_t *)((char *)key + row->offset);
}

/* The tuned key where `key` is open; false when they disagree. */
static bool merge(const pg_param_table *t, void *key, void *tuned)
{
    for (size_t i = 1; i < t->count; i++) {
        const int64_t have = *field(&t->rows[i], key), kept = *field(&t->rows[i], tuned);
        if (have && have != kept)
            return false;
    }
    for (size_t i = 1; i < t->count; i++)
        *field(&t->rows[i], key) = *field(&t->rows[i], tuned);
    return true;
}

void pg_tuned_apply(const pg_problem *p, pg_kernel_id *id, pg_engine *engine)
{
    char key[PG_TUNING_KEY_BYTES], params[PARAMS_BYTES];
    pg_kernel_id tuned, merged = *id;
    ptxgen_error err = {0};
    if (!engine->tuning.path || !id->family->candidates ||
        !pg_tuned_key(p, id->key, key, sizeof key))
        return;
    const bool found = pg_tuning_find(&engine->tuning, key, params, sizeof params, &err);
    if (err.message[0])
        pg_log_line(&engine->log, PTXGEN_LOG_WARNING, "%s", err.message);
    if (found &&
        pg_kernel_id_parse(id->family->name, params, (ptxgen_arch)id->key[0], &tuned, &err) ==
            PTXGEN_OK &&
        merge(&id->family->params, merged.key, tuned.key) &&
        pg_kernel_id_resolve(&merged, &err) == PTXGEN_OK)
        memcpy(id->key, merged.key, sizeof id->key);
}
