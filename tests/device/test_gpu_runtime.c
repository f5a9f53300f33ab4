/* The CUDA device and the assemblers on a real GPU: what the stand-in driver can only claim.
 * Skipped without a device of compute capability 9.0 or newer, or without an assembler. */
#include "gpu_kernels.h"
#include "runtime_kernels.h"

#include "device/cuda/device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const pg_log silent;
static pg_device *device;
static const pg_driver *driver;

/* Driver functions that the library has no use for. */
static struct {
    int (*cuStreamBeginCapture)(ptxgen_stream, int mode);
    int (*cuStreamEndCapture)(ptxgen_stream, void **graph);
    int (*cuGraphDestroy)(void *);
    int (*cuCtxCreate)(pg_cu_context *, unsigned flags, int device);
    int (*cuCtxDestroy)(pg_cu_context);
    int (*cuDevicePrimaryCtxReset)(int);
} more;

static void find_more(void)
{
    static const struct {
        const char *symbol;
        void *to;
    } wanted[] = {{"cuStreamBeginCapture_v2", &more.cuStreamBeginCapture},
                  {"cuStreamEndCapture", &more.cuStreamEndCapture},
                  {"cuGraphDestroy", &more.cuGraphDestroy},
                  {"cuCtxCreate_v2", &more.cuCtxCreate},
                  {"cuCtxDestroy_v2", &more.cuCtxDestroy},
                  {"cuDevicePrimaryCtxReset_v2", &more.cuDevicePrimaryCtxReset}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *p = dlsym(driver->library, wanted[i].symbol);
        assert_non_null(p);
        memcpy(wanted[i].to, &p, sizeof p);
    }
}

static _Thread_local ptxgen_error err;

static void ok(ptxgen_status status)
{
    if (status != PTXGEN_OK)
        fail_msg("%s", err.message);
}

static pg_toolkit *toolkit;
static ptxgen_assembler assembler;

static void assemble(const char *ptx, ptxgen_arch arch, pg_assembly *out)
{
    const pg_assembly_request r = request_for(ptx, arch);
    assembly_init(out);
    ok(pg_toolkit_assemble(toolkit, assembler, &r, out, &err));
}

static pg_loaded *load(const char *ptx, const char *entry, uint32_t shared_bytes)
{
    pg_assembly a;
    pg_loaded *loaded;
    assemble(ptx, 900, &a);
    const pg_image image = {.entry = entry,
                            .cubin = a.cubin.data,
                            .cubin_size = a.cubin.len,
                            .arch = 900,
                            .shared_bytes = shared_bytes};
    ok(device->ops->load(device, &image, &loaded, &err));
    assembly_fini(&a);
    return loaded;
}

static pg_cu_context current(void)
{
    pg_cu_context c = NULL;
    assert_int_equal(driver->cuCtxGetCurrent(&c), 0);
    return c;
}

static pg_launch one_warp(void)
{
    return (pg_launch){.grid = {1, 1, 1}, .block = {32, 1, 1}};
}

static void fill_and_check(pg_loaded *fill, ptxgen_stream stream, uint32_t value)
{
    uint32_t got[32] = {0};
    void *out;
    pg_launch l = one_warp();
    ok(device->ops->alloc(device, sizeof got, &out, &err));
    l.nargs = 2;
    l.args[0] = (pg_arg){.kind = PG_ARG_U64, .u64 = (uintptr_t)out};
    l.args[1] = (pg_arg){.kind = PG_ARG_U32, .u32 = value};
    ok(device->ops->launch(device, fill, &l, stream, &err));
    ok(device->ops->synchronize(device, stream, &err));
    ok(device->ops->download(device, got, out, sizeof got, &err));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(got[i], value + i);
    device->ops->free(device, out);
}

static void kernel_runs_in_the_primary_context_unseen(void **state)
{
    const ptxgen_device_info *info;
    (void)state;
    assert_null(current());
    ok(device->ops->info(device, &info, &err));
    assert_true(info->arch >= 901 && info->arch % 10 == 1);
    assert_true(info->sm_count > 0 && info->name[0] && info->shared_bytes_per_block > 200000);
    pg_loaded *fill = load(GPU_FILL, "fill", 0);
    fill_and_check(fill, NULL, 1000);
    assert_true(device->ops->ready(device, fill));
    device->ops->unload(device, fill);
    assert_null(current());
}

static void cluster_and_dynamic_shared_memory_launch(void **state)
{
    uint32_t got[4] = {0};
    void *out;
    pg_launch l = {
        .grid = {4, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}, .shared_bytes = 100000};
    (void)state;
    pg_loaded *loaded = load(GPU_CLUSTER, "cluster", 100000);
    ok(device->ops->alloc(device, sizeof got, &out, &err));
    l.nargs = 1;
    l.args[0] = (pg_arg){.kind = PG_ARG_U64, .u64 = (uintptr_t)out};
    ok(device->ops->launch(device, loaded, &l, NULL, &err));
    ok(device->ops->download(device, got, out, sizeof got, &err));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(got[i], i % 2 * 1000 + 77);
    device->ops->free(device, out);
    device->ops->unload(device, loaded);
}

/* A 20 x 6 matrix of 32-bit elements in rows of 24; the box (8 x 4) hangs over both edges. */
static void tensor_map_loads_the_box(void **state)
{
    enum { COLUMNS = 20, ROWS = 6, STRIDE = 24, X = 16, Y = 4 };
    uint32_t matrix[ROWS][STRIDE], got[4][8];
    void *in, *out;
    pg_launch l = one_warp();
    (void)state;
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < STRIDE; c++)
            matrix[r][c] = r * 100 + c + 1;
    pg_loaded *loaded = load(GPU_TENSOR, "tensor", 0);
    ok(device->ops->alloc(device, sizeof matrix, &in, &err));
    ok(device->ops->alloc(device, sizeof got, &out, &err));
    ok(device->ops->upload(device, in, matrix, sizeof matrix, &err));
    l.nargs = 4;
    l.args[0] = (pg_arg){.kind = PG_ARG_TENSOR,
                         .tensor = {.type = PG_TENSOR_U32,
                                    .rank = 2,
                                    .address = in,
                                    .dims = {COLUMNS, ROWS},
                                    .strides = {STRIDE * 4},
                                    .box = {8, 4}}};
    l.args[1] = (pg_arg){.kind = PG_ARG_U64, .u64 = (uintptr_t)out};
    l.args[2] = (pg_arg){.kind = PG_ARG_U32, .u32 = X};
    l.args[3] = (pg_arg){.kind = PG_ARG_U32, .u32 = Y};
    ok(device->ops->launch(device, loaded, &l, NULL, &err));
    ok(device->ops->download(device, got, out, sizeof got, &err));
    for (uint32_t r = 0; r < 4; r++)
        for (uint32_t c = 0; c < 8; c++)
            assert_int_equal(got[r][c], X + c < COLUMNS && Y + r < ROWS ? matrix[Y + r][X + c] : 0);
    device->ops->free(device, in);
    device->ops->free(device, out);
    device->ops->unload(device, loaded);
}

static void bad_index_record_comes_back_once(void **state)
{
    pg_bad_index bad;
    pg_launch l = one_warp();
    (void)state;
    pg_loaded *loaded = load(GPU_RECORD, "record", 0);
    l.nargs = 1;
    l.args[0] = (pg_arg){.kind = PG_ARG_RECORD};
    ok(device->ops->take_bad_index(device, NULL, &bad, &err));
    assert_true(bad.position == UINT64_MAX);
    ok(device->ops->launch(device, loaded, &l, NULL, &err));
    ok(device->ops->take_bad_index(device, NULL, &bad, &err));
    assert_true(bad.position == 12345 && bad.value == -7);
    ok(device->ops->take_bad_index(device, NULL, &bad, &err));
    assert_true(bad.position == UINT64_MAX);
    device->ops->unload(device, loaded);
}

static void other_architecture_is_refused(void **state)
{
    pg_assembly a;
    pg_loaded *loaded;
    (void)state;
    assemble(
        ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n",
        1201, &a);
    const pg_image image = {
        .entry = "k", .cubin = a.cubin.data, .cubin_size = a.cubin.len, .arch = 1201};
    assert_int_equal(device->ops->load(device, &image, &loaded, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "sm_120a"));
    assert_int_equal(err.driver_error, 0);

    /* The same when the caller is wrong about it, and when it is damaged. */
    pg_image lie = {.entry = "k", .cubin = a.cubin.data, .cubin_size = a.cubin.len, .arch = 900};
    assert_int_equal(device->ops->load(device, &lie, &loaded, &err), PTXGEN_EUNSUPPORTED);
    lie.cubin_size--;
    assert_int_equal(device->ops->load(device, &lie, &loaded, &err), PTXGEN_EPARSE);
    assert_true(pg_is_bad_image(&err));
    /* The driver alone notices late: it loads any library and refuses the kernel in it. The
     * context lives. */
    pg_cuda_scope scope;
    pg_cu_library library = NULL;
    pg_cu_kernel kernel = NULL;
    pg_cu_function function;
    ok(pg_cuda_enter(&((pg_cuda *)device)->contexts, &scope, &err));
    int result = driver->cuLibraryLoadData(&library, a.cubin.data, NULL, NULL, 0, NULL, NULL, 0);
    if (result == 0)
        result = driver->cuLibraryGetKernel(&kernel, library, "k");
    if (result == 0)
        result = driver->cuKernelGetFunction(&function, kernel);
    assert_int_not_equal(pg_driver_check(driver, result, "load the cubin", &err), PTXGEN_OK);
    print_message("unchecked: %s\n", err.message);
    if (library)
        driver->cuLibraryUnload(library);
    pg_cuda_leave(&scope);
    assembly_fini(&a);
    pg_loaded *fill = load(GPU_FILL, "fill", 0);
    fill_and_check(fill, NULL, 5);
    device->ops->unload(device, fill);
}

/* In a context of its own, so that a kernel is not ready there. */
static void capture_is_guarded_and_stays_intact(void **state)
{
    pg_cu_context own, popped;
    ptxgen_stream stream;
    void *graph = NULL;
    bool capturing = true;
    pg_launch l = one_warp();
    (void)state;
    pg_loaded *cold = load(GPU_EMPTY, "empty", 0); /* in the primary context */
    assert_int_equal(more.cuCtxCreate(&own, 0, 0), 0);
    pg_loaded *warm = load(GPU_EMPTY, "empty", 0);
    assert_int_equal(driver->cuStreamCreate(&stream, 0), 0);
    ok(device->ops->capturing(device, stream, &capturing, &err));
    assert_false(capturing);
    assert_int_equal(more.cuStreamBeginCapture(stream, 0), 0); /* global mode, the strictest */
    ok(device->ops->capturing(device, stream, &capturing, &err));
    assert_true(capturing);
    ok(device->ops->capturing(device, NULL, &capturing,
                              &err)); /* legacy: unusable during this capture */
    assert_true(capturing);
    l.nargs = 2;
    l.args[0] = (pg_arg){.kind = PG_ARG_U64};
    l.args[1] = (pg_arg){.kind = PG_ARG_U32};
    assert_false(device->ops->ready(device, cold));
    assert_int_equal(device->ops->launch(device, cold, &l, stream, &err), PTXGEN_ECAPTURE);
    pg_bad_index bad;
    assert_int_equal(device->ops->take_bad_index(device, stream, &bad, &err), PTXGEN_ECAPTURE);
    ok(device->ops->launch(device, warm, &l, stream, &err));
    pg_loaded *meanwhile =
        load(GPU_FILL, "fill", 0); /* as for another stream: does not break the capture */
    assert_int_equal(more.cuStreamEndCapture(stream, &graph), 0);
    assert_non_null(graph);
    more.cuGraphDestroy(graph);
    ok(device->ops->launch(device, cold, &l, stream, &err));
    fill_and_check(meanwhile, stream, 9);
    device->ops->unload(device, meanwhile);
    device->ops->unload(device, warm);
    device->ops->unload(device, cold);
    driver->cuStreamDestroy(stream);
    assert_ptr_equal(current(), own);
    assert_int_equal(more.cuCtxDestroy(own), 0);
    driver->cuCtxPopCurrent(&popped);
}

static void re_created_and_reset_contexts_work(void **state)
{
    (void)state;
    pg_loaded *fill = load(GPU_FILL, "fill", 0);
    for (int i = 0; i < 3; i++) {
        pg_cu_context own;
        assert_int_equal(more.cuCtxCreate(&own, 0, 0), 0);
        assert_false(device->ops->ready(device, fill));
        fill_and_check(fill, NULL, 100 + (uint32_t)i);
        assert_true(device->ops->ready(device, fill));
        assert_int_equal(more.cuCtxDestroy(own), 0);
    }
    device->ops->unload(device, fill);
    assert_null(current());
    assert_int_equal(more.cuDevicePrimaryCtxReset(0), 0); /* what cudaDeviceReset does */
    fill = load(GPU_FILL, "fill", 0);
    fill_and_check(fill, NULL, 300);
    device->ops->unload(device, fill);
    assert_null(current());
}

/* Each assembler that is here makes a kernel that runs; those that drop setmaxnreg say so. */
static void every_assembler_makes_a_kernel_that_runs(void **state)
{
    (void)state;
    const ptxgen_assembler chosen = assembler;
    pg_toolkit *const first = toolkit;
    for (int kind = 1; kind <= PTXGEN_ASSEMBLER_DRIVER; kind++) {
        pg_assembly a;
        ptxgen_assembler found;
        const char *identity;
        const pg_assembly_request wrong = request_for(KERNEL_WRONG, 900);
        const pg_assembly_request registers = request_for(KERNEL_SETMAXNREG, 901);
        toolkit = open_toolkit((ptxgen_assembler)kind);
        if (!toolkit)
            continue;
        assembler = (ptxgen_assembler)kind;
        ok(pg_toolkit_choose(toolkit, (pg_assembly_need){0}, &found, &identity, &err));
        pg_loaded *fill = load(GPU_FILL, "fill", 0);
        fill_and_check(fill, NULL, 42);
        device->ops->unload(device, fill);
        assembly_init(&a);
        assert_int_equal(pg_toolkit_assemble(toolkit, assembler, &wrong, &a, &err),
                         PTXGEN_EASSEMBLE);
        assert_int_equal(err.line, 8);
        bool keeps = kind == PTXGEN_ASSEMBLER_PTXAS || kind == PTXGEN_ASSEMBLER_NVPTXCOMPILER;
        assert_int_equal(pg_toolkit_assemble(toolkit, assembler, &registers, &a, &err),
                         keeps ? PTXGEN_OK : PTXGEN_EASSEMBLE);
        print_message("%s: runs, setmaxnreg %s\n", identity,
                      keeps ? "kept" : "dropped and refused");
        assembly_fini(&a);
        pg_toolkit_destroy(toolkit);
    }
    toolkit = first;
    assembler = chosen;
}

static void *load_and_run(void *failed)
{
    pg_loaded *fill = load(GPU_FILL, "fill", 0);
    ptxgen_stream stream;
    pg_cuda_scope scope;
    if (pg_cuda_enter(&((pg_cuda *)device)->contexts, &scope, NULL) != PTXGEN_OK ||
        driver->cuStreamCreate(&stream, PG_CU_STREAM_NON_BLOCKING) != 0)
        return failed;
    pg_cuda_leave(&scope);
    for (uint32_t i = 0; i < 50; i++)
        fill_and_check(fill, stream, i);
    device->ops->unload(device, fill);
    return current() ? failed : NULL;
}

static void threads_load_and_launch_at_once(void **state)
{
    pthread_t threads[8];
    void *failed;
    (void)state;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, load_and_run, &device);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

static void forked_child_gets_an_error(void **state)
{
    (void)state;
    pg_loaded *fill = load(GPU_FILL, "fill", 0);
    const pg_launch l = one_warp();
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(device->ops->launch(device, fill, &l, NULL, &err) == PTXGEN_EDRIVER &&
                      strstr(err.message, "fork")
                  ? 0
                  : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fill_and_check(fill, NULL, 77);
    device->ops->unload(device, fill);
}

static bool set_up(void)
{
    const ptxgen_device_info *info;
    const char *identity;
    toolkit = open_toolkit(PTXGEN_ASSEMBLER_AUTO);
    if (!toolkit ||
        pg_toolkit_choose(toolkit, (pg_assembly_need){0}, &assembler, &identity, &err) != PTXGEN_OK)
        return false;
    if (pg_cuda_device_create(&pg_alloc_libc, &silent, &device, &err) != PTXGEN_OK ||
        device->ops->info(device, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return false;
    }
    if (info->arch < 900) {
        printf("skipped: %s is older than sm_90\n", info->name);
        return false;
    }
    driver = ((pg_cuda *)device)->driver;
    return true;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_runs_in_the_primary_context_unseen),
        cmocka_unit_test(cluster_and_dynamic_shared_memory_launch),
        cmocka_unit_test(tensor_map_loads_the_box),
        cmocka_unit_test(bad_index_record_comes_back_once),
        cmocka_unit_test(other_architecture_is_refused),
        cmocka_unit_test(capture_is_guarded_and_stays_intact),
        cmocka_unit_test(every_assembler_makes_a_kernel_that_runs),
        cmocka_unit_test(threads_load_and_launch_at_once),
        cmocka_unit_test(forked_child_gets_an_error),
        cmocka_unit_test(re_created_and_reset_contexts_work),
    };
    if (!set_up())
        return TEST_SKIPPED;
    find_more();
    int failed = cmocka_run_group_tests_name("gpu_runtime", tests, NULL, NULL);
    device->ops->destroy(device);
    pg_toolkit_destroy(toolkit);
    return failed;
}
