/* scatter_add on a real GPU: every combination that the library offers, against the oracle. Skipped
 * without a device. Kernels are compiled by all cores first: assembling is most of the time.
 *
 *     test_gpu_scatter_add [STRIDE (1)] [TEST (all; * and ? match)]
 *
 * Every STRIDE-th combination, and one test alone: for compute-sanitizer. */
#include "base/half.h"
#include "scatter_suite.h"
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

static ptxgen *ctx;
static scatter_suite suite = {.every = 1, .elements = 300000};

static atomic_size_t next_to_compile, failures;

static void *compile_some(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_to_compile, suite.every)) < SCATTER_COMBINATIONS;) {
        scatter_case c;
        char params[256];
        ptxgen_kernel *k;
        ptxgen_error err;
        if (!scatter_combination(i, &c))
            continue;
        scatter_combination_params(&c, params, sizeof params);
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

static void every_combination_equals_the_oracle(void **state)
{
    (void)state;
    scatter_every_combination(&suite);
}

static void every_distribution(void **state)
{
    (void)state;
    scatter_every_distribution(&suite);
}

static void small_and_single_rows(void **state)
{
    (void)state;
    scatter_small_and_single_rows(&suite);
}

static void narrow_rows(void **state)
{
    (void)state;
    scatter_narrow_rows(&suite);
}

static void a_bad_index_is_skipped_and_reported(void **state)
{
    (void)state;
    scatter_bad_indices(&suite);
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
    if (suite.every > 1)
        skip(); /* gigabytes: not under a sanitizer */
    enum { N = 512, ROWS = (1 << 22) + 5, ROW_BYTES = 2 * N, MARKED = 5 };
    const int64_t marked[MARKED] = {0, 1, (1 << 22) - 1, 1 << 22, ROWS - 1};
    const size_t bytes = (size_t)ROWS * ROW_BYTES;
    ptxgen_error err;
    char *d_src = device_memory(bytes), *d_out = device_memory(bytes),
         *d_index = device_memory(ROWS * 8);
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
        const ptxgen_scatter_add_args a = {.size = sizeof a,
                                           .dtype = PTXGEN_BF16,
                                           .rows = ROWS,
                                           .out_rows = ROWS,
                                           .n = N,
                                           .out = d_out,
                                           .src = d_src,
                                           .index = d_index,
                                           .schedule = (ptxgen_schedule)s};
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
    if (suite.every > 1)
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
        const ptxgen_scatter_add_args a = {.size = sizeof a,
                                           .dtype = PTXGEN_F32,
                                           .rows = ROWS,
                                           .out_rows = ROWS,
                                           .n = N,
                                           .out = d_out,
                                           .src = d_src,
                                           .index = d_index,
                                           .out_stride = stride,
                                           .src_stride = stride,
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
        suite.every = (size_t)atoi(argv[1]);
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_CUDA, .cache_dir = ""};
    ptxgen_device_info info = {.size = sizeof info};
    ptxgen_error err;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        return 1;
    if (ptxgen_device_get_info(ctx, &info, &err) != PTXGEN_OK) {
        printf("skipped: %s\n", err.message);
        return TEST_SKIPPED;
    }
    suite.ctx = ctx;
    printf("on %s\n", info.name);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compile_all),
        cmocka_unit_test(every_combination_equals_the_oracle),
        cmocka_unit_test(every_distribution),
        cmocka_unit_test(small_and_single_rows),
        cmocka_unit_test(narrow_rows),
        cmocka_unit_test(a_bad_index_is_skipped_and_reported),
        cmocka_unit_test(more_than_2_31_elements),
        cmocka_unit_test(strides_over_4_gib),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
