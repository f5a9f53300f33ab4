/* Opening a folder or pack for administration, and going through its entries. */
#include "cache/admin/admin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static ptxgen_status open_pack_or_folder(ptxgen_cache *c, const pg_log *log,
                                         const ptxgen_cache_options *o, ptxgen_error *err)
{
    pg_file_stat st;
    pg_cache_trust trust = o->trust_any ? PG_CACHE_TRUST_ANY : PG_CACHE_TRUST_OWNER;
    int r = pg_files_libc.stat_at(NULL, AT_FDCWD, c->path, &st);
    if (r == -ENOENT && !o->create)
        return pg_fail(err, PTXGEN_EMISSING, "there is no cache at '%s'", c->path);
    if (r == 0 && st.type == PG_FILE_REGULAR) {
        c->is_pack = true;
        return pg_pack_open(&c->pack, &c->alloc, &pg_files_libc, c->path, trust, err);
    }
    const pg_cache_config config = {.dir = c->path,
                                    .trust = trust,
                                    .no_sync = true,
                                    .max_bytes = UINT64_MAX,
                                    .max_entries = UINT64_MAX,
                                    .must_exist = !o->create,
                                    .readable = o->readable,
                                    .observer = true};
    PG_TRY(pg_cache_create(&c->alloc, log, &config, &c->cache, err));
    if (pg_cache_is_on(c->cache))
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EIO, "the cache cannot be used: %s", c->cache->off_reason);
}

void pg_admin_copy(void *to, size_t size, const void *from)
{
    size_t theirs = 0;
    memset(to, 0, size);
    if (from)
        memcpy(&theirs, from, sizeof theirs);
    if (theirs)
        memcpy(to, from, theirs < size ? theirs : size);
}

void pg_admin_give(void *to, const void *from, size_t size)
{
    size_t theirs;
    memcpy(&theirs, to, sizeof theirs);
    if (theirs > size)
        theirs = size;
    if (theirs > sizeof theirs)
        memcpy((char *)to + sizeof theirs, (const char *)from + sizeof theirs,
               theirs - sizeof theirs);
}

ptxgen_status ptxgen_cache_open(const char *path, const ptxgen_cache_options *options,
                                ptxgen_cache **out, ptxgen_error *err)
{
    ptxgen_cache_options o;
    if (!path || !*path || !out)
        return pg_fail(err, PTXGEN_EINVAL, "a path of a cache folder or pack is needed");
    pg_admin_copy(&o, sizeof o, options);
    const pg_alloc alloc = o.realloc ? (pg_alloc){o.realloc, o.user} : pg_alloc_libc;
    const pg_log log = {o.log, o.user, o.log_level};
    ptxgen_cache *c = pg_alloc_zero(&alloc, sizeof *c);
    if (!c)
        return pg_fail_memory(err, sizeof *c);
    c->alloc = alloc;
    c->readable = o.readable;
    c->pack.fd = -1;
    c->pack.alloc = alloc;
    c->path_size = strlen(path) + 1;
    c->path = pg_alloc_zero(&alloc, c->path_size);
    if (c->path)
        memcpy(c->path, path, c->path_size);
    ptxgen_status status =
        c->path ? open_pack_or_folder(c, &log, &o, err) : pg_fail_memory(err, c->path_size);
    if (status == PTXGEN_OK)
        *out = c;
    else
        ptxgen_cache_close(c);
    return status;
}

void ptxgen_cache_close(ptxgen_cache *cache)
{
    if (!cache)
        return;
    pg_alloc alloc = cache->alloc;
    pg_cache_destroy(cache->cache);
    pg_pack_close(&cache->pack);
    pg_free(&alloc, cache->path, cache->path_size);
    pg_free(&alloc, cache, sizeof *cache);
}

const char *ptxgen_cache_path(const ptxgen_cache *cache)
{
    return cache->path;
}

bool ptxgen_cache_is_pack(const ptxgen_cache *cache)
{
    return cache->is_pack;
}

const char *ptxgen_cache_pack_fault(const ptxgen_cache *cache)
{
    return cache->is_pack ? pg_pack_fault_text(&cache->pack) : "";
}

ptxgen_status pg_admin_need_folder(const ptxgen_cache *cache, const char *what, ptxgen_error *err)
{
    if (!cache->is_pack)
        return PTXGEN_OK;
    return pg_fail(err, PTXGEN_EINVAL,
                   "'%s' is a pack, which is read only: %s needs a cache folder", cache->path,
                   what);
}

/* ---- names ---- */

typedef struct naming {
    ptxgen_cache *cache;
    const char *prefix;
    bool (*visit)(void *user, const char *hex);
    void *user;
    char hex[33];
    int error;
    char error_shard[3];
    bool stopped;
} naming;

static bool is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

static bool name_if_wanted(naming *n)
{
    if (strncmp(n->hex, n->prefix, strlen(n->prefix)) == 0)
        n->stopped = !n->visit(n->user, n->hex);
    return !n->stopped;
}

static bool name_leaf(void *arg, const char *leaf)
{
    naming *n = arg;
    if (!is_hex(leaf, 30))
        return true;
    memcpy(n->hex + 2, leaf, 31);
    return name_if_wanted(n);
}

static bool name_shard(void *arg, const char *shard)
{
    naming *n = arg;
    const pg_folder *folder = &n->cache->cache->folder;
    if (!is_hex(shard, 2) || (*n->prefix && strncmp(shard, n->prefix, n->prefix[1] ? 2 : 1) != 0))
        return true;
    int fd = pg_folder_open_shard(folder, shard);
    int r = fd;
    if (fd >= 0) {
        memcpy(n->hex, shard, 2);
        r = folder->files->list(folder->files->user, fd, name_leaf, n);
        folder->files->close(folder->files->user, fd);
    } else if (pg_folder_has_none(fd)) {
        r = 0;
    }
    if (r < 0) {
        n->error = r;
        memcpy(n->error_shard, shard, sizeof n->error_shard);
    }
    return r == 0 && !n->stopped;
}

ptxgen_status pg_admin_names(ptxgen_cache *cache, const char *prefix,
                             bool (*visit)(void *user, const char *hex), void *user,
                             ptxgen_error *err)
{
    naming n = {.cache = cache, .prefix = prefix, .visit = visit, .user = user};
    if (cache->is_pack) {
        for (size_t i = 0; i < cache->pack.count && !n.stopped; i++) {
            pg_hash_hex(cache->pack.items[i].hash, n.hex);
            name_if_wanted(&n);
        }
        return PTXGEN_OK;
    }
    const pg_folder *folder = &cache->cache->folder;
    int r = pg_folder_list(folder, name_shard, &n);
    if (r == 0)
        r = n.error;
    return r == 0 ? PTXGEN_OK
                  : pg_fail(err, PTXGEN_EIO, "cannot list the folder '%s/v1%s%s': %s", cache->path,
                            *n.error_shard ? "/" : "", n.error_shard, strerror(-r));
}

/* ---- loading ---- */

static void describe(ptxgen_cache_record *r, const pg_cache_entry *e, pg_str key)
{
    r->key = key.p;
    r->status = e->status;
    r->message = e->message;
    r->error_file = e->error_file;
    r->error_line = e->error_line;
    r->family = e->family;
    r->params = e->params;
    r->entry = e->entry_name;
    r->assembler = e->assembler;
    r->log = e->log;
    r->arch = e->arch;
    r->registers = e->registers;
    r->shared_bytes = e->shared_bytes;
    r->local_bytes = e->local_bytes;
    r->spill_bytes = e->spill_bytes;
    r->emit_us = e->emit_us;
    r->assemble_us = e->assemble_us;
    r->created = e->created;
    r->ptx = e->ptx;
    r->ptx_size = e->ptx_size;
    r->cubin = e->cubin;
    r->cubin_size = e->cubin_size;
}

static const char *unreadable(pg_admin_entry *out, const char *verb, int error)
{
    out->error = error;
    snprintf(out->error_text, sizeof out->error_text, "cannot be %s: %s", verb, strerror(error));
    return out->error_text;
}

/* The text of a fault; "" when the entry is sound and is described. */
static const char *read_file(ptxgen_cache *cache, const pg_opened *file, pg_admin_entry *out)
{
    pg_cache_entry entry;
    pg_str key;
    char hex[33];
    pg_folder_fault trust =
        pg_folder_judge(&file->stat, PG_FILE_REGULAR, cache->cache->folder.trust);
    if (trust != PG_FOLDER_OK)
        return pg_folder_fault_text(trust);
    int r = pg_block_read(&out->block, &cache->alloc, cache->cache->files,
                          (pg_file_part){file->fd, 0, file->stat.size});
    if (r == -ENODATA || r == -EFBIG)
        return pg_entry_fault_text(PG_ENTRY_SHORT);
    if (r < 0)
        return unreadable(out, "read", -r);
    pg_entry_fault fault = pg_entry_decode(out->block.bytes, out->block.size, &entry, &key);
    if (fault != PG_ENTRY_OK)
        return pg_entry_fault_text(fault);
    pg_hash_hex(pg_hash(key.p, key.n), hex);
    if (strcmp(hex, out->record.hash) != 0)
        return "holds another key than its name says";
    describe(&out->record, &entry, key);
    return "";
}

static bool load_file(ptxgen_cache *cache, pg_admin_entry *out)
{
    pg_opened file;
    pg_buf_printf(&out->path, "%s/v1/%s/%s", cache->path, out->name.shard, out->name.leaf);
    int r = pg_cache_open_entry(&cache->cache->folder, &out->name, &file);
    if (r == -ENOENT)
        return false;
    if (r < 0) {
        out->record.fault =
            r == -ELOOP ? pg_folder_fault_text(PG_FOLDER_LINK) : unreadable(out, "opened", -r);
        return true;
    }
    out->record.file_bytes = file.stat.size;
    out->record.used = file.stat.modified;
    out->inode = file.stat.inode;
    out->record.fault = read_file(cache, &file, out);
    cache->cache->files->close(cache->cache->files->user, file.fd);
    return true;
}

static bool parse_hex(const char *hex, pg_hash128 *out)
{
    uint64_t half[2] = {0, 0};
    if (!is_hex(hex, 32))
        return false;
    for (int i = 0; i < 32; i++)
        half[i / 16] =
            half[i / 16] << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    *out = (pg_hash128){.hi = half[0], .lo = half[1]};
    return true;
}

static bool load_item(ptxgen_cache *cache, pg_hash128 hash, pg_admin_entry *out)
{
    const pg_pack_item *item = pg_pack_find(&cache->pack, hash);
    pg_cache_entry entry;
    pg_str key;
    if (!item)
        return false;
    pg_buf_puts(&out->path, cache->path);
    out->record.file_bytes = item->size;
    out->record.used = cache->pack.created;
    const int r = pg_pack_read(&cache->pack, item, &out->block, &entry, &key);
    if (r == 0)
        describe(&out->record, &entry, key);
    else
        out->record.fault =
            r < 0 ? unreadable(out, "read", -r) : pg_entry_fault_text((pg_entry_fault)r);
    return true;
}

bool pg_admin_load(ptxgen_cache *cache, const char *hex, pg_admin_entry *out)
{
    pg_hash128 hash;
    *out = (pg_admin_entry){.record = {.size = sizeof out->record,
                                       .path = "",
                                       .fault = "",
                                       .key = "",
                                       .message = "",
                                       .error_file = "",
                                       .family = "",
                                       .params = "",
                                       .entry = "",
                                       .assembler = "",
                                       .log = "",
                                       .ptx = ""}};
    pg_buf_init(&out->path, &cache->alloc);
    if (!parse_hex(hex, &hash))
        return false;
    memcpy(out->record.hash, hex, 33);
    out->name = pg_entry_name_of(hash);
    bool loaded = cache->is_pack ? load_item(cache, hash, out) : load_file(cache, out);
    out->record.path = pg_buf_text(&out->path);
    if (!loaded)
        pg_admin_unload(cache, out);
    return loaded;
}

void pg_admin_unload(ptxgen_cache *cache, pg_admin_entry *entry)
{
    pg_block_free(&entry->block, &cache->alloc);
    pg_buf_fini(&entry->path);
}

/* ---- finding ---- */

typedef struct matches {
    size_t count;
    char hex[33];
} matches;

static bool note_match(void *user, const char *hex)
{
    matches *m = user;
    m->count++;
    memcpy(m->hex, hex, 33);
    return true;
}

ptxgen_status pg_admin_resolve(ptxgen_cache *cache, const char *text, pg_admin_entry *out,
                               ptxgen_error *err)
{
    char prefix[33];
    size_t n = strlen(text);
    bool is_key = strchr(text, '=') != NULL;
    if (!is_key && (n < 4 || n > 32 || strspn(text, "0123456789abcdef") != n))
        return pg_fail(err, PTXGEN_EINVAL,
                       "'%.64s' names no entry: give 4 to 32 hex digits of its hash, or its key",
                       text);
    if (is_key)
        pg_hash_hex(pg_hash(text, n), prefix);
    else
        memcpy(prefix, text, n + 1);
    matches m = {0};
    PG_TRY(pg_admin_names(cache, prefix, note_match, &m, err));
    if (m.count > 1)
        return pg_fail(err, PTXGEN_EINVAL, "%zu entries begin with '%s': give more digits", m.count,
                       prefix);
    if (m.count == 0 || !pg_admin_load(cache, m.hex, out))
        return pg_fail(err, PTXGEN_EINVAL, "no entry in '%s' has the hash '%s'", cache->path,
                       prefix);
    return PTXGEN_OK;
}

typedef struct visiting {
    ptxgen_cache *cache;
    ptxgen_cache_visit visit;
    void *user;
} visiting;

static bool load_and_visit(void *user, const char *hex)
{
    const visiting *v = user;
    pg_admin_entry entry;
    if (!pg_admin_load(v->cache, hex, &entry))
        return true;
    bool go_on = v->visit(v->user, &entry.record);
    pg_admin_unload(v->cache, &entry);
    return go_on;
}

ptxgen_status ptxgen_cache_each(ptxgen_cache *cache, ptxgen_cache_visit visit, void *user,
                                ptxgen_error *err)
{
    visiting v = {cache, visit, user};
    if (!visit)
        return pg_fail(err, PTXGEN_EINVAL, "visit is NULL: give a function to call per entry");
    return pg_admin_names(cache, "", load_and_visit, &v, err);
}

ptxgen_status ptxgen_cache_find(ptxgen_cache *cache, const char *text, ptxgen_cache_visit visit,
                                void *user, ptxgen_error *err)
{
    pg_admin_entry entry;
    if (!text || !visit)
        return pg_fail(err, PTXGEN_EINVAL, "%s is NULL: give an entry's name and a function",
                       text ? "visit" : "text");
    PG_TRY(pg_admin_resolve(cache, text, &entry, err));
    visit(user, &entry.record);
    pg_admin_unload(cache, &entry);
    return PTXGEN_OK;
}
