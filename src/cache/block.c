/* Allocates with room to move the start up to the next 64-byte boundary. */
#include "cache/block.h"

#include <errno.h>

#include <string.h>

/* Where to put n bytes; NULL without memory. */
static unsigned char *allocate(pg_block *block, const pg_alloc *alloc, size_t n)
{
    const size_t size = n + PG_ENTRY_ALIGN;
    unsigned char *raw = alloc->realloc(alloc->user, NULL, 0, size);
    *block = (pg_block){0};
    if (!raw)
        return NULL;
    unsigned char *bytes =
        raw + (PG_ENTRY_ALIGN - (uintptr_t)raw % PG_ENTRY_ALIGN) % PG_ENTRY_ALIGN;
    *block = (pg_block){bytes, n, raw, size};
    return bytes;
}

int pg_block_read(pg_block *block, const pg_alloc *alloc, const pg_files *files, pg_file_part part)
{
    *block = (pg_block){0};
    if (part.n > PG_ENTRY_FILE_MAX)
        return -EFBIG;
    unsigned char *bytes = allocate(block, alloc, part.n);
    if (!bytes)
        return -ENOMEM;
    int r = pg_file_read_exact(files, part.fd, bytes, part.n, part.offset);
    if (r < 0)
        pg_block_free(block, alloc);
    return r;
}

int pg_block_copy(pg_block *block, const pg_alloc *alloc, const void *bytes, size_t n)
{
    unsigned char *to = allocate(block, alloc, n);
    if (!to)
        return -ENOMEM;
    if (n)
        memcpy(to, bytes, n);
    return 0;
}

void pg_block_free(pg_block *block, const pg_alloc *alloc)
{
    pg_free(alloc, block->storage, block->storage_size);
    *block = (pg_block){0};
}

void pg_block_give(pg_block *block, pg_cache_entry *entry)
{
    entry->storage = block->storage;
    entry->storage_size = block->storage_size;
    *block = (pg_block){0};
}
