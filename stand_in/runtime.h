/* Shared by the files that answer the runtime's calls: exports, aliases of the per-thread-stream
 * variants. */
#ifndef PG_STAND_IN_RUNTIME_H
#define PG_STAND_IN_RUNTIME_H

#include "stand_in/graph.h"
#include "stand_in/launch.h"

typedef pg_cuda_error cudaError_t;

/* PG_API(cudaError_t) name(...): an exported function. */
#define PG_API(type) PG_EXPORT type
/* The variant for programs built with --default-stream per-thread: streams run in order anyway. */
#define PG_SAME(variant, name) PG_EXPORT __typeof__(name) variant __attribute__((alias(#name)))

/* An argument that must not be NULL. */
#define PG_NEED(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return pg_set_error(PG_CUDA_InvalidValue);                                             \
    } while (0)

/* The callers have NVIDIA's declarations, and settings that change nothing have unread
 * arguments. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* The driver's function of a name, as cuGetProcAddress finds it; NULL. driver_init.c */
void *pg_driver_function(const char *name);
/* What cudaFuncSetAttribute and cuFuncSetAttribute do; registers a thread may have.
 * runtime_launch.c */
pg_cuda_error pg_function_set_attribute(pg_function *function, int attribute, int value);
int pg_registers_of(const pg_function *function);

#endif
