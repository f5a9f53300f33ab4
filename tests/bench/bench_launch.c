/* Host cost of a warm launch through the CUDA device against a bare cuLaunchKernel of the same
 * empty kernel, and of the questions asked before it. Medians over batches that are short enough
 * not to fill the launch queue. Usage: bench_launch [CSV] */
#include "gpu_kernels.h"
#include "runtime_kernels.h"

#include "device/cuda/device.h"

#include <time.h>

enum { BATCH = 200, BATCHES = 101 };

static const pg_log silent;

typedef struct bench {
    pg_device *device;
    const pg_driver *driver;
    pg_loaded *plain, *tensor;
    pg_cu_function plain_function, tensor_function;
    pg_launch plain_launch, tensor_launch;
} bench;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int bare_launch(bench *b)
{
    const pg_launch *l = &b->plain_launch;
    void *arguments[] = {&b->plain_launch.args[0].u64, &b->plain_launch.args[1].u32};
    return b->driver->cuLaunchKernel(b->plain_function, l->grid[0], l->grid[1], l->grid[2],
                                     l->block[0], l->block[1], l->block[2], 0, NULL, arguments,
                                     NULL);
}

static int bare_tensor_launch(bench *b)
{
    _Alignas(64) char map[128];
    static const uint32_t steps[] = {1, 1};
    const pg_tensor_spec *s = &b->tensor_launch.args[0].tensor;
    void *arguments[] = {map};
    int result = b->driver->cuTensorMapEncodeTiled(map, (int)s->type, s->rank, s->address, s->dims,
                                                   s->strides, s->box, steps, 0, 0, 0, 0);
    return result ? result
                  : b->driver->cuLaunchKernel(b->tensor_function, 1, 1, 1, 32, 1, 1, 0, NULL,
                                              arguments, NULL);
}

static int our_launch(bench *b)
{
    return (int)b->device->ops->launch(b->device, b->plain, &b->plain_launch, NULL, NULL);
}

static int our_tensor_launch(bench *b)
{
    return (int)b->device->ops->launch(b->device, b->tensor, &b->tensor_launch, NULL, NULL);
}

static int ask_ready(bench *b)
{
    return !b->device->ops->ready(b->device, b->plain);
}

static int ask_info(bench *b)
{
    const ptxgen_device_info *info;
    return (int)b->device->ops->info(b->device, &info, NULL);
}

static int ask_capturing(bench *b)
{
    bool capturing;
    return (int)b->device->ops->capturing(b->device, NULL, &capturing, NULL);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median nanoseconds of a call; negative when one failed. */
static double measure(bench *b, int (*call)(bench *))
{
    double times[BATCHES];
    for (int i = 0; i < BATCHES; i++) {
        int failures = 0;
        double start = now_ns();
        for (int k = 0; k < BATCH; k++)
            failures += call(b) != 0;
        times[i] = (now_ns() - start) / BATCH;
        b->device->ops->synchronize(b->device, NULL, NULL);
        if (failures)
            return -1;
    }
    qsort(times, BATCHES, sizeof times[0], by_size);
    return times[BATCHES / 2];
}

static pg_loaded *load(pg_device *device, const char *ptx, const char *entry)
{
    ptxgen_error err = {0};
    pg_loaded *loaded = NULL;
    pg_assembly a;
    ptxgen_assembler kind;
    const char *identity;
    pg_toolkit *t = open_toolkit(PTXGEN_ASSEMBLER_AUTO);
    const pg_assembly_request r = request_for(ptx, 900);
    assembly_init(&a);
    if (t && pg_toolkit_choose(t, (pg_assembly_need){0}, &kind, &identity, &err) == PTXGEN_OK &&
        pg_toolkit_assemble(t, kind, &r, &a, &err) == PTXGEN_OK) {
        const pg_image image = {
            .entry = entry, .cubin = a.cubin.data, .cubin_size = a.cubin.len, .arch = 900};
        device->ops->load(device, &image, &loaded, &err);
    }
    if (!loaded)
        printf("skipped: %s\n", err.message);
    assembly_fini(&a);
    pg_toolkit_destroy(t);
    return loaded;
}

static bool set_up(bench *b)
{
    ptxgen_error err = {0};
    void *memory;
    if (pg_cuda_device_create(&pg_alloc_libc, &silent, &b->device, &err) != PTXGEN_OK ||
        b->device->ops->alloc(b->device, 4096, &memory, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return false;
    }
    b->driver = ((pg_cuda *)b->device)->driver;
    b->plain = load(b->device, GPU_EMPTY, "empty");
    b->tensor = load(b->device, GPU_EMPTY_TENSOR, "empty_tensor");
    if (!b->plain || !b->tensor)
        return false;
    b->plain_function = atomic_load(&b->plain->first)->handles[0];
    b->tensor_function = atomic_load(&b->tensor->first)->handles[0];
    b->plain_launch = (pg_launch){.grid = {1, 1, 1}, .block = {32, 1, 1}, .nargs = 2};
    b->plain_launch.args[0] = (pg_arg){.kind = PG_ARG_U64, .u64 = (uintptr_t)memory};
    b->plain_launch.args[1] = (pg_arg){.kind = PG_ARG_U32, .u32 = 1};
    b->tensor_launch = (pg_launch){.grid = {1, 1, 1}, .block = {32, 1, 1}, .nargs = 1};
    b->tensor_launch.args[0] = (pg_arg){.kind = PG_ARG_TENSOR,
                                        .tensor = {.type = PG_TENSOR_F32,
                                                   .rank = 2,
                                                   .address = memory,
                                                   .dims = {16, 8},
                                                   .strides = {64},
                                                   .box = {4, 1}}};
    return true;
}

static void report(FILE *csv, const char *name, double ns, double baseline)
{
    printf("%-52s %9.0f", name, ns);
    if (baseline > 0)
        printf(" %+9.0f %7.2fx", ns - baseline, ns / baseline);
    printf("\n");
    if (csv)
        fprintf(csv, "%s,%.1f,%.1f\n", name, ns, baseline);
}

int main(int argc, char **argv)
{
    bench b = {0};
    if (!set_up(&b))
        return TEST_SKIPPED;
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (csv)
        fprintf(csv, "what,ns,baseline_ns\n");
    printf("%-52s %9s %9s\n", "host time of one call", "ns", "over bare");
    double unseen = measure(&b, our_launch);
    report(csv, "launch, no context current (primary pushed, popped)", unseen, 0);
    pg_cuda_scope scope;
    if (pg_cuda_enter(&((pg_cuda *)b.device)->contexts, &scope, NULL) != PTXGEN_OK)
        return 1;
    double bare = measure(&b, bare_launch), bare_tensor = measure(&b, bare_tensor_launch);
    report(csv, "bare cuLaunchKernel", bare, 0);
    report(csv, "launch, context current", measure(&b, our_launch), bare);
    report(csv, "launch, no context current, against the same", unseen, bare);
    report(csv, "bare cuTensorMapEncodeTiled + cuLaunchKernel", bare_tensor, 0);
    report(csv, "launch with a tensor map", measure(&b, our_tensor_launch), bare_tensor);
    report(csv, "ready", measure(&b, ask_ready), 0);
    report(csv, "info", measure(&b, ask_info), 0);
    report(csv, "capturing", measure(&b, ask_capturing), 0);
    pg_cuda_leave(&scope);
    b.device->ops->unload(b.device, b.plain);
    b.device->ops->unload(b.device, b.tensor);
    b.device->ops->destroy(b.device);
    if (csv)
        fclose(csv);
    return 0;
}
