/* f32 and f64 arithmetic in all rounding modes against the processor under fesetround, on operands
 * drawn from edges and at random, and the NaN, flush and clamp rules. */
#include "test.h"

#include "emulator/number/float_ops.h"

#include <fenv.h>
#include <math.h>

static uint64_t random_state = 0x853c49e6748fea9bu;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static const int processor_modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static uint32_t random_f32(void)
{
    static const uint32_t edges[] = {0,          1,          0x007fffff, 0x00800000,
                                     0x3f800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff,
                                     0x7f800000, 0x34000000, 0x4b800000, 0x00400000,
                                     0x0c000000, 0x33ffffff, 0x7effffff, 0x3fffffff};
    const uint64_t r = next_random();
    uint32_t v = r & 1 ? edges[r >> 8 & 15] : (uint32_t)(r >> 16);
    if (r & 2) /* exponents near one: sums that cancel or overlap */
        v = (v & 0x007fffff) | (0x3f800000u + ((uint32_t)(r >> 50 & 31) << 23));
    return v ^ (uint32_t)(r >> 20 & 0x80000000u);
}

static uint64_t random_f64(void)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     0x000fffffffffffff,
                                     0x0010000000000000,
                                     0x3ff0000000000000,
                                     0x3fefffffffffffff,
                                     0x3ff0000000000001,
                                     0x7fefffffffffffff,
                                     0x7ff0000000000000,
                                     0x3ca0000000000000,
                                     0x0008000000000000,
                                     0x1ff0000000000000,
                                     0x3c9fffffffffffff,
                                     0x7fdfffffffffffff,
                                     0x3fffffffffffffff,
                                     0x4340000000000000};
    const uint64_t r = next_random();
    uint64_t v = r & 1 ? edges[r >> 8 & 15] : next_random();
    if (r & 2)
        v = (v & 0xfffffffffffff) | (0x3ff0000000000000u + ((r >> 50 & 63) << 52));
    return v ^ (r << 20 & 1ull << 63);
}

static bool nan32(uint32_t x)
{
    return (x & 0x7fffffffu) > 0x7f800000u;
}

static bool nan64(uint64_t x)
{
    return (x & ~(1ull << 63)) > 0x7ff0000000000000u;
}

typedef struct f32_answers {
    volatile float add, mul, div, sqrt, fma;
} f32_answers;

static void ask_processor_f32(f32_answers *r, int mode, const uint32_t x[3])
{
    const volatile float a = pg_f32_of(x[0]), b = pg_f32_of(x[1]), c = pg_f32_of(x[2]);
    fesetround(processor_modes[mode]);
    r->add = a + b;
    r->mul = a * b;
    r->div = a / b;
    r->sqrt = sqrtf(a);
    r->fma = fmaf(a, b, c);
    fesetround(FE_TONEAREST);
}

static void same_f32(uint32_t ours, float processor)
{
    assert_int_equal(ours, isnan(processor) ? 0x7fffffffu : pg_bits_of_f32(processor));
}

static void f32_agrees_with_the_processor(void **state)
{
    (void)state;
    for (int i = 0; i < 300000; i++) {
        const uint32_t x[3] = {random_f32(), random_f32(), random_f32()};
        const int mode = i & 3;
        const pg_float_mode m = {(pg_round)mode, false, false};
        f32_answers r;
        ask_processor_f32(&r, mode, x);
        same_f32(pg_f32_add(x[0], x[1], m), r.add);
        same_f32(pg_f32_mul(x[0], x[1], m), r.mul);
        same_f32(pg_f32_div(x[0], x[1], m), r.div);
        same_f32(pg_f32_sqrt(x[0], m), r.sqrt);
        same_f32(pg_f32_fma(x[0], x[1], x[2], m), r.fma);
    }
}

typedef struct f64_answers {
    volatile double add, mul, div, sqrt, fma;
} f64_answers;

static void ask_processor_f64(f64_answers *r, int mode, const uint64_t x[3])
{
    const volatile double a = pg_f64_of(x[0]), b = pg_f64_of(x[1]), c = pg_f64_of(x[2]);
    fesetround(processor_modes[mode]);
    r->add = a + b;
    r->mul = a * b;
    r->div = a / b;
    r->sqrt = sqrt(a);
    r->fma = fma(a, b, c);
    fesetround(FE_TONEAREST);
}

static void same_f64(uint64_t ours, double processor)
{
    if (isnan(processor))
        assert_true(nan64(ours));
    else
        assert_int_equal(ours, pg_bits_of_f64(processor));
}

static void f64_agrees_with_the_processor(void **state)
{
    (void)state;
    for (int i = 0; i < 300000; i++) {
        const uint64_t x[3] = {random_f64(), random_f64(), random_f64()};
        const int mode = i & 3;
        const pg_round round = (pg_round)mode;
        f64_answers r;
        ask_processor_f64(&r, mode, x);
        same_f64(pg_f64_add(x[0], x[1], round), r.add);
        same_f64(pg_f64_mul(x[0], x[1], round), r.mul);
        same_f64(pg_f64_div(x[0], x[1], round), r.div);
        same_f64(pg_f64_sqrt(x[0], round), r.sqrt);
        same_f64(pg_f64_fma(x[0], x[1], x[2], round), r.fma);
    }
}

static void lanes_agree_with_scalars(void **state)
{
    (void)state;
    uint32_t a[37], b[37], c[37], d[37];
    for (int ftz = 0; ftz < 2; ftz++) {
        const pg_float_mode m = {PG_ROUND_RN, ftz, false};
        for (int round = 0; round < 500; round++) {
            for (int i = 0; i < 37; i++) {
                a[i] = random_f32();
                b[i] = random_f32();
                c[i] = random_f32();
            }
            pg_f32_add_lanes(d, a, b, 37, ftz);
            for (int i = 0; i < 37; i++)
                assert_int_equal(d[i], pg_f32_add(a[i], b[i], m));
            pg_f32_mul_lanes(d, a, b, 37, ftz);
            for (int i = 0; i < 37; i++)
                assert_int_equal(d[i], pg_f32_mul(a[i], b[i], m));
            pg_f32_fma_lanes(d, (pg_fma_operands){a, b, c}, 37, ftz);
            for (int i = 0; i < 37; i++)
                assert_int_equal(d[i], pg_f32_fma(a[i], b[i], c[i], m));
        }
    }
}

static void nan_flush_and_clamp(void **state)
{
    (void)state;
    const pg_float_mode plain = {0}, ftz = {.ftz = true}, sat = {.sat = true};
    const uint32_t nan = 0xffc12345, inf = 0x7f800000, one = 0x3f800000;
    assert_int_equal(pg_f32_add(nan, one, plain), 0x7fffffff);
    assert_int_equal(pg_f32_add(inf, inf | 1u << 31, plain), 0x7fffffff);
    assert_int_equal(pg_f32_mul(inf, 0, plain), 0x7fffffff);
    assert_int_equal(pg_f32_sqrt(0x80000000u, plain), 0x80000000u);
    assert_int_equal(pg_f32_sqrt(0xbf800000u, plain), 0x7fffffff);
    assert_int_equal(pg_f32_add(1, 1, ftz), 0);
    assert_int_equal(pg_f32_mul(0x80800000u, 0x3f000000, ftz), 0x80000000u);
    assert_int_equal(pg_f32_add(one, one, sat), one);
    assert_int_equal(pg_f32_sub(0, one, sat), 0);
    assert_int_equal(pg_f32_add(nan, one, sat), 0);
    assert_int_equal(pg_f64_add(0x7ff0000000000001u, 0x7ff8000000000002u, PG_ROUND_RN),
                     0x7ff8000000000002u);
    assert_int_equal(pg_f64_sub(0x3ff0000000000000u, 0x7ff8000000000002u, PG_ROUND_RN),
                     0x7ff8000000000002u);
    assert_int_equal(pg_f64_mul(0x7ff0000000000000u, 0, PG_ROUND_RZ), 0xfff8000000000000u);
    assert_int_equal(pg_f64_mul(0x7ff0000000000000u, 0, PG_ROUND_RN), 0xfff8000000000000u);
    const pg_minmax_mode min = {0}, max = {.max = true}, min_nan = {.nan = true},
                         max_xor = {.max = true, .xorsign_abs = true};
    assert_int_equal(pg_f32_minmax(0, 0x80000000u, min), 0x80000000u);
    assert_int_equal(pg_f32_minmax(0x80000000u, 0, max), 0);
    assert_int_equal(pg_f32_minmax(nan, one, min), one);
    assert_int_equal(pg_f32_minmax(nan, nan, min), 0x7fffffff);
    assert_int_equal(pg_f32_minmax(nan, one, min_nan), 0x7fffffff);
    assert_int_equal(pg_f32_minmax(0xc0000000u, one, max_xor), 0xc0000000u);
    assert_true(nan32(pg_f32_rsqrt_approx(0xbf800000u, false)));
    assert_int_equal(pg_f32_rcp_approx(0x80000000u, false), 0xff800000u);
    assert_int_equal(pg_f32_lg2_approx(0, false), 0xff800000u);
    assert_int_equal(pg_f32_ex2_approx(0xff800000u, false), 0);
    assert_int_equal(pg_f32_ex2_approx(0x40400000, false), 0x41000000);
}

/* A host that set flush-to-zero for itself must not change our results. */
static void environment_is_shielded(void **state)
{
    (void)state;
    fenv_t saved;
    fesetround(FE_UPWARD);
    pg_float_env_enter(&saved);
    const uint32_t third = pg_f32_div(0x3f800000, 0x40400000, (pg_float_mode){0});
    pg_float_env_leave(&saved);
    assert_int_equal(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    assert_int_equal(third, 0x3eaaaaab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_agrees_with_the_processor),
        cmocka_unit_test(f64_agrees_with_the_processor),
        cmocka_unit_test(lanes_agree_with_scalars),
        cmocka_unit_test(nan_flush_and_clamp),
        cmocka_unit_test(environment_is_shielded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
