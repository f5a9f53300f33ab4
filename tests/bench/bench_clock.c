/* The emulator's clock beside measured times: every point of a table, its model, its error.
 *
 *     bench_clock [POINTS.csv [OUT.csv [NAME-PREFIX]]]
 *
 * Without a file: the project's points but those of scatter_add, which take seconds each.
 *
 * A point: name,set,gpu,launch,family,params,problem,us. set: "fitted" (rates were chosen looking
 * at it) or "held" (they were not). launch: "event" (a call between two events) or "row" (calls in
 * a row, launched early). problem: matmul_accumulate "M N K", with "t" behind for B transposed and
 * "c" for C added; matmul_scaled "M N K"; scatter_add "KIND ROWS OUT N DTYPE". us 0: there is no
 * measurement, only the model is printed. With CLOCK_UNITS set, how busy each unit was. No GPU is
 * used. */
#include "ptxgen/ptxgen.h"
#include "ptxgen/emulator.h"
#include "ptxgen/matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_POINTS = 400, LINE = 512, MOST_ARGS = 32, MAP_BYTES = 128, MOST_TENSORS = 24 };

typedef struct point {
    char name[64], set[16], gpu[16], launch[16], family[32], params[160], problem[96];
    double us, model, flop;
    char limit[40];
    bool done;
} point;

static point points[MOST_POINTS];
static size_t count;

/* ---- a call on an emulator with a clock ---- */

typedef struct call {
    ptxgen *ctx;
    ptxgen_kernel *kernel;
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_tensor tensors[MOST_TENSORS];
    int64_t shapes[MOST_TENSORS][4];
    size_t bytes[MOST_TENSORS], tensor_count;
    size_t family;
    _Alignas(16) int64_t bad[2];
    ptxgen_status status;
    ptxgen_error err;
} call;

/* Memory that costs nothing until it is written. */
static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static size_t family_place(const char *name)
{
    size_t i = 0;
    while (ptxgen_family_name(i) && strcmp(ptxgen_family_name(i), name) != 0)
        i++;
    return i;
}

/* The operand `name` as a tensor of `rank` extents. */
static ptxgen_tensor *give(call *c, const char *name, ptxgen_dtype dtype, int rank,
                           const int64_t *shape)
{
    ptxgen_operand_info o = {.size = sizeof o};
    for (size_t i = 0; i < MOST_TENSORS && ptxgen_family_operand(c->family, i, &o); i++) {
        c->tensor_count = i + 1 > c->tensor_count ? i + 1 : c->tensor_count;
        if (strcmp(o.name, name) != 0)
            continue;
        int64_t elements = 1;
        for (int d = 0; d < rank; d++)
            elements *= c->shapes[i][d] = shape[d];
        c->bytes[i] = ((size_t)elements * (size_t)ptxgen_dtype_bits(dtype) + 7) / 8;
        c->tensors[i] = (ptxgen_tensor){
            .data = reserve(c->bytes[i]), .dtype = dtype, .rank = rank, .shape = c->shapes[i]};
        if (c->tensors[i].data)
            ptxgen_emulator_add_buffer(c->emu, name, c->tensors[i].data, c->bytes[i],
                                       PTXGEN_EMULATOR_WRITABLE, &c->err);
        return &c->tensors[i];
    }
    return NULL;
}

static bool launch(void *user, const ptxgen_launch *l)
{
    call *c = user;
    ptxgen_emulator_entry *entry;
    static _Alignas(64) unsigned char maps[MOST_ARGS][MAP_BYTES];
    void *values[MOST_ARGS];
    const void *record = c->bad;
    ptxgen_emulator_launch x = {.size = sizeof x,
                                .dynamic_shared = l->dynamic_shared_bytes,
                                .args = values,
                                .arg_count = l->arg_count};
    memcpy(x.grid, l->grid, sizeof x.grid);
    memcpy(x.block, l->block, sizeof x.block);
    memcpy(x.cluster, l->cluster, sizeof x.cluster);
    c->status = ptxgen_emulator_find(c->module, l->entry, &entry, &c->err);
    for (size_t i = 0; c->status == PTXGEN_OK && i < l->arg_count; i++) {
        const ptxgen_launch_arg *a = &l->args[i];
        values[i] = (void *)(uintptr_t)&a->value;
        if (a->kind == PTXGEN_ARG_RECORD)
            values[i] = &record;
        if (a->kind != PTXGEN_ARG_TENSOR_MAP)
            continue;
        ptxgen_emulator_tensor_map map = {.size = sizeof map,
                                          .data_type = a->map.data_type,
                                          .rank = a->map.rank,
                                          .address = (void *)(uintptr_t)a->map.address,
                                          .swizzle = a->map.swizzle,
                                          .l2_promotion = a->map.l2_promotion,
                                          .oob_fill = a->map.oob_fill};
        memcpy(map.dims, a->map.dims, sizeof map.dims);
        memcpy(map.strides, a->map.strides, sizeof map.strides);
        memcpy(map.box, a->map.box, sizeof map.box);
        values[i] = maps[i];
        c->status = ptxgen_emulator_encode_tensor_map(&map, maps[i], &c->err);
    }
    if (c->status == PTXGEN_OK)
        c->status = ptxgen_emulator_run(entry, &x, &c->err);
    return c->status == PTXGEN_OK;
}

/* ---- problems ---- */

static uint64_t seed;
static double draw(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static void shuffle(int64_t *x, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t k = (int64_t)(draw() * (double)(i + 1)), t = x[i];
        x[i] = x[k];
        x[k] = t;
    }
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void fill_zipf(int64_t *index, int64_t m, int64_t k, double s)
{
    double *bound = malloc((size_t)k * sizeof *bound), sum = 0;
    int64_t *place = malloc((size_t)k * sizeof *place);
    for (int64_t i = 0; i < k; i++) {
        bound[i] = sum += pow((double)(i + 1), -s);
        place[i] = i;
    }
    shuffle(place, k);
    for (int64_t i = 0; i < m; i++) {
        const double at = draw() * sum;
        int64_t low = 0, high = k - 1;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (bound[middle] < at)
                low = middle + 1;
            else
                high = middle;
        }
        index[i] = place[low];
    }
    free(bound);
    free(place);
}

static void fill_index(const char *kind, int64_t *index, int64_t m, int64_t k)
{
    double s;
    seed = 1;
    for (int64_t i = 0; i < m; i++)
        index[i] = (int64_t)(draw() * (double)k);
    if (sscanf(kind, "zipf%lf", &s) == 1)
        fill_zipf(index, m, k, s);
    if (strcmp(kind, "permutation") == 0 || strncmp(kind, "moe", 3) == 0) {
        for (int64_t i = 0; i < m; i++)
            index[i] = i % k;
        shuffle(index, m);
    }
    for (int64_t i = 0; strcmp(kind, "half") == 0 && i < m; i++)
        index[i] = draw() < 0.5 ? 0 : index[i];
    if (strcmp(kind, "sorted") == 0)
        qsort(index, (size_t)m, sizeof *index, by_value);
    if (strcmp(kind, "runs") == 0)
        for (int64_t i = m - 1; i >= 0; i--)
            index[i] = index[i / 64];
}

static bool prepare_scatter(call *c, const char *problem)
{
    char kind[24], dtype[8];
    long long m, k, n;
    if (sscanf(problem, "%23s %lld %lld %lld %7s", kind, &m, &k, &n, dtype) != 5)
        return false;
    const ptxgen_dtype type = strcmp(dtype, "f32") == 0 ? PTXGEN_F32 : PTXGEN_BF16;
    const ptxgen_tensor *index = give(c, "index", PTXGEN_S64, 1, (int64_t[]){m});
    give(c, "src", type, 2, (int64_t[]){m, n});
    give(c, "out", type, 2, (int64_t[]){k, n});
    if (index)
        fill_index(kind, index->data, m, k);
    return index != NULL;
}

static bool prepare_matmul(call *c, const char *problem, const char *params)
{
    char flags[16] = "";
    long long m, n, k;
    if (sscanf(problem, "%lld %lld %lld %15s", &m, &n, &k, flags) < 3)
        return false;
    const ptxgen_dtype operand = strncmp(params, "dtype=e4m3", 10) ? PTXGEN_F16 : PTXGEN_E4M3;
    const ptxgen_dtype d = strstr(params, "d_dtype=f16") ? PTXGEN_F16 : PTXGEN_F32;
    const bool t = strchr(flags, 't') != NULL;
    give(c, "a", operand, 2, (int64_t[]){m, k});
    give(c, "b", operand, 2, t ? (int64_t[]){n, k} : (int64_t[]){k, n});
    if (strchr(flags, 'c'))
        give(c, "c", PTXGEN_F32, 2, (int64_t[]){m, n});
    give(c, "workspace", PTXGEN_U8, 1, (int64_t[]){1 << 28});
    return give(c, "d", d, 2, (int64_t[]){m, n}) != NULL;
}

static bool prepare_scaled(call *c, const char *problem, const char *params)
{
    long long m, n, k;
    if (sscanf(problem, "%lld %lld %lld", &m, &n, &k) != 3)
        return false;
    const bool nv = strstr(params, "a=nvfp4") != NULL, bytes = strstr(params, "a=mxfp8") != NULL;
    const ptxgen_dtype element = bytes ? PTXGEN_E4M3 : PTXGEN_E2M1;
    const ptxgen_dtype scale = nv ? PTXGEN_E4M3 : PTXGEN_UE8M0;
    const ptxgen_dtype d = strstr(params, "out=f16") ? PTXGEN_F16 : PTXGEN_F32;
    const int64_t groups = k / (nv ? 16 : 32);
    give(c, "a", element, 2, (int64_t[]){m, k});
    give(c, "b", element, 2, (int64_t[]){n, k});
    give(c, "a_scales", scale, 1, (int64_t[]){ptxgen_packed_scales_bytes(m, groups)});
    give(c, "b_scales", scale, 1, (int64_t[]){ptxgen_packed_scales_bytes(n, groups)});
    return give(c, "d", d, 2, (int64_t[]){m, n}) != NULL;
}

static bool prepare(call *c, const point *p)
{
    if (strcmp(p->family, "scatter_add") == 0)
        return prepare_scatter(c, p->problem);
    if (strcmp(p->family, "matmul_scaled") == 0)
        return prepare_scaled(c, p->problem, p->params);
    return prepare_matmul(c, p->problem, p->params);
}

static void transpose_strides(call *c, const point *p, int64_t strides[2])
{
    ptxgen_operand_info o = {.size = sizeof o};
    for (size_t i = 0; i < c->tensor_count && ptxgen_family_operand(c->family, i, &o); i++)
        if (strcmp(o.name, "b") == 0 && strchr(p->problem, 't')) {
            const int64_t n = c->shapes[i][0], k = c->shapes[i][1];
            c->shapes[i][0] = k;
            c->shapes[i][1] = n;
            strides[0] = 1;
            strides[1] = k;
            c->tensors[i].strides = strides;
        }
}

static bool compile(call *c, const point *p)
{
    char words[256], params[2048];
    int64_t strides[2];
    snprintf(words, sizeof words, "arch=%s %s", strcmp(p->gpu, "H200") == 0 ? "sm_90a" : "sm_100a",
             p->params);
    transpose_strides(c, p, strides);
    c->status = ptxgen_call_params(c->ctx, p->family, words, c->tensors, c->tensor_count, params,
                                   sizeof params, &c->err);
    if (c->status == PTXGEN_OK)
        c->status = ptxgen_emit(c->ctx, p->family, params, &c->kernel, &c->err);
    ptxgen_kernel_info info = {.size = sizeof info};
    if (c->status == PTXGEN_OK)
        ptxgen_kernel_describe(c->kernel, &info);
    if (c->status == PTXGEN_OK)
        c->status = ptxgen_emulator_load(c->emu, info.ptx, info.ptx_size, "kernel.ptx", &c->module,
                                         &c->err);
    if (c->status == PTXGEN_OK) {
        const ptxgen_status told =
            ptxgen_call_describe(c->kernel, c->tensors, c->tensor_count, launch, c, &c->err);
        c->status = c->status == PTXGEN_OK ? told : c->status;
    }
    return c->status == PTXGEN_OK;
}

static void take_times(const call *c, point *p)
{
    ptxgen_emulator_time t = {.size = sizeof t};
    const char *name;
    double busy, longest = 0;
    for (size_t i = 0; ptxgen_emulator_time_at(c->emu, i, &t); i++) {
        const bool first = i == 0 && strcmp(p->launch, "row") != 0;
        p->model += (t.ns - (first ? 0 : t.launch_ns) + (first ? 0 : 900)) / 1000;
        if (t.ns > longest)
            snprintf(p->limit, sizeof p->limit, "%s", t.limit);
        longest = t.ns > longest ? t.ns : longest;
        p->flop += t.flop;
        if (getenv("CLOCK_UNITS")) {
            fprintf(stderr,
                    "  launch %.2f us, %s, %llu of %llu, occupancy %u, dram %.3f GB, power %.1f:",
                    t.ns / 1e3, t.limit, (unsigned long long)t.sampled,
                    (unsigned long long)t.clusters, t.occupancy, t.dram_bytes / 1e9,
                    t.power_ns / 1e3);
            for (size_t u = 0; ptxgen_emulator_time_unit_at(c->emu, i, u, &name, &busy); u++)
                if (busy > 0.05)
                    fprintf(stderr, " %s %.2f", name, busy);
            fputc('\n', stderr);
        }
    }
    p->done = p->model > 0;
}

static void run_point(point *p)
{
    call *c = calloc(1, sizeof *c);
    const bool hopper = strcmp(p->gpu, "H200") == 0;
    const ptxgen_config config = {.size = sizeof config,
                                  .device = PTXGEN_DEVICE_EMULATOR,
                                  .cache_dir = "",
                                  .emulated_sms = hopper ? 132 : 148};
    const ptxgen_emulator_config machine = {.size = sizeof machine,
                                            .clock = hopper ? "sm_90" : "sm_100"};
    c->family = family_place(p->family);
    c->bad[0] = -1;
    c->status = ptxgen_create(&config, &c->ctx, &c->err);
    if (c->status == PTXGEN_OK)
        c->status = ptxgen_emulator_create(&machine, &c->emu, &c->err);
    if (c->status == PTXGEN_OK)
        c->status = ptxgen_emulator_add_buffer(c->emu, "record", c->bad, sizeof c->bad,
                                               PTXGEN_EMULATOR_WRITABLE, &c->err);
    if (c->status == PTXGEN_OK && prepare(c, p) && compile(c, p))
        take_times(c, p);
    if (!p->done)
        fprintf(stderr, "%s: %s\n", p->name, c->err.message);
    ptxgen_emulator_unload(c->module);
    ptxgen_emulator_destroy(c->emu);
    ptxgen_kernel_unref(c->kernel);
    ptxgen_destroy(c->ctx);
    for (size_t i = 0; i < MOST_TENSORS; i++)
        if (c->tensors[i].data)
            munmap(c->tensors[i].data, c->bytes[i]);
    free(c);
}

/* ---- the table ---- */

static void read_points(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[LINE];
    while (file && count < MOST_POINTS && fgets(line, sizeof line, file)) {
        point *p = &points[count];
        if (line[0] == '#')
            continue;
        memset(p, 0, sizeof *p);
        if (sscanf(line, "%63[^,],%15[^,],%15[^,],%15[^,],%31[^,],%159[^,],%95[^,],%lf", p->name,
                   p->set, p->gpu, p->launch, p->family, p->params, p->problem, &p->us) == 8)
            count++;
    }
    if (file)
        fclose(file);
}

static bool is_group(const point *p, const char *set, const char *gpu, int tensor)
{
    const bool by_tensor = strcmp(p->limit, "tensor core") == 0 || strcmp(p->limit, "DRAM") == 0 ||
                           strcmp(p->limit, "power") == 0;
    return p->done && p->us > 0 && (!set || strcmp(p->set, set) == 0) && strcmp(p->gpu, gpu) == 0 &&
           (tensor < 0 || by_tensor == (tensor == 1));
}

static void summarize(const char *text, const char *set, const char *gpu, int tensor)
{
    double sum = 0, worst = 0;
    size_t n = 0, pairs = 0, right = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_group(&points[i], set, gpu, tensor))
            continue;
        const double e = fabs(points[i].model / points[i].us - 1);
        sum += e;
        worst = e > worst ? e : worst;
        n++;
        for (size_t k = 0; k < i; k++) {
            const point *a = &points[i], *b = &points[k];
            if (!is_group(b, set, gpu, tensor) || fabs(a->us / b->us - 1) <= 0.05)
                continue;
            pairs++;
            right += (a->us > b->us) == (a->model > b->model);
        }
    }
    if (n)
        printf("| %s | %zu | %.1f%% | %.0f%% | %zu of %zu (%.0f%%) |\n", text, n,
               100 * sum / (double)n, 100 * worst, right, pairs,
               pairs ? 100 * (double)right / (double)pairs : 100);
}

static void print_point(const point *p)
{
    printf("| %s | %s | ", p->name, p->set);
    if (p->us > 0)
        printf("%.2f | %.2f | %+.0f%% | %s |", p->us, p->model, 100 * (p->model / p->us - 1),
               p->limit);
    else
        printf("- | %.2f | %.0f TFLOP/s | %s |", p->model, p->flop / p->model * 1e-6, p->limit);
    if (!getenv("CLOCK_UNITS"))
        printf("\n");
}

int main(int argc, char **argv)
{
    read_points(argc > 1 ? argv[1] : PTXGEN_SOURCE_DIR "/tests/bench/clock_points.csv");
    FILE *out = argc > 2 ? fopen(argv[2], "w") : NULL;
    printf("| point | set | measured us | model us | error | limit |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < count; i++) {
        point *p = &points[i];
        if (argc == 1 && strcmp(p->family, "scatter_add") == 0)
            continue;
        if (argc > 3 && strncmp(p->name, argv[3], strlen(argv[3])) != 0)
            continue;
        const clock_t begin = clock();
        run_point(p);
        if (p->done)
            print_point(p);
        if (getenv("CLOCK_UNITS"))
            printf(" %.1f s\n", (double)(clock() - begin) / CLOCKS_PER_SEC);
        fflush(stdout);
        if (out && p->done)
            fprintf(out, "%s,%s,%s,%.3f,%.3f,%s\n", p->name, p->set, p->gpu, p->us, p->model,
                    p->limit);
    }
    printf("\n| points | number | mean error | worst | pairs over 5%% in order |\n"
           "|---|---|---|---|---|\n");
    summarize("H200, fitted", "fitted", "H200", -1);
    summarize("H200, held out", "held", "H200", -1);
    summarize("of them: tensor core, DRAM or power", "held", "H200", 1);
    summarize("of them: others", "held", "H200", 0);
    summarize("B200, public", NULL, "B200", -1);
    if (out)
        fclose(out);
    return 0;
}
