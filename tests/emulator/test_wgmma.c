/* The tile engines: `exact` against the model worked out in long fixed-point numbers, `fast`
 * against a plain float loop, integers against 64-bit sums; on random and adversarial operands, in
 * every operand type. */
#include "test.h"

#include "exact.h"

#include "emulator/number/formats.h"
#include "emulator/matrix/wgmma.h"

#include <math.h>

static uint64_t random_state = 0x2545f4914f6cdd1du;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

enum { MAX_WORDS = 128 * 256 };

static uint8_t a_bytes[128 * 32 * 4], b_bytes[256 * 32 * 4];
static uint32_t registers[MAX_WORDS], c_before[MAX_WORDS];
static uint32_t *d_rows[MAX_WORDS / 32];
static const uint32_t *c_rows[MAX_WORDS / 32];
static uint8_t scratch[PG_MMA_SCRATCH_BYTES] __attribute__((aligned(64)));

static const pg_format_id formats[PG_MMA_TYPE_COUNT] = {[PG_MMA_F16] = PG_FMT_F16,
                                                        [PG_MMA_BF16] = PG_FMT_BF16,
                                                        [PG_MMA_TF32] = PG_FMT_TF32,
                                                        [PG_MMA_E4M3] = PG_FMT_E4M3,
                                                        [PG_MMA_E5M2] = PG_FMT_E5M2};

/* ---- operands ---- */

typedef enum flavour { NEAR_ONE, ANY_FINITE, ANY_BITS, CANCELLING, SUBNORMAL, FLAVOURS } flavour;

static uint32_t make_element(pg_mma_type type, flavour how)
{
    const pg_format *f = &pg_formats[formats[type]];
    const uint32_t man_bits = (uint32_t)f->man_bits, exp_mask = (1u << f->exp_bits) - 1;
    const uint64_t r = next_random();
    uint32_t man = (uint32_t)r & ((1u << man_bits) - 1), exp = (uint32_t)(r >> 20) & exp_mask;
    const uint32_t sign = (uint32_t)(r >> 40 & 1) << (man_bits + (uint32_t)f->exp_bits);
    switch (how) {
    case NEAR_ONE:
        exp = (uint32_t)f->bias - (uint32_t)(r >> 50 & 3);
        break;
    case ANY_FINITE:
        if (exp == exp_mask)
            exp--;
        break;
    case CANCELLING: /* few values, both signs */
        man = r >> 60 & 1 ? 0 : (1u << man_bits) - 1;
        exp = (uint32_t)f->bias + (uint32_t)(r >> 50 & 1);
        break;
    case SUBNORMAL:
        exp = r >> 50 & 3 ? 0 : exp & 3;
        break;
    default:
        break;
    }
    return sign | exp << man_bits | man;
}

static void put(void *to, pg_mma_type type, size_t i, uint32_t raw)
{
    switch (pg_mma_types[type].bits) {
    case 32: /* noise where tf32 ignores it */
        ((uint32_t *)to)[i] = raw << 13 | (uint32_t)(next_random() & 0x1fff);
        return;
    case 16:
        ((uint16_t *)to)[i] = (uint16_t)raw;
        return;
    default:
        ((uint8_t *)to)[i] = (uint8_t)raw;
    }
}

static double get(const void *from, pg_mma_type type, size_t i)
{
    const uint32_t bits = pg_mma_types[type].bits;
    const uint64_t raw = bits == 32   ? ((const uint32_t *)from)[i] & 0xffffe000u
                         : bits == 16 ? ((const uint16_t *)from)[i]
                                      : ((const uint8_t *)from)[i];
    return pg_decode(formats[type], raw);
}

/* f32 C that overlaps the products in all ways. */
static uint32_t make_c(flavour how, bool half)
{
    const uint64_t r = next_random();
    if (half)
        return make_element(PG_MMA_F16, how) | make_element(PG_MMA_F16, how) << 16;
    const uint32_t sign = (uint32_t)(r >> 63) << 31;
    switch (how) {
    case NEAR_ONE:
    case CANCELLING:
        return sign | (0x3f800000u + ((uint32_t)(r & 15) << 23)) | (uint32_t)(r >> 30 & 0x7fffff);
    case ANY_BITS:
        return (uint32_t)r;
    case SUBNORMAL:
        return r & 1 ? sign : sign | (uint32_t)(r >> 40 & 0x1ffffff);
    default:
        return (uint32_t)r & ((r & 0x7f800000u) == 0x7f800000u ? 0xbfffffffu : 0xffffffffu);
    }
}

static uint32_t row_count(const pg_mma_tile *t)
{
    return t->m / 8 * (t->n / 8) * (t->result == PG_MMA_D_F16 ? 1 : 2);
}

static void fill_tile(pg_mma_tile *t, flavour how)
{
    for (size_t i = 0; i < (size_t)t->m * t->k; i++)
        put(a_bytes, t->a_type, i, make_element(t->a_type, how));
    for (size_t i = 0; i < (size_t)t->n * t->k; i++)
        put(b_bytes, t->b_type, i, make_element(t->b_type, how));
    const uint32_t rows = row_count(t);
    for (uint32_t i = 0; i < 32 * rows; i++)
        registers[i] = c_before[i] = make_c(how, t->result == PG_MMA_D_F16);
    for (uint32_t i = 0; i < rows; i++)
        c_rows[i] = d_rows[i] = registers + 32 * i;
    t->a = a_bytes;
    t->b = b_bytes;
    t->c = c_rows;
    t->d = d_rows;
}

/* D or C at (row, column), from the fragment layout as the ISA draws it: warp row/16, register 4 *
 * (col/8) + 2 * (row/8 % 2) + col % 2 of lane 4 * (row % 8) + col % 8 / 2. */
static uint32_t word_at(const pg_mma_tile *t, const uint32_t *words, uint32_t row, uint32_t col)
{
    const uint32_t lane = 4 * (row % 8) + col % 8 / 2;
    const uint32_t block = row / 8 * (t->n / 8) + col / 8;
    if (t->result == PG_MMA_D_F16)
        return words[32 * block + lane] >> 16 * (col % 2) & 0xffff;
    return words[32 * (2 * block + col % 2) + lane];
}

/* ---- the model, in long numbers ---- */

static int model_exponent(double x, int minimum)
{
    if (x == 0)
        return -100000;
    int e = 0;
    frexp(x, &e);
    return e - 1 < minimum ? minimum : e - 1;
}

static uint32_t model_round(const pg_mma_tile *t, exact sum, bool low_precision)
{
    if (t->result == PG_MMA_D_F16) {
        const pg_encode_mode rn = {.round = PG_ROUND_RN};
        const uint32_t bits = (uint32_t)pg_encode(PG_FMT_F16, exact_to_double(sum), rn);
        return bits == 0x8000 ? 0 : bits; /* never -0 */
    }
    if (exact_sign(&sum) == 0)
        return 0;
    const int top = exact_top(sum);
    const exact cut = exact_truncate(sum, (top < -126 ? -126 : top) - (low_precision ? 13 : 23));
    if (top > 127)
        return exact_sign(&sum) < 0 ? 0xff800000u : 0x7f800000u;
    const double v = exact_to_double(cut);
    return v == 0 ? 0 : pg_bits_of_f32((float)v); /* never -0 */
}

static uint32_t model(const pg_mma_tile *t, uint32_t row, uint32_t col)
{
    const bool half = t->result == PG_MMA_D_F16;
    const bool low_precision = pg_mma_types[t->a_type].bits == 8 && t->low_precision_fp8;
    const int fraction = low_precision ? 13 : 25;
    const uint32_t c_bits = t->zero_c ? 0 : word_at(t, c_before, row, col);
    const double c = pg_decode(half ? PG_FMT_F16 : PG_FMT_F32, c_bits);
    const int a_min = 1 - pg_formats[formats[t->a_type]].bias,
              b_min = 1 - pg_formats[formats[t->b_type]].bias;
    double products[32], special = isfinite(c) ? 0 : c;
    int exponents[32], largest = model_exponent(c, half ? -14 : -126);
    for (uint32_t k = 0; k < t->k; k++) {
        const double a = get(t->a, t->a_type, row * t->k + k),
                     b = get(t->b, t->b_type, col * t->k + k);
        products[k] = t->negate_a != t->negate_b ? -(a * b) : a * b;
        if (!isfinite(products[k]))
            special += products[k];
        exponents[k] = model_exponent(a, a_min) + model_exponent(b, b_min);
        if (products[k] != 0 && exponents[k] > largest)
            largest = exponents[k];
    }
    if (isnan(special))
        return half ? 0x7fff : 0x7fffffff;
    if (special != 0)
        return half ? (special < 0 ? 0xfc00 : 0x7c00) : pg_bits_of_f32((float)special);
    exact sum = exact_truncate(exact_of_double(c), largest - fraction);
    for (uint32_t k = 0; k < t->k; k++)
        sum = exact_add(sum, exact_truncate(exact_of_double(products[k]), largest - fraction));
    return model_round(t, sum, low_precision);
}

static void check_exact(pg_mma_tile *t, flavour how)
{
    fill_tile(t, how);
    pg_mma_exact(t, scratch);
    for (uint32_t row = 0; row < t->m; row++)
        for (uint32_t col = 0; col < t->n; col++) {
            const uint32_t want = model(t, row, col), got = word_at(t, registers, row, col);
            if (want != got)
                print_error("%s x %s flavour %d (%u, %u): got %08x, want %08x\n",
                            pg_mma_types[t->a_type].name, pg_mma_types[t->b_type].name, how, row,
                            col, got, want);
            assert_int_equal(got, want);
        }
}

typedef struct type_case {
    pg_mma_type a, b;
    pg_mma_result result;
    uint32_t k;
    bool low_precision;
} type_case;

static const type_case type_cases[] = {
    {PG_MMA_F16, PG_MMA_F16, PG_MMA_D_F32, 16, false},
    {PG_MMA_F16, PG_MMA_F16, PG_MMA_D_F16, 16, false},
    {PG_MMA_BF16, PG_MMA_BF16, PG_MMA_D_F32, 16, false},
    {PG_MMA_TF32, PG_MMA_TF32, PG_MMA_D_F32, 8, false},
    {PG_MMA_E4M3, PG_MMA_E4M3, PG_MMA_D_F32, 32, true},
    {PG_MMA_E4M3, PG_MMA_E5M2, PG_MMA_D_F32, 32, true},
    {PG_MMA_E5M2, PG_MMA_E4M3, PG_MMA_D_F16, 32, true},
    {PG_MMA_E5M2, PG_MMA_E5M2, PG_MMA_D_F32, 32, true},
    {PG_MMA_E4M3, PG_MMA_E5M2, PG_MMA_D_F32, 32, false},
    {PG_MMA_E5M2, PG_MMA_E5M2, PG_MMA_D_F16, 32, false},
    {PG_MMA_F16, PG_MMA_F16, PG_MMA_D_F32, 8, false},
    {PG_MMA_TF32, PG_MMA_TF32, PG_MMA_D_F32, 4, false},
};
enum { TYPE_CASES = sizeof type_cases / sizeof type_cases[0] };

static pg_mma_tile tile_of(const type_case *c, uint32_t m, uint32_t n)
{
    return (pg_mma_tile){.a_type = c->a,
                         .b_type = c->b,
                         .result = c->result,
                         .m = m,
                         .n = n,
                         .k = c->k,
                         .low_precision_fp8 = c->low_precision};
}

static void exact_follows_the_model(void **state)
{
    (void)state;
    for (int i = 0; i < TYPE_CASES; i++)
        for (int how = 0; how < FLAVOURS; how++) {
            pg_mma_tile t = tile_of(&type_cases[i], 16, 16);
            check_exact(&t, (flavour)how);
            t.negate_a = true;
            check_exact(&t, (flavour)how);
            t.negate_b = true;
            t.zero_c = true;
            check_exact(&t, (flavour)how);
        }
    pg_mma_tile wide = tile_of(&type_cases[0], 64, 24);
    check_exact(&wide, ANY_FINITE);
}

/* One output, C + 1 * x + y * z with f16 operands. */
static float one_output(float c, uint16_t x, uint16_t y, uint16_t z)
{
    pg_mma_tile t = tile_of(&type_cases[0], 8, 8);
    fill_tile(&t, NEAR_ONE);
    memset(a_bytes, 0, sizeof a_bytes);
    memset(b_bytes, 0, sizeof b_bytes);
    uint16_t *const a = (uint16_t *)a_bytes, *const b = (uint16_t *)b_bytes;
    a[0] = 0x3c00, b[0] = x;
    a[1] = y, b[1] = z;
    registers[0] = pg_bits_of_f32(c);
    pg_mma_exact(&t, scratch);
    return pg_f32_of(word_at(&t, registers, 0, 0));
}

/* Cases that random numbers seldom meet, worked out by hand: truncation, and which bits survive
 * alignment. */
static void exact_truncates_and_keeps_25_bits(void **state)
{
    (void)state;
    const uint16_t one = 0x3c00, minus_one = 0xbc00, two_m14 = 0x0400, two_m10 = 0x1400,
                   two_m12 = 0x0c00;
    assert_true(one_output(0x1p-24f, one, 0, 0) ==
                1); /* half a unit is cut off, not rounded to even */
    assert_true(one_output(0x1.8p-23f, one, 0, 0) == 1 + 0x1p-23f);
    assert_true(one_output(-0x1p-24f, one, 0, 0) == 1 - 0x1p-24f);
    assert_true(one_output(-1, one, two_m14, two_m10) ==
                0x1p-24f); /* 24 bits below the largest term */
    assert_true(one_output(-1, one, two_m14, two_m12) ==
                0); /* 26 bits below: gone before the sum */
    assert_true(one_output(0x1p-25f, minus_one, 0, 0) == -(1 - 0x1p-24f)); /* -(1 - 2^-25), cut */
}

static void fast_is_a_float_loop(void **state)
{
    (void)state;
    for (int i = 0; i < TYPE_CASES; i++) {
        pg_mma_tile t = tile_of(&type_cases[i], 24, 40);
        t.negate_b = i & 1;
        t.zero_c = i & 2;
        fill_tile(&t, NEAR_ONE);
        pg_mma_fast(&t, scratch);
        for (uint32_t row = 0; row < t.m; row++)
            for (uint32_t col = 0; col < t.n; col++) {
                const uint32_t c = t.zero_c ? 0 : word_at(&t, c_before, row, col);
                const bool half = t.result == PG_MMA_D_F16;
                float sum = half ? pg_f32_of_f16((uint16_t)c) : pg_f32_of(c);
                for (uint32_t k = 0; k < t.k; k++) {
                    const float a = (float)get(a_bytes, t.a_type, row * t.k + k);
                    const float product = a * (float)get(b_bytes, t.b_type, col * t.k + k);
                    sum += t.negate_b ? -product : product;
                }
                assert_int_equal(word_at(&t, registers, row, col),
                                 half ? pg_f16_of_f32(sum) : pg_bits_of_f32(sum));
            }
    }
}

static int64_t integer_at(pg_mma_type type, const uint8_t *bytes, size_t i)
{
    return type == PG_MMA_S8 ? (int8_t)bytes[i] : bytes[i];
}

static void integers_are_exact(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        pg_mma_tile t = {.a_type = i & 1 ? PG_MMA_S8 : PG_MMA_U8,
                         .b_type = i & 2 ? PG_MMA_S8 : PG_MMA_U8,
                         .result = PG_MMA_D_S32,
                         .m = 16,
                         .n = 24,
                         .k = i & 4 ? 16 : 32,
                         .saturate = i & 8,
                         .a = a_bytes,
                         .b = b_bytes,
                         .c = c_rows,
                         .d = d_rows};
        for (size_t k = 0; k < sizeof a_bytes; k++)
            a_bytes[k] = (uint8_t)(next_random() & 1 ? next_random() : 0x80);
        for (size_t k = 0; k < sizeof b_bytes; k++)
            b_bytes[k] = (uint8_t)(next_random() & 1 ? next_random() : 0xff);
        for (uint32_t k = 0; k < 32 * row_count(&t); k++)
            registers[k] = c_before[k] = k & 1   ? (uint32_t)next_random()
                                         : k & 2 ? 0x7fffffff
                                                 : 0x80000000;
        for (uint32_t k = 0; k < row_count(&t); k++)
            c_rows[k] = d_rows[k] = registers + 32 * k;
        (i & 1 ? pg_mma_exact : pg_mma_fast)(&t, scratch);
        for (uint32_t row = 0; row < t.m; row++)
            for (uint32_t col = 0; col < t.n; col++) {
                int64_t sum = (int32_t)word_at(&t, c_before, row, col);
                for (uint32_t k = 0; k < t.k; k++)
                    sum += integer_at(t.a_type, a_bytes, row * t.k + k) *
                           integer_at(t.b_type, b_bytes, col * t.k + k);
                if (t.saturate)
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                assert_int_equal(word_at(&t, registers, row, col), (uint32_t)sum);
            }
    }
}

static void bits_are_counted(void **state)
{
    (void)state;
    for (int xor = 0; xor < 2; xor ++) {
        pg_mma_tile t = {.a_type = PG_MMA_B1,
                         .b_type = PG_MMA_B1,
                         .result = PG_MMA_D_S32,
                         .m = 8,
                         .n = 16,
                         .k = 256,
                         .xor_popc = xor,
                         .zero_c = xor,
                         .a = a_bytes,
                         .b = b_bytes,
                         .c = c_rows,
                         .d = d_rows};
        for (size_t k = 0; k < sizeof a_bytes; k++) {
            a_bytes[k] = (uint8_t)next_random();
            b_bytes[k] = (uint8_t)next_random();
        }
        for (uint32_t k = 0; k < 32 * row_count(&t); k++)
            registers[k] = c_before[k] = k;
        for (uint32_t k = 0; k < row_count(&t); k++)
            c_rows[k] = d_rows[k] = registers + 32 * k;
        pg_mma_fast(&t, scratch);
        for (uint32_t row = 0; row < t.m; row++)
            for (uint32_t col = 0; col < t.n; col++) {
                uint32_t sum = xor? 0 : word_at(&t, c_before, row, col);
                for (uint32_t bit = 0; bit < 256; bit++) {
                    const bool a = a_bytes[row * 32 + bit / 8] >> bit % 8 & 1;
                    const bool b = b_bytes[col * 32 + bit / 8] >> bit % 8 & 1;
                    sum += xor? a != b : a &&b;
                }
                assert_int_equal(word_at(&t, registers, row, col), sum);
            }
    }
}

/* The place functions and the row pointers of a tile describe the same fragment. */
static void places_agree_with_rows(void **state)
{
    (void)state;
    const pg_mma_tile t = {.result = PG_MMA_D_F32, .m = 64, .n = 48, .k = 16};
    for (uint32_t thread = 0; thread < 128; thread++)
        for (uint32_t r = 0; r < t.n / 2; r++) {
            const pg_mma_place at = pg_wgmma_place_32(thread, r);
            const uint32_t pointer =
                ((2 * (thread / 32) + (r >> 1 & 1)) * (t.n / 8) + r / 4) * 2 + (r & 1);
            registers[32 * pointer + thread % 32] = 1000 * at.row + at.col;
            assert_true(at.row < 64 && at.col < t.n);
        }
    for (uint32_t row = 0; row < t.m; row++)
        for (uint32_t col = 0; col < t.n; col++)
            assert_int_equal(word_at(&t, registers, row, col), 1000 * row + col);
}

/* The contract of the room: as much as PG_MMA_SCRATCH says is enough (half for integers), for
 * tiles of mma.sync, wmma and wgmma. What lies behind stays as it was. */
static void engines_stay_within_their_scratch(void **state)
{
    (void)state;
    static const struct {
        pg_mma_type type;
        uint32_t m, n, k;
    } tiles[] = {{PG_MMA_E4M3, 16, 8, 32}, {PG_MMA_F16, 16, 8, 16},  {PG_MMA_F16, 32, 8, 16},
                 {PG_MMA_BF16, 8, 32, 16}, {PG_MMA_TF32, 16, 16, 8}, {PG_MMA_F16, 64, 256, 16},
                 {PG_MMA_E5M2, 64, 8, 32}, {PG_MMA_S8, 16, 8, 64},   {PG_MMA_U8, 64, 256, 32}};
    enum { GUARD = 256 };
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        pg_mma_tile t = {.a_type = tiles[i].type, .b_type = tiles[i].type, .m = tiles[i].m};
        t.n = tiles[i].n;
        t.k = tiles[i].k;
        const bool integer = t.a_type == PG_MMA_S8 || t.a_type == PG_MMA_U8;
        t.result = integer ? PG_MMA_D_S32 : PG_MMA_D_F32;
        const size_t bytes = (size_t)PG_MMA_SCRATCH(t.m, t.n, t.k) / (integer ? 2 : 1);
        uint8_t *room = aligned_alloc(64, bytes + GUARD);
        assert_non_null(room);
        for (int engine = 0; engine < 2; engine++) {
            fill_tile(&t, NEAR_ONE);
            memset(room, 0xa5, bytes + GUARD);
            (engine ? pg_mma_exact : pg_mma_fast)(&t, room);
            for (size_t b = bytes; b < bytes + GUARD; b++)
                assert_int_equal(room[b], 0xa5);
        }
        free(room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_follows_the_model),
        cmocka_unit_test(exact_truncates_and_keeps_25_bits),
        cmocka_unit_test(fast_is_a_float_loop),
        cmocka_unit_test(integers_are_exact),
        cmocka_unit_test(bits_are_counted),
        cmocka_unit_test(places_agree_with_rows),
        cmocka_unit_test(engines_stay_within_their_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
