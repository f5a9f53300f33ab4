/* Folder to pack and back. */
#include "cache/admin/admin.h"

#include <errno.h>
#include <string.h>

typedef struct exporting {
    ptxgen_cache *cache;
    ptxgen_cache_visit filter;
    void *user;
    pg_pack_writer writer;
    ptxgen_cache_transfer *result;
} exporting;

static bool export_entry(void *user, const char *hex)
{
    exporting *e = user;
    pg_admin_entry entry;
    if (!pg_admin_load(e->cache, hex, &entry))
        return true;
    if (*entry.record.fault) {
        e->result->damaged++;
    } else if (entry.record.status != PTXGEN_OK ||
               (e->filter && !e->filter(e->user, &entry.record))) {
        e->result->refused++;
    } else {
        pg_pack_add(&e->writer, pg_hash(entry.record.key, strlen(entry.record.key)),
                    entry.block.bytes, entry.block.size);
        e->result->copied++;
        e->result->bytes += entry.block.size;
    }
    pg_admin_unload(e->cache, &entry);
    return e->writer.error == 0;
}

ptxgen_status ptxgen_cache_export(ptxgen_cache *cache, const char *pack, ptxgen_cache_visit filter,
                                  void *user, ptxgen_cache_transfer *result, ptxgen_error *err)
{
    ptxgen_cache_transfer mine = {.pack_fault = ""};
    if (!pack || !*pack || !result)
        return pg_fail(err, PTXGEN_EINVAL, "export needs the path of a pack and a result");
    exporting e = {.cache = cache, .filter = filter, .user = user, .result = &mine};
    pg_admin_give(result, &mine, sizeof mine);
    PG_TRY(pg_pack_begin(&e.writer, &cache->alloc, &pg_files_libc, pack, err));
    ptxgen_status status = pg_admin_names(cache, "", export_entry, &e, err);
    pg_admin_give(result, &mine, sizeof mine);
    if (status != PTXGEN_OK && e.writer.error == 0)
        e.writer.error = EIO; /* an incomplete listing makes no pack; err says why already */
    ptxgen_status finished = pg_pack_finish(&e.writer, status == PTXGEN_OK ? err : NULL);
    return status != PTXGEN_OK ? status : finished;
}

static bool is_present(pg_cache *cache, pg_hash128 hash)
{
    pg_opened file;
    pg_entry_name name = pg_entry_name_of(hash);
    if (pg_cache_open_entry(&cache->folder, &name, &file) < 0)
        return false;
    cache->files->close(cache->files->user, file.fd);
    return true;
}

/* 0, or the errno that ends the import. */
static int import_item(pg_cache *cache, const pg_pack *pack, const pg_pack_item *item,
                       ptxgen_cache_transfer *result)
{
    pg_block block;
    pg_cache_entry entry;
    pg_str key;
    if (pg_pack_read(pack, item, &block, &entry, &key) != PG_ENTRY_OK) {
        result->damaged++;
        return 0;
    }
    if (is_present(cache, item->hash)) {
        pg_block_free(&block, &pack->alloc);
        result->present++;
        return 0;
    }
    int r = entry.status == PTXGEN_OK ? pg_cache_publish(cache, item->hash, block.bytes, block.size)
                                      : -EDQUOT;
    if (r == 0) {
        result->copied++;
        result->bytes += block.size;
    } else if (r == -EDQUOT) {
        result->refused++;
        r = 0;
    }
    pg_block_free(&block, &pack->alloc);
    return r;
}

static ptxgen_status import(ptxgen_cache *cache, const char *path, ptxgen_cache_transfer *result,
                            ptxgen_error *err)
{
    pg_pack pack;
    PG_TRY(pg_admin_need_folder(cache, "importing", err));
    PG_TRY(
        pg_pack_open(&pack, &cache->alloc, &pg_files_libc, path, cache->cache->config.trust, err));
    int r = 0;
    result->damaged = pack.damaged;
    result->pack_fault = pg_pack_fault_text(&pack);
    for (size_t i = 0; i < pack.count && r == 0; i++)
        r = import_item(cache->cache, &pack, &pack.items[i], result);
    pg_pack_close(&pack);
    return r == 0 ? PTXGEN_OK
                  : pg_fail(err, PTXGEN_EIO, "cannot write to the cache '%s': %s", cache->path,
                            strerror(-r));
}

ptxgen_status ptxgen_cache_import(ptxgen_cache *cache, const char *path,
                                  ptxgen_cache_transfer *result, ptxgen_error *err)
{
    ptxgen_cache_transfer mine = {.pack_fault = ""};
    if (!path || !*path || !result)
        return pg_fail(err, PTXGEN_EINVAL, "import needs the path of a pack and a result");
    const ptxgen_status status = import(cache, path, &mine, err);
    pg_admin_give(result, &mine, sizeof mine);
    return status;
}
