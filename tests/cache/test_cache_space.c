/* Limits: what is removed, what never is, and that the sums stay exact. */
#include "cache_helpers.h"

#include "cache/space.h"
#include "cache/state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void date_entry(const char *dir, uint64_t i, int64_t seconds_ago)
{
    test_kernel k;
    char path[1024];
    test_kernel_make(&k, i);
    test_entry_path(dir, k.key, path);
    const struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - seconds_ago}};
    assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void the_longest_unused_go_first(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .no_sync = true, .max_entries = 100};
    pg_cache *cache = test_cache_open(&config, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        test_store(cache, i);
        date_entry(folder.path, i, 10000 + 100 * (int64_t)((i * 37) % 100));
    }
    test_exact_usage(folder.path);
    /* A hit dates the entry: number 73 (37 * 73 % 100 = 1) was nearly the newest; take the oldest,
     * 27. */
    assert_int_equal((27 * 37) % 100, 99);
    assert_int_equal(test_lookup(cache, 27), PG_CACHE_HIT);
    test_store(cache, 100);
    pg_usage u = test_exact_usage(folder.path);
    assert_in_range(u.entries, 80, 100);
    for (uint64_t i = 0; i < 100; i++) {
        bool oldest = (i * 37) % 100 >= u.entries - 1 && i != 27;
        /* those that stay are the most recently used */
        if (test_lookup(cache, i) == PG_CACHE_HIT)
            assert_true((i * 37) % 100 <= u.entries || i == 27);
        else
            assert_true(oldest || (i * 37) % 100 >= u.entries - 2);
    }
    assert_int_equal(test_lookup(cache, 27), PG_CACHE_HIT);
    assert_int_equal(test_lookup(cache, 100), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void young_entries_are_never_evicted(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    test_log log;
    test_log_init(&log);
    pg_cache_config config = {.dir = folder.path, .no_sync = true, .max_entries = 10};
    pg_cache *cache = test_cache_open(&config, &log.log);
    for (uint64_t i = 0; i < 30; i++)
        test_store(cache, i);
    for (uint64_t i = 0; i < 30; i++)
        assert_int_equal(test_lookup(cache, i), i < 10 ? PG_CACHE_HIT : PG_CACHE_MISS);
    assert_int_equal(test_counter(cache, "stores_skipped"), 20);
    assert_int_equal(test_counter(cache, "evicted"), 0);
    assert_int_equal(log.warnings, 1);
    assert_int_equal(test_exact_usage(folder.path).entries, 10);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void bytes_are_limited_whatever_the_dates(void **state)
{
    (void)state;
    /* in the past, in the future (a clock that was set back), all equal */
    const int64_t ages[] = {365 * 86400, -365 * 86400, 0};
    for (size_t a = 0; a < 3; a++) {
        test_folder folder;
        test_folder_make(&folder);
        pg_cache_config config = {
            .dir = folder.path, .no_sync = true, .max_bytes = 100000, .min_age_s = -1};
        pg_cache *cache = test_cache_open(&config, NULL);
        for (uint64_t i = 0; i < 200; i++) {
            test_store(cache, i);
            if (test_lookup(cache, i) == PG_CACHE_HIT)
                date_entry(folder.path, i, ages[a]);
        }
        pg_usage u = test_exact_usage(folder.path);
        assert_in_range(u.bytes, 50000, 100000);
        assert_int_equal(test_counter(cache, "stores"), 200);
        assert_int_equal(test_counter(cache, "write_errors"), 0);
        pg_cache_destroy(cache);
        test_folder_remove(&folder);
    }
}

/* stat_at that lets a reader use each entry right after it was counted: the second look finds it
 * dated anew. */
static int stat_at_after_use(void *user, int folder, const char *name, pg_file_stat *out)
{
    static size_t looks;
    (void)user;
    if (strlen(name) == 30 && looks++ >= 5)
        utimensat(folder, name, NULL, 0);
    return pg_files_libc.stat_at(NULL, folder, name, out);
}

static void what_is_used_while_room_is_made_stays(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    for (uint64_t i = 0; i < 5; i++) {
        test_store(cache, i);
        date_entry(folder.path, i, 100000);
    }
    pg_cache_destroy(cache);
    pg_files files = pg_files_libc;
    files.stat_at = stat_at_after_use;
    cache = test_cache_open(&(pg_cache_config){.dir = folder.path, .files = &files}, NULL);
    pg_prune_result r;
    assert_int_equal(pg_space_prune(cache, &(pg_prune_rule){0, 0, 3600, -1, false}, 1000, &r), 0);
    assert_true(r.removed == 0 && r.entries == 5);
    pg_cache_destroy(cache);
    assert_int_equal(test_exact_usage(folder.path).entries, 5);
    test_folder_remove(&folder);
}

/* Not young, though their date is later than now: a clock that was set back must not fill the
 * folder. */
static void entries_of_the_future_go_first(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .no_sync = true, .max_entries = 20};
    pg_cache *cache = test_cache_open(&config, NULL);
    for (uint64_t i = 0; i < 20; i++) {
        test_store(cache, i);
        date_entry(folder.path, i, i < 10 ? -400 * 86400 : 8000);
    }
    for (uint64_t i = 20; i < 25; i++)
        test_store(cache, i);
    assert_int_equal(test_counter(cache, "stores"), 25);
    for (uint64_t i = 10; i < 25; i++)
        assert_int_equal(test_lookup(cache, i), PG_CACHE_HIT);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void an_entry_larger_than_the_limit_is_not_stored(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .max_bytes = 1000}, NULL);
    test_store(cache, 9);
    assert_int_equal(test_lookup(cache, 9), PG_CACHE_MISS);
    assert_int_equal(test_exact_usage(folder.path).entries, 0);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void replacing_and_losing_entries_is_booked(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel k;
    for (uint64_t i = 0; i < 20; i++)
        test_store(cache, i);
    for (uint64_t i = 0; i < 20; i++) { /* other bytes under the same key */
        test_kernel_make(&k, i);
        k.entry.cubin_size = 1;
        pg_cache_store(cache, k.key, k.key_size, &k.entry);
    }
    assert_int_equal(test_exact_usage(folder.path).entries, 20);
    test_kernel_make(&k, 3);
    pg_cache_reject(cache, k.key, k.key_size);
    assert_int_equal(test_exact_usage(folder.path).entries, 19);
    assert_int_equal(pg_cache_clear(cache, NULL), PTXGEN_OK);
    pg_usage u = test_exact_usage(folder.path);
    assert_true(u.entries == 0 && u.bytes == 0);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void a_nearly_full_disk_is_left_alone(void **state)
{
    (void)state;
    for (int inodes = 0; inodes < 2; inodes++) {
        test_folder folder;
        test_folder_make(&folder);
        faulty_files f;
        faulty_files_init(&f);
        pg_cache *cache = test_cache_open(
            &(pg_cache_config){.dir = folder.path, .no_sync = true, .files = &f.files}, NULL);
        test_store(cache, 1);
        date_entry(folder.path, 1, 100000);
        *(inodes ? &f.free_files : &f.free_bytes) = 5;
        test_store(cache, 2);
        assert_int_equal(test_lookup(cache, 2), PG_CACHE_MISS);
        assert_int_equal(test_counter(cache, "stores_skipped"), 1);
        /* It gave back what it could. */
        assert_int_equal(test_lookup(cache, 1), PG_CACHE_MISS);
        pg_cache_destroy(cache);
        test_folder_remove(&folder);
    }
}

static void leftovers_are_swept_and_strangers_kept(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    test_kernel k;
    char path[1024], shard[1024];
    test_store(cache, 1);
    test_kernel_make(&k, 1);
    test_entry_path(folder.path, k.key, shard);
    *strrchr(shard, '/') = 0;
    const char *names[] = {".tmp-0123456789abcdef", ".tmp-fresh", ".nfs0001", "README"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%.900s/%s", shard, names[i]);
        test_write_file(path, "x", 1);
        const struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 7200}};
        if (i != 1)
            utimensat(AT_FDCWD, path, t, 0);
    }
    pg_prune_result r;
    assert_int_equal(
        pg_space_prune(cache, &(pg_prune_rule){UINT64_MAX, UINT64_MAX, -1, -1, false}, 1000, &r),
        0);
    assert_int_equal(r.swept, 1);
    assert_int_equal(r.entries, 1);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%.900s/%s", shard, names[i]);
        assert_int_equal(access(path, F_OK), i == 0 ? -1 : 0);
    }
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void a_torn_usage_file_is_counted_again(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .no_sync = true}, NULL);
    char path[600];
    snprintf(path, sizeof path, "%s/usage", folder.path);
    for (uint64_t i = 0; i < 5; i++) {
        test_store(cache, i);
        test_write_file(path, "PTXUSAGE garbage that is as long as a real one but has no checksum",
                        i * 13);
    }
    test_store(cache, 5);
    assert_int_equal(test_exact_usage(folder.path).entries, 6);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_unused_go_first),
        cmocka_unit_test(young_entries_are_never_evicted),
        cmocka_unit_test(bytes_are_limited_whatever_the_dates),
        cmocka_unit_test(entries_of_the_future_go_first),
        cmocka_unit_test(what_is_used_while_room_is_made_stays),
        cmocka_unit_test(an_entry_larger_than_the_limit_is_not_stored),
        cmocka_unit_test(replacing_and_losing_entries_is_booked),
        cmocka_unit_test(a_nearly_full_disk_is_left_alone),
        cmocka_unit_test(leftovers_are_swept_and_strangers_kept),
        cmocka_unit_test(a_torn_usage_file_is_counted_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
