/* Eight writers and eight readers against a small limit: as processes, and as threads of one
 * cache. The limit holds all the while, no reader sees anything odd, and the sums are exact
 * afterwards.
 *
 * PTXGEN_STORM_SECONDS sets the length of each (4); ctest label "slow" runs them for a minute. */
#include "cache_helpers.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 8, READERS = 8, KEYS = 400, LIMIT = 1000000 };

static time_t storm_end(void)
{
    const char *seconds = getenv("PTXGEN_STORM_SECONDS");
    return time(NULL) + (seconds ? atoi(seconds) : 4);
}

typedef struct sailor {
    pg_cache *cache;
    uint64_t number;
    time_t end;
} sailor;

static void *sail(void *arg)
{
    const sailor *s = arg;
    uint64_t x = s->number;
    while (time(NULL) < s->end) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        if (s->number < WRITERS)
            test_store(s->cache, (x >> 33) % KEYS);
        else
            test_lookup(s->cache, (x >> 33) % KEYS);
    }
    return NULL;
}

static bool saw_nothing_odd(pg_cache *cache)
{
    static const char *const odd[] = {"write_errors", "read_errors", "corrupt",
                                      "other_key",    "untrusted",   "quarantined"};
    bool ok = true;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        ok = ok && test_counter(cache, odd[i]) == 0;
    return ok;
}

/* Counts the folder again and again; the limit is never passed. */
static void watch_limit(const char *dir, time_t end)
{
    pg_cache *watcher = test_cache_open(
        &(pg_cache_config){.dir = dir, .max_bytes = UINT64_MAX, .max_entries = UINT64_MAX}, NULL);
    size_t looks = 0;
    while (time(NULL) < end) {
        pg_prune_result r;
        if (pg_space_prune(watcher, &(pg_prune_rule){UINT64_MAX, UINT64_MAX, -1, -1, false}, 1000,
                           &r) == 0) {
            assert_true(r.bytes <= LIMIT);
            looks++;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    assert_true(looks > 0);
    pg_cache_destroy(watcher);
}

static pg_cache *open_limited(const char *dir)
{
    return test_cache_open(
        &(pg_cache_config){.dir = dir, .no_sync = true, .max_bytes = LIMIT, .min_age_s = -1}, NULL);
}

static void processes(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    time_t end = storm_end();
    pid_t pids[WRITERS + READERS];
    for (uint64_t p = 0; p < WRITERS + READERS; p++) {
        pids[p] = fork();
        if (pids[p])
            continue;
        sailor s = {open_limited(folder.path), p, end};
        sail(&s);
        bool ok = saw_nothing_odd(s.cache);
        pg_cache_destroy(s.cache);
        _exit(ok ? 0 : 1);
    }
    watch_limit(folder.path, end);
    for (int p = 0; p < WRITERS + READERS; p++) {
        int status;
        waitpid(pids[p], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_true(test_exact_usage(folder.path).bytes <= LIMIT);
    test_folder_remove(&folder);
}

static void threads(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache = open_limited(folder.path);
    pthread_t ids[WRITERS + READERS];
    sailor sailors[WRITERS + READERS];
    time_t end = storm_end();
    for (uint64_t t = 0; t < WRITERS + READERS; t++) {
        sailors[t] = (sailor){cache, t, end};
        assert_int_equal(pthread_create(&ids[t], NULL, sail, &sailors[t]), 0);
    }
    watch_limit(folder.path, end);
    for (int t = 0; t < WRITERS + READERS; t++)
        pthread_join(ids[t], NULL);
    assert_true(saw_nothing_odd(cache));
    assert_true(test_counter(cache, "stores") > 0 && test_counter(cache, "hits") > 0 &&
                test_counter(cache, "evicted") > 0);
    print_message("%llu stores, %llu hits, %llu evicted, %llu skipped\n",
                  (unsigned long long)test_counter(cache, "stores"),
                  (unsigned long long)test_counter(cache, "hits"),
                  (unsigned long long)test_counter(cache, "evicted"),
                  (unsigned long long)test_counter(cache, "stores_skipped"));
    pg_cache_destroy(cache);
    assert_true(test_exact_usage(folder.path).bytes <= LIMIT);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
