/* The libc allocator and the two calls that the rest of the library uses on any allocator. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *libc_realloc(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

const pg_alloc pg_alloc_libc = {libc_realloc, NULL};

void *pg_alloc_zero(const pg_alloc *a, size_t size)
{
    void *p = a->realloc(a->user, NULL, 0, size ? size : 1);
    if (p)
        memset(p, 0, size);
    return p;
}

void pg_free(const pg_alloc *a, void *p, size_t size)
{
    if (p)
        a->realloc(a->user, p, size ? size : 1, 0);
}
