/* The engine: what a kernel needs to be built, loaded and launched, and what therefore outlives its
 * context: allocator, log, assemblers, disk cache, device. Reference-counted: the context has one,
 * every kernel has one.
 *
 * fork(): the locks for creating the device and for loading may be held for seconds, by a thread
 * that forks itself (the driver runs helper programs), but what they guard changes by one atomic
 * store: a child simply gets new ones. The lock of the refusals is held for moments, and fork()
 * waits for it. */
#ifndef PG_ENGINE_H
#define PG_ENGINE_H

#include "assemble/assembler.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/fork_guard.h"
#include "base/log.h"
#include "cache/cache.h"
#include "device/device.h"
#include "engine/dump.h"
#include "engine/refusals.h"
#include "engine/tuning.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PG_LOAD_LOCKS = 16 };

typedef struct pg_engine {
    atomic_size_t refs;
    pg_alloc alloc;
    pg_log log;
    pg_toolkit *toolkit;
    pg_cache *cache;
    pg_refusals *refusals;
    pg_dump dump;
    pg_tuning tuning;
    _Atomic(struct pg_function *) functions; /* functions.h: what callers added, newest first */
    ptxgen_cache_assembler accept;           /* whose entries are taken */
    pg_buf extra_key;              /* the lines that the caller's texts add to every key */
    atomic_uint_fast64_t misses;   /* assemblies */
    atomic_uint_fast64_t rejected; /* kernels from the disk that the driver refused */
    ptxgen_device_kind device_kind;
    uint32_t emulated_sms;
    pthread_mutex_t device_lock;
    _Atomic(pg_device *) device;               /* created at first need */
    pthread_mutex_t load_locks[PG_LOAD_LOCKS]; /* a kernel's, by its address; one thread loads it */
    pg_fork_watcher watcher;
} pg_engine;

typedef struct pg_engine_config {
    pg_alloc alloc;
    pg_log log;
    ptxgen_device_kind device_kind;
    uint32_t emulated_sms; /* 0: the default */
    pg_toolkit_config toolkit;
    pg_cache_config cache;
    ptxgen_cache_assembler accept;
    uint32_t failure_s; /* how long a refusal is believed; 0: the default */
    const char *const *extra_key;
    size_t extra_key_count;
    const char *dump_dir;    /* NULL or "": nowhere */
    const char *tuning_file; /* likewise */
} pg_engine_config;

/* With one reference, for the caller. */
ptxgen_status pg_engine_create(const pg_engine_config *, pg_engine **out, ptxgen_error *err);
void pg_engine_unref(pg_engine *);
/* The device, created at first need. */
ptxgen_status pg_engine_device(pg_engine *, pg_device **out, ptxgen_error *err);

#endif
