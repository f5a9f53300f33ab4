/* The sparse A of tcgen05.mma.sp: where its indices lie in tensor memory, and which elements of B
 * they leave. Of every four units of K two are stored; a unit is an element of 8 or 16 bits, half
 * of a tf32 element, a pair of the 4-bit elements of mxf4 and mxf4nvf4. Four bits, two indices of
 * two, speak for four units. Pure but for reads of tensor memory.
 *
 * Indices of a row, K ascending (PTX ISA 9.0, section 9.7.16.10.8, has this in pictures only; the
 * words are from public kernels that run on hardware):
 *   8 bits and less: 64 bits, in two columns of the row's lane;
 *   16 bits and tf32: 32 bits, two halves of 16 in one column. Row r and row r + 8 of sixteen share
 *     lanes r (first half of K) and r + 8 (second half of K): row r has the low 16 bits.
 * Lanes are those of the rows of D; each part of N has a copy. The sparsity selector counts columns
 * from the operand's address on. */
#ifndef PG_EMULATOR_TCGEN05_SPARSE_H
#define PG_EMULATOR_TCGEN05_SPARSE_H

#include "emulator/tensor/tcgen05_work.h"

/* Whose tensor memory holds them, and for which part of N. */
typedef struct pg_sparse_source {
    const pg_cta *cta;
    uint32_t part;
} pg_sparse_source;

/* The indices of row `row` of a CTA's A, the first ones lowest. */
uint64_t pg_sparse_row_indices(const pg_tcgen05_work *w, const pg_sparse_source *source,
                               uint32_t row);

/* From the rows of B of one part, in containers and 2 k wide, to rows of k: what meets the stored
 * elements of A. */
void pg_sparse_select(const pg_tcgen05_work *w, uint64_t indices, const uint8_t *b, uint8_t *out);

#endif
