/* Block scales, and the order in which the engines read operand B. */
#include "emulator/tensor/tcgen05_tile.h"

#include <math.h>

enum { UE4M3_BIAS = 7, UE4M3_NAN = 0x7f, UE8M0_BIAS = 127, UE8M0_NAN = 0xff };

pg_block_scale pg_block_scale_of(pg_scale_type type, uint8_t bits)
{
    if (type == PG_SCALE_UE8M0)
        return (pg_block_scale){1, bits - UE8M0_BIAS, bits == UE8M0_NAN};
    const int32_t man = bits & 7, e = bits >> 3 & 15; /* the top bit is not read */
    return (pg_block_scale){e ? man | 8 : man, (e ? e : 1) - UE4M3_BIAS,
                            (bits & 0x7f) == UE4M3_NAN};
}

double pg_block_scale_value(pg_scale_type type, uint8_t bits)
{
    const pg_block_scale s = pg_block_scale_of(type, bits);
    const int fraction = type == PG_SCALE_UE4M3 ? PG_UE4M3_FRACTION : 0;
    return s.nan ? (double)NAN : ldexp(s.sig, s.exp - fraction);
}

void pg_tcgen05_transpose(const uint32_t *in, uint32_t n, uint32_t k, uint32_t *out)
{
    for (uint32_t column = 0; column < n; column += 8, in += 8 * k)
        for (uint32_t i = 0; i < k; i++)
            for (uint32_t c = 0; c < 8; c++)
                out[i * n + column + c] = in[c * k + i];
}
