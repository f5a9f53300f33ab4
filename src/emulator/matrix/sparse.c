/* See sparse.h. */
#include "emulator/matrix/sparse.h"

#include <string.h>

enum { UNITS = 4, STORED = 2 /* of so many units */ };

void pg_sparse_expand(const pg_sparse_tile *t, uint8_t *dense, uint8_t *absent)
{
    const uint32_t size = pg_sparse_unit_bytes(t->elem_bits), count = t->bytes / size / 2;
    const uint32_t per_element = t->elem_bits == 32 ? 2 : 1;
    const uint32_t elements = t->bytes / size / per_element;
    const uint8_t *stored = t->stored;
    memset(dense, 0, t->rows * t->bytes);
    memset(absent, 1, t->rows * elements);
    for (uint32_t row = 0; row < t->rows; row++, dense += t->bytes, absent += elements)
        for (uint32_t i = 0; i < count; i++, stored += size) {
            const uint32_t unit = i / STORED * UNITS + (uint32_t)(t->indices[row] >> 2 * i & 3);
            memcpy(dense + unit * size, stored, size);
            absent[unit / per_element] = 0;
        }
}

/* Four lanes hold the indices of rows g and g + 8 together: halves of a register where units have
 * two bytes (a lane for every 32 bytes of K), registers of lanes beside each other where they have
 * one (two lanes for every 32 bytes of K). */
uint64_t pg_sparse_indices(const uint32_t *metadata, uint32_t unit_bytes, uint32_t bits,
                           uint32_t selector, uint32_t row)
{
    const uint32_t *lanes = metadata + 4 * (row % 8);
    const uint32_t lower = row / 8; /* of the two rows */
    if (bits == 16)
        return lanes[selector] >> 16 * lower & 0xffff;
    if (bits == 64)
        return lanes[lower] | (uint64_t)lanes[2 + lower] << 32;
    lanes += 2 * selector;
    if (unit_bytes == 1)
        return lanes[lower];
    return (lanes[0] >> 16 * lower & 0xffff) | (lanes[1] >> 16 * lower & 0xffff) << 16;
}
