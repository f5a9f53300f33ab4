/* A kernel from the disk that the driver refuses is thrown out, compiled again and tried once
 * more; a stand-in for the driver refuses. Whatever else the driver says leaves the cache alone. */
#include "cache_helpers.h"
#include "engine_helpers.h"
#include "stub_libcuda.h"

#include <pthread.h>

static const char problem[] = "n=64 schedule=bulk arch=sm_90";

static fake_toolkit toolkit;
static test_folder folder;

/* A context whose device is the stand-in. The driver likes everything again when the context
 * says that it compiles again, if `forgiving`. */
static bool forgiving;

static void watch_log(void *user, ptxgen_log_level level, const char *line)
{
    (void)user;
    (void)level;
    if (forgiving && strstr(line, "is compiled again"))
        stub_state()->fail_name = NULL;
}

static ptxgen *create(const char *cache_dir, const char *layer)
{
    const ptxgen_config config = {.log = watch_log,
                                  .log_level = PTXGEN_LOG_WARNING,
                                  .device = PTXGEN_DEVICE_CUDA,
                                  .cache_layers = &layer,
                                  .cache_layer_count = layer ? 1 : 0};
    ptxgen *ctx = engine_create(&toolkit, cache_dir, &config);
    atomic_store(&ctx->engine->device, stub_device(&pg_alloc_libc));
    return ctx;
}

/* The kernel is on disk, and the driver is not yet asked. */
static int set_up(void **state)
{
    (void)state;
    forgiving = true;
    fake_toolkit_make(&toolkit);
    test_folder_make(&folder);
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    engine_compile(ctx, problem);
    ptxgen_destroy(ctx);
    assert_int_equal(fake_toolkit_runs(&toolkit), 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_toolkit_remove(&toolkit);
    test_folder_remove(&folder);
    return 0;
}

static ptxgen_status get(ptxgen *ctx, ptxgen_error *err)
{
    ptxgen_kernel *k;
    const ptxgen_status status = ptxgen_get(ctx, "scatter_add", problem, NULL, &k, err);
    assert_true((status == PTXGEN_OK) == (k != NULL));
    ptxgen_kernel_unref(k);
    return status;
}

static void a_refused_kernel_is_compiled_again(void **state)
{
    (void)state;
    static const int codes[] = {200, 209, 218};
    for (int i = 0; i < 3; i++) {
        ptxgen_error err = {0};
        const int before = fake_toolkit_runs(&toolkit);
        ptxgen *ctx = create(folder.path, NULL);
        stub_state()->fail_name = "cuLibraryLoadData";
        stub_state()->fail_code = codes[i];
        if (get(ctx, &err) != PTXGEN_OK)
            fail_msg("%d: %s", codes[i], err.message);
        assert_int_equal(get(ctx, &err), PTXGEN_OK); /* from memory now, the new one */
        assert_int_equal(fake_toolkit_runs(&toolkit), before + 1);
        assert_int_equal(engine_info(ctx).rejected, 1);
        assert_int_equal(engine_info(ctx).quarantined, 1);
        assert_int_equal(engine_info(ctx).entries, 1);
        ptxgen_destroy(ctx);
    }
    ptxgen *ctx = create(folder.path, NULL); /* the new entry is on disk and good */
    assert_int_equal(get(ctx, NULL), PTXGEN_OK);
    assert_int_equal(engine_info(ctx).disk_hits, 1);
    assert_int_equal(engine_info(ctx).rejected, 0);
    ptxgen_destroy(ctx);
}

static void a_second_refusal_is_the_error(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    forgiving = false;
    ptxgen *ctx = create(folder.path, NULL);
    stub_state()->fail_name = "cuLibraryLoadData";
    stub_state()->fail_code = 200;
    assert_int_equal(get(ctx, &err), PTXGEN_EDRIVER);
    assert_int_equal(err.driver_error, 200);
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
    assert_int_equal(get(ctx, &err),
                     PTXGEN_EDRIVER); /* compiled here: no reason to compile once more */
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
    stub_state()->fail_name = NULL;
    assert_int_equal(get(ctx, &err), PTXGEN_OK);
    ptxgen_destroy(ctx);
}

static void other_errors_leave_the_cache_alone(void **state)
{
    (void)state;
    static const int codes[] = {2, 222, 900, 999};
    for (int i = 0; i < 4; i++) {
        ptxgen *ctx = create(folder.path, NULL);
        stub_state()->fail_name = "cuLibraryLoadData";
        stub_state()->fail_code = codes[i];
        assert_true(get(ctx, NULL) != PTXGEN_OK);
        assert_int_equal(engine_info(ctx).rejected, 0);
        assert_int_equal(engine_info(ctx).quarantined, 0);
        assert_int_equal(fake_toolkit_runs(&toolkit), 1);
        ptxgen_destroy(ctx);
    }
}

/* Replaces the entry by one whose checksum is right and whose cubin is none. */
static void damage_entry(void)
{
    char key[4096];
    const pg_log silent = {0};
    const pg_cache_config config = {.dir = folder.path};
    ptxgen *ctx = engine_create(&toolkit, folder.path, NULL);
    assert_int_equal(ptxgen_key(ctx, "scatter_add", problem, key, sizeof key, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
    pg_cache *cache = test_cache_open(&config, &silent);
    pg_cache_entry entry;
    assert_int_equal(pg_cache_lookup(cache, key, strlen(key), &entry), PG_CACHE_HIT);
    pg_cache_entry bad = entry;
    bad.cubin = "no cubin at all";
    bad.cubin_size = 15;
    pg_cache_reject(cache, key, strlen(key));
    pg_cache_store(cache, key, strlen(key), &bad);
    pg_cache_entry_release(cache, &entry);
    pg_cache_destroy(cache);
}

static void a_damaged_cubin_never_reaches_the_driver(void **state)
{
    (void)state;
    ptxgen_error err = {0};
    damage_entry();
    ptxgen *ctx = create(folder.path, NULL);
    if (get(ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    assert_int_equal(stub_state()->loads, 1); /* the good one */
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
    ptxgen_destroy(ctx);
}

static void a_cubin_that_is_none_is_no_answer(void **state)
{
    (void)state;
    test_folder own;
    damage_entry();
    test_folder_make(&own);
    for (int i = 0; i < 2; i++) {
        ptxgen *ctx = create(own.path, folder.path);
        assert_int_equal(get(ctx, NULL), PTXGEN_OK);
        assert_true((engine_info(ctx).mismatched > 0) == (i == 0));
        assert_int_equal(engine_info(ctx).layer_hits, 0);
        assert_int_equal(engine_info(ctx).rejected, 0);
        assert_int_equal(fake_toolkit_runs(&toolkit), 2);
        ptxgen_destroy(ctx);
    }
    test_folder_remove(&own);
}

static void a_refused_entry_of_a_layer_is_shadowed(void **state)
{
    (void)state;
    test_folder own;
    test_folder_make(&own);
    for (int i = 0; i < 2; i++) {
        ptxgen *ctx = create(own.path, folder.path);
        stub_state()->fail_name = i == 0 ? "cuLibraryLoadData" : NULL;
        stub_state()->fail_code = 200;
        assert_int_equal(get(ctx, NULL), PTXGEN_OK);
        assert_int_equal(engine_info(ctx).rejected, i == 0);
        assert_int_equal(engine_info(ctx).layer_hits, i == 0);
        assert_int_equal(fake_toolkit_runs(&toolkit), 2);
        ptxgen_destroy(ctx);
    }
    test_folder_remove(&own);
}

static void *get_in_thread(void *ctx)
{
    return get(ctx, NULL) == PTXGEN_OK ? NULL : ctx;
}

static void threads_heal_once(void **state)
{
    (void)state;
    pthread_t threads[8];
    ptxgen *ctx = create(folder.path, NULL);
    stub_state()->fail_name = "cuLibraryLoadData";
    stub_state()->fail_code = 200;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, ctx), 0);
    for (int i = 0; i < 8; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(engine_info(ctx).rejected, 1);
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
    ptxgen_destroy(ctx);
}

static void a_captured_stream_is_left_alone(void **state)
{
    (void)state;
    ptxgen *ctx = create(folder.path, NULL);
    stub_state()->capture_status = 1;
    assert_int_equal(get(ctx, NULL), PTXGEN_ECAPTURE);
    assert_int_equal(stub_state()->loads, 0);
    stub_state()->capture_status = 0;
    assert_int_equal(get(ctx, NULL), PTXGEN_OK);
    stub_state()->capture_status = 1;
    assert_int_equal(get(ctx, NULL), PTXGEN_OK);
    ptxgen_destroy(ctx);
}

/* The caller's own kernel is the caller's; whoever asks next gets another one. */
static void a_kernel_that_a_launch_found_bad_is_not_got_again(void **state)
{
    (void)state;
    static _Alignas(16) float rows[2][64];
    static int64_t index[1];
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = PTXGEN_F32,
                                          .rows = 1,
                                          .out_rows = 1,
                                          .n = 64,
                                          .out = rows[0],
                                          .src = rows[1],
                                          .index = index};
    ptxgen_kernel *bad, *good;
    ptxgen_error err = {0};
    ptxgen *ctx = create(folder.path, NULL);
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", problem, &bad, &err), PTXGEN_OK);
    stub_state()->fail_name = "cuLibraryLoadData";
    stub_state()->fail_code = 200;
    assert_int_equal(ptxgen_scatter_add_launch(bad, &args, NULL, &err), PTXGEN_EDRIVER);
    assert_int_equal(engine_info(ctx).rejected, 1);
    stub_state()->fail_name = NULL;
    assert_int_equal(ptxgen_compile(ctx, "scatter_add", problem, &good, &err), PTXGEN_OK);
    assert_ptr_not_equal(good, bad);
    assert_int_equal(fake_toolkit_runs(&toolkit), 2);
    assert_int_equal(engine_info(ctx).entries, 1);
    assert_int_equal(engine_info(ctx).pending, 0);
    ptxgen_destroy(ctx); /* kernels outlive it */
    ptxgen_kernel_unref(bad);
    ptxgen_kernel_unref(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_kernel_is_compiled_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_second_refusal_is_the_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_errors_leave_the_cache_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_cubin_never_reaches_the_driver, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cubin_that_is_none_is_no_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refused_entry_of_a_layer_is_shadowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_heal_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kernel_that_a_launch_found_bad_is_not_got_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_captured_stream_is_left_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("engine_heal", tests, NULL, NULL);
}
