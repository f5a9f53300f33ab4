/* Does a folder really work? Tried in a folder of its own inside it, on the same file system,
 * which is removed again: nothing else is touched. */
#include "cache/admin/admin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char probe_key[] = "probe=1\n";

/* ---- removing what the trial left; names only, links are not followed ---- */

typedef struct removal {
    const pg_files *files;
    int folder, depth;
} removal;

static bool remove_name(void *arg, const char *name)
{
    const removal *r = arg;
    const pg_files *f = r->files;
    if (f->unlink(f->user, r->folder, name) == 0 || r->depth == 0)
        return true;
    removal inner = {f, f->open(f->user, r->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0),
                     r->depth - 1};
    if (inner.folder < 0)
        return true;
    f->list(f->user, inner.folder, remove_name, &inner);
    f->close(f->user, inner.folder);
    f->remove_folder(f->user, r->folder, name);
    return true;
}

/* ---- the trial ---- */

static ptxgen_status try_store(pg_cache *cache, const char *path, ptxgen_error *err)
{
    static const unsigned char cubin[64] = "probe";
    pg_cache_entry entry = {.family = "probe", .cubin = cubin, .cubin_size = sizeof cubin}, found;
    pg_cache_store(cache, probe_key, sizeof probe_key - 1, &entry);
    if (pg_count_get(&cache->counts, PG_COUNT_STORES) != 1)
        return pg_fail(
            err, PTXGEN_EIO,
            "'%s': an entry could not be stored: the disk is nearly full, or writing failed", path);
    const bool same =
        pg_cache_lookup(cache, probe_key, sizeof probe_key - 1, &found) == PG_CACHE_HIT &&
        found.cubin_size == sizeof cubin && memcmp(found.cubin, cubin, sizeof cubin) == 0;
    pg_cache_entry_release(cache, &found);
    return same ? PTXGEN_OK
                : pg_fail(err, PTXGEN_EIO, "'%s': what was stored is not read back", path);
}

/* Two holders of one key exclude each other, here as between processes. */
static ptxgen_status try_locks(pg_cache *cache, const pg_cache_config *config, bool *locks,
                               ptxgen_error *err)
{
    uint64_t first, second;
    pg_cache *other;
    pg_cache_acquire(cache, probe_key, sizeof probe_key - 1, &first);
    *locks = first != 0;
    if (!first)
        return PTXGEN_OK;
    const ptxgen_status status = pg_cache_create(&cache->alloc, NULL, config, &other, err);
    if (status == PTXGEN_OK) {
        pg_cache_acquire(other, probe_key, sizeof probe_key - 1, &second);
        *locks = second == 0;
        pg_cache_release(other, second);
        pg_cache_destroy(other);
    }
    pg_cache_release(cache, first);
    return status;
}

static ptxgen_status try_folder(ptxgen_cache *cache, const char *path, bool *locks,
                                ptxgen_error *err)
{
    pg_cache *trial;
    const pg_cache_config config = {.dir = path, .wait_ms = 1, .trust = cache->cache->config.trust};
    PG_TRY(pg_cache_create(&cache->alloc, NULL, &config, &trial, err));
    ptxgen_status status = PTXGEN_OK;
    if (!pg_cache_is_on(trial))
        status = pg_fail(err, PTXGEN_EIO, "%s", trial->off_reason);
    if (status == PTXGEN_OK)
        status = try_store(trial, cache->path, err);
    if (status == PTXGEN_OK)
        status = try_locks(trial, &config, locks, err);
    pg_cache_destroy(trial);
    return status;
}

ptxgen_status ptxgen_cache_try(ptxgen_cache *cache, bool *locks, ptxgen_error *err)
{
    char name[64];
    bool unused;
    locks = locks ? locks : &unused;
    *locks = false;
    PG_TRY(pg_admin_need_folder(cache, "a trial", err));
    const pg_folder *folder = &cache->cache->folder;
    const pg_files *files = folder->files;
    pg_file_unique_name(".tmp-", name, sizeof name); /* swept with others if this process dies */
    const size_t size = strlen(cache->path) + sizeof name + 1;
    char *path = pg_alloc_zero(&cache->alloc, size);
    if (!path)
        return pg_fail_memory(err, size);
    snprintf(path, size, "%s/%s", cache->path, name);
    const int r = pg_folder_make(folder, folder->root, name);
    const ptxgen_status status =
        r < 0 ? pg_fail(err, PTXGEN_EIO, "nothing can be written to '%s': %s", cache->path,
                        strerror(-r))
              : try_folder(cache, path, locks, err);
    removal all = {files, folder->root, 3};
    if (r == 0)
        remove_name(&all, name);
    pg_free(&cache->alloc, path, size);
    return status;
}
