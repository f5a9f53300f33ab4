/* The last calls of a context or of a kernel, each with what the checks found and the kernel that
 * served it, so that a call which differs from one of them in addresses alone is not checked,
 * bound, resolved and looked up again. What addresses decide is judged anew: their low bits must be
 * those of the kept call, and overlap is the caller's to check.
 *
 * Any thread. A place that another thread is at counts as a miss: nobody waits. */
#ifndef PG_CALL_MEMO_H
#define PG_CALL_MEMO_H

#include "engine/kernel_id.h"
#include "generate/operands/problem.h"

typedef struct pg_call_memo pg_call_memo;
/* What a memo begins with: a kernel's, which holds no reference, is given back as memory. */
typedef struct pg_call_memo_head {
    pg_alloc alloc;
    size_t bytes;
} pg_call_memo_head;

static inline void pg_call_memo_free(pg_call_memo *m)
{
    const pg_call_memo_head head = *(const pg_call_memo_head *)m;
    pg_free(&head.alloc, m, head.bytes);
}

/* A call as its caller gave it: what it is known by. */
typedef struct pg_call_name {
    uint64_t hash;
    const pg_family *family;
    const pg_operand_table *table;
    const ptxgen_device_info *device;
    pg_given given;
    int64_t key[PG_KEY_MAX_BYTES / sizeof(int64_t)];
    size_t count;
    uint8_t operand[PG_MAX_OPERANDS]; /* those that are present */
    pg_view view[PG_MAX_OPERANDS];    /* of each of them; a scalar's data is its value */
} pg_call_name;

/* A context's. */
ptxgen_status pg_call_memo_create(const pg_alloc *, pg_call_memo **out, ptxgen_error *err);
/* A kernel's own, of one call; pg_call_memo_free. NULL: no memory. */
pg_call_memo *pg_call_memo_create_for(const pg_alloc *, ptxgen_kernel *);
/* Gives up the kernels. */
void pg_call_memo_clear(pg_call_memo *);
void pg_call_memo_destroy(pg_call_memo *);

/* A problem that is not checked yet, of which p->device is known, with the parameters that the
 * caller gave. When a kept call has its name, the problem becomes what the checks made of that one,
 * and the kernel, which is loaded in the current context, is returned with a reference. */
ptxgen_kernel *pg_call_memo_recall(pg_call_memo *, pg_problem *p, const int64_t *key,
                                   pg_given given);
/* false: a call that is not kept, since more than its operands decides. */
bool pg_call_name_of(const pg_problem *p, const int64_t *key, pg_given given, pg_call_name *out);
/* After the call of this name passed every check and its kernel is loaded. */
void pg_call_memo_keep(pg_call_memo *, const pg_call_name *, const pg_problem *checked,
                       ptxgen_kernel *);
uint64_t pg_call_memo_hits(pg_call_memo *);
/* Around fork(): takes every lock; gives them back. */
void pg_call_memo_before_fork(pg_call_memo *);
void pg_call_memo_after_fork(pg_call_memo *);

#endif
