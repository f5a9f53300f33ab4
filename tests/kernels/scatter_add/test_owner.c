/* schedule=owner, and private where it can, on problems drawn at random: every element type,
 * reduction, access width, weight, src_index, padding, row count on the device, prepared or not,
 * exact or not; against the oracle, byte for byte, guard zones and padding included. Values are
 * such that every order of the adds gives the same bits.
 *
 *     test_owner [CASES (250)] [FIRST SEED (1)] [cuda] */
#include "base/half.h"
#include "scatter_case.h"
#include "test.h"

enum { GUARD = 64 }; /* elements before and behind a matrix */

static ptxgen *ctx;
static uint64_t cases = 250, first_seed = 1;

typedef struct draw {
    uint64_t seed, state;
    ptxgen_scatter_add_args a; /* pointers: host */
    size_t bytes;              /* of an element */
    int64_t out_offset, src_offset, src_rows, count;
    int kind; /* of index */
    bool use_plan, use_workspace, ask_counts;
    int copies; /* private: a kernel of its own; 0: the call's */
    char *out, *src, *want;
    size_t out_bytes, src_bytes;
    void *index, *src_index, *weight;
    int32_t *counts, *want_counts; /* NULL: not asked for */
} draw;

static uint64_t below(draw *d, uint64_t n)
{
    return next_random(&d->state) % n;
}

static void put(ptxgen_dtype dtype, void *array, int64_t i, double v)
{
    switch (dtype) {
    case PTXGEN_F32:
        ((float *)array)[i] = (float)v;
        break;
    case PTXGEN_F16:
        ((uint16_t *)array)[i] = pg_f16_from_double(v);
        break;
    case PTXGEN_BF16:
        ((uint16_t *)array)[i] = pg_bf16_from_double(v);
        break;
    case PTXGEN_F64:
        ((double *)array)[i] = v;
        break;
    case PTXGEN_S32:
        ((int32_t *)array)[i] = (int32_t)v;
        break;
    default:
        ((int64_t *)array)[i] = (int64_t)v;
    }
}

static size_t size_of(ptxgen_dtype dtype)
{
    return dtype == PTXGEN_F64 || dtype == PTXGEN_S64    ? 8
           : dtype == PTXGEN_F16 || dtype == PTXGEN_BF16 ? 2
                                                         : 4;
}

static double value(draw *d)
{
    if (d->a.reduce == PTXGEN_SCATTER_MIN || d->a.reduce == PTXGEN_SCATTER_MAX)
        return (double)below(d, 100000) - 50000;
    if (d->a.reduce == PTXGEN_SCATTER_MUL && below(d, 100) == 0)
        return below(d, 2) ? 2 : -2;
    if (d->a.reduce == PTXGEN_SCATTER_MUL)
        return below(d, 2) ? 1 : -1;
    return (double)below(d, 3) - 1;
}

static void draw_shape(draw *d)
{
    static const ptxgen_dtype types[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16,
                                         PTXGEN_F64, PTXGEN_S32, PTXGEN_S64};
    static const int64_t lengths[] = {1, 2, 3, 4, 8, 16, 24, 64, 100, 128, 132, 255, 256, 300, 517};
    ptxgen_scatter_add_args *a = &d->a;
    const bool aligned = below(d, 2);
    a->size = sizeof *a;
    a->dtype = types[below(d, 6)];
    d->bytes = size_of(a->dtype);
    a->n = lengths[below(d, 15)];
    if (aligned)
        a->n = (a->n * (int64_t)d->bytes + 15) / 16 * 16 / (int64_t)d->bytes;
    const int64_t step = aligned ? 16 / (int64_t)d->bytes : 1;
    a->out_stride = a->n + (below(d, 2) ? (int64_t)below(d, 9) * step : 0);
    a->src_stride = a->n + (below(d, 2) ? (int64_t)below(d, 9) * step : 0);
    d->out_offset = (int64_t)below(d, 3) * step;
    d->src_offset = (int64_t)below(d, 3) * step;
    a->rows = 1 + (int64_t)below(d, below(d, 4) ? 3000 : d->bytes > 2 && below(d, 2) ? 12000 : 40);
    while (a->rows * a->n > 200000)
        a->rows = a->rows / 2 + 1;
    a->out_rows = 1 + (int64_t)below(d, below(d, 2) ? 4000 : 30);
    while (a->out_rows * a->n > 300000)
        a->out_rows = a->out_rows / 2 + 1;
    d->kind = (int)below(d, 5);
}

static void draw_features(draw *d)
{
    ptxgen_scatter_add_args *a = &d->a;
    const bool whole = a->dtype == PTXGEN_S32 || a->dtype == PTXGEN_S64;
    a->schedule = PTXGEN_SCHEDULE_OWNER;
    a->index_type = below(d, 2) ? PTXGEN_INDEX_I32 : PTXGEN_INDEX_I64;
    if (below(d, 4) == 0)
        a->reduce = (ptxgen_scatter_reduce[]){
            PTXGEN_SCATTER_MIN, PTXGEN_SCATTER_MAX, PTXGEN_SCATTER_MUL,
            whole ? PTXGEN_SCATTER_MAX : PTXGEN_SCATTER_MEAN}[below(d, 4)];
    a->deterministic = below(d, 3) == 0;
    a->accumulate_f32 = below(d, 3) == 0;
    if (a->reduce == PTXGEN_SCATTER_ADD && below(d, 3) == 0) {
        a->weight = d; /* set later */
        a->weight_dtype = !whole && below(d, 2) ? PTXGEN_F32 : PTXGEN_DTYPE_NONE;
    }
    if (a->reduce == PTXGEN_SCATTER_ADD && below(d, 3) == 0)
        a->alpha = below(d, 2) ? -1 : 1;
    d->src_rows = a->rows;
    if (below(d, 3) == 0) {
        a->src_index = d;
        a->src_rows = d->src_rows = 1 + (int64_t)below(d, 200);
        if (d->bytes == 2 &&
            a->rows > 200) /* one row of src again and again: a sum that 8 bits hold */
            a->rows = 200;
    }
    d->ask_counts = below(d, 3) == 0;
    d->use_plan = below(d, 3) == 0;
    d->use_workspace = below(d, 2);
    d->count = -1;
    if (below(d, 4) == 0)
        d->count = (int64_t)below(d, (uint64_t)a->rows + 20);
    if (below(d, 4) == 0) {
        a->has_padding_index = true;
        a->padding_index = below(d, 2) ? -1 : (int64_t)below(d, (uint64_t)a->out_rows);
    }
}

/* What schedule=private takes: short rows of 4 bytes or less an element, into tables that shared
 * memory holds. */
static bool draw_private(draw *d)
{
    ptxgen_scatter_add_args *a = &d->a;
    if (a->n * (int64_t)d->bytes > 64 || d->bytes > 4 || below(d, 2))
        return false;
    a->schedule = PTXGEN_SCHEDULE_PRIVATE;
    a->index_type = below(d, 2) ? PTXGEN_INDEX_I32 : PTXGEN_INDEX_I64;
    if (d->bytes == 2 && a->rows > 1500) /* sums that 8 bits hold */
        a->rows = 1500;
    d->copies = (int)below(d, 4);
    while (a->out_rows * (a->n + 3) > (d->copies ? 40000 : 50000))
        a->out_rows /= 2;
    d->src_rows = a->rows;
    d->count = -1;
    return true;
}

static void put_index(ptxgen_index_type type, void *index, int64_t i, int64_t v)
{
    if (type == PTXGEN_INDEX_I32)
        ((int32_t *)index)[i] = (int32_t)v;
    else
        ((int64_t *)index)[i] = v;
}

static int64_t draw_index(draw *d, int64_t i)
{
    const ptxgen_scatter_add_args *a = &d->a;
    const uint64_t rows = (uint64_t)a->out_rows;
    if (a->has_padding_index && below(d, 5) == 0)
        return a->padding_index;
    switch (d->kind) {
    case 0: /* half on one row */
        return below(d, 2) ? (int64_t)rows / 2 : (int64_t)below(d, rows);
    case 1: /* sorted, in runs */
        return (int64_t)((uint64_t)i * rows / (uint64_t)a->rows / 7 * 7 % rows);
    case 2: /* all on one */
        return (int64_t)rows - 1;
    case 3: /* skewed */
        return (int64_t)below(d, 1 + below(d, 1 + below(d, rows)));
    default:
        return (int64_t)below(d, rows);
    }
}

static void fill(draw *d)
{
    ptxgen_scatter_add_args *a = &d->a;
    const int64_t out_elements = a->out_rows * a->out_stride + 2 * GUARD;
    const int64_t src_elements = d->src_rows * a->src_stride + 2 * GUARD;
    d->out_bytes = (size_t)out_elements * d->bytes;
    d->src_bytes = (size_t)src_elements * d->bytes;
    d->out = malloc(d->out_bytes);
    d->want = malloc(d->out_bytes);
    d->src = malloc(d->src_bytes);
    d->index = calloc((size_t)a->rows, 8);
    d->src_index = calloc((size_t)a->rows, 8);
    d->weight = calloc((size_t)a->rows, 8);
    d->counts = malloc((size_t)a->out_rows * sizeof(int32_t));
    d->want_counts = malloc((size_t)a->out_rows * sizeof(int32_t));
    memset(d->counts, 0x5a, (size_t)a->out_rows * sizeof(int32_t));
    memset(d->want_counts, 0x5a, (size_t)a->out_rows * sizeof(int32_t));
    for (int64_t i = 0; i < out_elements; i++)
        put(a->dtype, d->out, i, value(d));
    for (int64_t i = 0; i < src_elements; i++)
        put(a->dtype, d->src, i, value(d));
    for (int64_t i = 0; i < a->rows; i++) {
        put_index(a->index_type, d->index, i, draw_index(d, i));
        put_index(a->index_type, d->src_index, i, (int64_t)below(d, (uint64_t)d->src_rows));
        put(a->weight_dtype ? a->weight_dtype : a->dtype, d->weight, i, below(d, 2) ? 1 : -1);
    }
    memcpy(d->want, d->out, d->out_bytes);
}

static const char *text_of(const draw *d)
{
    static char text[400];
    const ptxgen_scatter_add_args *a = &d->a;
    snprintf(
        text, sizeof text,
        "seed %llu: dtype=%d n=%lld rows=%lld out_rows=%lld strides %lld %lld offsets %lld %lld "
        "%s reduce=%d kind=%d %s%s%s%s%s%s%s alpha=%g",
        (unsigned long long)d->seed, (int)a->dtype, (long long)a->n, (long long)a->rows,
        (long long)a->out_rows, (long long)a->out_stride, (long long)a->src_stride,
        (long long)d->out_offset, (long long)d->src_offset,
        a->schedule == PTXGEN_SCHEDULE_OWNER ? "owner" : "private", (int)a->reduce, d->kind,
        a->deterministic ? "deterministic " : "", a->accumulate_f32 ? "f32 " : "",
        a->weight ? "weight " : "", a->src_index ? "src_index " : "", d->count >= 0 ? "count " : "",
        a->has_padding_index ? "padding " : "", d->use_plan ? "plan " : "", a->alpha);
    return text;
}

static void ok(const draw *d, ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK)
        fail_msg("%s: %s", text_of(d), err->message);
}

static void *upload(const draw *d, const void *host, size_t bytes)
{
    ptxgen_error err;
    void *p;
    ok(d, ptxgen_device_alloc(ctx, bytes, &p, &err), &err);
    ok(d, ptxgen_device_upload(ctx, p, host, bytes, &err), &err);
    return p;
}

/* schedule=private with a table for a CTA of 1, 6 or 8 warps, whatever the call would choose. */
static void run_by_cta(const draw *d, const ptxgen_scatter_add_args *a)
{
    char text[160];
    ptxgen_kernel *k;
    ptxgen_error err = {0};
    const int64_t element = (int64_t)d->bytes;
    int64_t access = 16;
    while ((int64_t)((uintptr_t)a->out | (uintptr_t)a->src) % access || a->n * element % access ||
           a->out_stride * element % access || a->src_stride * element % access)
        access /= 2;
    snprintf(text, sizeof text,
             "dtype=%s n=%lld contig=no index=%s schedule=private copies=cta warps=%d "
             "access=%lld",
             ptxgen_dtype_name(a->dtype), (long long)a->n, a->index_type ? "i32" : "i64",
             (int[]){1, 6, 8}[d->copies - 1], (long long)access);
    ok(d, ptxgen_get(ctx, "scatter_add", text, NULL, &k, &err), &err);
    ok(d, ptxgen_scatter_add_launch(k, a, NULL, &err), &err);
    ptxgen_kernel_unref(k);
}

/* The call on the device; d->out gets what became of out. */
static void run(draw *d)
{
    ptxgen_scatter_add_args a = d->a;
    const size_t rows = (size_t)a.rows;
    ptxgen_scatter_plan *plan = NULL;
    ptxgen_error err = {0};
    const size_t counts_bytes = (size_t)a.out_rows * sizeof(int32_t);
    void *memory[7] = {upload(d, d->out, d->out_bytes),   upload(d, d->src, d->src_bytes),
                       upload(d, d->index, rows * 8),     upload(d, d->src_index, rows * 8),
                       upload(d, d->weight, rows * 8),    upload(d, &d->count, 8),
                       upload(d, d->counts, counts_bytes)};
    void *workspace = NULL;
    a.out = (char *)memory[0] + (size_t)(GUARD + d->out_offset) * d->bytes;
    a.src = (char *)memory[1] + (size_t)(GUARD + d->src_offset) * d->bytes;
    a.index = memory[2];
    a.src_index = a.src_index ? memory[3] : NULL;
    a.weight = a.weight ? memory[4] : NULL;
    a.device_rows = d->count >= 0 ? memory[5] : NULL;
    a.counts = d->ask_counts ? memory[6] : NULL;
    if (d->use_plan) {
        ok(d, ptxgen_scatter_plan_create(ctx, &a, NULL, &plan, &err), &err);
        a.plan = plan;
        a.index = a.device_rows = NULL;
        a.has_padding_index = false;
    }
    if (d->use_workspace) {
        ok(d, ptxgen_scatter_add_workspace(ctx, &a, &a.workspace_bytes, &err), &err);
        ok(d, ptxgen_device_alloc(ctx, a.workspace_bytes + 1, &workspace, &err), &err);
        a.workspace = a.workspace_bytes ? workspace : NULL;
    }
    if (d->copies)
        run_by_cta(d, &a);
    else
        ok(d, ptxgen_scatter_add(ctx, &a, NULL, &err), &err);
    ok(d, ptxgen_check_indices(ctx, NULL, &err), &err);
    ok(d, ptxgen_device_download(ctx, d->out, memory[0], d->out_bytes, &err), &err);
    ok(d, ptxgen_device_download(ctx, d->counts, memory[6], counts_bytes, &err), &err);
    ptxgen_scatter_plan_destroy(plan);
    for (size_t i = 0; i < 7; i++)
        ptxgen_device_free(ctx, memory[i]);
    ptxgen_device_free(ctx, workspace);
}

static void expect(draw *d)
{
    ptxgen_scatter_add_args a = d->a;
    ptxgen_error err = {0};
    a.out = d->want + (size_t)(GUARD + d->out_offset) * d->bytes;
    a.src = d->src + (size_t)(GUARD + d->src_offset) * d->bytes;
    a.index = d->index;
    a.src_index = a.src_index ? d->src_index : NULL;
    a.weight = a.weight ? d->weight : NULL;
    a.device_rows = d->count >= 0 ? &d->count : NULL;
    a.counts = d->ask_counts ? d->want_counts : NULL;
    ok(d, ptxgen_scatter_add_oracle(&a, &err), &err);
}

static void compare(const draw *d)
{
    if (memcmp(d->counts, d->want_counts, (size_t)d->a.out_rows * sizeof(int32_t)))
        fail_msg("%s: wrong counts", text_of(d));
    const int64_t stride = d->a.out_stride, first = GUARD + d->out_offset;
    for (size_t i = 0; i < d->out_bytes; i++)
        if (d->out[i] != d->want[i]) {
            const int64_t element = (int64_t)(i / d->bytes) - first;
            fail_msg("%s: row %lld column %lld is wrong", text_of(d), (long long)(element / stride),
                     (long long)(element % stride));
        }
}

static void random_problems_equal_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + cases; seed++) {
        draw d = {.seed = seed, .state = seed * 1000003};
        draw_shape(&d);
        if (!draw_private(&d))
            draw_features(&d);
        fill(&d);
        run(&d);
        expect(&d);
        compare(&d);
        free(d.out);
        free(d.src);
        free(d.want);
        free(d.index);
        free(d.src_index);
        free(d.weight);
        free(d.counts);
        free(d.want_counts);
    }
}

int main(int argc, char **argv)
{
    const bool cuda = argc > 3 && strcmp(argv[3], "cuda") == 0;
    const ptxgen_config config = {.size = sizeof config,
                                  .device = cuda ? PTXGEN_DEVICE_CUDA : PTXGEN_DEVICE_EMULATOR,
                                  .cache_dir = ""};
    if (argc > 1)
        cases = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_problems_equal_the_oracle)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
