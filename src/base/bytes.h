/* Little-endian numbers in bytes, whatever the machine. n is 1 to 8. */
#ifndef PG_BYTES_H
#define PG_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void pg_put_le(unsigned char *p, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(v >> (8 * i));
}

static inline uint64_t pg_get_le(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

#endif
