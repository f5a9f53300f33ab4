/* See mma_quick.h. */
#include "emulator/matrix/mma_quick.h"

bool pg_mma_quick_values(const int32_t *sig, const int32_t *exp, size_t count, float *values)
{
    pg_s32x4 outside = {0};
    for (size_t i = 0; i < count; i += 4) {
        const size_t at = i + 4 <= count ? i : count - 4; /* the last ones partly once more */
        const pg_s32x4 e = *(const pg_s32x4_in_memory *)(exp + at), passed = e < PG_QUICK_ZERO;
        const pg_s32x4 out = (e > PG_QUICK_LIMIT) | (e < -PG_QUICK_LIMIT);
        const pg_s32x4 s = *(const pg_s32x4_in_memory *)(sig + at) & ~passed;
        outside |= out & ~passed;
        *(pg_f32x4_in_memory *)(values + at) =
            __builtin_convertvector(s, pg_f32x4) * (pg_f32x4)(((e & ~out) + 127) << 23);
    }
    int32_t any = 0;
    for (int i = 0; i < 4; i++)
        any |= outside[i];
    return !any;
}
