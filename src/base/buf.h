/* A growing byte buffer with a sticky failure: append without checking, look at `failed` once at
 * the end. The bytes always end with a NUL that `len` does not count. */
#ifndef PG_BUF_H
#define PG_BUF_H

#include "base/alloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pg_buf {
    const pg_alloc *alloc; /* borrowed */
    char *data;            /* NULL until the first append; see pg_buf_text */
    size_t len, cap;
    bool failed; /* an allocation failed; the content is then incomplete */
} pg_buf;

void pg_buf_init(pg_buf *b, const pg_alloc *alloc);
void pg_buf_fini(pg_buf *b);
/* Room for `extra` more bytes and the NUL; false (and failed) when out of memory. */
bool pg_buf_reserve(pg_buf *b, size_t extra);
static inline void pg_buf_append(pg_buf *b, const void *bytes, size_t n)
{
    if (n >= b->cap - b->len && !pg_buf_reserve(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = 0;
}
void pg_buf_puts(pg_buf *b, const char *s);
void pg_buf_putc(pg_buf *b, char c);
void pg_buf_put_i64(pg_buf *b, int64_t v);
void pg_buf_put_u64(pg_buf *b, uint64_t v);
/* snprintf rules, C locale expected of the caller for floats (write none). */
void pg_buf_printf(pg_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pg_buf_vprintf(pg_buf *b, const char *format, va_list args);
/* The bytes as a C string, "" when empty. Borrowed until the next append. */
const char *pg_buf_text(const pg_buf *b);
/* Drops everything after the first n bytes. */
void pg_buf_truncate(pg_buf *b, size_t n);

#endif
