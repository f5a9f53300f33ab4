/* What the tile engines share: A and B unpacked into panels whose rows line up with the lanes of D.
 *
 * Panel of A: for each group of 8 rows, each k: 32 words, word t = row 8g + t/4. Panel of B: for
 * each group of 8 columns, each k, each parity p: 8 words, word t = column 8j + 2(t%4) + p. So 8
 * lanes of D are one vector multiply of 8 words of A by 8 words of B, and D never leaves the
 * register layout. */
#ifndef PG_EMULATOR_MMA_MODEL_H
#define PG_EMULATOR_MMA_MODEL_H

#include "emulator/wgmma.h"

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

#endif
