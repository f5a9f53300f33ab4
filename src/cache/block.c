/* Allocates with room to move the start up to the next 64-byte boundary. */
#include "cache/block.h"

#include <errno.h>

int pg_block_read(pg_block *block, const pg_alloc *alloc, const pg_files *files, int fd,
                  uint64_t offset, uint64_t n)
{
    *block = (pg_block){0};
    if (n > PG_ENTRY_FILE_MAX)
        return -EFBIG;
    size_t size = n + PG_ENTRY_ALIGN;
    unsigned char *raw = alloc->realloc(alloc->user, NULL, 0, size);
    if (!raw)
        return -ENOMEM;
    unsigned char *bytes =
        raw + (PG_ENTRY_ALIGN - (uintptr_t)raw % PG_ENTRY_ALIGN) % PG_ENTRY_ALIGN;
    *block = (pg_block){bytes, n, raw, size};
    int r = pg_file_read_exact(files, fd, bytes, n, offset);
    if (r < 0)
        pg_block_free(block, alloc);
    return r;
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
