/* Collective instructions of a warp: who takes part, and what they compute. */
#ifndef PG_EMULATOR_WARP_SYNC_H
#define PG_EMULATOR_WARP_SYNC_H

#include "emulator/machine/launch.h"

/* Waits until every live lane of `members` has reached this instruction. True: *all holds the
 * lanes that now execute it together (groups that waited here have joined the running one).
 * False: return *step. */
bool pg_gather_lanes(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t members, uint32_t *all,
                     pg_step *step);
/* The same for .aligned instructions: every live lane of the warp. */
static inline bool pg_gather_warp(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t *all,
                                  pg_step *step)
{
    return pg_gather_lanes(w, op, lanes, PG_ALL_LANES, all, step);
}

/* The same, and lanes that have exited or that the guard leaves out are an error: tcgen05's
 * .sync.aligned instructions, which the whole warp has to execute. */
bool pg_gather_whole_warp(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t *all,
                          pg_step *step);

/* How collectives find their operands: a value, b and c as in the ISA, membermask in rows[0];
 * .sync when row_count is 1. */
typedef enum pg_shfl_mode { PG_SHFL_UP, PG_SHFL_DOWN, PG_SHFL_BFLY, PG_SHFL_IDX } pg_shfl_mode;
typedef enum pg_vote_mode { PG_VOTE_ALL, PG_VOTE_ANY, PG_VOTE_UNI, PG_VOTE_BALLOT } pg_vote_mode;
typedef enum pg_redux_mode {
    PG_REDUX_ADD,
    PG_REDUX_MIN_U,
    PG_REDUX_MIN_S,
    PG_REDUX_MAX_U,
    PG_REDUX_MAX_S,
    PG_REDUX_AND,
    PG_REDUX_OR,
    PG_REDUX_XOR
} pg_redux_mode;

pg_step pg_op_shfl(pg_warp *w, const pg_op *op, uint32_t lanes); /* d|p a b c; mode */
pg_step pg_op_vote(pg_warp *w, const pg_op *op, uint32_t lanes); /* p or d; q: source; mode */
pg_step pg_op_match_any_32(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_match_any_64(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_match_all_32(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_match_all_64(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_redux(pg_warp *w, const pg_op *op, uint32_t lanes); /* d a; mode */
/* d a; imm: bits. Without .NaN, NaN operands do not count, as in min and max. */
enum { PG_REDUX_FLOAT_MAX = 1, PG_REDUX_FLOAT_NAN = 2, PG_REDUX_FLOAT_ABS = 4 };
pg_step pg_op_redux_float(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_elect(pg_warp *w, const pg_op *op, uint32_t lanes); /* d|p */
pg_step pg_op_activemask(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_bar_warp_sync(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
