/* ptxas as a child process that misbehaves (shell scripts in its place), and a host program that
 * makes life hard for children: ignored SIGCHLD, stolen exit statuses, blocked signals,
 * descriptors and variables that must not be inherited. */
#include "script_toolkit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void misbehaving_children_are_described(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        ptxgen_status status;
        const char *says;
    } cases[] = {
        {"kill -SEGV $$", PTXGEN_EASSEMBLE, "killed by signal 11"},
        {"exec sleep 1000", PTXGEN_EASSEMBLE, "was stopped"},
        {"exit 0", PTXGEN_EASSEMBLE,
         "reported success but what it wrote is not a cubin: it is empty"},
        {"echo hello > $6", PTXGEN_EASSEMBLE, "not an ELF"},
        {"exit 3", PTXGEN_EASSEMBLE, "named no error; it wrote nothing"},
        {"exit 127", PTXGEN_EMISSING, "could not be run"},
        {"echo 'ptxas fatal   : Memory allocation failure'; exit 255", PTXGEN_EASSEMBLE,
         "Memory allocation failure"},
        {"echo 'ptxas info    : (C7512) Something new was changed'; exit 0", PTXGEN_EASSEMBLE,
         "(C7512)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pg_toolkit *t = toolkit_with_script(cases[i].script, 300);
        pg_assembly a;
        ptxgen_error err = {0};
        const pg_assembly_request r = request_for(KERNEL_STORE, 900);
        assembly_init(&a);
        assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_PTXAS, &r, &a, &err),
                         cases[i].status);
        if (!strstr(err.message, cases[i].says))
            fail_msg("\"%s\" is not in: %s", cases[i].says, err.message);
        assembly_fini(&a);
        pg_toolkit_destroy(t);
    }
}

static void child_inherits_neither_descriptors_nor_variables(void **state)
{
    (void)state;
    pg_toolkit *t = toolkit_with_script("env; ls /proc/self/fd; cat /proc/self/fd/3; exit 1", 5000);
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request r = request_for("// the text", 900);
    assembly_init(&a);
    int inherited = fcntl(0, F_DUPFD, 57); /* without close-on-exec, as host programs do */
    setenv("PTXGEN_TEST_SECRET", "1", 1);
    assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_PTXAS, &r, &a, &err),
                     PTXGEN_EASSEMBLE);
    const char *log = pg_buf_text(&a.log);
    assert_non_null(strstr(log, "LC_ALL=C"));
    assert_non_null(strstr(log, "// the text"));
    assert_null(strstr(log, "SECRET"));
    assert_null(strstr(log, "\n57\n"));
    close(inherited);
    assembly_fini(&a);
    pg_toolkit_destroy(t);
}

static void take_every_child(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = saved;
}

static void assemble_both(pg_toolkit *t)
{
    pg_assembly a;
    ptxgen_error err = {0};
    const pg_assembly_request right = request_for(KERNEL_STORE, 900);
    const pg_assembly_request wrong = request_for(KERNEL_WRONG, 900);
    assembly_init(&a);
    if (pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_PTXAS, &right, &a, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(pg_toolkit_assemble(t, PTXGEN_ASSEMBLER_PTXAS, &wrong, &a, &err),
                     PTXGEN_EASSEMBLE);
    assert_int_equal(err.line, 8);
    assembly_fini(&a);
}

static void host_signal_settings_do_no_harm(void **state)
{
    (void)state;
    pg_toolkit *t = open_toolkit(PTXGEN_ASSEMBLER_PTXAS);
    if (!t)
        skip();
    sigset_t all, before;
    sigfillset(&all);
    signal(SIGCHLD, SIG_IGN); /* exit statuses vanish */
    assemble_both(t);
    signal(SIGCHLD, take_every_child); /* exit statuses are stolen */
    for (int i = 0; i < 5; i++)
        assemble_both(t);
    signal(SIGCHLD, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    assemble_both(t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pg_toolkit_destroy(t);
}

/* Descriptors 0 to 9 are the host's; none may be closed or left open by an assembly. */
static void descriptors_are_neither_lost_nor_leaked(void **state)
{
    (void)state;
    pg_toolkit *t = open_toolkit(PTXGEN_ASSEMBLER_PTXAS);
    if (!t)
        skip();
    assemble_both(t);
    bool open_before[64];
    for (int fd = 0; fd < 64; fd++)
        open_before[fd] = fcntl(fd, F_GETFD) >= 0;
    int input = dup(0);
    close(0); /* a daemon: the child's own files must not land on 0 to 4 */
    assemble_both(t);
    dup2(input, 0);
    close(input);
    for (int fd = 0; fd < 64; fd++)
        assert_int_equal(fcntl(fd, F_GETFD) >= 0, open_before[fd]);
    pg_toolkit_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misbehaving_children_are_described),
        cmocka_unit_test(child_inherits_neither_descriptors_nor_variables),
        cmocka_unit_test(host_signal_settings_do_no_harm),
        cmocka_unit_test(descriptors_are_neither_lost_nor_leaked),
    };
    return cmocka_run_group_tests_name("assembler_ptxas", tests, make_folder, remove_folder);
}
