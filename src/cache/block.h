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

/* n bytes of an open file, from `offset` on. */
typedef struct pg_file_part {
    int fd;
    uint64_t offset, n;
} pg_file_part;
/* Reads them; 0, or a negative errno (-ENODATA when the file is shorter). */
int pg_block_read(pg_block *block, const pg_alloc *alloc, const pg_files *files, pg_file_part part);
/* A copy of bytes that are elsewhere; 0 or -ENOMEM. */
int pg_block_copy(pg_block *block, const pg_alloc *alloc, const void *bytes, size_t n);
void pg_block_free(pg_block *block, const pg_alloc *alloc);
/* The entry, decoded from the block, takes it over: it is freed as entry->storage. */
void pg_block_give(pg_block *block, pg_cache_entry *entry);

#endif
