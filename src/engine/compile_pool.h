/* Kernels compiled in the background: ptxgen_prefetch and ptxgen_poll.
 *
 * A bounded queue and a few threads, started when there is work. A worker does what a foreground
 * request does (pg_kernel_store_get), so the kernel table sees to it that one kernel is compiled
 * once, whoever asks. A failure is remembered for ptxgen_poll only: a foreground request never
 * takes it for an answer and compiles itself. Threads do not survive fork(): a child begins with
 * an empty pool and starts its own threads. */
#ifndef PG_COMPILE_POOL_H
#define PG_COMPILE_POOL_H

#include "engine/fleet.h"
#include "engine/kernel_store.h"
#include "base/alloc.h"

typedef struct pg_compile_pool pg_compile_pool;

enum { PG_POOL_THREADS_MAX = 64 };

typedef struct pg_compile_pool_config {
    uint32_t threads; /* 0: the number of CPUs, at most 4 */
    uint32_t queue;   /* kernels that may wait; 0: 1024 */
} pg_compile_pool_config;

/* Work of another kind for the pool's threads, in the order of arrival and before kernels that
 * wait. */
typedef struct pg_pool_task {
    struct pg_pool_task *next;
    /* On a thread of the pool: true: done, and the task is given up. false: another machine is at
     * it (`fleet` says for how long); it is run again behind what else waits. */
    bool (*run)(struct pg_pool_task *);
    void (*drop)(struct pg_pool_task *); /* when the pool ends, instead of a run */
    pg_fleet fleet;
} pg_pool_task;

/* `kernels` is borrowed and outlives the pool. EINVAL: too many threads. */
ptxgen_status pg_compile_pool_create(pg_kernel_store *kernels, const pg_compile_pool_config *,
                                     pg_compile_pool **out, ptxgen_error *err);
/* Nothing new is begun, what is being compiled is waited for, all threads end. */
void pg_compile_pool_stop(pg_compile_pool *);
/* A stopped one, or one that never got a job. NULL is allowed. */
void pg_compile_pool_destroy(pg_compile_pool *);
/* Returns at once. OK: it waits, is being compiled, or is there. EBUDGET: the queue is full. */
ptxgen_status pg_compile_pool_submit(pg_compile_pool *, const pg_kernel_id *id, ptxgen_error *err);
/* Takes the task over, unless it fails: EBUDGET, ENOMEM as above. */
ptxgen_status pg_compile_pool_add(pg_compile_pool *, pg_pool_task *, ptxgen_error *err);
/* EPENDING, the failure of the last attempt in the background, or OK when the pool knows nothing
 * of it. */
ptxgen_status pg_compile_pool_poll(pg_compile_pool *, const pg_kernel_id *id, ptxgen_error *err);
/* Forgets the failures. */
void pg_compile_pool_forget(pg_compile_pool *);
/* Kernels that wait or are being compiled. */
uint64_t pg_compile_pool_pending(pg_compile_pool *);

/* Around fork(): takes the lock; gives it back, in a child with nothing in the pool. */
void pg_compile_pool_before_fork(pg_compile_pool *);
void pg_compile_pool_after_fork(pg_compile_pool *, bool child);

#endif
