/* xxHash is compiled in (header-only), so that the library has no shared dependency for it. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t pg_hash64(const void *bytes, size_t n)
{
    return XXH3_64bits(bytes, n);
}

pg_hash128 pg_hash(const void *bytes, size_t n)
{
    XXH128_hash_t h = XXH3_128bits(bytes, n);
    return (pg_hash128){h.low64, h.high64};
}

void pg_hash_hex(pg_hash128 h, char out[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        out[i] = digits[h.hi >> (60 - 4 * i) & 15];
        out[16 + i] = digits[h.lo >> (60 - 4 * i) & 15];
    }
    out[32] = 0;
}
