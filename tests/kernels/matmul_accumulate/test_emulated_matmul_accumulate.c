/* matmul_accumulate on the emulator: in checking mode right and without a report over seeds of
 * order=isa; the Blackwell kernels, which no device at hand runs, on odd shapes, and with the
 * argument "large" on all of them and on the problems of the reference test, with times. */
#include "emulated_matmul.h"
#include "test_context.h"

#include <time.h>

static void add_number(char *text, size_t size, const char *name, int64_t value)
{
    const size_t used = strlen(text);
    if (value)
        snprintf(text + used, size - used, " %s=%lld", name, (long long)value);
}

/* Processor time. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How a case is run. */
typedef struct how {
    const char *arch;
    bool check, fast;
    uint64_t seed;
    const char *more; /* parameters */
} how;

/* Returns the processor time that the emulator took. */
static double run_case(const matmul_case *problem, how h)
{
    const ptxgen_matmul_tiling *t = &problem->tiling;
    char params[256];
    matmul_data x;
    matmul_case_make(problem, &x);
    snprintf(params, sizeof params, "arch=%s dtype=%s b=%s %s", h.arch,
             problem->bf16 ? "bf16" : "f16", problem->b_transposed ? "transposed" : "row_major",
             h.more ? h.more : "");
    add_number(params, sizeof params, "block_n", t->block_n);
    add_number(params, sizeof params, "block_k", t->block_k);
    add_number(params, sizeof params, "stages", t->stages);
    add_number(params, sizeof params, "group_m", t->group_m);
    add_number(params, sizeof params, "swizzle", t->swizzle);
    add_number(params, sizeof params, "ctas", t->ctas);
    const double start = seconds();
    emulate_matmul(
        context, &x,
        (emulated_call){.params = params, .check = h.check, .isa_seed = h.seed, .fast = h.fast});
    const double took = seconds() - start;
    matmul_case_compare(&x, x.args.d);
    matmul_case_free(&x);
    return took;
}

static void hopper_kernels_have_no_race(void **state)
{
    (void)state;
    static const matmul_case small[] = {
        {.m = 150,
         .n = 70,
         .k = 200,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2},
         .d_pad = 1},
        {.m = 260,
         .n = 70,
         .k = 200,
         .tiling = {.block_n = 64, .block_k = 32, .stages = 2, .ctas = 2},
         .in_place = true},
    };
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        for (uint64_t seed = 0; seed <= 10; seed++)
            run_case(&small[i], (how){.arch = "sm_90a", .check = true, .seed = seed});
}

/* ---- Blackwell ---- */

static const how fast_blackwell = {.arch = "sm_100a", .fast = true};

static void blackwell_kernels_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < matmul_case_count; i++)
        run_case(&matmul_cases[i], (how){.arch = "sm_100a"});
}

/* alpha, beta, no C, and results of 16 bits, on Blackwell. */
static void blackwell_factors_and_types(void **state)
{
    (void)state;
    static const struct {
        matmul_case c;
        const char *params;
    } cases[] = {
        {{.m = 130, .n = 72, .k = 100, .alpha = 0.3F, .beta = -2, .d_pad = 1}, "scale=alpha_beta"},
        {{.m = 200, .n = 150, .k = 100, .d_dtype = PTXGEN_F16, .d_pad = 2}, "d_dtype=f16"},
        {{.m = 200, .n = 151, .k = 70, .d_dtype = PTXGEN_BF16, .c_pad = 1}, "d_dtype=bf16"},
        {{.m = 300,
          .n = 152,
          .k = 70,
          .d_dtype = PTXGEN_F16,
          .alpha = -1,
          .beta = 1,
          .tiling = {.ctas = 2}},
         "d_dtype=f16 scale=alpha_beta"},
        {{.m = 130, .n = 200, .k = 300, .no_c = true, .d_dtype = PTXGEN_F16, .d_pad = 8},
         "c=none d_dtype=f16"},
        {{.m = 130, .n = 200, .k = 300, .no_c = true, .alpha = 0.5F, .tiling = {.ctas = 2}},
         "c=none scale=alpha_beta"},
        {{.m = 130, .n = 200, .k = 0, .no_c = true}, "c=none"},
        {{.m = 130, .n = 64, .k = 64, .alpha = 0, .beta = 2}, "scale=alpha_beta"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 0; seed <= 2; seed++)
            run_case(
                &cases[i].c,
                (how){.arch = "sm_100a", .check = true, .seed = seed, .more = cases[i].params});
}

/* ---- the same bits on both architectures ---- */

static uint32_t random_word(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* f16 of either sign from 2^-9 to 2: sums that have to be rounded at every instruction. */
static void fill_f16(uint16_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes / 2; i++) {
        const uint32_t r = random_word();
        p[i] = (uint16_t)((r & 0x83ff) | (6 + (r >> 16) % 10) << 10);
    }
}

static void fill_f32(float *p, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++) {
        const uint32_t r = random_word(), bits = (r & 0x807fffff) | (120 + (r >> 23 & 7)) << 23;
        memcpy(&p[i], &bits, sizeof bits);
    }
}

/* `kernel`: an architecture and what else names the kernel. */
static void run_on(const char *kernel, const matmul_case *problem, matmul_data *x)
{
    char params[160];
    snprintf(params, sizeof params, "arch=%s block_n=%lld ctas=%lld", kernel,
             (long long)problem->tiling.block_n, (long long)problem->tiling.ctas);
    emulate_matmul(context, x, (emulated_call){.params = params});
}

/* Both accumulate on C, 16 of K at a time, with the same arithmetic: wgmma's has been seen on an
 * H200. */
static void hopper_and_blackwell_agree_bit_for_bit(void **state)
{
    (void)state;
    static const char *const others[] = {"sm_100a ctas_n=2", "sm_100a d_store=tensor",
                                         "sm_100a tiles=dynamic",
                                         /* of which four CTAs a tile below the other have none */
                                         "sm_100a schedule=seed", "sm_100a ctas_n=4"};
    enum { OTHERS = sizeof others / sizeof *others, OF_FOUR = OTHERS - 2 };
    for (int ctas = 1; ctas <= 4; ctas *= 2) {
        const matmul_case c = {
            .m = 200, .n = 152, .k = 500, .tiling = {.block_n = 128, .ctas = ctas}};
        matmul_data x;
        matmul_case_make(&c, &x);
        fill_f16(x.a, x.a_bytes);
        fill_f16(x.b, x.b_bytes);
        fill_f32(x.c, x.c_bytes);
        run_on("sm_90a", &c, &x);
        memcpy(x.want, x.d, x.d_bytes);
        memset(x.d, 0, x.d_bytes);
        run_on("sm_100a schedule=fill", &c, &x);
        assert_memory_equal(x.d, x.want, x.d_bytes);
        for (int i = 0; i < (ctas == 4 ? OF_FOUR : OTHERS); i++) {
            memset(x.d, 0, x.d_bytes);
            run_on(others[i], &c, &x);
            assert_memory_equal(x.d, x.want, x.d_bytes);
        }
        matmul_case_free(&x);
    }
}

/* A kernel without C gives what one gives that adds zeros; with K = 0, zeros. */
static void no_c_is_a_c_of_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const matmul_case c = {.m = 200,
                               .n = 390,
                               .k = i < 4 ? 300 : 0,
                               .tiling = {.block_n = 64 << i % 3, .ctas = 1 + i % 2}};
        matmul_data x;
        matmul_case_make(&c, &x);
        memset(x.c, 0, x.c_bytes);
        run_on("sm_100a", &c, &x);
        memcpy(x.want, x.d, x.d_bytes);
        memset(x.d, 0xff, x.d_bytes);
        x.args.c = NULL;
        run_on("sm_100a c=none", &c, &x);
        for (int64_t row = 0; row < c.m; row++)
            assert_memory_equal((char *)x.d + row * x.args.d_stride * 4,
                                (char *)x.want + row * x.args.d_stride * 4, (size_t)c.n * 4);
        matmul_case_free(&x);
    }
}

/* ---- shapes ---- */

static const int64_t odd[] = {1, 17, 127, 129, 500, 600, 704};
enum { ODD = sizeof odd / sizeof *odd, SAMPLE = 2000 };

/* Shape i of all, with tilings, layouts and pads that go round. */
static void odd_shape(int i)
{
    static const int64_t block_ns[] = {64, 128, 256}, block_ks[] = {32, 64, 128};
    const int64_t block_n = block_ns[i % 3], block_k = block_n == 256 ? 32 : block_ks[i / 2 % 3];
    const matmul_case c = {.m = odd[i % ODD],
                           .n = odd[i / ODD % ODD],
                           .k = odd[i / ODD / ODD],
                           .tiling = {.block_n = block_n, .block_k = block_k, .ctas = 1 + i % 2},
                           .b_transposed = i / 3 % 2,
                           .bf16 = i / 5 % 2,
                           .in_place = i % 4 == 3,
                           .d_pad = i % 4 == 3 ? 0 : i % 5,
                           .sample = SAMPLE};
    run_case(&c, fast_blackwell);
}

static void some_odd_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++)
        odd_shape(i * 43 % (ODD * ODD * ODD));
}

static void all_odd_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < ODD * ODD * ODD; i++)
        odd_shape(i);
}

/* The problems of the reference test (and its tiling), for one CTA and for pairs. */
static void reference_problems(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1024, 1024, 2048}, {4096, 4096, 4096}};
    for (int i = 0; i < 8; i++) {
        const int64_t *const s = shapes[i / 4];
        const matmul_case c = {.m = s[0],
                               .n = s[1],
                               .k = s[2],
                               .tiling = {.block_n = i % 2 ? 64 : 128,
                                          .block_k = 64,
                                          .stages = 3,
                                          .ctas = 1 + i / 2 % 2},
                               .sample = 10 * SAMPLE};
        const double took = run_case(&c, fast_blackwell);
        printf("  %lld x %lld x %lld, block_n %lld, ctas %lld: %.1f s of processor time\n",
               (long long)c.m, (long long)c.n, (long long)c.k, (long long)c.tiling.block_n,
               (long long)c.tiling.ctas, took);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hopper_kernels_have_no_race),
        cmocka_unit_test(blackwell_kernels_are_right),
        cmocka_unit_test(blackwell_factors_and_types),
        cmocka_unit_test(hopper_and_blackwell_agree_bit_for_bit),
        cmocka_unit_test(no_c_is_a_c_of_zeros),
        cmocka_unit_test(some_odd_shapes),
    };
    const struct CMUnitTest large[] = {
        cmocka_unit_test(all_odd_shapes),
        cmocka_unit_test(reference_problems),
    };
    if (argc > 1 && strcmp(argv[1], "large") == 0)
        return cmocka_run_group_tests(large, open_context, close_context);
    return cmocka_run_group_tests(tests, open_context, close_context);
}
