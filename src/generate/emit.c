/* Text and line map of an emission. */
#include "generate/emit.h"

#include <string.h>

void pg_emit_init(pg_emit *E, const pg_alloc *alloc)
{
    pg_buf_init(&E->text, alloc);
    pg_buf_init(&E->origins, alloc);
    /* One allocation each is enough for most kernels. */
    pg_buf_reserve(&E->text, 16 << 10);
    pg_buf_reserve(&E->origins, 512 * sizeof(pg_line_origin));
}

void pg_emit_fini(pg_emit *E)
{
    pg_buf_fini(&E->text);
    pg_buf_fini(&E->origins);
}

bool pg_emit_failed(const pg_emit *E)
{
    return E->text.failed || E->origins.failed;
}

pg_line_origin pg_emit_origin(const pg_emit *E, int line)
{
    pg_line_origin o = {"", 0};
    if (line >= 1 && (size_t)line <= E->origins.len / sizeof o)
        memcpy(&o, E->origins.data + (size_t)(line - 1) * sizeof o, sizeof o);
    return o;
}

void pg_at(pg_emit *E, const char *file, int line)
{
    const pg_line_origin o = {file, line};
    pg_buf_append(&E->origins, &o, sizeof o);
}

void pg_lit(pg_emit *E, const char *s, size_t n)
{
    pg_buf_append(&E->text, s, n);
}

/* `text` as far as it fits, at `at` of a term; where it ends. */
static size_t put_in_term(pg_term *t, size_t at, const char *text)
{
    while (*text && at + 1 < sizeof t->text)
        t->text[at++] = *text++;
    t->text[at] = 0;
    return at;
}

static void put_number_in_term(pg_term *t, size_t at, int v)
{
    char digits[12];
    size_t first = sizeof digits - 1;
    digits[first] = 0;
    unsigned rest = v < 0 ? 0U - (unsigned)v : (unsigned)v;
    do {
        digits[--first] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (v < 0)
        digits[--first] = '-';
    put_in_term(t, at, digits + first);
}

pg_term pg_numbered(const char *prefix, int i)
{
    pg_term t;
    put_number_in_term(&t, put_in_term(&t, 0, prefix), i);
    return t;
}

pg_term pg_shifted(const char *address, int bytes)
{
    pg_term t;
    put_number_in_term(&t, put_in_term(&t, put_in_term(&t, 0, address), " + "), bytes);
    return t;
}

void pg_put_i64(pg_emit *E, int64_t v)
{
    pg_buf_put_i64(&E->text, v);
}

void pg_put_u64(pg_emit *E, uint64_t v)
{
    pg_buf_put_u64(&E->text, v);
}

void pg_put_text(pg_emit *E, const char *s)
{
    pg_buf_puts(&E->text, s);
}

void pg_put_regs(pg_emit *E, pg_reg_list list)
{
    const size_t length = strlen(list.prefix);
    for (int i = 0; i < list.count; i++) {
        if (i)
            pg_buf_append(&E->text, ", ", 2);
        pg_buf_append(&E->text, list.prefix, length);
        pg_buf_put_i64(&E->text, list.first + i);
    }
}

static void put_hex_digits(pg_emit *E, uint64_t v, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
        pg_buf_putc(&E->text, "0123456789ABCDEF"[v >> (4 * i) & 15]);
}

void pg_put_float(pg_emit *E, pg_float_bits f)
{
    uint32_t bits;
    memcpy(&bits, &f.value, sizeof bits);
    pg_buf_append(&E->text, "0f", 2);
    put_hex_digits(E, bits, 8);
}

void pg_put_hex(pg_emit *E, pg_hex h)
{
    int digits = 1;
    while (digits < 16 && h.value >> (4 * digits))
        digits++;
    pg_buf_append(&E->text, "0x", 2);
    put_hex_digits(E, h.value, digits);
}
