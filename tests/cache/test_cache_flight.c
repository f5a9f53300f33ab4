/* Single flight between processes and threads: one compile per key, waits that end, holders that
 * die or stop. */
#include "cache_helpers.h"

#include "cache/state.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What the engine does for a key; `compiles` is shared between processes. */
static bool request(pg_cache *cache, uint64_t i, _Atomic int *compiles)
{
    test_kernel *k = malloc(sizeof *k);
    test_kernel_make(k, i);
    if (test_lookup(cache, i) != PG_CACHE_HIT) {
        uint64_t token;
        pg_cache_acquire(cache, k->key, k->key_size, &token);
        if (test_lookup(cache, i) != PG_CACHE_HIT) {
            pg_cache_take_slot(cache, token);
            ++*compiles;
            sleep_ms(20);
            pg_cache_store(cache, k->key, k->key_size, &k->entry);
        }
        pg_cache_release(cache, token);
    }
    bool ok = test_lookup(cache, i) == PG_CACHE_HIT;
    free(k);
    return ok;
}

static _Atomic int *shared_counters(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void many_processes_one_compile(void **state)
{
    (void)state;
    enum { PROCESSES = 64 };
    for (int staggered = 0; staggered < 2; staggered++) {
        test_folder folder;
        test_folder_make(&folder);
        _Atomic int *counters = shared_counters();
        pid_t pids[PROCESSES];
        for (int p = 0; p < PROCESSES; p++) {
            pids[p] = fork();
            if (pids[p] == 0) {
                pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
                counters[1]++;
                while (!staggered && counters[1] < PROCESSES) /* all at once */
                    sleep_ms(1);
                bool ok = request(cache, 5, &counters[0]);
                pg_cache_destroy(cache);
                _exit(ok ? 0 : 1);
            }
        }
        for (int p = 0; p < PROCESSES; p++) {
            int status;
            waitpid(pids[p], &status, 0);
            assert_int_equal(status, 0);
        }
        assert_int_equal(counters[0], 1);
        munmap(counters, 4096);
        test_folder_remove(&folder);
    }
}

/* A child that takes the key of kernel 1 and then sleeps for ever; returns when it has the lock. */
static pid_t start_holder(const char *dir, _Atomic int *flag)
{
    *flag = 0;
    pid_t pid = fork();
    if (pid == 0) {
        alarm(100); /* does not outlive a failed test */
        pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir}, NULL);
        test_kernel k;
        test_kernel_make(&k, 1);
        uint64_t token;
        pg_cache_acquire(cache, k.key, k.key_size, &token);
        *flag = token ? 1 : 2;
        for (;;)
            pause();
    }
    while (!*flag)
        sleep_ms(1);
    assert_int_equal(*flag, 1);
    return pid;
}

static void a_killed_holder_frees_and_a_stopped_one_is_not_waited_for_ever(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    _Atomic int *flag = shared_counters();
    test_kernel k;
    test_kernel_make(&k, 1);
    uint64_t token;
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path, .wait_ms = 300}, NULL);

    pid_t holder = start_holder(folder.path, flag);
    kill(holder, SIGSTOP);
    double t = now_ms();
    pg_cache_acquire(cache, k.key, k.key_size, &token);
    assert_int_equal(token, 0);
    assert_true(now_ms() - t >= 299);
    ptxgen_cache_info info;
    pg_cache_fill_info(cache, &info);
    assert_int_equal(info.waits, 1);
    assert_int_equal(info.wait_timeouts, 1);
    /* Another key is free all the while. */
    pg_cache_acquire(cache, "other", 5, &token);
    assert_int_not_equal(token, 0);
    pg_cache_release(cache, token);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    pg_cache_acquire(cache, k.key, k.key_size, &token);
    assert_int_not_equal(token, 0);
    pg_cache_release(cache, token);

    /* An administrator removes the lock file: nobody waits, nothing breaks. */
    holder = start_holder(folder.path, flag);
    char path[600];
    snprintf(path, sizeof path, "%s/lock", folder.path);
    assert_int_equal(unlink(path), 0);
    pg_cache_acquire(cache, k.key, k.key_size, &token);
    assert_int_not_equal(token, 0);
    pg_cache_release(cache, token);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);

    pg_cache_destroy(cache);
    munmap(flag, 4096);
    test_folder_remove(&folder);
}

static void two_caches_of_one_process_exclude_each_other(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .wait_ms = 50};
    pg_cache *a = test_cache_open(&config, NULL), *b = test_cache_open(&config, NULL);
    uint64_t ta, tb, again;
    pg_cache_acquire(a, "k", 1, &ta);
    pg_cache_acquire(b, "k", 1, &tb);
    assert_true(ta != 0 && tb == 0);
    pg_cache_acquire(a, "k", 1, &again); /* also the same cache a second time */
    assert_int_equal(again, 0);
    pg_cache_release(a, ta);
    pg_cache_acquire(b, "k", 1, &tb);
    assert_int_not_equal(tb, 0);
    pg_cache_release(b, tb);
    pg_cache_release(b, tb); /* a second release does nothing */
    pg_cache_destroy(a);
    pg_cache_destroy(b);
    test_folder_remove(&folder);
}

/* The child must not keep its parent's lock alive, and its own copy of the token must do nothing.
 */
static void a_forked_child_gives_up_its_copy(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    _Atomic int *flag = shared_counters();
    pg_cache_config config = {.dir = folder.path, .wait_ms = 100};
    pg_cache *cache = test_cache_open(&config, NULL), *other = test_cache_open(&config, NULL);
    uint64_t token, t2;
    pg_cache_acquire(cache, "k", 1, &token);
    assert_int_not_equal(token, 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(100);
        pg_cache_release(cache, token); /* not ours to release */
        uint64_t mine = 0;
        pg_cache_acquire(cache, "k", 1, &mine); /* the parent has it */
        bool ok = mine == 0;
        pg_cache_acquire(cache, "other", 5, &mine);
        ok = ok && mine != 0;
        pg_cache_release(cache, mine);
        *flag = ok ? 1 : 2;
        for (;;)
            pause();
    }
    while (!*flag)
        sleep_ms(1);
    assert_int_equal(*flag, 1);
    pg_cache_acquire(other, "k", 1, &t2);
    assert_int_equal(t2, 0); /* still held by this process */
    pg_cache_release(cache, token);
    pg_cache_acquire(other, "k", 1, &t2);
    assert_int_not_equal(t2, 0); /* although the child lives */
    pg_cache_release(other, t2);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    pg_cache_destroy(cache);
    pg_cache_destroy(other);
    munmap(flag, 4096);
    test_folder_remove(&folder);
}

static void slots_limit_compiles_and_only_those(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache_config config = {.dir = folder.path, .wait_ms = 60, .slots = 2};
    pg_cache *cache = test_cache_open(&config, NULL);
    uint64_t tokens[3];
    char key[2] = "a";
    for (int i = 0; i < 3; i++, key[0]++)
        pg_cache_acquire(cache, key, 1, &tokens[i]);
    assert_true(pg_locks_take_slot(&cache->locks, tokens[0], 2, 60));
    assert_true(pg_locks_take_slot(&cache->locks, tokens[1], 2, 60));
    assert_false(pg_locks_take_slot(&cache->locks, tokens[2], 2, 60));
    pg_cache_take_slot(cache, tokens[2]); /* bounded */
    pg_cache_release(cache, tokens[0]);
    assert_true(pg_locks_take_slot(&cache->locks, tokens[2], 2, 60));
    pg_cache_release(cache, tokens[1]);
    pg_cache_release(cache, tokens[2]);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

/* posix_spawn runs no fork handlers: the lock must not pass to the program. */
static void a_program_that_is_started_holds_no_lock(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path, .wait_ms = 50}, NULL);
    pg_cache *other = test_cache_open(&(pg_cache_config){.dir = folder.path, .wait_ms = 50}, NULL);
    uint64_t mine, theirs;
    pid_t pid;
    char name[] = "sleep", time[] = "100", *argv[] = {name, time, NULL};
    pg_cache_acquire(cache, "k", 1, &mine);
    assert_int_equal(posix_spawnp(&pid, "sleep", NULL, NULL, argv, NULL), 0);
    pg_cache_acquire(other, "k", 1, &theirs);
    assert_int_equal(theirs, 0);
    pg_cache_release(cache, mine);
    pg_cache_acquire(other, "k", 1, &theirs);
    assert_int_not_equal(theirs, 0);
    pg_cache_release(other, theirs);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    pg_cache_destroy(cache);
    pg_cache_destroy(other);
    test_folder_remove(&folder);
}

typedef struct greedy {
    pthread_t thread;
    pg_cache *cache;
    char key[2];
    atomic_int *rounds;
    atomic_bool stop;
} greedy;

/* Takes the only slot again and again, without a pause between two compiles. */
static void *be_greedy(void *arg)
{
    greedy *g = arg;
    while (!atomic_load(&g->stop)) {
        uint64_t token;
        pg_cache_acquire(g->cache, g->key, strlen(g->key), &token);
        if (pg_locks_take_slot(&g->cache->locks, token, 1, 60000)) {
            atomic_fetch_add(g->rounds, 1);
            sleep_ms(1);
        }
        pg_cache_release(g->cache, token);
    }
    return NULL;
}

static void a_slot_goes_round(void **state)
{
    (void)state;
    enum { GREEDY = 3, TURNS = 20 };
    test_folder folder;
    test_folder_make(&folder);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = folder.path}, NULL);
    atomic_int rounds = 0;
    greedy all[GREEDY];
    for (int i = 0; i < GREEDY; i++) {
        all[i] = (greedy){.cache = cache, .key = {(char)('a' + i)}, .rounds = &rounds};
        assert_int_equal(pthread_create(&all[i].thread, NULL, be_greedy, &all[i]), 0);
    }
    while (atomic_load(&rounds) < 10)
        sleep_ms(1);
    for (int i = 0; i < TURNS; i++) {
        uint64_t token;
        pg_cache_acquire(cache, "z", 1, &token);
        const int before = atomic_load(&rounds);
        assert_true(pg_locks_take_slot(&cache->locks, token, 1, 60000));
        /* A fourth of all turns is this thread's: 100 others in a row come once in 3e12 waits. */
        assert_in_range(atomic_load(&rounds) - before, 0, 100);
        pg_cache_release(cache, token);
    }
    for (int i = 0; i < GREEDY; i++) {
        atomic_store(&all[i].stop, true);
        pthread_join(all[i].thread, NULL);
    }
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

static void unknown_filesystems_go_without_locks_and_say_so_once(void **state)
{
    (void)state;
    const uint64_t magics[] = {0x6969 /* nfs */, 0x65735546 /* fuse */, 0x12345678};
    for (size_t i = 0; i < 3; i++) {
        test_folder folder;
        test_folder_make(&folder);
        test_log log;
        test_log_init(&log);
        faulty_files f;
        faulty_files_init(&f);
        f.filesystem = magics[i];
        pg_cache *cache =
            test_cache_open(&(pg_cache_config){.dir = folder.path, .files = &f.files}, &log.log);
        for (int round = 0; round < 3; round++) {
            uint64_t token = 1;
            pg_cache_acquire(cache, "k", 1, &token);
            assert_int_equal(token, 0);
            test_store(cache, 1);
            assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT);
        }
        assert_int_equal(log.warnings, 1);
        pg_cache_destroy(cache);
        test_folder_remove(&folder);
    }
}

static void locks_that_fail_turn_off_once(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    test_log log;
    test_log_init(&log);
    faulty_files f;
    faulty_files_init(&f);
    faulty_files_set(&f, "lock", 37 /* ENOLCK */, 1, 1);
    pg_cache *cache =
        test_cache_open(&(pg_cache_config){.dir = folder.path, .files = &f.files}, &log.log);
    for (int round = 0; round < 3; round++) {
        uint64_t token = 1;
        pg_cache_acquire(cache, "k", 1, &token);
        assert_int_equal(token, 0);
    }
    assert_int_equal(log.warnings, 1);
    assert_int_equal(f.calls, 1);
    pg_cache_destroy(cache);
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_processes_one_compile),
        cmocka_unit_test(a_killed_holder_frees_and_a_stopped_one_is_not_waited_for_ever),
        cmocka_unit_test(two_caches_of_one_process_exclude_each_other),
        cmocka_unit_test(a_forked_child_gives_up_its_copy),
        cmocka_unit_test(a_program_that_is_started_holds_no_lock),
        cmocka_unit_test(slots_limit_compiles_and_only_those),
        cmocka_unit_test(a_slot_goes_round),
        cmocka_unit_test(unknown_filesystems_go_without_locks_and_say_so_once),
        cmocka_unit_test(locks_that_fail_turn_off_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
