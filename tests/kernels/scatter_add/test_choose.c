/* What a call that names no schedule gets, by its sizes. */
#include "test.h"

#include "api/call.h"
#include "api/typed.h"
#include "scatter_add/scatter_add.h"

#include <stdlib.h>

enum { MILLION = 1 << 20 };

static const ptxgen_device_info h200 = {.arch = 901, .sm_count = 132, .l2_bytes = 60 << 20};

/* Addresses are never read. */
static ptxgen_scatter_add_args call_of(ptxgen_dtype dtype, int64_t rows, int64_t out_rows,
                                       int64_t n)
{
    return (ptxgen_scatter_add_args){.size = sizeof(ptxgen_scatter_add_args),
                                     .dtype = dtype,
                                     .rows = rows,
                                     .out_rows = out_rows,
                                     .n = n,
                                     .out = (void *)(uintptr_t)0x10000000000,
                                     .src = (void *)(uintptr_t)0x20000000000,
                                     .index = (void *)(uintptr_t)0x30000000000};
}

static pg_scatter_add_key choose(const ptxgen_scatter_add_args *a, ptxgen_arch arch)
{
    pg_call c;
    ptxgen_error err;
    if (pg_fill_scatter_add(a, &c, &err) != PTXGEN_OK ||
        pg_call_check_shapes(&c, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    c.problem.device = &h200;
    c.id.key[0] = arch;
    pg_family_scatter_add.choose(&c.problem, c.id.key);
    if (pg_kernel_id_resolve(&c.id, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return *(const pg_scatter_add_key *)c.id.key;
}

static void schedules_by_size(void **state)
{
    (void)state;
    static const struct {
        ptxgen_dtype dtype;
        int64_t rows, out_rows, n;
        ptxgen_schedule schedule;
        int64_t copies, ahead;
    } cases[] = {
        /* few groups of short rows: tables of threads, of a CTA, or too many for shared memory */
        {PTXGEN_F32, 30 * MILLION, 64, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_THREAD, 0},
        {PTXGEN_F32, 30 * MILLION, 1024, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_BF16, 30 * MILLION, 4096, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_F32, 30 * MILLION, 20000, 4, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, 30 * MILLION, 20000, 4, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_F32, 30 * MILLION, 10000, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_F32, 30 * MILLION, 12000, 4, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, 30 * MILLION, 12000, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_F32, 30 * MILLION, 8000, 8, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, 30 * MILLION, 64, 32, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_F32, 40000, 64, 4, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_BF16, 30 * MILLION, 16, 32, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_F32, 30 * MILLION, 16, 16, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_THREAD, 0},
        {PTXGEN_BF16, 30 * MILLION, 10000, 3, PTXGEN_SCHEDULE_PRIVATE, PG_COPIES_CTA, 0},
        {PTXGEN_BF16, 30 * MILLION, 200000, 3, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        /* as few, but not enough rows to pay for filling and emptying tables */
        {PTXGEN_F32, 20000, 64, 4, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_F32, 100000, 4096, 4, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        /* large calls; rows hit about once or not */
        {PTXGEN_F32, MILLION, MILLION / 4, 128, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
        {PTXGEN_BF16, MILLION, MILLION, 256, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_YES},
        {PTXGEN_BF16, 32768, 128256, 4096, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
        /* small ones */
        {PTXGEN_F32, 2048, 4096, 256, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        /* what only owner does */
        {PTXGEN_F64, 100, 100, 16, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
        {PTXGEN_F64, MILLION, MILLION, 2, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
        {PTXGEN_BF16, 100, 1000, 75, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, 100, 1000, 101, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, 2000, 1000, 101, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
        /* rows of 4 bytes or 8 by as wide reductions, but long ones of large calls */
        {PTXGEN_F32, 100, 1000, 3, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_F32, 3 * MILLION, MILLION / 2, 22, PTXGEN_SCHEDULE_VECTOR, 0, 0},
        {PTXGEN_BF16, MILLION / 2, MILLION / 8, 300, PTXGEN_SCHEDULE_OWNER, 0, PG_AHEAD_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptxgen_scatter_add_args a =
            call_of(cases[i].dtype, cases[i].rows, cases[i].out_rows, cases[i].n);
        const pg_scatter_add_key k = choose(&a, 900);
        if (k.schedule != cases[i].schedule || k.copies != cases[i].copies ||
            k.ahead != cases[i].ahead)
            fail_msg("case %d: schedule %d, copies %d, ahead %d", (int)i, (int)k.schedule,
                     (int)k.copies, (int)k.ahead);
    }
}

/* Of any size, type and alignment: what is chosen is a kernel that there is. */
static void every_problem_gets_a_kernel(void **state)
{
    static const ptxgen_dtype dtypes[] = {PTXGEN_F32, PTXGEN_F16, PTXGEN_BF16,
                                          PTXGEN_F64, PTXGEN_S32, PTXGEN_S64};
    enum { DRAWS = 20000 };
    (void)state;
    srand(1);
    for (int i = 0; i < DRAWS; i++) {
        ptxgen_scatter_add_args a =
            call_of(dtypes[rand() % 6], INT64_C(1) << rand() % 31, 1 + rand() % (1 << rand() % 24),
                    1 + rand() % (1 << rand() % 12));
        const bool whole = a.dtype == PTXGEN_S32 || a.dtype == PTXGEN_S64;
        a.rows -= rand() % a.rows;
        a.out_stride = a.n + (rand() % 3 ? 0 : rand() % 9);
        a.src_stride = a.n + (rand() % 3 ? 0 : rand() % 9);
        a.src = (char *)(uintptr_t)a.src + rand() % 4 * ptxgen_dtype_bits(a.dtype) / 8;
        a.deterministic = rand() % 4 == 0;
        a.reduce = rand() % 2 ? PTXGEN_SCATTER_ADD : (ptxgen_scatter_reduce)(rand() % 5);
        if (whole && a.reduce == PTXGEN_SCATTER_MEAN)
            continue;
        choose(&a, rand() % 3 ? 900 : 800);
    }
}

/* A table that does not fit is cut in two; a half without a partner is no matter for many CTAs. */
static void tables_are_cut(void **state)
{
    (void)state;
    ptxgen_scatter_add_args a = call_of(PTXGEN_BF16, 30 * MILLION, 8000, 4);
    assert_int_equal(choose(&a, 900).slices, 1);
    a.out_rows = 12000;
    assert_int_equal(choose(&a, 900).slices, 2);
    a = call_of(PTXGEN_F32, 30 * MILLION, 9308, 4);
    assert_true(choose(&a, 900).slices == 2 && choose(&a, 900).warps == 24);
    a = call_of(PTXGEN_BF16, 30 * MILLION, 500, 1);
    assert_true(choose(&a, 900).ctas > 1);
    a.out_rows = 501;
    assert_int_equal(choose(&a, 900).ctas, 1);
}

static void rows_off_16_bytes_are_shifted(void **state)
{
    (void)state;
    ptxgen_scatter_add_args a = call_of(PTXGEN_F32, MILLION, MILLION / 4, 256);
    a.src_stride = a.out_stride = 517;
    assert_true(choose(&a, 900).shift && choose(&a, 900).access == 4);
    a.src_stride = 512;
    a.out_stride = 256;
    assert_false(choose(&a, 900).shift);
    a = call_of(PTXGEN_BF16, MILLION, MILLION / 4, 299);
    assert_true(choose(&a, 900).shift && !choose(&a, 900).exact);
    a = call_of(PTXGEN_BF16, MILLION, MILLION / 4, 3); /* short: where they are, by blocks */
    assert_true(choose(&a, 900).schedule == PTXGEN_SCHEDULE_VECTOR && choose(&a, 900).shift);
    a.out_stride = 5; /* of which others have parts */
    assert_true(choose(&a, 900).schedule == PTXGEN_SCHEDULE_OWNER && !choose(&a, 900).shift);
    a = call_of(PTXGEN_F16, MILLION, MILLION / 4, 6);
    assert_true(choose(&a, 900).shift && !choose(&a, 800).shift);
    a = call_of(PTXGEN_F32, MILLION, MILLION / 4, 3); /* whose reductions flush what is beside */
    assert_true(choose(&a, 900).schedule == PTXGEN_SCHEDULE_VECTOR && !choose(&a, 900).shift);
}

/* In calls long enough for the look at the index not to be felt. */
static void hot_rows_are_looked_for(void **state)
{
    (void)state;
    static const struct {
        ptxgen_dtype dtype;
        int64_t rows, n, access;
        ptxgen_arch arch;
        bool hot;
    } cases[] = {
        {PTXGEN_F32, 40 * MILLION, 1, 4, 900, true},   {PTXGEN_BF16, 40 * MILLION, 1, 2, 900, true},
        {PTXGEN_BF16, 2 * MILLION, 8, 0, 900, true},   {PTXGEN_F32, MILLION / 4, 63, 4, 900, true},
        {PTXGEN_BF16, MILLION / 4, 75, 2, 1000, true}, {PTXGEN_F32, 2048, 4, 0, 900, false},
        {PTXGEN_F32, 40 * MILLION, 4, 0, 800, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptxgen_scatter_add_args a =
            call_of(cases[i].dtype, cases[i].rows, MILLION, cases[i].n);
        const pg_scatter_add_key k = choose(&a, cases[i].arch);
        if (k.schedule != PTXGEN_SCHEDULE_VECTOR || k.access != cases[i].access ||
            (k.hot == PG_HOT_YES) != cases[i].hot)
            fail_msg("case %d: schedule %d, access %d, hot %d", (int)i, (int)k.schedule,
                     (int)k.access, (int)k.hot);
    }
}

/* The mean reads nothing of out; before sm_90 every sum has one writer. */
static void what_forces_exact_sums(void **state)
{
    (void)state;
    ptxgen_scatter_add_args a = call_of(PTXGEN_F32, MILLION, MILLION, 128);
    assert_false(choose(&a, 900).exact);
    assert_true(choose(&a, 800).exact);
    a.reduce = PTXGEN_SCATTER_MEAN;
    assert_true(choose(&a, 900).exact && choose(&a, 900).ahead == PG_AHEAD_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_by_size),       cmocka_unit_test(every_problem_gets_a_kernel),
        cmocka_unit_test(tables_are_cut),          cmocka_unit_test(rows_off_16_bytes_are_shifted),
        cmocka_unit_test(hot_rows_are_looked_for), cmocka_unit_test(what_forces_exact_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
