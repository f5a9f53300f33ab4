/* Store, look up, clear, rights, umask: the cache as one process sees it. */
#include "cache_helpers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void without_a_folder_every_lookup_misses(void **state)
{
    (void)state;
    pg_cache *cache = test_cache_open(&(pg_cache_config){0}, NULL);
    uint64_t token = 9;
    test_store(cache, 1);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_MISS);
    pg_cache_acquire(cache, "k", 1, &token);
    assert_int_equal(token, 0);
    pg_cache_take_slot(cache, token);
    pg_cache_release(cache, token);
    assert_int_equal(pg_cache_clear(cache, NULL), PTXGEN_OK);
    pg_cache_destroy(cache);
    pg_cache_destroy(NULL);
}

static void what_is_stored_is_found_by_any_cache(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .no_sync = true};
    pg_cache *a = test_cache_open(&config, NULL), *b = test_cache_open(&config, NULL);
    for (uint64_t i = 0; i < 200; i++) {
        assert_int_equal(test_lookup(a, i), PG_CACHE_MISS);
        test_store(a, i);
        assert_int_equal(test_lookup(b, i), PG_CACHE_HIT);
    }
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(test_lookup(a, i), PG_CACHE_HIT);
    ptxgen_cache_info info = {.size = sizeof info};
    pg_cache_fill_info(a, &info);
    assert_int_equal(info.disk_hits, 200);
    assert_int_equal(info.disk_errors, 0);
    assert_string_equal(info.dir, folder.path);
    assert_int_equal(pg_cache_clear(b, NULL), PTXGEN_OK);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(test_lookup(a, i), PG_CACHE_MISS);
    pg_cache_destroy(a);
    pg_cache_destroy(b);
    test_folder_remove(&folder);
}

static void a_failure_is_believed_for_a_while(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    faulty_files f;
    faulty_files_init(&f);
    pg_cache *cache = test_cache_open(
        &(pg_cache_config){
            .dir = folder.path, .no_sync = true, .failure_ttl = 100, .files = &f.files},
        NULL);
    pg_cache_entry failure = {.status = PTXGEN_EASSEMBLE, .message = "no", .log = "line 3"}, e;
    pg_cache_store(cache, "k=1\n", 4, &failure);
    assert_int_equal(pg_cache_lookup(cache, "k=1\n", 4, &e), PG_CACHE_FAILED);
    assert_string_equal(e.log, "line 3");
    pg_cache_entry_release(cache, &e);
    f.clock_offset = 98;
    assert_int_equal(pg_cache_lookup(cache, "k=1\n", 4, &e), PG_CACHE_FAILED);
    pg_cache_entry_release(cache, &e);
    const int64_t too_late[] = {103, 100000, -3600}; /* the last: stored "in the future" */
    for (size_t i = 0; i < 3; i++) {
        f.clock_offset = too_late[i];
        assert_int_equal(pg_cache_lookup(cache, "k=1\n", 4, &e), PG_CACHE_MISS);
    }
    assert_int_equal(test_counter(cache, "quarantined"), 0);
    /* The next result replaces it. */
    pg_cache_entry kernel = {.cubin = "x", .cubin_size = 1};
    pg_cache_store(cache, "k=1\n", 4, &kernel);
    assert_int_equal(pg_cache_lookup(cache, "k=1\n", 4, &e), PG_CACHE_HIT);
    pg_cache_entry_release(cache, &e);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* Not root's business: a child of another user, under each umask. */
static void any_umask_gives_private_usable_files(void **state)
{
    (void)state;
    const mode_t masks[] = {0, 077, 0777};
    for (size_t i = 0; i < 3; i++) {
        test_folder folder;
        test_folder_make(&folder);
        chmod(folder.path, 0777);
        pid_t pid = fork();
        if (pid == 0) {
            if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
                _exit(1);
            umask(masks[i]);
            char dir[600], path[1024];
            snprintf(dir, sizeof dir, "%s/deeper/cache", folder.path);
            pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir}, NULL);
            uint64_t token;
            pg_cache_acquire(cache, "k", 1, &token);
            test_store(cache, 4);
            bool ok = token != 0 && test_lookup(cache, 4) == PG_CACHE_HIT;
            pg_cache_release(cache, token);
            pg_cache_acquire(cache, "k", 1, &token);
            ok = ok && token != 0;
            test_kernel k;
            test_kernel_make(&k, 4);
            test_entry_path(dir, k.key, path);
            struct stat st;
            ok = ok && stat(path, &st) == 0 && (st.st_mode & 07777) == 0600;
            *strrchr(path, '/') = 0;
            ok = ok && stat(path, &st) == 0 && (st.st_mode & 07777) == 0700;
            ok = ok && stat(dir, &st) == 0 && (st.st_mode & 07777) == 0700;
            pg_cache_destroy(cache);
            _exit(ok ? 0 : 2);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
        test_folder_remove(&folder);
    }
}

static void the_driver_can_reject(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
    test_kernel k;
    test_kernel_make(&k, 4);
    test_store(cache, 4);
    pg_cache_reject(cache, k.key, k.key_size);
    assert_int_equal(test_lookup(cache, 4), PG_CACHE_MISS);
    pg_cache_reject(cache, k.key, k.key_size);
    test_store(cache, 4);
    assert_int_equal(test_lookup(cache, 4), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void no_memory_is_a_miss(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .no_sync = true};
    for (size_t n = 1;; n++) {
        failing_alloc f = {.fail_at = n};
        pg_alloc hook = failing_alloc_hook(&f);
        pg_cache *cache = NULL;
        ptxgen_error err;
        ptxgen_status status = pg_cache_create(&hook, NULL, &config, &cache, &err);
        if (status == PTXGEN_OK) {
            test_store(cache, n);
            test_lookup(cache, n);
            pg_cache_destroy(cache);
        } else {
            assert_int_equal(status, PTXGEN_ENOMEM);
        }
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_folder_every_lookup_misses),
        cmocka_unit_test(what_is_stored_is_found_by_any_cache),
        cmocka_unit_test(a_failure_is_believed_for_a_while),
        cmocka_unit_test(any_umask_gives_private_usable_files),
        cmocka_unit_test(the_driver_can_reject),
        cmocka_unit_test(no_memory_is_a_miss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
