/* The allocator hook. Every heap byte of the library goes through one of these, so that a host
 * program can account for it and a test can make the n-th allocation fail. */
#ifndef PG_ALLOC_H
#define PG_ALLOC_H

#include <stddef.h>

/* realloc(user, NULL, 0, n) allocates, realloc(user, p, n, 0) frees and returns NULL. */
typedef struct pg_alloc {
    void *(*realloc)(void *user, void *p, size_t old_size, size_t new_size);
    void *user;
} pg_alloc;

/* libc's realloc and free. */
extern const pg_alloc pg_alloc_libc;

/* `size` zeroed bytes, or NULL. */
void *pg_alloc_zero(const pg_alloc *a, size_t size);
/* p may be NULL. `size` is what it was allocated with. */
void pg_free(const pg_alloc *a, void *p, size_t size);

#endif
