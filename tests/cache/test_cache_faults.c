/* Whatever the disk, an attacker or an administrator does to the folder: a lookup is right or a
 * miss, nothing hangs, nothing leaks, and the cache works again when the trouble is over. */
#include "cache_helpers.h"

#include "cache/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Everything a process does with the cache. Wrong bytes abort inside test_lookup. */
static void use_cache(const pg_cache_config *config)
{
    test_kernel k;
    test_kernel_make(&k, 1);
    pg_cache *cache = test_cache_open(config, NULL);
    uint64_t token;
    test_lookup(cache, 0);
    pg_cache_acquire(cache, k.key, k.key_size, &token);
    test_lookup(cache, 1);
    pg_cache_take_slot(cache, token);
    test_store(cache, 1);
    pg_cache_release(cache, token);
    test_lookup(cache, 1);
    test_kernel_make(&k, 2);
    pg_cache_reject(cache, k.key, k.key_size);
    test_store(cache, 3);
    pg_cache_destroy(cache);
}

static void expect_works(const char *dir)
{
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true, .wait_ms = 200}, NULL);
    test_kernel k;
    test_kernel_make(&k, 1);
    uint64_t token;
    pg_cache_acquire(cache, k.key, k.key_size, &token);
    assert_int_not_equal(token, 0);
    test_store(cache, 1);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
    assert_int_not_equal(test_lookup(cache, 0), PG_CACHE_FAILED);
    pg_cache_release(cache, token);
    pg_cache_destroy(cache);
}

static void each_call_may_fail(void **state)
{
    (void)state;
    const int errors[] = {EIO,    EROFS,  ENOSPC, EDQUOT, EACCES,
                          EMFILE, ESTALE, ENOLCK, ENOENT, EEXIST};
    size_t descriptors = open_descriptors();
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++)
        for (int forever = 0; forever < (e < 2 ? 2 : 1); forever++)
            for (uint64_t n = 1, done = 0; !done; n++) {
                test_folder folder;
                test_folder_make(&folder);
                pg_cache *before =
                    test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
                test_store(before, 0);
                test_store(before, 2);
                pg_cache_destroy(before);
                faulty_files f;
                faulty_files_init(&f);
                faulty_files_set(&f, NULL, errors[e], n, forever ? 1000000 : 1);
                use_cache(&(pg_cache_config){.dir = folder.path, .files = &f.files, .wait_ms = 20});
                done = f.calls < n;
                assert_int_equal(open_descriptors(), descriptors);
                expect_works(folder.path);
                test_folder_remove(&folder);
            }
}

static void trouble_is_said_once_and_writing_pauses(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    test_log log;
    test_log_init(&log);
    faulty_files f;
    faulty_files_init(&f);
    faulty_files_set(&f, "write_at", ENOSPC, 1, 1000);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .files = &f.files}, &log.log);
    for (uint64_t i = 0; i < 20; i++)
        test_store(cache, i);
    assert_int_equal(test_counter(cache, "write_errors"), 1);
    assert_int_equal(test_counter(cache, "stores_skipped"), 19);
    assert_int_equal(log.warnings, 1);
    assert_non_null(strstr(log.last, "No space left"));
    atomic_store(&cache->write_after_ms, 0); /* the pause is over */
    f.fail_count = 0;
    test_store(cache, 5);
    assert_int_equal(test_lookup(cache, 5), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* In a child of another user when this is root, who may write everywhere. */
static void a_folder_that_cannot_be_written_is_still_read(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    chmod(folder.path, 0777);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(9);
        char dir[600], shard[1024];
        snprintf(dir, sizeof dir, "%s/cache", folder.path);
        pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir}, NULL);
        test_kernel k;
        test_kernel_make(&k, 1);
        test_store(cache, 1);
        test_entry_path(dir, k.key, shard);
        *strrchr(shard, '/') = 0;
        chmod(shard, 0500);
        char v1[700];
        snprintf(v1, sizeof v1, "%s/v1", dir);
        chmod(v1, 0500);
        chmod(dir, 0500);
        uint64_t token;
        for (uint64_t i = 0; i < 5; i++) {
            test_store(cache, i);
            pg_cache_acquire(cache, k.key, k.key_size, &token);
            pg_cache_release(cache, token);
        }
        bool ok = test_lookup(cache, 1) == PG_CACHE_HIT && test_counter(cache, "write_errors") == 1;
        pg_cache_destroy(cache);
        cache = test_cache_open(&(pg_cache_config){.dir = dir}, NULL);
        ok = ok && test_lookup(cache, 1) == PG_CACHE_HIT;
        pg_cache_destroy(cache);
        /* and one that cannot be made at all */
        char below[700];
        snprintf(below, sizeof below, "%s/deeper", dir);
        cache = test_cache_open(&(pg_cache_config){.dir = below}, NULL);
        test_store(cache, 1);
        ok = ok && cache->opening != PG_OPENING_DONE && test_lookup(cache, 1) == PG_CACHE_MISS;
        pg_cache_destroy(cache);
        chmod(dir, 0700);
        chmod(v1, 0700);
        chmod(shard, 0700);
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    test_folder_remove(&folder);
}

static void every_flip_and_every_length_on_disk_is_a_miss(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel k;
    char path[1024];
    size_t n;
    test_kernel_make(&k, 2);
    test_entry_path(folder.path, k.key, path);
    test_store(cache, 2);
    unsigned char *bytes = test_read_file(path, &n);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= (unsigned char)(1 << i % 8);
        test_write_file(path, bytes, n);
        assert_int_equal(test_lookup(cache, 2), PG_CACHE_MISS);
        assert_int_equal(access(path, F_OK), -1); /* moved away */
        bytes[i] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t i = 0; i < n; i++) {
        test_write_file(path, bytes, i);
        assert_int_equal(test_lookup(cache, 2), PG_CACHE_MISS);
    }
    assert_int_equal(test_counter(cache, "corrupt"), 2 * n);
    test_store(cache, 2);
    assert_int_equal(test_lookup(cache, 2), PG_CACHE_HIT);
    char quarantine[600];
    size_t kept = 0;
    snprintf(quarantine, sizeof quarantine, "%s/quarantine", folder.path);
    DIR *d = opendir(quarantine);
    while (readdir(d))
        kept++;
    closedir(d);
    assert_in_range(kept - 2, 1, 16);
    free(bytes);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* What may lie where an entry is expected. */
typedef struct odd_thing {
    const char *name;
    void (*put)(const char *path, const char *valid);
} odd_thing;

static void put_nothing_in_it(const char *path, const char *valid)
{
    (void)valid;
    test_write_file(path, "", 0);
}
static void put_folder(const char *path, const char *valid)
{
    (void)valid;
    assert_int_equal(mkdir(path, 0700), 0);
}
static void put_fifo(const char *path, const char *valid)
{
    (void)valid;
    assert_int_equal(mkfifo(path, 0600), 0);
}
static void put_sparse_file(const char *path, const char *valid)
{
    (void)valid;
    test_write_file(path, "ptxgen\r\n", 8);
    assert_int_equal(truncate(path, (off_t)4 << 30), 0);
}
static void put_link_to_valid(const char *path, const char *valid)
{
    assert_int_equal(symlink(valid, path), 0);
}
static void put_link_to_zeros(const char *path, const char *valid)
{
    (void)valid;
    assert_int_equal(symlink("/dev/zero", path), 0);
}
static void put_socket(const char *path, const char *valid)
{
    (void)valid;
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.100s", path);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof a), 0);
    close(s);
}
static void put_writable_by_all(const char *path, const char *valid)
{
    assert_int_equal(rename(valid, path), 0);
    chmod(path, 0602);
}
static void put_hard_link_of_another_key(const char *path, const char *valid)
{
    (void)valid;
    test_kernel k;
    char other[1024];
    test_kernel_make(&k, 7);
    snprintf(other, sizeof other, "%s", path);
    *strstr(other, "/v1/") = 0;
    char dir[1024];
    snprintf(dir, sizeof dir, "%s", other);
    test_entry_path(dir, k.key, other);
    assert_int_equal(link(other, path), 0);
}

static void odd_things_at_an_entrys_place_are_misses(void **state)
{
    (void)state;
    const odd_thing things[] = {
        {"nothing", put_nothing_in_it},
        {"folder", put_folder},
        {"fifo", put_fifo},
        {"sparse", put_sparse_file},
        {"link to a valid entry", put_link_to_valid},
        {"link to zeros", put_link_to_zeros},
        {"socket", put_socket},
        {"writable", put_writable_by_all},
        {"hard link", put_hard_link_of_another_key},
    };
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
        test_folder folder;
        test_folder_make(&folder);
        pg_cache *cache =
            test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
        test_kernel k;
        char path[1024], valid[1100];
        test_kernel_make(&k, 2);
        test_entry_path(folder.path, k.key, path);
        snprintf(valid, sizeof valid, "%s.valid", path);
        test_store(cache, 2);
        test_store(cache, 7);
        assert_int_equal(rename(path, valid), 0);
        things[i].put(path, valid);
        alarm(20); /* a FIFO must not hang */
        pg_cache_found found = test_lookup(cache, 2);
        alarm(0);
        if (found != PG_CACHE_MISS)
            fail_msg("%s: was believed", things[i].name);
        test_store(cache, 2);
        if (test_lookup(cache, 2) != PG_CACHE_HIT)
            fail_msg("%s: did not heal", things[i].name);
        assert_int_equal(test_lookup(cache, 7), PG_CACHE_HIT);
        pg_cache_destroy(cache);
        test_folder_remove(&folder);
    }
}

static void an_entry_under_another_name_is_not_believed(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel a, b;
    char from[1024], to[1024];
    test_kernel_make(&a, 1);
    test_kernel_make(&b, 2);
    test_store(cache, 1);
    test_store(cache, 2);
    test_entry_path(folder.path, a.key, from);
    test_entry_path(folder.path, b.key, to);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(test_lookup(cache, 2), PG_CACHE_MISS);
    assert_int_equal(test_counter(cache, "other_key"), 1);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void each_byte_of_the_key_matters(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel k;
    test_kernel_make(&k, 1);
    test_store(cache, 1);
    pg_cache_entry e;
    for (size_t i = 0; i < k.key_size; i++) {
        k.key[i] ^= 1;
        assert_int_equal(pg_cache_lookup(cache, k.key, k.key_size, &e), PG_CACHE_MISS);
        k.key[i] ^= 1;
        assert_int_equal(pg_cache_lookup(cache, k.key, i, &e), PG_CACHE_MISS);
    }
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void a_linked_shard_is_not_followed(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel k;
    char shard[1024], aside[1100];
    test_kernel_make(&k, 1);
    test_store(cache, 1);
    test_entry_path(folder.path, k.key, shard);
    *strrchr(shard, '/') = 0;
    snprintf(aside, sizeof aside, "%s-aside", folder.path);
    assert_int_equal(rename(shard, aside), 0);
    assert_int_equal(symlink(aside, shard), 0);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_MISS);
    assert_int_equal(test_counter(cache, "untrusted"), 1);
    test_store(cache, 1);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder aside_folder;
    snprintf(aside_folder.path, sizeof aside_folder.path, "%.500s", aside);
    test_folder_remove(&aside_folder);
    test_folder_remove(&folder);
}

/* A valid cache folder, made untrustworthy in one way; is it used? */
static bool is_used(const char *dir, pg_cache_trust trust, uint32_t owner)
{
    faulty_files f;
    faulty_files_init(&f);
    f.owner = owner;
    test_log log;
    test_log_init(&log);
    pg_cache *cache = test_cache_open(
        &(pg_cache_config){.dir = dir, .trust = trust, .files = &f.files}, &log.log);
    bool on = cache->opening == PG_OPENING_DONE;
    assert_int_equal(log.warnings, on ? 0 : 1);
    assert_int_equal(test_lookup(cache, 1), on ? PG_CACHE_HIT : PG_CACHE_MISS);
    pg_cache_destroy(cache);
    return on;
}

static void folders_that_others_control_are_refused(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    char link[600], v1[600], relative[600];
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_store(cache, 1);
    pg_cache_destroy(cache);
    const pg_cache_trust owner = PG_CACHE_TRUST_OWNER, any = PG_CACHE_TRUST_ANY;
    assert_true(is_used(folder.path, owner, 0));
    assert_false(is_used(folder.path, owner, geteuid() + 12345));
    assert_true(is_used(folder.path, any, geteuid() + 12345));
    const mode_t modes[] = {0777, 0770, 0702};
    for (size_t i = 0; i < 3; i++) {
        chmod(folder.path, modes[i]);
        assert_false(is_used(folder.path, owner, 0));
        assert_true(is_used(folder.path, any, 0));
    }
    chmod(folder.path, 0755);
    assert_true(is_used(folder.path, owner, 0));
    snprintf(v1, sizeof v1, "%s/v1", folder.path);
    chmod(v1, 0777);
    assert_false(is_used(folder.path, owner, 0));
    chmod(v1, 0700);
    snprintf(link, sizeof link, "%.500s-link", folder.path);
    assert_int_equal(symlink(folder.path, link), 0);
    assert_false(is_used(link, any, 0));
    unlink(link);
    assert_int_equal(chdir("/"), 0);
    snprintf(relative, sizeof relative, "%s", folder.path + 1);
    assert_false(is_used(relative, any, 0));
    test_folder_remove(&folder);
}

static void raised_rights_mean_no_cache(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    test_folder folder;
    test_folder_make(&folder);
    pid_t pid = fork();
    if (pid == 0) {
        /* As a setuid program sees it: the effective user is not the real one. */
        if (setresuid(65534, 0, 0) != 0)
            _exit(9);
        const char *layers[] = {folder.path};
        pg_cache *cache = test_cache_open(
            &(pg_cache_config){.dir = folder.path, .layers = layers, .layer_count = 1}, NULL);
        bool off = cache->opening != PG_OPENING_DONE && cache->layer_count == 0;
        pg_cache_destroy(cache);
        _exit(off ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    test_folder_remove(&folder);
}

static void a_deleted_folder_is_made_again(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    char dir[600];
    snprintf(dir, sizeof dir, "%s/cache", folder.path);
    size_t descriptors = open_descriptors();
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true}, NULL);
    for (uint64_t i = 0; i < 3; i++) {
        test_store(cache, i);
        assert_int_equal(test_lookup(cache, i), PG_CACHE_HIT);
        test_folder inner;
        snprintf(inner.path, sizeof inner.path, "%.500s", dir);
        test_folder_remove(&inner);
        assert_int_equal(test_lookup(cache, i), PG_CACHE_MISS);
        uint64_t token;
        pg_cache_acquire(cache, "k", 1, &token);
        pg_cache_release(cache, token);
    }
    test_store(cache, 9);
    assert_int_equal(test_lookup(cache, 9), PG_CACHE_HIT);
    assert_int_equal(test_counter(cache, "write_errors"), 0);
    pg_cache_destroy(cache);
    assert_int_equal(open_descriptors(), descriptors);
    test_folder_remove(&folder);
}

static void a_long_path_works(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    char dir[600];
    size_t n = strlen(folder.path);
    memset(dir, 'd', sizeof dir);
    memcpy(dir, folder.path, n);
    dir[n] = '/';
    dir[240] = 0;
    assert_int_equal(strlen(dir), 240);
    expect_works(dir);
    test_folder_remove(&folder);
}

/* A network filesystem: no locks, names and handles that lag behind, renames that are refused once.
 */
static void network_filesystem_semantics(void **state)
{
    (void)state;
    const struct {
        const char *only;
        int error;
    } faults[] = {{"open", ESTALE}, {"stat", ESTALE}, {"read_at", ESTALE}, {"rename", EBUSY},
                  {"open", ENOENT}, {"read_at", EIO}, {"stat_at", ESTALE}, {"unlink", EBUSY}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (uint64_t at = 1; at < 12; at++) {
            test_folder folder;
            test_folder_make(&folder);
            faulty_files f;
            faulty_files_init(&f);
            f.filesystem = 0x6969;
            pg_cache *cache = test_cache_open(
                &(pg_cache_config){.dir = folder.path, .no_sync = true, .files = &f.files}, NULL);
            test_store(cache, 1);
            faulty_files_set(&f, faults[i].only, faults[i].error, at, 1);
            for (uint64_t k = 0; k < 4; k++) {
                test_lookup(cache, k);
                test_store(cache, k);
                atomic_store(&cache->write_after_ms, 0);
            }
            f.fail_count = 0;
            for (uint64_t k = 0; k < 4; k++) {
                if (test_lookup(cache, k) != PG_CACHE_HIT)
                    test_store(cache, k);
                assert_int_equal(test_lookup(cache, k), PG_CACHE_HIT);
            }
            assert_int_equal(test_counter(cache, "corrupt"), 0);
            pg_cache_destroy(cache);
            test_folder_remove(&folder);
        }
}

/* A handle that is stale once is looked up again at once. */
static void a_stale_handle_is_tried_again(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    faulty_files f;
    faulty_files_init(&f);
    pg_cache *cache = test_cache_open(
        &(pg_cache_config){.dir = folder.path, .no_sync = true, .files = &f.files}, NULL);
    test_store(cache, 1);
    faulty_files_set(&f, "stat", ESTALE, 1, 1);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void ten_thousand_keys_leak_nothing(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    failing_alloc a = {0};
    pg_alloc hook = failing_alloc_hook(&a);
    pg_cache *cache = NULL;
    assert_int_equal(pg_cache_create(&hook, NULL,
                                     &(pg_cache_config){.dir = folder.path, .no_sync = true},
                                     &cache, NULL),
                     PTXGEN_OK);
    test_store(cache, 0);
    test_lookup(cache, 0);
    size_t live = a.live, descriptors = open_descriptors();
    for (uint64_t i = 0; i < 10000; i++) {
        test_store(cache, i);
        assert_int_equal(test_lookup(cache, i), PG_CACHE_HIT);
    }
    assert_int_equal(a.live, live);
    assert_int_equal(open_descriptors(), descriptors);
    pg_cache_destroy(cache);
    assert_int_equal(a.live, 0);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(trouble_is_said_once_and_writing_pauses),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_still_read),
        cmocka_unit_test(every_flip_and_every_length_on_disk_is_a_miss),
        cmocka_unit_test(odd_things_at_an_entrys_place_are_misses),
        cmocka_unit_test(an_entry_under_another_name_is_not_believed),
        cmocka_unit_test(each_byte_of_the_key_matters),
        cmocka_unit_test(a_linked_shard_is_not_followed),
        cmocka_unit_test(folders_that_others_control_are_refused),
        cmocka_unit_test(raised_rights_mean_no_cache),
        cmocka_unit_test(a_deleted_folder_is_made_again),
        cmocka_unit_test(a_long_path_works),
        cmocka_unit_test(network_filesystem_semantics),
        cmocka_unit_test(a_stale_handle_is_tried_again),
        cmocka_unit_test(ten_thousand_keys_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
