/* Entries of the own folder with a code of this machine: BLAKE2b keyed by a file that only its
 * owner reads. What somebody else put into the folder has none, or a wrong one. */
#ifndef PG_CACHE_MAC_H
#define PG_CACHE_MAC_H

#include "cache/entry.h"
#include "cache/sodium.h"

enum { PG_MAC_KEY_BYTES = 32 };

typedef struct pg_mac {
    const pg_sodium *sodium;
    unsigned char key[PG_MAC_KEY_BYTES];
} pg_mac;

/* EINVAL: not a key file ("ptxgen-mac NAME HEX"), or others may read it. EIO, EMISSING. */
ptxgen_status pg_mac_read(const char *path, pg_mac *out, ptxgen_error *err);
/* A new key to `path` (0600), which is not replaced. */
ptxgen_status pg_mac_write_key(const char *path, const char *name, ptxgen_error *err);
/* Appends the entry's file with its code; false without memory. */
bool pg_mac_encode(const pg_mac *, pg_str key, const pg_cache_entry *, pg_buf *out);
/* NULL: the entry has the code that belongs to it. Else what is wrong, as a clause. */
const char *pg_mac_fault(const pg_mac *, const pg_alloc *, pg_str key, const pg_cache_entry *);

#endif
