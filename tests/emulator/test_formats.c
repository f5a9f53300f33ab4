/* Number formats: decoding against the definition, rounding against a search among all values of
 * the format. */
#include "test.h"

#include "exact.h"

#include "emulator/number/convert.h"
#include "emulator/number/formats.h"
#include "emulator/number/half_ops.h"

#include <math.h>

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* The definition, with powers made by repeated multiplication. */
static double power_of_two(int e)
{
    double r = 1;
    for (; e > 0; e--)
        r *= 2;
    for (; e < 0; e++)
        r /= 2;
    return r;
}

typedef struct small_format {
    pg_format_id id;
    int bits, exp_bits, man_bits, bias;
    int finite_positive; /* number of non-negative finite codes */
} small_format;

static const small_format small_formats[] = {
    {PG_FMT_F16, 16, 5, 10, 15, 0x7c00}, {PG_FMT_BF16, 16, 8, 7, 127, 0x7f80},
    {PG_FMT_E4M3, 8, 4, 3, 7, 0x7f},     {PG_FMT_E5M2, 8, 5, 2, 15, 0x7c},
    {PG_FMT_E2M3, 6, 2, 3, 1, 0x20},     {PG_FMT_E3M2, 6, 3, 2, 3, 0x20},
    {PG_FMT_E2M1, 4, 2, 1, 1, 0x8},
};
enum { SMALL_FORMATS = sizeof small_formats / sizeof small_formats[0] };

/* Also past the last code: the value that one more exponent would give. */
static double defined_magnitude(const small_format *f, int code)
{
    const int man = code & ((1 << f->man_bits) - 1);
    const int exp = code >> f->man_bits;
    const double unit = power_of_two((exp ? exp : 1) - f->bias - f->man_bits);
    return (man + (exp ? 1 << f->man_bits : 0)) * unit;
}

static double defined_value(const small_format *f, int code)
{
    const int sign = 1 << (f->bits - 1);
    const double v = defined_magnitude(f, code & (sign - 1));
    return code & sign ? -v : v;
}

static void decoding_follows_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL_FORMATS; i++) {
        const small_format *f = &small_formats[i];
        const int sign = 1 << (f->bits - 1);
        for (int code = 0; code < 1 << f->bits; code++) {
            const double v = pg_decode(f->id, (uint64_t)code);
            if ((code & (sign - 1)) < f->finite_positive)
                assert_true(v == defined_value(f, code) && !signbit(v) == !(code & sign));
            else if ((code & (sign - 1)) == f->finite_positive && f->id != PG_FMT_E4M3)
                assert_true(isinf(v) && !signbit(v) == !(code & sign));
            else
                assert_true(isnan(v));
        }
    }
    for (int code = 0; code < 255; code++)
        assert_true(pg_decode(PG_FMT_UE8M0, (uint64_t)code) == power_of_two(code - 127));
    assert_true(isnan(pg_decode(PG_FMT_UE8M0, 255)));
}

/* The nearest codes found by search, the choice made with exact numbers. */
static uint64_t searched_encoding(const small_format *f, double x, char mode)
{
    const int sign = signbit(x) ? 1 << (f->bits - 1) : 0;
    const double magnitude = fabs(x);
    int lo = 0, hi = f->finite_positive; /* value(lo) <= |x| < value(hi) */
    if (f->id == PG_FMT_E4M3)
        hi = 0x7f; /* where 480 would be */
    const double limit = defined_magnitude(f, hi);
    if (magnitude >= limit)
        return (uint64_t)(sign | (f->finite_positive - 1));
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (defined_magnitude(f, mid) <= magnitude)
            lo = mid;
        else
            hi = mid;
    }
    char folded = mode; /* directed modes on the magnitude */
    if (mode == 'm' || mode == 'p')
        folded = (mode == 'm') == (sign != 0) ? 'p' : 'z';
    const exact e = exact_of_double(magnitude);
    const bool up =
        exact_rounds_to_high(e, exact_of_double(defined_magnitude(f, lo)),
                             exact_of_double(defined_magnitude(f, hi)), folded, !(lo & 1));
    const int code = up ? hi : lo;
    return (uint64_t)(sign | (code >= f->finite_positive ? f->finite_positive - 1 : code));
}

static void check_encoding(const small_format *f, double x)
{
    static const char letters[] = "nzmpa";
    for (int round = PG_ROUND_RN; round <= PG_ROUND_RNA; round++) {
        const pg_encode_mode mode = {.round = (pg_round)round, .satfinite = true};
        assert_int_equal(pg_encode(f->id, x, mode), searched_encoding(f, x, letters[round]));
    }
}

static void encoding_finds_the_right_neighbour(void **state)
{
    (void)state;
    for (int i = 0; i < SMALL_FORMATS; i++) {
        const small_format *f = &small_formats[i];
        const int step = f->bits == 16 ? 7 : 1;
        for (int code = 0; code < f->finite_positive; code += step) {
            const double v = defined_magnitude(f, code), next = defined_magnitude(f, code + 1);
            const double middle = (v + next) / 2;
            const double points[] = {v,
                                     middle,
                                     nextafter(middle, 0),
                                     nextafter(middle, 1e300),
                                     nextafter(next, 0),
                                     v == 0 ? 0x1p-600 : nextafter(v, 1e300)};
            for (int k = 0; k < 6; k++) {
                check_encoding(f, points[k]);
                check_encoding(f, -points[k]);
            }
        }
        for (int k = 0; k < 2000; k++)
            check_encoding(f, (double)pg_f32_of((uint32_t)(next_random() % 0x7f800000u)));
        check_encoding(f, 0x1p-149);
        check_encoding(f, 0x1p-500);
    }
}

static void encoding_and_decoding_round_trip(void **state)
{
    (void)state;
    const pg_encode_mode mode = {.round = PG_ROUND_RN};
    for (int i = 0; i < SMALL_FORMATS; i++) {
        const small_format *f = &small_formats[i];
        for (int code = 0; code < 1 << f->bits; code++) {
            const double v = pg_decode(f->id, (uint64_t)code);
            const uint64_t expected = isnan(v) ? pg_formats[f->id].canonical_nan : (uint64_t)code;
            assert_int_equal(pg_encode(f->id, v, mode), expected);
        }
    }
}

static void specials_follow_ptx(void **state)
{
    (void)state;
    const pg_encode_mode plain = {.round = PG_ROUND_RN};
    const pg_encode_mode sat = {.round = PG_ROUND_RN, .satfinite = true};
    const pg_encode_mode relu = {.round = PG_ROUND_RN, .relu = true};
    const pg_encode_mode rz = {.round = PG_ROUND_RZ}, rm = {.round = PG_ROUND_RM};
    assert_int_equal(pg_encode(PG_FMT_F16, 65520, plain), 0x7c00);
    assert_int_equal(pg_encode(PG_FMT_F16, nextafter(65520, 0), plain), 0x7bff);
    assert_int_equal(pg_encode(PG_FMT_F16, 1e9, rz), 0x7bff);
    assert_int_equal(pg_encode(PG_FMT_F16, -1e9, rm), 0xfc00);
    assert_int_equal(pg_encode(PG_FMT_F16, INFINITY, rz), 0x7c00);
    assert_int_equal(pg_encode(PG_FMT_F16, -INFINITY, sat), 0xfbff);
    assert_int_equal(pg_encode(PG_FMT_E4M3, 464, sat), 0x7e);
    assert_int_equal(pg_encode(PG_FMT_E4M3, 1e9, plain), 0x7f);
    assert_int_equal(pg_encode(PG_FMT_E4M3, NAN, sat), 0x7f);
    assert_int_equal(pg_encode(PG_FMT_E5M2, -1e9, sat), 0xfb);
    assert_int_equal(pg_encode(PG_FMT_E5M2, -1e9, plain), 0xfc);
    assert_int_equal(pg_encode(PG_FMT_E2M1, NAN, sat), 0x7);
    assert_int_equal(pg_encode(PG_FMT_E2M1, -100, sat), 0xf);
    assert_int_equal(pg_encode(PG_FMT_E3M2, -INFINITY, sat), 0x3f);
    assert_int_equal(pg_encode(PG_FMT_TF32, 1 + 0x1p-11, (pg_encode_mode){.round = PG_ROUND_RNA}),
                     0x3f802000);
    assert_int_equal(pg_encode(PG_FMT_TF32, 1 + 0x1p-11, plain), 0x3f800000);
    assert_int_equal(pg_encode(PG_FMT_BF16, -3, relu), 0);
    assert_int_equal(pg_encode(PG_FMT_BF16, -INFINITY, relu), 0);
    assert_int_equal(pg_encode(PG_FMT_BF16, NAN, relu), 0x7fff);
    assert_int_equal(pg_encode(PG_FMT_UE8M0, 3, rz), 128);
    assert_int_equal(pg_encode(PG_FMT_UE8M0, 3, (pg_encode_mode){.round = PG_ROUND_RP}), 129);
    assert_int_equal(pg_encode(PG_FMT_UE8M0, 4, (pg_encode_mode){.round = PG_ROUND_RP}), 129);
    assert_int_equal(pg_encode(PG_FMT_UE8M0, 0x1p-149, (pg_encode_mode){.round = PG_ROUND_RP}), 0);
    assert_int_equal(pg_encode(PG_FMT_UE8M0, NAN, rz), 255);
}

static void stochastic_rounding_compares_the_discarded_bits(void **state)
{
    (void)state;
    /* 1 + 3/8 of a bf16 unit, random bits of 16: rounds up from 5/8 of the range on. */
    const double x = 1 + 0x1p-7 * 0.375;
    for (uint32_t r = 0; r < 0x10000; r += 0x100) {
        const pg_encode_mode mode = {.round = PG_ROUND_RS, .random = r, .random_bits = 16};
        assert_int_equal(pg_encode(PG_FMT_BF16, x, mode), r >= 0xa000 ? 0x3f81 : 0x3f80);
        assert_int_equal(pg_encode(PG_FMT_BF16, 1, mode), 0x3f80);
    }
}

static void fast_half_conversions_agree_with_the_table(void **state)
{
    (void)state;
    const pg_encode_mode rn = {.round = PG_ROUND_RN};
    for (uint32_t code = 0; code < 0x10000; code++) {
        const double v = pg_decode(PG_FMT_F16, code);
        const float f = pg_f32_of_f16((uint16_t)code);
        assert_true(isnan(v) ? isnan(f) : (double)f == v && !signbit(f) == !signbit(v));
    }
    for (uint64_t high = 0; high < 0x10000; high++) {
        static const uint32_t lows[] = {0,      1,      0xfff,  0x1000, 0x1001, 0x1fff,
                                        0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
        for (size_t k = 0; k < sizeof lows / sizeof lows[0]; k++) {
            const float f = pg_f32_of((uint32_t)high << 16 | lows[k]);
            assert_int_equal(pg_f16_of_f32(f), pg_encode(PG_FMT_F16, (double)f, rn));
            assert_int_equal(pg_bf16_of_f32(f), pg_encode(PG_FMT_BF16, (double)f, rn));
        }
    }
}

/* The 16-bit code of an exact sum, by search. */
static uint16_t searched_half(const small_format *f, exact x, bool zero_negative)
{
    const bool negative = exact_sign(&x) < 0;
    const uint16_t sign = negative ? 0x8000 : 0;
    if (exact_sign(&x) == 0)
        return zero_negative ? 0x8000 : 0;
    const exact magnitude = negative ? exact_neg(x) : x;
    int lo = 0, hi = f->finite_positive;
    if (exact_cmp(magnitude, exact_of_double(defined_magnitude(f, hi))) >= 0)
        return sign | (uint16_t)f->finite_positive;
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (exact_cmp(exact_of_double(defined_magnitude(f, mid)), magnitude) <= 0)
            lo = mid;
        else
            hi = mid;
    }
    const bool up = exact_rounds_to_high(magnitude, exact_of_double(defined_magnitude(f, lo)),
                                         exact_of_double(defined_magnitude(f, hi)), 'n', !(lo & 1));
    return sign | (uint16_t)(up ? hi : lo);
}

static uint16_t adversarial_half(void)
{
    static const uint16_t edges[] = {0,      1,      2,      0x3ff,  0x400,  0x401,  0x3c00, 0x3c01,
                                     0x3bff, 0x7bff, 0x3f80, 0x3f7f, 0x3f81, 0x7f7f, 0x80,   0x7f};
    const uint64_t r = next_random();
    const uint16_t v = r & 1 ? edges[r >> 8 & 15] : (uint16_t)(r >> 16);
    return v ^ (uint16_t)(r >> 40 & 0x8000);
}

static void half_arithmetic_rounds_the_exact_result(void **state)
{
    (void)state;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        const small_format *f = &small_formats[bf16];
        const pg_half_mode m = {.bf16 = bf16};
        for (int i = 0; i < 20000; i++) {
            const uint16_t x[3] = {adversarial_half(), adversarial_half(), adversarial_half()};
            bool finite = true;
            for (int k = 0; k < 3; k++)
                finite &= (x[k] & 0x7fff) < f->finite_positive;
            if (!finite)
                continue;
            const double a = defined_value(f, x[0]), b = defined_value(f, x[1]),
                         c = defined_value(f, x[2]);
            const bool both_negative = (x[0] & x[1]) >> 15, product_negative = (x[0] ^ x[1]) >> 15;
            const exact ea = exact_of_double(a), eb = exact_of_double(b), p = exact_product(a, b);
            assert_int_equal(pg_half(PG_HALF_ADD, x, m),
                             searched_half(f, exact_add(ea, eb), both_negative));
            assert_int_equal(
                pg_half(PG_HALF_SUB, x, m),
                searched_half(f, exact_add(ea, exact_neg(eb)), x[0] >> 15 && !(x[1] >> 15)));
            assert_int_equal(pg_half(PG_HALF_MUL, x, m), searched_half(f, p, product_negative));
            assert_int_equal(
                pg_half(PG_HALF_FMA, x, m),
                searched_half(f, exact_add(p, exact_of_double(c)), product_negative && x[2] >> 15));
        }
    }
}

static void half_fma_does_not_round_twice(void **state)
{
    (void)state;
    /* bf16: 1 * (1 + 2^-7) ... a product exactly half way, and an addend too small for a double to
     * see. */
    const uint16_t up[3] = {0x3f81, 0x3fc0, 0x0001}, down[3] = {0x3f81, 0x3fc0, 0x8001};
    /* 1.0078125 * 1.5 = 1.51171875: half way between 1.5078125 and 1.515625. */
    const pg_half_mode m = {.bf16 = true};
    assert_int_equal(pg_half(PG_HALF_FMA, up, m), 0x3fc2);
    assert_int_equal(pg_half(PG_HALF_FMA, down, m), 0x3fc1);
}

static void half_modifiers(void **state)
{
    (void)state;
    const pg_half_mode f16 = {0}, nan = {.nan = true}, sat = {.sat = true}, relu = {.relu = true},
                       ftz = {.ftz = true}, xorsign = {.xorsign_abs = true};
    const uint16_t zeros[3] = {0x8000, 0, 0}, nan_one[3] = {0x7e01, 0x3c00, 0};
    assert_int_equal(pg_half(PG_HALF_MIN, zeros, f16), 0x8000);
    assert_int_equal(pg_half(PG_HALF_MAX, zeros, f16), 0);
    assert_int_equal(pg_half(PG_HALF_MIN, nan_one, f16), 0x3c00);
    assert_int_equal(pg_half(PG_HALF_MIN, nan_one, nan), 0x7fff);
    assert_int_equal(pg_half(PG_HALF_ADD, nan_one, f16), 0x7fff);
    assert_int_equal(pg_half(PG_HALF_ADD, nan_one, sat), 0);
    const uint16_t mixed[3] = {0xc000, 0x3c00, 0}; /* -2, 1 */
    assert_int_equal(pg_half(PG_HALF_MIN, mixed, xorsign), 0xbc00);
    assert_int_equal(pg_half(PG_HALF_MAX, mixed, xorsign), 0xc000);
    const uint16_t fma[3] = {0xc000, 0x3c00, 0};
    assert_int_equal(pg_half(PG_HALF_FMA, fma, relu), 0);
    const uint16_t tiny[3] = {0x0001, 0x3c00, 0};
    assert_int_equal(pg_half(PG_HALF_MUL, tiny, ftz), 0);
    assert_int_equal(pg_half(PG_HALF_MUL, tiny, f16), 1);
    const uint16_t big[3] = {0x4400, 0x3c00, 0};
    assert_int_equal(pg_half(PG_HALF_MUL, big, sat), 0x3c00);
    const uint32_t pairs[3] = {0x3c004000, 0x40003c00, 0};
    assert_int_equal(pg_half2(PG_HALF_ADD, pairs, f16), 0x42004200);
}

static const pg_scalar s8 = {.is_signed = true, .bits = 8}, u8 = {.bits = 8},
                       s32 = {.is_signed = true, .bits = 32}, u32 = {.bits = 32},
                       s64 = {.is_signed = true, .bits = 64}, u64 = {.bits = 64},
                       u16 = {.bits = 16}, f16 = {.is_float = true, .format = PG_FMT_F16},
                       f32 = {.is_float = true, .format = PG_FMT_F32},
                       f64 = {.is_float = true, .format = PG_FMT_F64};

static void conversions_follow_ptx(void **state)
{
    (void)state;
    const pg_convert_mode rzi = {.round = PG_ROUND_RZ, .to_integral = true};
    const pg_convert_mode rni = {.round = PG_ROUND_RN, .to_integral = true};
    const pg_convert_mode rmi = {.round = PG_ROUND_RM, .to_integral = true};
    const pg_convert_mode plain = {0}, sat = {.sat = true};
    assert_int_equal(pg_convert(s32, f32, pg_bits_of_f32(-1.9f), rzi), (uint64_t)-1);
    assert_int_equal(pg_convert(s32, f32, pg_bits_of_f32(2.5f), rni), 2);
    assert_int_equal(pg_convert(s32, f32, pg_bits_of_f32(-0.1f), rmi), (uint64_t)-1);
    assert_int_equal(pg_convert(u32, f32, pg_bits_of_f32(-5), rzi), 0);
    assert_int_equal(pg_convert(u32, f32, pg_bits_of_f32(1e20f), rzi), 0xffffffffu);
    assert_int_equal(pg_convert(s8, f32, pg_bits_of_f32(300), rzi), 127);
    assert_int_equal(pg_convert(s8, f32, pg_bits_of_f32(-300), rzi), (uint64_t)-128);
    assert_int_equal(pg_convert(s32, f32, 0x7fc00000, rzi), 0);
    assert_int_equal(pg_convert(s64, f32, 0x7fc00000, rzi), 1ull << 63);
    assert_int_equal(pg_convert(u32, f64, 0x7ff8000000000000u, rzi), 1u << 31);
    assert_int_equal(pg_convert(s64, f64, pg_bits_of_f64(9.3e18), rzi), INT64_MAX);
    assert_int_equal(pg_convert(u64, f64, pg_bits_of_f64(18446744073709549568.0), rzi),
                     18446744073709549568u);
    assert_int_equal(pg_convert(s32, s8, 0x80, plain), (uint64_t)-128);
    assert_int_equal(pg_convert(s8, s32, 200, plain), (uint64_t)-56);
    assert_int_equal(pg_convert(s8, s32, 200, sat), 127);
    assert_int_equal(pg_convert(u8, s32, (uint32_t)-3, sat), 0);
    assert_int_equal(pg_convert(u16, u32, 70000, sat), 65535);
    assert_int_equal(pg_convert(s64, u64, ~0ull, sat), INT64_MAX);
    assert_int_equal(pg_convert(f32, s32, (uint32_t)INT32_MIN, plain),
                     pg_bits_of_f32(-2147483648.0f));
    assert_int_equal(pg_convert(f32, u64, ~0ull, plain), pg_bits_of_f32(18446744073709551616.0f));
    assert_int_equal(pg_convert(f32, u64, ~0ull, (pg_convert_mode){.round = PG_ROUND_RZ}),
                     0x5f7fffff);
    assert_int_equal(pg_convert(f16, s32, 70000, plain), 0x7c00);
    assert_int_equal(pg_convert(f32, f16, 0x7e00, plain), 0x7fffffff);
    assert_int_equal(pg_convert(f64, f32, pg_bits_of_f32(1.5f), plain), pg_bits_of_f64(1.5));
    assert_int_equal(pg_convert(f32, f64, pg_bits_of_f64(1e300), plain), 0x7f800000);
    assert_int_equal(pg_convert(f32, f32, pg_bits_of_f32(2.5f), rni), pg_bits_of_f32(2));
    assert_int_equal(pg_convert(f32, f32, pg_bits_of_f32(-0.4f), rni), 0x80000000u);
    assert_int_equal(pg_convert(f32, f32, pg_bits_of_f32(-3), sat), 0);
    assert_int_equal(pg_convert(f32, f32, pg_bits_of_f32(7), sat), pg_bits_of_f32(1));
    assert_int_equal(pg_convert(f32, f32, 0x7fc00000, sat), 0);
    assert_int_equal(pg_convert(f32, f32, 0x80000001u, (pg_convert_mode){.ftz = true}),
                     0x80000000u);
}

/* Integers to f32 against the processor, which rounds to nearest the same way. */
static void integer_conversions_agree_with_the_processor(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        const uint64_t v = next_random() >> (next_random() & 63);
        assert_int_equal(pg_convert(f32, u64, v, (pg_convert_mode){0}), pg_bits_of_f32((float)v));
        assert_int_equal(pg_convert(f64, s64, v, (pg_convert_mode){0}),
                         pg_bits_of_f64((double)(int64_t)v));
        const double d = pg_f64_of(next_random());
        if (fabs(d) < 0x1p63) {
            const pg_convert_mode rzi = {.round = PG_ROUND_RZ, .to_integral = true};
            assert_int_equal(pg_convert(s64, f64, pg_bits_of_f64(d), rzi), (uint64_t)(int64_t)d);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_follows_the_definition),
        cmocka_unit_test(encoding_finds_the_right_neighbour),
        cmocka_unit_test(encoding_and_decoding_round_trip),
        cmocka_unit_test(specials_follow_ptx),
        cmocka_unit_test(stochastic_rounding_compares_the_discarded_bits),
        cmocka_unit_test(fast_half_conversions_agree_with_the_table),
        cmocka_unit_test(half_arithmetic_rounds_the_exact_result),
        cmocka_unit_test(half_fma_does_not_round_twice),
        cmocka_unit_test(half_modifiers),
        cmocka_unit_test(conversions_follow_ptx),
        cmocka_unit_test(integer_conversions_agree_with_the_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
