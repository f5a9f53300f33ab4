/* schedule=vector: what its parts share. A piece is what one thread loads, adds and reduces of a
 * row at a time: `access` bytes; with shift=yes two such units, an aligned block of out, which may
 * hold a unit of the row before or behind. */
#ifndef PG_SCATTER_VECTOR_H
#define PG_SCATTER_VECTOR_H

#include "scatter_add/scatter_add.h"

enum {
    PG_VECTOR_HOT_PLACE_BITS = 9, /* hot=yes: a CTA's hash table has 1 << so many places */
    PG_VECTOR_HOT_PIECES = 64,    /* of a row, at most: the grid is a multiple of them */
};

static inline int pg_vector_piece_bytes(int64_t access, bool shift)
{
    return (int)(shift ? 2 * access : access);
}

/* Registers of a piece. */
static inline int pg_vector_words(const pg_scatter_add_plan *p)
{
    return pg_vector_piece_bytes(p->access, p->shift) / 4;
}

/* shift=yes: one block more, where a row begins inside one. */
static inline int64_t pg_vector_row_pieces(int64_t access, bool shift, int64_t row_bytes)
{
    return shift ? row_bytes / (2 * access) + 1 : row_bytes / access;
}

/* hot=yes: how many rows a CTA keeps sums of, by the bytes of a piece, and its shared memory. */
static inline int pg_vector_hot_rows(int64_t piece_bytes)
{
    return (int)(128 / piece_bytes);
}

static inline int64_t pg_vector_hot_bytes(int64_t warps, int64_t piece_bytes)
{
    return (8 << PG_VECTOR_HOT_PLACE_BITS) +
           pg_vector_hot_rows(piece_bytes) * (4 + 32 * warps * piece_bytes) + 16;
}

/* hot=yes (vector_hot.ptxc), in the order of the kernel: at its begin; of each group, no two rows
 * go to one row of out, yet; row i and another (%same) do; pieces that go to hot rows are kept; at
 * the end what is kept is added to out; out of line, a row becomes hot. */
void pg_vector_begin_hot(pg_emit *E, const pg_scatter_add_plan *p);
void pg_vector_meet_none(pg_emit *E);
void pg_vector_meet_again(pg_emit *E, int i);
void pg_vector_keep_hot(pg_emit *E, const pg_scatter_add_plan *p);
void pg_vector_flush_hot(pg_emit *E, const pg_scatter_add_plan *p);
void pg_vector_give_slot(pg_emit *E, const pg_scatter_add_plan *p);

/* shift=yes (vector_units.ptxc): what all rows take; what those at %column have there; loads the
 * units that piece i may need; makes a block of them, when its row of out is known. */
void pg_vector_set_up_units(pg_emit *E, const pg_scatter_add_plan *p);
void pg_vector_judge_column(pg_emit *E, const pg_scatter_add_plan *p);
void pg_vector_load_units(pg_emit *E, const pg_scatter_add_plan *p, int i);
void pg_vector_form_block(pg_emit *E, const pg_scatter_add_plan *p, int i);
void pg_vector_judge_block(pg_emit *E, const pg_scatter_add_plan *p, int i);

/* vector_reduce.ptxc. The words of -0. Before sm_90 pairs of bf16 are multiplied and added, no
 * more. */
const char *pg_vector_minus_zero(const pg_scatter_add_plan *p);
bool pg_vector_lacks_bf16_add(const pg_scatter_add_plan *p);
/* Register `to` += `from` of a piece, under a guard. */
void pg_vector_add(pg_emit *E, const pg_scatter_add_plan *p, const char *guard, pg_name to,
                   pg_name from);
/* Adds piece %column of the group's row i to out; out of line, a block of which a unit is not the
 * call's. Labels end in `tag`. */
void pg_vector_reduce(pg_emit *E, const pg_scatter_add_plan *p, int i, const char *tag);
void pg_vector_reduce_edge(pg_emit *E, const pg_scatter_add_plan *p, int i, const char *tag);

#endif
