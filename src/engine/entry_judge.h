/* Which entry of the cache is an answer to a request: its cubin is what was asked for, and its
 * assembler is one that is taken. */
#ifndef PG_ENTRY_JUDGE_H
#define PG_ENTRY_JUDGE_H

#include "engine/kernel.h"

typedef struct pg_entry_judge {
    const ptxgen_kernel *kernel; /* with its plan */
    char why[320];
} pg_entry_judge;

/* `judge` outlives the result. */
pg_cache_judge pg_entry_judge_of(pg_entry_judge *judge);

#endif
