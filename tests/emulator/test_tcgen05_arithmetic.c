/* The tile engines of tcgen05.mma: `exact` against the model worked out in long fixed-point
 * numbers, `fast` against a plain float loop, integers against 64-bit sums; every pair of
 * operand types, block scales, random and adversarial operands. */
#include "test.h"

#include "exact.h"

#include "emulator/tensor/tcgen05_tile.h"

#include <math.h>

enum { M = 8, N = 24, K = PG_TCGEN05_MAX_K };

static uint64_t random_state = 0x853c49e6748fea9bu;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static uint32_t a_words[M * K], b_words[N * K], d_words[M][N], before[M][N];
static uint32_t *d_rows[M];
static uint8_t sfa[M * 4], sfb[N * 4];
static uint8_t scratch[PG_MMA_SCRATCH_BYTES] __attribute__((aligned(64)));

/* ---- operands ---- */

typedef enum flavour { NEAR_ONE, ANY_FINITE, ANY_BITS, CANCELLING, SUBNORMAL, FLAVOURS } flavour;

/* Bits of a number, at the bottom of a word (tf32: above 13 bits of noise). */
static uint32_t make_number(pg_format_id id, flavour how)
{
    const pg_format *f = &pg_formats[id];
    const uint32_t man_bits = (uint32_t)f->man_bits, top = (1u << f->exp_bits) - 1;
    const uint64_t r = next_random();
    uint32_t man = (uint32_t)r & ((1u << man_bits) - 1), exp = (uint32_t)(r >> 20) & top;
    switch (how) {
    case NEAR_ONE:
        exp = (uint32_t)f->bias - (r >> 50 & 1);
        break;
    case ANY_FINITE:
        exp -= exp == top && f->has_nan;
        break;
    case CANCELLING: /* few values, both signs */
        man = r >> 60 & 1 ? 0 : (1u << man_bits) - 1;
        exp = (uint32_t)f->bias + (uint32_t)(r >> 50 & 1);
        break;
    case SUBNORMAL:
        exp = r >> 50 & 3 ? 0 : exp & 1;
        break;
    default:
        break;
    }
    const uint32_t bits =
        (uint32_t)(r >> 40 & 1) << (man_bits + (uint32_t)f->exp_bits) | exp << man_bits | man;
    return id == PG_FMT_TF32 ? bits << 13 | (uint32_t)(r >> 10 & 0x1fff) : bits;
}

/* Into the container of its format, with noise above a narrow number. */
static void put(uint32_t *words, pg_format_id id, size_t i, uint32_t bits)
{
    const int width = pg_formats[id].bits;
    if (width == 32)
        words[i] = bits;
    else if (width == 16)
        ((uint16_t *)words)[i] = (uint16_t)bits;
    else
        ((uint8_t *)words)[i] = (uint8_t)(bits | (uint32_t)next_random() << width);
}

static double get(const void *words, pg_format_id id, size_t i)
{
    const int width = pg_formats[id].bits;
    if (width == 32)
        return pg_decode(id, ((const uint32_t *)words)[i] & 0xffffe000u);
    if (width == 16)
        return pg_decode(id, ((const uint16_t *)words)[i]);
    return pg_decode(id, ((const uint8_t *)words)[i] & ((1u << width) - 1));
}

static uint32_t make_d(flavour how, pg_mma_result result)
{
    const uint64_t r = next_random();
    if (result == PG_MMA_D_F16)
        return make_number(PG_FMT_F16, how);
    return how == ANY_BITS || result == PG_MMA_D_S32 ? (uint32_t)r : make_number(PG_FMT_F32, how);
}

static uint8_t make_scale(pg_scale_type type, flavour how)
{
    const uint64_t r = next_random();
    if (how == ANY_BITS)
        return (uint8_t)r;
    if (type == PG_SCALE_UE4M3)
        return (uint8_t)(how == SUBNORMAL ? r & 7 : 0x38 + r % 24);
    return how == ANY_FINITE ? (uint8_t)(r % 255) : (uint8_t)(120 + r % 12);
}

static void fill(pg_tcgen05_tile *t, flavour how)
{
    t->m = M;
    t->n = N;
    for (size_t i = 0; i < M * t->k; i++)
        put(a_words, t->a_format, i, make_number(t->a_format, how));
    for (size_t i = 0; i < N * t->k; i++)
        put(b_words, t->b_format, i, make_number(t->b_format, how));
    for (size_t i = 0; i < sizeof sfa; i++)
        sfa[i] = make_scale(t->scale_type, how);
    for (size_t i = 0; i < sizeof sfb; i++)
        sfb[i] = make_scale(t->scale_type, how);
    for (uint32_t row = 0; row < M; row++) {
        for (uint32_t i = 0; i < N; i++)
            d_words[row][i] = before[row][i] = make_d(how, t->result);
        d_rows[row] = row == 5 ? NULL : d_words[row];
    }
    t->a = a_words;
    t->b = b_words;
    t->sfa = sfa;
    t->sfb = sfb;
    t->d = d_rows;
}

/* ---- the model ---- */

static int exponent_of(double x, int minimum)
{
    int e = 0;
    if (x == 0)
        return -100000;
    frexp(x, &e);
    return e - 1 < minimum ? minimum : e - 1;
}

static int format_exponent(pg_format_id id, double x)
{
    return exponent_of(x, 1 - pg_formats[id].bias);
}

static double scale_of(const pg_tcgen05_tile *t, const uint8_t *scales, uint32_t row, uint32_t k)
{
    if (!t->scale_block)
        return 1;
    const uint8_t bits = scales[row * (t->k / t->scale_block) + k / t->scale_block];
    return t->scale_type == PG_SCALE_UE8M0 ? pg_decode(PG_FMT_UE8M0, bits)
                                           : pg_decode(PG_FMT_E4M3, bits & 0x7f);
}

static int scale_exponent(const pg_tcgen05_tile *t, double scale)
{
    return exponent_of(scale, t->scale_type == PG_SCALE_UE4M3 ? -6 : -200);
}

/* Terms of one output before alignment. */
typedef struct terms {
    exact value[K + 1];
    int exponent[K + 1], count;
    double special;
} terms;

static void add_term(terms *x, exact value, int exponent)
{
    x->value[x->count] = value;
    x->exponent[x->count++] = exact_sign(&value) ? exponent : -100000;
}

/* products of doubles with few bits; the scale is a power of two, or has four bits. */
static exact scaled_product(double a, double b, double scale)
{
    return exact_product(a * b, scale);
}

static void add_products(const pg_tcgen05_tile *t, uint32_t row, uint32_t col, terms *x)
{
    for (uint32_t k = 0; k < t->k; k++) {
        const double a = get(t->a, t->a_format, row * t->k + k) * (t->negate ? -1 : 1);
        const double b = get(t->b, t->b_format, col * t->k + k);
        const double sa = scale_of(t, sfa, row, k), sb = scale_of(t, sfb, col, k);
        const double all = a * b * sa * sb;
        if (!isfinite(all))
            x->special += all;
        else
            add_term(x, scaled_product(a, b, sa * sb),
                     format_exponent(t->a_format, a) + format_exponent(t->b_format, b) +
                         scale_exponent(t, sa) + scale_exponent(t, sb));
    }
}

static void add_groups(const pg_tcgen05_tile *t, uint32_t row, uint32_t col, terms *x)
{
    for (uint32_t k = 0; k < t->k; k += 16) {
        const double sa = scale_of(t, sfa, row, k), sb = scale_of(t, sfb, col, k);
        double sum = 0;
        for (uint32_t i = k; i < k + 16; i++)
            sum += get(t->a, t->a_format, row * t->k + i) * get(t->b, t->b_format, col * t->k + i);
        if (isnan(sa * sb))
            x->special = (double)NAN;
        else
            add_term(x, exact_product(t->negate ? -sum : sum, sa * sb),
                     scale_exponent(t, sa) + scale_exponent(t, sb));
    }
}

static uint32_t rounded(const pg_tcgen05_tile *t, exact sum)
{
    if (t->result == PG_MMA_D_F16) {
        const pg_encode_mode rn = {.round = PG_ROUND_RN};
        const uint32_t bits = (uint32_t)pg_encode(PG_FMT_F16, exact_to_double(sum), rn);
        return bits == 0x8000 ? 0 : bits;
    }
    if (exact_sign(&sum) == 0)
        return 0;
    const int top = exact_top(sum);
    if (top > 127)
        return exact_sign(&sum) < 0 ? 0xff800000u : 0x7f800000u;
    const double v = exact_to_double(exact_truncate(sum, (top < -126 ? -126 : top) - 23));
    return v == 0 ? 0 : pg_bits_of_f32((float)v);
}

static uint32_t model(const pg_tcgen05_tile *t, uint32_t row, uint32_t col)
{
    static terms x;
    const bool half = t->result == PG_MMA_D_F16, fp4 = t->scale_block && t->scale_block < t->k;
    const double d = t->zero_d ? 0 : pg_decode(half ? PG_FMT_F16 : PG_FMT_F32, before[row][col]);
    x.count = 0;
    x.special = 0;
    if (isfinite(d))
        add_term(&x, exact_of_double(ldexp(d, -(int)t->scale_d)),
                 exponent_of(d, half ? -14 : -126) - (int)t->scale_d);
    else
        x.special = d;
    if (fp4)
        add_groups(t, row, col, &x);
    else
        add_products(t, row, col, &x);
    if (isnan(x.special))
        return half ? 0x7fff : 0x7fffffff;
    if (x.special != 0)
        return half ? (x.special < 0 ? 0xfc00 : 0x7c00) : pg_bits_of_f32((float)x.special);
    int largest = -100000;
    for (int i = 0; i < x.count; i++)
        largest = x.exponent[i] > largest ? x.exponent[i] : largest;
    exact sum = exact_of(false, 0, 0);
    for (int i = 0; i < x.count && largest > -100000; i++)
        sum = exact_add(sum, exact_truncate(x.value[i], largest - (fp4 ? 35 : 25)));
    return rounded(t, sum);
}

static void check_exact(pg_tcgen05_tile *t, flavour how)
{
    fill(t, how);
    pg_tcgen05_exact(t, scratch);
    for (uint32_t row = 0; row < M; row++)
        for (uint32_t col = 0; col < N; col++) {
            const uint32_t want = d_rows[row] ? model(t, row, col) : before[row][col];
            if (d_words[row][col] != want)
                fail_msg("%s x %s, flavour %d, (%u, %u): D was %08x, is %08x, should be %08x",
                         pg_formats[t->a_format].name, pg_formats[t->b_format].name, (int)how, row,
                         col, before[row][col], d_words[row][col], want);
        }
}

/* Flags that change from tile to tile. */
static void vary(pg_tcgen05_tile *t, int round)
{
    t->negate = round & 1;
    t->zero_d = round % 3 == 2;
}

static const pg_format_id wide[] = {PG_FMT_F16, PG_FMT_BF16, PG_FMT_TF32};
static const pg_format_id narrow[] = {PG_FMT_E4M3, PG_FMT_E5M2, PG_FMT_E2M3, PG_FMT_E3M2,
                                      PG_FMT_E2M1};
enum { WIDE = 3, NARROW = 5 };

static void exact_follows_the_model(void **state)
{
    (void)state;
    for (int i = 0; i < WIDE; i++)
        for (int round = 0; round < 20; round++) {
            pg_tcgen05_tile t = {
                .k = wide[i] == PG_FMT_TF32 ? 8 : 16, .a_format = wide[i], .b_format = wide[i]};
            t.result = wide[i] == PG_FMT_F16 && round % 4 == 0 ? PG_MMA_D_F16 : PG_MMA_D_F32;
            t.scale_d = (uint32_t)(round % 5 ? 0 : round % 16);
            vary(&t, round);
            check_exact(&t, (flavour)(round % FLAVOURS));
        }
    for (int i = 0; i < NARROW * NARROW; i++)
        for (int round = 0; round < 5; round++) {
            pg_tcgen05_tile t = {
                .k = 32, .a_format = narrow[i / NARROW], .b_format = narrow[i % NARROW]};
            t.result = round % 4 ? PG_MMA_D_F32 : PG_MMA_D_F16;
            vary(&t, round);
            check_exact(&t, (flavour)(round % FLAVOURS));
        }
}

static void exact_scales_by_powers_of_two(void **state)
{
    (void)state;
    for (int i = 0; i < NARROW * NARROW; i++)
        for (int round = 0; round < 5; round++) {
            pg_tcgen05_tile t = {.k = 32,
                                 .a_format = narrow[i / NARROW],
                                 .b_format = narrow[i % NARROW],
                                 .result = PG_MMA_D_F32,
                                 .scale_block = 32};
            vary(&t, round);
            check_exact(&t, (flavour)(round % FLAVOURS));
        }
}

static void exact_sums_groups_of_16_of_4_bit_kinds(void **state)
{
    (void)state;
    for (int round = 0; round < 40; round++) {
        pg_tcgen05_tile t = {.k = 64,
                             .a_format = PG_FMT_E2M1,
                             .b_format = PG_FMT_E2M1,
                             .result = PG_MMA_D_F32,
                             .scale_block = round % 4 == 3 ? 32 : 16,
                             .scale_type = round & 1 ? PG_SCALE_UE8M0 : PG_SCALE_UE4M3};
        vary(&t, round / 2);
        check_exact(&t, (flavour)(round / 4 % FLAVOURS));
    }
}

/* ---- fast ---- */

static uint32_t float_loop(const pg_tcgen05_tile *t, uint32_t row, uint32_t col)
{
    const bool half = t->result == PG_MMA_D_F16;
    volatile float sum = t->zero_d ? 0
                         : half    ? pg_f32_of_f16((uint16_t)before[row][col])
                                   : pg_f32_of(before[row][col]);
    sum *= 1.0f / (float)(1u << t->scale_d);
    for (uint32_t k = 0; k < t->k; k++) {
        const float a = (float)(get(t->a, t->a_format, row * t->k + k) * scale_of(t, sfa, row, k));
        const float b = (float)(get(t->b, t->b_format, col * t->k + k) * scale_of(t, sfb, col, k));
        volatile float product = (t->negate ? -a : a) * b;
        sum += product;
    }
    return half ? pg_f16_of_f32(sum) : pg_bits_of_f32(sum);
}

static void check_fast(pg_tcgen05_tile *t, flavour how,
                       uint32_t (*want)(const pg_tcgen05_tile *, uint32_t, uint32_t))
{
    fill(t, how);
    pg_tcgen05_fast(t, scratch);
    for (uint32_t row = 0; row < M; row++)
        for (uint32_t col = 0; col < N; col++) {
            const uint32_t expected = d_rows[row] ? want(t, row, col) : before[row][col],
                           got = d_words[row][col];
            const bool nan =
                t->result == PG_MMA_D_F32 && isnan(pg_f32_of(expected)) && isnan(pg_f32_of(got));
            if (got != expected && !nan)
                fail_msg("%s x %s, (%u, %u): %08x, should be %08x", pg_formats[t->a_format].name,
                         pg_formats[t->b_format].name, row, col, got, expected);
        }
}

static void fast_is_a_float_loop(void **state)
{
    (void)state;
    static const flavour flavours[] = {NEAR_ONE, CANCELLING, SUBNORMAL};
    for (int round = 0; round < 12; round++) {
        pg_tcgen05_tile t = {
            .k = 16, .a_format = wide[round % WIDE], .b_format = wide[round % WIDE]};
        t.k = round % WIDE == 2 ? 8 : 16;
        t.scale_d = (uint32_t)round;
        t.result = round % WIDE == 0 && round & 1 ? PG_MMA_D_F16 : PG_MMA_D_F32;
        vary(&t, round);
        check_fast(&t, flavours[round % 3], float_loop);
    }
    for (int i = 0; i < NARROW * NARROW; i++) {
        pg_tcgen05_tile t = {
            .k = 32, .a_format = narrow[i / NARROW], .b_format = narrow[i % NARROW]};
        t.scale_block = i & 1 ? 32 : 0;
        vary(&t, i);
        check_fast(&t, flavours[i % 3], float_loop);
    }
    for (int round = 0; round < 6; round++) {
        pg_tcgen05_tile t = {
            .k = 64, .a_format = PG_FMT_E2M1, .b_format = PG_FMT_E2M1, .scale_block = 16};
        t.scale_type = round & 1 ? PG_SCALE_UE8M0 : PG_SCALE_UE4M3;
        check_fast(&t, flavours[round % 3], float_loop);
    }
}

/* Infinities and NaN come out the same way as in the exact engine. */
static void fast_keeps_special_values(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * NARROW * NARROW; i++) {
        pg_tcgen05_tile t = {
            .k = 32, .a_format = narrow[i / 2 / NARROW], .b_format = narrow[i / 2 % NARROW]};
        fill(&t, ANY_BITS);
        pg_tcgen05_fast(&t, scratch);
        for (uint32_t row = 0; row < M; row++)
            for (uint32_t col = 0; d_rows[row] && col < N; col++) {
                const float want = pg_f32_of(model(&t, row, col)),
                            got = pg_f32_of(d_words[row][col]);
                assert_int_equal(isnan(want) != 0, isnan(got) != 0);
                assert_true(!isinf(want) || want == got);
            }
    }
}

/* A scale of 2^127 against one of 2^-127: no float holds the scaled operand, yet the product is
 * harmless. */
static void fast_survives_extreme_scales(void **state)
{
    (void)state;
    pg_tcgen05_tile t = {
        .k = 32, .a_format = PG_FMT_E4M3, .b_format = PG_FMT_E4M3, .scale_block = 32};
    fill(&t, NEAR_ONE);
    memset(sfa, 254, sizeof sfa);
    memset(sfb, 0, sizeof sfb);
    pg_tcgen05_fast(&t, scratch);
    for (uint32_t col = 0; col < N; col++) {
        assert_int_equal(d_words[0][col], model(&t, 0, col));
        assert_true(isfinite(pg_f32_of(d_words[0][col])));
    }
}

/* ---- integers ---- */

static void integers_are_exact(void **state)
{
    (void)state;
    for (int round = 0; round < 32; round++) {
        pg_tcgen05_tile t = {.k = 32,
                             .integer = true,
                             .a_format = PG_FMT_E4M3, /* bytes */
                             .b_format = PG_FMT_E4M3,
                             .a_signed = round & 1,
                             .b_signed = round & 2,
                             .saturate = round & 4,
                             .zero_d = round & 8,
                             .result = PG_MMA_D_S32};
        fill(&t, ANY_BITS);
        for (uint32_t col = 0; col < N; col++) /* on the edge */
            before[1][col] = d_words[1][col] = col & 1 ? INT32_MAX - 3 : (uint32_t)INT32_MIN + 3;
        (round & 16 ? pg_tcgen05_exact : pg_tcgen05_fast)(&t, scratch);
        for (uint32_t row = 0; row < M; row++)
            for (uint32_t col = 0; d_rows[row] && col < N; col++) {
                int64_t sum = t.zero_d ? 0 : (int32_t)before[row][col];
                for (uint32_t k = 0; k < t.k; k++) {
                    const uint8_t a = ((uint8_t *)a_words)[row * t.k + k],
                                  b = ((uint8_t *)b_words)[col * t.k + k];
                    sum += (t.a_signed ? (int8_t)a : a) * (t.b_signed ? (int8_t)b : b);
                }
                if (t.saturate)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                assert_int_equal(d_words[row][col], (uint32_t)sum);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_follows_the_model),
        cmocka_unit_test(exact_scales_by_powers_of_two),
        cmocka_unit_test(exact_sums_groups_of_16_of_4_bit_kinds),
        cmocka_unit_test(fast_is_a_float_loop),
        cmocka_unit_test(fast_keeps_special_values),
        cmocka_unit_test(fast_survives_extreme_scales),
        cmocka_unit_test(integers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
