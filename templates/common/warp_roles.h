/* The frame of a warp-specialized tcgen05 matrix multiplication: a persistent CTA of 256 threads
 * (or a pair of such CTAs) whose warps 0-3 are the epilogue, warp 4 multiplies and owns the
 * tensor-memory allocation, warp 5 loads; warp 6 asks for tiles, if they are given out; it and warp
 * 7 fill the warpgroup that setmaxnreg speaks to.
 *
 * The frame reads the parameters tiles_m_ and tiles_n_ and declares %elected, %is_role (.pred),
 * %thread, %warp, %shared (start of shared memory), %tmem (.b32), and for a pair %is_leader
 * (.pred; the even CTA), %pair_mask (.b16), %rank, %leader (%shared of the even CTA, .b32). A
 * cluster may be of several *parts*, a CTA or a pair each (cluster_parts.ptxc); then %part (.b32)
 * is which, %rank a CTA's rank in its part, and %cluster_mask (.b16) has a bit for each CTA that
 * loads or reads what this part does. %first_m and %first_n (.b32) are the first tile's place,
 * worked out while the CTAs of a cluster wait for each other.
 * The load and multiply roles run in one thread each, the multiply role in the leader only; a
 * role ends by falling out of its text. */
#ifndef PG_TEMPLATES_WARP_ROLES_H
#define PG_TEMPLATES_WARP_ROLES_H

#include "common/epilogue.h"
#include "common/groups.h"
#include "generate/emit.h"

enum { PG_ROLE_THREADS = 256, PG_EPILOGUE_THREADS = 128 };

/* `count` mbarriers from byte `offset` of shared memory on. */
typedef struct pg_barriers {
    int offset, count, arrivals;
} pg_barriers;

/* The parts of a cluster: tiles_m rows of tiles_n each, or `splits` of K of one tile. CTAs are
 * counted along a part, then along a row of parts. With tiles_m > 1 %part_m (.b32) is the row,
 * %part the place in it. */
typedef struct pg_cluster_parts {
    int cta_group, tiles_m, tiles_n, splits;
} pg_cluster_parts;
static inline int pg_parts(const pg_cluster_parts *c)
{
    return c->tiles_m * c->tiles_n * c->splits;
}
/* Parts that load for this one or that this one loads for, and itself. */
static inline int pg_parts_that_share(const pg_cluster_parts *c)
{
    return c->tiles_m + c->tiles_n - 1;
}
/* The registers above, from the rank in the cluster. */
void pg_find_part(pg_emit *E, const pg_cluster_parts *c);
/* What a row of parts reads of A, and what a column of them reads of B, each part loads a share
 * of, for all: %a_mask (.b16) are the CTAs that get it, %a_shift (.b32) its place in shared
 * memory, a box of `bytes` for each part; likewise %b_mask and %b_shift. */
void pg_share_a(pg_emit *E, const pg_cluster_parts *c, int bytes);
void pg_share_b(pg_emit *E, const pg_cluster_parts *c, int bytes);

/* How a kernel's tiles are shared out (tile_walk.ptxc); the parameter tiles says it: 0 is auto. */
enum { PG_TILES_STATIC = 1, PG_TILES_DYNAMIC = 2 };
#define PG_TILES_WORDS                                                                             \
    {                                                                                              \
        "auto", "static", "dynamic", NULL                                                          \
    }
#define PG_TILES_DOC                                                                               \
    "who works on which tile: static, each cluster on every so many; dynamic, on the next that "   \
    "the "                                                                                         \
    "GPU gives out (clusterlaunchcontrol), so that a cluster that starts late takes fewer"
enum { PG_WALK_ANSWERS = 4 };
typedef struct pg_tile_walk {
    bool dynamic;
    int cluster;
    int responses;   /* in shared memory: PG_WALK_ANSWERS of 16 bytes */
    int full, empty; /* a barrier of each; the empty ones of the first CTA are used */
} pg_tile_walk;
/* Shared memory of the ring, and what its barriers count: the asking thread, in each CTA the load
 * role's and the epilogue's warps, in each part the multiply role's. */
static inline int pg_walk_bytes(bool dynamic)
{
    return dynamic ? PG_WALK_ANSWERS * (16 + 2 * 8) + 8 : 0;
}
static inline int pg_walk_readers(const pg_tile_walk *w, int cta_group)
{
    return 1 + w->cluster * (1 + PG_EPILOGUE_THREADS / 32) + w->cluster / cta_group;
}
/* From byte `offset`, rounded up to 16, on. */
static inline void pg_walk_place(pg_tile_walk *w, int offset)
{
    w->responses = (offset + 15) / 16 * 16;
    w->full = w->responses + PG_WALK_ANSWERS * 16;
    w->empty = w->full + PG_WALK_ANSWERS * 8;
}
/* %tile and %tile_step; the ring's place. */
void pg_walk_declare(pg_emit *E, const pg_tile_walk *w);
/* Moves `tile` on; at the end it is no tile. Executed by one thread, or by all threads of warps. */
void pg_walk_next(pg_emit *E, const pg_tile_walk *w, const char *tile, bool by_warps);
/* The role of the thread that asks. */
void pg_walk_ask(pg_emit *E, const pg_tile_walk *w);

typedef struct pg_warp_roles {
    pg_cluster_parts parts;
    int group_m;  /* pg_tile_order */
    bool batched; /* pg_batch_tile_order; %first_batch is declared too */
    /* Instead of the first tile, %group_tiles: the tiles of all groups; a walk "all" is declared */
    const pg_groups *groups;
    pg_tile_walk walk; /* dynamic: warp 6 asks */
    int tmem_columns;
    int address_slot; /* 4 bytes of shared memory */
    const pg_barriers *barriers;
    int barrier_groups;
    const void *plan;
    void (*load)(pg_emit *E, const void *plan);
    void (*multiply)(pg_emit *E, const void *plan);
    void (*epilogue)(pg_emit *E, const void *plan);
} pg_warp_roles;

/* The directives after an entry's parameters; `cluster` CTAs. */
void pg_role_directives(pg_emit *E, int cluster);
/* The whole body of the entry, between its braces. */
void pg_role_body(pg_emit *E, const pg_warp_roles *r);

/* %tile and %tile_step: this CTA's (or cluster's) first tile, and how many work beside it. */
void pg_first_tile(pg_emit *E, int cluster);

/* The epilogue role of both families: each thread takes its row of the accumulator out of tensor
 * memory in chunks, arrives at acc_empty (the leader's) after the last one, and stores the row
 * to global memory. With adds_c it also fills accumulators with C, the first ones at the start and
 * then each as its result leaves; acc_empty then means that C is in it. Where K is split over the
 * parts of a cluster (`splits`), there is one tile, no C in the accumulator, and each part adds up
 * and stores PG_CHUNK_COLUMNS columns of it (epilogue_split.ptxc). Reads the parameters m_, n_,
 * tiles_m_, tiles_n_, tiles_; d_map_, or d_, d_stride_ (bytes), vector_bytes_; with adds_c also c_,
 * c_stride_ (bytes), c_vector_bytes_; with may_be_empty k_blocks_; those of the epilogue. */
enum { PG_CHUNK_COLUMNS = 64 };
typedef struct pg_output_tile {
    pg_cluster_parts parts;
    int block_m, block_n, group_m;
    pg_tile_walk walk;
    int split_offset; /* in shared memory, of pg_split_bytes() */
    int c_turn;       /* barrier, with splits: its first phase ends when C may be loaded */
    int accumulators; /* 1 or 2, block_n columns each, from column 0 on */
    bool overlap; /* the second begins in the middle of the first; acc_empty is one barrier then,
                   * and says that the half that the next tile takes too has been read */
    int acc_full, acc_empty; /* barriers, one per accumulator */
    const pg_epilogue *epilogue;
    bool adds_c;
    const pg_dtype *c_type; /* f32, f16 or bf16 */
    bool scales;            /* C by parameter c_scale_ before the sum, the sum by alpha_ after it */
    int d_ring;             /* in shared memory, of pg_d_ring_bytes(); 0: D leaves by rows */
    bool may_be_empty;      /* without stages of K nothing was summed: zeros */
    bool batched;           /* tiles of many matrices, c_batch_ and d_batch_ bytes apart */
    pg_groups groups;       /* of rows, if it has a type: then %group_tiles instead of tiles_ */
} pg_output_tile;
void pg_epilogue_role(pg_emit *E, const pg_output_tile *o);
/* CTAs of the cluster. */
static inline int pg_output_cluster(const pg_output_tile *o)
{
    return o->parts.cta_group * pg_parts(&o->parts);
}
/* D by sub-tiles (epilogue_sub_tiles.ptxc): bytes of a row of one, its columns as the tensor map
 * counts them (of 4-bit elements, bytes), shared memory of all warps' slots. Narrow ones leave
 * room for a stage more; a part of K stores one chunk, whose sub-tiles should all find a slot. */
enum { PG_SUB_TILE_SLOTS = 2 };
static inline int pg_sub_tile_row(const pg_epilogue *e, int splits)
{
    const int chunk = PG_CHUNK_COLUMNS / (e->gate ? 2 : 1) * pg_dtype_bits(e->out) / 8;
    const int most = splits > 1 ? 128 : 64;
    return chunk < most ? chunk : most;
}
static inline int pg_sub_tile_columns(const pg_epilogue *e, int splits)
{
    const int bits = pg_dtype_bits(e->out);
    return pg_sub_tile_row(e, splits) * 8 / (bits < 8 ? 8 : bits);
}
static inline int pg_d_ring_bytes(const pg_epilogue *e, int splits)
{
    return PG_SUB_TILE_SLOTS * PG_EPILOGUE_THREADS * pg_sub_tile_row(e, splits);
}
/* Shared memory for the other parts' sums. */
static inline int pg_split_bytes(int splits)
{
    return splits > 1 ? (splits - 1) * PG_EPILOGUE_THREADS * PG_CHUNK_COLUMNS * 4 : 0;
}

/* The role where K is split. */
void pg_epilogue_split(pg_emit *E, const pg_output_tile *o);

/* Their parts. Registers and parameters; where the row of a tile lies in D; %value0.. of a chunk
 * from column %source of tensor memory, and what happens to them then. */
void pg_epilogue_set_up(pg_emit *E, const pg_output_tile *o);
void pg_epilogue_locate(pg_emit *E, const pg_output_tile *o);
void pg_epilogue_load(pg_emit *E, const pg_output_tile *o);
void pg_epilogue_take(pg_emit *E, const pg_output_tile *o);
/* Block-scaled results (epilogue_blocks.ptxc): registers; where the scales of this thread's row
 * from D's column `column` on are; those of a chunk, whose values are divided by them. */
void pg_blocks_set_up(pg_emit *E, const pg_output_tile *o);
void pg_blocks_locate(pg_emit *E, const pg_output_tile *o, const char *column);
void pg_blocks_store(pg_emit *E, const pg_output_tile *o, int elements);
/* Sub-tiles: the registers; where D's column `column` of this tile is; %value0.. of `words`
 * registers; when all have been read. */
void pg_sub_tiles_set_up(pg_emit *E, const pg_output_tile *o);
void pg_sub_tiles_locate(pg_emit *E, const pg_output_tile *o, const char *column);
void pg_sub_tiles_store(pg_emit *E, const pg_output_tile *o, int words);
void pg_sub_tiles_end(pg_emit *E);
/* %tile_m and %tile_n of tile %tile, and %batch if there is one; of the CTA's first tile. */
void pg_output_order(pg_emit *E, const pg_output_tile *o);
void pg_output_first(pg_emit *E, const pg_output_tile *o);
/* The same of a tile of groups that C comes for early. */
void pg_output_ahead(pg_emit *E, const pg_output_tile *o);
/* Moves an address (a register) to the matrix of %batch, so many bytes on as `parameter` says. */
void pg_output_matrix(pg_emit *E, const pg_output_tile *o, const char *address,
                      const char *parameter);
/* %row and %column of this thread's row of tile %tile_m, %tile_n; whether it exists. */
void pg_output_row(pg_emit *E, const pg_output_tile *o, const char *row_ok);
/* Arrives at acc_empty of %accumulator, whose acc_full is %barrier. */
void pg_release_accumulator(pg_emit *E, const pg_output_tile *o);
/* C (accumulator_fill.ptxc): the registers; the first accumulators; which tile comes next into the
 * accumulator of this one; a chunk from memory to registers, from there to tensor memory; the
 * arrival. */
void pg_fill_declare(pg_emit *E);
void pg_fill_parameters(pg_emit *E);
void pg_fill_set_up(pg_emit *E, const pg_output_tile *o);
void pg_fill_locate(pg_emit *E, const pg_output_tile *o);
void pg_fill_load(pg_emit *E, const pg_output_tile *o);
void pg_fill_store(pg_emit *E, const char *address);
void pg_fill_release(pg_emit *E, const pg_output_tile *o);
/* Moves %tile on where tiles are given out: the next two are known by then. */
void pg_fill_next(pg_emit *E);

/* Moves %accumulator and %parity (named by `parity`) on to the next accumulator. */
void pg_next_accumulator(pg_emit *E, int accumulators, const char *parity);

#endif
