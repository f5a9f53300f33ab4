/* The disk cache: key text -> entry. It can make things faster, never wrong, and never fails a call: any
 * doubt about an entry is a miss, any I/O error a counter.
 *
 * One file per entry, v1/<2 hex>/<30 hex>, immutable once renamed into place; format in docs/cache.md.
 * Cross-process single flight by locks that the kernel releases when the holder dies. Any thread. */
#ifndef PG_CACHE_H
#define PG_CACHE_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "ptxgen/ptxgen.h"

typedef struct pg_cache pg_cache;

typedef struct pg_cache_config {
    const char *dir;  /* absolute; NULL or "": no disk, every lookup misses */
    uint32_t wait_ms; /* longest wait for another process's compile; 0: 30000 */
} pg_cache_config;

/* What an entry holds besides its key. Texts are NUL-terminated, never NULL. */
typedef struct pg_cache_entry {
    const char *family, *params, *entry_name, *assembler, *log;
    ptxgen_arch arch;
    int32_t registers, shared_bytes, local_bytes, spill_bytes;
    double emit_us, assemble_us;
    int64_t created; /* seconds since 1970 */
    const void *cubin;
    size_t cubin_size;
    const char *ptx;
    size_t ptx_size;
    void *storage; /* owns all of the above on a lookup; ignored by store */
    size_t storage_size;
} pg_cache_entry;

/* Never fails but for memory: a folder that cannot be used is logged once and means "no disk". */
ptxgen_status pg_cache_create(const pg_alloc *, const pg_log *, const pg_cache_config *, pg_cache **out,
                              ptxgen_error *);
void pg_cache_destroy(pg_cache *);

/* true and *out filled (release with pg_cache_entry_release) on a hit; false on a miss. */
bool pg_cache_lookup(pg_cache *, const char *key, size_t key_size, pg_cache_entry *out);
void pg_cache_entry_release(pg_cache *, pg_cache_entry *);
/* Publishes; failure is counted, not returned. */
void pg_cache_store(pg_cache *, const char *key, size_t key_size, const pg_cache_entry *);

/* Cross-process single flight. Returns at once with *token = 0 when there is no disk. When another process
 * holds the key, waits for it up to wait_ms (then *token = 0: compile for yourself). The caller looks up
 * again after acquiring. */
void pg_cache_acquire(pg_cache *, const char *key, size_t key_size, uint64_t *token);
void pg_cache_release(pg_cache *, uint64_t token);

/* Fills the disk fields. */
void pg_cache_fill_info(pg_cache *, ptxgen_cache_info *);
/* Removes every entry; EIO names the first that could not be removed. */
ptxgen_status pg_cache_clear(pg_cache *, ptxgen_error *);

#endif
