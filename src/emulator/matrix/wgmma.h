/* The arithmetic of wgmma.mma_async and mma.sync: one tile D = A * B + C, with C and D where those
 * instructions keep them, in the registers of a warp.
 *
 * Two engines give D. `exact` follows the published model of the hardware: per output, all products
 * of the instruction and C are aligned to the largest exponent, truncated to F fraction bits,
 * summed exactly, and the sum is truncated to f32 (rounded to nearest for f16). F = 25 for f16,
 * bf16 and tf32; fp8 in Hopper's wgmma has F = 13 and keeps 13 fraction bits of the result. `fast`
 * multiplies and adds floats, k ascending. Integer and binary types are exact in both.
 *
 * The caller gathers A and B into plain arrays, from shared memory (matrix_descriptor.h) or from
 * registers (the place functions). No allocation; any thread with its own scratch. Source: PTX
 * ISA 9.0, sections 9.7.14.5 and 9.7.15.5; the model: arXiv 2512.07004 and the MMA-Sim project. */
#ifndef PG_EMULATOR_WGMMA_H
#define PG_EMULATOR_WGMMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pg_mma_type {
    PG_MMA_F16,
    PG_MMA_BF16,
    PG_MMA_TF32, /* 32-bit containers; the low 13 bits are ignored */
    PG_MMA_E4M3,
    PG_MMA_E5M2,
    PG_MMA_S8,
    PG_MMA_U8,
    PG_MMA_B1, /* 8 bits a byte; D += popcount(a & b) */
    PG_MMA_TYPE_COUNT
} pg_mma_type;

typedef enum pg_mma_result { PG_MMA_D_F32, PG_MMA_D_F16, PG_MMA_D_S32 } pg_mma_result;

typedef struct pg_mma_type_info {
    const char *name;
    uint32_t bits;    /* of an element in registers and shared memory */
    uint32_t wgmma_k; /* K of one wgmma */
} pg_mma_type_info;

extern const pg_mma_type_info pg_mma_types[PG_MMA_TYPE_COUNT];

/* One tile. A is m x k with k contiguous; B is n x k with k contiguous (that is, B transposed). k
 * counts elements (bits for b1); m and n are multiples of 8.
 *
 * C and D are rows of 32 words, one word a lane, as the register file has them. Let g = row / 8 and
 * j = column / 8. f32 and s32: row pointer (g * n/8 + j) * 2 + p has, in lane t, the element
 * (8g + t/4, 8j + 2(t%4) + p). f16: row pointer g * n/8 + j has both p, p = 0 in the low half.
 * c == d is allowed. */
typedef struct pg_mma_tile {
    pg_mma_type a_type, b_type;
    pg_mma_result result;
    uint32_t m, n, k;
    bool negate_a, negate_b; /* imm-scale -1 */
    bool zero_c;             /* scale-d = 0: C counts as zero and is not read */
    bool saturate;           /* .satfinite of the integer types: clamp the sum to s32 */
    bool xor_popc;           /* b1: exclusive-or instead of and */
    bool low_precision_fp8;  /* Hopper's wgmma fp8 (F = 13); false for mma.sync and Blackwell */
    const void *a, *b;
    const uint8_t *absent; /* of a sparse A: m x k, 1 where nothing is stored (and A is 0), so that
                              B does not matter there; NULL: dense */
    const uint32_t *const *c;
    uint32_t *const *d;
} pg_mma_tile;

enum {
    PG_MMA_MAX_M = 128,
    PG_MMA_MAX_N = 256,
    PG_MMA_MAX_K = 64 /* of sparse 8-bit types; of b1: 256 */
};

/* Room that an engine needs for a tile, in bytes: A four times and B twice, each as significands,
 * exponents and values, and the larger of them twice more. Integers need less, b1 nothing. */
#define PG_MMA_SCRATCH(m, n, k)                                                                    \
    (((m)*12 + (n)*6 + ((m) > (n) ? (m) : (n)) * 2) * (k) * (int)sizeof(uint32_t))
enum { PG_MMA_SCRATCH_BYTES = PG_MMA_SCRATCH(PG_MMA_MAX_M, PG_MMA_MAX_N, PG_MMA_MAX_K) };

/* scratch: PG_MMA_SCRATCH of the tile, aligned like malloc's, contents irrelevant. */
void pg_mma_exact(const pg_mma_tile *tile, void *scratch);
void pg_mma_fast(const pg_mma_tile *tile, void *scratch);

/* Accumulator fragment of wgmma: register r of thread t (0..127) of the warpgroup. For f16 D each
 * register holds two values (columns c and c + 1); for f32 and s32 one. In a pg_mma_tile this is
 * row pointer
 * ((2w + h) * n/8 + j) * 2 + p for register 4j + 2h + p of warp w. */
typedef struct pg_mma_place {
    uint32_t row, col;
} pg_mma_place;
static inline pg_mma_place pg_wgmma_place_32(uint32_t t, uint32_t r)
{
    return (pg_mma_place){16 * (t / 32) + (t % 32) / 4 + 8 * (r >> 1 & 1),
                          8 * (r / 4) + 2 * (t % 4) + (r & 1)};
}
static inline pg_mma_place pg_wgmma_place_f16x2(uint32_t t, uint32_t r)
{
    return pg_wgmma_place_32(t, 2 * r);
}
/* A in registers: register r (0..3) of thread t holds 32 bits that start at this row and this byte
 * of K. */
static inline pg_mma_place pg_wgmma_place_a(uint32_t t, uint32_t r)
{
    return (pg_mma_place){16 * (t / 32) + (t % 32) / 4 + 8 * (r & 1), 4 * (t % 4) + 16 * (r >> 1)};
}

#endif
