/* scatter_add, `out[index[i], :] += src[i, :]`: key, plan and the schedules' emitters.
 *
 * Five schedules share the family:
 * - seed:   one warp per CTA, one driving thread; tile-mode tensor-map loads of 512-byte chunks,
 *   two stages, each reduce waited for. The reference that everything faster is measured
 *   against.
 * - bulk:   each warp streams tiles of adjacent rows through its own ring of stages with 1-D
 *   bulk loads; lanes reduce one row each.
 * - vector: no shared memory: each thread loads 16 bytes of several rows and adds them with vector
 *   reductions,
 *           in an order that keeps the part of out at work in the L2 cache.
 * - private: sums in copies of out in shared memory, for few and short rows.
 * - owner:  works from a sorted index (index_sort, its helper): sums the rows that go to one row
 *   of out in registers, in equal shares whatever the index is like. The fastest for large
 *   calls, and the one that does all else. */
#ifndef PG_SCATTER_ADD_H
#define PG_SCATTER_ADD_H

#include "generate/dtype.h"
#include "generate/family.h"
#include "common/index_sort.h"
#include "scatter_add/sum_type.h"

/* All int64_t: see generate/params.h. */
typedef struct pg_scatter_add_key {
    int64_t arch;
    int64_t dtype;    /* place in the list of types: pg_sum_type_at */
    int64_t n;        /* elements per row; 0: a run-time value */
    int64_t contig;   /* 1: the row strides of out and src equal n */
    int64_t index;    /* ptxgen_index_type */
    int64_t schedule; /* ptxgen_schedule */
    int64_t oob;      /* ptxgen_oob */
    int64_t tile;     /* bulk: most bytes in one stage */
    int64_t stages;   /* bulk: stages per warp */
    int64_t warps;    /* bulk, vector: warps per CTA */
    int64_t ctas;     /* bulk, vector: CTAs per SM */
    /* vector, owner: 16-byte pieces, each of another row, that a thread has in flight */
    int64_t pieces;
    int64_t panel;    /* vector: bytes of a panel */
    int64_t function; /* vector: number of a user function; 0: none */
    int64_t access;   /* owner, vector, private: bytes that rows are aligned to, 16 at most */
    int64_t reduce;   /* ptxgen_scatter_reduce */
    int64_t exact;    /* owner: 1: the same bits always, one rounding for each row of out */
    int64_t weight;   /* owner: pg_weight */
    int64_t gather;   /* owner: 1: src_index says which row of src an entry takes */
    int64_t shift;    /* 1: rows of any alignment: owner by aligned loads, vector by blocks */
    int64_t ahead;    /* owner: pg_ahead */
    int64_t copies;   /* private: pg_copies */
    int64_t slices;   /* private: slices of out's rows */
    int64_t hot;      /* vector: pg_hot */
    int64_t share;    /* owner: entries of a group of lanes; 0: the launch decides */
} pg_scatter_add_key;

/* Operands and their extents, in table order. */
enum {
    PG_SCATTER_OUT,
    PG_SCATTER_SRC,
    PG_SCATTER_INDEX,
    PG_SCATTER_WEIGHT,
    PG_SCATTER_SRC_INDEX,
    PG_SCATTER_ALPHA,
    PG_SCATTER_DEVICE_ROWS,
    PG_SCATTER_PADDING_INDEX,
    PG_SCATTER_RECORD,
    PG_SCATTER_COUNTS,
    PG_SCATTER_WORKSPACE
};
enum {
    PG_SCATTER_ROWS,
    PG_SCATTER_OUT_ROWS,
    PG_SCATTER_N,
    PG_SCATTER_SRC_ROWS,
    PG_SCATTER_ONE,
    PG_SCATTER_TWO,
    PG_SCATTER_BYTES
};

/* private: who has a copy of out's rows. */
typedef enum pg_copies { PG_COPIES_AUTO, PG_COPIES_THREAD, PG_COPIES_CTA } pg_copies;

/* Whether rows of out are loaded with the rows of src, or updated where they are (owner). */
typedef enum pg_ahead { PG_AHEAD_AUTO, PG_AHEAD_NO, PG_AHEAD_YES } pg_ahead;

/* vector: whether threads keep sums of rows that they meet again and again. */
typedef enum pg_hot { PG_HOT_AUTO, PG_HOT_NO, PG_HOT_YES } pg_hot;

typedef enum pg_weight { PG_WEIGHT_NONE, PG_WEIGHT_F32, PG_WEIGHT_ELEMENT } pg_weight;

/* A number of the plan as PTX operand: an immediate when n is fixed, a register when it is not. */
typedef struct pg_ptx_operand {
    char text[24];
} pg_ptx_operand;

typedef struct pg_scatter_add_plan {
    pg_plan_head head;
    ptxgen_schedule schedule;
    ptxgen_oob oob;
    const pg_arch *arch;
    const char *index_type; /* "s64", "s32" */
    int index_bytes;
    bool dynamic, contig;
    int64_t n, row_bytes; /* 0 when dynamic */

    /* seed */
    int chunk_elems, chunk_bytes, stage_stride;
    int64_t chunks; /* per row; 0 when dynamic */

    /* bulk */
    int tile_bytes, stages, warps, ctas_per_sm;
    int tile_rows;       /* rows in one tile; the most there can be when dynamic */
    int64_t tile_chunks; /* tiles in one row, 1 when whole rows fit; 0 when dynamic */
    int rows_per_lane;   /* reductions a lane issues per tile at most */

    /* vector, owner */
    int pieces;
    int64_t panel; /* bytes; 0: the launch decides */
    bool function; /* elements go through ptxgen_function */
    bool hot;      /* sums of hot rows are kept */

    /* owner */
    const pg_sum_type *element; /* of every schedule */
    int access;
    int64_t share;
    ptxgen_scatter_reduce reduce;
    pg_weight weight;
    bool exact, gather, ahead, shift;
    bool by_thread; /* private */
    int slices;     /* private: CTAs have a slice of out's rows each */
    bool mean;      /* reduce: sums, divided by how many there are */
} pg_scatter_add_plan;

/* pg_problem.prepared: a sorted index. Those that callers hold own their memory
 * (src/api/scatter_plan.c). */
struct ptxgen_scatter_plan {
    void *entries;   /* device */
    uint32_t *total; /* device: how many entries there are */
    int64_t rows, out_rows;
    void *owner; /* the engine */
};

extern const pg_family pg_family_scatter_add;

static inline double pg_scatter_add_alpha(const pg_problem *p)
{
    return p->operand[PG_SCATTER_ALPHA].present ? pg_problem_scalar(p, PG_SCATTER_ALPHA) : 1;
}

/* How a row length is cut for the bulk schedule: `rows` whole rows in a tile, or a row in
 * `chunks` tiles. */
typedef struct pg_tile_shape {
    int64_t rows, chunks, chunk_bytes;
} pg_tile_shape;
pg_tile_shape pg_scatter_add_tile_shape(int64_t row_bytes, int64_t tile_bytes);

/* choose.c: bytes, 16 at most, that all rows of out and src are aligned to; an operand that only
 * schedule=owner reads, or NULL; and the family's `choose`. */
int64_t pg_scatter_add_access_of(const pg_problem *p);
const char *pg_scatter_add_owner_operand(const pg_problem *p);
void pg_scatter_add_choose(const pg_problem *p, void *key);
/* And `generic`: a kernel for rows of every length. */
void pg_scatter_add_generic(const pg_problem *p, void *key);

const char *pg_scatter_add_schedule_name(int64_t schedule);
/* settings.c: a setting of one schedule alone is a choice of it; settings that the schedule does
 * not have are dropped, where it was chosen for those who named none, or refused; those that are
 * left out get their automatic values. */
void pg_scatter_add_follow_settings(pg_scatter_add_key *k);
void pg_scatter_add_drop_settings(pg_scatter_add_key *k);
ptxgen_status pg_scatter_add_settle(pg_scatter_add_key *k, ptxgen_error *err);
bool pg_scatter_add_needs_owner(const pg_scatter_add_key *k);
ptxgen_status pg_scatter_add_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_scatter_add_plan_from(const void *key, const pg_arch *, void *plan);
void pg_scatter_add_launch(const pg_problem *, pg_launch *);
/* The caller's bad-index record, or NULL: the device's. */
static inline void *pg_scatter_add_given_record(const pg_problem *p)
{
    const pg_view *record = &p->operand[PG_SCATTER_RECORD];
    return record->present ? record->data : NULL;
}

/* What seed's kernel takes, and the list of bulk's and vector's; owner's is in owner.h. Strides
 * are bytes. A tile of bulk is tile_rows_ whole rows, or one of the chunks_ of a row. vector
 * cuts src into groups of rows; from piece to piece a thread goes step_panels_, step_groups_ and
 * step_pieces_ on. */
#define PG_SEED_PARAMS(X)                                                                          \
    X(source_map, TENSOR)                                                                          \
    X(out_, POINTER)                                                                               \
    X(index_, POINTER)                                                                             \
    X(record_, RECORD)                                                                             \
    X(rows_, U64)                                                                                  \
    X(out_rows_, U64)                                                                              \
    X(out_stride_, U64)                                                                            \
    X(row_bytes_, U64)                                                                             \
    X(chunks_per_cta_, U32)                                                                        \
    X(chunks_, U32)
#define PG_ROWS_PARAMS(X)                                                                          \
    X(out_, POINTER)                                                                               \
    X(src_, POINTER)                                                                               \
    X(index_, POINTER)                                                                             \
    X(record_, RECORD)                                                                             \
    X(rows_, U64)                                                                                  \
    X(out_rows_, U64)                                                                              \
    X(out_stride_, U64)                                                                            \
    X(src_stride_, U64)                                                                            \
    X(row_bytes_, U64)                                                                             \
    X(tile_rows_, U32)                                                                             \
    X(chunk_bytes_, U32)                                                                           \
    X(chunks_, U32)                                                                                \
    X(groups_, U64)                                                                                \
    X(step_panels_, U64)                                                                           \
    X(step_groups_, U64)                                                                           \
    X(step_pieces_, U32)                                                                           \
    X(panel_pieces_, U32)
pg_param_list pg_scatter_add_params(const void *plan, uint32_t part);

/* The same as a sequence: schedule=owner takes several launches. */
pg_sequence pg_scatter_add_sequence(const pg_problem *);
void pg_scatter_add_launch_step(const pg_problem *, const pg_step *, pg_launch *);

/* schedule=owner (owner_plan.c, owner_launch.c). */
ptxgen_status pg_scatter_add_resolve_owner(pg_scatter_add_key *k, const pg_arch *, ptxgen_error *);
void pg_scatter_add_plan_owner(const pg_scatter_add_key *k, pg_scatter_add_plan *p);
pg_sequence pg_scatter_add_owner_sequence(const pg_problem *);
void pg_scatter_add_launch_owner(const pg_problem *, const pg_step *, pg_launch *);

/* schedule=vector (vector_plan.c): whether rows of out are without gaps, and whether hot=yes takes
 * rows and numbers of this size. */
ptxgen_status pg_scatter_add_resolve_vector(pg_scatter_add_key *k, const pg_arch *, ptxgen_error *);
ptxgen_status pg_scatter_add_vector_limits(const pg_problem *, ptxgen_error *);
bool pg_scatter_add_dense_out(const pg_problem *);
bool pg_scatter_add_may_be_hot(const pg_problem *, int64_t access, bool shift);

/* schedule=private (private_launch.c). */
ptxgen_status pg_scatter_add_resolve_private(pg_scatter_add_key *k, const pg_arch *,
                                             ptxgen_error *);
void pg_scatter_add_plan_private(const pg_scatter_add_key *k, pg_scatter_add_plan *p);
/* Who has a table of how much of out, in CTAs of how many warps, how many of them an SM. */
typedef struct pg_private_cut {
    pg_copies copies;
    int warps, ctas, slices;
} pg_private_cut;
/* What is best for the problem, of the key's copies if it names some. copies AUTO: out does not fit
 * into shared memory. */
pg_private_cut pg_scatter_add_cut_private(const pg_problem *, const pg_scatter_add_key *,
                                          int64_t access);
ptxgen_status pg_scatter_add_private_limits(const pg_problem *, ptxgen_error *);
void pg_scatter_add_launch_private(const pg_problem *, pg_launch *);

/* Emitters: the whole module, then one per schedule. */
void pg_scatter_add_emit(pg_emit *E, const void *plan);
void pg_scatter_add_seed(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_bulk(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_vector(pg_emit *E, const pg_scatter_add_plan *p);
/* function.ptxc; nothing when there is no function. */
void pg_scatter_add_declare_function(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_apply_function(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_owner(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_private(pg_emit *E, const pg_scatter_add_plan *p);
/* Shared pieces (main.ptxc). */
typedef struct pg_index_check {
    const char *index, *position;      /* the value (64-bit, sign-extended), and where it is */
    const char *lane_has_row, *row_ok; /* predicates: is there one; becomes: is it good */
} pg_index_check;
void pg_scatter_add_check_index(pg_emit *E, const pg_scatter_add_plan *p, const pg_index_check *c);
void pg_scatter_add_record(pg_emit *E, const pg_scatter_add_plan *p);

/* The plain C answer, and what an element of out may be off by: the rounding of as many
 * additions as reached it. */
ptxgen_status pg_scatter_add_oracle(const pg_problem *, ptxgen_error *);

#endif
