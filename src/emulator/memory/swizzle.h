/* The shared-memory swizzles of TMA and of the matrix descriptors: involutions on absolute shared
 * addresses.
 *
 * Each exchanges chunks (16, 32 or 64 bytes) inside a span of 32, 64 or 128 bytes, by the
 * exclusive-or of higher address bits; the pattern repeats every 256, 512 or 1024 bytes. Pure; any
 * thread. Source: PTX ISA 9.0, sections 5.5.7 and 9.7.16.10.6. */
#ifndef PG_EMULATOR_SWIZZLE_H
#define PG_EMULATOR_SWIZZLE_H

#include <stdint.h>

/* The numbers are those of the driver's swizzle enumeration. */
typedef enum pg_swizzle {
    PG_SWIZZLE_NONE,
    PG_SWIZZLE_32B,
    PG_SWIZZLE_64B,
    PG_SWIZZLE_128B,
    PG_SWIZZLE_128B_ATOM_32B,
    PG_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    PG_SWIZZLE_128B_ATOM_64B,
    PG_SWIZZLE_COUNT
} pg_swizzle;

typedef struct pg_swizzle_info {
    const char *name;
    uint32_t span;   /* bytes of one swizzled line; 0: none */
    uint32_t chunk;  /* bytes that stay together (8 with the flip); 0: everything */
    uint32_t repeat; /* alignment at which the pattern starts */
} pg_swizzle_info;

extern const pg_swizzle_info pg_swizzles[PG_SWIZZLE_COUNT];

/* The address at which the byte with linear address `a` lies (and the other way round). */
static inline uint32_t pg_swizzle_address(uint32_t a, pg_swizzle s)
{
    switch (s) {
    case PG_SWIZZLE_32B:
        return a ^ (a >> 3 & 0x10);
    case PG_SWIZZLE_64B:
        return a ^ (a >> 3 & 0x30);
    case PG_SWIZZLE_128B:
        return a ^ (a >> 3 & 0x70);
    case PG_SWIZZLE_128B_ATOM_32B:
        return a ^ (a >> 2 & 0x60);
    case PG_SWIZZLE_128B_ATOM_32B_FLIP_8B:
        return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 0x08);
    case PG_SWIZZLE_128B_ATOM_64B:
        return a ^ (a >> 1 & 0x40);
    default:
        return a;
    }
}

/* Copies n linear bytes to their swizzled places: `base` is the host address of shared address 0,
 * `address` the linear shared address of the first byte. The caller has checked that the whole span
 * lies inside. */
void pg_swizzle_store(uint8_t *base, uint32_t address, const uint8_t *linear, uint32_t n,
                      pg_swizzle s);
/* The reverse. */
void pg_swizzle_load(const uint8_t *base, uint32_t address, uint8_t *linear, uint32_t n,
                     pg_swizzle s);

#endif
