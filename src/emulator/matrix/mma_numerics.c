/* See mma_numerics.h. */
#include "emulator/matrix/mma_numerics.h"

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

void pg_mma_split_array(const pg_mma_split *how, const void *in, size_t count, int32_t *sig,
                        int32_t *exp)
{
    const pg_format *f = &pg_formats[how->format];
    const uint32_t man_bits = (uint32_t)f->man_bits, exp_mask = (1u << f->exp_bits) - 1;
    const uint32_t man_mask = (1u << man_bits) - 1, sign = 1u << (man_bits + (uint32_t)f->exp_bits);
    const uint32_t container = pg_mma_container(how->format);
    for (size_t i = 0; i < count; i++) {
        const uint32_t raw = raw_element(in, i, container);
        const uint32_t man = raw & man_mask, e = raw >> man_bits & exp_mask;
        const int32_t s = (int32_t)(e ? man | (man_mask + 1) : man) << how->up;
        sig[i] = ((raw & sign) != 0) != how->negate ? -s : s;
        exp[i] = s ? (int32_t)(e ? e : 1) - f->bias : PG_MMA_EXP_OF_ZERO;
        if (e == exp_mask && (f->has_inf || (f->has_nan && man == man_mask)))
            exp[i] = PG_MMA_EXP_SPECIAL;
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
