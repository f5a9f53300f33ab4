/* What checking mode keeps about an mbarrier, and what copies and the end of a cluster ask about
 * it. */
#ifndef PG_EMULATOR_CHECK_MBARRIER_H
#define PG_EMULATOR_CHECK_MBARRIER_H

#include "emulator/check/state.h"

/* A lane at an instruction. */
typedef struct pg_check_actor {
    pg_warp *warp;
    const pg_op *op;
    uint32_t lane;
} pg_check_actor;
pg_check_actor pg_actor_of(const pg_async *a);

typedef struct pg_mbarrier_check {
    struct {
        pg_knowledge current, done; /* arrivals of this phase; all completed phases */
    } of[2];                        /* of the own CTA's threads, of others' */
    uint32_t address;               /* shared::cluster */
    uint16_t agent;
    uint16_t init_thread;
    uint32_t init_clock;
    bool init_released; /* by fence.mbarrier_init */
    uint32_t published; /* the phase + 1 of barrier.cluster that shows the fenced initialisation */
    uint32_t in_flight; /* operations that will complete on it */
    uint64_t last_async_phase, last_waited; /* phases + 1 */
    pg_check_actor expect,
        last_async; /* the last to expect bytes, the last to complete; op NULL: none */
    /* per warp: phases completed when a lane of it last passed a wait, + 1, and the lanes that have
     * passed one since */
    struct {
        uint64_t phases;
        uint32_t lanes;
    } observed[PG_MAX_WARPS_IN_CTA];
} pg_mbarrier_check;

/* Reports a use of an mbarrier whose initialisation the lane has not seen. */
void pg_mbarrier_check_initialised(const pg_check_actor *by, const pg_mbarrier_check *k);
/* At the end of a cluster: reports what nobody waited for and counts that do not add up. */
void pg_mbarrier_check_end(const pg_cta *cta, const pg_mbarrier *b);
void pg_mbarrier_check_free(pg_checker *checker, pg_mbarrier *b);

#endif
