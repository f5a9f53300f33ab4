/* User functions of an engine: source, and PTX by architecture, from memory, the disk or NVRTC.
 * Entries are added, never changed or removed before the engine ends; lists are followed without
 * a lock, so a fork() catches nothing half-done. */
#ifndef PG_FUNCTIONS_H
#define PG_FUNCTIONS_H

#include "base/arena.h"
#include "engine/engine.h"
#include "ptxgen/function.h"

/* For what a function is compiled. */
typedef struct pg_function_use {
    ptxgen_arch arch;
    bool exact; /* what PTXGEN_DIVISION_AUTO means */
    /* of the seam: result, then parameters, of which trailing ones may be missing; NULL: any */
    const char *types;
    const char *signature; /* the same for messages */
} pg_function_use;

/* PTX of a function for one use. */
typedef struct pg_function_text {
    struct pg_function_text *next;
    pg_function_use use;
    pg_buf ptx, log;
    const char *name; /* of the function in it; in the function's arena or its own */
    char own_name[128];
    ptxgen_origin origin;
    double compile_us;
    _Atomic(const void *) merged_into; /* the family whose kernel took it last, and was checked */
} pg_function_text;

typedef struct pg_function {
    struct pg_function *next;
    int64_t id;
    pg_arena arena; /* of the copies in `source` */
    ptxgen_function source;
    const char *compiler; /* identity; "" for PTX */
    _Atomic(pg_function_text *) texts;
} pg_function;

ptxgen_status pg_functions_add(pg_engine *, const ptxgen_function *, int64_t *id, ptxgen_error *);
/* NULL: no function of this number was added. */
const pg_function *pg_functions_find(const pg_engine *, int64_t id);
/* EINVAL when there is no such function. */
ptxgen_status pg_functions_text(pg_engine *, int64_t id, const pg_function_use *,
                                const pg_function_text **out, ptxgen_error *);
void pg_functions_destroy(pg_engine *);

#endif
