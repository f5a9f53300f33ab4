/* The monotonic clock: for durations and deadlines, never for dates. */
#ifndef PG_CLOCK_H
#define PG_CLOCK_H

#include <stdint.h>

int64_t pg_clock_ns(void);

static inline double pg_clock_us(void)
{
    return (double)pg_clock_ns() / 1e3;
}

static inline int64_t pg_clock_ms(void)
{
    return pg_clock_ns() / 1000000;
}

static inline int64_t pg_clock_s(void)
{
    return pg_clock_ns() / 1000000000;
}

#endif
