/* Shared-memory matrix descriptors of wgmma (sm_90) and tcgen05 (sm_100): decoding, the canonical
 * layouts, and the address of an element.
 *
 * A layout is two-level in both directions (see matrix_descriptor.c for the table); an element's
 * linear address is start + the sum of two strides per direction, then the swizzle is applied to
 * the absolute address (minus the base offset). Layouts outside the canonical set are refused, not
 * guessed. Pure; any thread. Source: PTX ISA 9.0, sections 9.7.15.5.1 and 9.7.16.4.1. */
#ifndef PG_EMULATOR_MATRIX_DESCRIPTOR_H
#define PG_EMULATOR_MATRIX_DESCRIPTOR_H

#include "emulator/memory/swizzle.h"
#include "ptxgen/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pg_descriptor_arch { PG_DESCRIPTOR_SM90, PG_DESCRIPTOR_SM100 } pg_descriptor_arch;

typedef struct pg_matrix_descriptor {
    pg_descriptor_arch arch;
    uint32_t start;       /* bytes, multiple of 16, 18 bits */
    uint32_t leading;     /* leading-dimension byte offset */
    uint32_t stride;      /* stride-dimension byte offset */
    uint32_t base_offset; /* 0..7 */
    pg_swizzle swizzle;
} pg_matrix_descriptor;

/* PTXGEN_EINVAL with the field's value when a field is outside what the ISA defines. */
ptxgen_status pg_matrix_descriptor_decode(uint64_t bits, pg_descriptor_arch arch,
                                          pg_matrix_descriptor *d, ptxgen_error *err);

/* An operand as one instruction reads it: `rows` along M or N, `depth` along K, elements of
 * elem_bits. */
typedef struct pg_matrix_shape {
    uint32_t rows, depth;
    uint32_t elem_bits; /* 8, 16, 32; 1 for b1 (depth in bits). Narrower types of sm_100 count as
                         * bytes of 8: 16 padded elements are 16 bytes, two packed ones are one */
    bool mn_major;      /* transposed: M or N is contiguous */
} pg_matrix_shape;

/* How to find an element, worked out once an instruction. Offsets in bytes before the swizzle:
 * row r: (r % row_inner) * row_step + (r / row_inner) * row_outer; depth likewise. */
typedef struct pg_matrix_layout {
    uint32_t start,
        xor_bias; /* xor_bias: base offset << 7, subtracted before the XOR is worked out */
    pg_swizzle swizzle;
    uint32_t elem_bytes;
    uint32_t row_inner, row_step, row_outer;
    uint32_t depth_inner, depth_step, depth_outer;
} pg_matrix_layout;

/* PTXGEN_EUNSUPPORTED when the pair is not canonical. MN-major: sm_90 has it for elements of 16 and
 * 32 bits; sm_100 for 8 and 16 bits in all swizzles but 128B with 32-byte atoms, and for 32 bits in
 * that one alone (PTX ISA 9.0, section 9.7.16.10.3). */
ptxgen_status pg_matrix_layout_make(const pg_matrix_descriptor *d, const pg_matrix_shape *shape,
                                    pg_matrix_layout *layout, ptxgen_error *err);

/* Shared address of element (row, depth); 1-bit elements count as bytes of 8. */
uint32_t pg_matrix_element_address(const pg_matrix_layout *layout, uint32_t row, uint32_t depth);

/* The lowest and one past the highest shared address that the operand touches, for bounds and race
 * checks. */
typedef struct pg_matrix_extent {
    uint32_t first, end;
} pg_matrix_extent;
pg_matrix_extent pg_matrix_layout_extent(const pg_matrix_layout *layout,
                                         const pg_matrix_shape *shape);

/* Whether two groups of elements lie over each other: strides that are too small. */
bool pg_matrix_layout_overlaps(const pg_matrix_layout *layout, const pg_matrix_shape *shape);

/* Copies the operand to `out` as rows x depth elements, depth contiguous (row stride = depth * elem
 * bytes). `shared` is the host address of shared address 0; the caller has checked the extent.
 * MN-major needs rows to be a multiple of 16 bytes of elements. */
void pg_matrix_gather(const pg_matrix_layout *layout, const pg_matrix_shape *shape,
                      const uint8_t *shared, void *out);

#endif
