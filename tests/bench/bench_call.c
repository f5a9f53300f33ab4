/* What a warm ptxgen_scatter_add costs the host over a bare cuLaunchKernel of the same cubin with
 * the same arguments, and what a request for a kernel in memory costs. Needs a GPU for the first
 * part.
 *
 *     bench_call
 *
 * Launches go out in batches that fit the driver's queue; the queue drains between batches,
 * outside the clock. Figures are medians of the batches, divided by their size. */
#include "api/context.h"
#include "ptxgen/call.h"
#include "scatter_add/scatter_add.h"
#include "test.h"
#include "typed_launch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

enum { BATCH = 200, BATCHES = 101 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void (*operation)(void *state);

/* Median microseconds of one `op`; `drain` (may be NULL) runs between batches. */
static double median_us(operation op, operation drain, void *state)
{
    double us[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        const double start = now_us();
        for (int i = 0; i < BATCH; i++)
            op(state);
        us[b] = (now_us() - start) / BATCH;
        if (drain)
            drain(state);
    }
    qsort(us, BATCHES, sizeof *us, by_value);
    return us[BATCHES / 2];
}

static void must(ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
}

/* ---- memory hits ---- */

typedef struct request {
    ptxgen *ctx;
    pg_kernel_id id;
    char text[64];
} request;

static void get_by_text(void *state)
{
    const request *r = state;
    ptxgen_kernel *k;
    ptxgen_compile(r->ctx, "scatter_add", r->text, &k, NULL);
    ptxgen_kernel_unref(k);
}

static void get_by_key(void *state)
{
    const request *r = state;
    ptxgen_kernel *k;
    pg_kernel_store_get(&r->ctx->kernels, &r->id, PG_BUILD_ON_DEMAND, &k, NULL);
    ptxgen_kernel_unref(k);
}

static double thread_us[16];

static void *hammer(void *state)
{
    request *r = state;
    const size_t n = (size_t)(strtol(strchr(r->text, '=') + 1, NULL, 10) / 4 - 1);
    thread_us[n] = median_us(get_by_text, NULL, r);
    return NULL;
}

static void bench_memory(ptxgen *ctx)
{
    request requests[16];
    pthread_t threads[16];
    ptxgen_error err;
    for (int i = 0; i < 16; i++) {
        request *r = &requests[i];
        r->ctx = ctx;
        snprintf(r->text, sizeof r->text, "n=%d schedule=seed", 4 * (i + 1));
        must(pg_kernel_id_parse("scatter_add", r->text, 0, &r->id, &err), &err);
        r->id.assembled = true;
        get_by_text(r);
    }
    printf("memory hit by text, one thread      %8.3f us\n",
           median_us(get_by_text, NULL, &requests[0]));
    printf("memory hit by key, one thread       %8.3f us\n",
           median_us(get_by_key, NULL, &requests[0]));
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, hammer, &requests[i]);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    qsort(thread_us, 16, sizeof *thread_us, by_value);
    printf("memory hit by text, 16 threads      %8.3f us median thread, %.3f us slowest\n",
           thread_us[8], thread_us[15]);
}

/* ---- launches ---- */

typedef int (*launch_function)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, void *, void **, void **);

typedef struct launches {
    ptxgen *ctx;
    ptxgen_kernel *kernel;
    ptxgen_scatter_add_args args;
    ptxgen_tensor tensors[3];
    launch_function cuLaunchKernel;
    void *function;
    pg_launch record;
    void *params[PG_LAUNCH_MAX_ARGS];
    uint64_t bad_index_record; /* device address */
} launches;

static void drain(void *state)
{
    ptxgen_synchronize(((launches *)state)->ctx, NULL, NULL);
}

static void bare(void *state)
{
    launches *l = state;
    l->cuLaunchKernel(l->function, l->record.grid[0], l->record.grid[1], 1, l->record.block[0], 1,
                      1, 0, NULL, l->params, NULL);
}

static void one_call(void *state)
{
    launches *l = state;
    ptxgen_scatter_add(l->ctx, &l->args, NULL, NULL);
}

static void two_step(void *state)
{
    launches *l = state;
    ptxgen_scatter_add_launch(l->kernel, &l->args, NULL, NULL);
}

static void generic_call(void *state)
{
    launches *l = state;
    ptxgen_call(l->ctx, "scatter_add", NULL, l->tensors, 3, NULL, NULL);
}

static void generic_words(void *state)
{
    launches *l = state;
    ptxgen_call(l->ctx, "scatter_add", "schedule=vector oob=record", l->tensors, 3, NULL, NULL);
}

static void generic_kernel(void *state)
{
    launches *l = state;
    ptxgen_call_kernel(l->kernel, l->tensors, 3, NULL, NULL);
}

static void *symbol(void *library, const char *name)
{
    void *p = dlsym(library, name);
    if (!p) {
        fprintf(stderr, "no %s in libcuda\n", name);
        exit(1);
    }
    return p;
}

/* The same cubin through the driver's own calls, without tensor maps. */
static void prepare_bare(launches *l, const ptxgen_device_info *info)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *module, *record;
    int (*load)(void **, const void *) =
        (int (*)(void **, const void *))symbol(cuda, "cuModuleLoadData");
    int (*find)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))symbol(cuda, "cuModuleGetFunction");
    ptxgen_kernel_info k = {.size = sizeof k};
    ptxgen_error err;
    l->cuLaunchKernel = (launch_function)symbol(cuda, "cuLaunchKernel");
    ptxgen_kernel_describe(l->kernel, &k);
    if (load(&module, k.cubin) != 0 || find(&l->function, module, k.entry) != 0) {
        fprintf(stderr, "the driver does not load the cubin\n");
        exit(1);
    }
    must(ptxgen_device_alloc(l->ctx, 16, &record, &err), &err);
    l->bad_index_record = (uintptr_t)record;
    typed_launch("scatter_add", &l->args, l->kernel->plan, info, &l->record);
    for (uint32_t i = 0; i < l->record.nargs; i++) {
        pg_arg *a = &l->record.args[i];
        l->params[i] = a->kind == PG_ARG_RECORD ? (void *)&l->bad_index_record
                       : a->kind == PG_ARG_U32  ? (void *)&a->u32
                                                : (void *)&a->u64;
    }
}

static void bench_launches(ptxgen *ctx, const ptxgen_device_info *info)
{
    enum { ROWS = 32, N = 8 };
    const int64_t index[ROWS] = {0};
    const float zeros[ROWS * N] = {0};
    void *out, *src, *d_index;
    ptxgen_error err;
    must(ptxgen_device_alloc(ctx, sizeof zeros, &out, &err), &err);
    must(ptxgen_device_alloc(ctx, sizeof zeros, &src, &err), &err);
    must(ptxgen_device_alloc(ctx, sizeof index, &d_index, &err), &err);
    must(ptxgen_device_upload(ctx, src, zeros, sizeof zeros, &err), &err);
    must(ptxgen_device_upload(ctx, d_index, index, sizeof index, &err), &err);
    launches l = {.ctx = ctx,
                  .args = {.size = sizeof l.args,
                           .dtype = PTXGEN_F32,
                           .rows = ROWS,
                           .out_rows = ROWS,
                           .n = N,
                           .out = out,
                           .src = src,
                           .index = d_index}};
    static const int64_t shape[] = {ROWS, N};
    l.tensors[0] = (ptxgen_tensor){out, PTXGEN_F32, 2, shape, PTXGEN_DENSE};
    l.tensors[1] = (ptxgen_tensor){src, PTXGEN_F32, 2, shape, PTXGEN_DENSE};
    l.tensors[2] = (ptxgen_tensor){d_index, PTXGEN_S64, 1, shape, PTXGEN_DENSE};
    must(ptxgen_get(ctx, "scatter_add", "dtype=f32 n=8", NULL, &l.kernel, &err), &err);
    prepare_bare(&l, info);
    one_call(&l);
    const double base = median_us(bare, drain, &l), again = median_us(bare, drain, &l);
    const double one = median_us(one_call, drain, &l), two = median_us(two_step, drain, &l);
    printf("bare cuLaunchKernel                 %8.3f us, again %.3f us\n", base, again);
    printf("ptxgen_scatter_add                  %8.3f us, %+.3f us\n", one, one - base);
    printf("ptxgen_scatter_add_launch           %8.3f us, %+.3f us\n", two, two - base);
    must(ptxgen_call(ctx, "scatter_add", NULL, l.tensors, 3, NULL, &err), &err);
    const double generic = median_us(generic_call, drain, &l);
    const double words = median_us(generic_words, drain, &l);
    const double kernel = median_us(generic_kernel, drain, &l);
    printf("ptxgen_call                         %8.3f us, %+.3f us to the typed call\n", generic,
           generic - one);
    printf("ptxgen_call, two words of params    %8.3f us, %+.3f us\n", words, words - one);
    printf("ptxgen_call_kernel                  %8.3f us, %+.3f us to its typed call\n", kernel,
           kernel - two);
    l.args.schedule = PTXGEN_SCHEDULE_SEED;
    one_call(&l);
    const double seed = median_us(one_call, drain, &l);
    printf("ptxgen_scatter_add, schedule=seed   %8.3f us, %+.3f us (encodes a tensor map)\n", seed,
           seed - base);
}

/* A current context, as any CUDA program has. To measure our share alone, link the tests'
 * stub_libcuda.so as libcuda.so.1 in a folder that LD_LIBRARY_PATH names. */
static void make_context_current(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*retain)(void **, int) = (int (*)(void **, int))symbol(cuda, "cuDevicePrimaryCtxRetain");
    int (*push)(void *) = (int (*)(void *))symbol(cuda, "cuCtxPushCurrent_v2");
    if (retain(&context, 0) != 0 || push(context) != 0)
        exit(1);
}

int main(void)
{
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen *ctx;
    ptxgen_error err;
    must(ptxgen_create(&config, &ctx, &err), &err);
    bench_memory(ctx);
    if (ptxgen_device_get_info(ctx, &info, &err) == PTXGEN_OK && info.kind == PTXGEN_DEVICE_CUDA) {
        make_context_current();
        bench_launches(ctx, &info);
    } else {
        printf("no GPU: launches are not measured\n");
    }
    ptxgen_destroy(ctx);
    return 0;
}
