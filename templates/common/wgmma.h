/* Matrix descriptors of Hopper's asynchronous warpgroup multiplication, from PTX ISA 9.0,
 * section 9.7.15.5.1: the layouts are those of tcgen05 (common/tcgen05.h), the bits of the upper
 * half differ. */
#ifndef PG_TEMPLATES_WGMMA_H
#define PG_TEMPLATES_WGMMA_H

#include "common/tcgen05.h"

/* Bits 32..63; the lower half is pg_smem_descriptor_low. */
uint32_t pg_wgmma_descriptor_high(pg_smem_matrix m);

#endif
