/* The bytes of one cache entry: encode, and decode without trusting any of them. Pure functions;
 * the format is described in docs/cache.md. */
#ifndef PG_CACHE_ENTRY_H
#define PG_CACHE_ENTRY_H

#include "base/buf.h"
#include "base/str.h"
#include "cache/cache.h"

enum {
    PG_ENTRY_HEADER_SIZE = 128,
    PG_ENTRY_ALIGN =
        64, /* of the cubin within the file; a file in memory starts at this alignment */
    PG_ENTRY_KEY_MAX = 1 << 20,
    PG_ENTRY_FILE_MAX = 256 << 20
};

typedef enum pg_entry_fault {
    PG_ENTRY_OK,
    PG_ENTRY_SHORT,   /* not even a header, or not as long as the header says */
    PG_ENTRY_FOREIGN, /* not an entry of this format */
    PG_ENTRY_CHECKSUM,
    PG_ENTRY_CONTENT /* sizes, metadata or texts that no encoder writes */
} pg_entry_fault;

/* "truncated", ... */
const char *pg_entry_fault_text(pg_entry_fault fault);

/* Appends the entry's file. False when a size is beyond the limits, the key has a NUL, or memory
 * is out. */
bool pg_entry_encode(pg_buf *out, pg_str key, const pg_cache_entry *entry);
/* The size that the header at `bytes` claims for its file, 0 if there is no header. For scanning a
 * pack. */
uint64_t pg_entry_claimed_size(const void *bytes, size_t n);
/* Checks everything, then points *entry and *key into `bytes` (which outlive them). */
pg_entry_fault pg_entry_decode(const void *bytes, size_t n, pg_cache_entry *entry, pg_str *key);

#endif
