/* In-process assemblers among the host program's threads and forks. Without the hold-off in
 * fork_guard.c a child forked while another thread is inside nvJitLink hangs at its first
 * compilation, a few times in a hundred. */
#include "runtime_kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 6, FORKS = 300, COMPILING_THREADS = 4, PATIENCE_S = 60 };

typedef struct job {
    pg_toolkit *toolkit;
    ptxgen_assembler kind;
    const pg_assembly *expected;
    atomic_int *stop; /* NULL: ROUNDS rounds */
    int failures;
} job;

/* The cubin must be the same, byte for byte, whoever else compiles. */
static bool assemble_equal(const job *j)
{
    pg_assembly a;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    assembly_init(&a);
    bool equal = pg_toolkit_assemble(j->toolkit, j->kind, &r, &a, NULL) == PTXGEN_OK &&
                 a.cubin.len == j->expected->cubin.len &&
                 memcmp(a.cubin.data, j->expected->cubin.data, a.cubin.len) == 0;
    assembly_fini(&a);
    return equal;
}

static void *compile(void *p)
{
    job *j = p;
    for (int i = 0; j->stop ? !atomic_load(j->stop) : i < ROUNDS; i++)
        j->failures += !assemble_equal(j);
    return NULL;
}

static void run_threads(ptxgen_assembler kind)
{
    pg_assembly expected;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    job jobs[THREADS];
    pthread_t threads[THREADS];
    pg_toolkit *t = open_toolkit(kind);
    if (!t)
        skip();
    assembly_init(&expected);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &expected, NULL), PTXGEN_OK);
    pg_toolkit_destroy(t);
    t = open_toolkit(kind); /* so that the first use of the library is a race as well */
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (job){t, kind, &expected, NULL, 0};
        pthread_create(&threads[i], NULL, compile, &jobs[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].failures, 0);
    }
    assembly_fini(&expected);
    pg_toolkit_destroy(t);
}

static void threads_get_equal_cubins_from_ptxas(void **state)
{
    (void)state;
    run_threads(PTXGEN_ASSEMBLER_PTXAS);
}

static void threads_get_equal_cubins_from_nvjitlink(void **state)
{
    (void)state;
    run_threads(PTXGEN_ASSEMBLER_NVJITLINK);
}

static void fork_children(const job *j)
{
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(PATIENCE_S);
            _exit(assemble_equal(j) ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFSIGNALED(status))
            fail_msg("child %d: signal %d (14: it hung)", i, WTERMSIG(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static void forks_while_compiling_never_hang(void **state)
{
    (void)state;
    pg_assembly expected;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    const ptxgen_assembler kind = PTXGEN_ASSEMBLER_NVJITLINK;
    job jobs[COMPILING_THREADS];
    pthread_t threads[COMPILING_THREADS];
    atomic_int stop = 0;
    pg_toolkit *t = open_toolkit(kind);
    if (!t)
        skip();
    assembly_init(&expected);
    assert_int_equal(pg_toolkit_assemble(t, kind, &r, &expected, NULL), PTXGEN_OK);
    for (int i = 0; i < COMPILING_THREADS; i++) {
        jobs[i] = (job){t, kind, &expected, &stop, 0};
        pthread_create(&threads[i], NULL, compile, &jobs[i]);
    }
    fork_children(&jobs[0]);
    atomic_store(&stop, 1);
    for (int i = 0; i < COMPILING_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].failures, 0);
    }
    assembly_fini(&expected);
    pg_toolkit_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_get_equal_cubins_from_ptxas),
        cmocka_unit_test(threads_get_equal_cubins_from_nvjitlink),
        cmocka_unit_test(forks_while_compiling_never_hang),
    };
    return cmocka_run_group_tests_name("assembler_concurrency", tests, NULL, NULL);
}
