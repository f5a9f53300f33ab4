/* Relaxed atomics: counters order nothing. */
#include "cache/counts.h"

#include <stdarg.h>
#include <stdio.h>

_Static_assert(PG_COUNT_TOTAL <= 64, "one bit each in pg_counts.logged");

const char *pg_count_name(pg_count id)
{
    static const char *const names[] = {
#define NAME(id, name, text) name,
        PG_COUNT_MAP(NAME)
#undef NAME
    };
    return names[id];
}

const char *pg_count_text(pg_count id)
{
    static const char *const texts[] = {
#define TEXT(id, name, text) text,
        PG_COUNT_MAP(TEXT)
#undef TEXT
    };
    return texts[id];
}

void pg_count_add(pg_counts *counts, pg_count id, uint64_t n)
{
    atomic_fetch_add_explicit(&counts->value[id], n, memory_order_relaxed);
}

uint64_t pg_count_get(const pg_counts *counts, pg_count id)
{
    return atomic_load_explicit(&counts->value[id], memory_order_relaxed);
}

void pg_counts_take_unflushed(pg_counts *counts, uint64_t added[PG_COUNT_TOTAL])
{
    for (size_t i = 0; i < PG_COUNT_TOTAL; i++) {
        uint64_t old = atomic_load(&counts->flushed[i]), now = atomic_load(&counts->value[i]);
        /* Lost to another thread: then that one has taken them. */
        added[i] = atomic_compare_exchange_strong(&counts->flushed[i], &old, now) ? now - old : 0;
    }
}

void pg_count_trouble(pg_counts *counts, const pg_log *log, pg_count id, const char *format, ...)
{
    pg_count_add(counts, id, 1);
    uint64_t bit = (uint64_t)1 << id;
    if (atomic_fetch_or_explicit(&counts->logged, bit, memory_order_relaxed) & bit)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pg_log_line(log, PTXGEN_LOG_WARNING, "cache: %s (said once; counted as %s)", line,
                pg_count_name(id));
}
