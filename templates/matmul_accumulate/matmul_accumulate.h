/* matmul_accumulate, `D = alpha A @ B + beta C` with 16-bit A and B, sums in f32: key, plan,
 * emitters.
 *
 * On Blackwell a persistent kernel of one CTA per SM (or of pairs of CTAs) whose warps have
 * roles:
 *
 *     load warp           tensor-map loads: stages of A and B
 *     multiply warp       multiplies on top of what is in an accumulator
 *     4 epilogue warps    C -> registers -> tensor memory -> registers -> D
 *
 * Two accumulators take turns, so tile t + 1 is multiplied while tile t is stored and C of tile t
 * + 2 takes its place (schedule=fill). With schedule=seed, the reference kernel's, the load warp
 * brings C as a whole tile to shared memory, and the multiply warp copies it (tcgen05.cp). The
 * Hopper sibling (hopper.h) keeps its accumulators in registers. The target picks the
 * implementation. */
#ifndef PG_MATMUL_ACCUMULATE_H
#define PG_MATMUL_ACCUMULATE_H

#include "generate/dtype.h"
#include "generate/family.h"
#include "common/epilogue.h"
#include "common/tcgen05.h"
#include "common/warp_roles.h"
#include "ptxgen/matmul.h"

/* All int64_t: see generate/params.h. 0 is automatic in the numbers. */
typedef struct pg_matmul_accumulate_key {
    int64_t arch;
    int64_t dtype; /* place in {f16, bf16, e4m3, e5m2, f32}; f32 is multiplied as tf32 */
    int64_t b;     /* place in {row_major, transposed}: stored as [K, N] or as [N, K] */
    int64_t block_m, block_n, block_k; /* the tile of a CTA; block_n is the pair's when ctas = 2 */
    int64_t stages;
    int64_t group_m; /* rows of tiles in a group */
    int64_t swizzle; /* bytes, of A and B in shared memory */
    int64_t ctas;    /* of a cluster, one above the other: 1 or 2, on Hopper also 4 */
    /* Hopper */
    int64_t a;          /* place in {row_major, transposed}: stored as [M, K] or as [K, M] */
    int64_t c;          /* place in {add, none} */
    int64_t schedule;   /* place in the list of words; those of one engine */
    int64_t warpgroups; /* consumers of a CTA */
    int64_t ctas_n;     /* of a cluster, side by side (on Blackwell, tiles) */
    int64_t splits;     /* of K, over CTAs (on Blackwell, or pairs) of a cluster */
    int64_t slices;     /* of K, over any CTAs; a second kernel sums */
    int64_t swap;       /* place in {auto, no, yes}: the transposed problem */
    /* place in {auto, direct, ring}: C (or the residual) to registers, or through shared memory */
    int64_t c_load;
    int64_t c_slots; /* of the ring */
    int64_t d_store; /* PG_D_ROWS or PG_D_TENSOR; Blackwell */
    int64_t tiles;   /* PG_TILES_STATIC or PG_TILES_DYNAMIC; Blackwell */
    int64_t copy;   /* place in {none, a, b, both}: copied to aligned rows first; bits of A and B */
    int64_t phases; /* PG_PHASES_NONE, or what pg_phases_word says of 1, 2, 4 or 8; Hopper */
    /* place in {auto, no, yes, ahead}: the left operand is read once and leaves L2 first */
    int64_t stream;
    int64_t c_dtype, d_dtype; /* places in {f32, f16, bf16} */
    int64_t scale;            /* place in {none, alpha_beta} */
    int64_t batch;            /* place in {no, yes}: many matrices, one after the other */
    int64_t grouped;          /* place in {no, s32, s64}: the type of group_rows */
    pg_epilogue_key steps;
} pg_matmul_accumulate_key;

/* Operands and their extents, in table order. */
enum {
    PG_MATMUL_A,
    PG_MATMUL_B,
    PG_MATMUL_C,
    PG_MATMUL_D,
    PG_MATMUL_WORKSPACE,
    PG_MATMUL_ALPHA,
    PG_MATMUL_BETA,
    PG_MATMUL_STEPS /* and what follows (common/epilogue.h) */
};
enum {
    PG_MATMUL_M,
    PG_MATMUL_N,
    PG_MATMUL_K,
    PG_MATMUL_BYTES,
    PG_MATMUL_BATCH,
    PG_MATMUL_SCALE_BYTES
};

/* Behind the steps. */
enum { PG_MATMUL_GROUP_ROWS = PG_MATMUL_STEPS + PG_STEP_D_SCALES + 1 };

/* Dimensions of checked A, B, C and D. */
enum { PG_BATCH, PG_ROW, PG_COLUMN, PG_MATMUL_RANK };
/* The one whose steps are from a run of adjacent elements to the next; of a matrix of two
 * dimensions as well. */
static inline int pg_matmul_across(const pg_view *v)
{
    return 2 * v->rank - 3 - pg_view_along(v);
}
/* Bytes from one matrix of the batch to the next; 0: the same for all. */
static inline int64_t pg_matmul_batch_bytes(const pg_view *v)
{
    return v->rank == PG_MATMUL_RANK && v->shape[PG_BATCH] > 1 ? v->stride[PG_BATCH] * v->bits / 8
                                                               : 0;
}
/* Bytes from row to row; 0: there is one. */
static inline int64_t pg_matmul_row_bytes(const pg_view *v)
{
    const int across = pg_matmul_across(v);
    return v->shape[across] > 1 ? v->stride[across] * v->bits / 8 : 0;
}
/* With group_rows: the groups' rows follow each other in one matrix, or each has a matrix. */
static inline bool pg_matmul_rows_follow(const pg_problem *p)
{
    return pg_matmul_batch_bytes(&p->operand[PG_MATMUL_D]) == 0;
}
/* All that addresses of rows are made of: its low bits are zeros where all of theirs are. */
static inline uintptr_t pg_matmul_low_bits(const pg_view *v)
{
    return (uintptr_t)v->data | (uintptr_t)pg_matmul_row_bytes(v) |
           (uintptr_t)pg_matmul_batch_bytes(v);
}

enum {
    PG_SCHEDULE_COOPERATIVE = 1,
    PG_SCHEDULE_PINGPONG = 2,
    PG_SCHEDULE_SEED = 3,
    PG_SCHEDULE_FILL = 4,
    PG_SCHEDULE_MMA_SYNC = 5
};
enum { PG_NO = 1, PG_YES = 2, PG_AHEAD = 3 };
enum { PG_C_DIRECT = 1, PG_C_RING = 2, PG_C_LATE = 3, PG_C_ROWS = 4 };
enum { PG_COPY_A = 1, PG_COPY_B = 2 };
/* Phases: rows that begin at the same place of 16 bytes are one of 1, 2, 4 or 8; 0: rows are not
 * told apart. */
enum { PG_PHASES_NONE = 1, PG_MOST_PHASES = 8 };
static inline int pg_phases_of(int64_t word)
{
    return word <= PG_PHASES_NONE ? 0 : 1 << (word - PG_PHASES_NONE - 1);
}
static inline int64_t pg_phases_word(int phases)
{
    return phases == 0 ? PG_PHASES_NONE : 1 + pg_phases_word(phases / 2);
}

/* Of A and B, in the order of the parameter dtype; f32 is multiplied as tf32. */
#define PG_MATMUL_TYPES(X)                                                                         \
    PG_DTYPE_F16(X) PG_DTYPE_BF16(X) PG_DTYPE_E4M3(X) PG_DTYPE_E5M2(X) PG_DTYPE_F32(X)
#define PG_MATMUL_TYPE(name, ...) PG_MATMUL_##name,
enum { PG_MATMUL_TYPES(PG_MATMUL_TYPE) };
extern const ptxgen_dtype pg_matmul_dtypes[];
/* Bytes of an element of A and B. */
static inline int pg_matmul_operand_bytes(const pg_matmul_accumulate_key *k)
{
    return pg_dtype_bits(pg_matmul_dtypes[k->dtype]) / 8;
}

/* A batch whose matrices all meet the same B, with rows that follow each other: it is one product
 * of more rows (fold.c), and becomes that. */
bool pg_matmul_is_one_product(const pg_problem *p);
void pg_matmul_fold(pg_problem *p);

/* The factors of a call. alpha 0 leaves nothing to multiply. */
float pg_matmul_alpha(const pg_problem *);
float pg_matmul_beta(const pg_problem *);
/* K that is multiplied. */
static inline int64_t pg_matmul_depth(const pg_problem *p)
{
    return pg_matmul_alpha(p) == 0 ? 0 : p->symbol[PG_MATMUL_K];
}
/* Of sums that begin with C: what C is multiplied by first, and the sum at the end. */
typedef struct pg_matmul_factors {
    float c, alpha;
} pg_matmul_factors;
pg_matmul_factors pg_matmul_begin_factors(const pg_problem *);
/* Of C and D, by the place in pg_result_dtypes. */
static inline const pg_dtype *pg_matmul_result_type(int64_t place)
{
    return pg_dtype_find(pg_result_dtypes[place]);
}

/* Blackwell: accumulators in tensor memory. Hopper: in registers (hopper.h). All others: in
 * registers of each warp (mma_sync.h). */
typedef enum pg_matmul_engine {
    PG_ENGINE_TCGEN05,
    PG_ENGINE_WGMMA,
    PG_ENGINE_MMA_SYNC
} pg_matmul_engine;

enum { PG_ACCUMULATORS = 2 };

/* What the plans of both begin with. */
typedef struct pg_matmul_plan_base {
    pg_plan_head head;
    const pg_arch *arch;
    pg_matmul_engine engine;
} pg_matmul_plan_base;

/* Blackwell: what an accumulator begins with: C through registers, through shared memory,
 * nothing. */
typedef enum pg_c_source { PG_C_FILLED, PG_C_TILE, PG_C_ABSENT } pg_c_source;

/* Blackwell's; Hopper's is pg_hopper_plan. */
typedef struct pg_matmul_accumulate_plan {
    pg_plan_head head;
    const pg_arch *arch;
    pg_epilogue steps;
    pg_matmul_engine engine;
    const pg_dtype *dtype;
    int operand_bytes; /* of an element of A and B */
    bool a_transposed, b_transposed;
    const pg_dtype *c_type, *d_type;
    pg_c_source c_from;
    bool scales, batched;
    const char *group_type; /* of the row counts of groups; NULL: there are none */
    int block_m, block_n, block_k, stages, group_m, swizzle;
    int ctas; /* of a part of the cluster: 2 are a pair */
    pg_cluster_parts parts;
    int cluster;   /* CTAs */
    int tile_rows; /* of all the cluster's CTAs */
    int b_columns; /* of B that one CTA holds: block_n / ctas */
    int threads;

    /* Shared memory: offsets from its start; A and B are arrays of stages. Bytes per CTA. */
    int a_bytes, b_bytes, c_bytes;
    int a_offset, b_offset, c_offset;
    int split_offset; /* the other parts' sums */
    int d_ring;       /* sub-tiles of D; 0: it leaves by rows */
    pg_tile_walk walk;
    int full, empty;         /* barriers of the stages: [stages] each */
    int c_full, c_empty;     /* of the tile of C */
    int acc_full, acc_empty; /* [PG_ACCUMULATORS] each */
    int address_slot;        /* the word that holds the tensor-memory address */

    int tmem_columns;
    uint32_t instruction; /* descriptor */
    pg_smem_matrix a, b, c;
    int a_loads, b_loads, c_loads; /* tensor-map loads: per stage, per stage, per tile */
    int a_box_rows, b_box_rows;
    int copies;          /* tcgen05.cp per tile */
    int multiplications; /* tcgen05.mma per stage */
} pg_matmul_accumulate_plan;

extern const pg_family pg_family_matmul_accumulate;

pg_matmul_engine pg_matmul_accumulate_engine(const pg_matmul_accumulate_key *k);

/* Byte offset in a stage of A or B of the 32 bytes of K that multiplication `step` begins with. */
int pg_matmul_accumulate_a_step(const pg_matmul_accumulate_plan *p, int step);
int pg_matmul_accumulate_b_step(const pg_matmul_accumulate_plan *p, int step);
/* Byte offset in the tile of C of 8 columns from `column` on. */
int pg_matmul_accumulate_c_source(const pg_matmul_accumulate_plan *p, int column);

typedef struct pg_matmul_problem {
    int64_t m, n, k;
    int64_t batch;                 /* matrices; 0: one */
    int c_bytes, d_bytes;          /* of an element; 0: there is no C */
    bool c_takes_map;              /* C, or without it the residual, can be loaded by tensor maps */
    bool a_straddles, b_straddles; /* rows begin off 128-byte lines */
    bool a_k_major, b_k_major;     /* K is adjacent in memory */
    bool ragged;                   /* rows of C or D begin off sectors of 32 bytes */
    bool odd;                      /* they take no access of two elements */
    int operand_alignment;         /* bytes, at most 16: of the rows of A and of B */
    int a_phases, b_phases;        /* that their rows have, if they have to be copied; else 0 */
    int sm_count;
} pg_matmul_problem;
static inline int64_t pg_matmul_matrices(const pg_matmul_problem *p)
{
    return p->batch > 1 ? p->batch : 1;
}
/* By the problem, what the caller left open of the kernel; what is not 0 stays. Any thread. */
void pg_matmul_accumulate_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem);
void pg_tcgen05_choose(pg_matmul_accumulate_key *k, const pg_matmul_problem *problem);
/* The type of D. */
static inline ptxgen_dtype pg_matmul_d_type(const pg_matmul_accumulate_key *k)
{
    return pg_result_dtypes[k->d_dtype];
}
ptxgen_status pg_matmul_accumulate_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_matmul_accumulate_plan_from(const void *key, const pg_arch *, void *plan);
pg_sequence pg_matmul_accumulate_sequence(const pg_problem *);
void pg_matmul_accumulate_launch_step(const pg_problem *, const pg_step *, pg_launch *);

/* What Blackwell's kernel takes: c_map_, or c_, c_stride_ and c_vectors_ (rows allow accesses of
 * four elements), where C comes early or late; the factors (f32) where it scales. Strides are
 * bytes; k_blocks_ are stages of K. Of D d_map_, or d_, d_stride_, d_batch_ and vector_bytes_, how
 * wide its rows can be stored. With
 * batches: batch_maps_ says which maps step with the batch (PG_MAP_A, ...), c_batch_ and d_batch_
 * are bytes from matrix to matrix; with groups as common/groups.h says. */
enum { PG_MAP_A = 1, PG_MAP_B = 2, PG_MAP_C = 4 };
#define PG_ACCUMULATE_PARAMS(X)                                                                    \
    X(a_map_, TENSOR)                                                                              \
    X(b_map_, TENSOR)                                                                              \
    X(c_map_, TENSOR)                                                                              \
    X(c_, POINTER)                                                                                 \
    X(c_stride_, U64)                                                                              \
    X(c_vector_bytes_, U32)                                                                        \
    X(alpha_, U32)                                                                                 \
    X(c_scale_, U32)                                                                               \
    X(d_map_, TENSOR)                                                                              \
    X(d_, POINTER)                                                                                 \
    X(d_stride_, U64)                                                                              \
    X(m_, U32)                                                                                     \
    X(n_, U32)                                                                                     \
    X(k_blocks_, U32)                                                                              \
    X(tiles_m_, U32)                                                                               \
    X(tiles_n_, U32)                                                                               \
    X(tiles_, U32)                                                                                 \
    X(vector_bytes_, U32)                                                                          \
    X(batch_maps_, U32)                                                                            \
    X(c_batch_, U64)                                                                               \
    X(d_batch_, U64)                                                                               \
    X(groups_, U32)                                                                                \
    X(group_rows_, POINTER)                                                                        \
    PG_EPILOGUE_LIST(X)
pg_param_list pg_matmul_accumulate_params(const void *plan, uint32_t part);

/* Emitters: the module, then Blackwell's implementation and its roles (common/warp_roles.h). */
void pg_matmul_accumulate_emit(pg_emit *E, const void *plan);
void pg_matmul_accumulate_tcgen05(pg_emit *E, const pg_matmul_accumulate_plan *p);
void pg_matmul_accumulate_load_role(pg_emit *E, const pg_matmul_accumulate_plan *p);
void pg_matmul_accumulate_multiply_role(pg_emit *E, const pg_matmul_accumulate_plan *p);

ptxgen_status pg_matmul_accumulate_oracle(const pg_problem *, ptxgen_error *);

#endif
