/* What is signed is the digest of the entry's file as it would be without a signature, from the
 * checksum on, behind a head that names key and expiry. */
#include "cache/signature.h"

#include <stdio.h>
#include <string.h>

enum { CHECKED_FROM = 32, TEXT_MAX_BYTES = 256 };

/* ---- key files ---- */

ptxgen_status pg_trusted_keys_read(const char *path, pg_trusted_keys *out, ptxgen_error *err)
{
    char text[PG_KEY_FILE_MAX_BYTES];
    out->count = 0;
    PG_TRY(pg_sodium_get(&out->sodium, err));
    PG_TRY(pg_key_file_text(path, text, err));
    int number = 0;
    for (const char *at = text; *at;) {
        const pg_str line = pg_key_file_line(&at);
        number++;
        if (!line.n)
            continue;
        pg_trusted_key *k = &out->keys[out->count];
        if (out->count == PG_TRUSTED_MAX ||
            !pg_key_line_take(line, "ptxgen-public",
                              &(pg_key_line){k->name, k->bytes, PG_PUBLIC_BYTES}))
            return pg_fail(err, PTXGEN_EINVAL,
                           "%.400s:%d: a line is \"ptxgen-public NAME\" and 64 hex digits, at most "
                           "%d of them",
                           path, number, (int)PG_TRUSTED_MAX);
        out->count++;
    }
    return out->count ? PTXGEN_OK
                      : pg_fail(err, PTXGEN_EINVAL, "%.400s has no \"ptxgen-public\" line", path);
}

ptxgen_status pg_secret_key_read(const char *path, pg_secret_key *out, ptxgen_error *err)
{
    PG_TRY(pg_sodium_get(&out->sodium, err));
    return pg_key_file_read(path, "ptxgen-secret",
                            &(pg_key_line){out->name, out->bytes, PG_SECRET_BYTES}, err);
}

ptxgen_status pg_key_pair_write(const char *path, const char *name, ptxgen_error *err)
{
    const pg_sodium *sodium;
    unsigned char public_key[PG_PUBLIC_BYTES], secret_key[PG_SECRET_BYTES];
    char public_path[4096];
    PG_TRY(pg_sodium_get(&sodium, err));
    if (snprintf(public_path, sizeof public_path, "%s.pub", path) >= (int)sizeof public_path)
        return pg_fail(err, PTXGEN_EINVAL, "the path of the key is too long");
    sodium->keypair(public_key, secret_key);
    PG_TRY(pg_key_file_write(public_path, "ptxgen-public",
                             &(pg_key_line){(char *)name, public_key, sizeof public_key}, 0644,
                             err));
    return pg_key_file_write(path, "ptxgen-secret",
                             &(pg_key_line){(char *)name, secret_key, sizeof secret_key}, 0600,
                             err);
}

/* ---- entries ---- */

/* What is signed: who signs until when, and an entry under its key. */
typedef struct statement {
    char head[TEXT_MAX_BYTES];
    pg_str key;
    const pg_cache_entry *entry;
} statement;

/* Its digest; false without memory. */
static bool digest_of(const pg_sodium *sodium, const pg_alloc *alloc, const statement *s,
                      unsigned char digest[PG_DIGEST_BYTES])
{
    pg_cache_entry bare = *s->entry;
    pg_buf bytes;
    bare.signature = bare.mac = "";
    pg_buf_init(&bytes, alloc);
    bool good = pg_entry_encode(&bytes, s->key, &bare);
    if (good) {
        /* The checksum's place and what is before it say nothing: the head goes there. */
        memset(bytes.data, 0, CHECKED_FROM);
        unsigned char both[2 * PG_DIGEST_BYTES];
        sodium->hash(both, PG_DIGEST_BYTES, (const unsigned char *)s->head, strlen(s->head), NULL,
                     0);
        sodium->hash(both + PG_DIGEST_BYTES, PG_DIGEST_BYTES, (const unsigned char *)bytes.data,
                     bytes.len, NULL, 0);
        sodium->hash(digest, PG_DIGEST_BYTES, both, sizeof both, NULL, 0);
    }
    pg_buf_fini(&bytes);
    return good;
}

static void make_head(statement *s, const char *name, int64_t expires)
{
    snprintf(s->head, sizeof s->head, "ptxgen signature 1\n%s\n%lld\n", name, (long long)expires);
}

bool pg_signature_encode(const pg_secret_key *secret, pg_str key, const pg_cache_entry *entry,
                         int64_t expires, pg_buf *out)
{
    char hex[2 * PG_SIGNATURE_BYTES + 1], text[TEXT_MAX_BYTES];
    unsigned char digest[PG_DIGEST_BYTES], signature[PG_SIGNATURE_BYTES];
    statement s = {.key = key, .entry = entry};
    make_head(&s, secret->name, expires);
    if (!digest_of(secret->sodium, out->alloc, &s, digest))
        return false;
    secret->sodium->sign(signature, NULL, digest, sizeof digest, secret->bytes);
    pg_hex_put(signature, sizeof signature, hex);
    snprintf(text, sizeof text, "%s %lld %s", secret->name, (long long)expires, hex);
    pg_cache_entry with = *entry;
    with.signature = text;
    return pg_entry_encode(out, key, &with);
}

const char *pg_signature_fault_text(pg_signature_fault fault)
{
    static const char *const texts[] = {
        [PG_SIGNATURE_GOOD] = NULL,
        [PG_SIGNATURE_NONE] = "it is not signed",
        [PG_SIGNATURE_STRANGER] = "it is signed by a key that is not trusted",
        [PG_SIGNATURE_MALFORMED] = "its signature is malformed",
        [PG_SIGNATURE_WRONG] = "its signature is wrong: key or content are not what was signed",
        [PG_SIGNATURE_EXPIRED] = "its signature has expired",
        [PG_SIGNATURE_MEMORY] = "there was no memory to check its signature"};
    return texts[fault];
}

pg_signature_fault pg_signature_check(const pg_trusted_keys *trusted, const pg_alloc *alloc,
                                      pg_str key, const pg_cache_entry *entry, int64_t now)
{
    pg_str rest = pg_str_of(entry->signature ? entry->signature : "");
    if (!rest.n)
        return PG_SIGNATURE_NONE;
    const pg_str name = pg_str_word(&rest), date = pg_str_word(&rest), hex = pg_str_word(&rest);
    unsigned char digest[PG_DIGEST_BYTES], signature[PG_SIGNATURE_BYTES];
    statement s = {.key = key, .entry = entry};
    int64_t expires;
    const pg_trusted_key *k = NULL;
    for (size_t i = 0; !k && i < trusted->count; i++)
        k = pg_str_is(name, trusted->keys[i].name) ? &trusted->keys[i] : NULL;
    if (!k)
        return PG_SIGNATURE_STRANGER;
    if (!pg_str_i64(date, &expires) || !pg_hex_take(hex, signature, sizeof signature))
        return PG_SIGNATURE_MALFORMED;
    make_head(&s, k->name, expires);
    if (!digest_of(trusted->sodium, alloc, &s, digest))
        return PG_SIGNATURE_MEMORY;
    if (trusted->sodium->check(signature, digest, sizeof digest, k->bytes) != 0)
        return PG_SIGNATURE_WRONG;
    return expires && now > expires ? PG_SIGNATURE_EXPIRED : PG_SIGNATURE_GOOD;
}
