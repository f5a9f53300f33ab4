/* ptxgen bench scatter_add: every schedule on the same data in one run; schedule=seed is the
 * baseline. */
#include "command/array.h"
#include "command/bench/bench.h"
#include "command/output.h"
#include "command/progress.h"

#include <stdlib.h>
#include <string.h>

static const char *const schedules[] = {"seed", "bulk", "vector", "auto"};
enum { SCHEDULE_COUNT = sizeof schedules / sizeof *schedules, MAX_ROUNDS = 1000 };

typedef struct shape {
    int64_t rows, out_rows, n;
    ptxgen_dtype dtype;
} shape;

/* Row lengths from 32 bytes to 16 KiB, uniform indices, working sets beyond a GPU's caches where
 * rows allow. */
static const shape gpu_shapes[] = {
    {4194304, 1048576, 8, PTXGEN_F32},  {4194304, 1048576, 8, PTXGEN_BF16},
    {4194304, 1048576, 32, PTXGEN_F32}, {4194304, 1048576, 32, PTXGEN_BF16},
    {1048576, 262144, 128, PTXGEN_F32}, {1048576, 262144, 128, PTXGEN_BF16},
    {1048576, 262144, 512, PTXGEN_F32}, {1048576, 262144, 512, PTXGEN_BF16},
    {65536, 16384, 4096, PTXGEN_F32},   {65536, 16384, 4096, PTXGEN_BF16},
    {4096, 4096, 1024, PTXGEN_F32},     {4096, 4096, 1024, PTXGEN_BF16},
};
static const shape emulator_shapes[] = {{64, 32, 32, PTXGEN_F32}, {64, 32, 512, PTXGEN_BF16}};

typedef struct bench {
    const cli_args *args;
    ptxgen *ctx;
    ptxgen_device_info device;
    size_t rounds,
        launches; /* a sample is `launches` queued launches; a figure the median of `rounds` */
    cJSON *json;  /* list; NULL without --json */
    cli_output csv;
    bool to_csv;
} bench;

/* ---- data ---- */

typedef struct arrays {
    void *out, *src, *index; /* device */
} arrays;

static ptxgen_status upload(bench *b, const npy_array *a, void **device, ptxgen_error *err)
{
    ptxgen_status status = ptxgen_device_alloc(b->ctx, a->header.data_bytes, device, err);
    if (status == PTXGEN_OK)
        status = ptxgen_device_upload(b->ctx, *device, a->data, a->header.data_bytes, err);
    return status;
}

static ptxgen_status make_arrays(bench *b, const shape *s, arrays *out, ptxgen_error *err)
{
    const uint64_t seed = (uint64_t)b->args->set.seed;
    const int64_t src_shape[] = {s->rows, s->n}, out_shape[] = {s->out_rows, s->n};
    npy_array src = {0}, index = {0}, zeros = {0};
    ptxgen_status status = npy_create(s->dtype, 2, src_shape, &src, err);
    if (status == PTXGEN_OK)
        status = npy_create(s->dtype, 2, out_shape, &zeros, err);
    if (status == PTXGEN_OK)
        status = npy_create(PTXGEN_S64, 1, src_shape, &index, err);
    if (status == PTXGEN_OK) {
        array_fill_random(&src, seed);
        array_fill_indices(&index, s->out_rows, seed + 1);
        status = upload(b, &src, &out->src, err);
    }
    if (status == PTXGEN_OK)
        status = upload(b, &index, &out->index, err);
    if (status == PTXGEN_OK)
        status = upload(b, &zeros, &out->out, err);
    npy_free(&src);
    npy_free(&index);
    npy_free(&zeros);
    return status;
}

static void free_arrays(bench *b, arrays *a)
{
    void *all[] = {a->out, a->src, a->index};
    for (size_t i = 0; i < 3; i++)
        if (all[i])
            ptxgen_device_free(b->ctx, all[i]);
}

/* ---- measuring ---- */

static ptxgen_status one_sample(bench *b, ptxgen_kernel *kernel,
                                const ptxgen_scatter_add_args *args, double *us, ptxgen_error *err)
{
    const double start = bench_now();
    for (size_t i = 0; i < b->launches; i++) {
        ptxgen_status status = ptxgen_scatter_add_launch(kernel, args, NULL, err);
        if (status != PTXGEN_OK)
            return status;
    }
    ptxgen_status status = ptxgen_synchronize(b->ctx, NULL, err);
    *us = (bench_now() - start) * 1e6 / (double)b->launches;
    return status;
}

/* The schedules take turns in every round, so a clock that drifts hits all of them. */
static ptxgen_status measure(bench *b, ptxgen_kernel *const *kernels,
                             const ptxgen_scatter_add_args *args, double *median_us,
                             ptxgen_error *err)
{
    double *samples = cli_calloc(SCHEDULE_COUNT * b->rounds, sizeof *samples), warm;
    ptxgen_status status = PTXGEN_OK;
    for (size_t k = 0; k < SCHEDULE_COUNT && status == PTXGEN_OK; k++)
        status = one_sample(b, kernels[k], args, &warm, err);
    for (size_t r = 0; r < b->rounds; r++)
        for (size_t k = 0; k < SCHEDULE_COUNT && status == PTXGEN_OK; k++)
            status = one_sample(b, kernels[k], args, &samples[k * b->rounds + r], err);
    for (size_t k = 0; k < SCHEDULE_COUNT && status == PTXGEN_OK; k++)
        median_us[k] = bench_median(samples + k * b->rounds, b->rounds);
    free(samples);
    return status;
}

static ptxgen_status get_kernels(bench *b, const shape *s, ptxgen_kernel **kernels,
                                 ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (size_t k = 0; k < SCHEDULE_COUNT && status == PTXGEN_OK; k++) {
        char *params = cli_format("dtype=%s n=%lld schedule=%s", ptxgen_dtype_name(s->dtype),
                                  (long long)s->n, schedules[k]);
        status = ptxgen_get(b->ctx, "scatter_add", params, NULL, &kernels[k], err);
        free(params);
    }
    return status;
}

static void add_row(bench *b, const shape *s, const double *us)
{
    cJSON *o = b->json ? cJSON_CreateObject() : NULL;
    if (o) {
        cli_json_integer(o, "rows", s->rows);
        cli_json_integer(o, "out_rows", s->out_rows);
        cli_json_integer(o, "n", s->n);
        cJSON_AddStringToObject(o, "dtype", ptxgen_dtype_name(s->dtype));
        cJSON *times = cJSON_AddObjectToObject(o, "median_us");
        for (size_t k = 0; k < SCHEDULE_COUNT; k++)
            cJSON_AddNumberToObject(times, schedules[k], us[k]);
        cJSON_AddItemToArray(b->json, o);
    } else {
        printf("%9lld %9lld %8lld %5s", (long long)s->rows, (long long)s->out_rows, (long long)s->n,
               ptxgen_dtype_name(s->dtype));
        for (size_t k = 0; k < SCHEDULE_COUNT; k++)
            printf(" %10.2f", us[k]);
        printf(" %9.2fx\n", us[0] / us[SCHEDULE_COUNT - 1]);
        fflush(stdout);
    }
    if (b->to_csv) {
        fprintf(b->csv.file, "%lld,%lld,%lld,%s", (long long)s->rows, (long long)s->out_rows,
                (long long)s->n, ptxgen_dtype_name(s->dtype));
        for (size_t k = 0; k < SCHEDULE_COUNT; k++)
            fprintf(b->csv.file, ",%.3f", us[k]);
        fputc('\n', b->csv.file);
    }
}

static ptxgen_status bench_shape(bench *b, const shape *s, ptxgen_error *err)
{
    arrays data = {0};
    ptxgen_kernel *kernels[SCHEDULE_COUNT] = {0};
    double us[SCHEDULE_COUNT];
    ptxgen_status status = get_kernels(b, s, kernels, err);
    if (status == PTXGEN_OK)
        status = make_arrays(b, s, &data, err);
    const ptxgen_scatter_add_args args = {.size = sizeof args,
                                          .dtype = s->dtype,
                                          .rows = s->rows,
                                          .out_rows = s->out_rows,
                                          .n = s->n,
                                          .out = data.out,
                                          .src = data.src,
                                          .index = data.index};
    if (status == PTXGEN_OK)
        status = measure(b, kernels, &args, us, err);
    if (status == PTXGEN_OK)
        add_row(b, s, us);
    for (size_t k = 0; k < SCHEDULE_COUNT; k++)
        ptxgen_kernel_unref(kernels[k]);
    free_arrays(b, &data);
    return status;
}

/* ---- command line ---- */

/* rows=, out_rows=, n=, dtype= over the defaults of one shape. */
static ptxgen_status parse_shape(const cli_args *args, shape *s, ptxgen_error *err)
{
    const struct {
        const char *name;
        int64_t *field;
    } numbers[] = {{"rows=", &s->rows}, {"out_rows=", &s->out_rows}, {"n=", &s->n}};
    for (size_t w = 1; w < args->count; w++) {
        const char *word = args->words[w];
        bool known = false;
        for (size_t i = 0; i < 3; i++) {
            const size_t length = strlen(numbers[i].name);
            if (strncmp(word, numbers[i].name, length) != 0)
                continue;
            char *end;
            *numbers[i].field = strtoll(word + length, &end, 10);
            known = end != word + length && *end == '\0' && *numbers[i].field > 0 &&
                    *numbers[i].field <= INT64_C(1) << 32;
        }
        for (int d = PTXGEN_F32; d <= PTXGEN_BF16; d++) {
            if (strncmp(word, "dtype=", 6) == 0 &&
                strcmp(word + 6, ptxgen_dtype_name((ptxgen_dtype)d)) == 0) {
                s->dtype = (ptxgen_dtype)d;
                known = true;
            }
        }
        if (!known)
            return cli_fail(
                err, PTXGEN_EINVAL,
                "'%s' is not understood; the bench takes rows=, out_rows=, n= (positive integers) "
                "and dtype=f32|f16|bf16",
                word);
    }
    return PTXGEN_OK;
}

static ptxgen_status open_bench(bench *b, ptxgen_error *err)
{
    const cli_settings *set = &b->args->set;
    ptxgen_status status = cli_context(set, &b->ctx, err);
    if (status == PTXGEN_OK)
        status = ptxgen_device_get_info(b->ctx, &b->device, err);
    if (status == PTXGEN_OK && set->repeat > MAX_ROUNDS)
        status = cli_fail(err, PTXGEN_EINVAL, "--repeat is %lld; this bench takes up to %d rounds",
                          (long long)set->repeat, MAX_ROUNDS);
    if (status == PTXGEN_OK && set->toolkit && b->device.kind == PTXGEN_DEVICE_EMULATOR)
        status = cli_fail(err, PTXGEN_EINVAL,
                          "--toolkit would have no effect here: the emulator runs PTX, nothing is "
                          "assembled");
    if (status == PTXGEN_OK && set->output) {
        status = cli_output_open(&b->csv, set->output, false, err);
        b->to_csv = status == PTXGEN_OK;
    }
    if (status != PTXGEN_OK)
        return status;
    const bool cuda = b->device.kind == PTXGEN_DEVICE_CUDA;
    b->rounds = set->repeat > 0 ? (size_t)set->repeat : cuda ? 30 : 3;
    b->launches = cuda ? 10 : 1;
    if (b->to_csv)
        fputs("rows,out_rows,n,dtype,seed_us,bulk_us,vector_us,auto_us\n", b->csv.file);
    if (set->json) {
        b->json = cJSON_CreateArray();
    } else {
        printf("device %s; seed %llu; median of %s of %s, us a launch\n", b->device.name,
               (unsigned long long)set->seed, cli_count(b->rounds, "round", "rounds"),
               cli_count(b->launches, "launch", "launches"));
        printf("%9s %9s %8s %5s %10s %10s %10s %10s %10s\n", "rows", "out rows", "n", "dtype",
               "seed", "bulk", "vector", "auto", "seed/auto");
    }
    return PTXGEN_OK;
}

static ptxgen_status bench_shapes(bench *b, const shape *shapes, size_t count, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    cli_progress bar = cli_progress_begin("measuring", count);
    for (size_t i = 0; i < count && status == PTXGEN_OK; i++) {
        status = bench_shape(b, &shapes[i], err);
        cli_progress_step(&bar, NULL);
    }
    cli_progress_end(&bar);
    return status;
}

int cli_bench_scatter_add(const cli_args *args)
{
    ptxgen_error err = {0};
    bench b = {.args = args, .device.size = sizeof b.device};
    shape one = {1048576, 262144, 128, PTXGEN_F32};
    ptxgen_status status = parse_shape(args, &one, &err);
    if (status == PTXGEN_OK)
        status = open_bench(&b, &err);
    if (status == PTXGEN_OK) {
        const bool cuda = b.device.kind == PTXGEN_DEVICE_CUDA;
        if (args->count > 1)
            status = bench_shapes(&b, &one, 1, &err);
        else if (cuda)
            status = bench_shapes(&b, gpu_shapes, sizeof gpu_shapes / sizeof *gpu_shapes, &err);
        else
            status = bench_shapes(&b, emulator_shapes,
                                  sizeof emulator_shapes / sizeof *emulator_shapes, &err);
    }
    if (b.to_csv && status == PTXGEN_OK)
        status = cli_output_commit(&b.csv, &err);
    else if (b.to_csv)
        cli_output_discard(&b.csv);
    if (status == PTXGEN_OK && b.json)
        cli_json_print(b.json);
    else
        cJSON_Delete(b.json);
    ptxgen_destroy(b.ctx);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}
