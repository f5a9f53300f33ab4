/* Made-up kernels and folders for the cache's tests. */
#include "cache_helpers.h"

#include "cache/counts.h"
#include "cache/folder.h"
#include "cache/state.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void keep_line(void *user, ptxgen_log_level level, const char *line)
{
    test_log *t = user;
    t->lines++;
    t->warnings += level <= PTXGEN_LOG_WARNING;
    snprintf(t->last, sizeof t->last, "%s", line);
}

void test_log_init(test_log *t)
{
    memset(t, 0, sizeof *t);
    t->log = (pg_log){keep_line, t, PTXGEN_LOG_DEBUG};
}

/* The cache keeps away from a disk with less than 64 MiB left, which is all that a container's
 * /dev/shm has. */
static const char *default_parent(void)
{
    struct statvfs s;
    const char *tmp = getenv("TMPDIR");
    if (tmp)
        return tmp;
    bool roomy = statvfs("/dev/shm", &s) == 0 && (uint64_t)s.f_bavail * s.f_frsize > (uint64_t)512
                                                                                         << 20;
    return roomy && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

void test_folder_make_in(test_folder *folder, const char *parent)
{
    snprintf(folder->path, sizeof folder->path, "%s/ptxgen-test-XXXXXX",
             parent ? parent : default_parent());
    assert_non_null(mkdtemp(folder->path));
}

void test_folder_make(test_folder *folder)
{
    test_folder_make_in(folder, NULL);
}

static void remove_tree(const char *path)
{
    chmod(path, 0700);
    DIR *d = opendir(path);
    if (d) {
        for (struct dirent *e; (e = readdir(d));) {
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            char child[4096];
            snprintf(child, sizeof child, "%s/%s", path, e->d_name);
            struct stat st;
            if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode))
                remove_tree(child);
            else
                unlink(child);
        }
        closedir(d);
    }
    rmdir(path);
}

void test_folder_remove(test_folder *folder)
{
    remove_tree(folder->path);
}

void test_entry_path(const char *dir, const char *key, char out[1024])
{
    pg_entry_name name = pg_entry_name_of(pg_hash(key, strlen(key)));
    snprintf(out, 1024, "%s/v1/%s/%s", dir, name.shard, name.leaf);
}

unsigned char *test_read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*n + 1);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

void test_write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    chmod(path, 0600);
}

void test_kernel_make(test_kernel *k, uint64_t i)
{
    memset(k, 0, sizeof *k);
    snprintf(k->key, sizeof k->key,
             "kernel=%llu\nfamily=made_up\narch=sm_90a\nassembler=none 1.0\n",
             (unsigned long long)i);
    k->key_size = strlen(k->key);
    snprintf(k->params, sizeof k->params, "n=%llu", (unsigned long long)i);
    uint64_t x = i * 0x9e3779b97f4a7c15u + 1;
    size_t cubin_size = 1 + (i * 977) % sizeof k->cubin, ptx_size = (i * 331) % sizeof k->ptx;
    for (size_t b = 0; b < cubin_size; b++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        k->cubin[b] = (unsigned char)(x >> 56);
    }
    for (size_t b = 0; b < ptx_size; b++)
        k->ptx[b] = (char)('a' + (b + i) % 26);
    k->entry = (pg_cache_entry){.message = "",
                                .error_file = "",
                                .family = "made_up",
                                .params = k->params,
                                .entry_name = "k",
                                .assembler = "none 1.0",
                                .log = i % 2 ? "a line\nanother" : "",
                                .arch = 901,
                                .registers = (int32_t)(i % 256),
                                .shared_bytes = 1024,
                                .local_bytes = -1,
                                .spill_bytes = -1,
                                .emit_us = 12.5,
                                .assemble_us = 1e4 + (double)i,
                                .created = 1700000000 + (int64_t)i % 1000,
                                .cubin = k->cubin,
                                .cubin_size = cubin_size,
                                .ptx = k->ptx,
                                .ptx_size = ptx_size};
}

bool test_kernel_equal(const test_kernel *k, const pg_cache_entry *e)
{
    const pg_cache_entry *w = &k->entry;
    return e->status == w->status && strcmp(e->family, w->family) == 0 &&
           strcmp(e->params, w->params) == 0 && strcmp(e->entry_name, w->entry_name) == 0 &&
           strcmp(e->assembler, w->assembler) == 0 && strcmp(e->log, w->log) == 0 &&
           strcmp(e->message, w->message) == 0 && e->arch == w->arch &&
           e->registers == w->registers && e->shared_bytes == w->shared_bytes &&
           e->local_bytes == w->local_bytes && e->spill_bytes == w->spill_bytes &&
           memcmp(&e->emit_us, &w->emit_us, sizeof(double)) == 0 &&
           memcmp(&e->assemble_us, &w->assemble_us, sizeof(double)) == 0 &&
           e->created == w->created && e->cubin_size == w->cubin_size &&
           memcmp(e->cubin, w->cubin, w->cubin_size) == 0 && e->ptx_size == w->ptx_size &&
           memcmp(e->ptx, w->ptx, w->ptx_size) == 0 && e->ptx[e->ptx_size] == 0 &&
           (uintptr_t)e->cubin % 64 == 0;
}

pg_cache *test_cache_open(const pg_cache_config *config, const pg_log *log)
{
    pg_cache *cache = NULL;
    ptxgen_error err;
    assert_int_equal(pg_cache_create(&pg_alloc_libc, log, config, &cache, &err), PTXGEN_OK);
    return cache;
}

pg_cache_found test_lookup(pg_cache *cache, uint64_t i)
{
    test_kernel k;
    pg_cache_entry e;
    test_kernel_make(&k, i);
    pg_cache_found found = pg_cache_lookup(cache, k.key, k.key_size, &e);
    if (found == PG_CACHE_HIT && !test_kernel_equal(&k, &e)) {
        fprintf(stderr, "a wrong kernel was returned for number %llu\n", (unsigned long long)i);
        abort(); /* also from a thread or child process */
    }
    pg_cache_entry_release(cache, &e);
    return found;
}

void test_store(pg_cache *cache, uint64_t i)
{
    test_kernel k;
    test_kernel_make(&k, i);
    pg_cache_store(cache, k.key, k.key_size, &k.entry);
}

uint64_t test_counter(pg_cache *cache, const char *name)
{
    for (pg_count id = 0; id < PG_COUNT_TOTAL; id++)
        if (strcmp(pg_count_name(id), name) == 0)
            return pg_count_get(&cache->counts, id);
    fail_msg("no counter '%s'", name);
    return 0;
}

pg_usage test_exact_usage(const char *dir)
{
    pg_space_ticket t;
    pg_prune_result r;
    pg_cache *cache = test_cache_open(
        &(pg_cache_config){.dir = dir, .max_bytes = UINT64_MAX, .max_entries = UINT64_MAX}, NULL);
    assert_int_equal(pg_space_enter(cache, 0, &t), 0);
    pg_space_leave(cache, &t, 0, 0);
    assert_int_equal(
        pg_space_prune(cache, &(pg_prune_rule){UINT64_MAX, UINT64_MAX, -1, -1, false}, 1000, &r),
        0);
    assert_int_equal(t.usage.entries, r.entries);
    assert_int_equal(t.usage.bytes, r.bytes);
    pg_cache_destroy(cache);
    return t.usage;
}
