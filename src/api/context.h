/* The library's insides as its public functions see them: the context, kernels, the table of kernels in
 * memory.
 *
 * fork(): the locks of the kernel table, the text memo, the refusals, the compile pool and the manifest record
 * guard data that may be half-changed while they are held, so fork() waits for them (context_fork.c); they are held for
 * moments, never while anything is built, loaded, logged or allocated. The locks for creating the device and
 * for loading may be held for seconds, by a thread that forks itself (the driver runs helper programs), but
 * what they guard changes by one atomic store: a child simply gets new ones. */
#ifndef PG_CONTEXT_H
#define PG_CONTEXT_H

#include "engine/compile_pool.h"
#include "engine/kernel_id.h"
#include "engine/manifest_record.h"
#include "engine/refusals.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "generate/family.h"
#include "assemble/assembler.h"
#include "cache/cache.h"
#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>

struct ptxgen_kernel {
    atomic_size_t refs;
    pg_alloc alloc;
    ptxgen *ctx; /* owns a reference: a kernel keeps its context's parts alive */
    pg_kernel_id id;
    uint64_t hash;
    ptxgen_kernel *next; /* in its bucket of the table */
    _Alignas(16) unsigned char plan[PG_PLAN_MAX_BYTES];

    pg_buf params, key_text; /* canonical parameters; cache key */
    pg_emit emitted;         /* text and line map; empty when the entry came from the disk */
    pg_assembly assembly;    /* cubin and log of an assembled kernel */
    pg_cache_entry disk;     /* everything of a kernel that came from the disk */
    char assembler[96];
    ptxgen_origin origin;
    double emit_us, assemble_us;

    _Atomic(pg_loaded *) loaded; /* on ctx's device */
    bool rejected; /* the driver refused what came from the disk; under its load lock */
};

/* ---- table of kernels in memory (kernel_table.c) ---- */

typedef struct pg_kernel_table pg_kernel_table;
typedef ptxgen_status (*pg_kernel_builder)(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                           ptxgen_error *err);

ptxgen_status pg_kernel_table_create(const pg_alloc *, pg_kernel_table **out, ptxgen_error *err);
/* Gives up the table's reference to every kernel. */
void pg_kernel_table_clear(pg_kernel_table *);
void pg_kernel_table_destroy(pg_kernel_table *);
/* The kernel of `id` with a reference for the caller. A missing one is built by exactly one of the threads
 * that ask for it, outside all locks; the others wait for its result, failure included. */
ptxgen_status pg_kernel_table_get(pg_kernel_table *, ptxgen *ctx, const pg_kernel_id *id,
                                  pg_kernel_builder build, ptxgen_kernel **out, ptxgen_error *err);
/* The kernel if it is there, with a reference; NULL otherwise. Never builds, never waits. */
ptxgen_kernel *pg_kernel_table_find(pg_kernel_table *, const pg_kernel_id *id);
typedef enum pg_presence { PG_KERNEL_ABSENT, PG_KERNEL_IN_FLIGHT, PG_KERNEL_PRESENT } pg_presence;
/* The same question without a reference; no hit is counted. */
pg_presence pg_kernel_table_peek(pg_kernel_table *, const pg_kernel_id *id);
/* Gives up the table's reference to exactly this kernel, if it has one. */
void pg_kernel_table_remove(pg_kernel_table *, ptxgen_kernel *k);
void pg_kernel_table_counts(pg_kernel_table *, uint64_t *hits, uint64_t *entries);
/* Around fork(): takes every lock; gives them back, in a child without the flights of its parent. */
void pg_kernel_table_before_fork(pg_kernel_table *);
void pg_kernel_table_after_fork(pg_kernel_table *, bool child);

/* ---- recently used texts (text_memo.c) ---- */

typedef struct pg_text_memo pg_text_memo;
ptxgen_status pg_text_memo_create(const pg_alloc *, pg_text_memo **out, ptxgen_error *err);
void pg_text_memo_clear(pg_text_memo *);
void pg_text_memo_destroy(pg_text_memo *);
/* `scope` is what else decides the kernel besides the text: the default architecture, 0 for none. The kernel
 * with a reference, or NULL. */
ptxgen_kernel *pg_text_memo_recall(pg_text_memo *, int64_t scope, const char *family,
                                   const char *params);
void pg_text_memo_remember(pg_text_memo *, int64_t scope, const char *family, const char *params,
                           ptxgen_kernel *k);
uint64_t pg_text_memo_hits(pg_text_memo *);
/* Around fork(): takes every lock; gives them back. */
void pg_text_memo_before_fork(pg_text_memo *);
void pg_text_memo_after_fork(pg_text_memo *);

/* ---- context ---- */

enum { PG_LOAD_LOCKS = 16 };

struct ptxgen {
    atomic_size_t refs; /* the user's, and one per live kernel */
    pg_alloc alloc;
    pg_log log;
    ptxgen_device_kind device_kind;
    pg_toolkit *toolkit;
    pg_cache *cache;
    pg_kernel_table *kernels;
    pg_text_memo *texts;
    pg_compile_pool *pool;
    pg_refusals *refusals;
    pg_manifest_record *asked;     /* for the manifest */
    char *record_path;             /* where ptxgen_destroy writes it; NULL: nowhere */
    pg_buf extra_key;              /* the lines that the caller's texts add to every key */
    atomic_uint_fast64_t misses;   /* assemblies */
    atomic_uint_fast64_t rejected; /* kernels from the disk that the driver refused */
    pthread_mutex_t device_lock;
    pthread_mutex_t load_locks[PG_LOAD_LOCKS]; /* a kernel's: pg_load_lock; one thread loads it */
    _Atomic(pg_device *) device;               /* created at first need */
    char cache_dir[4096];
    ptxgen *next; /* of all contexts, for fork */
};

static inline pthread_mutex_t *pg_load_lock(const ptxgen_kernel *k)
{
    return &k->ctx->load_locks[((uintptr_t)k >> 6) % PG_LOAD_LOCKS];
}

void pg_context_unref(ptxgen *ctx);

/* Between these two, fork() keeps the context's locks usable in the child (context_fork.c). All parts exist. */
void pg_context_watch_fork(ptxgen *ctx);
void pg_context_unwatch_fork(ptxgen *ctx);

/* The device that emulates: host memory, PTX interpreted (emulator_device.c). */
ptxgen_status pg_emulator_device_create(const pg_alloc *, const pg_log *, pg_device **out,
                                        ptxgen_error *err);
/* The context's device, created at first need. */
ptxgen_status pg_context_device(ptxgen *ctx, pg_device **out, ptxgen_error *err);

/* ---- keys (cache_key.c) ---- */

/* The lines of the caller's own texts, for pg_write_key. EINVAL when one is NULL. */
ptxgen_status pg_write_extra_key(const char *const *texts, size_t count, pg_buf *out,
                                 ptxgen_error *err);
/* Everything that decides the cubin, a line "name=value" each. */
ptxgen_status pg_write_key(const ptxgen *ctx, const pg_kernel_id *id, const char *assembler,
                           pg_buf *out, ptxgen_error *err);

/* ---- pipeline (pipeline.c) ---- */

/* A new kernel with its PTX; id->assembled must be false. */
ptxgen_status pg_kernel_emit(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                             ptxgen_error *err);
/* From the table, the disk or an assembler. */
ptxgen_status pg_kernel_get(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                            ptxgen_error *err);
/* The same for the background: a failure is not kept. */
ptxgen_status pg_kernel_get_ahead(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                  ptxgen_error *err);
/* From the table or an assembler: what the disk has is not good enough. */
ptxgen_status pg_kernel_get_fresh(ptxgen *ctx, const pg_kernel_id *id, ptxgen_kernel **out,
                                  ptxgen_error *err);
void pg_kernel_free(ptxgen_kernel *);
const char *pg_kernel_ptx(const ptxgen_kernel *, size_t *size);
const void *pg_kernel_cubin(const ptxgen_kernel *, size_t *size);

/* ---- loading (kernel_load.c) ---- */

/* Makes the kernel ready on the device; ECAPTURE when that is needed and `stream` is being captured. */
ptxgen_status pg_kernel_load(ptxgen_kernel *, pg_device *, ptxgen_stream stream, ptxgen_error *err);
/* The same for a kernel that the caller holds: when the driver refuses a cubin that came from the disk, it is
 * thrown out there, compiled again and tried once more, and *k becomes the new kernel. On failure the
 * caller's reference is given up and *k is NULL. */
ptxgen_status pg_kernel_load_or_drop(ptxgen_kernel **k, pg_device *, ptxgen_stream stream,
                                     ptxgen_error *err);
/* pg_kernel_get and pg_kernel_load_or_drop in one, for the kind of device: the emulator runs PTX, no cubin is
 * made for it. Refuses during capture before anything is built. */
ptxgen_status pg_kernel_make_ready(ptxgen *ctx, pg_device *, pg_kernel_id *id, ptxgen_stream stream,
                                   ptxgen_kernel **out, ptxgen_error *err);

/* ---- environment (environment.c): the only reader of it ---- */

typedef struct pg_environment {
    char cache_dir[4096]; /* "" when there is none */
    const char *cache, *assembler, *device, *toolkit, *log_level, *cuda_home,
        *path; /* NULL when unset */
} pg_environment;
void pg_environment_read(pg_environment *out);

#endif
