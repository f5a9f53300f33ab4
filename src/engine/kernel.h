/* The kernel object: what was asked for, the text and the cubin, where they came from, and what
 * the device made of them. Immutable once built, but for `loaded` and `rejected`. */
#ifndef PG_KERNEL_H
#define PG_KERNEL_H

#include "engine/call_memo.h"
#include "engine/engine.h"
#include "engine/kernel_id.h"
#include "generate/family.h"

struct ptxgen_kernel {
    atomic_size_t refs;
    pg_engine *engine; /* owns a reference */
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

    _Atomic(pg_loaded *) loaded; /* on the engine's device */
    _Atomic(ptxgen_kernel *)
        helper; /* of a family that has one: set before it is launched, for good */
    _Atomic(pg_call_memo *) calls; /* the last call of the kernel itself; NULL: none yet */
    atomic_bool rejected; /* the driver refused what came from the disk; set under its load lock */
};

/* An empty kernel of `id` with its plan and canonical parameters, and one reference. */
ptxgen_status pg_kernel_create(pg_engine *, const pg_kernel_id *id, ptxgen_kernel **out,
                               ptxgen_error *err);
const char *pg_kernel_ptx(const ptxgen_kernel *, size_t *size);
const void *pg_kernel_cubin(const ptxgen_kernel *, size_t *size);

/* The driver refused it: whoever holds it may try to load it again, nobody gets it any more. */
static inline bool pg_kernel_is_rejected(const ptxgen_kernel *k)
{
    return atomic_load_explicit(&k->rejected, memory_order_relaxed);
}

/* The helper's id; false when the family has none. */
bool pg_kernel_helper_id(const ptxgen_kernel *, pg_kernel_id *out);
/* Gives the kernel its helper, with a reference of its own; the first one stays. */
void pg_kernel_set_helper(ptxgen_kernel *, ptxgen_kernel *helper);

/* ---- loading (kernel_load.c) ---- */

/* Makes the kernel and its helper ready on the device; ECAPTURE when that is needed and `stream`
 * is being captured. When the driver refuses bytes that came from the disk, the kernel becomes
 * rejected and the disk's entry is thrown out. */
ptxgen_status pg_kernel_load(ptxgen_kernel *, pg_device *, ptxgen_stream stream, ptxgen_error *err);
/* The same of the kernel alone, for a thread that no stream waits for: captures go on beside it. */
ptxgen_status pg_kernel_load_behind(ptxgen_kernel *, pg_device *, ptxgen_error *err);
/* Whether a launch needs nothing more of the kernel and its helper. */
bool pg_kernel_is_ready(ptxgen_kernel *, pg_device *);
/* ECAPTURE when `stream` is being captured: nothing can be built or loaded then. */
ptxgen_status pg_refuse_capture(const pg_kernel_id *, pg_device *, ptxgen_stream stream,
                                ptxgen_error *err);

#endif
