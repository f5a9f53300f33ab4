/* The table of swizzles and copies through them, chunk by chunk. */
#include "emulator/memory/swizzle.h"

#include <string.h>

const pg_swizzle_info pg_swizzles[PG_SWIZZLE_COUNT] = {
    [PG_SWIZZLE_NONE] = {"none", 0, 0, 16},
    [PG_SWIZZLE_32B] = {"32B", 32, 16, 256},
    [PG_SWIZZLE_64B] = {"64B", 64, 16, 512},
    [PG_SWIZZLE_128B] = {"128B", 128, 16, 1024},
    [PG_SWIZZLE_128B_ATOM_32B] = {"128B_ATOM_32B", 128, 32, 512},
    [PG_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {"128B_ATOM_32B_FLIP_8B", 128, 8, 512},
    [PG_SWIZZLE_128B_ATOM_64B] = {"128B_ATOM_64B", 128, 64, 256},
};

/* Bytes from `address` to the end of its chunk, at most n. */
static uint32_t chunk_left(uint32_t address, uint32_t n, uint32_t chunk)
{
    const uint32_t left = chunk - (address & (chunk - 1));
    return left < n ? left : n;
}

void pg_swizzle_store(uint8_t *base, uint32_t address, const uint8_t *linear, uint32_t n,
                      pg_swizzle s)
{
    const uint32_t chunk = pg_swizzles[s].chunk;
    if (!chunk) {
        memcpy(base + address, linear, n);
        return;
    }
    while (n) {
        const uint32_t step = chunk_left(address, n, chunk);
        uint8_t *to = base + pg_swizzle_address(address, s);
        if (step == 16)
            memcpy(to, linear, 16);
        else
            memcpy(to, linear, step);
        address += step;
        linear += step;
        n -= step;
    }
}

void pg_swizzle_load(const uint8_t *base, uint32_t address, uint8_t *linear, uint32_t n,
                     pg_swizzle s)
{
    const uint32_t chunk = pg_swizzles[s].chunk;
    if (!chunk) {
        memcpy(linear, base + address, n);
        return;
    }
    while (n) {
        const uint32_t step = chunk_left(address, n, chunk);
        const uint8_t *from = base + pg_swizzle_address(address, s);
        if (step == 16)
            memcpy(linear, from, 16);
        else
            memcpy(linear, from, step);
        address += step;
        linear += step;
        n -= step;
    }
}
