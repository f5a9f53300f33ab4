/* Operands that lie anywhere, read by phases of their rows: every schedule that does, watched on
 * the emulator over seeds, with NaN in front of every row and behind it; and what is refused. */
#include "phase_cases.h"

#include "draw.h"
#include "matmul_accumulate/matmul_accumulate.h"
#include "test_context.h"

static void every_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof phase_cases / sizeof *phase_cases; i++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            batch_case c = phase_cases[i];
            c.batch = 1;
            batch_case_check(context, &c, "sm_90a", seed);
        }
}

static void drawn_problems(void **state)
{
    (void)state;
    static const char *const params[] = {
        "phases=8",
        "phases=8 warpgroups=1 block_n=32",
        "phases=8 block_n=64 slices=8",
        "phases=8 block_n=64 slices=16 copy=b",
        "phases=8 swap=yes warpgroups=1 block_n=32",
        "phases=8 swap=yes warpgroups=1 block_n=48 slices=8 copy=a",
        "phases=8 warpgroups=1 block_n=32 splits=2"};
    enum { WAYS = sizeof params / sizeof *params, SWAPPED = 4, SPLIT = 6, PHASES = 8 };
    const char *text = getenv("PTXGEN_DRAWS");
    const int count = text ? atoi(text) : 24;
    uint64_t draws = 20261203;
    for (int i = 0; i < count; i++) {
        const uint64_t way = draw_random(&draws) % WAYS;
        batch_case c = batch_case_draw(&draws, false);
        const bool swapped = way == SWAPPED || way == SWAPPED + 1;
        c.batch = 1;
        c.same = c.inside = 0;
        if (way == SPLIT)
            c.a_transposed = false;
        /* the right operand is copied, or aligned: of K adjacent in both always copied */
        if (swapped)
            c.a_transposed = way == SWAPPED ? false : c.a_transposed;
        else
            c.b_transposed = way == 3 ? c.b_transposed : true;
        if (c.epilogue && way != 2 && way != 3 && way != 5)
            c.epilogue = PTXGEN_EPILOGUE_NONE;
        c.shift = (int)(draw_random(&draws) % 8);
        c.params = params[way];
        if (c.k < PHASES && (swapped ? !c.b_transposed : c.a_transposed))
            c.k += PHASES; /* each phase of K has some of it */
        batch_case_check(context, &c, "sm_90a", (uint64_t)i % 3);
    }
}

/* What a call takes on an H200, of operands whose rows have so many phases. */
static pg_matmul_accumulate_key chosen(pg_matmul_problem p, bool b_transposed)
{
    pg_matmul_accumulate_key k = {.arch = 901, .b = b_transposed};
    k.copy = (p.a_phases ? PG_COPY_A : 0) | (p.b_phases ? PG_COPY_B : 0);
    p.c_bytes = p.d_bytes = 4;
    p.a_k_major = true;
    p.b_k_major = b_transposed;
    p.operand_alignment = 2;
    p.sm_count = 132;
    pg_matmul_accumulate_choose(&k, &p);
    pg_matmul_accumulate_key resolved = k;
    ptxgen_error err;
    const pg_arch *arch = pg_arch_find((ptxgen_arch)k.arch);
    if (pg_matmul_accumulate_resolve(&resolved, arch, &err) != PTXGEN_OK)
        fail_msg("%lld x %lld x %lld: %s", (long long)p.m, (long long)p.n, (long long)p.k,
                 err.message);
    return k;
}

/* Whatever is chosen there is. */
static void every_choice_exists(void **state)
{
    (void)state;
    uint64_t draws = 20261204;
    for (int i = 0; i < 300; i++) {
        pg_matmul_problem p = {.k = 1 + (int64_t)(draw_random(&draws) % 16000)};
        p.m = 1 + (int64_t)(draw_random(&draws) % (UINT64_C(2) << draw_random(&draws) % 14));
        p.n = 1 + (int64_t)(draw_random(&draws) % (UINT64_C(2) << draw_random(&draws) % 14));
        p.a_phases = 1 << draw_random(&draws) % 4;
        p.b_phases = 1 << draw_random(&draws) % 4;
        chosen(p, draw_random(&draws) % 2);
    }
}

static void a_large_operand_is_read_where_it_lies(void **state)
{
    (void)state;
    pg_matmul_accumulate_key k = chosen(
        (pg_matmul_problem){.m = 7011, .n = 34, .k = 13951, .a_phases = 8, .b_phases = 8}, true);
    assert_int_equal(pg_phases_of(k.phases), 8);
    assert_int_equal(k.swap, PG_NO);
    assert_int_equal(k.copy, PG_COPY_B);
    k = chosen((pg_matmul_problem){.m = 42, .n = 13806, .k = 7546, .a_phases = 4, .b_phases = 4},
               true);
    assert_int_equal(pg_phases_of(k.phases), 4);
    assert_int_equal(k.swap, PG_YES);
    assert_int_equal(k.copy, PG_COPY_A);
    /* N adjacent in B: slices of K */
    k = chosen((pg_matmul_problem){.m = 34, .n = 7010, .k = 13948, .a_phases = 2, .b_phases = 4},
               false);
    assert_int_equal(pg_phases_of(k.phases), 4);
    assert_int_equal(k.swap, PG_YES);
    assert_int_equal(k.slices % 4, 0);
    /* copies weigh little, or are not needed */
    k = chosen((pg_matmul_problem){.m = 4095, .n = 4097, .k = 4099, .a_phases = 8, .b_phases = 8},
               true);
    assert_int_equal(pg_phases_of(k.phases), 0);
    assert_int_equal(k.copy, PG_COPY_A | PG_COPY_B);
    k = chosen((pg_matmul_problem){.m = 7011, .n = 34, .k = 13952}, true);
    assert_int_equal(pg_phases_of(k.phases), 0);
    assert_int_equal(k.copy, 0);
}

static void refused(const char *params, const char *word)
{
    char text[1024];
    ptxgen_error err = {0};
    assert_int_equal(ptxgen_canonical("matmul_accumulate", params, text, sizeof text, &err),
                     PTXGEN_EUNSUPPORTED);
    if (!strstr(err.message, word))
        fail_msg("%s: \"%s\" does not say %s", params, err.message, word);
}

static void what_has_no_phases_is_refused(void **state)
{
    (void)state;
    refused("arch=sm_90a phases=8 a=transposed slices=12", "slices=8 or");
    refused("arch=sm_90a phases=1 swap=yes slices=1", "slices=2 or");
    refused("arch=sm_90a phases=8 a=transposed splits=2", "use one of them");
    refused("arch=sm_90a phases=4 copy=a", "phases=none");
    refused("arch=sm_90a phases=8 batched=yes", "without batches");
    refused("arch=sm_90a phases=8 dtype=e4m3 b=transposed", "16 bits");
    refused("arch=sm_90a phases=8 schedule=pingpong", "schedule=cooperative");
    refused("arch=sm_90a phases=8 stream=ahead", "stream=yes");
    refused("arch=sm_90a phases=8 epilogue=relu", "slices=2");
    refused("arch=sm_100a phases=8", "sm_90a");
    refused("arch=sm_89 phases=8", "sm_90a");
}

/* Every 8th row of these begins at the same place, not every 4th; and seven rows of K leave one of
 * eight phases none. */
static void what_an_operand_does_not_have_is_refused(void **state)
{
    (void)state;
    enum { M = 16, N = 17, K = 17 };
    static const struct {
        int64_t k;
        const char *params, *says;
    } cases[] = {{K, "arch=sm_90a phases=4", "use phases=8"},
                 {7, "arch=sm_90a phases=8 swap=yes", "of which b has 7"}};
    static uint16_t a[M * K], b[K * N];
    static float d[M * N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ptxgen_matmul_accumulate_args args = {.size = sizeof args,
                                                    .dtype = PTXGEN_F16,
                                                    .m = M,
                                                    .n = N,
                                                    .k = cases[i].k,
                                                    .a = a,
                                                    .b = b,
                                                    .d = d,
                                                    .params = cases[i].params};
        ptxgen_error err = {0};
        assert_int_equal(ptxgen_matmul_accumulate(context, &args, NULL, &err), PTXGEN_EUNSUPPORTED);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].params, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way),
                                       cmocka_unit_test(drawn_problems),
                                       cmocka_unit_test(every_choice_exists),
                                       cmocka_unit_test(a_large_operand_is_read_where_it_lies),
                                       cmocka_unit_test(what_has_no_phases_is_refused),
                                       cmocka_unit_test(what_an_operand_does_not_have_is_refused)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
