/* ptxgen_scatter_add's arguments: what is refused, with which status and which words, and that a
 * refusal or an empty problem leaves out alone. Runs on the emulator, which is a device like any
 * other here. */
#include "test.h"

#include "ptxgen/ptxgen.h"

enum { ROWS = 6, OUT_ROWS = 5, N = 8, OUT_ELEMS = 128 };

static ptxgen *ctx;
static _Alignas(16) float out[OUT_ELEMS], src[OUT_ELEMS];
static int64_t index_values[ROWS];

static ptxgen_scatter_add_args good_args(void)
{
    for (int i = 0; i < OUT_ELEMS; i++) {
        out[i] = 7;
        src[i] = 1;
    }
    for (int i = 0; i < ROWS; i++)
        index_values[i] = i % OUT_ROWS;
    return (ptxgen_scatter_add_args){.size = sizeof(ptxgen_scatter_add_args),
                                     .dtype = PTXGEN_F32,
                                     .rows = ROWS,
                                     .out_rows = OUT_ROWS,
                                     .n = N,
                                     .out = out,
                                     .src = src,
                                     .index = index_values};
}

static void out_is_untouched(void)
{
    for (int i = 0; i < OUT_ELEMS; i++)
        assert_true(out[i] == 7);
}

static void refused(const ptxgen_scatter_add_args *a, ptxgen_status status, const char *words)
{
    ptxgen_error err = {0};
    const ptxgen_status got = ptxgen_scatter_add(ctx, a, NULL, &err);
    if (got != status || !strstr(err.message, words))
        fail_msg("status %s, message \"%s\", wanted %s and \"%s\"", ptxgen_status_name(got),
                 err.message, ptxgen_status_name(status), words);
    assert_int_equal(err.status, status);
    out_is_untouched();
}

#define REFUSED(change, status, words)                                                             \
    do {                                                                                           \
        ptxgen_scatter_add_args a = good_args();                                                   \
        change;                                                                                    \
        refused(&a, status, words);                                                                \
    } while (0)

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    REFUSED(a.size = 0, PTXGEN_EINVAL, "sizeof");
    REFUSED(a.dtype = PTXGEN_DTYPE_NONE, PTXGEN_EINVAL, "use f32, f16, bf16, f64, s32 or s64");
    REFUSED(a.dtype = (ptxgen_dtype)99, PTXGEN_EINVAL, "99");
    REFUSED(a.index_type = (ptxgen_index_type)5, PTXGEN_EINVAL, "use s64 or s32");
    REFUSED(a.schedule = (ptxgen_schedule)77, PTXGEN_EINVAL, "77");
    REFUSED(a.rows = -1, PTXGEN_EINVAL, "negative");
    REFUSED(a.n = INT64_MIN, PTXGEN_EINVAL, "negative");
    for (int s = PTXGEN_SCHEDULE_SEED; s <= PTXGEN_SCHEDULE_VECTOR; s++) {
        const ptxgen_schedule schedule = (ptxgen_schedule)s;
        REFUSED((a.schedule = schedule, a.n = 3), PTXGEN_EUNSUPPORTED, "divisible by 4");
        REFUSED((a.schedule = schedule, a.dtype = PTXGEN_BF16, a.n = 12), PTXGEN_EUNSUPPORTED,
                "divisible by 8");
        REFUSED((a.schedule = schedule, a.dynamic_n = true, a.n = 3), PTXGEN_EUNSUPPORTED,
                "schedule=owner");
        REFUSED((a.schedule = schedule, a.out = out + 1), PTXGEN_EUNSUPPORTED, "16-byte aligned");
        REFUSED((a.schedule = schedule, a.src = src + 1), PTXGEN_EUNSUPPORTED, "16-byte aligned");
        REFUSED((a.schedule = schedule, a.out_stride = 10), PTXGEN_EUNSUPPORTED,
                "multiple of 4 elements (16 bytes)");
        REFUSED((a.schedule = schedule, a.alpha = 2), PTXGEN_EUNSUPPORTED, "alpha");
        REFUSED((a.schedule = schedule, a.deterministic = true), PTXGEN_EUNSUPPORTED, "exact");
    }
    REFUSED(a.n = (INT64_C(1) << 31) + 4, PTXGEN_EUNSUPPORTED, "2147483648");
    REFUSED(a.out = NULL, PTXGEN_EINVAL, "out is NULL");
    REFUSED(a.src = NULL, PTXGEN_EINVAL, "src is NULL");
    REFUSED(a.index = NULL, PTXGEN_EINVAL, "index");
    REFUSED(a.out = (char *)out + 2, PTXGEN_EUNSUPPORTED, "4-byte aligned");
    REFUSED(a.src = (char *)src + 1, PTXGEN_EUNSUPPORTED, "4-byte aligned");
    REFUSED(a.index = (char *)index_values + 4, PTXGEN_EUNSUPPORTED, "8-byte aligned");
    REFUSED(a.out_inner = 2, PTXGEN_EUNSUPPORTED, "inner stride 2");
    REFUSED(a.src_inner = -1, PTXGEN_EUNSUPPORTED, "inner stride -1");
    REFUSED(a.index_stride = 2, PTXGEN_EUNSUPPORTED, "index has inner stride 2");
    REFUSED(a.out_stride = 4, PTXGEN_EINVAL, "less than its 8 elements");
    REFUSED(a.src_stride = -8, PTXGEN_EUNSUPPORTED, "go backwards");
    REFUSED(a.src_stride = INT64_MAX / 4, PTXGEN_EINVAL, "addressed");
    REFUSED(a.oob = (ptxgen_oob)9, PTXGEN_EINVAL, "record, trap, unchecked");
    REFUSED(a.src_stride = (INT64_MAX / 4) & ~INT64_C(3), PTXGEN_EINVAL, "addressed");
    REFUSED(a.src = out, PTXGEN_EUNSUPPORTED, "overlap");
    REFUSED(a.src = out + 4 * N, PTXGEN_EUNSUPPORTED, "overlap");
    REFUSED(a.index = out, PTXGEN_EUNSUPPORTED, "out and index overlap");
    REFUSED(a.out_rows = 0, PTXGEN_EINDEX, "out_rows=0: there are no rows");
    REFUSED((a.schedule = PTXGEN_SCHEDULE_SEED, a.rows = INT64_C(1) << 31,
             a.src = (void *)(UINT64_C(1) << 45), a.index = (void *)(UINT64_C(1) << 44)),
            PTXGEN_EUNSUPPORTED, "schedule=bulk");
}

/* Of what schedule=owner does on top. */
static void bad_options_are_refused(void **state)
{
    (void)state;
    static _Alignas(16) char bytes[64];
    REFUSED(a.reduce = (ptxgen_scatter_reduce)5, PTXGEN_EINVAL, "add, min, max, mean, mul");
    REFUSED((a.reduce = PTXGEN_SCATTER_MIN, a.alpha = 2), PTXGEN_EUNSUPPORTED, "reduce=add");
    REFUSED((a.reduce = PTXGEN_SCATTER_MAX, a.weight = src), PTXGEN_EUNSUPPORTED, "reduce=add");
    REFUSED((a.weight = src, a.weight_dtype = PTXGEN_F16), PTXGEN_EUNSUPPORTED,
            "weight holds f16: use f32");
    REFUSED((a.schedule = PTXGEN_SCHEDULE_VECTOR, a.reduce = PTXGEN_SCATTER_MIN),
            PTXGEN_EUNSUPPORTED, "reduce=min needs schedule=owner: leave schedule out");
    REFUSED((a.schedule = PTXGEN_SCHEDULE_PRIVATE, a.reduce = PTXGEN_SCATTER_MUL),
            PTXGEN_EUNSUPPORTED, "reduce=mul needs schedule=owner: leave schedule out");
    REFUSED((a.dtype = PTXGEN_S32, a.weight = src, a.weight_dtype = PTXGEN_F32),
            PTXGEN_EUNSUPPORTED, "element");
    REFUSED((a.dtype = PTXGEN_S64, a.n = a.out_stride = a.src_stride = 4, a.alpha = 0.5),
            PTXGEN_EUNSUPPORTED, "whole number");
    REFUSED(a.weight = bytes + 2, PTXGEN_EUNSUPPORTED, "weight is at");
    REFUSED(a.weight = out, PTXGEN_EUNSUPPORTED, "out and weight overlap");
    REFUSED(a.src_index = index_values, PTXGEN_EINDEX, "src has no rows");
    REFUSED((a.src_index = bytes + 4, a.src_rows = 6), PTXGEN_EUNSUPPORTED, "src_index is at");
    REFUSED((a.src_index = index_values, a.src_rows = -1), PTXGEN_EINVAL, "negative");
    REFUSED(a.device_rows = (int64_t *)(void *)(bytes + 4), PTXGEN_EUNSUPPORTED, "device_rows");
    REFUSED(a.record = (ptxgen_bad_index *)(void *)(bytes + 8), PTXGEN_EUNSUPPORTED, "record");
    REFUSED((a.workspace = bytes + 8, a.workspace_bytes = 1 << 20, a.alpha = 3),
            PTXGEN_EUNSUPPORTED, "128-byte aligned");
    static _Alignas(128) char workspace[128];
    REFUSED((a.workspace = workspace, a.workspace_bytes = 128, a.alpha = 3), PTXGEN_EINVAL,
            "the call needs");
    REFUSED((a.rows = INT64_C(1) << 31, a.alpha = 2, a.src = (void *)(UINT64_C(1) << 45),
             a.index = (void *)(UINT64_C(1) << 44)),
            PTXGEN_EUNSUPPORTED, "split the call");
}

static void nothing_to_add_is_a_success(void **state)
{
    (void)state;
    for (int s = PTXGEN_SCHEDULE_AUTO; s <= PTXGEN_SCHEDULE_OWNER; s++) {
        ptxgen_scatter_add_args a = good_args();
        a.schedule = (ptxgen_schedule)s;
        a.rows = 0;
        a.src = a.index = NULL;
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, NULL), PTXGEN_OK);
        a.out_rows = 0;
        a.out = NULL;
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, NULL), PTXGEN_OK);
        a = good_args();
        a.n = 0;
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, NULL), PTXGEN_OK);
        out_is_untouched();
    }
}

/* Columns 0..7 are out and columns 8..15 are src of one buffer: they interleave without
 * touching. */
static void two_slices_of_one_buffer_are_fine(void **state)
{
    (void)state;
    ptxgen_scatter_add_args a = good_args();
    a.src = out + N;
    a.out_stride = a.src_stride = 2 * N;
    ptxgen_error err;
    if (ptxgen_scatter_add(ctx, &a, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    for (int r = 0; r < OUT_ROWS; r++)
        for (int c = 0; c < 2 * N; c++)
            assert_true(out[r * 2 * N + c] == (c >= N ? 7 : r == 0 ? 21 : 14));
    a.src = out + N / 2; /* half of each row is shared */
    good_args();
    refused(&a, PTXGEN_EUNSUPPORTED, "overlap");
    a.src = out + N + N / 2; /* the end of each row is in the next row of out */
    refused(&a, PTXGEN_EUNSUPPORTED, "overlap");
    a.src = out + N;
    a.out = out + N / 2; /* the same from the other side */
    refused(&a, PTXGEN_EUNSUPPORTED, "overlap");
}

/* From two rows on: a single row has no next one. */
static void a_row_stride_counts_from_two_rows_on(void **state)
{
    (void)state;
    const char *const words = "multiple of 4 elements (16 bytes)";
    REFUSED((a.schedule = PTXGEN_SCHEDULE_VECTOR, a.rows = 2, a.src_stride = N + 2),
            PTXGEN_EUNSUPPORTED, words);
    REFUSED((a.schedule = PTXGEN_SCHEDULE_VECTOR, a.out_rows = 2, a.out_stride = N + 2),
            PTXGEN_EUNSUPPORTED, words);
    ptxgen_scatter_add_args a = good_args();
    a.schedule = PTXGEN_SCHEDULE_VECTOR;
    a.rows = a.out_rows = 1;
    a.src_stride = a.out_stride = N + 2;
    ptxgen_error err;
    if (ptxgen_scatter_add(ctx, &a, NULL, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    for (int i = 0; i < OUT_ELEMS; i++)
        assert_true(out[i] == (i < N ? 8 : 7));
}

/* A caller built against an older, shorter struct, or a newer, longer one. */
static void structs_of_other_sizes_work(void **state)
{
    (void)state;
    struct {
        ptxgen_scatter_add_args args;
        char more[64];
    } longer = {.args = good_args()};
    longer.args.size = sizeof longer;
    assert_int_equal(ptxgen_scatter_add(ctx, &longer.args, NULL, NULL), PTXGEN_OK);
    assert_true(out[0] == 9 && out[N] == 8);
    ptxgen_scatter_add_args shorter = good_args();
    shorter.size = offsetof(ptxgen_scatter_add_args, schedule);
    shorter.schedule = (ptxgen_schedule)77; /* beyond its end: not read */
    assert_int_equal(ptxgen_scatter_add(ctx, &shorter, NULL, NULL), PTXGEN_OK);
    assert_true(out[0] == 9 && out[N] == 8);
}

static void a_kernel_serves_only_its_problem(void **state)
{
    (void)state;
    ptxgen_kernel *k;
    ptxgen_error err;
    ptxgen_scatter_add_args a = good_args();
    assert_int_equal(ptxgen_get(ctx, "scatter_add", "n=8 dtype=f32", NULL, &k, &err), PTXGEN_OK);
    a.n = 4;
    a.out_stride = a.src_stride = 4;
    assert_int_equal(ptxgen_scatter_add_launch(k, &a, NULL, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "n=4"));
    a = good_args();
    a.index_type = PTXGEN_INDEX_I32;
    assert_int_equal(ptxgen_scatter_add_launch(k, &a, NULL, &err), PTXGEN_EINVAL);
    a = good_args();
    a.src_stride = 2 * N;
    assert_int_equal(ptxgen_scatter_add_launch(k, &a, NULL, &err), PTXGEN_EINVAL);
    out_is_untouched();
    a = good_args();
    assert_int_equal(ptxgen_scatter_add_launch(k, &a, NULL, &err), PTXGEN_OK);
    assert_true(out[0] == 9);
    ptxgen_kernel_unref(k);
}

static void the_first_bad_index_is_reported_once(void **state)
{
    (void)state;
    ptxgen_error err;
    ptxgen_scatter_add_args a = good_args();
    index_values[2] = -5;
    index_values[4] = INT64_MAX;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_check_indices(ctx, NULL, &err), PTXGEN_EINDEX);
    assert_non_null(strstr(err.message, "index[2] = -5"));
    assert_int_equal(ptxgen_check_indices(ctx, NULL, &err), PTXGEN_OK);
    assert_true(out[0] == 9 && out[N] == 8 && out[2 * N] == 7 && out[3 * N] == 8 &&
                out[4 * N] == 7);
}

/* Two calls with records of their own: neither reads the other's report, the device's stays
 * empty. */
static void a_call_has_its_own_record(void **state)
{
    (void)state;
    static _Alignas(16) ptxgen_bad_index records[2];
    ptxgen_error err;
    memset(records, 0xff, sizeof records);
    for (int schedule = PTXGEN_SCHEDULE_SEED; schedule <= PTXGEN_SCHEDULE_PRIVATE; schedule++) {
        ptxgen_scatter_add_args a = good_args();
        a.schedule = (ptxgen_schedule)schedule;
        memset(records, 0xff, sizeof records);
        a.record = &records[0];
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
        index_values[3] = 77;
        a.record = &records[1];
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
        assert_int_equal(ptxgen_bad_index_error(&records[0], &err), PTXGEN_OK);
        assert_int_equal(ptxgen_bad_index_error(&records[1], &err), PTXGEN_EINDEX);
        assert_non_null(strstr(err.message, "index[3] = 77"));
        assert_int_equal(ptxgen_check_indices(ctx, NULL, &err), PTXGEN_OK);
    }
}

static void a_watch_tells_without_waiting(void **state)
{
    (void)state;
    static _Alignas(16) ptxgen_bad_index record;
    ptxgen_index_watch *watch;
    ptxgen_error err;
    ptxgen_scatter_add_args a = good_args();
    memset(&record, 0xff, sizeof record);
    a.record = &record;
    assert_int_equal(ptxgen_index_watch_create(ctx, &watch, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_index_watch_poll(watch, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_index_watch_start(watch, NULL, NULL, &err), PTXGEN_EINVAL);
    index_values[3] = 77;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_index_watch_start(watch, &record, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_index_watch_start(watch, &record, NULL, &err), PTXGEN_EINVAL);
    assert_int_equal(ptxgen_index_watch_poll(watch, &err), PTXGEN_EINDEX);
    assert_non_null(strstr(err.message, "index[3] = 77"));
    index_values[3] = 0;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_index_watch_start(watch, &record, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_index_watch_poll(watch, &err), PTXGEN_OK);
    ptxgen_index_watch_destroy(watch);
}

static void a_bad_src_index_is_told_apart(void **state)
{
    (void)state;
    int64_t sources[ROWS] = {0, 1, 6, 2, -3, 5};
    ptxgen_error err;
    ptxgen_scatter_add_args a = good_args();
    a.src_index = sources;
    a.src_rows = ROWS;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
    assert_int_equal(ptxgen_check_indices(ctx, NULL, &err), PTXGEN_EINDEX);
    assert_non_null(strstr(err.message, "src_index[2] = 6"));
    assert_true(out[0] == 9 && out[N] == 8 && out[2 * N] == 7 && out[4 * N] == 7);
}

/* A plan serves other data, other row lengths, and outlives the context. */
static void a_plan_is_used_again(void **state)
{
    (void)state;
    ptxgen_scatter_plan *plan;
    ptxgen_error err;
    ptxgen_scatter_add_args a = good_args();
    assert_int_equal(ptxgen_scatter_plan_create(ctx, &a, NULL, &plan, &err), PTXGEN_OK);
    memset(index_values, 0, sizeof index_values); /* the plan keeps what it was made of */
    a.plan = plan;
    a.index = NULL;
    for (int64_t n = N; n > 3; n -= 4) {
        a.n = n;
        assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_OK);
    }
    assert_true(out[0] == 11 && out[4] == 10 && out[N] == 9); /* rows of 8, then of 4 */
    a.out_rows = 4;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_EINVAL);
    assert_non_null(strstr(err.message, "6 into 5"));
    ptxgen_scatter_plan_destroy(plan);
    ptxgen_scatter_plan_destroy(NULL);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .device = PTXGEN_DEVICE_EMULATOR, .cache_dir = ""};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(nothing_to_add_is_a_success),
        cmocka_unit_test(two_slices_of_one_buffer_are_fine),
        cmocka_unit_test(a_row_stride_counts_from_two_rows_on),
        cmocka_unit_test(structs_of_other_sizes_work),
        cmocka_unit_test(a_kernel_serves_only_its_problem),
        cmocka_unit_test(the_first_bad_index_is_reported_once),
        cmocka_unit_test(a_call_has_its_own_record),
        cmocka_unit_test(a_watch_tells_without_waiting),
        cmocka_unit_test(a_bad_src_index_is_told_apart),
        cmocka_unit_test(a_plan_is_used_again),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
