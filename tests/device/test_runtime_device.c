/* The CUDA device against a stand-in driver: whose context is used, what is loaded when, what a
 * launch passes, and what every refusal says. */
#include "stub_libcuda.h"

#include "base/error.h"
#include "base/arch.h"

static const pg_log silent;

static pg_image image_for(ptxgen_arch arch)
{
    static stub_cubin cubin;
    cubin = stub_make_cubin((int)(arch / 10));
    return (pg_image){.entry = "kernel",
                      .cubin = cubin.bytes,
                      .cubin_size = sizeof cubin.bytes,
                      .arch = arch,
                      .shared_bytes = 65536};
}

static pg_loaded *load(pg_device *device)
{
    const pg_image image = image_for(900);
    pg_loaded *loaded;
    ptxgen_error err = {0};
    if (device->ops->load(device, &image, &loaded, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return loaded;
}

static pg_launch small_launch(void)
{
    return (pg_launch){.grid = {7, 2, 1}, .block = {32, 1, 1}, .shared_bytes = 1024};
}

static void assert_says(const ptxgen_error *err, const char *what)
{
    if (!strstr(err->message, what))
        fail_msg("\"%s\" is not in: %s", what, err->message);
}

static void missing_driver_is_named_with_the_remedy(void **state)
{
    (void)state;
    pg_device *device;
    ptxgen_error err = {0};
    assert_int_equal(
        pg_cuda_device_open(&pg_alloc_libc, &silent, "/nowhere/libcuda.so.1", &device, &err),
        PTXGEN_EMISSING);
    assert_null(device);
    assert_says(&err, "/nowhere/libcuda.so.1");
    assert_says(&err, "install the NVIDIA driver");
    assert_int_equal(pg_cuda_device_open(&pg_alloc_libc, &silent, "libm.so.6", &device, &err),
                     PTXGEN_EMISSING);
    assert_says(&err, "cuInit");
}

static void old_driver_is_refused_with_both_versions(void **state)
{
    (void)state;
    pg_device *device;
    ptxgen_error err = {0};
    stub_open()->version = 10020;
    assert_int_equal(pg_cuda_device_open(&pg_alloc_libc, &silent, STUB_PATH, &device, &err),
                     PTXGEN_EMISSING);
    assert_says(&err, "10.2");
    assert_says(&err, "11.4");
}

static void start_errors_have_number_name_and_remedy(void **state)
{
    static const struct {
        int code;
        ptxgen_status status;
        const char *remedy;
    } cases[] = {{100, PTXGEN_EMISSING, "nvidia-smi"},
                 {3, PTXGEN_EDRIVER, "fork"},
                 {34, PTXGEN_EMISSING, "stub"},
                 {804, PTXGEN_EMISSING, "compatibility"},
                 {999, PTXGEN_EDRIVER, "dmesg"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pg_device *device;
        ptxgen_error err = {0};
        char number[64];
        stub *s = stub_open();
        s->fail_name = "cuInit";
        s->fail_code = cases[i].code;
        assert_int_equal(pg_cuda_device_open(&pg_alloc_libc, &silent, STUB_PATH, &device, &err),
                         cases[i].status);
        assert_int_equal(err.driver_error, cases[i].code);
        snprintf(number, sizeof number, "error %d, CUDA_ERROR_STUB_%d", cases[i].code,
                 cases[i].code);
        assert_says(&err, number);
        assert_says(&err, cases[i].remedy);
    }
    ptxgen_error err = {0};
    pg_device *device;
    stub_open()->devices = 0;
    assert_int_equal(pg_cuda_device_open(&pg_alloc_libc, &silent, STUB_PATH, &device, &err),
                     PTXGEN_EMISSING);
    assert_says(&err, "CUDA_VISIBLE_DEVICES");
}

static void primary_context_is_retained_once_and_released(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    assert_int_equal(s->retains, 0);
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    for (int i = 0; i < 3; i++)
        assert_int_equal(device->ops->launch(device, loaded, &l, NULL, NULL), PTXGEN_OK);
    assert_null(stub_current());
    assert_int_equal(s->retains, 1);
    assert_int_equal(s->pushes, s->pops);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    assert_int_equal(s->releases, 1);
    assert_int_equal(s->live_libraries, 0);
    assert_int_equal(s->live_memory, 0);
    assert_int_equal(s->live_streams, 0);
    assert_null(stub_current());
}

static void current_context_is_used_and_left_alone(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    stub_context mine = {.device = 0, .id = 41};
    stub_make_current(&mine);
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    void *p;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, NULL), PTXGEN_OK);
    assert_ptr_equal(s->last.function, (void *)(uintptr_t)(0xf0000 + 41));
    assert_int_equal(device->ops->alloc(device, 64, &p, NULL), PTXGEN_OK);
    device->ops->free(device, p);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    assert_int_equal(s->retains + s->releases, 0);
    assert_ptr_equal(stub_current(), &mine);
    assert_int_equal(s->live_memory, 0);
    stub_make_current(NULL);
}

static void capture_guard_comes_before_any_load(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    bool capturing = true;
    stub_context first = {.id = 41}, second = {.id = 42};
    stub_make_current(&first);
    assert_int_equal(device->ops->capturing(device, NULL, &capturing, NULL), PTXGEN_OK);
    assert_false(capturing);
    pg_loaded *loaded = load(device);

    /* In a context where the kernel is not resolved yet. */
    stub_make_current(&second);
    const stub before = *s;
    s->capture_status = 1;
    assert_int_equal(device->ops->capturing(device, NULL, &capturing, NULL), PTXGEN_OK);
    assert_true(capturing);
    pg_launch l = small_launch();
    ptxgen_error err = {0};
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_ECAPTURE);
    assert_says(&err, "ptxgen_get");
    pg_bad_index bad;
    assert_int_equal(device->ops->take_bad_index(device, NULL, &bad, &err), PTXGEN_ECAPTURE);
    assert_int_equal(s->resolves, before.resolves);
    assert_int_equal(s->loads, before.loads);
    assert_int_equal(s->live_memory, before.live_memory);
    assert_int_equal(s->launches, 0);

    /* Where it is resolved, a launch is recorded into the capture. */
    stub_make_current(&first);
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_OK);
    assert_int_equal(s->launches, 1);

    /* The legacy stream while another stream is captured. */
    s->capture_status = 0;
    s->capture_result = 906;
    assert_int_equal(device->ops->capturing(device, NULL, &capturing, NULL), PTXGEN_OK);
    assert_true(capturing);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    stub_make_current(NULL);
}

static void loading_relaxes_capture_and_restores_it(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_loaded *loaded = load(device);
    assert_int_equal(stub_state()->capture_mode, 0);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
}

static void wrong_architecture_is_refused_before_the_driver_sees_it(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    const pg_image image = image_for(1001);
    pg_loaded *loaded;
    ptxgen_error err = {0};
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EUNSUPPORTED);
    assert_null(loaded);
    assert_says(&err, "sm_100a");
    assert_says(&err, "sm_90a");
    assert_says(&err, "arch=");
    assert_int_equal(stub_state()->loads, 0);
    device->ops->destroy(device);
}

static void damaged_images_never_reach_the_driver(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_loaded *loaded;
    ptxgen_error err = {0};
    pg_image image = image_for(900);
    image.cubin_size--;
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EPARSE);
    assert_says(&err, "cut off");
    assert_true(pg_is_bad_image(&err));
    image = image_for(1200); /* which claims to be */
    image.arch = 900;
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EUNSUPPORTED);
    assert_says(&err, "sm_120");
    image.cubin_size = 0;
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EINVAL);
    assert_int_equal(stub_state()->loads, 0);
    device->ops->destroy(device);
}

static void architectures_match_by_the_rules(void **state)
{
    (void)state;
    static const struct {
        ptxgen_arch image;
        int major, minor;
        bool runs;
    } cases[] = {
        {900, 9, 0, true},    {901, 9, 0, true},    {900, 8, 9, false},   {900, 10, 0, false},
        {901, 10, 0, false},  {1000, 10, 0, true},  {1000, 10, 3, true},  {1001, 10, 0, true},
        {1001, 10, 3, false}, {1002, 10, 0, true},  {1002, 10, 3, true},  {1002, 12, 0, false},
        {1031, 10, 3, true},  {1031, 10, 0, false}, {1032, 10, 0, false}, {1032, 10, 3, true},
        {1030, 10, 0, false}, {1200, 12, 1, true},  {1201, 12, 1, false}, {1202, 12, 1, true},
        {800, 8, 6, true},    {860, 8, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(
            pg_arch_check(cases[i].image, pg_arch_of_device(cases[i].major, cases[i].minor), NULL),
            cases[i].runs ? PTXGEN_OK : PTXGEN_EUNSUPPORTED);
    assert_string_equal(pg_arch_to_text(pg_arch_of_device(9, 0)).text, "sm_90a");
    assert_string_equal(pg_arch_to_text(pg_arch_of_device(8, 6)).text, "sm_86");
    assert_string_equal(pg_arch_to_text(1032).text, "sm_103f");
    assert_string_equal(pg_arch_to_text(-5).text, "sm_?");
    assert_string_equal(pg_arch_to_text(905).text, "sm_?");
}

static void too_much_shared_memory_is_refused_before_the_driver_sees_it(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_image image = image_for(900);
    pg_loaded *loaded;
    ptxgen_error err = {0};
    image.shared_bytes = 232449;
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EUNSUPPORTED);
    assert_says(&err, "232449");
    assert_says(&err, "232448");
    assert_int_equal(stub_state()->loads, 0);
    device->ops->destroy(device);
}

static void re_created_context_is_resolved_again(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    stub_context mine = {.id = 41};
    stub_make_current(&mine);
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    assert_true(device->ops->ready(device, loaded));
    assert_int_equal(s->attribute_value, 65536);
    assert_int_equal(s->function_loads, 1);

    mine.id = 57; /* destroyed, and another one made at the same address */
    assert_false(device->ops->ready(device, loaded));
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, NULL), PTXGEN_OK);
    assert_ptr_equal(s->last.function, (void *)(uintptr_t)(0xf0000 + 57));
    assert_true(device->ops->ready(device, loaded));
    assert_int_equal(s->resolves, 2);
    assert_int_equal(s->function_loads, 2);
    assert_int_equal(s->loads, 1);       /* the library serves all contexts */
    assert_int_equal(s->live_memory, 2); /* each context its own record */
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    stub_make_current(NULL);
}

static void reset_primary_context_is_retained_again(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    s->primary[0].dead = true;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, NULL), PTXGEN_OK);
    assert_int_equal(s->resolves, 2);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    assert_int_equal(s->retains, s->releases);
}

static void launch_passes_every_argument(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    _Alignas(16) char memory[16];
    const pg_tensor_spec tensor = {.type = PG_TENSOR_BF16,
                                   .rank = 2,
                                   .address = memory,
                                   .dims = {512, 9},
                                   .strides = {1024},
                                   .box = {64, 8},
                                   .swizzle = PG_SWIZZLE_128B};
    l.nargs = 4;
    l.args[0] = (pg_arg){.kind = PG_ARG_U32, .u32 = 0xabcd0123};
    l.args[1] = (pg_arg){.kind = PG_ARG_U64, .u64 = 0x1122334455667788};
    l.args[2] = (pg_arg){.kind = PG_ARG_TENSOR, .tensor = tensor};
    l.args[3] = (pg_arg){.kind = PG_ARG_RECORD};
    l.cluster[0] = 2;
    l.cluster[1] = l.cluster[2] = 1;
    s->argument_count = 4;
    assert_int_equal(device->ops->launch(device, loaded, &l, (void *)0x51, NULL), PTXGEN_OK);
    assert_memory_equal(s->last.grid, l.grid, sizeof l.grid);
    assert_memory_equal(s->last.block, l.block, sizeof l.block);
    assert_memory_equal(s->last.cluster, l.cluster, sizeof l.cluster);
    assert_int_equal(s->last.shared_bytes, 1024);
    assert_ptr_equal(s->last.stream, (void *)0x51);
    assert_int_equal(s->last.values[0], 0xabcd0123);
    assert_int_equal(s->last.values[1], 0x55667788);
    assert_int_equal(s->last.values[2],
                     512); /* the stub writes dims[0] into a 64-byte aligned map */
    pg_bad_index *record = (pg_bad_index *)(uintptr_t)atomic_load(
        &atomic_load(&((pg_cuda *)device)->contexts.first)->record);
    assert_int_equal(s->last.values[3], (uint32_t)(uintptr_t)record);

    l.shared_bytes = 65537; /* more than was reserved */
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, NULL), PTXGEN_EINVAL);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
}

static void bad_tensor_specs_are_refused_with_the_limit(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    const pg_driver *d = ((pg_cuda *)device)->driver;
    _Alignas(64) char map[128];
    const pg_tensor_spec good = {.type = PG_TENSOR_F32,
                                 .rank = 2,
                                 .address = (void *)0x1000,
                                 .dims = {100, 3},
                                 .strides = {400},
                                 .box = {4, 1}};
    struct {
        pg_tensor_spec spec;
        const char *says;
    } cases[] = {{good, "rank 6"},      {good, "16-byte aligned"}, {good, "dimension 1 is 0"},
                 {good, "1 to 256"},    {good, "408 bytes"},       {good, "12 bytes"},
                 {good, "swizzle's 32"}};
    cases[0].spec.rank = 6;
    cases[1].spec.address = (void *)0x1008;
    cases[2].spec.dims[1] = 0;
    cases[3].spec.box[0] = 257;
    cases[4].spec.strides[0] = 408;
    cases[5].spec.box[0] = 3;
    cases[6].spec.box[0] = 12;
    cases[6].spec.swizzle = PG_SWIZZLE_32B;
    assert_int_equal(pg_cuda_encode_tensor(d, &good, map, NULL), PTXGEN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ptxgen_error err = {0};
        assert_int_equal(pg_cuda_encode_tensor(d, &cases[i].spec, map, &err), PTXGEN_EINVAL);
        assert_says(&err, cases[i].says);
    }
    device->ops->destroy(device);
}

/* The stub's stream has come to the look when event_result says so. */
static void a_look_at_a_record_does_not_wait(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    stub *s = stub_state();
    _Alignas(16) pg_bad_index record = {17, -3}, bad = {0};
    pg_watch w = {0};
    bool done = true;
    ptxgen_error err = {0};
    s->event_result = PG_CU_ERROR_NOT_READY;
    const int waits = s->waits;
    assert_int_equal(device->ops->watch(device, &w, &record, NULL, &err), PTXGEN_OK);
    assert_int_equal(device->ops->watched(device, &w, &done, &bad, &err), PTXGEN_OK);
    assert_false(done);
    s->event_result = 0;
    assert_int_equal(device->ops->watched(device, &w, &done, &bad, &err), PTXGEN_OK);
    assert_true(done && bad.position == 17 && bad.value == -3);
    assert_true(record.position == UINT64_MAX);
    assert_int_equal(s->waits, waits);
    s->event_result = PG_CU_ERROR_INVALID_CONTEXT;
    assert_int_equal(device->ops->watched(device, &w, &done, &bad, &err), PTXGEN_EDRIVER);
    s->event_result = 0;
    s->capture_status = 1;
    assert_int_equal(device->ops->watch(device, &w, &record, NULL, &err), PTXGEN_ECAPTURE);
    s->capture_status = 0;
    device->ops->unwatch(device, &w);
    device->ops->destroy(device);
}

static void bad_index_is_taken_once(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_bad_index bad = {0};
    assert_int_equal(device->ops->take_bad_index(device, NULL, &bad, NULL), PTXGEN_OK);
    assert_true(bad.position == UINT64_MAX); /* no kernel was ever loaded */
    pg_loaded *loaded = load(device);
    assert_int_equal(device->ops->take_bad_index(device, NULL, &bad, NULL), PTXGEN_OK);
    assert_true(bad.position == UINT64_MAX && bad.value == 0);

    pg_bad_index *record = (pg_bad_index *)(uintptr_t)atomic_load(
        &atomic_load(&((pg_cuda *)device)->contexts.first)->record);
    *record = (pg_bad_index){17, INT64_MIN};
    assert_int_equal(device->ops->take_bad_index(device, NULL, &bad, NULL), PTXGEN_OK);
    assert_true(bad.position == 17 && bad.value == INT64_MIN);
    assert_int_equal(device->ops->take_bad_index(device, NULL, &bad, NULL), PTXGEN_OK);
    assert_true(bad.position == UINT64_MAX);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
}

static void bad_images_are_told_apart_from_other_errors(void **state)
{
    (void)state;
    static const int codes[] = {200, 209, 218, 2, 900};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        pg_device *device = stub_device(&pg_alloc_libc);
        stub *s = stub_state();
        const pg_image image = image_for(900);
        pg_loaded *loaded;
        ptxgen_error err = {0};
        s->fail_name = "cuLibraryLoadData";
        s->fail_code = codes[i];
        ptxgen_status status = device->ops->load(device, &image, &loaded, &err);
        assert_int_equal(status, codes[i] == 2     ? PTXGEN_ENOMEM
                                 : codes[i] == 900 ? PTXGEN_ECAPTURE
                                                   : PTXGEN_EDRIVER);
        assert_int_equal(err.driver_error, codes[i]);
        assert_int_equal(pg_is_bad_image(&err), codes[i] >= 200 && codes[i] < 300);
        device->ops->destroy(device);
    }
}

static void old_drivers_load_a_module_in_each_context(void **state)
{
    (void)state;
    pg_device *device;
    ptxgen_error err = {0};
    stub *s = stub_open();
    s->version = 11040;
    assert_int_equal(pg_cuda_device_open(&pg_alloc_libc, &silent, STUB_PATH, &device, &err),
                     PTXGEN_OK);
    pg_loaded *loaded = load(device);
    pg_launch l = small_launch();
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_OK);
    stub_context other = {.id = 9};
    stub_make_current(&other);
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_OK);
    assert_int_equal(s->loads, 0);
    assert_int_equal(s->module_loads, 2);
    l.cluster[0] = l.cluster[1] = l.cluster[2] = 1;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_EMISSING);
    assert_says(&err, "11.6");
    l = small_launch();
    l.nargs = 1;
    l.args[0].kind = PG_ARG_TENSOR;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_EMISSING);
    assert_says(&err, "12.0");
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    stub_make_current(NULL);
}

static void info_describes_the_current_device(void **state)
{
    (void)state;
    pg_device *device = stub_device(&pg_alloc_libc);
    const ptxgen_device_info *info, *again;
    assert_int_equal(device->ops->info(device, &info, NULL), PTXGEN_OK);
    assert_int_equal(info->arch, 901);
    assert_int_equal(info->sm_count, 132);
    assert_int_equal(info->driver_version, 13000);
    assert_int_equal(info->shared_bytes_per_block, 232448);
    assert_string_equal(info->name, "Stub 0");
    int calls = stub_state()->calls;
    assert_int_equal(device->ops->info(device, &again, NULL), PTXGEN_OK);
    assert_ptr_equal(info, again);
    assert_in_range(stub_state()->calls - calls, 0, 2); /* which context, which id */
    stub_context other = {.device = 3, .id = 8};
    stub_make_current(&other);
    assert_int_equal(device->ops->info(device, &info, NULL), PTXGEN_OK);
    assert_string_equal(info->name, "Stub 3");
    assert_int_equal(info->ordinal, 3);
    stub_make_current(NULL);
    device->ops->destroy(device);
}

/* A module of several entries, and a workspace that is borrowed and given back. */
static void a_module_has_parts_and_a_call_a_workspace(void **state)
{
    (void)state;
    static const char *const parts[] = {"first", "second", NULL};
    pg_device *device = stub_device(&pg_alloc_libc);
    pg_image image = image_for(900);
    pg_loaded *loaded = NULL;
    void *workspace;
    ptxgen_error err = {0};
    image.parts = parts;
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_OK);
    assert_int_equal(stub_state()->resolves, 2);
    pg_launch l = small_launch();
    l.part = 1;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_OK);
    l.part = 2;
    assert_int_equal(device->ops->launch(device, loaded, &l, NULL, &err), PTXGEN_EINVAL);
    const int live = stub_state()->live_memory;
    assert_int_equal(device->ops->borrow(device, 1000, NULL, &workspace, &err), PTXGEN_OK);
    assert_int_equal(stub_state()->live_pools, 1);
    assert_int_equal(stub_state()->live_memory, live + 1);
    assert_int_equal(device->ops->give_back(device, workspace, NULL, &err), PTXGEN_OK);
    assert_int_equal(stub_state()->live_memory, live);
    device->ops->unload(device, loaded);
    device->ops->destroy(device);
    assert_int_equal(stub_state()->live_pools, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_driver_is_named_with_the_remedy),
        cmocka_unit_test(old_driver_is_refused_with_both_versions),
        cmocka_unit_test(start_errors_have_number_name_and_remedy),
        cmocka_unit_test(primary_context_is_retained_once_and_released),
        cmocka_unit_test(current_context_is_used_and_left_alone),
        cmocka_unit_test(capture_guard_comes_before_any_load),
        cmocka_unit_test(loading_relaxes_capture_and_restores_it),
        cmocka_unit_test(wrong_architecture_is_refused_before_the_driver_sees_it),
        cmocka_unit_test(damaged_images_never_reach_the_driver),
        cmocka_unit_test(architectures_match_by_the_rules),
        cmocka_unit_test(too_much_shared_memory_is_refused_before_the_driver_sees_it),
        cmocka_unit_test(re_created_context_is_resolved_again),
        cmocka_unit_test(reset_primary_context_is_retained_again),
        cmocka_unit_test(launch_passes_every_argument),
        cmocka_unit_test(bad_tensor_specs_are_refused_with_the_limit),
        cmocka_unit_test(a_look_at_a_record_does_not_wait),
        cmocka_unit_test(bad_index_is_taken_once),
        cmocka_unit_test(bad_images_are_told_apart_from_other_errors),
        cmocka_unit_test(old_drivers_load_a_module_in_each_context),
        cmocka_unit_test(info_describes_the_current_device),
        cmocka_unit_test(a_module_has_parts_and_a_call_a_workspace),
    };
    return cmocka_run_group_tests_name("runtime_device", tests, NULL, NULL);
}
