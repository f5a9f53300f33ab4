/* Processes that die in the middle, processes that fork: the next one finds a cache that works. */
#include "cache_helpers.h"

#include "cache/space.h"
#include "cache/state.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A writer that is killed in its n-th call; a torn write is torn first. True when it lived to the
 * end. */
static bool write_until_killed(const char *dir, uint64_t n)
{
    pid_t pid = fork();
    if (pid == 0) {
        faulty_files f;
        faulty_files_init(&f);
        pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .files = &f.files}, NULL);
        faulty_files_set(&f, NULL, 0, n, 1);
        f.kill = true;
        test_kernel k;
        test_kernel_make(&k, 1);
        uint64_t token;
        pg_cache_acquire(cache, k.key, k.key_size, &token);
        pg_cache_take_slot(cache, token);
        test_store(cache, 1);
        test_store(cache, 2);
        pg_cache_release(cache, token);
        pg_cache_destroy(cache);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

/* Looks for both kernels for ever; dies by itself (abort in test_lookup) on a wrong one, by us
 * otherwise. */
static pid_t start_reader(const char *dir)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    alarm(100); /* does not outlive a failed test */
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir}, NULL);
    for (;;) {
        test_lookup(cache, 1);
        test_lookup(cache, 2);
        if (test_counter(cache, "corrupt") || test_counter(cache, "read_errors") ||
            test_counter(cache, "other_key"))
            _exit(1);
    }
}

static size_t count_leftovers(const char *dir)
{
    char command[700], text[32] = "";
    snprintf(command, sizeof command, "find '%s' -name '.tmp-*' | wc -l", dir);
    FILE *f = popen(command, "r");
    assert_non_null(fgets(text, sizeof text, f));
    pclose(f);
    return (size_t)atoi(text);
}

static void a_writer_may_die_in_any_call(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path, .wait_ms = 500}, NULL);
    pid_t reader = start_reader(folder.path);
    size_t most_leftovers = 0;
    for (uint64_t n = 1;; n++) {
        assert_int_equal(pg_cache_clear(cache, NULL), PTXGEN_OK);
        bool lived = write_until_killed(folder.path, n);
        test_kernel k;
        test_kernel_make(&k, 1);
        uint64_t token;
        pg_cache_acquire(cache, k.key, k.key_size, &token);
        assert_int_not_equal(token, 0); /* the lock died with its holder */
        assert_true(pg_locks_take_slot(&cache->locks, token, 1, 500));
        if (test_lookup(cache, 1) == PG_CACHE_MISS)
            test_store(cache, 1);
        assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
        pg_cache_release(cache, token);
        size_t leftovers = count_leftovers(folder.path);
        most_leftovers = leftovers > most_leftovers ? leftovers : most_leftovers;
        if (lived)
            break;
    }
    int status = 0;
    assert_int_equal(waitpid(reader, &status, WNOHANG),
                     0); /* still alive: never saw anything odd */
    kill(reader, SIGKILL);
    waitpid(reader, &status, 0);
    assert_int_equal(test_counter(cache, "corrupt"), 0);
    assert_true(most_leftovers > 0); /* the test did hit the middle of a write */

    /* Two hours later they are swept, and the sums are those of a count. */
    char command[700];
    snprintf(command, sizeof command, "find '%s' -name '.tmp-*' -exec touch -d '2 hours ago' {} +",
             folder.path);
    assert_int_equal(system(command), 0);
    pg_prune_result r;
    assert_int_equal(
        pg_space_prune(cache, &(pg_prune_rule){UINT64_MAX, UINT64_MAX, -1, -1, false}, 500, &r), 0);
    assert_int_equal(count_leftovers(folder.path), 0);
    assert_in_range(r.entries, 1, 2);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* The sanitizers' allocator may be locked in a forked child, libc's is not; this one cannot be. */
static void *map_realloc(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user;
    if (p)
        return new_size ? mremap(p, old_size, new_size, MREMAP_MAYMOVE)
                        : (munmap(p, old_size), NULL);
    void *q = mmap(NULL, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return q == MAP_FAILED ? NULL : q;
}

typedef struct busy {
    pg_cache *cache;
    uint64_t seed;
    _Atomic bool *stop;
} busy;

static void *work(void *arg)
{
    const busy *b = arg;
    for (uint64_t i = 0; !*b->stop; i++) {
        test_kernel k;
        uint64_t token, number = (b->seed * 7 + i) % 50;
        test_kernel_make(&k, number);
        pg_cache_acquire(b->cache, k.key, k.key_size, &token);
        if (test_lookup(b->cache, number) != PG_CACHE_HIT || i % 8 == 0) {
            pg_cache_take_slot(b->cache, token);
            test_store(b->cache, number);
        }
        pg_cache_release(b->cache, token);
    }
    return NULL;
}

static void forking_from_busy_threads_hangs_nobody(void **state)
{
    (void)state;
    enum { THREADS = 4, FORKS = 300 };
    test_folder folder;
    test_folder_make(&folder);
    const pg_alloc alloc = {map_realloc, NULL};
    pg_cache *cache = NULL;
    assert_int_equal(pg_cache_create(&alloc, NULL,
                                     &(pg_cache_config){.dir = folder.path, .no_sync = true},
                                     &cache, NULL),
                     PTXGEN_OK);
    test_store(cache, 1); /* counts the folder, for which libc allocates */
    _Atomic bool stop = false;
    pthread_t threads[THREADS];
    busy jobs[THREADS];
    for (uint64_t t = 0; t < THREADS; t++) {
        jobs[t] = (busy){cache, t, &stop};
        pthread_create(&threads[t], NULL, work, &jobs[t]);
    }
    for (int i = 0; i < FORKS; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60); /* a hang becomes a death */
            uint64_t token;
            pg_cache_acquire(cache, "child", 5, &token);
            bool ok = token != 0;
            test_store(cache, 60 + (uint64_t)i % 4);
            ok = ok && test_lookup(cache, 60 + (uint64_t)i % 4) == PG_CACHE_HIT;
            pg_cache_release(cache, token);
            _exit(ok ? 0 : 1);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
    }
    stop = true;
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(test_counter(cache, "corrupt"), 0);
    assert_int_equal(test_counter(cache, "lock_timeouts"), 0);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* A child that closes its inherited cache counts its own work only. */
static void a_child_does_not_count_its_parents_work_again(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .no_sync = true};
    pg_cache *cache = test_cache_open(&config, NULL);
    for (uint64_t i = 0; i < 10; i++)
        test_store(cache, i);
    for (int c = 0; c < 3; c++) {
        pid_t pid = fork();
        if (pid == 0) {
            test_lookup(cache, 1);
            pg_cache_destroy(cache);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
    pg_cache_destroy(cache);
    cache = test_cache_open(&config, NULL);
    uint64_t values[PG_COUNT_TOTAL];
    pg_cache_read_counts(cache, values);
    assert_int_equal(values[PG_COUNT_STORES], 10);
    assert_int_equal(values[PG_COUNT_HITS], 3);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_may_die_in_any_call),
        cmocka_unit_test(forking_from_busy_threads_hangs_nobody),
        cmocka_unit_test(a_child_does_not_count_its_parents_work_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
