/* The allocator of allocation-failure sweeps. */
#include "test.h"

static void *failing_realloc(void *user, void *p, size_t old_size, size_t new_size)
{
    failing_alloc *f = user;
    if (new_size) {
        f->calls++;
        if (f->fail_at && (f->calls == f->fail_at || (f->forever && f->calls > f->fail_at)))
            return NULL;
    }
    void *q = pg_alloc_libc.realloc(NULL, p, old_size, new_size);
    if (q || !new_size)
        f->live += new_size - old_size;
    return q;
}

pg_alloc failing_alloc_hook(failing_alloc *f)
{
    return (pg_alloc){failing_realloc, f};
}
