/* Attacks that the cache did not stand: moments without descriptors or memory, a held lock, odd
 * things in the place of its files, links of other users, a limit on file sizes. Each says what
 * a user relies on. */
#include "cache_helpers.h"

#include "cache/state.h"
#include "ptxgen/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static test_folder folder;
static ptxgen_error err;

static int set_up(void **state)
{
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static const char *below(const char *name)
{
    static char path[4][700];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder.path, name);
    return path[next];
}

/* No descriptor can be had until the limit returned is set again. */
static struct rlimit take_descriptors(void)
{
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, usual.rlim_max}), 0);
    return usual;
}

static void nap(int64_t ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void a_moment_without_descriptors_at_create_passes(void **state)
{
    (void)state;
    const char *layer = below("layer");
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = layer, .no_sync = true}, NULL);
    test_store(cache, 1);
    pg_cache_destroy(cache);
    const pg_cache_config config = {
        .dir = below("own"), .no_sync = true, .layers = &layer, .layer_count = 1};
    test_log log;
    test_log_init(&log);
    const struct rlimit usual = take_descriptors();
    cache = test_cache_open(&config, &log.log);
    const pg_cache_found without = test_lookup(cache, 1);
    setrlimit(RLIMIT_NOFILE, &usual);
    assert_int_equal(without, PG_CACHE_MISS);
    assert_true(log.warnings > 0);
    for (int i = 0; i < 100 && test_lookup(cache, 1) != PG_CACHE_HIT; i++)
        nap(20);
    assert_int_equal(test_lookup(cache, 1), PG_CACHE_HIT); /* the layer is back */
    for (int i = 0; i < 100 && !pg_cache_is_on(cache); i++)
        nap(20);
    test_store(cache, 2); /* and the folder */
    assert_int_equal(test_counter(cache, "stores"), 1);
    pg_cache_destroy(cache);
}

/* What is wrong with a folder for good is not looked at again and again. */
static void a_lasting_reason_is_remembered(void **state)
{
    (void)state;
    assert_int_equal(mkdir(below("open"), 0700), 0);
    assert_int_equal(chmod(below("open"), 0777), 0);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = below("open")}, NULL);
    assert_int_equal(chmod(below("open"), 0700), 0);
    nap(250);
    assert_false(pg_cache_is_on(cache));
    pg_cache_destroy(cache);
}

/* A process that holds the space lock, as a prune that was stopped does. */
static pid_t hold_space_lock(const char *dir, int64_t ms)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        uint64_t token;
        bool waited;
        pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = dir, .no_sync = true}, NULL);
        pg_locks_take(&cache->locks, cache->folder.root, PG_LOCK_SPACE, 1000, &token, &waited);
        if (token && write(ready[1], "1", 1) == 1)
            nap(ms);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void a_held_space_lock_keeps_no_store_out(void **state)
{
    (void)state;
    test_log log;
    test_log_init(&log);
    const pg_cache_config config = {.dir = below("c"), .no_sync = true, .max_entries = 1000};
    pg_cache *cache = test_cache_open(&config, &log.log);
    test_store(cache, 0);
    const pid_t holder = hold_space_lock(config.dir, 100000);
    const time_t start = time(NULL);
    for (uint64_t i = 1; i < 20; i++)
        test_store(cache, i);
    assert_true(time(NULL) - start < 5); /* the wait is not repeated for each */
    assert_int_equal(test_counter(cache, "stores"), 20);
    assert_int_equal(test_counter(cache, "stores_skipped"), 0);
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(test_lookup(cache, i), PG_CACHE_HIT);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    nap(5100); /* by then the lock is waited for again, and the folder counted */
    test_store(cache, 20);
    pg_cache_destroy(cache);
    assert_int_equal(test_exact_usage(config.dir).entries, 21);
}

typedef struct words {
    char all[4096];
} words;

static void collect(void *user, ptxgen_log_level level, const char *line)
{
    words *w = user;
    (void)level;
    const size_t used = strlen(w->all);
    snprintf(w->all + used, sizeof w->all - used, "%s\n", line);
}

static void a_prune_waits_for_another_and_says_for_whom(void **state)
{
    (void)state;
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = below("c"), .no_sync = true}, NULL);
    test_store(cache, 1);
    pg_cache_destroy(cache);
    const pid_t holder = hold_space_lock(below("c"), 2500);
    words said = {""};
    const ptxgen_cache_options options = {
        .size = sizeof options, .log = collect, .user = &said, .log_level = PTXGEN_LOG_WARNING};
    ptxgen_cache *admin;
    char who[64];
    assert_int_equal(ptxgen_cache_open(below("c"), &options, &admin, &err), PTXGEN_OK);
    const ptxgen_cache_prune_rule rule = {.size = sizeof rule, .everything = true};
    ptxgen_cache_prune_result result = {.size = sizeof result};
    assert_int_equal(ptxgen_cache_prune(admin, &rule, &result, &err), PTXGEN_OK);
    assert_int_equal(result.removed, 1);
    ptxgen_cache_close(admin);
    snprintf(who, sizeof who, "waiting for process %d (", (int)holder);
    assert_non_null(strstr(said.all, who));
    assert_non_null(strstr(said.all, "which is changing the cache folder"));
    waitpid(holder, NULL, 0);
}

static void what_lies_in_the_place_of_a_file_is_moved_away(void **state)
{
    (void)state;
    static const char *const names[] = {"lock", "usage", "stats"};
    for (size_t i = 0; i < 3; i++) {
        for (int kind = 0; kind < 3; kind++) {
            char dir[32], path[800];
            struct stat st;
            snprintf(dir, sizeof dir, "c%zu%d", i, kind);
            const pg_cache_config config = {.dir = below(dir), .no_sync = true};
            test_log log;
            test_log_init(&log);
            assert_int_equal(mkdir(config.dir, 0700), 0);
            snprintf(path, sizeof path, "%s/%s", config.dir, names[i]);
            assert_int_equal(kind == 0   ? mkdir(path, 0700)
                             : kind == 1 ? symlink("/dev/null", path)
                                         : mkfifo(path, 0600),
                             0);
            pg_cache *cache = test_cache_open(&config, &log.log);
            uint64_t token;
            pg_cache_acquire(cache, "k", 1, &token);
            assert_true(token != 0);
            pg_cache_release(cache, token);
            test_store(cache, 1);
            assert_int_equal(test_counter(cache, "stores"), 1);
            const bool noticed = test_counter(cache, "untrusted") == 1 && log.warnings == 1;
            pg_cache_destroy(cache);
            assert_true(noticed || i == 2); /* the statistics are written last */
            assert_true(lstat(path, &st) == 0 && S_ISREG(st.st_mode));
        }
    }
}

/* Every folder of the path that is missing would be made in another user's place. */
static void a_link_of_another_user_is_not_followed(void **state)
{
    (void)state;
    struct stat st;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(below("victim"), 0700), 0);
    assert_int_equal(symlink(below("victim"), below("link")), 0);
    assert_int_equal(lchown(below("link"), 12345, 12345), 0);
    test_log log;
    test_log_init(&log);
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = below("link/deep/c")}, &log.log);
    assert_false(pg_cache_is_on(cache));
    assert_non_null(strstr(log.last, "symbolic link of another user"));
    pg_cache_destroy(cache);
    assert_int_equal(stat(below("victim/deep"), &st), -1);
    /* Trust in any user includes their links; one's own are followed. */
    cache = test_cache_open(
        &(pg_cache_config){.dir = below("link/any/c"), .trust = PG_CACHE_TRUST_ANY}, NULL);
    assert_true(pg_cache_is_on(cache));
    pg_cache_destroy(cache);
    assert_int_equal(lchown(below("link"), 0, 0), 0);
    cache = test_cache_open(&(pg_cache_config){.dir = below("link/mine/c")}, NULL);
    assert_true(pg_cache_is_on(cache));
    pg_cache_destroy(cache);
    assert_int_equal(stat(below("victim/mine/c/v1"), &st), 0);
}

static void a_limit_on_file_sizes_is_an_error_like_others(void **state)
{
    (void)state;
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit small = {1000, 1000};
        signal(SIGXFSZ, SIG_DFL);
        pg_cache *cache =
            test_cache_open(&(pg_cache_config){.dir = below("c"), .no_sync = true}, NULL);
        setrlimit(RLIMIT_FSIZE, &small);
        test_store(cache, 1);
        const bool counted = test_counter(cache, "write_errors") > 0;
        pg_cache_destroy(cache);
        _exit(counted ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- packs ---- */

static struct rlimit usual_limit;

static bool run_out_of_descriptors(void *user, const ptxgen_cache_record *record)
{
    (void)record;
    if (!*(bool *)user)
        usual_limit = take_descriptors();
    *(bool *)user = true;
    return true;
}

static void an_export_replaces_a_pack_by_a_whole_one_or_not_at_all(void **state)
{
    (void)state;
    ptxgen_cache_transfer t = {.size = sizeof t};
    ptxgen_cache *admin;
    struct stat before, after;
    bool taken = false;
    char pack[700];
    snprintf(pack, sizeof pack, "%s", below("a.pack"));
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = below("c"), .no_sync = true}, NULL);
    for (uint64_t i = 0; i < 20; i++)
        test_store(cache, i);
    pg_cache_destroy(cache);
    assert_int_equal(ptxgen_cache_open(below("c"), NULL, &admin, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_export(admin, pack, NULL, NULL, &t, &err), PTXGEN_OK);
    assert_int_equal(t.copied, 20);
    assert_int_equal(stat(pack, &before), 0);

    const ptxgen_status status =
        ptxgen_cache_export(admin, pack, run_out_of_descriptors, &taken, &t, &err);
    setrlimit(RLIMIT_NOFILE, &usual_limit);
    assert_int_equal(status, PTXGEN_EIO);
    assert_non_null(strstr(err.message, "Too many open files"));
    assert_int_equal(t.damaged, 0);
    assert_int_equal(stat(pack, &after), 0);
    assert_true(after.st_ino == before.st_ino && after.st_size == before.st_size);
    ptxgen_cache_close(admin);

    /* Every allocation may fail: an error each time, or all there is. */
    for (size_t n = 1;; n++) {
        failing_alloc f = {0};
        const pg_alloc hook = failing_alloc_hook(&f);
        const ptxgen_cache_options options = {
            .size = sizeof options, .realloc = hook.realloc, .user = hook.user};
        assert_int_equal(ptxgen_cache_open(below("c"), &options, &admin, &err), PTXGEN_OK);
        f.calls = 0;
        f.fail_at = n;
        f.forever = true;
        const ptxgen_status r = ptxgen_cache_export(admin, pack, NULL, NULL, &t, &err);
        const bool whole = f.calls < n;
        f.fail_at = 0;
        ptxgen_cache_close(admin);
        assert_int_equal(r, whole ? PTXGEN_OK : PTXGEN_ENOMEM);
        if (whole) {
            assert_int_equal(t.copied, 20);
            break;
        }
        assert_int_equal(stat(pack, &after), 0);
        assert_true(after.st_size == before.st_size);
    }
}

static void an_unreadable_entry_is_not_damaged(void **state)
{
    (void)state;
    ptxgen_cache *admin;
    pg_cache *cache = test_cache_open(&(pg_cache_config){.dir = below("c"), .no_sync = true}, NULL);
    test_store(cache, 1);
    pg_cache_destroy(cache);
    failing_alloc f = {0};
    const pg_alloc hook = failing_alloc_hook(&f);
    const ptxgen_cache_options options = {
        .size = sizeof options, .realloc = hook.realloc, .user = hook.user};
    assert_int_equal(ptxgen_cache_open(below("c"), &options, &admin, &err), PTXGEN_OK);
    const ptxgen_cache_check check = {.size = sizeof check, .quarantine = true};
    ptxgen_cache_check_result result = {.size = sizeof result};
    f.calls = 0;
    f.fail_at = 1;
    while (result.unreadable == 0 && f.fail_at < 20) {
        f.calls = 0;
        assert_int_equal(ptxgen_cache_verify(admin, NULL, &check, &result, &err), PTXGEN_OK);
        assert_int_equal(result.damaged, 0);
        f.fail_at++;
    }
    assert_int_equal(result.unreadable, 1);
    f.fail_at = 0;
    assert_int_equal(ptxgen_cache_verify(admin, NULL, &check, &result, &err), PTXGEN_OK);
    assert_int_equal(result.checked, 1); /* it was not moved aside */
    ptxgen_cache_close(admin);
}

/* ---- what the steps of a store are for ---- */

static size_t leftovers(const char *dir)
{
    size_t n = 0;
    for (int shard = 0; shard < 256; shard++) {
        char path[800];
        snprintf(path, sizeof path, "%s/v1/%02x", dir, shard);
        DIR *d = opendir(path);
        for (const struct dirent *e; d && (e = readdir(d));)
            n += strncmp(e->d_name, ".tmp-", 5) == 0;
        if (d)
            closedir(d);
    }
    return n;
}

static void an_entry_is_on_the_disk_before_it_has_its_name(void **state)
{
    (void)state;
    for (int no_sync = 0; no_sync < 2; no_sync++) {
        faulty_files f;
        faulty_files_init(&f);
        const pg_cache_config config = {
            .dir = below(no_sync ? "a" : "b"), .no_sync = no_sync, .files = &f.files};
        pg_cache *cache = test_cache_open(&config, NULL);
        faulty_files_set(&f, "sync", 0, 0, 0);
        test_store(cache, 1);
        assert_int_equal(f.calls, no_sync ? 0 : 1);
        /* and when that fails, it does not get it */
        faulty_files_set(&f, "sync", EIO, 1, 1000);
        test_store(cache, 2);
        assert_int_equal(test_lookup(cache, 2), no_sync ? PG_CACHE_HIT : PG_CACHE_MISS);
        pg_cache_destroy(cache);
    }
}

static void a_failed_rename_leaves_nothing(void **state)
{
    (void)state;
    faulty_files f;
    faulty_files_init(&f);
    const pg_cache_config config = {.dir = below("c"), .no_sync = true, .files = &f.files};
    pg_cache *cache = test_cache_open(&config, NULL);
    faulty_files_set(&f, "rename", EIO, 1, 1000);
    test_store(cache, 1);
    assert_true(f.calls > 0);
    faulty_files_set(&f, NULL, 0, 0, 0);
    assert_int_equal(leftovers(config.dir), 0);
    pg_cache_destroy(cache);
}

/* An entry that was used exactly min_age seconds ago stays, one of a second more goes. */
static void the_youngest_age_is_exact(void **state)
{
    (void)state;
    for (int64_t older = 0; older < 2; older++) {
        const char *dir = below(older ? "a" : "b");
        faulty_files f;
        faulty_files_init(&f);
        const pg_cache_config config = {
            .dir = dir, .no_sync = true, .max_entries = 1, .min_age_s = 5000, .files = &f.files};
        pg_cache *cache = test_cache_open(&config, NULL);
        test_store(cache, 1);
        test_kernel k;
        char path[1024];
        struct stat st;
        test_kernel_make(&k, 1);
        test_entry_path(dir, k.key, path);
        /* No second passes between the two looks at the clock: tried again if one did. */
        for (int i = 0; i < 20; i++) {
            const int64_t now = (int64_t)time(NULL);
            assert_int_equal(stat(path, &st), 0);
            f.clock_offset = st.st_mtime + 5000 + older - now;
            pg_prune_result result;
            const pg_prune_rule rule = {0, 0, 5000, -1, true};
            assert_int_equal(pg_space_prune(cache, &rule, 0, &result), 0);
            if ((int64_t)time(NULL) != now)
                continue;
            assert_int_equal(result.removed, older);
            break;
        }
        pg_cache_destroy(cache);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_moment_without_descriptors_at_create_passes),
        TEST(a_lasting_reason_is_remembered),
        TEST(a_held_space_lock_keeps_no_store_out),
        TEST(a_prune_waits_for_another_and_says_for_whom),
        TEST(what_lies_in_the_place_of_a_file_is_moved_away),
        TEST(a_link_of_another_user_is_not_followed),
        TEST(a_limit_on_file_sizes_is_an_error_like_others),
        TEST(an_export_replaces_a_pack_by_a_whole_one_or_not_at_all),
        TEST(an_unreadable_entry_is_not_damaged),
        TEST(an_entry_is_on_the_disk_before_it_has_its_name),
        TEST(a_failed_rename_leaves_nothing),
        TEST(the_youngest_age_is_exact),
    };
    return cmocka_run_group_tests_name("cache_attacks", tests, NULL, NULL);
}
