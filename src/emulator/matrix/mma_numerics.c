/* See mma_numerics.h. */
#include "emulator/matrix/mma_numerics.h"

#include "emulator/matrix/mma_quick.h"

#include <math.h>

static uint32_t raw_element(const void *in, size_t i, uint32_t container)
{
    switch (container) {
    case 4:
        return ((const uint32_t *)in)[i] >> 13; /* tf32 */
    case 2:
        return ((const uint16_t *)in)[i];
    default:
        return ((const uint8_t *)in)[i];
    }
}

typedef uint8_t bytes4 __attribute__((vector_size(4), aligned(1), may_alias));
typedef uint16_t halves4 __attribute__((vector_size(8), aligned(2), may_alias));

/* Elements i .. i + 3; above the sign, bits that mean nothing. */
static inline pg_s32x4 raw_elements(const void *in, size_t i, uint32_t container)
{
    switch (container) {
    case 4:
        return *(const pg_s32x4_in_memory *)((const int32_t *)in + i) >> 13;
    case 2:
        return __builtin_convertvector(*(const halves4 *)((const uint16_t *)in + i), pg_s32x4);
    default:
        return __builtin_convertvector(*(const bytes4 *)((const uint8_t *)in + i), pg_s32x4);
    }
}

void pg_mma_split_array(const pg_mma_split *how, const void *in, size_t count, int32_t *sig,
                        int32_t *exp)
{
    const pg_format *f = &pg_formats[how->format];
    const int32_t man_mask = (1 << f->man_bits) - 1, exp_mask = (1 << f->exp_bits) - 1;
    /* Significands from here on are of no number when the exponent is the largest. */
    const int32_t special = f->has_inf ? 0 : f->has_nan ? man_mask : INT32_MAX;
    const int sign = f->man_bits + f->exp_bits;
    const uint32_t container = pg_mma_container(how->format);
    for (size_t i = 0; i < count; i += 4) {
        const size_t at = i + 4 <= count ? i : count - 4; /* the last ones partly once more */
        const pg_s32x4 raw = raw_elements(in, at, container), man = raw & man_mask;
        const pg_s32x4 e = raw >> f->man_bits & exp_mask, subnormal = e == 0; /* -1 where it is */
        const pg_s32x4 s = (man | (~subnormal & (man_mask + 1))) << how->up, zero = s == 0;
        const pg_s32x4 minus = -((raw >> sign & 1) ^ (int32_t)how->negate);
        const pg_s32x4 no_number = (e == exp_mask) & (man >= special);
        const pg_s32x4 number = (zero & PG_MMA_EXP_OF_ZERO) | (~zero & (e - subnormal - f->bias));
        *(pg_s32x4_in_memory *)(sig + at) = (s ^ minus) - minus;
        *(pg_s32x4_in_memory *)(exp + at) =
            (no_number & PG_MMA_EXP_SPECIAL) | (~no_number & number);
    }
}

double pg_mma_element(pg_format_id format, const void *in, size_t i)
{
    const uint64_t raw = raw_element(in, i, pg_mma_container(format));
    return pg_decode(format, raw << pg_formats[format].low_pad);
}

void pg_mma_special_add(pg_mma_special *s, double term)
{
    s->nan |= isnan(term) != 0;
    s->plus |= isinf(term) && term > 0;
    s->minus |= isinf(term) && term < 0;
}

float pg_mma_special_sum(pg_mma_special s)
{
    if (s.nan || (s.plus && s.minus))
        return pg_f32_of(0x7fffffffu);
    return s.plus ? INFINITY : s.minus ? -INFINITY : 0;
}
