/* stall=never with an assembler and a driver (stand-ins for both): a call never waits for a
 * compile but for the first use of a generic kernel that is in no cache; nothing is swapped in a
 * capture; what cannot be made leaves the generic kernel in place. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "stub_libcuda.h"

#include <time.h>

static fake_toolkit toolkit;
static test_folder folder;
static ptxgen *ctx;

static ptxgen *create(void)
{
    const ptxgen_config config = {
        .device = PTXGEN_DEVICE_CUDA, .stall = PTXGEN_STALL_NEVER, .prefetch_threads = 2};
    ptxgen *c = engine_create(&toolkit, folder.path, &config);
    atomic_store(&c->engine->device, stub_device(&pg_alloc_libc));
    return c;
}

static int set_up(void **state)
{
    (void)state;
    fake_toolkit_make(&toolkit);
    test_folder_make(&folder);
    ctx = create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ptxgen_destroy(ctx);
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
    return 0;
}

static ptxgen_status call(int64_t n, ptxgen_error *err)
{
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = PTXGEN_F32,
                                          .rows = 100,
                                          .out_rows = 10,
                                          .n = n,
                                          .out = (void *)(uintptr_t)0x10000000,
                                          .src = (void *)(uintptr_t)0x20000000,
                                          .index = (void *)(uintptr_t)0x30000000};
    return ptxgen_scatter_add(ctx, &args, NULL, err);
}

static void must(int64_t n)
{
    ptxgen_error err = {0};
    if (call(n, &err) != PTXGEN_OK)
        fail_msg("n=%lld: %s", (long long)n, err.message);
}

static void settle(void)
{
    while (engine_info(ctx).pending)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void only_the_first_use_of_a_generic_kernel_compiles(void **state)
{
    (void)state;
    must(64);
    assert_int_equal(engine_info(ctx).compiles_in_call, 1);
    settle();
    assert_int_equal(engine_info(ctx).special_made, 1);
    assert_true(engine_info(ctx).special_us > 0);
    assert_true(engine_info(ctx).special_slowest_us >= engine_info(ctx).special_us);
    for (int i = 2; i <= 40; i++)
        must(64 * i);
    settle();
    assert_int_equal(engine_info(ctx).compiles_in_call, 1);
    assert_int_equal(engine_info(ctx).generic_calls, 40);
    assert_int_equal(engine_info(ctx).special_made, 40);
    for (int i = 1; i <= 40; i++)
        must(64 * i);
    assert_int_equal(engine_info(ctx).generic_calls, 40);
    assert_int_equal(fake_toolkit_runs(&toolkit), 41);
}

static void a_process_with_a_warm_cache_compiles_nothing_in_a_call(void **state)
{
    (void)state;
    must(64);
    settle();
    ptxgen_destroy(ctx);
    ctx = create();
    must(64);
    must(128);
    assert_int_equal(engine_info(ctx).compiles_in_call, 0);
    settle();
    assert_int_equal(fake_toolkit_runs(&toolkit), 3);
}

/* The assembler stands still: calls go on. */
static void a_stuck_assembler_holds_up_no_call(void **state)
{
    (void)state;
    must(64);
    settle();
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    for (int i = 2; i <= 50; i++)
        must(64 * i);
    assert_int_equal(engine_info(ctx).generic_calls, 50);
    assert_true(engine_info(ctx).pending >= 40);
    fake_toolkit_go(&toolkit);
    settle();
    assert_int_equal(engine_info(ctx).special_made, 50);
}

static void nothing_is_swapped_in_a_capture(void **state)
{
    (void)state;
    must(64);
    settle();
    stub_state()->capture_status = 1;
    for (int i = 0; i < 3; i++)
        must(64); /* ready, but a graph keeps what it has begun with */
    assert_int_equal(engine_info(ctx).generic_calls, 4);
    must(128); /* new in a capture: the generic one, and the special one is made beside it */
    settle();
    must(128);
    assert_int_equal(engine_info(ctx).generic_calls, 6);
    assert_int_equal(engine_info(ctx).special_made, 2);
    stub_state()->capture_status = 0;
    must(64);
    must(128);
    assert_int_equal(engine_info(ctx).generic_calls, 6);
    stub_state()->capture_status = 1;
    must(64); /* was swapped before */
    assert_int_equal(engine_info(ctx).generic_calls, 6);
    stub_state()->capture_status = 0;
}

static void a_capture_without_a_generic_kernel_is_refused(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    stub_state()->capture_status = 1;
    assert_int_equal(call(64, &err), PTXGEN_ECAPTURE);
    stub_state()->capture_status = 0;
    settle();
    must(64);
}

static void what_cannot_be_made_leaves_the_generic_kernel(void **state)
{
    (void)state;
    must(64);
    settle();
    const int runs = fake_toolkit_runs(&toolkit);
    fake_toolkit_does(&toolkit, FAKE_REFUSES);
    for (int i = 0; i < 10; i++) {
        must(128);
        settle();
    }
    assert_int_equal(engine_info(ctx).generic_calls, 11);
    assert_int_equal(engine_info(ctx).special_made, 1);
    assert_int_equal(fake_toolkit_runs(&toolkit), runs + 1);
}

static void the_end_does_not_wait_for_what_has_not_begun(void **state)
{
    (void)state;
    must(64);
    settle();
    fake_toolkit_does(&toolkit, FAKE_WAITS);
    for (int i = 2; i <= 30; i++)
        must(64 * i);
    fake_toolkit_go(&toolkit);
    ptxgen_destroy(ctx);
    assert_true(fake_toolkit_runs(&toolkit) <= 31);
    ctx = create();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_first_use_of_a_generic_kernel_compiles, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_process_with_a_warm_cache_compiles_nothing_in_a_call,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_assembler_holds_up_no_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_swapped_in_a_capture, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_capture_without_a_generic_kernel_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_made_leaves_the_generic_kernel, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_end_does_not_wait_for_what_has_not_begun, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("engine_standby", tests, NULL, NULL);
}
