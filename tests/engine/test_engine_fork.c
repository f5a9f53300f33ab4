/* fork() while other threads compile: the child gets, compiles, prefetches and destroys without
 * hanging. Once with each assembler that is installed, in the process or as its child, and once
 * with a script in the place of one.
 *
 * PTXGEN_FORKS sets the number of forks. Sanitizers are out of it: their own locks do not
 * survive fork(). */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "runtime_kernels.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { THREADS = 4, HANG_SECONDS = 120 };

static test_folder folder;
static atomic_bool stop;
static atomic_int next_n;

static int forks(void)
{
    const char *text = getenv("PTXGEN_FORKS");
    return text ? atoi(text) : 25;
}

/* A kernel nobody has asked for yet. Rows of up to 64 Ki elements. */
static void new_params(char params[64])
{
    const int i = atomic_fetch_add(&next_n, 1);
    snprintf(params, 64, "n=%d dtype=%s schedule=bulk", 8 * (1 + i % 8000),
             i / 8000 % 2 ? "f16" : "f32");
}

static void *compile_on(void *ctx)
{
    while (!atomic_load(&stop)) {
        char params[64];
        ptxgen_kernel *k = NULL;
        new_params(params);
        ptxgen_compile(ctx, "scatter_add", params, &k, NULL);
        ptxgen_kernel_unref(k);
        ptxgen_prefetch(ctx, "scatter_add", params, NULL);
        ptxgen_poll(ctx, "scatter_add", params, NULL);
    }
    return NULL;
}

static bool compiles(ptxgen *ctx, const char *params)
{
    ptxgen_kernel *k = NULL;
    const ptxgen_status status = ptxgen_compile(ctx, "scatter_add", params, &k, NULL);
    ptxgen_kernel_unref(k);
    return status == PTXGEN_OK;
}

/* The child's life; its exit code says how far it came. A hang ends by SIGALRM. */
static int live_on(ptxgen *ctx, const char *mine, const char *background)
{
    alarm(HANG_SECONDS);
    if (!compiles(ctx, "n=8 dtype=bf16"))
        return 1;
    if (ptxgen_prefetch(ctx, "scatter_add", background, NULL) != PTXGEN_OK)
        return 2;
    if (!compiles(ctx, mine))
        return 3;
    if (!compiles(ctx, background) ||
        ptxgen_poll(ctx, "scatter_add", background, NULL) != PTXGEN_OK)
        return 4;
    ptxgen_destroy(ctx);
    return 0;
}

static void fork_while_compiling(ptxgen *ctx)
{
    pthread_t threads[THREADS];
    char mine[64], background[64];
    engine_compile(ctx, "n=8 dtype=bf16");
    atomic_store(&stop, false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_on, ctx), 0);
    for (int i = 0; i < forks(); i++) {
        int status;
        if (i % 50 == 49) /* or the parent would grow, and copying it would take longer each time */
            ptxgen_cache_clear(ctx, false, NULL);
        new_params(mine);
        new_params(background);
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            _exit(live_on(ctx, mine, background));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("child %d: %s %d", i, WIFEXITED(status) ? "exit code" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void check_assembler(ptxgen_assembler kind)
{
    pg_toolkit *t = open_toolkit(kind);
    if (!t)
        skip();
    pg_toolkit_destroy(t);
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = folder.path, .assembler = kind};
    ptxgen *ctx;
    assert_int_equal(ptxgen_create(&config, &ctx, NULL), PTXGEN_OK);
    fork_while_compiling(ctx);
    ptxgen_destroy(ctx);
}

static void with_nvjitlink(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_NVJITLINK);
}

static void with_nvptxcompiler(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_NVPTXCOMPILER);
}

static void with_ptxas(void **state)
{
    (void)state;
    check_assembler(PTXGEN_ASSEMBLER_PTXAS);
}

static void with_a_script(void **state)
{
    (void)state;
    fake_toolkit toolkit;
    fake_toolkit_make(&toolkit);
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    fork_while_compiling(ctx);
    ptxgen_destroy(ctx);
    fake_toolkit_remove(&toolkit);
}

/* ---- a build that forks itself ---- */

static int log_child_code = -1;

/* A log hook that runs a program, as the driver does when it has to load a kernel module. */
static void fork_in_log(void *user, ptxgen_log_level level, const char *line)
{
    (void)user;
    (void)level;
    if (log_child_code >= 0 || !strstr(line, "ptxas"))
        return;
    int status;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    log_child_code = waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void a_build_may_fork(void **state)
{
    (void)state;
    fake_toolkit toolkit;
    const ptxgen_config config = {.log = fork_in_log, .log_level = PTXGEN_LOG_DEBUG};
    fake_toolkit_make(&toolkit);
    ptxgen *ctx = engine_create(&toolkit, "", &config);
    engine_compile(ctx, "n=8 dtype=bf16");
    assert_int_equal(log_child_code, 7);
    engine_compile(ctx, "n=16 dtype=bf16");
    ptxgen_destroy(ctx);
    fake_toolkit_remove(&toolkit);
}

int main(void)
{
    if (SANITIZED) {
        printf("skipped: fork() from several threads under a sanitizer\n");
        return TEST_SKIPPED;
    }
    test_folder_make(&folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_nvjitlink),   cmocka_unit_test(with_nvptxcompiler),
        cmocka_unit_test(with_ptxas),       cmocka_unit_test(with_a_script),
        cmocka_unit_test(a_build_may_fork),
    };
    const int failed = cmocka_run_group_tests_name("engine_fork", tests, NULL, NULL);
    test_folder_remove(&folder);
    return failed;
}
