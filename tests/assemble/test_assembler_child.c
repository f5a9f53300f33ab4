/* The assembler's process and the host's life: signals to the host's process group are the
 * host's, a host that dies leaves nothing running, what the assembler says is kept in bounded
 * memory, and a moment without descriptors is not remembered. Shell scripts stand in for ptxas,
 * so no assembler is needed. */
#include "script_toolkit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Runs the script once; the log's length goes into *log. */
static ptxgen_status run_script(const char *script, uint32_t timeout_ms, ptxgen_error *err,
                                size_t *log)
{
    pg_toolkit *t = toolkit_with_script(script, timeout_ms);
    pg_assembly a;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    assembly_init(&a);
    const ptxgen_status status = pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_PTXAS, &r, &a, err);
    *log = a.log.len;
    assembly_fini(&a);
    pg_toolkit_destroy(t);
    return status;
}

static bool wait_for_file(const char *name)
{
    char path[96];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (int i = 0; i < 1000; i++) {
        if (stat(path, &st) == 0 && st.st_size > 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

static void forget_file(const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* A host program in a process group of its own. Exit code 0: the assembler's answer came whole. */
static pid_t start_host(const char *script)
{
    const pid_t host = fork();
    assert_true(host >= 0);
    if (host == 0) {
        ptxgen_error err = {0};
        size_t log;
        setpgid(0, 0);
        signal(SIGHUP, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        const ptxgen_status status = run_script(script, 60000, &err, &log);
        _exit(status == PTXGEN_EASSEMBLE && err.line == 9 ? 0 : 1);
    }
    setpgid(host, host);
    return host;
}

static void a_signal_to_the_group_is_the_hosts(void **state)
{
    (void)state;
    static const int numbers[] = {SIGHUP, SIGINT};
    for (size_t i = 0; i < 2; i++) {
        int status;
        forget_file("started");
        const pid_t host = start_host("echo 1 >$d/started; sleep 0.3\n"
                                      "echo 'ptxas x, line 9; error   : as usual'; exit 255");
        assert_true(wait_for_file("started"));
        kill(-host, numbers[i]);
        assert_int_equal(waitpid(host, &status, 0), host);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static bool is_gone(pid_t pid)
{
    for (int i = 0; i < 500; i++) {
        if (kill(pid, 0) != 0 && errno == ESRCH)
            return true;
        waitpid(pid, NULL, WNOHANG); /* an orphan comes to us (PR_SET_CHILD_SUBREAPER) */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

/* Three processes hang: a wrapper, what it waits for, what it started in the background. */
static void a_dead_host_leaves_nothing_running(void **state)
{
    (void)state;
    static const int numbers[] = {SIGTERM, SIGKILL};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t i = 0; i < 2; i++) {
        int pids[3];
        char path[96];
        forget_file("pids");
        const pid_t host = start_host("sleep 1000 & a=$!; sleep 1000 & b=$!\n"
                                      "echo $$ $a $b >$d/pids; wait");
        assert_true(wait_for_file("pids"));
        snprintf(path, sizeof path, "%s/pids", folder);
        FILE *f = fopen(path, "r");
        assert_int_equal(fscanf(f, "%d %d %d", &pids[0], &pids[1], &pids[2]), 3);
        fclose(f);
        kill(host, numbers[i]);
        assert_int_equal(waitpid(host, NULL, 0), host);
        for (int p = 0; p < 3; p++)
            assert_true(is_gone(pids[p]));
    }
}

static void what_is_left_running_ends_with_the_call(void **state)
{
    (void)state;
    ptxgen_error err;
    size_t log;
    int pid;
    char path[96];
    forget_file("pid");
    assert_int_equal(run_script("sleep 1000 & echo $! >$d/pid; echo 'ptxas fatal   : over'; exit 1",
                                60000, &err, &log),
                     PTXGEN_EASSEMBLE);
    snprintf(path, sizeof path, "%s/pid", folder);
    FILE *f = fopen(path, "r");
    assert_int_equal(fscanf(f, "%d", &pid), 1);
    fclose(f);
    assert_true(is_gone(pid));
}

static void a_long_log_is_kept_in_part(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    size_t log;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(run_script("yes 'ptxas info    : nothing' | head -c 200000000\n"
                                "echo 'ptxas x, line 9; error   : at the end'; exit 255",
                                60000, &err, &log),
                     PTXGEN_EASSEMBLE);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(err.line, 9);
    assert_non_null(strstr(err.message, "at the end"));
    assert_in_range(log, 100000, 200000);
    assert_true(after.ru_maxrss - before.ru_maxrss < 16 << 10); /* KiB */

    assert_int_equal(
        run_script("echo 'ptxas x, line 8; error   : at the start'; exec yes", 500, &err, &log),
        PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "was stopped"));
    assert_in_range(log, 1, 200000);
}

static void the_reason_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int line;
        const char *says;
    } cases[] = {
        {"echo 'ptxas x, line 9; error   : Label expected'\n"
         "echo \"ptxas x, line 7; error   : Unknown symbol 'NOWHERE'\"\n"
         "echo 'ptxas fatal   : Ptx assembly aborted due to errors'; exit 255",
         9, "line 9: Label expected; line 7: Unknown symbol 'NOWHERE'"},
        {"echo libfoo.so: version GLIBC_9 not found; echo; echo giving up; exit 1", 0,
         "named no error; its last words: libfoo.so: version GLIBC_9 not found | giving up"},
        {"exit 3", 0, "it wrote nothing"},
        {"echo ptxas: not for this processor; exit 126", 0, "not for this processor"},
        {"kill -TERM $$", 0, "(Terminated): another process sent it"},
        {"kill -KILL $$", 0, "lack of memory, or by another process"},
        {"kill -SEGV $$", 0, "the PTX crashes it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ptxgen_error err = {0};
        size_t log;
        assert_true(run_script(cases[i].script, 60000, &err, &log) != PTXGEN_OK);
        if (!strstr(err.message, cases[i].says) || err.line != cases[i].line)
            fail_msg("\"%s\" is not in: %s", cases[i].says, err.message);
    }
}

/* Lowers the limit to what is open already. */
static struct rlimit take_descriptors(void)
{
    struct rlimit usual;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    const struct rlimit none = {3, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return usual;
}

static void a_moment_without_descriptors_is_not_remembered(void **state)
{
    (void)state;
    static const pg_log silent;
    static const ptxgen_assembler wanted[] = {PTXGEN_ASSEMBLER_PTXAS, PTXGEN_ASSEMBLER_AUTO};
    for (size_t i = 0; i < 2; i++) {
        pg_toolkit_destroy(toolkit_with_script("exit 0", 1000));
        const pg_toolkit_config config = {.toolkit_dir = folder, .wanted = wanted[i]};
        pg_toolkit *t;
        ptxgen_assembler kind;
        const char *identity;
        ptxgen_error err = {0};
        ptxgen_part part;
        assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, NULL), PTXGEN_OK);
        const struct rlimit usual = take_descriptors();
        const ptxgen_status without =
            pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err);
        const bool found = pg_toolkit_part(t, 0, &part) && part.found;
        setrlimit(RLIMIT_NOFILE, &usual);
        assert_int_equal(without, PTXGEN_EIO);
        assert_non_null(strstr(err.message, "Too many open files"));
        assert_false(found);
        assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err),
                         PTXGEN_OK);
        assert_int_equal(kind, PTXGEN_ASSEMBLER_PTXAS);
        pg_toolkit_destroy(t);
    }
}

/* What is not there is remembered: a file that comes later is for the next context. */
static void absence_is_remembered(void **state)
{
    (void)state;
    static const pg_log silent;
    const pg_toolkit_config config = {.toolkit_dir = folder, .wanted = PTXGEN_ASSEMBLER_PTXAS};
    pg_toolkit *t;
    ptxgen_assembler kind;
    const char *identity;
    ptxgen_error err = {0};
    forget_file("ptxas");
    assert_int_equal(pg_toolkit_create(&pg_alloc_libc, &silent, &config, &t, NULL), PTXGEN_OK);
    assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err),
                     PTXGEN_EMISSING);
    pg_toolkit_destroy(toolkit_with_script("exit 0", 1000));
    assert_int_equal(pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err),
                     PTXGEN_EMISSING);
    pg_toolkit_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_to_the_group_is_the_hosts),
        cmocka_unit_test(a_dead_host_leaves_nothing_running),
        cmocka_unit_test(what_is_left_running_ends_with_the_call),
        cmocka_unit_test(a_long_log_is_kept_in_part),
        cmocka_unit_test(the_reason_is_shown),
        cmocka_unit_test(a_moment_without_descriptors_is_not_remembered),
        cmocka_unit_test(absence_is_remembered),
    };
    return cmocka_run_group_tests_name("assembler_child", tests, make_folder, remove_folder);
}
