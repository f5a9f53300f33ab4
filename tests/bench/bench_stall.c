/* What a call costs with stall=never in a process that starts cold: SHAPES new shapes of each
 * family, one call each, the generic kernels from a pack, the own ones compiled behind; then how
 * long those took, and whether the bits are the same with them. Needs a GPU, a pack and, for the
 * own kernels, an assembler.
 *
 *     bench_stall PACK [SHAPES [SECONDS]]
 */
#include "ptxgen/cache.h"
#include "ptxgen/matmul.h"
#include "ptxgen/ptxgen.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST = 5000,
    SLOWEST = 16,
    KEPT = 40,
    DRAIN = 500,
    ELEMENTS = 1 << 24,
    ROWS = 4096,
    OUT_ROWS = 512
};

typedef struct bench {
    ptxgen *ctx;
    char *a, *b, *d;  /* device memory, 4 * ELEMENTS bytes each */
    char *host, *was; /* results: of now, and KEPT of the first pass */
    int64_t *index;   /* on the device */
    int shapes;
    double seconds;
} bench;

/* One call of shape `i`; how many bytes of d it has written into *bytes. */
typedef ptxgen_status (*call_shape)(bench *b, int i, size_t *bytes, ptxgen_error *err);

static void must(ptxgen_status status, const ptxgen_error *err)
{
    if (status == PTXGEN_OK)
        return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* ---- families ---- */

static ptxgen_status scatter(bench *b, int i, bool exact, size_t *bytes, ptxgen_error *err)
{
    const int64_t n = 4 * (1 + i);
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = PTXGEN_F32,
                                          .rows = ELEMENTS / n < ROWS ? ELEMENTS / n : ROWS,
                                          .out_rows = OUT_ROWS,
                                          .n = n,
                                          .out = b->d,
                                          .src = b->a,
                                          .index = b->index,
                                          .deterministic = exact};
    *bytes = (size_t)(OUT_ROWS * n * 4);
    return ptxgen_scatter_add(b->ctx, &args, NULL, err);
}

static ptxgen_status call_scatter(bench *b, int i, size_t *bytes, ptxgen_error *err)
{
    return scatter(b, i, false, bytes, err);
}

static ptxgen_status call_scatter_exact(bench *b, int i, size_t *bytes, ptxgen_error *err)
{
    return scatter(b, i, true, bytes, err);
}

static ptxgen_status call_gather(bench *b, int i, size_t *bytes, ptxgen_error *err)
{
    const int64_t n = 1 + i, rows = 1024;
    const int64_t out_shape[] = {rows, n}, src_shape[] = {OUT_ROWS, n};
    const ptxgen_tensor t[] = {{.data = b->d, .dtype = PTXGEN_F32, .rank = 2, .shape = out_shape},
                               {.data = b->a, .dtype = PTXGEN_F32, .rank = 2, .shape = src_shape},
                               {.data = b->index, .dtype = PTXGEN_S64, .rank = 1, .shape = &rows}};
    *bytes = (size_t)(rows * n * 4);
    return ptxgen_call(b->ctx, "gather_rows", NULL, t, 3, NULL, err);
}

static ptxgen_status call_matmul(bench *b, int i, size_t *bytes, ptxgen_error *err)
{
    const ptxgen_matmul_accumulate_args args = {.size = sizeof args,
                                                .dtype = PTXGEN_BF16,
                                                .m = 1 + i * 37 % 2000,
                                                .n = 8 * (1 + i * 53 % 250),
                                                .k = 8 * (1 + i * 91 % 500),
                                                .a = b->a,
                                                .b = b->b,
                                                .d = b->d};
    *bytes = (size_t)(args.m * args.n * 4);
    return ptxgen_matmul_accumulate(b->ctx, &args, NULL, err);
}

/* ---- the passes ---- */

static void clear_result(bench *b)
{
    ptxgen_error err;
    memset(b->host, 0, ELEMENTS);
    must(ptxgen_device_upload(b->ctx, b->d, b->host, ELEMENTS, &err), &err);
}

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

/* One call of each shape from `first` on in steps of `step`, timed one by one; now and then the
 * device is waited for, untimed, so that no call waits for room in its queue.
 * Returns the page faults in between. */
static long time_calls(bench *b, call_shape call, int first, int step, double *us)
{
    ptxgen_error err;
    size_t bytes;
    const long before = page_faults();
    for (int i = 0; i < b->shapes; i++) {
        const double begin = now_us();
        must(call(b, first + step * i, &bytes, &err), &err);
        us[i] = now_us() - begin;
        if (i % DRAIN == DRAIN - 1)
            must(ptxgen_device_download(b->ctx, b->host, b->d, 4, &err), &err);
    }
    return page_faults() - before;
}

static double first_pass(bench *b, call_shape call, double *us, long *faults)
{
    ptxgen_error err;
    size_t bytes;
    double first = 0;
    for (int i = 0; i < KEPT; i++) { /* these go through copies: the first alone is of interest */
        clear_result(b);
        const double begin = now_us();
        must(call(b, i, &bytes, &err), &err);
        first = i == 0 ? now_us() - begin : first;
        must(ptxgen_device_download(b->ctx, b->was + (size_t)i * ELEMENTS / KEPT, b->d,
                                    bytes < ELEMENTS / KEPT ? bytes : ELEMENTS / KEPT, &err),
             &err);
    }
    *faults = time_calls(b, call, KEPT, 1, us);
    return first;
}

static ptxgen_cache_info info_of(const bench *b)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(b->ctx, &info);
    return info;
}

/* How many of the kept results are other bits now. */
static int second_pass(bench *b, call_shape call)
{
    int other = 0;
    for (int i = 0; i < KEPT; i++) {
        ptxgen_error err;
        size_t bytes;
        clear_result(b);
        must(call(b, i, &bytes, &err), &err);
        bytes = bytes < ELEMENTS / KEPT ? bytes : ELEMENTS / KEPT;
        must(ptxgen_device_download(b->ctx, b->host, b->d, bytes, &err), &err);
        other += memcmp(b->host, b->was + (size_t)i * ELEMENTS / KEPT, bytes) != 0;
    }
    return other;
}

/* Which calls were the slowest, and how slow: "17: 31 us". Reads us as it was measured. */
static void print_slowest(const double *us, int shapes)
{
    static bool shown[MOST];
    memset(shown, 0, sizeof shown);
    printf("               slowest calls:");
    for (int k = 0; k < SLOWEST && k < shapes; k++) {
        int at = -1;
        for (int i = 0; i < shapes; i++)
            if (!shown[i] && (at < 0 || us[i] > us[at]))
                at = i;
        shown[at] = true;
        printf("%s %d: %.0f", k ? "," : "", at, us[at]);
    }
    printf(" us\n");
}

/* The same for a shape that is known, by a generic kernel or its own: what a call costs anyhow. */
static void print_known(bench *b, call_shape call, long faults)
{
    static double us[MOST];
    time_calls(b, call, KEPT, 0, us);
    qsort(us, (size_t)b->shapes, sizeof *us, by_value);
    printf("               one shape as often: call p50 %.1f, p90 %.1f, p99 %.1f, slowest %.0f us; "
           "page faults in the calls above %ld\n",
           us[b->shapes / 2], us[b->shapes * 9 / 10], us[b->shapes * 99 / 100], us[b->shapes - 1],
           faults);
}

static void run(bench *b, const char *name, call_shape call)
{
    static double us[MOST];
    const ptxgen_cache_info before = info_of(b);
    long faults;
    const double first = first_pass(b, call, us, &faults);
    const ptxgen_cache_info called = info_of(b);
    const double until = now_us() + b->seconds * 1e6;
    while (info_of(b).pending && now_us() < until)
        usleep(2000);
    const ptxgen_cache_info after = info_of(b);
    const int other = second_pass(b, call);
    static double in_order[MOST];
    memcpy(in_order, us, sizeof in_order);
    qsort(us, (size_t)b->shapes, sizeof *us, by_value);
    printf("%-14s %d shapes: call p50 %.1f, p90 %.1f, p99 %.1f, slowest %.0f us; before them, the "
           "very first "
           "%.0f\n"
           "               compiles in a call %llu, by a generic kernel %llu; own kernels %llu of "
           "%d, %.1f ms on average, %.1f at most\n"
           "               of %d results %d have other bits with the own kernel%s\n",
           name, b->shapes, us[b->shapes / 2], us[b->shapes * 9 / 10], us[b->shapes * 99 / 100],
           us[b->shapes - 1], first,
           (unsigned long long)(called.compiles_in_call - before.compiles_in_call),
           (unsigned long long)(called.generic_calls - before.generic_calls),
           (unsigned long long)(after.special_made - before.special_made), b->shapes + KEPT,
           (double)after.special_us / 1e3, (double)after.special_slowest_us / 1e3, KEPT, other,
           after.pending ? "; not all were made in time" : "");
    print_slowest(in_order, b->shapes);
    print_known(b, call, faults);
    fflush(stdout);
}

static void fill(bench *b)
{
    ptxgen_error err;
    float *values = malloc((size_t)ELEMENTS * 4);
    int64_t *index = malloc(ROWS * sizeof *index);
    if (!values || !index || !b->host || !b->was)
        exit(1);
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = (float)((i * 2654435761u >> 8) % 2000) / 1000 - 1;
    for (int i = 0; i < ROWS; i++)
        index[i] = (int64_t)((unsigned)i * 2654435761u >> 7) % OUT_ROWS;
    char **arrays[] = {&b->a, &b->b, &b->d};
    for (int i = 0; i < 3; i++) {
        must(ptxgen_device_alloc(b->ctx, (size_t)ELEMENTS * 4, (void **)arrays[i], &err), &err);
        must(ptxgen_device_upload(b->ctx, *arrays[i], values, (size_t)ELEMENTS * 4, &err), &err);
    }
    must(ptxgen_device_alloc(b->ctx, ROWS * sizeof *index, (void **)&b->index, &err), &err);
    must(ptxgen_device_upload(b->ctx, b->index, index, ROWS * sizeof *index, &err), &err);
    free(values);
    free(index);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        call_shape call;
    } families[] = {{"gather_rows", call_gather},
                    {"matmul", call_matmul},
                    {"scatter", call_scatter},
                    {"scatter exact", call_scatter_exact}};
    char folder[] = "/tmp/ptxgen-stall-XXXXXX";
    ptxgen_error err;
    if (argc < 2 || !mkdtemp(folder))
        return fprintf(stderr, "bench_stall PACK [SHAPES [SECONDS]]\n"), 2;
    const char *pack = argv[1];
    bench b = {.shapes = argc > 2 ? atoi(argv[2]) : 1000,
               .seconds = argc > 3 ? atof(argv[3]) : 60,
               .host = calloc(ELEMENTS, 1),
               .was = calloc(ELEMENTS, 1)};
    if (b.shapes < 1 || b.shapes > MOST)
        return 2;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        const ptxgen_config config = {.size = sizeof config,
                                      .cache_dir = folder,
                                      .cache_layers = &pack,
                                      .cache_layer_count = 1,
                                      .stall = PTXGEN_STALL_NEVER};
        must(ptxgen_create(&config, &b.ctx, &err), &err);
        fill(&b);
        run(&b, families[f].name, families[f].call);
        void *memory[] = {b.a, b.b, b.d, b.index};
        for (int i = 0; i < 4; i++)
            ptxgen_device_free(b.ctx, memory[i]);
        ptxgen_destroy(b.ctx);
    }
    return 0;
}
