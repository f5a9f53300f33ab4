/* Instruction descriptors of tcgen05.mma: what the 32 bits say, given what the opcode says; and the
 * zero-column mask of the .ws form.
 *
 * No assembler looks at these bits, so every field that the ISA leaves no meaning to is refused
 * here, with its value and what it may be. Pure; any thread. Source: PTX ISA 9.0, sections
 * 9.7.16.2.1 (shapes), 9.7.16.4.2 and 9.7.16.4.3 (the fields), 9.7.16.10.1 (transpose and
 * negate). */
#ifndef PG_EMULATOR_TCGEN05_DESCRIPTOR_H
#define PG_EMULATOR_TCGEN05_DESCRIPTOR_H

#include "emulator/tensor/tcgen05_tile.h"
#include "ptxgen/status.h"

typedef enum pg_tcgen05_kind {
    PG_KIND_F16,
    PG_KIND_TF32,
    PG_KIND_F8F6F4,
    PG_KIND_I8,
    PG_KIND_MXF8F6F4,
    PG_KIND_MXF4,
    PG_KIND_MXF4NVF4,
    PG_KIND_COUNT
} pg_tcgen05_kind;

/* What the opcode says. */
typedef struct pg_tcgen05_form {
    pg_tcgen05_kind kind;
    uint32_t cta_group; /* 1, 2 */
    bool ws;
    bool sparse;
    uint32_t scale_block; /* elements of K that share a scale: 16, 32; 0: not scaled */
} pg_tcgen05_form;

/* How the elements of an operand lie in shared memory. In tensor memory PADDED ones have a byte
 * each: 6-bit elements in bits 0 to 5, 4-bit elements in bits 2 to 5, as tcgen05.cp unpacks them
 * (the ISA has this in pictures only; no hardware has confirmed it). */
typedef enum pg_tcgen05_packing {
    PG_PACKING_CONTAINERS, /* 1, 2 or 4 bytes each */
    PG_PACKING_PADDED_6,   /* 16 elements in 12 bytes, then 4 unused */
    PG_PACKING_PADDED_4,   /* 16 elements in 8 bytes, then 8 unused */
    PG_PACKING_PACKED_4,   /* two a byte, the first in the low half */
    PG_PACKING_BYTES_4     /* a byte each, in bits 2 to 5; in tensor memory only */
} pg_tcgen05_packing;

typedef struct pg_tcgen05_operand {
    pg_format_id format; /* e4m3 of an integer: a byte */
    pg_tcgen05_packing packing;
    bool is_signed; /* integers */
    bool negate, mn_major;
} pg_tcgen05_operand;

typedef struct pg_tcgen05_instruction {
    uint32_t m, n, k; /* m and n of the pair with cta_group::2; k as A stores it: half, if sparse */
    pg_tcgen05_operand a, b;
    bool integer, saturate;
    pg_mma_result result;
    pg_scale_type scale_type;
    uint32_t sfa_id, sfb_id; /* first byte of a scale word that is used */
    uint32_t selector;       /* sparse: columns from the address of the indices on */
    uint32_t max_shift;      /* .ws: columns that a zero-column mask may shift B by */
} pg_tcgen05_instruction;

/* PTXGEN_EINVAL for a field that means nothing, PTXGEN_EUNSUPPORTED for K = 96. */
ptxgen_status pg_tcgen05_instruction_decode(uint32_t bits, const pg_tcgen05_form *form,
                                            pg_tcgen05_instruction *out, ptxgen_error *err);

/* Which columns of B count as zero: n flags. */
ptxgen_status pg_tcgen05_zero_columns(uint64_t bits, const pg_tcgen05_instruction *instruction,
                                      bool *zero, ptxgen_error *err);
/* Columns that B is shifted by. */
static inline uint32_t pg_tcgen05_column_shift(uint64_t bits)
{
    return (uint32_t)(bits >> 56) & 0x3f;
}

#endif
