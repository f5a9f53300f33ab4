/* Bump allocation in blocks that double up to 1 MiB; a large request gets a block of its own. */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

struct pg_arena_block {
    pg_arena_block *next;
    size_t size; /* of the whole block, header included */
    size_t used;
    size_t pad; /* keeps the data 16-byte aligned */
};

enum { FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20, ALIGNMENT = 16 };

void pg_arena_init(pg_arena *a, const pg_alloc *alloc)
{
    memset(a, 0, sizeof *a);
    a->alloc = alloc;
}

void pg_arena_fini(pg_arena *a)
{
    for (pg_arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        pg_free(a->alloc, b, b->size);
    }
    pg_arena_init(a, a->alloc);
}

static pg_arena_block *add_block(pg_arena *a, size_t payload)
{
    size_t size = a->blocks ? a->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_BLOCK)
        size = LARGEST_BLOCK;
    if (payload > SIZE_MAX - sizeof(pg_arena_block))
        return NULL;
    if (size < payload + sizeof(pg_arena_block))
        size = payload + sizeof(pg_arena_block);
    if (a->budget && (size > a->budget || a->total > a->budget - size))
        return NULL;
    pg_arena_block *b = a->alloc->realloc(a->alloc->user, NULL, 0, size);
    if (!b)
        return NULL;
    *b = (pg_arena_block){.next = a->blocks, .size = size, .used = sizeof(pg_arena_block)};
    a->blocks = b;
    a->total += size;
    return b;
}

void *pg_arena_alloc(pg_arena *a, size_t size)
{
    if (a->failed || size > SIZE_MAX - ALIGNMENT) {
        a->failed = true;
        return NULL;
    }
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    pg_arena_block *b = a->blocks;
    if (!b || b->size - b->used < rounded)
        b = add_block(a, rounded);
    if (!b) {
        a->failed = true;
        return NULL;
    }
    void *p = (char *)b + b->used;
    b->used += rounded;
    memset(p, 0, rounded);
    return p;
}

void *pg_arena_array(pg_arena *a, size_t count, size_t elem_size)
{
    if (elem_size && count > SIZE_MAX / elem_size) {
        a->failed = true;
        return NULL;
    }
    return pg_arena_alloc(a, count * elem_size);
}

char *pg_arena_strndup(pg_arena *a, const char *s, size_t n)
{
    char *p = n < SIZE_MAX ? pg_arena_alloc(a, n + 1) : NULL;
    if (p)
        memcpy(p, s, n);
    return p;
}
