/* The CUDA device when things go wrong one at a time: every driver call fails once, every
 * allocation fails once, the process forks, threads race. Nothing may crash, leak, or report
 * another error than the one that happened. */
#include "stub_libcuda.h"

#include "base/fork_guard.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const pg_log silent;
static stub_cubin cubin;
static const pg_image image = {.entry = "kernel",
                               .cubin = cubin.bytes,
                               .cubin_size = sizeof cubin.bytes,
                               .arch = 900,
                               .shared_bytes = 65536};
static const pg_launch plain = {
    .grid = {1, 1, 1}, .block = {32, 1, 1}, .nargs = 1, .args = {{.kind = PG_ARG_RECORD}}};

static ptxgen_status use_memory(pg_device *device, ptxgen_error *err)
{
    char bytes[8] = "1234567";
    void *p;
    ptxgen_status status = device->ops->alloc(device, sizeof bytes, &p, err);
    if (status == PTXGEN_OK)
        status = device->ops->upload(device, p, bytes, sizeof bytes, err);
    if (status == PTXGEN_OK)
        status = device->ops->download(device, bytes, p, sizeof bytes, err);
    device->ops->free(device, p);
    return status;
}

static ptxgen_status use_device(pg_device *device, ptxgen_error *err)
{
    pg_loaded *loaded;
    pg_bad_index bad;
    bool capturing;
    ptxgen_status status = device->ops->load(device, &image, &loaded, err);
    if (status != PTXGEN_OK)
        return status;
    status = device->ops->capturing(device, NULL, &capturing, err);
    if (status == PTXGEN_OK)
        status = device->ops->launch(device, loaded, &plain, NULL, err);
    if (status == PTXGEN_OK)
        status = device->ops->take_bad_index(device, NULL, &bad, err);
    if (status == PTXGEN_OK)
        status = use_memory(device, err);
    if (status == PTXGEN_OK)
        status = device->ops->synchronize(device, NULL, err);
    device->ops->unload(device, loaded);
    return status;
}

/* One whole life of a device. */
static ptxgen_status scenario(const pg_alloc *alloc, ptxgen_error *err)
{
    pg_device *device;
    ptxgen_status status = pg_cuda_device_open(alloc, &silent, STUB_PATH, &device, err);
    if (status != PTXGEN_OK)
        return status;
    status = use_device(device, err);
    device->ops->destroy(device);
    return status;
}

static void sweep_driver_calls(int version)
{
    stub *s = stub_open();
    s->version = version;
    assert_int_equal(scenario(&pg_alloc_libc, NULL), PTXGEN_OK);
    int total = s->calls, failures = 0;
    assert_true(total > 20);
    for (int n = 1; n <= total; n++) {
        failing_alloc counter = {0};
        const pg_alloc alloc = failing_alloc_hook(&counter);
        ptxgen_error err = {0};
        s = stub_open();
        s->version = version;
        s->fail_at = n;
        s->fail_code = 777;
        ptxgen_status status = scenario(&alloc, &err);
        if (status != PTXGEN_OK) {
            failures++;
            assert_int_equal(status, PTXGEN_EDRIVER);
            assert_int_equal(err.driver_error, 777);
            assert_non_null(strstr(err.message, "error 777, CUDA_ERROR_STUB_777"));
        }
        assert_int_equal(counter.live, 0);
        assert_int_equal(s->live_libraries, 0);
        assert_int_equal(s->live_streams, 0);
        assert_int_equal(s->capture_mode, 0);
    }
    /* Only what happens while tidying up (pops, frees, the release) may pass unseen. */
    assert_true(failures > total / 2);
}

static void every_driver_call_may_fail(void **state)
{
    (void)state;
    sweep_driver_calls(13000);
    sweep_driver_calls(11040);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    failing_alloc counter = {0};
    pg_alloc alloc = failing_alloc_hook(&counter);
    stub_open();
    assert_int_equal(scenario(&alloc, NULL), PTXGEN_OK);
    size_t total = counter.calls;
    assert_true(total >= 4);
    for (size_t n = 1; n <= total; n++) {
        ptxgen_error err = {0};
        counter = (failing_alloc){.fail_at = n};
        stub *s = stub_open();
        assert_int_equal(scenario(&alloc, &err), PTXGEN_ENOMEM);
        assert_int_equal(counter.live, 0);
        assert_int_equal(s->live_libraries, 0);
        assert_int_equal(s->live_memory, 0);
        assert_int_equal(s->retains, s->releases);
    }
}

/* In the child: no call may reach the driver. Returns the exit status. */
static int use_after_fork(pg_device *device, pg_loaded *loaded)
{
    ptxgen_error err = {0};
    int calls = stub_state()->calls;
    if (device->ops->launch(device, loaded, &plain, NULL, &err) != PTXGEN_EDRIVER ||
        !strstr(err.message, "fork"))
        return 1;
    if (device->ops->ready(device, loaded))
        return 2;
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    return stub_state()->calls == calls && stub_state()->live_libraries == 1 ? 0 : 3;
}

static void forked_child_gets_an_error(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_loaded *loaded;
    assert_int_equal(device->ops->load(device, &image, &loaded, NULL), PTXGEN_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(use_after_fork(device, loaded));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(device->ops->launch(device, loaded, &plain, NULL, NULL), PTXGEN_OK);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
}

/* The driver itself forks to load its kernel module, perhaps while it links for us. */
static void compiling_thread_may_fork(void **state)
{
    (void)state;
    int status = 0;
    alarm(20);
    pg_compile_begin();
    pid_t child = fork();
    if (child == 0) {
        pg_compile_end();
        pg_compile_begin(); /* nothing is left behind in the child */
        pg_compile_end();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    pg_compile_end();
    alarm(0);
    assert_int_equal(status, 0);
}

enum { THREADS = 8, ROUNDS = 200 };

typedef struct racer {
    pg_device *device;
    pg_loaded *shared;
    stub_context *contexts[2];
    int failures;
} racer;

static void *race(void *p)
{
    racer *r = p;
    for (int i = 0; i < ROUNDS; i++) {
        const ptxgen_device_info *info;
        pg_loaded *own;
        /* Now and then no context is current, and the primary one is used. */
        stub_make_current(i % 3 == 2 ? NULL : r->contexts[i % 3]);
        r->failures +=
            r->device->ops->launch(r->device, r->shared, &plain, NULL, NULL) != PTXGEN_OK;
        r->failures += !r->device->ops->ready(r->device, r->shared);
        r->failures +=
            r->device->ops->info(r->device, &info, NULL) != PTXGEN_OK || info->arch != 901;
        if (i % 20 == 0 && r->device->ops->load(r->device, &image, &own, NULL) == PTXGEN_OK)
            r->device->ops->unload(r->device, own);
    }
    stub_make_current(NULL);
    return NULL;
}

static void threads_share_a_device_and_a_kernel(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_loaded *loaded;
    racer racers[THREADS];
    stub_context contexts[THREADS]; /* each used by two threads */
    pthread_t threads[THREADS];
    assert_int_equal(device->ops->load(device, &image, &loaded, NULL), PTXGEN_OK);
    for (int i = 0; i < THREADS; i++) {
        contexts[i] = (stub_context){.id = 1000 + (unsigned long long)i};
        racers[i] = (racer){device, loaded, {&contexts[i], &contexts[(i + 1) % THREADS]}, 0};
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, race, &racers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(racers[i].failures, 0);
    }
    assert_int_equal(stub_state()->launches, THREADS * ROUNDS);
    device->ops->unload(device, loaded);
    assert_int_equal(stub_state()->live_libraries, 0);
    device->ops->destroy(device);
    assert_int_equal(stub_state()->retains, stub_state()->releases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_driver_call_may_fail),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(forked_child_gets_an_error),
        cmocka_unit_test(compiling_thread_may_fork),
        cmocka_unit_test(threads_share_a_device_and_a_kernel),
    };
    cubin = stub_make_cubin(90);
    return cmocka_run_group_tests_name("runtime_failures", tests, NULL, NULL);
}
