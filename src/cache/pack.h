/* A pack: many entries in one file, for shipping a filled cache and for read-only layers.
 *
 * Header (64 bytes), entries as they are in a cache folder, each at a multiple of 64, then an
 * index and a footer. Each entry carries its own checksum and key; a pack whose tail is damaged is
 * read without its index, as far as the entries are sound. Format in docs/cache.md. */
#ifndef PG_CACHE_PACK_H
#define PG_CACHE_PACK_H

#include "base/error.h"
#include "cache/block.h"

#define PG_PACK_HEADER_MAGIC "PTXPACK\n"
#define PG_PACK_FOOTER_MAGIC "PTXPIDX\n"

enum {
    PG_PACK_FORMAT = 1,
    PG_PACK_FRAME = 64, /* bytes of header and footer, and what entries are aligned to */
    PG_PACK_ITEM = 32   /* bytes of one index item */
};

typedef struct pg_pack_item {
    pg_hash128 hash; /* of the key */
    uint64_t offset, size;
} pg_pack_item;
_Static_assert(sizeof(pg_pack_item) == PG_PACK_ITEM, "items are sorted and converted in place");

/* By hash; as pg_sort wants it. */
int pg_pack_compare_items(const void *a, const void *b);

typedef struct pg_pack {
    const pg_files *files;
    pg_alloc alloc;
    int fd;
    uint64_t size;
    pg_pack_item *items; /* sorted by hash */
    size_t count, items_size;
    bool index_lost;  /* the index was damaged: the items were found by scanning */
    bool end_lost;    /* of these: there is no footer, so the file was cut short */
    uint64_t damaged; /* entries that the scan met and left out */
    int error;        /* errno of the call that kept it from being opened; 0: none did */
    int64_t created;
    char version[24]; /* of the ptxgen that wrote it */
} pg_pack;

/* EIO when it cannot be opened or read or is not trusted, EPARSE when it is not a pack. `pack`
 * may be used by any number of threads afterwards. */
ptxgen_status pg_pack_open(pg_pack *pack, const pg_alloc *alloc, const pg_files *files,
                           const char *path, pg_cache_trust trust, ptxgen_error *err);
void pg_pack_close(pg_pack *pack);
/* What is wrong with the file as a whole; "" when nothing is. */
const char *pg_pack_fault_text(const pg_pack *pack);
/* NULL when it has none. */
const pg_pack_item *pg_pack_find(const pg_pack *pack, pg_hash128 hash);
/* Reads and checks one entry; its key hashes to item->hash. 0: it is sound, the block holds its
 * bytes and is the caller's. Above: it is damaged, a pg_entry_fault. Below: a negative errno,
 * and nothing is known of it. */
int pg_pack_read(const pg_pack *pack, const pg_pack_item *item, pg_block *block,
                 pg_cache_entry *entry, pg_str *key);

typedef struct pg_pack_writer {
    const pg_files *files;
    const char *path; /* borrowed */
    char *temporary;
    size_t temporary_size;
    unsigned mode; /* of the file; 0: 0600 */
    int fd;
    uint64_t offset;
    pg_buf items; /* of pg_pack_item */
    uint64_t count;
    int error; /* first errno */
} pg_pack_writer;

/* Writes beside `path` and renames at the end. */
ptxgen_status pg_pack_begin(pg_pack_writer *writer, const pg_alloc *alloc, const pg_files *files,
                            const char *path, ptxgen_error *err);
void pg_pack_add(pg_pack_writer *writer, pg_hash128 hash, const void *bytes, size_t n);
/* Publishes, or removes the temporary file and says what went wrong. Frees the writer. */
ptxgen_status pg_pack_finish(pg_pack_writer *writer, ptxgen_error *err);

#endif
