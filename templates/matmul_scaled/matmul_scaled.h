/* matmul_scaled, `D = (A * scales) @ (B * scales)^T` of block-scaled 8-bit and 4-bit floats:
 * key, plan, emitters.
 *
 * A persistent warp-specialized kernel (common/warp_roles.h):
 *
 *     load warp           tensor-map loads of stages: A, B, and their packed scales
 *     multiply warp       copies the stage's scales into tensor memory (tcgen05.cp), multiplies
 *     4 epilogue warps    tensor memory -> registers -> D
 *
 * Stages take turns in *slots* of tensor memory for their scales. A slot is overwritten only after
 * the multiplications that read it are known to be complete, so nothing depends on multiplications
 * and later copies running in order, which the ISA does not promise.
 *
 * Two accumulators take turns. Of 256 columns each, with slots beside them, they share 128: the
 * epilogue takes those first, and the next tile begins when they are in registers.
 *
 * With ctas = 2 a pair of CTAs works on a tile of 256 rows: each loads its rows of A with their
 * scales, half of B's rows, and of B's scales half for both of them, since a tensor core needs
 * them all. With ctas_n > 1 so many tiles side by side share what is loaded of A, with ctas = 4 two
 * pairs, one below the other, what is loaded of B. With splits each part of a cluster has a share
 * of K (common/epilogue_split.ptxc).
 *
 * Operands in shared memory: 4-bit elements are packed two to a byte when both operands are
 * 4-bit (kinds mxf4 and mxf4nvf4); beside an 8-bit operand (kind mxf8f6f4) they take a byte
 * each, in units of 16 that the tensor map unpacks from 8 bytes. A multiplication takes 32 bytes
 * of K either way. */
#ifndef PG_MATMUL_SCALED_H
#define PG_MATMUL_SCALED_H

#include "generate/dtype.h"
#include "generate/family.h"
#include "common/epilogue.h"
#include "common/tcgen05.h"
#include "common/warp_roles.h"
#include "ptxgen/matmul.h"

/* All int64_t: see generate/params.h. 0 is automatic in the numbers. */
typedef struct pg_matmul_scaled_key {
    int64_t arch;
    int64_t a, b; /* ptxgen_scaled_format */
    int64_t out;  /* place in the types of D */
    int64_t block_n, block_k;
    int64_t stages;
    int64_t group_m;
    int64_t ctas;    /* 2: a pair shares a tile; 4: two pairs share B */
    int64_t ctas_n;  /* tiles side by side in a cluster, which share A */
    int64_t splits;  /* of K, over CTAs or pairs of a cluster */
    int64_t d_store; /* PG_D_ROWS or PG_D_TENSOR */
    int64_t tiles;   /* PG_TILES_STATIC or PG_TILES_DYNAMIC */
    pg_epilogue_key steps;
} pg_matmul_scaled_key;

/* Operands and their extents, in table order. */
enum {
    PG_SCALED_A,
    PG_SCALED_B,
    PG_SCALED_A_SCALES,
    PG_SCALED_B_SCALES,
    PG_SCALED_D,
    PG_SCALED_STEPS, /* and what follows (common/epilogue.h) */
};
enum {
    PG_SCALED_M,
    PG_SCALED_N,
    PG_SCALED_K,
    PG_SCALED_A_BYTES,
    PG_SCALED_B_BYTES,
    PG_SCALED_D_BYTES
};

/* One operand. `rows` of it in a CTA's part of a tile; a block of scales covers 128 of those whose
 * scales it has. */
typedef struct pg_scaled_operand {
    bool padded;            /* 4-bit elements, a byte each in shared memory */
    int element_bits;       /* in global memory */
    int rows, box_rows;     /* box_rows: of one load */
    int bytes, offset;      /* of a stage in shared memory, and where the array of stages begins */
    int load_bytes;         /* what a barrier counts for a stage: padding is not counted */
    int box_columns, loads; /* elements of the map's type in a row of a box; boxes in a stage */
    int scale_blocks;       /* in a CTA */
    int loaded_blocks;      /* of them, by this CTA's load; half of them for both CTAs of a pair */
    int scale_bytes, scale_offset; /* as bytes and offset, of the scales */
    int scale_column;              /* of the first slot's scales in tensor memory */
} pg_scaled_operand;

typedef struct pg_matmul_scaled_plan {
    pg_plan_head head;
    const pg_arch *arch;
    pg_epilogue steps;
    pg_mma_kind kind;
    int block_m, block_n, block_k, stages, group_m; /* block_m: of a CTA, block_n: of the tile */
    int ctas;                                       /* of a part of the cluster: 2 are a pair */
    pg_cluster_parts parts;
    int cluster; /* CTAs */
    int swizzle;
    pg_scaled_operand a, b;
    pg_smem_matrix matrix, scales;

    int accumulators;     /* block_n columns each, from column 0 of tensor memory on */
    int accumulator_step; /* columns from one to the next: less than block_n if they overlap */
    int scale_slots;
    int tmem_columns;
    int scale_stage_columns; /* of a slot, A's and B's */

    int group;           /* elements that share a scale: 32 or 16 */
    int step_scales;     /* scales of a row that one multiplication takes: 1, 2 or 4 */
    int scale_words;     /* groups of four scales along K in a stage */
    int multiplications; /* per stage */
    int copies;          /* tcgen05.cp per stage */
    int scale_type;
    int a_type, b_type;

    /* Offsets in shared memory. */
    int full, empty, acc_full, acc_empty, split_offset, address_slot;
    int d_ring; /* sub-tiles of D; 0: it leaves by rows */
    pg_tile_walk walk;
} pg_matmul_scaled_plan;

extern const pg_family pg_family_matmul_scaled;

/* k_blocks_ are stages of K. Of D d_map_, or d_, d_stride_ (bytes) and vector_bytes_, how wide its
 * rows can be stored. */
#define PG_SCALED_PARAMS(X)                                                                        \
    X(a_map_, TENSOR)                                                                              \
    X(b_map_, TENSOR)                                                                              \
    X(a_scale_map_, TENSOR)                                                                        \
    X(b_scale_map_, TENSOR)                                                                        \
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
    PG_EPILOGUE_LIST(X)
pg_param_list pg_matmul_scaled_params(const void *plan, uint32_t part);

enum {
    PG_SCALE_CHUNK_BYTES = 512,
    PG_SCALE_CHUNK_COLUMNS = 4,
    PG_SCALES_PER_WORD = 4,
    PG_SCALE_ROWS = 128
};

/* Byte offset in an operand's stage of what multiplication `step` begins with. */
int pg_matmul_scaled_step(const pg_matmul_scaled_plan *p, const pg_scaled_operand *o, int step);
/* The instruction descriptor of multiplication `step`: it says which of a word's scales to take. */
uint32_t pg_matmul_scaled_instruction(const pg_matmul_scaled_plan *p, int step);
/* Of the scales of 128 rows (block) and four groups (word): byte offset in the stage, column
 * after scale_column. */
int pg_matmul_scaled_scale_source(const pg_matmul_scaled_plan *p, int block, int word);
int pg_matmul_scaled_scale_target(const pg_scaled_operand *o, int block, int word);

/* What D holds. */
ptxgen_dtype pg_matmul_scaled_out(const pg_matmul_scaled_key *k);
ptxgen_status pg_matmul_scaled_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_matmul_scaled_plan_from(const void *key, const pg_arch *, void *plan);
void pg_matmul_scaled_launch(const pg_problem *, pg_launch *);

/* Emitters: the module, then its roles. */
void pg_matmul_scaled_emit(pg_emit *E, const void *plan);
void pg_matmul_scaled_load_role(pg_emit *E, const void *plan);
void pg_matmul_scaled_multiply_role(pg_emit *E, const void *plan);

ptxgen_status pg_matmul_scaled_oracle(const pg_problem *, ptxgen_error *);

/* Bytes of the packed scales of `rows` rows of `k` elements; 0 for extents that none has. */
int64_t pg_matmul_scaled_scale_bytes(ptxgen_scaled_format format, int64_t rows, int64_t k);

int64_t pg_matmul_scaled_a_scale_bytes(const pg_problem *);
int64_t pg_matmul_scaled_b_scale_bytes(const pg_problem *);

/* Hooks (formats.c): the formats by the element types of operands and scales, and what of them
 * does not fit. */
void pg_matmul_scaled_choose(const pg_problem *, void *key);
void pg_matmul_scaled_bind(const pg_problem *, void *key);
ptxgen_status pg_matmul_scaled_limits(const pg_problem *, ptxgen_error *);

#endif
