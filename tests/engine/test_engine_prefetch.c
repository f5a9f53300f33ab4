/* Kernels compiled in the background: a request never waits longer than for one compile,
 * compiles nothing twice, and gets the real error. The assembler is a script that waits until
 * the test lets it go. */
#include "cache_helpers.h"
#include "engine_helpers.h"

#include <pthread.h>
#include <time.h>

static fake_toolkit toolkit;

static int set_up(void **state)
{
    (void)state;
    fake_toolkit_make(&toolkit);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_toolkit_remove(&toolkit);
    return 0;
}

static void prefetch(ptxgen *ctx, const char *params)
{
    ptxgen_error err;
    if (ptxgen_prefetch(ctx, "scatter_add", params, &err) != PTXGEN_OK)
        fail_msg("%s: %s", params, err.message);
}

/* Polls until it is no longer pending. */
static ptxgen_status await(ptxgen *ctx, const char *params, ptxgen_error *err)
{
    ptxgen_status status;
    while ((status = ptxgen_poll(ctx, "scatter_add", params, err)) == PTXGEN_EPENDING)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return status;
}

static void a_kernel_is_compiled_in_the_background(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    prefetch(ctx, "n=64");
    prefetch(ctx, "n=64"); /* is there already */
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=64", &err), PTXGEN_EPENDING);
    assert_non_null(strstr(err.message, "still being compiled"));
    assert_int_equal(engine_info(ctx).pending, 1);
    fake_toolkit_await(&toolkit, 1);
    fake_toolkit_go(&toolkit);
    assert_int_equal(await(ctx, "n=64", NULL), PTXGEN_OK);
    engine_compile(ctx, "n=64");
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    assert_int_equal(engine_info(ctx).misses, 1);
    prefetch(ctx, "n=64"); /* is in memory: nothing happens */
    assert_int_equal(engine_info(ctx).pending, 0);
    ptxgen_destroy(ctx);
}

static void *compile_in_thread(void *ctx)
{
    engine_compile(ctx, "n=64");
    return NULL;
}

static void a_request_waits_for_the_background(void **state)
{
    (void)state;
    pthread_t threads[8];
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    prefetch(ctx, "n=64");
    fake_toolkit_await(&toolkit, 1);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_in_thread, ctx), 0);
    fake_toolkit_go(&toolkit);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    ptxgen_destroy(ctx);
}

static void a_request_overtakes_what_only_waits(void **state)
{
    (void)state;
    const ptxgen_config one = {.prefetch_threads = 1};
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    ptxgen *ctx = engine_create(&toolkit, "", &one);
    prefetch(ctx, "n=64");
    fake_toolkit_await(&toolkit, 1);
    prefetch(ctx, "n=128");
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    engine_compile(ctx, "n=128"); /* while the only thread is stuck in the other one */
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=128", NULL), PTXGEN_OK);
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=64", NULL), PTXGEN_EPENDING);
    fake_toolkit_go(&toolkit);
    assert_int_equal(await(ctx, "n=64", NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
}

static void check_a_failure_is_told_and_not_believed(const char *cache_dir)
{
    ptxgen_error err = {0};
    ptxgen_kernel *k;
    const int runs = fake_toolkit_runs(&toolkit);
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    ptxgen *ctx = engine_create(&toolkit, cache_dir, NULL);
    prefetch(ctx, "n=64");
    assert_int_equal(await(ctx, "n=64", &err), PTXGEN_EASSEMBLE);
    assert_non_null(strstr(err.message, "Arguments mismatch"));
    assert_non_null(strstr(err.file, ".ptxc"));
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=64", NULL),
                     PTXGEN_EASSEMBLE); /* it stays */

    fake_toolkit_does(&toolkit, "exit 127");
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", "n=64", &k, &err), PTXGEN_EMISSING);
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    prefetch(ctx, "n=64"); /* again */
    assert_int_equal(await(ctx, "n=64", &err), PTXGEN_OK);
    engine_compile(ctx, "n=64");
    assert_int_equal(fake_toolkit_runs(&toolkit), runs + 3);

    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    prefetch(ctx, "n=128");
    assert_int_equal(await(ctx, "n=128", NULL), PTXGEN_EASSEMBLE);
    fake_toolkit_does(&toolkit, FAKE_ASSEMBLES);
    engine_compile(ctx, "n=128");
    assert_int_equal(await(ctx, "n=128", NULL), PTXGEN_OK);
    assert_int_equal(engine_info(ctx).pending, 0);
    ptxgen_destroy(ctx);
}

static void a_failure_is_told_and_not_believed(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    check_a_failure_is_told_and_not_believed("");
    check_a_failure_is_told_and_not_believed(folder.path);
    test_folder_remove(&folder);
}

static void many_failures_take_little_memory(void **state)
{
    (void)state;
    char params[32];
    const ptxgen_config one = {.prefetch_threads = 1};
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    ptxgen *ctx = engine_create(&toolkit, "", &one);
    for (int n = 1; n <= 80; n++) {
        snprintf(params, sizeof params, "n=%d", 64 * n);
        prefetch(ctx, params);
    }
    assert_int_equal(await(ctx, params, NULL), PTXGEN_EASSEMBLE);
    assert_int_equal(await(ctx, "n=64", NULL), PTXGEN_EINVAL); /* forgotten */
    assert_int_equal(ptxgen_cache_clear(ctx, false, NULL), PTXGEN_OK);
    assert_int_equal(await(ctx, params, NULL), PTXGEN_EINVAL);
    ptxgen_destroy(ctx);
}

static void the_queue_is_bounded(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    const ptxgen_config small = {.prefetch_threads = 1, .prefetch_queue = 2};
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    ptxgen *ctx = engine_create(&toolkit, "", &small);
    prefetch(ctx, "n=64");
    fake_toolkit_await(&toolkit, 1); /* it does not wait any more */
    prefetch(ctx, "n=128");
    prefetch(ctx, "n=192");
    assert_int_equal(ptxgen_prefetch(ctx, "scatter_add", "n=256", &err), PTXGEN_EBUDGET);
    assert_non_null(strstr(err.message, "2 kernels wait"));
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=256", NULL), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_prefetch(ctx, "scatter_add", "n=192", &err),
                     PTXGEN_OK); /* waits already */
    fake_toolkit_go(&toolkit);
    assert_int_equal(await(ctx, "n=192", NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    assert_int_equal(fake_toolkit_runs(&toolkit), 3);
}

static void *let_go(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    fake_toolkit_go(arg);
    return NULL;
}

static void destroying_ends_one_and_drops_the_rest(void **state)
{
    (void)state;
    pthread_t thread;
    char params[32];
    const ptxgen_config two = {.prefetch_threads = 2};
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    ptxgen *ctx = engine_create(&toolkit, "", &two);
    for (int n = 1; n <= 50; n++) {
        snprintf(params, sizeof params, "n=%d", 64 * n);
        prefetch(ctx, params);
    }
    fake_toolkit_await(&toolkit, 2);
    assert_int_equal(pthread_create(&thread, NULL, let_go, &toolkit), 0);
    ptxgen_destroy(ctx);
    pthread_join(thread, NULL);
    assert_true(fake_toolkit_runs(&toolkit) < 50);
}

static void wrong_requests_are_refused_at_once(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    ptxgen *ctx = engine_create(&toolkit, "", NULL);
    assert_int_equal(ptxgen_prefetch(ctx, "scatter_sub", "", &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_prefetch(ctx, "scatter_add", "n=7 dtype=f16 schedule=bulk", &err),
                     PTXGEN_EUNSUPPORTED);
    assert_int_equal(ptxgen_prefetch(ctx, NULL, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_poll(ctx, "scatter_add", "n=64", &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "call ptxgen_prefetch"));
    assert_int_equal(engine_info(ctx).pending, 0);
    ptxgen_destroy(ctx);
    const ptxgen_config crowd = {.size = sizeof crowd, .prefetch_threads = 65};
    assert_int_equal(ptxgen_create(&crowd, &ctx, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "65"));
}

/* ---- out of memory ---- */

/* failing_alloc counts for one thread; here several allocate. */
typedef struct shared_alloc {
    failing_alloc failing;
    pthread_mutex_t lock;
} shared_alloc;

static void *locked_realloc(void *user, void *p, size_t old_size, size_t new_size)
{
    shared_alloc *s = user;
    pthread_mutex_lock(&s->lock);
    const pg_alloc hook = failing_alloc_hook(&s->failing);
    void *q = hook.realloc(hook.user, p, old_size, new_size);
    pthread_mutex_unlock(&s->lock);
    return q;
}

static ptxgen_status life(shared_alloc *memory, const char *cache_dir, const char *manifest,
                          ptxgen_error *err)
{
    const ptxgen_config config = {.size = sizeof config,
                                  .realloc = locked_realloc,
                                  .user = memory,
                                  .cache_dir = cache_dir,
                                  .assembler = PTXGEN_ASSEMBLER_PTXAS,
                                  .toolkit_dir = toolkit.dir,
                                  .prefetch_threads = 2,
                                  .record_manifest = manifest};
    ptxgen *ctx;
    ptxgen_kernel *k = NULL;
    ptxgen_status status = ptxgen_create(&config, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    status = ptxgen_prefetch(ctx, "scatter_add", "n=64", err);
    if (status == PTXGEN_OK)
        status = ptxgen_prefetch(ctx, "scatter_add", "n=128", err);
    if (status == PTXGEN_OK)
        status = await(ctx, "n=64", err);
    if (status == PTXGEN_EINVAL) /* built, but there was no memory for keeping it */
        status = pg_fail_memory(err, 0);
    if (status == PTXGEN_OK)
        status = ptxgen_compile(ctx, "scatter_add", "n=128", &k, err);
    ptxgen_kernel_unref(k);
    if (status == PTXGEN_OK)
        status = ptxgen_manifest_write(ctx, manifest, err);
    ptxgen_destroy(ctx);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_folder folder;
    char manifest[600];
    test_folder_make(&folder);
    snprintf(manifest, sizeof manifest, "%s/manifest", folder.path);
    ptxgen *ctx =
        engine_create(&toolkit, folder.path, NULL); /* then no child process is needed below */
    engine_compile(ctx, "n=64");
    engine_compile(ctx, "n=128");
    ptxgen_destroy(ctx);
    for (int forever = 0; forever < 2; forever++) {
        for (size_t n = 1;; n++) {
            shared_alloc memory = {{.fail_at = n, .forever = forever}, PTHREAD_MUTEX_INITIALIZER};
            ptxgen_error err = {0};
            const ptxgen_status status = life(&memory, folder.path, manifest, &err);
            assert_int_equal(memory.failing.live, 0);
            if (status != PTXGEN_OK && (status != PTXGEN_ENOMEM || !err.message[0]))
                fail_msg("allocation %zu: %d %s", n, (int)status, err.message);
            if (memory.failing.calls < n)
                break;
        }
    }
    test_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kernel_is_compiled_in_the_background, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_request_waits_for_the_background, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_request_overtakes_what_only_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failure_is_told_and_not_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_failures_take_little_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_queue_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(destroying_ends_one_and_drops_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_requests_are_refused_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine_prefetch", tests, NULL, NULL);
}
