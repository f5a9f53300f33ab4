/* The pipeline from a request to a kernel, with a real assembler: one compile among processes
 * and threads, a warm disk never assembles, every allocation may fail, errors name the template
 * line. Skipped without an assembler. */
#include "test.h"

#include "api/context.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/ptxgen_pipeline_XXXXXX";

static ptxgen *create(const char *cache_dir)
{
    const ptxgen_config config = {.size = sizeof config, .cache_dir = cache_dir};
    ptxgen *ctx;
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return ctx;
}

static uint64_t misses(ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    return info.misses;
}

/* What a child found: written to the pipe as one struct. */
typedef struct outcome {
    uint64_t misses;
    uint64_t cubin_hash;
    int status;
} outcome;

static outcome compile_once(const char *params)
{
    ptxgen *ctx = create(folder);
    ptxgen_kernel *k = NULL;
    ptxgen_kernel_info info = {.size = sizeof info};
    outcome o = {0};
    o.status = ptxgen_compile(ctx, "scatter_add", params, &k, NULL);
    if (k) {
        ptxgen_kernel_describe(k, &info);
        o.cubin_hash = pg_hash64(info.cubin, info.cubin_size);
        ptxgen_kernel_unref(k);
    }
    o.misses = misses(ctx);
    ptxgen_destroy(ctx);
    return o;
}

static void run_processes(int count, const char *params, outcome *results)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < count; i++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            const outcome o = compile_once(params);
            _exit(write(ends[1], &o, sizeof o) != sizeof o);
        }
    }
    for (int i = 0; i < count; i++) {
        int status;
        assert_int_equal(read(ends[0], &results[i], sizeof results[i]), sizeof results[i]);
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    close(ends[0]);
    close(ends[1]);
}

static void eight_processes_compile_one_cold_key_once(void **state)
{
    (void)state;
    outcome results[8];
    uint64_t assemblies = 0;
    run_processes(8, "n=44 dtype=f32", results);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(results[i].status, PTXGEN_OK);
        assert_int_equal(results[i].cubin_hash, results[0].cubin_hash);
        assemblies += results[i].misses;
    }
    assert_int_equal(assemblies, 1);
}

static void a_second_process_never_assembles(void **state)
{
    (void)state;
    const outcome first = compile_once("n=52 dtype=f32");
    outcome second;
    run_processes(1, "n=52 dtype=f32", &second);
    assert_int_equal(first.misses, 1);
    assert_int_equal(second.misses, 0);
    assert_int_equal(second.cubin_hash, first.cubin_hash);
}

static void *get_one(void *arg)
{
    ptxgen_kernel *k = NULL;
    ptxgen_compile(arg, "scatter_add", "n=60 schedule=bulk", &k, NULL);
    return k;
}

static void threads_share_one_kernel(void **state)
{
    (void)state;
    ptxgen *ctx = create("");
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, get_one, ctx);
    void *first = NULL;
    for (int i = 0; i < 16; i++) {
        void *k;
        pthread_join(threads[i], &k);
        assert_non_null(k);
        first = first ? first : k;
        assert_ptr_equal(k, first);
        ptxgen_kernel_unref(k);
    }
    assert_int_equal(misses(ctx), 1);
    ptxgen_destroy(ctx);
}

static void a_kernel_outlives_its_context(void **state)
{
    (void)state;
    ptxgen *ctx = create("");
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=4", &k, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    ptxgen_kernel_describe(k, &info);
    assert_true(info.cubin_size > 0 && strstr(info.ptx, ".entry"));
    ptxgen_kernel_unref(k);
}

static void clearing_forgets_memory_but_not_kernels_in_use(void **state)
{
    (void)state;
    ptxgen *ctx = create("");
    ptxgen_kernel *before, *after;
    ptxgen_kernel_info info = {.size = sizeof info};
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=4", &before, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_cache_clear(ctx, false, NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=4", &after, NULL), PTXGEN_OK);
    assert_ptr_not_equal(before, after);
    assert_int_equal(misses(ctx), 2);
    ptxgen_kernel_describe(before, &info);
    assert_true(info.cubin_size > 0);
    ptxgen_kernel_unref(before);
    ptxgen_kernel_unref(after);
    ptxgen_destroy(ctx);
}

static ptxgen_status emit_with(failing_alloc *f, ptxgen_error *err)
{
    const pg_alloc hook = failing_alloc_hook(f);
    const ptxgen_config config = {
        .size = sizeof config, .realloc = hook.realloc, .user = hook.user, .cache_dir = folder};
    ptxgen *ctx;
    ptxgen_status status = ptxgen_create(&config, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    ptxgen_kernel *k = NULL;
    status = ptxgen_emit(ctx, "scatter_add", "n=4 schedule=seed", &k, err);
    ptxgen_kernel_unref(k);
    if (status == PTXGEN_OK) { /* a disk hit: no child process in each of hundreds of rounds */
        k = NULL;
        status = ptxgen_compile(ctx, "scatter_add", "n=52 dtype=f32", &k, err);
        ptxgen_kernel_unref(k);
    }
    ptxgen_destroy(ctx);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int forever = 0; forever < 2; forever++) {
        for (size_t n = 1;; n++) {
            failing_alloc f = {.fail_at = n, .forever = forever};
            ptxgen_error err = {0};
            const ptxgen_status status = emit_with(&f, &err);
            assert_int_equal(f.live, 0);
            if (status != PTXGEN_OK && status != PTXGEN_ENOMEM)
                fail_msg("allocation %zu: %s", n, err.message);
            if (status != PTXGEN_OK)
                assert_true(status == PTXGEN_ENOMEM && err.message[0]);
            if (f.calls < n)
                break;
        }
    }
}

int main(void)
{
    ptxgen_error err;
    ptxgen_kernel *k = NULL;
    if (!mkdtemp(folder))
        return 1;
    ptxgen *ctx = create("");
    const ptxgen_status status = ptxgen_compile(ctx, "scatter_add", "n=4", &k, &err);
    ptxgen_kernel_unref(k);
    ptxgen_destroy(ctx);
    if (status == PTXGEN_EMISSING) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_processes_compile_one_cold_key_once),
        cmocka_unit_test(a_second_process_never_assembles),
        cmocka_unit_test(threads_share_one_kernel),
        cmocka_unit_test(a_kernel_outlives_its_context),
        cmocka_unit_test(clearing_forgets_memory_but_not_kernels_in_use),
        cmocka_unit_test(every_allocation_may_fail),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0 ? 1 : failed;
}
