/* The Hopper kernel of matmul_accumulate: plan and emitters.
 *
 * A CTA is one, two or three consumer warpgroups and a producer warpgroup of which one warp loads
 * A and B and one loads C. The consumers' accumulators are registers (wgmma). Two schedules:
 *
 *     cooperative   the warpgroups share a tile by rows, and meet in its beginning and end
 *     pingpong      each warpgroup has a tile of its own; they take turns at the tensor core, so
 *                   that C comes in and D goes out while another multiplies
 *
 * The kernel sees a left operand (the rows of a tile) and a right one (its columns). They are A
 * and B, or, with `swapped`, B^T and A^T: the transposed problem, for results of few rows. A
 * cluster is m x n x splits CTAs: those side by side share their loads (multicast), those of
 * different splits share a tile and each adds up a part of K; the parts are summed in order
 * through distributed shared memory. Slices part K among any CTAs: each writes a result of its own
 * to the workspace, and a second kernel sums them, in order too. */
#ifndef PG_MATMUL_HOPPER_H
#define PG_MATMUL_HOPPER_H

#include "matmul_accumulate/matmul_accumulate.h"

#include "common/groups.h"

enum {
    PG_MAX_CLUSTER = 8,     /* CTAs: what every device takes */
    PG_C_CHUNK_BYTES = 128, /* a slot of the ring of C: all rows of a tile, so much of each */
    PG_WGMMA_ROWS = 64,
    PG_WGMMA_STEP_BYTES = 32, /* of K */
    PG_WARPGROUP_THREADS = 128,
    PG_WARP_ROWS = 16, /* of each 64 of a tile, what a warp of the warpgroup holds */
    PG_SLICE_THREADS = 128,
    PG_ALIGN_THREADS = 256,
    PG_ALIGNED_ROW = 64,  /* elements: rows of a copy begin at multiples of 128 bytes */
    PG_MOST_HEAD = 7,     /* elements before a phase's rows (hopper_phases.ptxc) */
    PG_SPLIT_BARRIER = 1, /* named barriers: of all consumers; of each warpgroup, from it on */
    PG_HEADS_BARRIER = 2,
};

/* One operand in shared memory: an array of stages; a stage is `boxes` boxes side by side. Bytes,
 * unless said. */
typedef struct pg_hopper_operand {
    bool k_major;      /* K is adjacent in memory */
    bool has_matrices; /* its map has a dimension for the batch, or for the phases */
    int extent;        /* rows or columns of the tile */
    int swizzle;
    int sharers; /* CTAs that load a part each, for all of them */
    int stage_bytes, offset;
    int boxes;                 /* loads per stage of one CTA */
    int box_columns, box_rows; /* elements */
    int box_bytes;             /* from one box to the next */
    int part_bytes;            /* from one sharer's part of a box to the next's */
    pg_smem_matrix matrix;
} pg_hopper_operand;

typedef struct pg_hopper_plan {
    pg_plan_head head;
    const pg_arch *arch;
    pg_matmul_engine engine;
    const char *operand_type; /* wgmma's name of it */
    pg_tensor_type operand_map;
    int operand_bytes;
    bool swapped, pingpong, adds_c, scales, batched;
    int phases;    /* of the left operand's rows (hopper_phases.ptxc); 0: they are not told apart */
    bool matrices; /* tiles are of one of a batch, or of a phase */
    const char *group_type;          /* of the row counts of groups; NULL: there are none */
    const pg_dtype *c_type, *d_type; /* elements of C; of the result of the call */
    const pg_dtype *out;             /* of what the first kernel stores: d_type, of slices f32 */
    pg_epilogue epilogue;
    int copy;   /* PG_COPY_A, PG_COPY_B */
    int groups; /* consumer warpgroups */
    int block_m, block_n, block_k, stages, group_m;
    int rows; /* of a warpgroup's part of a tile: 64 or 128 */
    int cluster_m, cluster_n, splits, slices;
    int threads;
    /* The ring that brings C, or, where there is none, the residual; 0 slots: they come straight
     * from global memory to registers. */
    int c_slots, c_slot_bytes;
    int chunk_columns; /* of a slot */
    const pg_dtype *ring_type;
    bool residual_ring;
    bool adds_late; /* C behind the multiplications, not before */
    /* Then sums are added to C in its slot, from which D goes to global memory by tensor map. */
    bool stores_slots;
    bool evict_first; /* the left operand is read once: it need not stay in L2 */
    bool fetches_ahead;
    pg_hopper_operand left, right;
    int steps; /* wgmma along K per stage */
    /* Shared memory: offsets. The barriers are arrays: [stages] twice, [c_slots] twice, [groups]
     * twice. */
    int c_offset, full, empty, c_full, c_empty, turn, c_turn;
} pg_hopper_plan;

/* ---- numbers (hopper_plan.c) ---- */

/* What the caller left open, by the problem; each thread remembers its last choices. */
void pg_hopper_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem);
/* Where the left operand is read by phases (hopper_phases.c). How many its rows have; elements from
 * a multiple of 16 bytes to a phase's first row; the most of any. */
int pg_hopper_phases(const pg_view *v);
int pg_hopper_head(const pg_view *v, int phase);
int pg_hopper_longest_head(const pg_view *v, int phases);
/* They are of K, whose slices they are; how many slices there are at least. */
bool pg_hopper_takes_phases_of_k(const pg_matmul_accumulate_key *k);
int64_t pg_hopper_least_slices(const pg_matmul_accumulate_key *k);
ptxgen_status pg_hopper_check_phases(const pg_matmul_accumulate_key *k, ptxgen_error *err);
ptxgen_status pg_hopper_limit_phases(const pg_problem *p, ptxgen_error *err);
static inline bool pg_hopper_left_is_b(const pg_matmul_accumulate_key *k)
{
    return k->swap == PG_YES;
}
ptxgen_status pg_hopper_resolve(pg_matmul_accumulate_key *k, const pg_arch *arch,
                                ptxgen_error *err);
void pg_hopper_plan_from(const pg_matmul_accumulate_key *k, const pg_arch *arch, pg_hopper_plan *p);
/* Columns of a tile that a slot of the ring holds, of what it would bring: C or, without it, a
 * residual; 0: there is nothing that it can bring. */
int pg_hopper_chunk_columns(const pg_matmul_accumulate_key *k);
/* Accumulators of a thread beside many steps, by which ptxas does not spill; 0: there are few. */
int64_t pg_hopper_step_limit(const pg_matmul_accumulate_key *k, int64_t warpgroups);
/* The same of a tile in two splits, where half of its C meets the whole of its sums; 0: any. */
static inline int64_t pg_hopper_split_limit(int64_t splits, int64_t warpgroups)
{
    return splits != 2 ? 0 : warpgroups == 3 ? 80 : 128;
}
/* The kernels of a module with several, in this order, as far as there are. */
enum { PG_PART_MULTIPLY, PG_PART_SUM, PG_PART_ALIGN };
pg_sequence pg_hopper_sequence(const pg_problem *problem);
void pg_hopper_launch(const pg_problem *problem, const pg_step *step, pg_launch *l);

/* What each of them takes. m_ and n_ are rows of the left and columns of the right operand;
 * c_vectors_ and d_vectors_: whether their rows consist of aligned vectors of 16 bytes. Strides
 * are bytes. Kernels without a ring lack c_map_, those whose slots are not stored d_map_ (of others
 * d_vectors_ says whether D has a map), those without slices slice_bytes_, those that do not scale
 * the factors (f32). With batches: batch_maps_ says which maps step with the batch,
 * c_batch_ and d_batch_ are bytes from matrix to matrix; of the second kernel rows_ are those of
 * all matrices, of the copying one all rows of one operand, `batch_rows_` of a matrix, which are
 * from_batch_ bytes apart. With groups group_rows_ has a count for each of groups_; m_ are the
 * rows of all of them (PG_GROUPS_FOLLOW) or of each. With phases each of the left operand
 * has a map; the first one's head_ (pg_hopper_head), and how many elements more the next one's is,
 * modulo 8; a phase is what a matrix of a batch is, and m_ are the rows of all. */
enum { PG_LEFT_STEPS, PG_RIGHT_STEPS, PG_C_STEPS }; /* bits of batch_maps_; PG_GROUPS_FOLLOW */
#define PG_MULTIPLY_PARAMS(X)                                                                      \
    X(left_map_, TENSOR)                                                                           \
    X(right_map_, TENSOR)                                                                          \
    X(c_map_, TENSOR)                                                                              \
    X(d_map_, TENSOR)                                                                              \
    X(c_, POINTER)                                                                                 \
    X(c_stride_, U64)                                                                              \
    X(d_, POINTER)                                                                                 \
    X(d_stride_, U64)                                                                              \
    X(m_, U32)                                                                                     \
    X(n_, U32)                                                                                     \
    X(k_blocks_, U32)                                                                              \
    X(tiles_m_, U32)                                                                               \
    X(tiles_n_, U32)                                                                               \
    X(units_, U32)                                                                                 \
    X(slice_bytes_, U64)                                                                           \
    X(alpha_, U32)                                                                                 \
    X(c_scale_, U32)                                                                               \
    X(c_vectors_, U32)                                                                             \
    X(d_vectors_, U32)                                                                             \
    X(batch_maps_, U32)                                                                            \
    X(c_batch_, U64)                                                                               \
    X(d_batch_, U64)                                                                               \
    X(groups_, U32)                                                                                \
    X(group_rows_, POINTER)                                                                        \
    X(head_, U32)                                                                                  \
    X(head_step_, U32)                                                                             \
    X(left_map_1, TENSOR)                                                                          \
    X(left_map_2, TENSOR)                                                                          \
    X(left_map_3, TENSOR)                                                                          \
    X(left_map_4, TENSOR)                                                                          \
    X(left_map_5, TENSOR)                                                                          \
    X(left_map_6, TENSOR)                                                                          \
    X(left_map_7, TENSOR)                                                                          \
    PG_EPILOGUE_LIST(X)
#define PG_SUM_PARAMS(X)                                                                           \
    X(slices_, POINTER)                                                                            \
    X(slices_stride_, U64)                                                                         \
    X(slice_bytes_, U64)                                                                           \
    X(c_, POINTER)                                                                                 \
    X(c_stride_, U64)                                                                              \
    X(d_, POINTER)                                                                                 \
    X(d_stride_, U64)                                                                              \
    X(m_, U32)                                                                                     \
    X(n_, U32)                                                                                     \
    X(alpha_, U32)                                                                                 \
    X(c_scale_, U32)                                                                               \
    X(c_vectors_, U32)                                                                             \
    X(d_vectors_, U32)                                                                             \
    X(rows_, U32)                                                                                  \
    X(c_batch_, U64)                                                                               \
    X(d_batch_, U64)                                                                               \
    PG_EPILOGUE_LIST(X)
/* Of the operand that blocks below second_block_ copy, then of that of the others. With phases the
 * first one's matrices are copies of one, each behind as many zeros as the left operand's phase has
 * elements before its rows; with phases of K each of that phase's part of it, all depth_. */
#define PG_ALIGN_PARAMS(X)                                                                         \
    X(from_, POINTER)                                                                              \
    X(from_stride_, U64)                                                                           \
    X(to_, POINTER)                                                                                \
    X(to_stride_, U64)                                                                             \
    X(rows_, U32)                                                                                  \
    X(columns_, U32)                                                                               \
    X(batch_rows_, U32)                                                                            \
    X(from_batch_, U64)                                                                            \
    X(second_from_, POINTER)                                                                       \
    X(second_from_stride_, U64)                                                                    \
    X(second_to_, POINTER)                                                                         \
    X(second_to_stride_, U64)                                                                      \
    X(second_rows_, U32)                                                                           \
    X(second_columns_, U32)                                                                        \
    X(second_batch_rows_, U32)                                                                     \
    X(second_from_batch_, U64)                                                                     \
    X(second_block_, U32)                                                                          \
    X(zeros_, U32)                                                                                 \
    X(zeros_step_, U32)                                                                            \
    X(depth_, U32)
pg_param_list pg_hopper_params(const pg_hopper_plan *p, uint32_t part);

/* Of a part of a split in shared memory: bytes from a row of the result's tile to the next. What
 * the lanes of a warp write at once lies in different banks. */
static inline int pg_hopper_part_pitch(int columns, bool swapped)
{
    enum { LINE = 128, VALUE_BYTES = 4 };
    return (columns * VALUE_BYTES + LINE - 1) / LINE * LINE + (swapped ? 16 : 32);
}

/* Byte offset in a stage of what wgmma `step` reads of an operand, from row (or column) `first` of
 * the tile on. */
int pg_hopper_step(const pg_hopper_plan *p, const pg_hopper_operand *o, int step, int first);

/* Elements of a row of the result from one column of the problem that the kernel sees to the next:
 * columns of the transposed problem are rows of its left operand. */
static inline int pg_hopper_column_step(const pg_hopper_plan *p)
{
    return p->swapped && p->phases && p->left.k_major ? p->phases : 1;
}

/* The left operand's rows in memory, and so its phases, are of K. */
static inline bool pg_hopper_phases_of_k(const pg_hopper_plan *p)
{
    return p->phases && !p->left.k_major;
}
/* Slices of what a tile sums: of K, or of a phase of it. */
static inline int pg_hopper_phase_slices(const pg_hopper_plan *p)
{
    return pg_hopper_phases_of_k(p) ? p->slices / p->phases : p->slices;
}

/* The right operand has a copy for each phase of the left one: behind its head, or of its K. */
static inline bool pg_hopper_copies_phases(const pg_hopper_plan *p)
{
    return p->phases && (p->right.k_major || !p->left.k_major);
}

static inline int pg_hopper_accumulators(const pg_hopper_plan *p)
{
    return p->rows / PG_WGMMA_ROWS * p->block_n / 2;
}

/* CTAs that a CTA shares loads with, itself among them. */
static inline int pg_hopper_sharers(const pg_hopper_plan *p)
{
    return p->cluster_m + p->cluster_n - 1;
}

static inline int pg_hopper_cluster(const pg_hopper_plan *p)
{
    return p->cluster_m * p->cluster_n * p->splits;
}

/* ---- emitters ---- */

/* The entry and its roles (hopper.ptxc). */
void pg_hopper_emit(pg_emit *E, const pg_hopper_plan *p);
/* %row and %column: the first ones of this CTA's tile (hopper_place.ptxc); %batch with batches;
 * %slice, %k_first and %k_blocks, if there are slices. Reads %unit, %cta_m, %cta_n. */
void pg_hopper_locate(pg_emit *E, const pg_hopper_plan *p);
/* %c or %d, by its name: the matrix of %batch. */
void pg_hopper_step_to_matrix(pg_emit *E, const char *matrix);
static inline pg_groups pg_hopper_groups(const pg_hopper_plan *p)
{
    return (pg_groups){p->group_type, p->block_m * p->cluster_m, "rows"};
}
/* %k_first and %k_blocks of part `which` (a register) of `parts` parts of K. */
void pg_hopper_share_k(pg_emit *E, const char *which, int parts);

/* Warp `warp` asks L2 for the first stages, before the kernel before has ended
 * (hopper_ahead.ptxc). */
void pg_hopper_fetch_ahead(pg_emit *E, const pg_hopper_plan *p, int warp);

/* The load warps (hopper_load.ptxc): one thread each. */
void pg_hopper_load_operands(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_load_c(pg_emit *E, const pg_hopper_plan *p);

/* By phases (hopper_phases.ptxc): the name of the left operand's map of one; of phase %batch %head;
 * %left_map; rows of the left operand, to %m, or, of K's, where they begin, to %row. Then,
 * of a tile whose K begins with the rows: this warpgroup's rows of its first stage, zeros instead
 * of what lies before them. */
pg_term pg_hopper_left_map(int phase);
void pg_hopper_find_head(pg_emit *E, const char *parameter);
void pg_hopper_choose_left_map(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_find_phase_rows(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_clear_heads(pg_emit *E, const pg_hopper_plan *p);

/* A consumer warpgroup (hopper_consume.ptxc). */
void pg_hopper_consume(pg_emit *E, const pg_hopper_plan *p);

/* The consumers' side of the ring (hopper_ring.ptxc). %c_chunk<i>: where in a slot this thread's
 * elements of the i-th group of columns are: of C two of each 8 columns, of a residual four of each
 * 16. With ping-pong a tile's chunks are taken between taking the turn and passing it. */
void pg_hopper_declare_ring(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_set_up_ring(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_take_ring_turn(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_pass_ring_turn(pg_emit *E, const pg_hopper_plan *p);
/* %c_slot: the offset of the next chunk, which is there; then its slot may be loaded again. */
void pg_hopper_wait_chunk(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_release_chunk(pg_emit *E, const pg_hopper_plan *p);
/* Instead of releasing it: what this warp wrote to its rows of the chunk's slot goes to D, and the
 * slot may be loaded again when that has been read. `chunk` of the tile; the last one is waited
 * for. */
void pg_hopper_store_chunk(pg_emit *E, const pg_hopper_plan *p, int chunk);

/* The accumulators' way in and out (hopper_tile.ptxc). Thread t of a warpgroup holds, for each 64
 * rows and each group of 8 columns, two adjacent elements of row 16 * (t / 32) + t % 32 / 4 and
 * two of the row 8 below (PTX ISA 9.0, 9.7.15.5.1, the D fragment): %acc(4 * group ..), groups of
 * the first 64 rows first. */
void pg_hopper_declare_tile(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_set_up_tile(pg_emit *E, const pg_hopper_plan *p);
/* %row, %column, %left, ... of this thread's elements of the tile. */
void pg_hopper_locate_elements(pg_emit *E, const pg_hopper_plan *p);
/* The accumulators begin as C, or, where it comes late or not at all, as zeros. */
void pg_hopper_begin_accumulators(pg_emit *E, const pg_hopper_plan *p);
/* What is done to the sums before they are stored: times alpha, and a late C
 * added. */
void pg_hopper_finish_tile(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_store_d(pg_emit *E, const pg_hopper_plan *p);

/* ---- steps between sums and D (hopper_epilogue.ptxc) ---- */

/* Are there any, or is D of a type that only they store? Then these stand for the stores. */
static inline bool pg_hopper_has_steps(const pg_hopper_plan *p)
{
    return pg_epilogue_has_steps(&p->epilogue) || p->d_type->bytes == 1;
}
/* Matrices that the steps of a tile read are fetched to L2 while it is multiplied. */
void pg_hopper_prefetch_sides(pg_emit *E, const pg_hopper_plan *p);
/* Of the accumulators of a tile. */
void pg_hopper_step_tile(pg_emit *E, const pg_hopper_plan *p);
/* Of four adjacent sums of a split's, %sum`first`.., at %quad_row and %quad_column of the result,
 * as many as %quad_left says, if %quad_exists; begin_steps comes once before them, in a scope of
 * the caller's. */
void pg_hopper_begin_steps(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_step_quad(pg_emit *E, const pg_hopper_plan *p, int first);
/* The kernel that sums slices has no ring: the residual is in global memory. */
static inline pg_epilogue pg_hopper_sum_steps(const pg_hopper_plan *p)
{
    pg_epilogue e = p->epilogue;
    if (p->residual_ring)
        e.side[PG_SIDE_RESIDUAL].spread = PG_SPREAD_MATRIX;
    return e;
}
/* Of the sum of the slices, then the end of the kernel. */
void pg_hopper_step_slices(pg_emit *E, const pg_hopper_plan *p);

/* ---- elements of C and D (hopper_element.ptxc) ---- */

/* One element, if `exists` (a predicate): `value` (.f32) is 0 otherwise. `address` is an address
 * expression. Each opens a scope of its own. */
void pg_hopper_load_element(pg_emit *E, const pg_dtype *type, const char *value,
                            const char *address, const char *exists);
void pg_hopper_store_element(pg_emit *E, const pg_dtype *type, const char *value,
                             const char *address, const char *exists);
/* Four adjacent ones, registers `prefix`first .. first + 3, in one access; what does not exist
 * is left as it is. */
typedef struct pg_quad {
    const char *prefix;
    int first;
    const char *exists;
} pg_quad;
void pg_hopper_load_quad(pg_emit *E, const pg_dtype *type, const pg_quad *q, const char *address);
void pg_hopper_store_quad(pg_emit *E, const pg_dtype *type, const pg_quad *q, const char *address);
/* Its first two likewise; what does not exist is loaded as 0. */
void pg_hopper_load_pair(pg_emit *E, const pg_dtype *type, const pg_quad *q, const char *address);
void pg_hopper_store_pair(pg_emit *E, const pg_dtype *type, const pg_quad *q, const char *address);

/* With splits (hopper_split.ptxc): the end of the tile, the sum of all parts. */
void pg_hopper_declare_split(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_combine_splits(pg_emit *E, const pg_hopper_plan *p);

/* The kernel that copies operands to aligned rows (hopper_align.ptxc), or the right one by phases
 * of K (hopper_gather.ptxc). */
void pg_hopper_align(pg_emit *E, const pg_hopper_plan *p);
void pg_hopper_gather(pg_emit *E, const pg_hopper_plan *p);
/* The second kernel of a problem in slices (hopper_slices.ptxc). */
void pg_hopper_sum_slices(pg_emit *E, const pg_hopper_plan *p);

#endif
