/* Output with the origin of each line. */
#include "ptx/inline/out.h"

#include <string.h>

void pg_out_init(pg_out *o, pg_arena *arena, const pg_alloc *alloc)
{
    *o = (pg_out){.arena = arena};
    pg_buf_init(&o->text, alloc);
}

static pg_origin *current(pg_out *o)
{
    if (o->n_lines == o->cap_lines) {
        const size_t cap = o->cap_lines ? 2 * o->cap_lines : 1024;
        pg_origin *lines = PG_NEW_ARRAY(o->arena, pg_origin, cap);
        if (!lines)
            return NULL;
        if (o->n_lines)
            memcpy(lines, o->lines, o->n_lines * sizeof *lines);
        o->lines = lines;
        o->cap_lines = cap;
    }
    return &o->lines[o->n_lines];
}

static bool is_blank(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

void pg_out_wrote(pg_out *o, size_t from)
{
    if (o->text.failed || o->text.len == from)
        return;
    const char *text = o->text.data + from;
    size_t n = o->text.len - from;
    while (n) {
        const char *end = memchr(text, '\n', n);
        const size_t length = end ? (size_t)(end - text) : n;
        pg_origin *line = current(o);
        if (!line)
            return;
        if (!o->begun && (end || !is_blank(text, length))) {
            *line = o->now;
            o->begun = true;
        }
        if (!end)
            return;
        o->n_lines++;
        o->begun = false;
        n -= length + 1;
        text = end + 1;
    }
}

void pg_out_put(pg_out *o, const char *text, size_t n)
{
    const size_t from = o->text.len;
    pg_buf_append(&o->text, text, n);
    pg_out_wrote(o, from);
}

void pg_out_line(pg_out *o, const char *format, ...)
{
    const size_t from = o->text.len;
    va_list args;
    va_start(args, format);
    pg_buf_vprintf(&o->text, format, args);
    va_end(args);
    pg_buf_putc(&o->text, '\n');
    pg_out_wrote(o, from);
}

void pg_out_source(pg_out *o, pg_origin first, const char *text, size_t n)
{
    o->now = first;
    while (n) {
        const char *end = memchr(text, '\n', n);
        const size_t length = end ? (size_t)(end - text) + 1 : n;
        pg_out_put(o, text, length);
        o->now.line++;
        text += length;
        n -= length;
    }
}

bool pg_out_failed(const pg_out *o)
{
    return o->text.failed || o->arena->failed;
}
