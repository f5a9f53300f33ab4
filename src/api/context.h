/* The context: the engine that its kernels share, the kernels in memory, and the threads that
 * compile ahead. What a public function does with it, it does through the engine's headers.
 *
 * fork(): the locks of the store and of the compile pool are held for moments, and fork() waits
 * for them. */
#ifndef PG_CONTEXT_H
#define PG_CONTEXT_H

#include "api/settings.h"
#include "engine/compile_pool.h"
#include "engine/engine.h"
#include "engine/kernel_store.h"
#include "engine/standby.h"

struct ptxgen {
    pg_alloc alloc;
    pg_settings settings;
    pg_engine *engine;
    pg_kernel_store kernels;
    pg_compile_pool *pool;
    pg_standby standby;
    ptxgen_stall stall;                    /* of calls that do not say it */
    atomic_uint_fast64_t compiles_in_call; /* assemblies that a call waited for */
    char *record_path; /* where ptxgen_destroy writes the manifest; NULL: nowhere */
    char cache_dir[PG_PATH_MAX + 1];
    pg_fork_watcher watcher;
};

#endif
