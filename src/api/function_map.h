/* User functions for plain C answers: pg_problem.map with a context at hand. */
#ifndef PG_FUNCTION_MAP_H
#define PG_FUNCTION_MAP_H

#include "api/context.h"
#include "generate/family.h"

/* Whose function it is: pg_problem.map_user of pg_map_function. */
typedef struct pg_function_caller {
    ptxgen *ctx;
    const pg_family *family;
    const int64_t *key;
} pg_function_caller;

/* On the emulator, in a kernel that shares nothing with the family's. */
ptxgen_status pg_map_function(void *user, const pg_mapping *m, ptxgen_error *err);

#endif
