/* What one issued tcgen05.mma is, worked out from its descriptors and addresses: shapes, the CTAs
 * it touches, where its operands lie in shared and tensor memory, and where every row of D is.
 * Issue works it out to refuse what is wrong, completion to carry it out, the checker to know what
 * is read and written.
 *
 * Layouts of D (PTX ISA 9.0, section 9.7.16.10.5), as rows of a CTA and parts of N:
 *   A  M 256 in a pair   CTA m / 128, lane m % 128
 *   B  M 128 in a pair   CTA m / 64, lanes m % 64 + 64 * part: two halves of N
 *   D  M 128             lane m
 *   E  M 64, .ws         lane m + 64 * part: two halves of N
 *   F  M 64              lane m % 16 + 32 * (m / 16), + 16 if D's address says so
 *   G  M 32, .ws         lane m + 32 * part: four quarters of N
 *   C  M 128 in a pair, sparse A: CTA m / 64, lanes as F
 * A datapath lane works on its own copy of A: A in tensor memory is
 * read in the lane where D's row is, so layouts with several parts need a copy of A in each. */
#ifndef PG_EMULATOR_TCGEN05_WORK_H
#define PG_EMULATOR_TCGEN05_WORK_H

#include "emulator/tensor/tcgen05.h"
#include "emulator/machine/observer.h"
#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/tensor/tensor_memory.h"

enum {
    PG_OPERAND_ROW_BYTES = 32,  /* of K of one instruction, whatever the kind */
    PG_OPERAND_ROW_COLUMNS = 8, /* the same in tensor memory */
    PG_SCALE_LANES = 32 /* rows that a column of scale factors serves; each quarter has a copy */
};

typedef struct pg_tcgen05_work {
    const pg_tcgen05_mma_plan *plan;
    const pg_async_tcgen05_mma *given;
    pg_tcgen05_instruction x;
    uint32_t cta_count; /* 1; 2 with cta_group::2 */
    pg_cta *cta[2];     /* the pair by rank */
    uint32_t rows;      /* of M in each CTA */
    uint32_t parts;     /* of N, in different lanes */
    bool spread;        /* layouts C and F */
    pg_matrix_shape a_shape,
        b_shape; /* what each CTA's shared memory holds; a_shape: unless a_in_tensor */
    pg_matrix_layout a_layout, b_layout; /* the same in both CTAs */
    uint32_t columns;                    /* of D in every lane that holds some */
    uint32_t shift;                      /* rows of B before the first that is used (.ws) */
    bool zero[PG_TCGEN05_MAX_N]; /* rows of B that count as zero, if the plan has_zero_columns */
} pg_tcgen05_work;

/* Works it out and refuses what the ISA does not allow; false: the launch has been stopped. */
bool pg_tcgen05_work_make(pg_async *a, pg_tcgen05_work *work);

/* Lane of row `row` (of its CTA) of D in part `part`. */
uint32_t pg_tcgen05_lane_of(const pg_tcgen05_work *w, uint32_t row, uint32_t part);

/* The lanes and columns that hold D in one CTA, masked or not. */
pg_tensor_area pg_tcgen05_area_of_d(const pg_tcgen05_work *w);

/* Columns of tensor memory that the indices of a sparse A take. */
uint32_t pg_tcgen05_index_columns(const pg_tcgen05_work *w);

/* Bytes of K of a row of B in shared memory: of a sparse A, half of K is stored. */
static inline uint32_t pg_tcgen05_b_bytes(const pg_tcgen05_work *w)
{
    return w->plan->form.sparse ? 2 * PG_OPERAND_ROW_BYTES : PG_OPERAND_ROW_BYTES;
}

/* Quarters of the lanes (32 each) that work on one part. */
static inline uint32_t pg_tcgen05_quarters(const pg_tcgen05_work *w)
{
    return 4 / w->parts;
}

#endif
