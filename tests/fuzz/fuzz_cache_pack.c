/* Opening a pack of any bytes and reading all of it, over files that are this memory. Every input
 * is tried as it is and once more with the checksums of header, footer and index repaired. */
#include "base/bytes.h"
#include "cache/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

typedef struct memory_file {
    const unsigned char *bytes;
    size_t size;
} memory_file;

static int memory_open(void *user, int folder, const char *name, int flags, unsigned mode)
{
    (void)user, (void)folder, (void)name, (void)flags, (void)mode;
    return 1000;
}

static int memory_close(void *user, int fd)
{
    (void)user, (void)fd;
    return 0;
}

static int memory_stat(void *user, int fd, pg_file_stat *out)
{
    const memory_file *f = user;
    (void)fd;
    *out =
        (pg_file_stat){.type = PG_FILE_REGULAR, .mode = 0600, .owner = geteuid(), .size = f->size};
    return 0;
}

static int64_t memory_read_at(void *user, int fd, void *to, size_t n, uint64_t offset)
{
    const memory_file *f = user;
    (void)fd;
    if (offset >= f->size)
        return 0;
    size_t left = f->size - offset;
    memcpy(to, f->bytes + offset, n < left ? n : left);
    return (int64_t)(n < left ? n : left);
}

static void read_all(const unsigned char *bytes, size_t size)
{
    memory_file file = {bytes, size};
    const pg_files files = {.user = &file,
                            .open = memory_open,
                            .close = memory_close,
                            .stat = memory_stat,
                            .read_at = memory_read_at};
    pg_pack pack;
    if (pg_pack_open(&pack, &pg_alloc_libc, &files, "pack", PG_CACHE_TRUST_OWNER, NULL) !=
        PTXGEN_OK)
        return;
    for (size_t i = 0; i < pack.count; i++) {
        pg_block block;
        pg_cache_entry entry;
        pg_str key;
        if (pg_pack_find(&pack, pack.items[i].hash) != &pack.items[i])
            abort();
        if (pg_pack_read(&pack, &pack.items[i], &block, &entry, &key) == 0)
            pg_block_free(&block, &pg_alloc_libc);
        else if (pack.index_lost)
            abort(); /* what a scan found, it had read */
    }
    pg_pack_close(&pack);
}

static void repair_frame(unsigned char *frame, const char *magic)
{
    memcpy(frame, magic, 8);
    pg_put_le(frame + 56, pg_hash64(frame, 56), 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    read_all(bytes, size);
    if (size < 2 * PG_PACK_FRAME)
        return 0;
    unsigned char *repaired = malloc(size), *footer = repaired + size - PG_PACK_FRAME;
    if (!repaired)
        return 0;
    memcpy(repaired, bytes, size);
    pg_put_le(repaired + 8, PG_PACK_FORMAT, 4);
    repair_frame(repaired, PG_PACK_HEADER_MAGIC);
    uint64_t start = pg_get_le(footer + 8, 8), count = pg_get_le(footer + 16, 8);
    if (start <= size - PG_PACK_FRAME && count <= (size - PG_PACK_FRAME - start) / PG_PACK_ITEM) {
        pg_hash128 h = pg_hash(repaired + start, count * PG_PACK_ITEM);
        pg_put_le(footer + 24, h.lo, 8);
        pg_put_le(footer + 32, h.hi, 8);
    }
    pg_put_le(footer + 40, size, 8);
    repair_frame(footer, PG_PACK_FOOTER_MAGIC);
    read_all(repaired, size);
    free(repaired);
    return 0;
}
