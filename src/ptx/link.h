/* Several texts of PTX as one, as nvlink joins what nvcc -rdc=true compiled. */
#ifndef PG_PTX_LINK_H
#define PG_PTX_LINK_H

#include "ptx/ptx.h"

typedef struct pg_link_text {
    const char *text, *name; /* name: for messages */
    size_t length;           /* without a NUL */
} pg_link_text;

/* Appends the joined text to `out`. A line of it is a line of the texts, one behind the other; all
 * have the largest .version and .target. Of weak definitions of one name the first stays, unless
 * a function has a strong one; names that only their own text sees become unique. EPARSE: a text
 * is no PTX, or two of them define one name. What none defines stays .extern. */
ptxgen_status pg_ptx_link(const pg_alloc *alloc, const pg_link_text *texts, size_t count,
                          pg_buf *out, ptxgen_error *err);

#endif
