/* See mma_quick.h. */
#include "emulator/matrix/mma_quick.h"

bool pg_mma_quick_values(const int32_t *sig, const int32_t *exp, size_t count, float *values)
{
    int32_t outside = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t e = exp[i], passed = e < PG_QUICK_ZERO;
        outside |= !passed & (e > PG_QUICK_LIMIT || e < -PG_QUICK_LIMIT);
        const uint32_t power = (uint32_t)((passed | outside ? 0 : e) + 127) << 23;
        values[i] = passed ? 0 : (float)sig[i] * pg_f32_of(power);
    }
    return !outside;
}
