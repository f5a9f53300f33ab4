/* What the tile engines share: A and B unpacked into panels whose rows line up with the lanes of D.
 *
 * Panel of A: for each group of 8 rows, each k: 32 words, word t = row 8g + t/4. Panel of B: for
 * each group of 8 columns, each k, each parity p: 8 words, word t = column 8j + 2(t%4) + p. So 8
 * lanes of D are one vector multiply of 8 words of A by 8 words of B, and D never leaves the
 * register layout. */
#ifndef PG_EMULATOR_MMA_MODEL_H
#define PG_EMULATOR_MMA_MODEL_H

#include "emulator/matrix/wgmma.h"

#include <string.h>

typedef float pg_f32x8 __attribute__((vector_size(32)));
typedef int32_t pg_s32x8 __attribute__((vector_size(32)));
/* The same in memory, at any alignment and of any type: one load or store each, where memcpy makes
 * two. */
typedef float pg_f32x8_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t pg_s32x8_in_memory __attribute__((vector_size(32), aligned(4), may_alias));

/* Spreads plain m x k (n x k) 32-bit words into a panel. */
void pg_mma_panel_a(const uint32_t *plain, uint32_t m, uint32_t k, uint32_t *panel);
void pg_mma_panel_b(const uint32_t *plain, uint32_t n, uint32_t k, uint32_t *panel);

/* Integer types and b1: exact, the same for both engines. */
void pg_mma_integer(const pg_mma_tile *tile, void *scratch);

static inline bool pg_mma_is_integer(pg_mma_type t)
{
    return t == PG_MMA_S8 || t == PG_MMA_U8 || t == PG_MMA_B1;
}

/* Bytes as 32-bit integers. */
static inline void pg_widen_bytes(const void *in, bool is_signed, size_t count, int32_t *out)
{
    if (is_signed)
        for (size_t i = 0; i < count; i++)
            out[i] = ((const int8_t *)in)[i];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = ((const uint8_t *)in)[i];
}

/* An accumulator and a sum: wraps, or clamps. */
static inline uint32_t pg_add_s32(uint32_t c, int32_t sum, bool saturate)
{
    if (!saturate)
        return c + (uint32_t)sum;
    const int64_t exact = (int64_t)(int32_t)c + sum;
    return exact > INT32_MAX   ? (uint32_t)INT32_MAX
           : exact < INT32_MIN ? (uint32_t)INT32_MIN
                               : (uint32_t)exact;
}

#endif
