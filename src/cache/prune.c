/* A file's date of modification is the hour in which it was last used (see touch in read.c).
 * Right before an entry is removed its date is looked at once more: a reader may have come in
 * between. A reader that has the file open keeps its bytes in any case. */
#include "cache/prune.h"

#include "base/sort.h"
#include "cache/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LEFTOVER_SECONDS = 3600, FUTURE_SECONDS = 3600 };

typedef struct counted {
    int64_t modified, used; /* the file's date; what it says */
    uint64_t size;
    char shard[3], leaf[31];
} counted;
_Static_assert(sizeof(counted) <= 64, "pg_sort moves at most 64 bytes");

typedef struct count {
    pg_cache *cache;
    pg_prune_result *result;
    pg_buf files; /* of counted */
    int64_t now;
    int shard; /* being listed */
    char shard_name[3];
    bool dry_run;
    int error;
} count;

static bool is_hex(const char *s, size_t n)
{
    return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* A date in the future tells nothing (the clock was set back): it counts as never used. */
static int64_t last_used(int64_t modified, int64_t now)
{
    return modified > now + FUTURE_SECONDS ? 0 : modified;
}

static void sweep(count *c, const char *name)
{
    const pg_files *files = c->cache->files;
    pg_file_stat st;
    if (files->stat_at(files->user, c->shard, name, &st) == 0 &&
        c->now - last_used(st.modified, c->now) > LEFTOVER_SECONDS &&
        (c->dry_run || files->unlink(files->user, c->shard, name) == 0))
        c->result->swept++;
}

static bool sweep_file(void *arg, const char *name)
{
    if (strncmp(name, ".tmp-", 5) == 0)
        sweep(arg, name);
    return true;
}

static bool count_file(void *arg, const char *name)
{
    count *c = arg;
    pg_file_stat st;
    sweep_file(c, name);
    if (!is_hex(name, 30) ||
        c->cache->files->stat_at(c->cache->files->user, c->shard, name, &st) < 0 ||
        st.type != PG_FILE_REGULAR)
        return true;
    counted file = {
        .modified = st.modified, .used = last_used(st.modified, c->now), .size = st.size};
    memcpy(file.shard, c->shard_name, sizeof file.shard);
    memcpy(file.leaf, name, sizeof file.leaf);
    pg_buf_append(&c->files, &file, sizeof file);
    return !c->files.failed;
}

static bool count_shard(void *arg, const char *name)
{
    count *c = arg;
    if (!is_hex(name, 2))
        return true;
    c->shard = pg_folder_open_shard(&c->cache->folder, name);
    int r = c->shard;
    if (r >= 0) {
        memcpy(c->shard_name, name, sizeof c->shard_name);
        r = c->cache->files->list(c->cache->files->user, c->shard, count_file, c);
        c->cache->files->close(c->cache->files->user, c->shard);
    } else if (pg_folder_has_none(r)) {
        r = 0;
    }
    if (c->files.failed)
        r = -ENOMEM;
    if (r < 0)
        snprintf(c->result->first_name, sizeof c->result->first_name, "v1/%s", name);
    c->error = r;
    return r == 0;
}

/* The longest unused first; of equal dates (they are exact to the hour only) by name. */
static int by_use(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->used != y->used)
        return x->used < y->used ? -1 : 1;
    const int d = strcmp(x->shard, y->shard);
    return d ? d : strcmp(x->leaf, y->leaf);
}

/* 0 also when it is gone already; 1 when it was used since. */
static int remove_file(pg_cache *cache, const counted *file)
{
    const pg_files *files = cache->files;
    int shard = pg_folder_open_shard(&cache->folder, file->shard);
    if (shard < 0)
        return shard == -ENOENT ? 0 : shard;
    pg_file_stat st;
    int r = files->stat_at(files->user, shard, file->leaf, &st);
    if (r == 0)
        r = st.modified != file->modified ? 1 : files->unlink(files->user, shard, file->leaf);
    files->close(files->user, shard);
    return r == -ENOENT ? 0 : r;
}

static void remove_oldest(count *c, const pg_prune_rule *rule, counted *files, size_t n)
{
    pg_prune_result *out = c->result;
    pg_sort(files, n, sizeof *files, by_use);
    for (size_t i = 0; i < n; i++) {
        int64_t age = c->now - files[i].used;
        bool over = out->bytes > rule->max_bytes || out->entries > rule->max_entries;
        bool old = rule->max_age >= 0 && age > rule->max_age;
        if (!over && !old)
            continue;
        if (rule->min_age >= 0 && age <= rule->min_age)
            continue;
        int r = rule->dry_run ? 0 : remove_file(c->cache, &files[i]);
        if (r == 0) {
            out->removed++;
            out->removed_bytes += files[i].size;
            out->entries--;
            out->bytes -= files[i].size;
        } else if (r < 0 && out->first_error == 0) {
            out->first_error = -r;
            snprintf(out->first_name, sizeof out->first_name, "v1/%s/%s", files[i].shard,
                     files[i].leaf);
        }
    }
}

int pg_prune_folder(pg_cache *cache, const pg_prune_rule *rule, pg_prune_result *result)
{
    count c = {.cache = cache,
               .result = result,
               .now = cache->files->now(cache->files->user),
               .dry_run = rule->dry_run};
    pg_buf_init(&c.files, &cache->alloc);
    c.shard = cache->folder.root;
    (void)cache->files->list(cache->files->user, cache->folder.root, sweep_file, &c);
    int r = pg_folder_list(&cache->folder, count_shard, &c);
    if (r == 0)
        r = c.error;
    if (r == 0) {
        counted *files = (counted *)(void *)c.files.data;
        size_t n = c.files.len / sizeof *files;
        for (size_t i = 0; i < n; i++)
            result->bytes += files[i].size;
        result->entries = n;
        if (n)
            remove_oldest(&c, rule, files, n);
    }
    pg_buf_fini(&c.files);
    return r;
}
