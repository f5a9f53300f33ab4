/* Which CUDA context a call runs in, and what we know about each.
 *
 * A call uses the calling thread's current context; when there is none, the primary context of
 * device 0, retained once and made current only for the length of the call, so that the caller's
 * state is as before. A context is known by its id (cuCtxGetId), not its address: a re-created one
 * may have the same address.
 *
 * pg_cuda_contexts may be used from any thread. Looking a known context up takes no lock. */
#ifndef PG_CUDA_CONTEXT_H
#define PG_CUDA_CONTEXT_H

#include "base/alloc.h"
#include "device/cuda/driver.h"

#include <pthread.h>
#include <stdatomic.h>

/* One context that a call has met. Lives as long as the pg_cuda_contexts, also when the context
 * does not. */
typedef struct pg_cuda_context {
    struct pg_cuda_context *next;
    pg_cu_context handle;
    unsigned long long id;
    ptxgen_device_info info;
    _Atomic(pg_cu_pool) pool;      /* of workspaces; NULL: not made yet */
    _Atomic(pg_cu_pointer) record; /* its bad-index record (device/record.h); 0: not made yet */
} pg_cuda_context;

typedef struct pg_cuda_contexts {
    const pg_alloc *alloc;   /* borrowed */
    const pg_driver *driver; /* borrowed */
    unsigned fork_generation;
    pthread_mutex_t lock; /* of additions to the list and of `primary` */
    _Atomic(pg_cuda_context *) first;
    _Atomic(pg_cu_context) primary; /* of device 0, once retained */
} pg_cuda_contexts;

/* A call's stay in a context. */
typedef struct pg_cuda_scope {
    pg_cuda_contexts *contexts;
    pg_cuda_context *context;
    ptxgen_stream stream; /* that the call is about; set by the caller after entering */
    bool pushed;
} pg_cuda_scope;

void pg_cuda_contexts_init(pg_cuda_contexts *c, const pg_alloc *alloc, const pg_driver *driver);
/* Releases the primary context and the memory that is known to be still alive. */
void pg_cuda_contexts_fini(pg_cuda_contexts *c);

/* The context that a call from this thread would use; nothing becomes current. */
ptxgen_status pg_cuda_find(pg_cuda_contexts *c, pg_cuda_context **out, ptxgen_error *err);
/* The same, made current if it is not. Pair every successful enter with a leave. */
ptxgen_status pg_cuda_enter(pg_cuda_contexts *c, pg_cuda_scope *out, ptxgen_error *err);
void pg_cuda_leave(pg_cuda_scope *scope);

/* Between these, calls that a capture on another stream would forbid (loading, allocating) are
 * allowed and do not break that capture. They must not touch a captured or the legacy stream. */
int pg_cuda_relax_capture(const pg_driver *driver);
void pg_cuda_restore_capture(const pg_driver *driver, int mode);

/* true when the stream is being captured. */
ptxgen_status pg_cuda_capturing(const pg_driver *, ptxgen_stream, bool *out, ptxgen_error *);

#endif
