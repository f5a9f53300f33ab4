/* Public structs that begin with `size_t size`, set by the caller to sizeof its version of the
 * struct: an older caller's is shorter, a newer one's longer. */
#ifndef PG_SIZED_H
#define PG_SIZED_H

#include "base/error.h"

#include <stddef.h>

/* Copies as much of *from as both know over *to, of `bytes` bytes, which holds the defaults.
 * EINVAL when size was not set (from NULL: 0), said as "WHAT.size ... sizeof(TYPE)". */
ptxgen_status pg_sized_take(void *to, size_t bytes, const void *from, const char *what,
                            const char *type, ptxgen_error *err);
/* Copies as much of *from, of `bytes` bytes, as the caller's *to has room for, and sets its size
 * to that. */
void pg_sized_give(void *to, const void *from, size_t bytes);

#endif
