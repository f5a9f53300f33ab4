/* matmul_accumulate by `mma.sync`, for every GPU from sm_80 on that has no kernel of its own: a CTA
 * for each tile, stages of A and B by cp.async, warps that read them by ldmatrix and multiply in
 * registers. C is loaded into these first and D stored from them, as the fragments have them; or,
 * with c_load=rows, both go through shared memory, so that a warp accesses adjacent elements of
 * one row whatever its alignment (mma_sync_rows.ptxc). */
#ifndef PG_MATMUL_ACCUMULATE_MMA_SYNC_H
#define PG_MATMUL_ACCUMULATE_MMA_SYNC_H

#include "matmul_accumulate/matmul_accumulate.h"

#include "common/groups.h"

enum {
    PG_LINE_BYTES = 128, /* of shared memory: 8 vectors of 16 bytes, placed by line % 8 (swizzle) */
    PG_LINE_VECTORS = 8,
    PG_MMA_BLOCK_K = 64, /* of 16-bit elements: a line */
    PG_MMA_K = 16,       /* of one multiplication, of 16 rows and 8 columns */
    PG_MMA_ROWS = 16,
    PG_MMA_COLUMNS = 8,
};

/* A or B. K-major: a line is 64 of K of one row of the tile. Else the lines of a panel are 64 rows
 * of K, each 64 of the tile's rows (of A) or columns (of B). */
typedef struct pg_mma_operand {
    bool k_major;
    int extent;       /* rows of A or columns of B in a tile: as many lines has a stage */
    int warp_extent;  /* of a warp's part */
    int offset;       /* in shared memory, of stage 0 */
    const char *name; /* "a", "b" */
} pg_mma_operand;

typedef struct pg_mma_plan {
    pg_plan_head head;
    const pg_arch *arch;
    pg_matmul_engine engine;
    const pg_dtype *dtype, *c_type, *d_type;
    bool adds_c, scales, batched;
    bool by_rows;           /* C and D go through shared memory */
    const char *group_type; /* of the row counts of groups; NULL: there are none */
    pg_epilogue epilogue;
    int block_m, block_n, stages, group_m;
    int warp_m, warp_n, warps_n, threads; /* a warp's part of the tile; warps side by side */
    int stage_bytes;
    int rows_offset; /* in shared memory: the tile of C, then of D */
    pg_mma_operand a, b;
} pg_mma_plan;

/* c_vectors_, d_vectors_: pairs of columns are aligned, with steps also those of all inputs.
 * a_vectors_, b_vectors_: bytes (16, 8, 4 or 2) of the aligned vectors that rows consist of.
 * Strides are bytes, ..._batch_ from matrix to matrix. With groups as common/groups.h says. */
#define PG_MMA_PARAMS(X)                                                                           \
    X(a_, POINTER)                                                                                 \
    X(a_stride_, U64)                                                                              \
    X(b_, POINTER)                                                                                 \
    X(b_stride_, U64)                                                                              \
    X(c_, POINTER)                                                                                 \
    X(c_stride_, U64)                                                                              \
    X(d_, POINTER)                                                                                 \
    X(d_stride_, U64)                                                                              \
    X(m_, U32)                                                                                     \
    X(n_, U32)                                                                                     \
    X(k_, U32)                                                                                     \
    X(tiles_m_, U32)                                                                               \
    X(tiles_n_, U32)                                                                               \
    X(a_vectors_, U32)                                                                             \
    X(b_vectors_, U32)                                                                             \
    X(c_vectors_, U32)                                                                             \
    X(d_vectors_, U32)                                                                             \
    X(alpha_, U32)                                                                                 \
    X(beta_, U32)                                                                                  \
    X(a_batch_, U64)                                                                               \
    X(b_batch_, U64)                                                                               \
    X(c_batch_, U64)                                                                               \
    X(d_batch_, U64)                                                                               \
    X(batch_maps_, U32)                                                                            \
    X(groups_, U32)                                                                                \
    X(group_rows_, POINTER)                                                                        \
    PG_EPILOGUE_LIST(X)

ptxgen_status pg_mma_resolve(pg_matmul_accumulate_key *k, const pg_arch *, ptxgen_error *);
void pg_mma_plan_from(const pg_matmul_accumulate_key *k, const pg_arch *, pg_mma_plan *);
/* The tile that keeps the SMs busiest. */
void pg_mma_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *);
pg_param_list pg_mma_params(const pg_mma_plan *);
void pg_mma_launch(const pg_problem *, pg_launch *);
void pg_mma_emit(pg_emit *E, const pg_mma_plan *p);

/* Are there steps between sums and D, or is D of a type that only they store? */
static inline bool pg_mma_has_steps(const pg_mma_plan *p)
{
    return pg_epilogue_has_steps(&p->epilogue) || p->d_type->bytes == 1;
}
/* Then this stands in the place of the store (mma_sync_epilogue.ptxc). */
void pg_mma_step_tile(pg_emit *E, const pg_mma_plan *p);

static inline pg_groups pg_mma_groups(const pg_mma_plan *p)
{
    return (pg_groups){p->group_type, p->block_m, "rows"};
}

static inline int pg_mma_tiles_m(const pg_mma_plan *p)
{
    return p->warp_m / PG_MMA_ROWS;
}
static inline int pg_mma_tiles_n(const pg_mma_plan *p)
{
    return p->warp_n / PG_MMA_COLUMNS;
}
/* First of the four values of multiplication (i, j) of a warp's part: rows r and r + 8, two columns
 * each. */
static inline int pg_mma_value(const pg_mma_plan *p, int i, int j)
{
    return 4 * (i * pg_mma_tiles_n(p) + j);
}

/* With by_rows (mma_sync_rows.ptxc): the tile of C on its way to shared memory; then the sums, C
 * added, to D. Of a row of the tile in shared memory to the next: pitch bytes. */
int pg_mma_rows_pitch(int block_n);
void pg_mma_fetch_rows(pg_emit *E, const pg_mma_plan *p);
void pg_mma_store_rows(pg_emit *E, const pg_mma_plan *p);

/* This CTA's tile (mma_sync_place.ptxc): %tile_m, %tile_n; with batches %batch; %row_first and
 * %column_first, where it begins; %row_end and %column_end, where all rows, or the group's, and all
 * columns end. Without one, in groups, to the label NO_TILE. */
void pg_mma_find_tile(pg_emit *E, const pg_mma_plan *p);
/* Moves a pointer (a register) into a matrix (a, b, c or d) to the one of %batch. */
void pg_mma_step_to_matrix(pg_emit *E, const char *pointer, const char *matrix);
/* Parts of it (mma_sync_load.ptxc): what the loads of both operands need; stage %load_block of K
 * into slot %load_slot, if there is one; all stages but one, and C with them. */
void pg_mma_load_set_up(pg_emit *E, const pg_mma_plan *p);
void pg_mma_load_stage(pg_emit *E, const pg_mma_plan *p);
void pg_mma_load_first(pg_emit *E, const pg_mma_plan *p);

#endif
