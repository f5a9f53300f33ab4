/* Signed entries: ed25519 over key, content, name of the signing key and date of expiry
 * together, so that none of them can be exchanged. The signature is a field of the entry's
 * metadata.
 *
 * A key file has lines "ptxgen-public NAME HEX" (any number, of keys that are trusted: a new key is
 * added before the old one is retired) or one "ptxgen-secret NAME HEX"; # begins a comment. */
#ifndef PG_SIGNATURE_H
#define PG_SIGNATURE_H

#include "cache/entry.h"
#include "cache/key_file.h"
#include "cache/sodium.h"

enum { PG_TRUSTED_MAX = 32 };

typedef struct pg_trusted_key {
    char name[PG_KEY_NAME_MAX + 1];
    unsigned char bytes[PG_PUBLIC_BYTES];
} pg_trusted_key;

typedef struct pg_trusted_keys {
    const pg_sodium *sodium;
    size_t count;
    pg_trusted_key keys[PG_TRUSTED_MAX];
} pg_trusted_keys;

typedef struct pg_secret_key {
    const pg_sodium *sodium;
    char name[PG_KEY_NAME_MAX + 1];
    unsigned char bytes[PG_SECRET_BYTES];
} pg_secret_key;

/* EINVAL: no key file. EIO, EMISSING (libsodium). */
ptxgen_status pg_trusted_keys_read(const char *path, pg_trusted_keys *out, ptxgen_error *err);
ptxgen_status pg_secret_key_read(const char *path, pg_secret_key *out, ptxgen_error *err);
/* A new pair: the secret one to `path` (0600), the public one to path.pub. Neither is replaced. */
ptxgen_status pg_key_pair_write(const char *path, const char *name, ptxgen_error *err);

/* Appends the entry's file with a signature; `expires`: seconds since 1970, 0: never. */
bool pg_signature_encode(const pg_secret_key *, pg_str key, const pg_cache_entry *, int64_t expires,
                         pg_buf *out);
typedef enum pg_signature_fault {
    PG_SIGNATURE_GOOD,
    PG_SIGNATURE_NONE,
    PG_SIGNATURE_STRANGER, /* by a key that is not trusted */
    PG_SIGNATURE_MALFORMED,
    PG_SIGNATURE_WRONG, /* key or content are not what was signed */
    PG_SIGNATURE_EXPIRED,
    PG_SIGNATURE_MEMORY
} pg_signature_fault;

/* GOOD: signed by a trusted key and not expired at `now`. */
pg_signature_fault pg_signature_check(const pg_trusted_keys *, const pg_alloc *, pg_str key,
                                      const pg_cache_entry *, int64_t now);
/* As a clause; NULL: nothing is wrong. */
const char *pg_signature_fault_text(pg_signature_fault);

#endif
