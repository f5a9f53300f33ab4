/* Reading a pack. Nothing in it is trusted: offsets and sizes are bounded by the file, the index
 * must be sorted and have its checksum, every entry is checked when it is read.
 *
 * header:  0 "PTXPACK\n"  8 format u32  12 zero  16 created i64  24 version text  48 zero
 *          56 XXH3-64 of the 56 bytes before
 * index:   count x { hash lo, hash hi, offset, size: u64 }, ascending by hash
 * footer:  0 "PTXPIDX\n"  8 index offset  16 count  24 XXH3-128 of the index  40 file size  48 zero
 *          56 XXH3-64 of the 56 bytes before */
#include "cache/pack.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "cache/folder.h"

#include <errno.h>
#include <string.h>

static int compare_hashes(pg_hash128 a, pg_hash128 b)
{
    if (a.hi != b.hi)
        return a.hi < b.hi ? -1 : 1;
    return (a.lo > b.lo) - (a.lo < b.lo);
}

int pg_pack_compare_items(const void *a, const void *b)
{
    return compare_hashes(((const pg_pack_item *)a)->hash, ((const pg_pack_item *)b)->hash);
}

/* What reading a part of the file said. */
typedef enum reading { SOUND, DAMAGED, UNREAD /* pack->error: nothing is known */ } reading;

static reading unread_or_damaged(pg_pack *pack, int r)
{
    if (r == -ENODATA || r == -EFBIG)
        return DAMAGED;
    pack->error = -r;
    return UNREAD;
}

/* A header or footer: magic and checksum of its own. */
static reading read_frame(pg_pack *pack, uint64_t offset, const char *magic,
                          unsigned char frame[PG_PACK_FRAME])
{
    const int r = pg_file_read_exact(pack->files, pack->fd, frame, PG_PACK_FRAME, offset);
    if (r < 0)
        return unread_or_damaged(pack, r);
    return memcmp(frame, magic, 8) == 0 && pg_get_le(frame + 56, 8) == pg_hash64(frame, 56)
               ? SOUND
               : DAMAGED;
}

static bool items_are_sound(const pg_pack *pack, uint64_t end)
{
    for (size_t i = 0; i < pack->count; i++) {
        const pg_pack_item *item = &pack->items[i];
        if (item->offset < PG_PACK_FRAME || item->offset > end || item->size > end - item->offset ||
            (i && pg_pack_compare_items(item - 1, item) >= 0))
            return false;
    }
    return true;
}

static void drop_items(pg_pack *pack)
{
    pg_free(&pack->alloc, pack->items, pack->items_size);
    pack->items = NULL;
    pack->count = pack->items_size = 0;
}

static void decode_items(pg_pack *pack, size_t count)
{
    pack->count = count;
    for (size_t i = 0; i < count; i++) {
        unsigned char raw[PG_PACK_ITEM];
        memcpy(raw, &pack->items[i], PG_PACK_ITEM);
        pack->items[i] = (pg_pack_item){{pg_get_le(raw, 8), pg_get_le(raw + 8, 8)},
                                        pg_get_le(raw + 16, 8),
                                        pg_get_le(raw + 24, 8)};
    }
}

static reading read_items(pg_pack *pack, uint64_t start, uint64_t count,
                          const unsigned char footer[PG_PACK_FRAME])
{
    pack->items_size = count * PG_PACK_ITEM;
    pack->items = pg_alloc_zero(&pack->alloc, pack->items_size);
    const int r = pack->items ? pg_file_read_exact(pack->files, pack->fd, pack->items,
                                                   pack->items_size, start)
                              : -ENOMEM;
    if (r < 0)
        return unread_or_damaged(pack, r);
    const pg_hash128 h = pg_hash(pack->items, pack->items_size);
    decode_items(pack, count);
    return h.lo == pg_get_le(footer + 24, 8) && h.hi == pg_get_le(footer + 32, 8) &&
                   items_are_sound(pack, start)
               ? SOUND
               : DAMAGED;
}

static reading read_index(pg_pack *pack)
{
    unsigned char frame[PG_PACK_FRAME];
    const reading end =
        pack->size < 2 * PG_PACK_FRAME
            ? DAMAGED
            : read_frame(pack, pack->size - PG_PACK_FRAME, PG_PACK_FOOTER_MAGIC, frame);
    pack->end_lost = end == DAMAGED;
    if (end != SOUND)
        return end;
    uint64_t start = pg_get_le(frame + 8, 8), count = pg_get_le(frame + 16, 8);
    if (pg_get_le(frame + 40, 8) != pack->size || start > pack->size - PG_PACK_FRAME ||
        count != (pack->size - PG_PACK_FRAME - start) / PG_PACK_ITEM ||
        (pack->size - PG_PACK_FRAME - start) % PG_PACK_ITEM != 0)
        return DAMAGED;
    const reading items = count ? read_items(pack, start, count, frame) : SOUND;
    if (items != SOUND)
        drop_items(pack);
    return items;
}

/* Appends the entry at `offset` when it is sound, else counts it as damaged. */
static reading scan_entry(pg_pack *pack, uint64_t offset, uint64_t size, pg_buf *items)
{
    pg_block block;
    pg_cache_entry entry;
    pg_str key;
    const int r =
        pg_block_read(&block, &pack->alloc, pack->files, (pg_file_part){pack->fd, offset, size});
    if (r < 0 && unread_or_damaged(pack, r) == UNREAD)
        return UNREAD;
    if (r == 0 && pg_entry_decode(block.bytes, block.size, &entry, &key) == PG_ENTRY_OK) {
        pg_pack_item item = {pg_hash(key.p, key.n), offset, size};
        pg_buf_append(items, &item, sizeof item);
    } else {
        pack->damaged++;
    }
    pg_block_free(&block, &pack->alloc);
    if (items->failed)
        pack->error = ENOMEM;
    return items->failed ? UNREAD : SOUND;
}

/* Goes from entry to entry by the sizes in their headers, as long as these make sense. */
static reading scan_entries(pg_pack *pack, pg_buf *items)
{
    reading all = SOUND;
    for (uint64_t at = PG_PACK_FRAME; all == SOUND && at + PG_ENTRY_HEADER_SIZE <= pack->size;) {
        unsigned char header[PG_ENTRY_HEADER_SIZE];
        const int r = pg_file_read_exact(pack->files, pack->fd, header, sizeof header, at);
        if (r < 0)
            return unread_or_damaged(pack, r);
        uint64_t size = pg_entry_claimed_size(header, sizeof header);
        if (size < sizeof header)
            break;
        if (size > pack->size - at) {
            pack->damaged++; /* the file ends in the middle of it */
            break;
        }
        all = scan_entry(pack, at, size, items);
        at = (at + size + PG_PACK_FRAME - 1) / PG_PACK_FRAME * PG_PACK_FRAME;
    }
    return all;
}

static reading scan(pg_pack *pack)
{
    pg_buf items;
    pg_buf_init(&items, &pack->alloc);
    const reading all = scan_entries(pack, &items);
    pack->index_lost = true;
    pack->count = 0;
    if (all != UNREAD && items.len) {
        /* The buffer's memory becomes the item array. */
        pack->items = (pg_pack_item *)(void *)items.data;
        pack->items_size = items.cap;
        size_t count = items.len / PG_PACK_ITEM;
        pg_sort(pack->items, count, PG_PACK_ITEM, pg_pack_compare_items);
        for (size_t i = 0; i < count; i++) /* of equal keys keep one */
            if (pack->count == 0 ||
                pg_pack_compare_items(&pack->items[pack->count - 1], &pack->items[i]) != 0)
                pack->items[pack->count++] = pack->items[i];
    } else {
        pg_buf_fini(&items);
    }
    return all;
}

static ptxgen_status open_trusted(pg_pack *pack, const char *path, pg_cache_trust trust,
                                  ptxgen_error *err)
{
    pg_file_stat st = {0};
    pack->fd = pack->files->open(pack->files->user, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0);
    int r = pack->fd < 0 ? pack->fd : pack->files->stat(pack->files->user, pack->fd, &st);
    pack->error = r < 0 ? -r : 0;
    if (r < 0)
        return pg_fail(err, r == -ENOENT ? PTXGEN_EMISSING : PTXGEN_EIO,
                       "cannot open the pack '%s': %s", path, strerror(-r));
    pg_folder_fault fault = pg_folder_judge(&st, PG_FILE_REGULAR, trust);
    if (fault != PG_FOLDER_OK)
        return pg_fail(err, PTXGEN_EIO, "the pack '%s' is not used: it %s", path,
                       pg_folder_fault_text(fault));
    pack->size = st.size;
    return PTXGEN_OK;
}

/* Header, then index or scan. */
static ptxgen_status read_pack(pg_pack *pack, const char *path, ptxgen_error *err)
{
    unsigned char frame[PG_PACK_FRAME];
    reading r = read_frame(pack, 0, PG_PACK_HEADER_MAGIC, frame);
    if (r == DAMAGED || (r == SOUND && pg_get_le(frame + 8, 4) != PG_PACK_FORMAT))
        return pg_fail(err, PTXGEN_EPARSE, "'%s' is not a pack of format %d", path, PG_PACK_FORMAT);
    if (r == SOUND) {
        pack->created = (int64_t)pg_get_le(frame + 16, 8);
        memcpy(pack->version, frame + 24, sizeof pack->version);
        pack->version[sizeof pack->version - 1] = 0;
        r = read_index(pack);
    }
    if (r == DAMAGED)
        r = scan(pack);
    if (r != UNREAD)
        return PTXGEN_OK;
    if (pack->error == ENOMEM)
        return pg_fail_memory(err, 0);
    return pg_fail(err, PTXGEN_EIO, "cannot read the pack '%s': %s", path, strerror(pack->error));
}

ptxgen_status pg_pack_open(pg_pack *pack, const pg_alloc *alloc, const pg_files *files,
                           const char *path, pg_cache_trust trust, ptxgen_error *err)
{
    *pack = (pg_pack){.files = files, .alloc = *alloc, .fd = -1};
    ptxgen_status status = open_trusted(pack, path, trust, err);
    if (status == PTXGEN_OK)
        status = read_pack(pack, path, err);
    if (status != PTXGEN_OK)
        pg_pack_close(pack);
    return status;
}

void pg_pack_close(pg_pack *pack)
{
    drop_items(pack);
    if (pack->fd >= 0)
        pack->files->close(pack->files->user, pack->fd);
    pack->fd = -1;
}

const char *pg_pack_fault_text(const pg_pack *pack)
{
    if (!pack->index_lost)
        return "";
    return pack->end_lost ? "is cut short (its end is missing or damaged)" : "has a damaged index";
}

const pg_pack_item *pg_pack_find(const pg_pack *pack, pg_hash128 hash)
{
    size_t low = 0, high = pack->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_hashes(pack->items[middle].hash, hash);
        if (order == 0)
            return &pack->items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int pg_pack_read(const pg_pack *pack, const pg_pack_item *item, pg_block *block,
                 pg_cache_entry *entry, pg_str *key)
{
    const int r = pg_block_read(block, &pack->alloc, pack->files,
                                (pg_file_part){pack->fd, item->offset, item->size});
    if (r < 0)
        return r == -ENODATA || r == -EFBIG ? PG_ENTRY_SHORT : r;
    pg_entry_fault fault = pg_entry_decode(block->bytes, block->size, entry, key);
    if (fault == PG_ENTRY_OK && compare_hashes(pg_hash(key->p, key->n), item->hash) != 0)
        fault = PG_ENTRY_CONTENT;
    if (fault != PG_ENTRY_OK)
        pg_block_free(block, &pack->alloc);
    return (int)fault;
}
