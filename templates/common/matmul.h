/* PTX that the matrix multiplication families share: the order of tiles, rings of stages,
 * tensor-map loads, and the store of a row of results. Each function names the registers it
 * reads and writes; the caller declares them. */
#ifndef PG_TEMPLATES_MATMUL_H
#define PG_TEMPLATES_MATMUL_H

#include "common/epilogue.h"
#include "device/launch.h"
#include "generate/emit.h"

/* Persistent CTAs take tiles in groups of `group` rows of tiles, column by column, so that the
 * tiles at work share rows of A and columns of B in L2. Reads %tile, %tiles_m, %tiles_n; sets
 * %tile_m, %tile_n (all .b32). */
void pg_tile_order(pg_emit *E, int group);

/* Moves a ring of `stages` to its next stage: %stage, %parity (.b32). Producers start at parity
 * 1, consumers at 0: a fresh barrier passes parity 1. */
void pg_ring_advance(pg_emit *E, int stages);

/* The same of a batch of matrices, whose tiles follow each other: %batch (.b32), and the tile of
 * that matrix. */
void pg_batch_tile_order(pg_emit *E, int group);
/* The stages of K of this part of a cluster: from `end` (all of them) to `first` and `end`, the one
 * behind the last; none where first is not below end. Reads %part. */
void pg_split_range(pg_emit *E, int splits, const char *first, const char *end);

/* cp.async.bulk.tensor of a 2-D box by the executing thread. All operands are texts: registers,
 * or address expressions without brackets; z is which matrix of a map with batches, or NULL.
 * With cta_group 2 the barrier may be the other CTA's.
 * With a mask (a .b16 register) the box goes to the same offset of every CTA in it, and
 * completes on the barrier at the same offset there; NULL otherwise. `policy` is a register with
 * an L2 cache policy, or NULL. */
typedef struct pg_box_load {
    const char *map, *x, *y;
    const char *destination, *barrier;
    int cta_group;
    const char *multicast_mask, *policy;
    const char *z;
} pg_box_load;
void pg_load_box(pg_emit *E, const pg_box_load *l);

/* Stores %value0.. (`words` registers of 32 bits, each one element or two packed 16-bit ones) to
 * adjacent elements from %address on: whole vectors where the columns exist and %vector_bytes
 * (32, 16 or less: what the alignment of the destination allows) permits, else one element at a
 * time up to column %left. Reads %row_ok (.pred), %left (.b32, signed), %vector_bytes (.b32),
 * %address (.b64). PTX ISA 8.8, sm_100. */
void pg_store_row(pg_emit *E, int words, int elements_per_word);
/* The counterpart for `words` 32-bit elements of C: %next0.. from %c_address on. Reads
 * %fill_row_ok, %fill_left, %fill_vector_bytes; registers of elements that do not exist stay as
 * they are. */
void pg_load_row(pg_emit *E, int words);

/* ---- host side ---- */

/* A row-major matrix as a tensor map: `columns` (adjacent elements) x `rows`, rows `stride`
 * bytes apart; a stride that no row uses is rounded up to what a map wants. L2 fetches 256 bytes
 * at a time where rows begin at multiples of that, else 128 (wider fetches cost 10 to 15% on an
 * H200 when rows straddle them). */
typedef struct pg_matrix_map {
    pg_tensor_type type;
    const void *address;
    int64_t columns, rows, stride;
    int box_columns, box_rows;
    pg_swizzle swizzle;
    int64_t batches, batch_stride; /* matrices, bytes; batches 0: a map of two dimensions */
} pg_matrix_map;
pg_tensor_spec pg_matrix_spec(const pg_matrix_map *m);
void pg_set_matrix(pg_launch *l, int place, const pg_matrix_map *m);

/* The map by which D leaves in sub-tiles (warp_roles.h); `map` says where D is. */
void pg_set_sub_tiles(pg_launch *l, int place, const pg_epilogue *e, int splits, pg_matrix_map map);

/* The widest of 32, 16 and 4 bytes that rows from `base` on, `stride` bytes apart, can be stored
 * in. */
int pg_vector_bytes(const void *base, int64_t stride);

#endif
