/* A kernel's text with the user function that its key names. */
#ifndef PG_MERGE_FUNCTION_H
#define PG_MERGE_FUNCTION_H

#include "engine/engine.h"
#include "engine/kernel_id.h"
#include "generate/emit.h"

/* Nothing happens when the key names none. Else *emitted becomes the merged text; its line map
 * names lines of the template, and lines of the user's file where the function's code stands. */
ptxgen_status pg_merge_function(pg_engine *, const pg_kernel_id *id, pg_emit *emitted,
                                ptxgen_error *);

#endif
