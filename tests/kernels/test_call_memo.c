/* Calls like one before (engine/call_memo.h): the second finds what the checks made of the first,
 * and does the work of its own addresses, scalars and values. That each is still refused for what
 * is wrong with it is tested by test_family_refusals.c: all its calls differ from one that was
 * kept in one thing. */
#include "test.h"

#include "api/context.h"
#include "draw.h"
#include "families.h"

#include <pthread.h>

static ptxgen *ctx;

static void call(const drawn *d)
{
    ptxgen_error err;
    if (ptxgen_call(ctx, d->family->name, d->params, d->tensors, d->count, NULL, &err) != PTXGEN_OK)
        fail_msg("%s: %s", draw_text(d), err.message);
}

static bool is_right(const drawn *before, const drawn *after)
{
    ptxgen_call_verdict v = {.size = sizeof v};
    const char *operand;
    return ptxgen_call_check(before->family->name, before->params, before->tensors, after->tensors,
                             before->count, &v, NULL) == PTXGEN_OK &&
           v.wrong == 0 && draw_untouched(before, after, &operand);
}

static bool find_served(const pg_family *f, uint64_t *seed, drawn *out)
{
    while (*seed < 3000) {
        drawn probe;
        draw_problem(out, f, &(draw_options){.seed = ++*seed, .no_zeros = true});
        draw_copy(&probe, out);
        const bool served = ptxgen_call(ctx, f->name, probe.params, probe.tensors, probe.count,
                                        NULL, NULL) == PTXGEN_OK;
        draw_free(&probe);
        if (served)
            return true;
        draw_free(out);
    }
    return false;
}

static void call_again(const pg_family *f)
{
    enum { PROBLEMS = 12 };
    uint64_t seed = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        drawn before, after;
        assert_true(find_served(f, &seed, &before));
        draw_copy(&after, &before);
        const uint64_t hits = pg_call_memo_hits(ctx->kernels.calls);
        call(&after);
        if (pg_call_memo_hits(ctx->kernels.calls) != hits + 1)
            fail_msg("%s: the second call was not known", draw_text(&before));
        if (!is_right(&before, &after))
            fail_msg("%s: the second call is wrong", draw_text(&before));
        draw_free(&before);
        draw_free(&after);
    }
}

static void a_second_call_is_known_and_right(void **state)
{
    (void)state;
    void *memory; /* the call that finds the device is not kept */
    assert_int_equal(ptxgen_device_alloc(ctx, 1, &memory, NULL), PTXGEN_OK);
    ptxgen_device_free(ctx, memory);
    for (size_t i = 0; family_at(i); i++)
        if (!family_is_helper(family_at(i)))
            call_again(family_at(i));
}

enum { ROWS = 4, N = 8 };

/* The scalar lies where it lay, and is another number: one that sums of whole numbers refuse. */
static void a_scalar_is_its_value(void **state)
{
    (void)state;
    _Alignas(256) static int32_t out[ROWS * N], src[ROWS * N];
    const int64_t index[ROWS] = {0, 1, 2, 3};
    ptxgen_scatter_add_args a = {.size = sizeof a,
                                 .dtype = PTXGEN_S32,
                                 .rows = ROWS,
                                 .out_rows = ROWS,
                                 .n = N,
                                 .out = out,
                                 .src = src,
                                 .index = index};
    ptxgen_error err;
    int sum = 0;
    for (int i = 0; i < ROWS * N; i++)
        src[i] = 1;
    for (int call = 2; call <= 6; call++) {
        a.alpha = call / 2;
        sum += call / 2;
        if (ptxgen_scatter_add(ctx, &a, NULL, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        for (int i = 0; i < ROWS * N; i++)
            assert_int_equal(out[i], sum);
    }
    a.alpha = 2.5;
    assert_int_equal(ptxgen_scatter_add(ctx, &a, NULL, &err), PTXGEN_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "whole number"));
}

static void null_is_refused_after_an_aligned_address(void **state)
{
    (void)state;
    _Alignas(256) static float out[ROWS * N], src[ROWS * N];
    static const int64_t shape[] = {ROWS, N}, rows[] = {ROWS};
    _Alignas(256) static int64_t index[ROWS] = {0, 1, 2, 3};
    ptxgen_error err;
    for (int i = 0; i < 3; i++) {
        ptxgen_tensor t[] = {{out, PTXGEN_F32, 2, shape, PTXGEN_DENSE},
                             {src, PTXGEN_F32, 2, shape, PTXGEN_DENSE},
                             {index, PTXGEN_S64, 1, rows, PTXGEN_DENSE}};
        assert_int_equal(ptxgen_call(ctx, "gather_rows", "", t, 3, NULL, &err), PTXGEN_OK);
        t[i].data = NULL;
        assert_int_equal(ptxgen_call(ctx, "gather_rows", "", t, 3, NULL, &err), PTXGEN_EINVAL);
        assert_non_null(strstr(err.message, "is NULL"));
    }
}

static void two_layouts_of_one_shape_are_two_calls(void **state)
{
    (void)state;
    enum { WIDE = 24 };
    _Alignas(256) static float out[ROWS * WIDE], src[ROWS * WIDE];
    static const int64_t shape[] = {ROWS, N}, strides[] = {WIDE, 1}, rows[] = {ROWS};
    const int64_t index[ROWS] = {3, 2, 1, 0};
    ptxgen_error err;
    for (int i = 0; i < ROWS * WIDE; i++)
        src[i] = (float)i;
    for (int call = 0; call < 6; call++) {
        const int64_t stride = call % 2 ? WIDE : N;
        const int64_t *s = call % 2 ? strides : PTXGEN_DENSE;
        const ptxgen_tensor t[] = {{out, PTXGEN_F32, 2, shape, s},
                                   {src, PTXGEN_F32, 2, shape, s},
                                   {(void *)(uintptr_t)index, PTXGEN_S64, 1, rows, PTXGEN_DENSE}};
        memset(out, 0, sizeof out);
        if (ptxgen_call(ctx, "gather_rows", "", t, 3, NULL, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < N; j++)
                assert_true(out[i * stride + j] == (float)((ROWS - 1 - i) * stride + j));
    }
}

static void nothing_is_known_after_a_clear(void **state)
{
    (void)state;
    uint64_t seed = 0;
    drawn before, after;
    assert_true(find_served(pg_family_at(0), &seed, &before));
    const uint64_t hits = pg_call_memo_hits(ctx->kernels.calls);
    assert_int_equal(ptxgen_cache_clear(ctx, false, NULL), PTXGEN_OK);
    draw_copy(&after, &before);
    call(&after);
    assert_int_equal(pg_call_memo_hits(ctx->kernels.calls), hits);
    assert_true(is_right(&before, &after));
    draw_free(&before);
    draw_free(&after);
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    const drawn *problems;
    size_t count;
    bool right;
} worker;

static void *call_them_all(void *state)
{
    enum { ROUNDS = 20 };
    worker *w = state;
    w->right = true;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < w->count; i++) {
            const drawn *d = &w->problems[i];
            drawn after;
            draw_copy(&after, d);
            w->right &= ptxgen_call(ctx, d->family->name, d->params, after.tensors, after.count,
                                    NULL, NULL) == PTXGEN_OK &&
                        is_right(d, &after);
            draw_free(&after);
        }
    return NULL;
}

static void threads_share_what_is_known(void **state)
{
    (void)state;
    enum { PROBLEMS = 6, THREADS = 4 };
    const pg_family *f;
    drawn problems[PROBLEMS];
    worker workers[THREADS];
    uint64_t seed = 0;
    assert_int_equal(pg_family_find("gather_rows", &f, NULL), PTXGEN_OK);
    for (int i = 0; i < PROBLEMS; i++)
        assert_true(find_served(f, &seed, &problems[i]));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.problems = problems, .count = PROBLEMS};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, call_them_all, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_true(workers[i].right);
    }
    for (int i = 0; i < PROBLEMS; i++)
        draw_free(&problems[i]);
}

/* ---- kernels that the caller holds ---- */

static void a_kernel_knows_its_last_call(void **state)
{
    (void)state;
    const pg_family *f;
    uint64_t seed = 0;
    drawn before, after;
    ptxgen_kernel *k;
    char params[1024];
    ptxgen_error err;
    assert_int_equal(pg_family_find("gather_rows", &f, NULL), PTXGEN_OK);
    assert_true(find_served(f, &seed, &before));
    assert_int_equal(ptxgen_call_params(ctx, f->name, before.params, before.tensors, before.count,
                                        params, sizeof params, &err),
                     PTXGEN_OK);
    assert_int_equal(ptxgen_get(ctx, f->name, params, NULL, &k, &err), PTXGEN_OK);
    for (int call = 0; call < 3; call++) {
        draw_copy(&after, &before);
        if (ptxgen_call_kernel(k, after.tensors, after.count, NULL, &err) != PTXGEN_OK)
            fail_msg("%s", err.message);
        assert_true(is_right(&before, &after));
        after.tensors[0].data = after.tensors[1].data;
        assert_int_not_equal(ptxgen_call_kernel(k, after.tensors, after.count, NULL, &err),
                             PTXGEN_OK);
        draw_free(&after);
    }
    ptxgen_kernel_unref(k);
    draw_free(&before);
}

int main(void)
{
    const ptxgen_config config = {
        .size = sizeof config, .cache_dir = "", .device = PTXGEN_DEVICE_EMULATOR};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_call_is_known_and_right),
        cmocka_unit_test(a_scalar_is_its_value),
        cmocka_unit_test(null_is_refused_after_an_aligned_address),
        cmocka_unit_test(two_layouts_of_one_shape_are_two_calls),
        cmocka_unit_test(nothing_is_known_after_a_clear),
        cmocka_unit_test(threads_share_what_is_known),
        cmocka_unit_test(a_kernel_knows_its_last_call),
    };
    ptxgen_device_info device = {.size = sizeof device};
    if (ptxgen_create(&config, &ctx, NULL) != PTXGEN_OK ||
        ptxgen_device_get_info(ctx, &device, NULL) != PTXGEN_OK) /* known before the first call */
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ptxgen_destroy(ctx);
    return failed;
}
