/* Moves rows of a tensor box between global memory and swizzled shared memory: plain bytes, padded
 * sub-byte units, and float types that are rounded or flushed on the way in. */
#include "emulator/copy/tensor_map.h"

#include "emulator/number/formats.h"

#include <string.h>

enum { BLOCK = 512 }; /* bytes that pass through the stack at a time; a multiple of every unit */

static void store(const pg_tensor_copy *c, uint32_t offset, const uint8_t *bytes, uint32_t n)
{
    pg_swizzle_store(c->shared_base, c->box_address + offset, bytes, n, c->map->swizzle);
}

static void fill(const pg_tensor_copy *c, uint32_t offset, uint32_t n)
{
    uint64_t block[BLOCK / 8];
    const uint64_t pattern = c->map->fill_nan ? pg_tensor_types[c->map->type].fill_nan : 0;
    for (uint32_t i = 0; i < BLOCK / 8 && 8 * i < n; i++)
        block[i] = pattern;
    for (uint32_t done = 0; done < n; done += BLOCK)
        store(c, offset + done, (const uint8_t *)block, n - done < BLOCK ? n - done : BLOCK);
}

/* tf32 words as TMA delivers them: rounded. (The flushing types do not flush on an H200's
 * loads.) */
static void round_to_tf32(uint8_t *block, uint32_t n)
{
    const pg_encode_mode rn = {.round = PG_ROUND_RN};
    for (uint32_t i = 0; i < n; i += 4) {
        uint32_t word;
        memcpy(&word, block + i, 4);
        word = (uint32_t)pg_encode(PG_FMT_TF32, (double)pg_f32_of(word), rn);
        memcpy(block + i, &word, 4);
    }
}

/* Units of `packed` bytes in global memory, 16 bytes in shared memory, the rest zero. */
static void load_padded(const pg_tensor_copy *c, const pg_tensor_row *row, const uint8_t *global)
{
    const uint32_t packed = c->map->type == PG_TENSOR_16U4_ALIGN16B ? 8 : 12;
    for (uint32_t at = 0; at < row->valid; at += 16, global += packed) {
        uint8_t unit[16] = {0};
        memcpy(unit, global, packed);
        store(c, row->shared + row->fill_before + at, unit, 16);
    }
}

static void load_valid(const pg_tensor_copy *c, const pg_tensor_row *row, const uint8_t *global)
{
    const uint32_t offset = row->shared + row->fill_before;
    switch (c->map->type) {
    case PG_TENSOR_16U4_ALIGN16B:
    case PG_TENSOR_16U6_ALIGN16B:
        load_padded(c, row, global);
        return;
    case PG_TENSOR_TF32:
    case PG_TENSOR_TF32_FTZ:
        for (uint32_t done = 0; done < row->valid; done += BLOCK) {
            uint8_t block[BLOCK];
            const uint32_t n = row->valid - done < BLOCK ? row->valid - done : BLOCK;
            memcpy(block, global + done, n);
            round_to_tf32(block, n);
            store(c, offset + done, block, n);
        }
        return;
    default:
        store(c, offset, global, row->valid);
    }
}

void pg_tensor_load_row(const pg_tensor_copy *c, const pg_tensor_row *row, const uint8_t *global)
{
    if (!row->valid) {
        fill(c, row->shared, row->bytes);
        return;
    }
    fill(c, row->shared, row->fill_before);
    load_valid(c, row, global);
    const uint32_t end = row->fill_before + row->valid;
    fill(c, row->shared + end, row->bytes - end);
}

/* .b6p2x16: 16 bytes lose their upper two bits and become 12. */
static void pack_6_bits(const uint8_t *unit, uint8_t *packed)
{
    for (uint32_t i = 0; i < 16; i += 4) {
        uint32_t bits = 0;
        for (uint32_t k = 0; k < 4; k++)
            bits |= (unit[i + k] & 0x3fu) << 6 * k;
        memcpy(packed + i / 4 * 3, &bits, 3);
    }
}

void pg_tensor_store_row(const pg_tensor_copy *c, const pg_tensor_row *row, uint8_t *global)
{
    const uint32_t address = c->box_address + row->shared + row->fill_before;
    const pg_swizzle s = c->map->swizzle;
    if (c->map->type != PG_TENSOR_16U6_ALIGN16B) {
        pg_swizzle_load(c->shared_base, address, global, row->valid, s);
        return;
    }
    for (uint32_t at = 0; at < row->valid; at += 16, global += 12) {
        uint8_t unit[16];
        pg_swizzle_load(c->shared_base, address + at, unit, 16, s);
        pack_6_bits(unit, global);
    }
}

bool pg_tensor_reduce_row(const pg_tensor_copy *c, pg_reduce_op op, const pg_tensor_row *row,
                          uint8_t *global)
{
    const uint32_t address = c->box_address + row->shared + row->fill_before;
    for (uint32_t done = 0; done < row->valid; done += BLOCK) {
        uint8_t block[BLOCK];
        const uint32_t n = row->valid - done < BLOCK ? row->valid - done : BLOCK;
        pg_swizzle_load(c->shared_base, address + done, block, n, c->map->swizzle);
        if (!(c->contended ? pg_reduce_bytes_atomic : pg_reduce_bytes)(op, c->map->type,
                                                                       global + done, block, n))
            return false;
    }
    return true;
}
