/* index_sort through the engine, on the emulator (or, when asked, a GPU), against a stable sort
 * in C: every digit width, one to three passes, tiles that are not full, bad and padded entries,
 * a row count on the device.
 *
 *     test_index_sort [cuda] */
#include "common/index_sort.h"
#include "scatter_case.h"
#include "test.h"

#include "api/context.h"

static ptxgen_device_kind kind = PTXGEN_DEVICE_EMULATOR;
static ptxgen *ctx;

typedef struct entry {
    uint32_t row, position;
} entry;

typedef struct sort_case {
    int64_t rows, out_rows, device_rows; /* device_rows -1: not given */
    int hot;                             /* of 8 entries this many are row out_rows / 3 */
    bool i32, bad, padded, grouped;
} sort_case;

static int by_row(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static void *device_copy(const void *host, size_t bytes)
{
    ptxgen_error err;
    void *d;
    if (ptxgen_device_alloc(ctx, bytes, &d, &err) != PTXGEN_OK ||
        (host && ptxgen_device_upload(ctx, d, host, bytes, &err) != PTXGEN_OK))
        fail_msg("%s", err.message);
    return d;
}

static void sort_on_device(const sort_case *c, pg_index_sort_args *a)
{
    ptxgen_error err;
    ptxgen_kernel *k;
    pg_device *device;
    pg_step step = {0};
    if (pg_engine_device(ctx->engine, &device, &err) != PTXGEN_OK ||
        ptxgen_get(ctx, "index_sort", c->i32 ? "index=i32" : "index=i64", NULL, &k, &err) !=
            PTXGEN_OK)
        fail_msg("%s", err.message);
    const pg_index_sort_plan *p = (const pg_index_sort_plan *)k->plan;
    const pg_sequence sequence = pg_index_sort_sequence(p, a);
    step.workspace = device_copy(NULL, sequence.workspace_bytes);
    for (; step.number < sequence.launches; step.number++) {
        pg_launch l;
        pg_index_sort_launch(p, a, &step, &l);
        if (device->ops->launch(device, atomic_load(&k->loaded), &l, NULL, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
    }
    assert_int_equal(ptxgen_synchronize(ctx, NULL, &err), PTXGEN_OK);
    ptxgen_device_free(ctx, step.workspace);
    ptxgen_kernel_unref(k);
}

static void make_index(const sort_case *c, int64_t *index)
{
    uint64_t state = (uint64_t)(c->rows * 3 + c->out_rows);
    for (int64_t i = 0; i < c->rows; i++) {
        index[i] = (int64_t)(next_random(&state) % (uint64_t)c->out_rows);
        if ((int)(next_random(&state) % 8) < c->hot)
            index[i] = c->out_rows / 3;
        if (c->bad && i % 97 == 41)
            index[i] = i % 2 ? -1 - i : c->out_rows + i;
    }
}

static uint32_t expect(const sort_case *c, const int64_t *index, entry *want)
{
    uint32_t n = 0;
    for (int64_t i = 0; i < c->rows && (c->device_rows < 0 || i < c->device_rows); i++)
        if (index[i] >= 0 && index[i] < c->out_rows && !(c->padded && index[i] == 0))
            want[n++] = (entry){(uint32_t)index[i], (uint32_t)i};
    qsort(want, n, sizeof *want, by_row);
    return n;
}

/* Grouped: the same entries, each row's at few places; puts them in order. */
static void expect_few_runs(const sort_case *c, entry *got, const entry *want, uint32_t n)
{
    uint32_t rows = n > 0, runs = n > 0;
    for (uint32_t i = 1; i < n; i++) {
        rows += want[i].row != want[i - 1].row;
        runs += got[i].row != got[i - 1].row;
    }
    /* A bin that two tiles share has its rows in both. */
    if (runs > 2 * rows + (uint32_t)(c->rows / PG_SORT_TILE))
        fail_msg("rows=%lld out_rows=%lld: %u runs of %u rows", (long long)c->rows,
                 (long long)c->out_rows, runs, rows);
    qsort(got, n, sizeof *got, by_row);
}

static void run_case(const sort_case *c)
{
    const size_t rows = (size_t)c->rows, entry_bytes = (rows + PG_SORT_PAD) * sizeof(entry);
    int64_t *index = malloc(rows * 8);
    entry *want = malloc(entry_bytes), *got = malloc(entry_bytes);
    uint32_t total = 0;
    ptxgen_error err;
    make_index(c, index);
    const uint32_t n = expect(c, index, want);
    if (c->i32)
        for (size_t i = 0; i < rows; i++)
            ((int32_t *)index)[i] = (int32_t)index[i];
    pg_index_sort_args a = {.index = device_copy(index, rows * (c->i32 ? 4 : 8)),
                            .rows = c->rows,
                            .out_rows = c->out_rows,
                            .has_padding = c->padded,
                            .grouped = c->grouped,
                            .entries = device_copy(NULL, entry_bytes),
                            .total = device_copy(&total, sizeof total)};
    if (c->device_rows >= 0)
        a.device_rows = device_copy(&c->device_rows, sizeof c->device_rows);
    sort_on_device(c, &a);
    assert_int_equal(ptxgen_device_download(ctx, got, a.entries, entry_bytes, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_device_download(ctx, &total, a.total, sizeof total, &err), PTXGEN_OK);
    assert_int_equal(total, n);
    if (c->grouped)
        expect_few_runs(c, got, want, n);
    for (uint32_t i = 0; i < n; i++)
        if (memcmp(&got[i], &want[i], sizeof *got))
            fail_msg("rows=%lld out_rows=%lld: entry %u of %u is (%u, %u), not (%u, %u)",
                     (long long)c->rows, (long long)c->out_rows, i, n, got[i].row, got[i].position,
                     want[i].row, want[i].position);
    const ptxgen_status status = ptxgen_check_indices(ctx, NULL, &err);
    assert_int_equal(status, c->bad ? PTXGEN_EINDEX : PTXGEN_OK);
    if (c->bad)
        assert_non_null(strstr(err.message, "index[41] "));
    ptxgen_device_free(ctx, (void *)(uintptr_t)a.index);
    ptxgen_device_free(ctx, a.entries);
    ptxgen_device_free(ctx, a.total);
    if (a.device_rows)
        ptxgen_device_free(ctx, (void *)(uintptr_t)a.device_rows);
    free(index);
    free(want);
    free(got);
}

static void digits_of_every_width(void **state)
{
    (void)state;
    static const int64_t out_rows[] = {
        1,      2,       3,       31,      255, 256, 257,   1000,   2047,    2048, 2049,      70000,
        262144, 4194304, 4194305, 9000000, 5,   7,   12345, 128256, 1000003, 300,  4294967292};
    for (size_t i = 0; i < sizeof out_rows / sizeof *out_rows; i++) {
        const sort_case c = {.rows = 5000 + (int64_t)i * 7,
                             .out_rows = out_rows[i],
                             .device_rows = -1,
                             .hot = (int)i % 4,
                             .i32 = i % 2 && out_rows[i] < INT32_MAX};
        run_case(&c);
        sort_case grouped = c;
        grouped.grouped = true;
        run_case(&grouped);
    }
}

static void tiles_that_are_not_full(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 31, 32, 33, 511, 512, 513, 4095, 4096, 4097, 20481};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const sort_case c = {.rows = rows[i], .out_rows = 3000, .device_rows = -1, .hot = 8};
        const sort_case d = {.rows = rows[i], .out_rows = 40, .device_rows = -1, .i32 = true};
        run_case(&c);
        run_case(&d);
    }
}

static void bad_entries_are_left_out_and_reported(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const sort_case c = {.rows = 9000,
                             .out_rows = i & 1 ? 500 : 5000,
                             .device_rows = -1,
                             .bad = true,
                             .i32 = i & 2,
                             .padded = i & 1};
        run_case(&c);
    }
}

static void the_device_may_know_the_row_count(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 4096, 6000, 8999, 9000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const sort_case c = {
            .rows = 9000, .out_rows = 3000, .device_rows = counts[i], .padded = i % 2};
        run_case(&c);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "cuda") == 0)
        kind = PTXGEN_DEVICE_CUDA;
    const ptxgen_config config = {.size = sizeof config, .device = kind, .cache_dir = ""};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_of_every_width),
        cmocka_unit_test(tiles_that_are_not_full),
        cmocka_unit_test(bad_entries_are_left_out_and_reported),
        cmocka_unit_test(the_device_may_know_the_row_count),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
