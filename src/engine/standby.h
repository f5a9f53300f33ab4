/* Calls that do not stall (stall=never): a kernel made for the call where one is ready, else the
 * family's generic one at once, while a thread of the compile pool chooses, compiles and loads the
 * special one. */
#ifndef PG_STANDBY_H
#define PG_STANDBY_H

#include "base/stock.h"
#include "engine/choices.h"
#include "engine/compile_pool.h"

typedef struct pg_standby {
    pg_kernel_store *kernels; /* borrowed, as is the pool */
    pg_compile_pool *pool;
    pg_choices *choices;
    pg_stock tasks;                        /* memory for what is to be made */
    atomic_uint_fast64_t generic_calls;    /* launched by a generic kernel */
    atomic_uint_fast64_t other_bits_calls; /* of these: the special one may give other bits */
    atomic_uint_fast64_t made;             /* special kernels that became ready */
    atomic_uint_fast64_t made_us,
        slowest_us; /* from the call that asked until then; all, longest */
} pg_standby;

/* One call: checked, its key bound but not chosen, and its device in the problem. */
typedef struct pg_standby_call {
    pg_problem *problem;
    const pg_kernel_id *bound;
    pg_given given;
    pg_device *device;
    ptxgen_stream stream;
} pg_standby_call;

/* Zeroed before; pg_standby_fini also after a failure, when the pool has stopped. */
ptxgen_status pg_standby_init(pg_standby *, pg_kernel_store *, pg_compile_pool *,
                              ptxgen_error *err);
void pg_standby_fini(pg_standby *);
/* The generic kernel's id; false: there is none. */
bool pg_standby_generic(const pg_standby_call *, pg_kernel_id *out);
/* A loaded kernel, with a reference; *own: the call's, not the generic one. EPENDING: the family
 * has no generic kernel for this, and the special one is being made. The generic one itself is
 * read from the cache or, when it is in none, compiled here, at its first use. */
ptxgen_status pg_standby_get(pg_standby *, const pg_standby_call *, ptxgen_kernel **out, bool *own,
                             ptxgen_error *err);

#endif
