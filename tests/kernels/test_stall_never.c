/* stall=never, for every family, on problems drawn from its tables: the first call is answered
 * at once (by the generic kernel), later ones by the call's own; both answers are right, and
 * have the same bits unless the family says that they may not. On the emulator, where nothing is
 * assembled. */
#include "test.h"

#include "api/context.h"
#include "draw.h"
#include "families.h"
#include "ptxgen/call.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { PROBLEMS = 25, MOST_TRIES = 4000 };

static ptxgen *never(uint32_t threads)
{
    ptxgen *ctx;
    ptxgen_error err;
    const ptxgen_config config = {.size = sizeof config,
                                  .cache_dir = "",
                                  .device = PTXGEN_DEVICE_EMULATOR,
                                  .stall = PTXGEN_STALL_NEVER,
                                  .prefetch_threads = threads};
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK)
        fail_msg("%s", err.message);
    return ctx;
}

static ptxgen_cache_info info_of(ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    return info;
}

static void settle(ptxgen *ctx)
{
    while (info_of(ctx).pending)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static ptxgen_status call(ptxgen *ctx, const drawn *d, ptxgen_error *err)
{
    return ptxgen_call(ctx, d->family->name, d->params, d->tensors, d->count, NULL, err);
}

static void expect_right(const drawn *before, const drawn *after)
{
    ptxgen_call_verdict v = {.size = sizeof v};
    ptxgen_error err = {0};
    if (ptxgen_call_check(before->family->name, before->params, before->tensors, after->tensors,
                          before->count, &v, &err) != PTXGEN_OK)
        fail_msg("%s: %s", draw_text(before), err.message);
    if (v.wrong)
        fail_msg("%s: %lld elements are wrong", draw_text(before), (long long)v.wrong);
}

static bool same_bytes(const drawn *a, const drawn *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->memory[i] && memcmp(a->memory[i], b->memory[i], a->bytes[i]) != 0)
            return false;
    return true;
}

typedef struct tally {
    int problems, generic, differing;
} tally;

/* Before and after the swap; false when no kernel serves the problem. */
static bool compare(ptxgen *ctx, const drawn *before, tally *t)
{
    drawn first, second;
    ptxgen_error err = {0};
    ptxgen_generic_info generic = {.size = sizeof generic};
    const uint64_t had = info_of(ctx).generic_calls;
    draw_copy(&first, before);
    draw_copy(&second, before);
    ptxgen_status status = call(ctx, &first, &err);
    settle(ctx);
    const bool by_generic = info_of(ctx).generic_calls > had;
    if (status == PTXGEN_EPENDING)
        status = call(ctx, &first, &err);
    if (status == PTXGEN_OK && call(ctx, &second, &err) == PTXGEN_OK) {
        assert_int_equal(info_of(ctx).generic_calls, had + by_generic);
        expect_right(before, &first);
        expect_right(before, &second);
        assert_int_equal(ptxgen_call_generic(ctx, before->family->name, before->params,
                                             before->tensors, before->count, &generic, &err),
                         PTXGEN_OK);
        const bool same = same_bytes(&first, &second);
        if (!same && !generic.other_bits)
            fail_msg("%s: the bits changed with the kernel, and the family says that they do not",
                     draw_text(before));
        t->problems++;
        t->generic += by_generic;
        t->differing += !same;
    }
    draw_free(&first);
    draw_free(&second);
    return status == PTXGEN_OK;
}

static void each_family_answers_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; family_at(i); i++) {
        const pg_family *f = family_at(i);
        tally t = {0};
        if (family_is_helper(f))
            continue;
        ptxgen *ctx = never(2);
        for (size_t tries = 0; t.problems < PROBLEMS && tries < MOST_TRIES; tries++) {
            drawn d;
            draw_problem(&d, f, &(draw_options){.seed = 7000 + tries, .no_zeros = true});
            compare(ctx, &d, &t);
            draw_free(&d);
        }
        assert_int_equal(info_of(ctx).compiles_in_call, 0);
        assert_true(info_of(ctx).special_made > 0);
        ptxgen_destroy(ctx);
        print_message("%s: %d problems, %d first by a generic kernel, %d with other bits\n",
                      f->name, t.problems, t.generic, t.differing);
        assert_int_equal(t.problems, PROBLEMS);
        assert_true(f->generic ? t.generic > 0 : t.generic == 0);
        if (!f->generic && !f->no_generic)
            fail_msg("%s has no generic kernel for stall=never: write the hook `generic`, or say "
                     "in `no_generic` why there is none",
                     f->name);
    }
}

/* ---- by call, and what is refused ---- */

static const char family[] = "gather_rows";

static void draw_one(drawn *d, uint64_t seed)
{
    const pg_family *f;
    assert_int_equal(pg_family_find(family, &f, NULL), PTXGEN_OK);
    draw_problem(d, f, &(draw_options){.seed = seed, .no_zeros = true});
}

static void a_call_may_say_it(void **state)
{
    (void)state;
    drawn d;
    ptxgen_error err = {0};
    ptxgen *ctx = never(1);
    draw_one(&d, 1);
    strcpy(d.params, "stall=wait");
    assert_int_equal(call(ctx, &d, &err), PTXGEN_OK);
    assert_int_equal(info_of(ctx).generic_calls, 0);
    assert_int_equal(info_of(ctx).special_made, 0);
    strcpy(d.params, "pieces=2 stall=never oob=trap");
    assert_int_equal(call(ctx, &d, &err), PTXGEN_OK);
    assert_int_equal(info_of(ctx).generic_calls, 1);
    settle(ctx);
    assert_int_equal(info_of(ctx).special_made, 1);
    assert_int_equal(call(ctx, &d, &err), PTXGEN_OK);
    assert_int_equal(info_of(ctx).generic_calls, 1);
    strcpy(d.params, "stall=maybe");
    assert_int_equal(call(ctx, &d, &err), PTXGEN_EINVAL);
    strcpy(d.params, "pieces=77 stall=never");
    assert_int_equal(call(ctx, &d, &err), PTXGEN_EINVAL);
    draw_free(&d);
    ptxgen_destroy(ctx);
}

static void clearing_begins_anew(void **state)
{
    (void)state;
    drawn d;
    ptxgen_error err = {0};
    ptxgen *ctx = never(1);
    draw_one(&d, 2);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(call(ctx, &d, &err), PTXGEN_OK);
        settle(ctx);
        assert_int_equal(call(ctx, &d, &err), PTXGEN_OK);
        assert_int_equal(info_of(ctx).generic_calls, i);
        assert_int_equal(info_of(ctx).special_made, i);
        assert_int_equal(ptxgen_cache_clear(ctx, false, &err), PTXGEN_OK);
    }
    draw_free(&d);
    ptxgen_destroy(ctx);
}

enum { SHAPES = 20, ROWS = 6, SRC_ROWS = 9, ROUNDS = 5, THREADS = 4 };

/* Rows of n bytes, by each thread from memory of its own that is aligned alike. */
static bool gather(ptxgen *ctx, int64_t n)
{
    _Alignas(256) uint8_t out[ROWS * (SHAPES + 1)], src[SRC_ROWS * (SHAPES + 1)];
    _Alignas(256) int64_t index[ROWS] = {8, 0, 3, 3, 7, 1};
    const int64_t rows = ROWS, out_shape[] = {ROWS, n}, src_shape[] = {SRC_ROWS, n};
    const ptxgen_tensor tensors[] = {
        {.data = out, .dtype = PTXGEN_U8, .rank = 2, .shape = out_shape},
        {.data = src, .dtype = PTXGEN_U8, .rank = 2, .shape = src_shape},
        {.data = index, .dtype = PTXGEN_S64, .rank = 1, .shape = &rows}};
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (uint8_t)(i * 37 + 11);
    if (ptxgen_call(ctx, family, NULL, tensors, 3, NULL, NULL) != PTXGEN_OK)
        return false;
    for (int64_t r = 0; r < ROWS; r++)
        if (memcmp(out + r * n, src + index[r] * n, (size_t)n) != 0)
            return false;
    return true;
}

static void *call_many(void *user)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int64_t n = 1; n <= SHAPES; n++)
            if (!gather(user, n))
                return user;
    return NULL;
}

static void threads_share_what_is_made(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    ptxgen *ctx = never(2);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_many, ctx), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    settle(ctx);
    assert_int_equal(info_of(ctx).special_made, SHAPES);
    const uint64_t generic = info_of(ctx).generic_calls;
    assert_null(call_many(ctx));
    assert_int_equal(info_of(ctx).generic_calls, generic);
    ptxgen_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_family_answers_at_once),
        cmocka_unit_test(a_call_may_say_it),
        cmocka_unit_test(clearing_begins_anew),
        cmocka_unit_test(threads_share_what_is_made),
    };
    return cmocka_run_group_tests_name("stall_never", tests, NULL, NULL);
}
