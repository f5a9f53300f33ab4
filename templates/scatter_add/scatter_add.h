/* scatter_add, `out[index[i], :] += src[i, :]`: key, plan and the schedules' emitters.
 *
 * Three schedules share the family:
 * - seed:   one warp per CTA, one driving thread; tile-mode tensor-map loads of 512-byte chunks, two stages,
 *           each reduce waited for. The reference that everything faster is measured against.
 * - bulk:   each warp streams tiles of adjacent rows through its own ring of stages with 1-D bulk loads;
 *           lanes reduce one row each.
 * - vector: no shared memory: each thread loads 16 bytes of several rows and adds them with vector reductions,
 *           in an order that keeps the part of out at work in the L2 cache. */
#ifndef PG_SCATTER_ADD_H
#define PG_SCATTER_ADD_H

#include "generate/dtype.h"
#include "generate/family.h"

/* All int64_t: see generate/params.h. */
typedef struct pg_scatter_add_key {
    int64_t arch;
    int64_t dtype;    /* place in {f32, f16, bf16}: ptxgen_dtype - 1 */
    int64_t n;        /* elements per row; 0: a run-time value */
    int64_t contig;   /* 1: the row strides of out and src equal n */
    int64_t index;    /* ptxgen_index_type */
    int64_t schedule; /* ptxgen_schedule */
    int64_t oob;      /* ptxgen_oob */
    int64_t tile;     /* bulk: most bytes in one stage */
    int64_t stages;   /* bulk: stages per warp */
    int64_t warps;    /* bulk, vector: warps per CTA */
    int64_t ctas;     /* bulk, vector: CTAs per SM */
    int64_t pieces;   /* vector: 16-byte pieces, each of another row, that a thread has in flight */
    int64_t panel;    /* vector: bytes of a panel */
    int64_t function; /* vector: number of a user function; 0: none */
} pg_scatter_add_key;

/* Operands and their extents, in table order. */
enum { PG_SCATTER_OUT, PG_SCATTER_SRC, PG_SCATTER_INDEX };
enum { PG_SCATTER_ROWS, PG_SCATTER_OUT_ROWS, PG_SCATTER_N };

/* A number of the plan as PTX operand: an immediate when n is fixed, a register when it is not. */
typedef struct pg_ptx_operand {
    char text[24];
} pg_ptx_operand;

typedef struct pg_scatter_add_plan {
    pg_plan_head head;
    ptxgen_schedule schedule;
    ptxgen_oob oob;
    const pg_arch *arch;
    const pg_dtype *dtype;
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

    /* vector */
    int pieces;
    int64_t panel; /* bytes; 0: the launch decides */
    bool function; /* elements go through ptxgen_function */
} pg_scatter_add_plan;

extern const pg_family pg_family_scatter_add;

/* How a row length is cut for the bulk schedule: `rows` whole rows in a tile, or a row in `chunks` tiles. */
typedef struct pg_tile_shape {
    int64_t rows, chunks, chunk_bytes;
} pg_tile_shape;
pg_tile_shape pg_scatter_add_tile_shape(int64_t row_bytes, int64_t tile_bytes);

ptxgen_status pg_scatter_add_resolve(void *key, const pg_arch *, ptxgen_error *err);
void pg_scatter_add_plan_from(const void *key, const pg_arch *, void *plan);
void pg_scatter_add_launch(const pg_problem *, pg_launch *);

/* Emitters: the whole module, then one per schedule. */
void pg_scatter_add_emit(pg_emit *E, const void *plan);
void pg_scatter_add_seed(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_bulk(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_vector(pg_emit *E, const pg_scatter_add_plan *p);
/* function.ptxc; nothing when there is no function. */
void pg_scatter_add_declare_function(pg_emit *E, const pg_scatter_add_plan *p);
void pg_scatter_add_apply_function(pg_emit *E, const pg_scatter_add_plan *p);
/* Shared pieces (main.ptxc). */
void pg_scatter_add_keep_bad(pg_emit *E, const char *index, const char *position);
void pg_scatter_add_check_index(pg_emit *E, const pg_scatter_add_plan *p, const char *index,
                                const char *position, const char *lane_has_row, const char *row_ok);
void pg_scatter_add_record(pg_emit *E, const pg_scatter_add_plan *p);

/* The plain C answer, and what an element of out may be off by: the rounding of as many additions as reached
 * it. */
ptxgen_status pg_scatter_add_oracle(const pg_problem *, ptxgen_error *);
void pg_scatter_add_tolerance(const pg_problem *, pg_tolerance *);

#endif
