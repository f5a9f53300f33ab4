#include "common/wgmma.h"

uint32_t pg_wgmma_descriptor_high(pg_smem_matrix m)
{
    static const uint32_t codes[] = {
        [PG_SWIZZLE_NONE] = 0, [PG_SWIZZLE_128B] = 1, [PG_SWIZZLE_64B] = 2, [PG_SWIZZLE_32B] = 3};
    enum { SWIZZLE_BIT = 62 - 32, STRIDE_MASK = 0x3FFF };
    return ((uint32_t)m.stride_offset >> 4 & STRIDE_MASK) | codes[m.swizzle] << SWIZZLE_BIT;
}
