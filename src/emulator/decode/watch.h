/* Registers that an instruction might read before anything has written them, and all that is
 * computed from them: found once, when a program is decoded for checking mode. Sources of
 * undefined values are paths without a write, shfl (a lane that does not take part), ld.local
 * (memory that nothing has written) and, for the carry flag, calls. The instructions that touch
 * such registers get a handler before their own, pg_op_watch, which tells the observer; all
 * others, and fast mode, pay nothing. Most programs have none or few. */
#ifndef PG_EMULATOR_WATCH_H
#define PG_EMULATOR_WATCH_H

#include "emulator/decode/decode.h"

/* What an instruction does to the values that it is given. */
typedef enum pg_watch_kind {
    PG_WATCH_DEFINE, /* the result counts as written */
    PG_WATCH_ALL,    /* the result is defined if all sources are */
    PG_WATCH_ANY,    /* bits of one source may replace the other's: if any is */
    PG_WATCH_SELECT, /* selp: if the predicate and the chosen source are */
    /* and, or of a predicate, or a comparison, with a predicate (the last source): if both are, or
     * one that decides alone */
    PG_WATCH_COMBINE,
    PG_WATCH_FORGET /* a call: the carry flag is undefined afterwards */
} pg_watch_kind;

typedef struct pg_watch {
    pg_handler run; /* of the instruction itself */
    pg_watch_kind kind;
    const uint32_t *sources; /* watched registers whose values flow into the result, by number */
    /* whose values have an effect now: addresses, branches, stores to global memory */
    const uint32_t *used;
    const uint32_t *results; /* operand order; PG_NOT_WATCHED where an element is none */
    uint32_t source_count, used_count, result_count;
} pg_watch;
#define PG_NOT_WATCHED UINT32_MAX
enum { PG_WATCH_CARRY = 0 }; /* the number of the carry flag */

/* PG_WATCH_COMBINE: the two values that are combined, by lane,
 * and the one (all bits or none) that decides the result whatever the other is. */
typedef struct pg_combined {
    uint32_t value[2], decides;
} pg_combined;
pg_combined pg_watch_combined(const pg_warp *w, const pg_op *op, const pg_watch *watch);

/* Fills program->watches, watched_names and the handlers of `ops`. Out of memory: the arena says
 * so. */
void pg_watches_find(pg_decoder *d, pg_op *ops, uint32_t op_count, pg_program *program);

pg_step pg_op_watch(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
