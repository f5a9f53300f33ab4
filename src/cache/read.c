/* Reading one entry: open, judge, read, check, compare. Whatever is odd about it is a miss, and is
 * moved out of the way so that the next store starts clean. */
#include "cache/state.h"

#include <errno.h>
#include <string.h>

enum { TOUCH_SECONDS = 3600 }; /* a used entry is dated at most this often */

static int open_once(const pg_folder *folder, const pg_entry_name *name, pg_opened *out)
{
    const pg_files *files = folder->files;
    int shard = pg_folder_open_shard(folder, name->shard);
    if (shard < 0)
        return shard;
    out->fd = files->open(files->user, shard, name->leaf, O_RDONLY | O_NOFOLLOW, 0);
    files->close(files->user, shard);
    if (out->fd < 0)
        return out->fd;
    int r = files->stat(files->user, out->fd, &out->stat);
    if (r < 0)
        files->close(files->user, out->fd);
    return r;
}

int pg_cache_open_entry(const pg_folder *folder, const pg_entry_name *name, pg_opened *out)
{
    const int r = open_once(folder, name, out);
    /* A network filesystem's idea of the name was old: the second look asks its server. */
    return r == -ESTALE ? open_once(folder, name, out) : r;
}

static void touch(pg_cache *cache, const pg_opened *file)
{
    int64_t now = cache->files->now(cache->files->user), age = now - file->stat.modified;
    if (age >= TOUCH_SECONDS || age <= -TOUCH_SECONDS)
        cache->files->set_modified(cache->files->user, file->fd, now);
}

static bool is_fresh(const pg_cache *cache, const pg_cache_entry *entry)
{
    int64_t age = cache->files->now(cache->files->user) - entry->created;
    return age >= -60 && age <= cache->config.failure_ttl;
}

typedef enum verdict {
    GOOD,
    PASS, /* nothing is wrong with the file, but it is no answer */
    BAD   /* counted; to be moved away */
} verdict;

/* Reads and decodes; *found is the key that the file holds. */
static verdict load(pg_cache *cache, const pg_folder *folder, const pg_opened *file,
                    pg_cache_entry *out, pg_str *found)
{
    pg_folder_fault trust = pg_folder_judge(&file->stat, PG_FILE_REGULAR, folder->trust);
    if (trust != PG_FOLDER_OK) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_UNTRUSTED,
                         "an entry in '%s' %s; it is not used", folder->path,
                         pg_folder_fault_text(trust));
        return BAD;
    }
    pg_block block;
    int r = pg_block_read(&block, &cache->alloc, cache->files,
                          (pg_file_part){file->fd, 0, file->stat.size});
    if (r < 0 && r != -ENODATA && r != -EFBIG) {
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_READ_ERRORS,
                         "cannot read an entry in '%s': %s", folder->path, strerror(-r));
        return PASS;
    }
    pg_entry_fault fault =
        r < 0 ? PG_ENTRY_SHORT : pg_entry_decode(block.bytes, block.size, out, found);
    if (fault == PG_ENTRY_OK) {
        pg_block_give(&block, out);
        return GOOD;
    }
    pg_block_free(&block, &cache->alloc);
    *out = (pg_cache_entry){0};
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_CORRUPT,
                     "an entry in '%s' is damaged: %s", folder->path, pg_entry_fault_text(fault));
    return BAD;
}

/* Who has made it: the own folder's entries have a code, where there is a key for it, those of
 * layers a signature. */
static const char *origin_fault(const pg_cache *cache, pg_str key, const pg_cache_entry *entry,
                                bool own)
{
    if (own)
        return cache->mac ? pg_mac_fault(cache->mac, &cache->alloc, key, entry) : NULL;
    return cache->trusted ? pg_signature_fault_text(
                                pg_signature_check(cache->trusted, &cache->alloc, key, entry,
                                                   cache->files->now(cache->files->user)))
                          : NULL;
}

pg_cache_verdict pg_cache_judge_entry(pg_cache *cache, pg_lookup *look, const pg_cache_entry *entry,
                                      bool own, const char *where)
{
    const char *fault = origin_fault(cache, look->key, entry, own);
    if (fault) {
        look->why = fault;
        pg_count_trouble(&cache->counts, &cache->log, own ? PG_COUNT_CODES : PG_COUNT_SIGNATURES,
                         "an entry in '%s' is not used: %s", where, fault);
        return PG_CACHE_PASSES;
    }
    if (!look->judge)
        return PG_CACHE_SERVES;
    const pg_cache_verdict v = look->judge->say(look->judge->user, entry, own, &look->why);
    if (v == PG_CACHE_WRONG)
        pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_MISMATCHED,
                         "an entry in '%s' is not used: %s", where, look->why);
    return v;
}

static verdict examine_own(pg_cache *cache, const pg_folder *folder, bool own, pg_lookup *look,
                           const pg_cache_entry *entry)
{
    if (entry->status != PTXGEN_OK && !is_fresh(cache, entry)) {
        look->why = "it failed too long ago to be believed";
        return PASS;
    }
    const pg_cache_verdict v = pg_cache_judge_entry(cache, look, entry, own, folder->path);
    return v == PG_CACHE_SERVES ? GOOD : v == PG_CACHE_PASSES ? PASS : BAD;
}

static verdict examine(pg_cache *cache, const pg_folder *folder, bool own, const pg_opened *file,
                       pg_lookup *look, pg_cache_entry *out)
{
    pg_str found;
    const pg_str key = look->key;
    verdict v = load(cache, folder, file, out, &found);
    look->why = v == BAD ? "its entry is damaged or not to be trusted" : "its entry cannot be read";
    if (v != GOOD)
        return v;
    if (pg_str_eq(found, key))
        return examine_own(cache, folder, own, look, out);
    pg_count_trouble(&cache->counts, &cache->log, PG_COUNT_OTHER_KEY,
                     "an entry in '%s' holds another key than its name says", folder->path);
    pg_hash128 a = pg_hash(found.p, found.n), b = pg_hash(key.p, key.n);
    return a.lo == b.lo && a.hi == b.hi ? PASS : BAD; /* equal: a true collision of hashes */
}

static void note_open_failure(pg_cache *cache, const pg_folder *folder, bool own,
                              const pg_entry_name *name, int r)
{
    bool link = r == -ELOOP || r == -ENOTDIR;
    pg_count_trouble(&cache->counts, &cache->log, link ? PG_COUNT_UNTRUSTED : PG_COUNT_READ_ERRORS,
                     "cannot open an entry in '%s': %s", folder->path, strerror(-r));
    if (link && own && !cache->config.observer)
        pg_cache_quarantine_entry(cache, name, 0);
}

pg_cache_found pg_cache_read(pg_cache *cache, const pg_folder *folder, bool own, pg_lookup *look,
                             pg_cache_entry *out)
{
    pg_entry_name name = pg_entry_name_of(pg_hash(look->key.p, look->key.n));
    pg_opened file;
    int r = pg_cache_open_entry(folder, &name, &file);
    if (r == -ENOENT || r == -ESTALE) {
        if (own)
            look->why = "no entry has its key";
        return PG_CACHE_MISS;
    }
    if (r < 0) {
        look->why = "its entry cannot be opened";
        note_open_failure(cache, folder, own, &name, r);
        return PG_CACHE_MISS;
    }
    verdict v = examine(cache, folder, own, &file, look, out);
    if (v == GOOD && own && !cache->config.observer)
        touch(cache, &file);
    cache->files->close(cache->files->user, file.fd);
    if (v == GOOD)
        return out->status == PTXGEN_OK ? PG_CACHE_HIT : PG_CACHE_FAILED;
    pg_cache_entry_release(cache, out);
    if (v == BAD && own && !cache->config.observer)
        pg_cache_quarantine_entry(cache, &name, file.stat.inode);
    return PG_CACHE_MISS;
}

void pg_cache_entry_release(pg_cache *cache, pg_cache_entry *entry)
{
    pg_free(&cache->alloc, entry->storage, entry->storage_size);
    *entry = (pg_cache_entry){0};
}
