/* Is this cubin what was asked for? Its architecture and the names of its kernels are compared with
 * the request, so that bytes under a wrong name never reach a driver. */
#ifndef PG_CUBIN_MATCH_H
#define PG_CUBIN_MATCH_H

#include "ptxgen/types.h"

typedef struct pg_cubin_wanted {
    ptxgen_arch arch;
    const char *entry; /* the .entry's name */
    /* NULL: one entry; else entries named entry_part, NULL after the last */
    const char *const *parts;
} pg_cubin_wanted;

/* false: why[size] says what it is instead, as a clause: "is no cubin", "is for sm_100". */
bool pg_cubin_match(const void *cubin, size_t n, const pg_cubin_wanted *, char *why, size_t size);

#endif
