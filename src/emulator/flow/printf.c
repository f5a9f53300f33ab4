/* vprintf and __assertfail, the two functions that the device side of CUDA always has. The text
 * goes to the print hook as it is, or to the log hook, one line a thread and call. Conversions:
 * d i u o x X c s p f F e E g G a A %, flags, width and precision (no *), h l ll z. A format or
 * string must lie in memory that the program may read. */
#include "emulator/flow/control.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/memory.h"

#include <locale.h>
#include <stdio.h>

enum { MAX_TEXT = 1024, MAX_SPEC = 32 };

/* A string at a generic address, at most MAX_TEXT - 1 characters; false: not readable. */
static bool read_string(pg_warp *w, uint64_t address, int lane, char *out)
{
    uint64_t within;
    const pg_space space = pg_generic_space(address, &within);
    size_t n = 0;
    for (; n < MAX_TEXT - 1; n++) {
        const uint8_t *at = NULL;
        if (space == PG_MEM_LOCAL && within + n < w->launch->local_bytes)
            at = (const uint8_t *)w->local + (size_t)lane * w->launch->local_bytes + within + n;
        else if (space == PG_MEM_GLOBAL)
            at = pg_global_at(w->cta->cluster->worker, address + n, 1, false);
        if (!at)
            return false;
        out[n] = (char)*at;
        if (!out[n])
            return true;
    }
    out[n] = 0;
    return true;
}

/* The bytes of vprintf's argument buffer, read in order with the alignment of each argument. */
typedef struct arguments {
    const char *bytes;
    uint32_t at, end;
} arguments;

static uint64_t next_argument(arguments *a, uint32_t size)
{
    a->at = (a->at + size - 1) / size * size;
    uint64_t value = 0;
    if (a->at + size <= a->end)
        memcpy(&value, a->bytes + a->at, size);
    a->at += size;
    return value;
}

/* "%...c" without length modifiers, of n characters. */
typedef struct conversion {
    char spec[MAX_SPEC];
    size_t n;
    bool wide; /* an integer of 8 bytes */
} conversion;

/* Appends one conversion. */
static void convert_one(pg_warp *w, int lane, conversion *c, arguments *a, pg_buf *out)
{
    char *const spec = c->spec;
    const size_t n = c->n;
    const bool wide = c->wide;
    const char kind = spec[n - 1];
    char text[MAX_TEXT];
    if (strchr("diuoxXc", kind)) {
        const uint64_t v = next_argument(a, wide ? 8 : 4);
        if (kind == 'c') {
            spec[n] = 0;
            snprintf(text, sizeof text, spec, (int)(unsigned char)v);
        } else {
            const bool is_signed = kind == 'd' || kind == 'i';
            memcpy(spec + n - 1, "ll", 2);
            spec[n + 1] = kind;
            spec[n + 2] = 0;
            snprintf(text, sizeof text, spec,
                     is_signed && !wide ? (long long)(int32_t)v : (long long)v);
        }
    } else if (strchr("fFeEgGaA", kind)) {
        const uint64_t bits = next_argument(a, 8);
        double x;
        memcpy(&x, &bits, sizeof x);
        spec[n] = 0;
        snprintf(text, sizeof text, spec, x);
    } else if (kind == 's') {
        char string[MAX_TEXT];
        spec[n] = 0;
        if (!read_string(w, next_argument(a, 8), lane, string))
            snprintf(string, sizeof string, "(unreadable)");
        snprintf(text, sizeof text, spec, string);
    } else if (kind == 'p') {
        snprintf(text, sizeof text, "0x%llx", (unsigned long long)next_argument(a, 8));
    } else {
        return;
    }
    pg_buf_puts(out, text);
}

static void format_text(pg_warp *w, int lane, const char *format, arguments *a, pg_buf *out)
{
    for (const char *p = format; *p; p++) {
        if (*p != '%' || p[1] == '%') {
            pg_buf_putc(out, *p);
            p += *p == '%';
            continue;
        }
        conversion c = {.spec = "%", .n = 1};
        for (p++; *p && c.n < MAX_SPEC - 5; p++) {
            if (strchr("hlzjtLq", *p)) {
                c.wide |= *p != 'h' && *p != 'L';
                continue;
            }
            c.spec[c.n++] = *p;
            if (!strchr("0123456789.+- #", *p))
                break;
        }
        if (!*p)
            return;
        convert_one(w, lane, &c, a, out);
    }
}

static void write_text(pg_grid_run *launch, pg_buf *text)
{
    pthread_mutex_lock(&launch->lock);
    if (launch->print) {
        launch->print(launch->print_user, pg_buf_text(text), text->len);
    } else {
        if (text->len && text->data[text->len - 1] == '\n')
            pg_buf_truncate(text, text->len - 1);
        pg_log_line(launch->log, PTXGEN_LOG_INFO, "%s", pg_buf_text(text));
    }
    pthread_mutex_unlock(&launch->lock);
}

static void print_lane(pg_warp *w, const pg_call_target *t, int lane)
{
    char format[MAX_TEXT];
    const uint64_t list = pg_call_argument(w, &t->args[1], lane);
    uint64_t within;
    arguments a = {.bytes = NULL};
    if (pg_generic_space(list, &within) == PG_MEM_LOCAL && within < w->launch->local_bytes) {
        a.bytes = w->local + (size_t)lane * w->launch->local_bytes + within;
        a.end = w->launch->local_bytes - (uint32_t)within;
    }
    if (!read_string(w, pg_call_argument(w, &t->args[0], lane), lane, format))
        return;
    pg_buf line;
    pg_buf_init(&line, w->launch->alloc);
    /* Numbers look the same whatever the locale of the process. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = uselocale(plain);
    format_text(w, lane, format, &a, &line);
    uselocale(before);
    if (plain)
        freelocale(plain);
    write_text(w->launch, &line);
    pg_buf_fini(&line);
}

pg_step pg_op_vprintf(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        print_lane(w, t, l);
        pg_call_return(w, t, l, 1);
    }
    return PG_NEXT;
}

/* message, file, line, function */
pg_step pg_op_assertfail(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_call_target *t = op->extra;
    const int l = __builtin_ctz(lanes);
    char message[MAX_TEXT], file[MAX_TEXT];
    if (!read_string(w, pg_call_argument(w, &t->args[0], l), l, message))
        snprintf(message, sizeof message, "?");
    if (!read_string(w, pg_call_argument(w, &t->args[1], l), l, file))
        snprintf(file, sizeof file, "?");
    return pg_stop(w, op, PTXGEN_EEMULATOR, "lane %d: assertion `%.300s` failed at %.200s:%u", l,
                   message, file, (unsigned)pg_call_argument(w, &t->args[2], l));
}
