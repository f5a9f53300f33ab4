/* The arithmetic of tcgen05.mma on plain arrays: one tile D = A * B + D, with D where the
 * instruction keeps it, in rows of tensor memory.
 *
 * Two engines give D. `exact` follows the published model of the hardware. Without block scales,
 * and with one scale for all of K: all products of the instruction and D are aligned to the largest
 * exponent, truncated to 25 fraction bits, summed exactly, and the sum is truncated to f32 (rounded
 * to nearest for f16); a scale only moves exponents. 4-bit kinds: products are summed exactly over
 * 16 of K, multiplied by the significands of the two scales, and the sums aligned at 35 fraction
 * bits. A term of zero never decides the alignment. `fast` multiplies and adds floats, k ascending;
 * where a scale is so large that a float could not hold a scaled operand, it is `exact` too.
 * Integers are exact in both.
 *
 * No allocation; any thread with its own scratch. Source: PTX ISA 9.0, sections 9.7.16.2.1 and
 * 9.7.16.10; the model: arXiv 2512.07004 and the MMA-Sim project, which do not cover e2m3, e3m2
 * and the scaling of D. */
#ifndef PG_EMULATOR_TCGEN05_TILE_H
#define PG_EMULATOR_TCGEN05_TILE_H

#include "emulator/number/formats.h"
#include "emulator/matrix/wgmma.h"

typedef enum pg_scale_type { PG_SCALE_UE8M0, PG_SCALE_UE4M3 } pg_scale_type;

/* A is m x k, B is n x k (B transposed), both with k contiguous, in containers of 4 bytes
 * (tf32), 2 bytes (16-bit types) or 1 byte (all others; narrower types in the low bits, the rest
 * is not read). n is a multiple of 8. */
typedef struct pg_tcgen05_tile {
    uint32_t m, n, k;
    pg_format_id a_format, b_format; /* unless integer */
    bool integer, a_signed, b_signed;
    bool saturate;    /* integers: clamp the sum, D included, to s32 */
    bool negate;      /* every product */
    bool zero_d;      /* D counts as zero and is not read */
    uint32_t scale_d; /* D counts times 2^-scale_d (0..15; floats) */
    pg_mma_result result;
    /* Block scales: one byte for each scale_block of k; sfa m x k/scale_block, sfb n x
     * k/scale_block. */
    uint32_t scale_block; /* 0: none; 16, 32 */
    pg_scale_type scale_type;
    const uint8_t *sfa, *sfb;
    const void *a, *b;
    /* m rows of n words (f16 in the low half, zero above); NULL: the row is not written */
    uint32_t *const *d;
} pg_tcgen05_tile;

enum { PG_TCGEN05_MAX_M = 128, PG_TCGEN05_MAX_N = 256, PG_TCGEN05_MAX_K = 64 };

/* scratch: PG_MMA_SCRATCH_BYTES (enough for the largest tile), aligned like malloc's, contents
 * irrelevant. */
void pg_tcgen05_exact(const pg_tcgen05_tile *tile, void *scratch);
void pg_tcgen05_fast(const pg_tcgen05_tile *tile, void *scratch);
typedef void (*pg_tcgen05_engine)(const pg_tcgen05_tile *tile, void *scratch);

/* ---- parts of the engines ---- */

/* Integers, both engines. */
void pg_tcgen05_integer(const pg_tcgen05_tile *tile, void *scratch);
/* Exact, k of 64 in e2m1 with block scales. */
void pg_tcgen05_exact_fp4(const pg_tcgen05_tile *tile, void *scratch);

/* n x k words, k contiguous, to k x n words, n contiguous. */
void pg_tcgen05_transpose(const uint32_t *in, uint32_t n, uint32_t k, uint32_t *out);

/* A block scale: sig * 2^(exp - fraction bits of the type); NaN when `nan`. */
typedef struct pg_block_scale {
    int32_t sig, exp;
    bool nan;
} pg_block_scale;
enum { PG_UE4M3_FRACTION = 3 };
pg_block_scale pg_block_scale_of(pg_scale_type type, uint8_t bits);
double pg_block_scale_value(pg_scale_type type, uint8_t bits);

static inline uint32_t pg_tcgen05_scales_per_row(const pg_tcgen05_tile *t)
{
    return t->scale_block ? t->k / t->scale_block : 0;
}

#endif
