/* Checking mode for tensor memory and tcgen05: the model, and what its files share.
 *
 * Every thread that issues mma, cp or shift has an agent whose clock is the number of the
 * operation; every warp has one for its tcgen05.ld's and one for its tcgen05.st's. An agent below
 * is a pair: the first component is what is known to be complete and ordered, the second something
 * weaker.
 *                     first                                   second
 *     mma, cp, shift  a commit that covers it was waited for  issued, then a before fence
 *     ld, st          wait::ld / ::st, then a before fence    wait::ld / ::st alone
 * A lane's `ordered` vector (pg_knowledge) travels with every synchronisation, relaxed ones too:
 * tcgen05 fences compose with any execution ordering. What the lane's own tcgen05 operations rely
 * on is a vector apart, `relied`, which tcgen05.fence::after_thread_sync raises to `ordered`, and
 * which fence::before_thread_sync (and a commit, which implies it) adds to `ordered`. wait::ld and
 * wait::st raise `relied` of the warp's own lanes.
 *
 * An access may follow an earlier one to the same words if `relied` holds its first component, or
 * if the two are of a kind that the ISA keeps in order (pg_tensor_keeps_order) and of one thread,
 * or `relied` holds the second.
 *
 * The shadow of tensor memory has an entry per column and 16 lanes, which is the finest that
 * instructions address (lane masks and .4x256b apart: an entry's record says which lanes).
 * Source: PTX ISA 9.0, section 9.7.16.6. */
#ifndef PG_EMULATOR_CHECK_TENSOR_H
#define PG_EMULATOR_CHECK_TENSOR_H

#include "emulator/check/state.h"
#include "emulator/tensor/tensor_memory.h"

enum {
    PG_TENSOR_BAND = 16, /* lanes that share an entry */
    PG_TENSOR_BANDS = PG_TENSOR_LANES / PG_TENSOR_BAND,
    PG_TENSOR_READS = 2
};

typedef enum pg_tensor_action {
    PG_TENSOR_MMA,
    PG_TENSOR_CP,
    PG_TENSOR_CP_4X256B,
    PG_TENSOR_SHIFT,
    PG_TENSOR_LD,
    PG_TENSOR_ST,
    PG_TENSOR_ACTIONS
} pg_tensor_action;
static inline bool pg_tensor_is_move(pg_tensor_action a)
{
    return a == PG_TENSOR_LD || a == PG_TENSOR_ST;
}
/* Whether the ISA promises that the second, issued after the first, is carried out after it. Two
 * mma's must also have the same accumulator, shape and kind. */
bool pg_tensor_keeps_order(pg_tensor_action first, pg_tensor_action second);

typedef struct pg_tensor_record {
    uint32_t op;       /* index */
    uint32_t clock;    /* of its agent */
    uint32_t time;     /* clock of the issuing thread */
    uint32_t sequence; /* of an mma: equal ones have the same accumulator, shape and kind */
    uint16_t agent, thread;
    uint16_t lanes; /* of the band; 0: empty */
    uint8_t action;
} pg_tensor_record;

typedef struct pg_tensor_entry {
    pg_tensor_record write, reads[PG_TENSOR_READS];
    uint16_t written; /* lanes that something has written since the allocation */
} pg_tensor_entry;

typedef struct pg_tensor_shadow {
    pg_tensor_entry entry[PG_TENSOR_BANDS][PG_TENSOR_COLUMNS];
} pg_tensor_shadow;

/* What is kept about a warp. */
typedef struct pg_tensor_warp {
    pg_vector *relied[PG_LANES];
    uint32_t issued[PG_LANES];     /* mma's, cp's and shifts */
    uint16_t agent[PG_LANES];      /* of those; 0: none yet */
    uint32_t moves[2];             /* ld's, st's */
    uint16_t move_agent[2];        /* 0: none yet */
    const pg_op *before[PG_LANES]; /* the latest fences */
    const pg_op *after[PG_LANES];
} pg_tensor_warp;

/* NULL: out of memory, the access goes unchecked. */
pg_tensor_warp *pg_tensor_warp_of(pg_warp *w);
pg_tensor_shadow *pg_tensor_shadow_of(pg_cta *cta);

/* One instruction that touches tensor memory. */
typedef struct pg_tensor_actor {
    pg_warp *warp;
    const pg_op *op;
    uint32_t lanes; /* that issue it: one, or all of a warp for ld and st */
    pg_tensor_action action;
    uint16_t agent;
    uint32_t clock, sequence;
} pg_tensor_actor;
/* Judges an access to one operand and remembers it. */
void pg_tensor_touch(const pg_tensor_actor *a, pg_cta *cta, const pg_tensor_area *area);
/* As pg_check_tensor_use, with the record's `sequence`. */
void pg_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area, uint32_t sequence);

#endif
