/* The administration calls, on a folder and on a pack. */
#include "cache_helpers.h"

#include "ptxgen/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 30 };

static ptxgen_error err;

static void fill(const char *dir)
{
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true}, NULL);
    for (uint64_t i = 0; i < KERNELS; i++) {
        test_lookup(cache, i);
        test_store(cache, i);
        test_lookup(cache, i);
    }
    pg_cache_store(cache, "bad=1\n", 6,
                   &(pg_cache_entry){
                       .status = PTXGEN_EASSEMBLE, .message = "no such opcode", .error_line = 4});
    pg_cache_destroy(cache);
}

static ptxgen_cache *open_admin(const char *path)
{
    ptxgen_cache *cache = NULL;
    if (ptxgen_cache_open(path, NULL, &cache, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return cache;
}

typedef struct seen {
    size_t sound, failures, damaged;
    bool is_pack;
} seen;

static bool see(void *user, const ptxgen_cache_record *r)
{
    seen *s = user;
    assert_int_equal(strlen(r->hash), 32);
    assert_true(*r->path == '/' && r->file_bytes > 0 && r->used > 1600000000);
    if (*r->fault) {
        s->damaged++;
        return true;
    }
    if (r->status != PTXGEN_OK) {
        s->failures++;
        assert_string_equal(r->message, "no such opcode");
        assert_int_equal(r->error_line, 4);
        return true;
    }
    unsigned long long i;
    assert_int_equal(sscanf(r->key, "kernel=%llu\n", &i), 1);
    test_kernel k;
    test_kernel_make(&k, i);
    assert_string_equal(r->key, k.key);
    assert_string_equal(r->params, k.params);
    assert_int_equal(r->cubin_size, k.entry.cubin_size);
    assert_memory_equal(r->cubin, k.cubin, r->cubin_size);
    assert_memory_equal(r->ptx, k.ptx, r->ptx_size);
    assert_int_equal(r->arch, 901);
    char path[1024];
    test_entry_path("", k.key, path);
    if (!s->is_pack)
        assert_non_null(strstr(r->path, path));
    s->sound++;
    return true;
}

static void every_entry_is_seen_and_nothing_changes(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    test_kernel k;
    test_kernel_make(&k, 2);
    char path[1024];
    test_entry_path(folder.path, k.key, path);
    test_write_file(path, "damaged", 7);
    const struct timespec old[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1700000000}};
    utimensat(AT_FDCWD, path, old, 0);
    ptxgen_cache *cache = open_admin(folder.path);
    for (int round = 0; round < 2; round++) {
        seen s = {0};
        assert_int_equal(ptxgen_cache_each(cache, see, &s, &err), PTXGEN_OK);
        assert_true(s.sound == KERNELS - 1 && s.failures == 1 && s.damaged == 1);
    }
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1700000000);
    assert_string_equal(ptxgen_cache_path(cache), folder.path);

    char pack[600];
    snprintf(pack, sizeof pack, "%s.pack", folder.path);
    ptxgen_cache_transfer t = {.size = sizeof t};
    assert_int_equal(ptxgen_cache_export(cache, pack, NULL, NULL, &t, &err), PTXGEN_OK);
    assert_int_equal(t.damaged, 1);
    ptxgen_cache_close(cache);
    cache = open_admin(pack);
    seen s = {.is_pack = true};
    assert_int_equal(ptxgen_cache_each(cache, see, &s, &err), PTXGEN_OK);
    assert_true(s.sound == KERNELS - 1 && s.failures == 0 && s.damaged == 0);
    ptxgen_cache_usage u = {.size = sizeof u};
    assert_int_equal(ptxgen_cache_measure(cache, &u, &err), PTXGEN_OK);
    assert_int_equal(u.entries, KERNELS - 1);
    ptxgen_cache_close(cache);
    unlink(pack);
    test_folder_remove(&folder);
}

static bool is_kernel_3(void *user, const ptxgen_cache_record *r)
{
    *(bool *)user = strncmp(r->key, "kernel=3\n", 9) == 0;
    return true;
}

static void one_is_found_by_hash_or_key(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    ptxgen_cache *cache = open_admin(folder.path);
    test_kernel k;
    test_kernel_make(&k, 3);
    char hex[33];
    pg_hash_hex(pg_hash(k.key, k.key_size), hex);
    bool found = false;
    assert_int_equal(ptxgen_cache_find(cache, k.key, is_kernel_3, &found, &err), PTXGEN_OK);
    assert_true(found);
    for (size_t n = 8; n <= 32; n += 8) {
        char prefix[33];
        snprintf(prefix, sizeof prefix, "%.*s", (int)n, hex);
        found = false;
        assert_int_equal(ptxgen_cache_find(cache, prefix, is_kernel_3, &found, &err), PTXGEN_OK);
        assert_true(found);
    }
    const char *wrong[] = {
        "", "abc", "ABCDEF", "kernel=77777\n", "00000000000000000000000000000000", "xyzw"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ptxgen_cache_find(cache, wrong[i], is_kernel_3, &found, &err),
                         PTXGEN_EINVAL);
    ptxgen_cache_close(cache);
    test_folder_remove(&folder);
}

static bool kernels_5_differ(void *user, const ptxgen_cache_record *r, char *why, size_t n)
{
    ++*(size_t *)user;
    if (strncmp(r->key, "kernel=5\n", 9) != 0)
        return true;
    snprintf(why, n, "the cubin is %zu bytes", r->cubin_size);
    return false;
}

static bool count_report(void *user, const ptxgen_cache_record *r)
{
    assert_true(*r->fault);
    ++*(size_t *)user;
    return true;
}

static void verify_finds_damage_and_difference(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    test_kernel k;
    char path[1024], other[1024];
    test_kernel_make(&k, 2);
    test_entry_path(folder.path, k.key, path);
    chmod(path, 0666); /* untrusted */
    test_kernel_make(&k, 8);
    test_entry_path(folder.path, k.key, path);
    test_kernel_make(&k, 9);
    test_entry_path(folder.path, k.key, other);
    assert_int_equal(rename(path, other), 0); /* holds another key */
    ptxgen_cache *cache = open_admin(folder.path);
    size_t calls = 0;
    ptxgen_cache_check_result r = {.size = sizeof r};
    ptxgen_cache_check check = {.size = sizeof check, .report = count_report, .user = &calls};
    assert_int_equal(ptxgen_cache_verify(cache, NULL, &check, &r, &err), PTXGEN_OK);
    assert_true(r.checked == KERNELS && r.damaged == 2 && r.different == 0 && calls == 2);
    calls = 0;
    check.report = NULL;
    check.compare = kernels_5_differ;
    assert_int_equal(ptxgen_cache_verify(cache, NULL, &check, &r, &err), PTXGEN_OK);
    assert_true(r.damaged == 2 && r.different == 1 && calls == KERNELS - 2); /* not the damaged */
    test_kernel_make(&k, 4);
    assert_int_equal(ptxgen_cache_verify(cache, k.key, NULL, &r, &err), PTXGEN_OK);
    assert_true(r.checked == 1 && r.damaged == 0);
    check = (ptxgen_cache_check){.size = sizeof check, .quarantine = true};
    assert_int_equal(ptxgen_cache_verify(cache, NULL, &check, &r, &err), PTXGEN_OK);
    assert_int_equal(r.damaged, 2);
    assert_int_equal(ptxgen_cache_verify(cache, NULL, &check, &r, &err), PTXGEN_OK);
    assert_true(r.checked == KERNELS - 2 && r.damaged == 0);
    ptxgen_cache_usage u = {.size = sizeof u};
    assert_int_equal(ptxgen_cache_measure(cache, &u, &err), PTXGEN_OK);
    assert_true(u.quarantined == 2 && u.quarantined_bytes > 0 && u.entries == KERNELS - 2 &&
                u.failures == 1);
    ptxgen_cache_close(cache);
    test_folder_remove(&folder);
}

static void prune_by_age_and_size(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    for (uint64_t i = 0; i < KERNELS; i++) {
        test_kernel k;
        char path[1024];
        test_kernel_make(&k, i);
        test_entry_path(folder.path, k.key, path);
        const struct timespec t[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = time(NULL) - (int64_t)i * 1000}};
        utimensat(AT_FDCWD, path, t, 0);
    }
    ptxgen_cache *cache = open_admin(folder.path);
    ptxgen_cache_prune_result r = {.size = sizeof r};
    ptxgen_cache_prune_rule rule = {.size = sizeof rule};
    assert_int_equal(ptxgen_cache_prune(cache, &rule, &r, &err), PTXGEN_OK);
    assert_true(r.removed == 0 && r.entries == KERNELS + 1);
    rule.unused_for_s = 20500;
    assert_int_equal(ptxgen_cache_prune(cache, &rule, &r, &err), PTXGEN_OK);
    assert_true(r.removed == KERNELS - 21 && r.entries == 22);
    rule = (ptxgen_cache_prune_rule){.size = sizeof rule, .max_entries = 5};
    assert_int_equal(ptxgen_cache_prune(cache, &rule, &r, &err), PTXGEN_OK);
    assert_int_equal(r.entries, 5);
    rule = (ptxgen_cache_prune_rule){.size = sizeof rule, .max_bytes = r.bytes - 1};
    assert_int_equal(ptxgen_cache_prune(cache, &rule, &r, &err), PTXGEN_OK);
    assert_int_equal(r.entries, 4);
    rule = (ptxgen_cache_prune_rule){.size = sizeof rule, .everything = true};
    assert_int_equal(ptxgen_cache_prune(cache, &rule, &r, &err), PTXGEN_OK);
    assert_true(r.entries == 0 && r.bytes == 0 && r.removed == 4);
    ptxgen_cache_close(cache);
    test_folder_remove(&folder);
}

static uint64_t saved_counter(ptxgen_cache *cache, const char *name)
{
    ptxgen_cache_counter c;
    for (size_t i = 0; ptxgen_cache_counter_at(cache, i, &c); i++)
        if (strcmp(c.name, name) == 0)
            return c.value;
    fail_msg("no counter '%s'", name);
    return 0;
}

static void counters_outlive_their_process(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    fill(folder.path);
    ptxgen_cache *cache = open_admin(folder.path);
    assert_int_equal(saved_counter(cache, "hits"), 3 * KERNELS);
    assert_int_equal(saved_counter(cache, "stores"), 2 * (KERNELS + 1));
    assert_int_equal(saved_counter(cache, "corrupt"), 0);
    char path[600];
    snprintf(path, sizeof path, "%s/stats", folder.path);
    size_t n;
    unsigned char *bytes = test_read_file(path, &n);
    for (size_t i = 0; i < n; i++) { /* damage means zero, not nonsense */
        bytes[i] ^= 4;
        test_write_file(path, bytes, n);
        assert_int_equal(saved_counter(cache, "hits"), 0);
        bytes[i] ^= 4;
    }
    free(bytes);
    ptxgen_cache_close(cache);
    test_folder_remove(&folder);
}

static const char base_key[] =
    "schema=1\nfamily=scatter_add\ndtype=bf16\nn=512\nindex=i64\narch=sm_90a\n"
    "assembler=ptxas 13.0.88\n";

static void nearest_says_what_differs(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    const char *keys[] = {
        base_key,
        "schema=1\nfamily=scatter_add\ndtype=f32\nn=512\nindex=i32\narch=sm_100a\nassembler=ptxas "
        "13.0.88\n",
        "schema=1\nfamily=matmul\nm=1\nn=2\narch=sm_100a\nassembler=ptxas 13.0.88\n",
    };
    ptxgen_cache *admin = open_admin(folder.path);
    ptxgen_cache_nearest_result r = {.size = sizeof r};
    assert_int_equal(ptxgen_cache_nearest(admin, base_key, &r, &err), PTXGEN_EMISSING);
    for (size_t i = 0; i < 3; i++)
        pg_cache_store(cache, keys[i], strlen(keys[i]),
                       &(pg_cache_entry){.cubin = "x", .cubin_size = 1});
    assert_int_equal(ptxgen_cache_nearest(admin, base_key, &r, &err), PTXGEN_OK);
    assert_int_equal(r.different, 0);
    assert_int_equal(
        ptxgen_cache_nearest(admin,
                             "schema=1\nfamily=scatter_add\ndtype=bf16\nn=516\nindex=i64\n"
                             "arch=sm_90a\nassembler=ptxas 13.1.1\nextra=7\n",
                             &r, &err),
        PTXGEN_OK);
    assert_true(r.different == 3 && r.listed == 3);
    const char *want[][3] = {
        {"n", "516", "512"}, {"assembler", "ptxas 13.1.1", "ptxas 13.0.88"}, {"extra", "7", ""}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(r.difference[i].name, want[i][0]);
        assert_string_equal(r.difference[i].wanted, want[i][1]);
        assert_string_equal(r.difference[i].found, want[i][2]);
    }
    char hex[33];
    pg_hash_hex(pg_hash(base_key, strlen(base_key)), hex);
    assert_string_equal(r.hash, hex);
    ptxgen_cache_close(admin);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void opening_says_what_is_wrong(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    ptxgen_cache *cache = NULL;
    char path[600];
    snprintf(path, sizeof path, "%s/none", folder.path);
    assert_int_equal(ptxgen_cache_open(path, NULL, &cache, &err), PTXGEN_EMISSING);
    assert_int_equal(ptxgen_cache_open("", NULL, &cache, &err), PTXGEN_EINVAL);
    test_write_file(path, "no pack", 7);
    assert_int_equal(ptxgen_cache_open(path, NULL, &cache, &err), PTXGEN_EPARSE);
    unlink(path);
    ptxgen_cache_options o = {.size = sizeof o, .create = true};
    assert_int_equal(ptxgen_cache_open(path, &o, &cache, &err), PTXGEN_OK);
    ptxgen_cache_close(cache);
    chmod(path, 0777);
    assert_int_equal(ptxgen_cache_open(path, NULL, &cache, &err), PTXGEN_EIO);
    assert_non_null(strstr(err.message, "chmod"));
    o.trust_any = true;
    assert_int_equal(ptxgen_cache_open(path, &o, &cache, &err), PTXGEN_OK);
    ptxgen_cache_close(cache);
    ptxgen_cache_close(NULL);
    test_folder_remove(&folder);
}

static void no_memory_is_said(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    fill(folder.path);
    for (size_t n = 1;; n++) {
        failing_alloc f = {.fail_at = n, .forever = true};
        pg_alloc hook = failing_alloc_hook(&f);
        ptxgen_cache_options o = {.size = sizeof o, .realloc = hook.realloc, .user = hook.user};
        ptxgen_cache *cache = NULL;
        ptxgen_cache_nearest_result r = {.size = sizeof r};
        if (ptxgen_cache_open(folder.path, &o, &cache, &err) != PTXGEN_OK)
            assert_int_equal(err.status, PTXGEN_ENOMEM);
        else
            ptxgen_cache_nearest(cache, base_key, &r, &err);
        ptxgen_cache_close(cache);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_seen_and_nothing_changes),
        cmocka_unit_test(one_is_found_by_hash_or_key),
        cmocka_unit_test(verify_finds_damage_and_difference),
        cmocka_unit_test(prune_by_age_and_size),
        cmocka_unit_test(counters_outlive_their_process),
        cmocka_unit_test(nearest_says_what_differs),
        cmocka_unit_test(opening_says_what_is_wrong),
        cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
