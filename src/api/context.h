/* The context: the engine that its kernels share, the kernels in memory, and the threads that
 * compile ahead. What a public function does with it, it does through the engine's headers.
 *
 * fork(): the locks of the store and of the compile pool are held for moments, and fork() waits
 * for them. */
#ifndef PG_CONTEXT_H
#define PG_CONTEXT_H

#include "engine/compile_pool.h"
#include "engine/engine.h"
#include "engine/kernel_store.h"

struct ptxgen {
    pg_engine *engine;
    pg_kernel_store kernels;
    pg_compile_pool *pool;
    char *record_path; /* where ptxgen_destroy writes the manifest; NULL: nowhere */
    char cache_dir[4096];
    pg_fork_watcher watcher;
};

/* ---- environment (environment.c): the only reader of it ---- */

typedef struct pg_environment {
    char cache_dir[4096]; /* "" when there is none */
    const char *cache, *assembler, *device, *toolkit, *log_level, *cuda_home,
        *path; /* NULL when unset */
} pg_environment;
void pg_environment_read(pg_environment *out);

#endif
