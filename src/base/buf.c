/* Doubling growth; decimal printing by hand, because emission of a kernel prints hundreds of
 * integers. */
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

void pg_buf_init(pg_buf *b, const pg_alloc *alloc)
{
    memset(b, 0, sizeof *b);
    b->alloc = alloc;
}

void pg_buf_fini(pg_buf *b)
{
    pg_free(b->alloc, b->data, b->cap);
    pg_buf_init(b, b->alloc);
}

bool pg_buf_reserve(pg_buf *b, size_t extra)
{
    if (b->failed)
        return false;
    if (extra < b->cap - b->len)
        return true;
    if (extra > SIZE_MAX / 4 || b->len > SIZE_MAX / 4) {
        b->failed = true;
        return false;
    }
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->len <= extra)
        cap *= 2;
    char *p = b->alloc->realloc(b->alloc->user, b->data, b->cap, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->cap = cap;
    return true;
}

void pg_buf_puts(pg_buf *b, const char *s)
{
    pg_buf_append(b, s, strlen(s));
}

void pg_buf_putc(pg_buf *b, char c)
{
    pg_buf_append(b, &c, 1);
}

void pg_buf_put_u64(pg_buf *b, uint64_t v)
{
    enum { MOST_DIGITS = 20 };
    if (MOST_DIGITS >= b->cap - b->len && !pg_buf_reserve(b, MOST_DIGITS))
        return;
    size_t digits = 1;
    for (uint64_t rest = v; rest >= 10; rest /= 10)
        digits++;
    b->len += digits;
    char *at = b->data + b->len;
    *at = 0;
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v);
}

void pg_buf_put_i64(pg_buf *b, int64_t v)
{
    if (v < 0)
        pg_buf_putc(b, '-');
    pg_buf_put_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void pg_buf_vprintf(pg_buf *b, const char *format, va_list args)
{
    enum { MOST_OFTEN_ENOUGH = 120 };
    va_list again;
    va_copy(again, args);
    const size_t room = pg_buf_reserve(b, MOST_OFTEN_ENOUGH) ? b->cap - b->len : 0;
    const int n = vsnprintf(room ? b->data + b->len : NULL, room, format, args);
    const bool printed = n >= 0 && (size_t)n < room;
    if (n < 0)
        b->failed = true;
    else if (!printed && pg_buf_reserve(b, (size_t)n))
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
    if (!b->failed)
        b->len += (size_t)n;
    else if (b->data)
        b->data[b->len] = 0;
    va_end(again);
}

void pg_buf_printf(pg_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pg_buf_vprintf(b, format, args);
    va_end(args);
}

const char *pg_buf_text(const pg_buf *b)
{
    return b->data ? b->data : "";
}

void pg_buf_truncate(pg_buf *b, size_t n)
{
    if (n < b->len) {
        b->len = n;
        b->data[n] = 0;
    }
}
