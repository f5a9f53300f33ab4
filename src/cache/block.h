/* The bytes of one entry in memory, at the alignment that keeps its cubin aligned. */
#ifndef PG_CACHE_BLOCK_H
#define PG_CACHE_BLOCK_H

#include "base/alloc.h"
#include "base/file.h"
#include "cache/entry.h"

typedef struct pg_block {
    const unsigned char *bytes;
    size_t size;
    void *storage; /* what was allocated */
    size_t storage_size;
} pg_block;

/* Reads n bytes at `offset`; 0, or a negative errno (-ENODATA when the file is shorter). */
int pg_block_read(pg_block *block, const pg_alloc *alloc, const pg_files *files, int fd,
                  uint64_t offset, uint64_t n);
/* A copy of bytes that are elsewhere; 0 or -ENOMEM. */
int pg_block_copy(pg_block *block, const pg_alloc *alloc, const void *bytes, size_t n);
void pg_block_free(pg_block *block, const pg_alloc *alloc);
/* The entry, decoded from the block, takes it over: it is freed as entry->storage. */
void pg_block_give(pg_block *block, pg_cache_entry *entry);

#endif
