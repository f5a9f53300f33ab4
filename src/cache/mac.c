#include "cache/mac.h"

#include "cache/key_file.h"

#include <stdio.h>
#include <string.h>

enum { CODE_BYTES = 32, CODE_TEXT = 2 * CODE_BYTES + 1 };

ptxgen_status pg_mac_read(const char *path, pg_mac *out, ptxgen_error *err)
{
    char name[PG_KEY_NAME_MAX + 1];
    PG_TRY(pg_sodium_get(&out->sodium, err));
    PG_TRY(pg_key_file_is_private(path, err));
    return pg_key_file_read(path, "ptxgen-mac", &(pg_key_line){name, out->key, PG_MAC_KEY_BYTES},
                            err);
}

ptxgen_status pg_mac_write_key(const char *path, const char *name, ptxgen_error *err)
{
    const pg_sodium *sodium;
    unsigned char key[PG_MAC_KEY_BYTES];
    PG_TRY(pg_sodium_get(&sodium, err));
    sodium->random(key, sizeof key);
    return pg_key_file_write(path, "ptxgen-mac", &(pg_key_line){(char *)name, key, sizeof key},
                             0600, err);
}

/* The code over the whole file as it would be without it, from the checksum's end on. */
static bool code_of(const pg_mac *m, const pg_alloc *alloc, pg_str key, const pg_cache_entry *entry,
                    char code[CODE_TEXT])
{
    enum { CHECKED_FROM = 32 };
    unsigned char digest[CODE_BYTES];
    pg_cache_entry bare = *entry;
    pg_buf bytes;
    bare.mac = "";
    pg_buf_init(&bytes, alloc);
    const bool good = pg_entry_encode(&bytes, key, &bare);
    if (good) {
        m->sodium->hash(digest, sizeof digest, (const unsigned char *)bytes.data + CHECKED_FROM,
                        bytes.len - CHECKED_FROM, m->key, sizeof m->key);
        pg_hex_put(digest, sizeof digest, code);
    }
    pg_buf_fini(&bytes);
    return good;
}

bool pg_mac_encode(const pg_mac *m, pg_str key, const pg_cache_entry *entry, pg_buf *out)
{
    char code[CODE_TEXT];
    pg_cache_entry with = *entry;
    with.mac = code;
    return code_of(m, out->alloc, key, entry, code) && pg_entry_encode(out, key, &with);
}

const char *pg_mac_fault(const pg_mac *m, const pg_alloc *alloc, pg_str key,
                         const pg_cache_entry *entry)
{
    char code[CODE_TEXT];
    if (!entry->mac || !*entry->mac)
        return "it has no code of this machine (cache_mac_key)";
    if (!code_of(m, alloc, key, entry, code))
        return "there was no memory to check its code";
    /* Who could measure a comparison by strcmp could write to the folder's timing only. */
    return strcmp(code, entry->mac) == 0 ? NULL : "its code is wrong: it was not written here";
}
