/* A region of memory that is freed whole. One arena per job (one emission, one parse, one launch
 * of the emulator): nothing inside it is ever freed alone. Not thread-safe. */
#ifndef PG_ARENA_H
#define PG_ARENA_H

#include "base/alloc.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pg_arena_block pg_arena_block;

typedef struct pg_arena {
    const pg_alloc *alloc; /* borrowed: outlives the arena */
    pg_arena_block *blocks;
    size_t total;  /* bytes taken from the allocator */
    size_t budget; /* most bytes it may take; 0: no limit */
    bool failed;   /* sticky: an allocation failed or the budget was passed */
} pg_arena;

void pg_arena_init(pg_arena *a, const pg_alloc *alloc);
void pg_arena_fini(pg_arena *a);
/* `size` zeroed bytes aligned to 16, or NULL (and a->failed). */
void *pg_arena_alloc(pg_arena *a, size_t size);
/* `count` zeroed elements; NULL on overflow as well. */
void *pg_arena_array(pg_arena *a, size_t count, size_t elem_size);
/* A copy of n bytes with a NUL after them. */
char *pg_arena_strndup(pg_arena *a, const char *s, size_t n);

#define PG_NEW(arena, type)          ((type *)pg_arena_alloc((arena), sizeof(type)))
#define PG_NEW_ARRAY(arena, type, n) ((type *)pg_arena_array((arena), (n), sizeof(type)))

#endif
