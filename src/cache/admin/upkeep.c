/* Size, pruning and statistics of a folder. */
#include "cache/admin/admin.h"

#include "cache/space.h"

#include <errno.h>
#include <string.h>

enum { WAIT_MS = 60000 };

typedef struct measuring {
    const pg_files *files;
    int folder; /* being listed */
    bool only_temporary;
    uint64_t *count, *bytes;
} measuring;

static bool measure_file(void *arg, const char *name)
{
    const measuring *m = arg;
    pg_file_stat st;
    if ((m->only_temporary && strncmp(name, ".tmp-", 5) != 0) ||
        m->files->stat_at(m->files->user, m->folder, name, &st) < 0)
        return true;
    ++*m->count;
    *m->bytes += st.type == PG_FILE_REGULAR ? st.size : 0;
    return true;
}

static void measure_folder(measuring m, int at, const char *name)
{
    m.folder = m.files->open(m.files->user, at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (m.folder < 0)
        return;
    m.files->list(m.files->user, m.folder, measure_file, &m);
    m.files->close(m.files->user, m.folder);
}

static bool measure_shard(void *arg, const char *name)
{
    const measuring *m = arg;
    measure_folder(*m, m->folder, name);
    return true;
}

static bool measure_entry(void *user, const ptxgen_cache_record *record)
{
    ptxgen_cache_usage *u = user;
    u->entries++;
    u->bytes += record->file_bytes;
    u->failures += record->status != PTXGEN_OK;
    return true;
}

static ptxgen_status measure(ptxgen_cache *cache, ptxgen_cache_usage *usage, ptxgen_error *err)
{
    PG_TRY(ptxgen_cache_each(cache, measure_entry, usage, err));
    if (cache->is_pack)
        return PTXGEN_OK;
    const pg_folder *folder = &cache->cache->folder;
    const pg_files *files = folder->files;
    measure_folder((measuring){files, -1, false, &usage->quarantined, &usage->quarantined_bytes},
                   folder->root, "quarantine");
    measuring m = {files, folder->root, true, &usage->temporary, &usage->temporary_bytes};
    files->list(files->user, folder->root, measure_file, &m);
    m.folder = folder->entries;
    pg_folder_list(folder, measure_shard, &m);
    return PTXGEN_OK;
}

ptxgen_status ptxgen_cache_measure(ptxgen_cache *cache, ptxgen_cache_usage *usage,
                                   ptxgen_error *err)
{
    ptxgen_cache_usage mine = {0};
    const ptxgen_status status = measure(cache, &mine, err);
    pg_admin_give(usage, &mine, sizeof mine);
    return status;
}

static ptxgen_status prune(ptxgen_cache *cache, const ptxgen_cache_prune_rule *rule,
                           ptxgen_cache_prune_result *result, ptxgen_error *err)
{
    ptxgen_cache_prune_rule want;
    pg_prune_result r = {0};
    PG_TRY(pg_admin_need_folder(cache, "pruning", err));
    if (cache->cache->folder.entries < 0)
        return PTXGEN_OK;
    pg_admin_copy(&want, sizeof want, rule);
    pg_prune_rule inner = {want.max_bytes ? want.max_bytes : UINT64_MAX,
                           want.max_entries ? want.max_entries : UINT64_MAX, -1,
                           want.unused_for_s > 0 ? want.unused_for_s : -1, want.dry_run};
    if (want.everything) {
        inner = (pg_prune_rule){0, 0, -1, -1, want.dry_run};
        if (!want.dry_run)
            pg_cache_empty_aside(cache->cache);
    }
    int error = pg_space_prune(cache->cache, &inner, WAIT_MS, &r);
    *result = (ptxgen_cache_prune_result){.removed = r.removed,
                                          .removed_bytes = r.removed_bytes,
                                          .entries = r.entries,
                                          .bytes = r.bytes,
                                          .leftovers = r.swept};
    if (error == 0 && r.first_error == 0)
        return PTXGEN_OK;
    if (error == -EBUSY)
        return pg_fail(err, PTXGEN_EIO,
                       "the cache '%s' has been changed by %s for over %d s: end it or try again",
                       cache->path, r.holder, WAIT_MS / 1000);
    return pg_fail(err, PTXGEN_EIO, "cannot prune '%s' of the cache '%s': %s",
                   *r.first_name ? r.first_name : "v1", cache->path,
                   strerror(r.first_error ? r.first_error : -error));
}

ptxgen_status ptxgen_cache_prune(ptxgen_cache *cache, const ptxgen_cache_prune_rule *rule,
                                 ptxgen_cache_prune_result *result, ptxgen_error *err)
{
    ptxgen_cache_prune_result mine = {0};
    const ptxgen_status status = prune(cache, rule, &mine, err);
    pg_admin_give(result, &mine, sizeof mine);
    return status;
}

bool ptxgen_cache_counter_at(ptxgen_cache *cache, size_t i, ptxgen_cache_counter *out)
{
    uint64_t values[PG_COUNT_TOTAL];
    if (i >= PG_COUNT_TOTAL || cache->is_pack)
        return false;
    pg_cache_read_counts(cache->cache, values);
    *out =
        (ptxgen_cache_counter){pg_count_name((pg_count)i), pg_count_text((pg_count)i), values[i]};
    return true;
}

ptxgen_status ptxgen_cache_zero_counters(ptxgen_cache *cache, ptxgen_error *err)
{
    PG_TRY(pg_admin_need_folder(cache, "counting", err));
    const int r = pg_cache_zero_counts(cache->cache);
    return r == 0
               ? PTXGEN_OK
               : pg_fail(err, PTXGEN_EIO, "cannot write '%s/stats': %s", cache->path, strerror(-r));
}
