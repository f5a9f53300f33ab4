/* The one hash: XXH3 (xxHash library), 64 and 128 bits. Not cryptographic: wherever a hash selects
 * something, the full key is compared as well. */
#ifndef PG_HASH_H
#define PG_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct pg_hash128 {
    uint64_t lo, hi;
} pg_hash128;

uint64_t pg_hash64(const void *bytes, size_t n);
pg_hash128 pg_hash(const void *bytes, size_t n);
/* 32 lower-case hex digits and a NUL. */
void pg_hash_hex(pg_hash128 h, char out[33]);

#endif
