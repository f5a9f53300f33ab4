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
    ptxgen_error *err;
    ptxgen_status status; /* of reading: a pack is made of all that is sound, or not at all */
    const pg_secret_key *secret; /* NULL: entries go in as they are */
    int64_t expires;
} exporting;

/* As it is, or signed. */
static void add_entry(exporting *e, const pg_admin_entry *entry)
{
    const pg_str key = pg_str_of(entry->record.key);
    pg_cache_entry content;
    pg_str same;
    pg_buf bytes;
    pg_buf_init(&bytes, &e->cache->alloc);
    if (!e->secret)
        pg_pack_add(&e->writer, pg_hash(key.p, key.n), entry->block.bytes, entry->block.size);
    else if (pg_entry_decode(entry->block.bytes, entry->block.size, &content, &same) ==
                 PG_ENTRY_OK &&
             pg_signature_encode(e->secret, key, &content, e->expires, &bytes))
        pg_pack_add(&e->writer, pg_hash(key.p, key.n), bytes.data, bytes.len);
    else
        e->status = pg_fail_memory(e->err, entry->block.size);
    pg_buf_fini(&bytes);
}

/* EIO, or ENOMEM when that was the reason. */
static ptxgen_status fail_to_read(const char *what, int error, ptxgen_error *err)
{
    return error == ENOMEM
               ? pg_fail_memory(err, 0)
               : pg_fail(err, PTXGEN_EIO, "%s cannot be read: %s", what, strerror(error));
}

static bool export_entry(void *user, const char *hex)
{
    exporting *e = user;
    pg_admin_entry entry;
    if (!pg_admin_load(e->cache, hex, &entry))
        return true;
    if (entry.error) {
        e->status = fail_to_read(entry.record.path, entry.error, e->err);
    } else if (*entry.record.fault) {
        e->result->damaged++;
    } else if (entry.record.status != PTXGEN_OK ||
               (e->filter && !e->filter(e->user, &entry.record))) {
        e->result->refused++;
    } else {
        add_entry(e, &entry);
        e->result->copied++;
        e->result->bytes += entry.block.size;
    }
    pg_admin_unload(e->cache, &entry);
    return e->writer.error == 0 && e->status == PTXGEN_OK;
}

static ptxgen_status write_pack(exporting *e, const char *pack, ptxgen_cache_transfer *result,
                                ptxgen_error *err)
{
    ptxgen_cache *cache = e->cache;
    ptxgen_cache_transfer mine = {.pack_fault = ""};
    if (!pack || !*pack || !result)
        return pg_fail(err, PTXGEN_EINVAL, "export needs the path of a pack and a result");
    e->result = &mine;
    e->err = err;
    pg_admin_give(result, &mine, sizeof mine);
    PG_TRY(pg_pack_begin(&e->writer, &cache->alloc, &pg_files_libc, pack, err));
    e->writer.mode = cache->readable ? 0644 : 0600;
    ptxgen_status status = pg_admin_names(cache, "", export_entry, e, err);
    if (status == PTXGEN_OK)
        status = e->status;
    pg_admin_give(result, &mine, sizeof mine);
    if (status != PTXGEN_OK && e->writer.error == 0)
        e->writer.error = EIO; /* an incomplete listing makes no pack; err says why already */
    ptxgen_status finished = pg_pack_finish(&e->writer, status == PTXGEN_OK ? err : NULL);
    return status != PTXGEN_OK ? status : finished;
}

ptxgen_status ptxgen_cache_export(ptxgen_cache *cache, const char *pack, ptxgen_cache_visit filter,
                                  void *user, ptxgen_cache_transfer *result, ptxgen_error *err)
{
    exporting e = {.cache = cache, .filter = filter, .user = user};
    return write_pack(&e, pack, result, err);
}

/* ---- signatures ---- */

ptxgen_status ptxgen_cache_keygen(const char *path, const char *name, ptxgen_error *err)
{
    if (!path || !*path || !name)
        return pg_fail(err, PTXGEN_EINVAL, "a key needs a path and a name");
    return pg_key_pair_write(path, name, err);
}

ptxgen_status ptxgen_cache_keygen_mac(const char *path, const char *name, ptxgen_error *err)
{
    if (!path || !*path || !name)
        return pg_fail(err, PTXGEN_EINVAL, "a key needs a path and a name");
    return pg_mac_write_key(path, name, err);
}

ptxgen_status ptxgen_cache_sign(ptxgen_cache *cache, const char *pack,
                                const ptxgen_cache_signing *signing, ptxgen_cache_transfer *result,
                                ptxgen_error *err)
{
    pg_secret_key secret;
    if (!signing || !signing->secret_key)
        return pg_fail(err, PTXGEN_EINVAL, "signing needs the path of a secret key");
    PG_TRY(pg_secret_key_read(signing->secret_key, &secret, err));
    exporting e = {.cache = cache, .secret = &secret, .expires = signing->expires};
    const ptxgen_status status = write_pack(&e, pack, result, err);
    explicit_bzero(&secret, sizeof secret);
    return status;
}

typedef struct checking {
    ptxgen_cache *cache;
    const pg_trusted_keys *trusted;
    ptxgen_cache_signatures *result;
    ptxgen_cache_visit report;
    void *user;
} checking;

static bool check_entry(void *user, const char *hex)
{
    checking *c = user;
    pg_admin_entry entry;
    pg_cache_entry content;
    pg_str key;
    if (!pg_admin_load(c->cache, hex, &entry))
        return true;
    const pg_files *files = &pg_files_libc;
    const char *fault =
        entry.error || *entry.record.fault ? "it is damaged or cannot be read" : NULL;
    if (!fault &&
        pg_entry_decode(entry.block.bytes, entry.block.size, &content, &key) == PG_ENTRY_OK)
        fault = pg_signature_fault_text(pg_signature_check(c->trusted, &c->cache->alloc, key,
                                                           &content, files->now(files->user)));
    c->result->checked++;
    c->result->refused += fault != NULL;
    bool more = true;
    if (fault && c->report) {
        entry.record.fault = fault;
        more = c->report(c->user, &entry.record);
    }
    pg_admin_unload(c->cache, &entry);
    return more;
}

ptxgen_status ptxgen_cache_check_signatures(ptxgen_cache *cache, const char *trusted_keys,
                                            ptxgen_cache_visit report, void *user,
                                            ptxgen_cache_signatures *result, ptxgen_error *err)
{
    pg_trusted_keys trusted;
    ptxgen_cache_signatures mine = {0};
    if (!trusted_keys || !result)
        return pg_fail(err, PTXGEN_EINVAL, "checking needs the path of trusted keys and a result");
    PG_TRY(pg_trusted_keys_read(trusted_keys, &trusted, err));
    checking c = {cache, &trusted, &mine, report, user};
    PG_TRY(pg_admin_names(cache, "", check_entry, &c, err));
    pg_admin_give(result, &mine, sizeof mine);
    return PTXGEN_OK;
}

/* 1 when it is there, 0 when it is not, else a negative errno. */
static int is_present(pg_cache *cache, pg_hash128 hash)
{
    pg_opened file;
    pg_entry_name name = pg_entry_name_of(hash);
    const int r = pg_cache_open_entry(&cache->folder, &name, &file);
    if (r < 0)
        return pg_errno_is_lasting(-r) ? 0 : r;
    cache->files->close(cache->files->user, file.fd);
    return 1;
}

/* 0, or the errno that ends the import. */
static int import_item(pg_cache *cache, const pg_pack *pack, const pg_pack_item *item,
                       ptxgen_cache_transfer *result)
{
    pg_block block;
    pg_cache_entry entry;
    pg_str key;
    const int read = pg_pack_read(pack, item, &block, &entry, &key);
    result->damaged += read > 0;
    if (read != 0)
        return read < 0 ? read : 0;
    const int present = is_present(cache, item->hash);
    if (present != 0) {
        pg_block_free(&block, &pack->alloc);
        result->present += present > 0;
        return present < 0 ? present : 0;
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
                  : pg_fail(err, PTXGEN_EIO,
                            "the pack '%s' cannot be taken into the cache '%s': %s; %llu of its "
                            "entries were",
                            path, cache->path, strerror(-r), (unsigned long long)result->copied);
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
