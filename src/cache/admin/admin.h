/* What the parts of the administration calls (ptxgen/cache.h) share: naming, loading and
 * describing entries of a folder or pack. */
#ifndef PG_CACHE_ADMIN_H
#define PG_CACHE_ADMIN_H

#include "base/error.h"
#include "ptxgen/cache.h"
#include "cache/state.h"

struct ptxgen_cache {
    pg_alloc alloc;
    char *path;
    size_t path_size;
    bool is_pack;
    bool readable;   /* packs that are made */
    pg_cache *cache; /* NULL for a pack */
    pg_pack pack;
};

/* An entry in memory. record points into the rest. */
typedef struct pg_admin_entry {
    ptxgen_cache_record record;
    pg_block block;
    pg_buf path;
    pg_entry_name name;
    uint64_t inode;
    /* an errno: it could not be read, and nothing is known about its bytes; 0: it could */
    int error;
    char error_text[96]; /* what record.fault then is */
} pg_admin_entry;

/* Copies a public struct that begins with its size, as far as the caller's version of it goes; the
 * rest is zero. `from` may be NULL. */
void pg_admin_copy(void *to, size_t size, const void *from);
/* The other way round: fills the caller's version of a result, whose size stays. */
void pg_admin_give(void *to, const void *from, size_t size);
/* Calls visit with the hash (32 hex digits) of each entry whose hash begins with `prefix`, without
 * reading it. */
ptxgen_status pg_admin_names(ptxgen_cache *cache, const char *prefix,
                             bool (*visit)(void *user, const char *hex), void *user,
                             ptxgen_error *err);
/* Loads one; false when it is gone by now. A damaged or unreadable one is loaded with record.fault
 * set. */
bool pg_admin_load(ptxgen_cache *cache, const char *hex, pg_admin_entry *out);
void pg_admin_unload(ptxgen_cache *cache, pg_admin_entry *entry);
/* Loads the one that `text` names (see ptxgen_cache_find). EINVAL when none or several do. */
ptxgen_status pg_admin_resolve(ptxgen_cache *cache, const char *text, pg_admin_entry *out,
                               ptxgen_error *err);
/* EINVAL for a pack, which is read only. */
ptxgen_status pg_admin_need_folder(const ptxgen_cache *cache, const char *what, ptxgen_error *err);

#endif
