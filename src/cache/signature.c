/* What is signed is the digest of the entry's file as it would be without a signature, from the
 * checksum on, behind a head that names key and expiry. */
#include "cache/signature.h"

#include "base/system_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHECKED_FROM = 32, FILE_MAX_BYTES = 16384, TEXT_MAX_BYTES = 256 };

static void put_hex(const unsigned char *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Exactly n bytes of lower-case digits. */
static bool take_hex(pg_str text, unsigned char *out, size_t n)
{
    bool good = text.n == 2 * n;
    for (size_t i = 0; good && i < n; i++) {
        const int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);
        good = high >= 0 && low >= 0;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return good;
}

/* ---- key files ---- */

static ptxgen_status read_text(const char *path, char text[FILE_MAX_BYTES], ptxgen_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_MAX_BYTES - 1);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return pg_fail(err, PTXGEN_EIO, "cannot read the key file '%.400s': %s", path,
                       pg_error_words(error));
    text[n] = 0;
    return PTXGEN_OK;
}

/* One line: its kind, the key's name and bytes. false: no such line. */
static bool take_line(pg_str line, const char *kind, char name[PG_KEY_NAME_MAX + 1],
                      unsigned char *bytes, size_t n)
{
    const pg_str first = pg_str_word(&line), second = pg_str_word(&line),
                 third = pg_str_word(&line);
    if (!pg_str_is(first, kind) || second.n == 0 || second.n > PG_KEY_NAME_MAX || line.n)
        return false;
    memcpy(name, second.p, second.n);
    name[second.n] = 0;
    return take_hex(third, bytes, n);
}

static pg_str next_line(const char **at)
{
    const size_t n = strcspn(*at, "\n");
    pg_str line = {*at, n};
    *at += n + ((*at)[n] != 0);
    const char *comment = n ? memchr(line.p, '#', n) : NULL;
    if (comment)
        line.n = (size_t)(comment - line.p);
    while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\r'))
        line.n--;
    return line;
}

ptxgen_status pg_trusted_keys_read(const char *path, pg_trusted_keys *out, ptxgen_error *err)
{
    char text[FILE_MAX_BYTES];
    out->count = 0;
    PG_TRY(pg_sodium_get(&out->sodium, err));
    PG_TRY(read_text(path, text, err));
    int number = 0;
    for (const char *at = text; *at;) {
        const pg_str line = next_line(&at);
        number++;
        if (!line.n)
            continue;
        pg_trusted_key *k = &out->keys[out->count];
        if (out->count == PG_TRUSTED_MAX ||
            !take_line(line, "ptxgen-public", k->name, k->bytes, PG_PUBLIC_BYTES))
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
    char text[FILE_MAX_BYTES];
    PG_TRY(pg_sodium_get(&out->sodium, err));
    PG_TRY(read_text(path, text, err));
    for (const char *at = text; *at;)
        if (take_line(next_line(&at), "ptxgen-secret", out->name, out->bytes, PG_SECRET_BYTES))
            return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "%.400s has no \"ptxgen-secret\" line: `ptxgen cache keygen` makes one", path);
}

static ptxgen_status write_new(const char *path, const char *text, unsigned mode, ptxgen_error *err)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    const size_t n = strlen(text);
    if (fd >= 0 && write(fd, text, n) == (ssize_t)n && close(fd) == 0)
        return PTXGEN_OK;
    return pg_fail(err, errno == EEXIST ? PTXGEN_EINVAL : PTXGEN_EIO, "cannot write '%.400s': %s",
                   path, pg_error_words(errno));
}

ptxgen_status pg_key_pair_write(const char *path, const char *name, ptxgen_error *err)
{
    const pg_sodium *sodium;
    unsigned char public_key[PG_PUBLIC_BYTES], secret_key[PG_SECRET_BYTES];
    char hex[2 * PG_SECRET_BYTES + 1], text[TEXT_MAX_BYTES], public_path[4096];
    PG_TRY(pg_sodium_get(&sodium, err));
    const size_t n = strlen(name);
    if (n == 0 || n > PG_KEY_NAME_MAX || strcspn(name, " \t\r\n#") != n)
        return pg_fail(err, PTXGEN_EINVAL, "a key's name has 1 to %d bytes and no blanks",
                       (int)PG_KEY_NAME_MAX);
    if (snprintf(public_path, sizeof public_path, "%s.pub", path) >= (int)sizeof public_path)
        return pg_fail(err, PTXGEN_EINVAL, "the path of the key is too long");
    sodium->keypair(public_key, secret_key);
    put_hex(public_key, sizeof public_key, hex);
    snprintf(text, sizeof text, "ptxgen-public %s %s\n", name, hex);
    PG_TRY(write_new(public_path, text, 0644, err));
    put_hex(secret_key, sizeof secret_key, hex);
    snprintf(text, sizeof text, "ptxgen-secret %s %s\n", name, hex);
    return write_new(path, text, 0600, err);
}

/* ---- entries ---- */

/* The digest of head and entry; false without memory. */
static bool digest_of(const pg_sodium *sodium, const pg_alloc *alloc, const char *head, pg_str key,
                      const pg_cache_entry *entry, unsigned char digest[PG_DIGEST_BYTES])
{
    pg_cache_entry bare = *entry;
    pg_buf bytes;
    bare.signature = "";
    pg_buf_init(&bytes, alloc);
    bool good = pg_entry_encode(&bytes, key, &bare);
    if (good) {
        /* The checksum's place and what is before it say nothing: the head goes there. */
        memset(bytes.data, 0, CHECKED_FROM);
        unsigned char both[2 * PG_DIGEST_BYTES];
        sodium->hash(both, PG_DIGEST_BYTES, (const unsigned char *)head, strlen(head), NULL, 0);
        sodium->hash(both + PG_DIGEST_BYTES, PG_DIGEST_BYTES, (const unsigned char *)bytes.data,
                     bytes.len, NULL, 0);
        sodium->hash(digest, PG_DIGEST_BYTES, both, sizeof both, NULL, 0);
    }
    pg_buf_fini(&bytes);
    return good;
}

static void make_head(char head[TEXT_MAX_BYTES], const char *name, int64_t expires)
{
    snprintf(head, TEXT_MAX_BYTES, "ptxgen signature 1\n%s\n%lld\n", name, (long long)expires);
}

bool pg_signature_encode(const pg_secret_key *secret, pg_str key, const pg_cache_entry *entry,
                         int64_t expires, pg_buf *out)
{
    char head[TEXT_MAX_BYTES], hex[2 * PG_SIGNATURE_BYTES + 1], text[TEXT_MAX_BYTES];
    unsigned char digest[PG_DIGEST_BYTES], signature[PG_SIGNATURE_BYTES];
    make_head(head, secret->name, expires);
    if (!digest_of(secret->sodium, out->alloc, head, key, entry, digest))
        return false;
    secret->sodium->sign(signature, NULL, digest, sizeof digest, secret->bytes);
    put_hex(signature, sizeof signature, hex);
    snprintf(text, sizeof text, "%s %lld %s", secret->name, (long long)expires, hex);
    pg_cache_entry with = *entry;
    with.signature = text;
    return pg_entry_encode(out, key, &with);
}

const char *pg_signature_fault(const pg_trusted_keys *trusted, const pg_alloc *alloc, pg_str key,
                               const pg_cache_entry *entry, int64_t now)
{
    pg_str rest = pg_str_of(entry->signature ? entry->signature : "");
    if (!rest.n)
        return "it is not signed";
    const pg_str name = pg_str_word(&rest), date = pg_str_word(&rest), hex = pg_str_word(&rest);
    unsigned char digest[PG_DIGEST_BYTES], signature[PG_SIGNATURE_BYTES];
    char head[TEXT_MAX_BYTES];
    int64_t expires;
    const pg_trusted_key *k = NULL;
    for (size_t i = 0; !k && i < trusted->count; i++)
        k = pg_str_is(name, trusted->keys[i].name) ? &trusted->keys[i] : NULL;
    if (!k)
        return "it is signed by a key that is not trusted";
    if (!pg_str_i64(date, &expires) || !take_hex(hex, signature, sizeof signature))
        return "its signature is malformed";
    make_head(head, k->name, expires);
    if (!digest_of(trusted->sodium, alloc, head, key, entry, digest))
        return "there was no memory to check its signature";
    if (trusted->sodium->check(signature, digest, sizeof digest, k->bytes) != 0)
        return "its signature is wrong: key or content are not what was signed";
    return expires && now > expires ? "its signature has expired" : NULL;
}
