/* scatter_add on a real GPU: every combination that the library offers, against the oracle. Skipped without a
 * device. Kernels are compiled by all cores first: assembling is most of the time.
 *
 *     test_gpu_scatter_add [STRIDE (1)]     every STRIDE-th combination, for runs under compute-sanitizer */
#include "base/half.h"
#include "scatter_case.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

static ptxgen *ctx;
static size_t every = 1;

static const int64_t lengths[] = {4,   8,   12,   20,   36,   100,    128,
                                  500, 512, 1000, 1024, 4096, 160000, 0 /* dynamic */};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
enum { COMBINATIONS = LENGTHS * 3 * 2 * 2 * 3 * 2 };

/* Combination i in a fixed order; false when the row length does not suit the dtype. */
static bool combination(size_t i, scatter_case *c)
{
    memset(c, 0, sizeof *c);
    c->n = lengths[i % LENGTHS];
    i /= LENGTHS;
    c->dtype = (ptxgen_dtype)(PTXGEN_F32 + i % 3);
    i /= 3;
    c->contig = i % 2;
    i /= 2;
    c->index_type = (ptxgen_index_type)(i % 2);
    i /= 2;
    c->schedule = (ptxgen_schedule)(PTXGEN_SCHEDULE_SEED + i % 3);
    i /= 3;
    c->oob = i % 2 ? PTXGEN_OOB_TRAP : PTXGEN_OOB_RECORD;
    c->dynamic_n = c->n == 0;
    return ptxgen_row_shape_supported(c->dtype, c->n);
}

static atomic_size_t next_to_compile, failures;

static void *compile_some(void *unused)
{
    static const char *const dtypes[] = {"", "f32", "f16", "bf16"};
    static const char *const schedules[] = {"auto", "seed", "bulk", "vector"};
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_to_compile, every)) < COMBINATIONS;) {
        scatter_case c;
        char params[256], n[24] = "dynamic";
        ptxgen_kernel *k;
        ptxgen_error err;
        if (!combination(i, &c))
            continue;
        if (c.n)
            snprintf(n, sizeof n, "%lld", (long long)c.n);
        snprintf(params, sizeof params, "arch=sm_90 dtype=%s n=%s contig=%s index=%s schedule=%s oob=%s",
                 dtypes[c.dtype], n, c.contig ? "yes" : "no", c.index_type ? "i32" : "i64",
                 schedules[c.schedule], c.oob ? "trap" : "record");
        if (ptxgen_compile(ctx, "scatter_add", params, &k, &err) != PTXGEN_OK) {
            fprintf(stderr, "%s: %s\n", params, err.message);
            atomic_fetch_add(&failures, 1);
            continue;
        }
        ptxgen_kernel_unref(k);
    }
    return NULL;
}

static void compile_all(void **state)
{
    (void)state;
    pthread_t threads[16];
    for (int i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, compile_some, NULL);
    for (int i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
}

/* Sizes that leave a partial last tile, and few rows for the long ones. */
static void size_case(scatter_case *c, size_t i)
{
    static const int64_t dynamic_lengths[] = {8, 72, 1000, 4104, 33000};
    if (c->dynamic_n)
        c->n = dynamic_lengths[i / LENGTHS % 5];
    c->rows = c->n > 10000 ? 7 : c->n > 1000 ? 67 : c->n > 50 ? 515 : 4099;
    c->out_rows = c->rows + 5;
    c->seed = i + 1;
}

static void every_combination_equals_the_oracle(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMBINATIONS; i += every) {
        scatter_case c;
        if (!combination(i, &c))
            continue;
        size_case(&c, i);
        c.indices = (distribution)(i / 7 % DISTRIBUTIONS);
        run_scatter_case(ctx, &c);
        c.indices = INDEX_PERMUTATION;
        c.rough_values = true;
        run_scatter_case(ctx, &c);
    }
}

static void every_distribution(void **state)
{
    (void)state;
    for (int d = 0; d < DISTRIBUTIONS; d++) {
        for (int s = PTXGEN_SCHEDULE_AUTO; s <= PTXGEN_SCHEDULE_VECTOR; s++) {
            for (int t = PTXGEN_F32; t <= PTXGEN_BF16; t++) {
                const scatter_case c = {.dtype = (ptxgen_dtype)t, .n = 264, .rows = 4111, .out_rows = 5003,
                                        .contig = s % 2, .schedule = (ptxgen_schedule)s,
                                        .indices = (distribution)d, .seed = 1000 + (uint64_t)d};
                run_scatter_case(ctx, &c);
            }
        }
    }
}

static void small_and_single_rows(void **state)
{
    (void)state;
    for (int s = PTXGEN_SCHEDULE_AUTO; s <= PTXGEN_SCHEDULE_VECTOR; s++) {
        for (int64_t rows = 1; rows < 70; rows += rows < 5 ? 1 : 31) {
            scatter_case c = {.dtype = PTXGEN_BF16, .n = 24, .rows = rows, .out_rows = 1, .contig = true,
                              .schedule = (ptxgen_schedule)s, .seed = 7};
            run_scatter_case(ctx, &c);
            c.out_rows = 300;
            c.n = 8;
            run_scatter_case(ctx, &c);
        }
    }
}

static void bad_index_case(ptxgen_schedule schedule, int64_t value, int64_t position, int shape)
{
    static const int64_t row_lengths[] = {40, 40, 5000};
    const bool fits_i32 = value >= INT32_MIN && value <= INT32_MAX;
    const scatter_case c = {.dtype = shape ? PTXGEN_F32 : PTXGEN_F16,
                            .n = row_lengths[shape],
                            .rows = 1003,
                            .out_rows = 500,
                            .contig = true,
                            .schedule = schedule,
                            .index_type = fits_i32 && position % 2 ? PTXGEN_INDEX_I32 : PTXGEN_INDEX_I64,
                            .has_bad = true,
                            .bad_position = position,
                            .bad_value = value,
                            .seed = 3};
    run_scatter_case(ctx, &c);
}

static void a_bad_index_is_skipped_and_reported(void **state)
{
    (void)state;
    const int64_t values[] = {-1, 500, INT64_MIN, (INT64_C(1) << 32) + 1, INT32_MIN, INT32_MAX};
    const int64_t positions[] = {0, 501, 1002};
    for (int s = PTXGEN_SCHEDULE_SEED; s <= PTXGEN_SCHEDULE_VECTOR; s++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (size_t p = 0; p < 3; p++)
                for (int shape = 0; shape < 3; shape++)
                    bad_index_case((ptxgen_schedule)s, values[v], positions[p], shape);
}

static void must(ptxgen_status status, const ptxgen_error *err)
{
    if (status != PTXGEN_OK)
        fail_msg("%s", err->message);
}

static void *device_memory(size_t bytes)
{
    void *p;
    ptxgen_error err;
    must(ptxgen_device_alloc(ctx, bytes, &p, &err), &err);
    return p;
}

static void put(void *device, const void *host, size_t bytes)
{
    ptxgen_error err;
    must(ptxgen_device_upload(ctx, device, host, bytes, &err), &err);
}

static void get(void *host, const void *device, size_t bytes)
{
    ptxgen_error err;
    must(ptxgen_device_download(ctx, host, device, bytes, &err), &err);
}

/* More than 2^31 elements of src, and of out; only a few rows hold anything but zero. */
static void more_than_2_31_elements(void **state)
{
    (void)state;
    if (every > 1)
        skip(); /* gigabytes: not under a sanitizer */
    enum { N = 512, ROWS = (1 << 22) + 5, ROW_BYTES = 2 * N, MARKED = 5 };
    const int64_t marked[MARKED] = {0, 1, (1 << 22) - 1, 1 << 22, ROWS - 1};
    const size_t bytes = (size_t)ROWS * ROW_BYTES;
    ptxgen_error err;
    char *d_src = device_memory(bytes), *d_out = device_memory(bytes), *d_index = device_memory(ROWS * 8);
    uint16_t *zeros = calloc(bytes, 1), row[N], got[N];
    int64_t *index = malloc(ROWS * sizeof *index);
    for (int64_t i = 0; i < ROWS; i++)
        index[i] = ROWS - 1 - i;
    for (int i = 0; i < N; i++)
        row[i] = pg_bf16_from_double(i % 100 + 1);
    put(d_src, zeros, bytes);
    put(d_index, index, ROWS * 8);
    for (int m = 0; m < MARKED; m++)
        put(d_src + marked[m] * ROW_BYTES, row, ROW_BYTES);
    for (int s = PTXGEN_SCHEDULE_SEED; s <= PTXGEN_SCHEDULE_VECTOR; s++) {
        const ptxgen_scatter_add_args a = {.size = sizeof a, .dtype = PTXGEN_BF16, .rows = ROWS,
                                           .out_rows = ROWS, .n = N, .out = d_out, .src = d_src,
                                           .index = d_index, .schedule = (ptxgen_schedule)s};
        put(d_out, zeros, bytes);
        must(ptxgen_scatter_add(ctx, &a, NULL, &err), &err);
        must(ptxgen_check_indices(ctx, NULL, &err), &err);
        for (int m = 0; m < MARKED; m++) {
            get(got, d_out + (ROWS - 1 - marked[m]) * ROW_BYTES, ROW_BYTES);
            assert_memory_equal(got, row, ROW_BYTES);
        }
        get(got, d_out + 7 * ROW_BYTES, ROW_BYTES);
        assert_memory_equal(got, zeros, ROW_BYTES);
    }
    ptxgen_device_free(ctx, d_src);
    ptxgen_device_free(ctx, d_out);
    ptxgen_device_free(ctx, d_index);
    free(zeros);
    free(index);
}

/* Rows more than 4 GiB apart. */
static void strides_over_4_gib(void **state)
{
    (void)state;
    if (every > 1)
        skip();
    enum { N = 64, ROWS = 3 };
    const int64_t stride = (INT64_C(1) << 30) + 256; /* f32 elements */
    const size_t bytes = (size_t)(2 * stride + N) * 4;
    const int64_t index[ROWS] = {2, 0, 1};
    ptxgen_error err;
    float *d_src = device_memory(bytes), *d_out = device_memory(bytes), row[N], got[N];
    const float zeros[N] = {0};
    void *d_index = device_memory(sizeof index);
    put(d_index, index, sizeof index);
    for (int s = PTXGEN_SCHEDULE_SEED; s <= PTXGEN_SCHEDULE_VECTOR; s++) {
        for (int64_t r = 0; r < ROWS; r++) {
            for (int i = 0; i < N; i++)
                row[i] = (float)(100 * r + i);
            put(d_src + r * stride, row, sizeof row);
            put(d_out + r * stride, zeros, sizeof zeros);
        }
        const ptxgen_scatter_add_args a = {.size = sizeof a, .dtype = PTXGEN_F32, .rows = ROWS,
                                           .out_rows = ROWS, .n = N, .out = d_out, .src = d_src,
                                           .index = d_index, .out_stride = stride, .src_stride = stride,
                                           .schedule = (ptxgen_schedule)s};
        must(ptxgen_scatter_add(ctx, &a, NULL, &err), &err);
        for (int64_t r = 0; r < ROWS; r++) {
            get(got, d_out + index[r] * stride, sizeof got);
            for (int i = 0; i < N; i++)
                assert_true(got[i] == (float)(100 * r + i));
        }
    }
    ptxgen_device_free(ctx, d_src);
    ptxgen_device_free(ctx, d_out);
    ptxgen_device_free(ctx, d_index);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        every = (size_t)atoi(argv[1]);
    const ptxgen_config config = {.size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        return 1;
    if (ptxgen_device_get_info(ctx, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    printf("on %s\n", info.name);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_all),
        cmocka_unit_test(every_combination_equals_the_oracle),
        cmocka_unit_test(every_distribution),
        cmocka_unit_test(small_and_single_rows),
        cmocka_unit_test(a_bad_index_is_skipped_and_reported),
        cmocka_unit_test(more_than_2_31_elements),
        cmocka_unit_test(strides_over_4_gib),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
