/* deterministic on a real GPU: the same bits in a hundred runs, in turns on three numbers of
 * multiprocessors (green contexts: parts of the GPU), in one call and prepared. Skipped without a
 * device or with a driver that has no green contexts.
 *
 *     test_gpu_scatter_bits [RUNS (100)] */
#include "base/half.h"
#include "scatter_case.h"
#include "test.h"

#include <dlfcn.h>

enum { ROWS = 20000, OUT_ROWS = 700, SIZES = 3 };

static ptxgen *ctx;
static int runs = 100;
static ptxgen_error err;

/* ---- parts of the GPU ------------------------------------------------------------------------ */

/* The driver's CUdevResource: its type, then padding, then the number of multiprocessors. Longer
 * than any driver's, of which one is written at a time. */
typedef union resource {
    int type;
    struct {
        char before[96];
        unsigned sm_count;
    } sm;
    char bytes[512];
} resource;

static struct {
    int (*cuDeviceGetDevResource)(int device, resource *, int type);
    int (*cuDevSmResourceSplitByCount)(resource *out, unsigned *count, const resource *in,
                                       resource *rest, unsigned flags, unsigned least);
    int (*cuDevResourceGenerateDesc)(void **out, resource *, unsigned count);
    int (*cuGreenCtxCreate)(void **out, void *description, int device, unsigned flags);
    int (*cuCtxFromGreenCtx)(void **out, void *green);
    int (*cuCtxSetCurrent)(void *);
} cuda;

static bool open_driver(void)
{
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    const struct {
        const char *symbol;
        void *to;
    } wanted[] = {{"cuDeviceGetDevResource", &cuda.cuDeviceGetDevResource},
                  {"cuDevSmResourceSplitByCount", &cuda.cuDevSmResourceSplitByCount},
                  {"cuDevResourceGenerateDesc", &cuda.cuDevResourceGenerateDesc},
                  {"cuGreenCtxCreate", &cuda.cuGreenCtxCreate},
                  {"cuCtxFromGreenCtx", &cuda.cuCtxFromGreenCtx},
                  {"cuCtxSetCurrent", &cuda.cuCtxSetCurrent}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *const p = library ? dlsym(library, wanted[i].symbol) : NULL;
        if (!p)
            return false;
        memcpy(wanted[i].to, &p, sizeof p);
    }
    return true;
}

/* A context with at least so many multiprocessors, and no more than the hardware's steps need. */
static void *context_of(unsigned least, unsigned *got)
{
    enum { SM = 1, DEFAULT_STREAM = 1 };
    static resource all, part, rest;
    void *description, *green, *context;
    unsigned groups = 1;
    if (cuda.cuDeviceGetDevResource(0, &all, SM) ||
        cuda.cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, least) ||
        cuda.cuDevResourceGenerateDesc(&description, &part, 1) ||
        cuda.cuGreenCtxCreate(&green, description, 0, DEFAULT_STREAM) ||
        cuda.cuCtxFromGreenCtx(&context, green))
        return NULL;
    *got = part.sm.sm_count;
    return context;
}

static void *contexts[SIZES]; /* NULL: the whole GPU */

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct kind {
    ptxgen_dtype dtype;
    ptxgen_scatter_reduce reduce;
    int64_t n;
    bool weight;
} kind;

static const kind kinds[] = {
    {PTXGEN_F32, PTXGEN_SCATTER_ADD, 128, false}, {PTXGEN_F32, PTXGEN_SCATTER_ADD, 33, true},
    {PTXGEN_F32, PTXGEN_SCATTER_MEAN, 75, false}, {PTXGEN_F32, PTXGEN_SCATTER_MUL, 64, false},
    {PTXGEN_F32, PTXGEN_SCATTER_MIN, 5, false},   {PTXGEN_F16, PTXGEN_SCATTER_ADD, 300, false},
    {PTXGEN_F16, PTXGEN_SCATTER_MAX, 64, false},  {PTXGEN_BF16, PTXGEN_SCATTER_ADD, 128, true},
    {PTXGEN_BF16, PTXGEN_SCATTER_ADD, 33, false}, {PTXGEN_BF16, PTXGEN_SCATTER_MEAN, 256, false},
    {PTXGEN_BF16, PTXGEN_SCATTER_MUL, 7, false},  {PTXGEN_F64, PTXGEN_SCATTER_ADD, 35, false},
    {PTXGEN_F64, PTXGEN_SCATTER_MEAN, 16, false}, {PTXGEN_F64, PTXGEN_SCATTER_MUL, 9, false},
    {PTXGEN_S64, PTXGEN_SCATTER_ADD, 24, false},  {PTXGEN_S32, PTXGEN_SCATTER_ADD, 1, false},
};

static void must(ptxgen_status status)
{
    if (status != PTXGEN_OK)
        fail_msg("%s", err.message);
}

static void *device_copy(const void *host, size_t bytes)
{
    void *p;
    must(ptxgen_device_alloc(ctx, bytes, &p, &err));
    must(ptxgen_device_upload(ctx, p, host, bytes, &err));
    return p;
}

static size_t size_of(ptxgen_dtype dtype)
{
    return (size_t)ptxgen_dtype_bits(dtype) / 8;
}

/* Numbers near 1, whose sums and products depend on the order. */
static void *numbers(ptxgen_dtype dtype, int64_t count, uint64_t seed)
{
    char *const host = malloc((size_t)count * size_of(dtype));
    for (int64_t i = 0; i < count; i++) {
        const double v = 1 + (double)(next_random(&seed) % 2001) / 1e5 - 0.01;
        char *const at = host + i * (int64_t)size_of(dtype);
        if (dtype == PTXGEN_F32)
            memcpy(at, &(float){(float)v}, 4);
        else if (dtype == PTXGEN_F64)
            memcpy(at, &v, 8);
        else if (dtype == PTXGEN_S32 || dtype == PTXGEN_S64)
            memcpy(at, &(int64_t){(int64_t)(v * 1e6)}, size_of(dtype));
        else
            memcpy(
                at,
                &(uint16_t){dtype == PTXGEN_F16 ? pg_f16_from_double(v) : pg_bf16_from_double(v)},
                2);
    }
    void *const device = device_copy(host, (size_t)count * size_of(dtype));
    free(host);
    return device;
}

/* A third of the entries goes to one row, the others anywhere. */
static void *skewed_index(uint64_t seed)
{
    static int64_t index[ROWS];
    for (int64_t i = 0; i < ROWS; i++) {
        const uint64_t r = next_random(&seed);
        index[i] = r % 3 == 0 ? 13 : (int64_t)(r / 3 % OUT_ROWS);
    }
    return device_copy(index, sizeof index);
}

static void same_bits(const kind *k)
{
    const size_t bytes = (size_t)(OUT_ROWS * k->n) * size_of(k->dtype);
    char *const before = calloc(1, bytes), *const first = malloc(bytes), *const got = malloc(bytes);
    cuda.cuCtxSetCurrent(contexts[0]);
    ptxgen_scatter_add_args a = {.size = sizeof a,
                                 .dtype = k->dtype,
                                 .reduce = k->reduce,
                                 .deterministic = true,
                                 .rows = ROWS,
                                 .out_rows = OUT_ROWS,
                                 .n = k->n,
                                 .index = skewed_index(5)};
    a.src = numbers(k->dtype, ROWS * k->n, 7);
    a.out = device_copy(before, bytes);
    a.weight = k->weight ? numbers(k->dtype, ROWS, 11) : NULL;
    ptxgen_scatter_plan *plan;
    must(ptxgen_scatter_plan_create(ctx, &a, NULL, &plan, &err));
    must(ptxgen_synchronize(ctx, NULL, &err));
    for (int i = 0; i < runs; i++) {
        cuda.cuCtxSetCurrent(contexts[i % SIZES]);
        a.plan = i / SIZES % 2 ? plan : NULL;
        must(ptxgen_device_upload(ctx, a.out, before, bytes, &err));
        must(ptxgen_scatter_add(ctx, &a, NULL, &err));
        must(ptxgen_synchronize(ctx, NULL, &err));
        must(ptxgen_device_download(ctx, i ? got : first, a.out, bytes, &err));
        if (i && memcmp(first, got, bytes) != 0)
            fail_msg("kind %d: run %d has other bits", (int)(k - kinds), i);
    }
    ptxgen_scatter_plan_destroy(plan);
    ptxgen_device_free(ctx, a.out);
    ptxgen_device_free(ctx, (void *)(uintptr_t)a.src);
    ptxgen_device_free(ctx, (void *)(uintptr_t)a.index);
    ptxgen_device_free(ctx, (void *)(uintptr_t)a.weight);
    free(before);
    free(first);
    free(got);
}

static void the_same_bits_on_every_number_of_multiprocessors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        same_bits(&kinds[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        runs = atoi(argv[1]);
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    ptxgen_device_info info = {.size = sizeof info};
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        return 1;
    if (ptxgen_device_get_info(ctx, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    unsigned sms[SIZES] = {0};
    if (!open_driver() || !(contexts[1] = context_of(8, &sms[1])) ||
        !(contexts[2] = context_of(40, &sms[2]))) {
        printf("skipped: no green contexts\n");
        return TEST_SKIPPED;
    }
    printf("on %s: all of it, %u and %u multiprocessors\n", info.name, sms[1], sms[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits_on_every_number_of_multiprocessors)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cuda.cuCtxSetCurrent(NULL);
    ptxgen_destroy(ctx);
    return failed;
}
