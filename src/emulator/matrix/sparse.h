/* Structured sparsity of A, as mma.sp, wgmma.mma_async.sp and tcgen05.mma.sp store it: of every
 * four units of K two are there, and two indices of two bits say which. A unit is an element of 16
 * or 8 bits, a pair of 4-bit elements, or half of a tf32 element (of which both halves then go
 * together). Pure; any thread. Source: PTX ISA 9.0, sections 9.7.14.6 and 9.7.15.6. */
#ifndef PG_EMULATOR_SPARSE_H
#define PG_EMULATOR_SPARSE_H

#include <stdint.h>

/* Of an element of `elem_bits` in the operand array. */
static inline uint32_t pg_sparse_unit_bytes(uint32_t elem_bits)
{
    return elem_bits >= 16 ? 2 : 1;
}

/* A tile of `rows` rows whose dense form has `bytes` of K each (at most PG_SPARSE_MAX_BYTES);
 * `stored` has half of it, of elements of `elem_bits`. A row's `indices` hold four bits for every
 * four units, the first ones lowest. What is not stored becomes 0, and its byte of `absent` (one an
 * element, a pair of 4-bit elements together) 1. Of two equal indices the later one counts. */
enum { PG_SPARSE_MAX_BYTES = 64 };
typedef struct pg_sparse_tile {
    const uint8_t *stored;
    const uint64_t *indices; /* of each row */
    uint32_t elem_bits, rows, bytes;
} pg_sparse_tile;
void pg_sparse_expand(const pg_sparse_tile *, uint8_t *dense, uint8_t *absent);

/* The indices of row `row` (0..15) of a warp's tile, from the operand that its lanes give; bits:
 * of indices in a row (16, 32 or 64); selector: which lanes of four speak, where not all do. */
uint64_t pg_sparse_indices(const uint32_t *metadata, uint32_t unit_bytes, uint32_t bits,
                           uint32_t selector, uint32_t row);

#endif
