/* The emitter: the text of one PTX module while templates write it, and which template line wrote
 * each of its lines.
 *
 * Templates call nothing here by hand except pg_regs() and friends inside holes: ptxt turns
 * every PTX line into pg_at + pg_lit + pg_put calls. A failure (out of memory) is sticky:
 * templates write everything and the caller checks once, with pg_emit_failed. Same calls, same
 * bytes: nothing depends on addresses, time or locale. One thread at a time. */
#ifndef PG_EMIT_H
#define PG_EMIT_H

#include "base/buf.h"

#include <stdint.h>

/* Where a PTX line came from. `file` is a string literal of the generated code. */
typedef struct pg_line_origin {
    const char *file;
    int line;
} pg_line_origin;

typedef struct pg_emit {
    pg_buf text;
    pg_buf origins; /* pg_line_origin per PTX line, in order */
} pg_emit;

void pg_emit_init(pg_emit *E, const pg_alloc *alloc);
void pg_emit_fini(pg_emit *E);
bool pg_emit_failed(const pg_emit *E);
/* Origin of PTX line `line` (from 1); {"", 0} when there is none. */
pg_line_origin pg_emit_origin(const pg_emit *E, int line);

/* Called by generated code. */
void pg_at(pg_emit *E, const char *file, int line);
void pg_lit(pg_emit *E, const char *s, size_t n);

/* ---- values for holes ---- */

/* A list of registers: pg_regs("%acc", 0, 4) prints %acc0, %acc1, %acc2, %acc3. */
typedef struct pg_reg_list {
    const char *prefix;
    int first, count;
} pg_reg_list;

static inline pg_reg_list pg_regs(const char *prefix, int first, int count)
{
    return (pg_reg_list){prefix, first, count};
}

/* A float constant, printed exactly: 0f3F800000. */
typedef struct pg_float_bits {
    float value;
} pg_float_bits;

/* A hexadecimal constant: 0x1f. */
typedef struct pg_hex {
    uint64_t value;
} pg_hex;

/* "%acc17", "%at + 64": a text for functions that take a register or an address, as long as it
 * lives. */
typedef struct pg_term {
    char text[48];
} pg_term;
pg_term pg_numbered(const char *prefix, int i);
pg_term pg_shifted(const char *address, int bytes);

void pg_put_i64(pg_emit *E, int64_t v);
void pg_put_u64(pg_emit *E, uint64_t v);
void pg_put_text(pg_emit *E, const char *s);
void pg_put_regs(pg_emit *E, pg_reg_list list);
void pg_put_float(pg_emit *E, pg_float_bits f);
void pg_put_hex(pg_emit *E, pg_hex h);

static inline void pg_put_int(pg_emit *E, int v)
{
    pg_put_i64(E, v);
}
static inline void pg_put_unsigned(pg_emit *E, unsigned v)
{
    pg_put_u64(E, v);
}
static inline void pg_put_long(pg_emit *E, long v)
{
    pg_put_i64(E, v);
}
static inline void pg_put_ulong(pg_emit *E, unsigned long v)
{
    pg_put_u64(E, v);
}
static inline void pg_put_longlong(pg_emit *E, long long v)
{
    pg_put_i64(E, v);
}
static inline void pg_put_ulonglong(pg_emit *E, unsigned long long v)
{
    pg_put_u64(E, v);
}

/* A hole of any other type (a float, a pointer, a struct) does not compile. */
#define pg_put(E, x)                                                                               \
    _Generic((x),                                                                                  \
        int: pg_put_int,                                                                           \
        unsigned: pg_put_unsigned,                                                                 \
        long: pg_put_long,                                                                         \
        unsigned long: pg_put_ulong,                                                               \
        long long: pg_put_longlong,                                                                \
        unsigned long long: pg_put_ulonglong,                                                      \
        char *: pg_put_text,                                                                       \
        const char *: pg_put_text,                                                                 \
        pg_reg_list: pg_put_regs,                                                                  \
        pg_float_bits: pg_put_float,                                                               \
        pg_hex: pg_put_hex)((E), (x))

#endif
