/* The exact tile engine: the published model of the tensor core's arithmetic, in integers.
 *
 * A finite operand is sig * 2^(exp - fraction bits), |sig| < 2^11; zeros get an exponent that never
 * is the largest. Per output: the largest exponent among the products and C, every term cut towards
 * zero to F fraction bits below it, an exact sum, one rounding. Eight lanes at a time; a block that
 * meets an infinity or NaN takes the scalar path for those outputs. */
#include "emulator/matrix/mma_model.h"

#include "emulator/matrix/mma_numerics.h"
#include "emulator/matrix/mma_quick.h"

enum {
    MAX_CHUNK = 16 /* products whose sum fits 32 bits: each is below 2^27 */
};

static const pg_format_id formats[PG_MMA_TYPE_COUNT] = {
    [PG_MMA_F16] = PG_FMT_F16,   [PG_MMA_BF16] = PG_FMT_BF16, [PG_MMA_TF32] = PG_FMT_TF32,
    [PG_MMA_E4M3] = PG_FMT_E4M3, [PG_MMA_E5M2] = PG_FMT_E5M2,
};

/* The panels of one tile, and what its types imply. */
typedef struct engine {
    const pg_mma_tile *t;
    int32_t *sig_a, *exp_a, *sig_b, *exp_b; /* panels */
    float *value_a, *value_b;               /* panels, where `quick` */
    bool quick;                             /* mma_quick.h serves it */
    int32_t fraction;                       /* F */
    bool low_precision;                     /* results keep 13 fraction bits */
} engine;

/* The sum of the products at F fraction bits, and the largest exponent of all terms. */
typedef struct partial {
    int64_t sum;
    int32_t exp_max;
} partial;

static uint32_t finish_f32(const engine *e, partial x, pg_mma_addend c)
{
    const int64_t total = x.sum + pg_mma_cut(c.sig, x.exp_max - c.exp + 23 - e->fraction);
    return pg_mma_truncate_to_f32(total, x.exp_max - e->fraction, e->low_precision);
}

static uint16_t finish_f16(const engine *e, partial x, pg_mma_addend c)
{
    const int64_t total = x.sum + pg_mma_cut(c.sig, x.exp_max - c.exp + 23 - e->fraction);
    return pg_mma_round_to_f16(total, x.exp_max - e->fraction);
}

static float special_sum(const engine *e, uint32_t row, uint32_t column, float c)
{
    const pg_mma_tile *t = e->t;
    const bool negate = t->negate_a != t->negate_b;
    pg_mma_special sum = {false, false, false};
    pg_mma_special_add(&sum, (double)c);
    for (uint32_t k = 0; k < t->k; k++) {
        if (t->absent && t->absent[row * t->k + k])
            continue;
        const double a = pg_mma_element(formats[t->a_type], t->a, row * t->k + k);
        const double b = pg_mma_element(formats[t->b_type], t->b, column * t->k + k);
        pg_mma_special_add(&sum, negate ? -(a * b) : a * b);
    }
    return pg_mma_special_sum(sum);
}

/* ---- eight outputs ---- */

typedef struct lanes {
    pg_s32x8 exp_max;
    int64_t sum[8];
} lanes;

static inline __attribute__((always_inline)) void
largest_exponent(const int32_t *a, const int32_t *b, uint32_t k, pg_s32x8 *exp_max)
{
    pg_s32x8 max = *exp_max;
    for (uint32_t i = 0; i < k; i++) {
        const pg_s32x8 x = *(const pg_s32x8_in_memory *)(a + 32 * i);
        const pg_s32x8 y = *(const pg_s32x8_in_memory *)(b + 16 * i);
        const pg_s32x8 e = x + y;
        const pg_s32x8 larger = e > max;
        max = (e & larger) | (max & ~larger);
    }
    *exp_max = max;
}

/* Panels of one block, at the first k of a chunk. */
typedef struct block_panels {
    const int32_t *sig_a, *exp_a, *sig_b, *exp_b;
} block_panels;

static inline __attribute__((always_inline)) void
add_products(block_panels p, uint32_t k, const pg_s32x8 *exp_max, pg_s32x8 *result)
{
    const pg_s32x8 limit = {31, 31, 31, 31, 31, 31, 31, 31}, max = *exp_max;
    pg_s32x8 sum = {0};
    for (uint32_t i = 0; i < k; i++) {
        const pg_s32x8 sa = *(const pg_s32x8_in_memory *)(p.sig_a + 32 * i);
        const pg_s32x8 sb = *(const pg_s32x8_in_memory *)(p.sig_b + 16 * i);
        const pg_s32x8 ea = *(const pg_s32x8_in_memory *)(p.exp_a + 32 * i);
        const pg_s32x8 eb = *(const pg_s32x8_in_memory *)(p.exp_b + 16 * i);
        const pg_s32x8 distance = max - (ea + eb), far = distance > limit;
        const pg_s32x8 down = (limit & far) | (distance & ~far);
        const pg_s32x8 product = sa * sb;
        const pg_s32x8 sign = product >> 31;
        const pg_s32x8 magnitude = (product ^ sign) - sign;
        sum += ((magnitude >> down) ^ sign) - sign;
    }
    *result = sum;
}

static inline __attribute__((always_inline)) void sum_lanes(const engine *e, block_panels p,
                                                            lanes *out)
{
    const uint32_t k = e->t->k;
    largest_exponent(p.exp_a, p.exp_b, k, &out->exp_max);
    memset(out->sum, 0, sizeof out->sum);
    for (uint32_t at = 0; at < k; at += MAX_CHUNK) {
        const block_panels chunk = {p.sig_a + 32 * at, p.exp_a + 32 * at, p.sig_b + 16 * at,
                                    p.exp_b + 16 * at};
        pg_s32x8 sum;
        add_products(chunk, k - at < MAX_CHUNK ? k - at : MAX_CHUNK, &out->exp_max, &sum);
        for (int i = 0; i < 8; i++)
            out->sum[i] += sum[i];
    }
}

/* Where 8 outputs stand: rows g, columns j and parity p; lanes 8v .. 8v + 7. */
typedef struct spot {
    uint32_t g, j, p, v;
} spot;

static uint32_t read_c(const pg_mma_tile *t, spot s, uint32_t lane)
{
    if (t->zero_c)
        return 0;
    const uint32_t at = s.g * (t->n / 8) + s.j;
    if (t->result == PG_MMA_D_F16)
        return t->c[at][lane] >> 16 * s.p & 0xffff;
    return t->c[2 * at + s.p][lane];
}

static void write_d(const pg_mma_tile *t, spot s, uint32_t lane, uint32_t value)
{
    const uint32_t at = s.g * (t->n / 8) + s.j;
    if (t->result == PG_MMA_D_F16) /* the other half may still hold C */
        t->d[at][lane] = (t->d[at][lane] & 0xffff0000u >> 16 * s.p) | value << 16 * s.p;
    else
        t->d[2 * at + s.p][lane] = value;
}

static void finish_lane(const engine *e, spot s, uint32_t i, partial x, uint32_t c)
{
    const pg_mma_tile *t = e->t;
    const uint32_t lane = 8 * s.v + i;
    const bool half = t->result == PG_MMA_D_F16;
    const bool c_special = half ? (c & 0x7c00) == 0x7c00 : (c & 0x7f800000u) == 0x7f800000u;
    if (x.exp_max >= PG_MMA_EXP_SPECIAL / 4 || c_special) {
        const float sum = special_sum(e, 8 * s.g + lane / 4, 8 * s.j + 2 * (lane % 4) + s.p,
                                      half ? pg_f32_of_f16((uint16_t)c) : pg_f32_of(c));
        write_d(t, s, lane, half ? pg_f16_of_f32(sum) : pg_bits_of_f32(sum));
        return;
    }
    const pg_mma_addend addend_c = half ? pg_mma_addend_f16((uint16_t)c) : pg_mma_addend_f32(c);
    write_d(t, s, lane, half ? finish_f16(e, x, addend_c) : finish_f32(e, x, addend_c));
}

static inline __attribute__((always_inline)) bool quick_outputs(const engine *e, spot s, size_t a,
                                                                size_t b)
{
    const pg_mma_tile *t = e->t;
    const pg_mma_quick q = {.value_a = e->value_a + a,
                            .value_b = e->value_b + b,
                            .exp_a = e->exp_a + a,
                            .exp_b = e->exp_b + b,
                            .k = t->k,
                            .a_step = 32,
                            .b_step = 16,
                            .a_each = true,
                            .fraction = e->fraction,
                            .low_precision = e->low_precision};
    const uint32_t at = 2 * (s.g * (t->n / 8) + s.j) + s.p;
    pg_s32x8 bits = {0};
    if (!t->zero_c)
        bits = *(const pg_s32x8_in_memory *)(t->c[at] + 8 * s.v);
    pg_f32x8 sum;
    if (!pg_mma_quick_sum(&q, (pg_f32x8)bits, pg_quick_exponents_of(bits), &sum))
        return false;
    *(pg_f32x8_in_memory *)(t->d[at] + 8 * s.v) = sum;
    return true;
}

static inline __attribute__((always_inline)) void eight_outputs(const engine *e, spot s)
{
    const pg_mma_tile *t = e->t;
    const size_t a = (size_t)s.g * t->k * 32 + 8 * s.v, b = (size_t)s.j * t->k * 16 + 8 * s.p;
    if (e->quick && quick_outputs(e, s, a, b))
        return;
    const block_panels panels = {e->sig_a + a, e->exp_a + a, e->sig_b + b, e->exp_b + b};
    uint32_t c[8];
    lanes x;
    for (uint32_t i = 0; i < 8; i++) {
        c[i] = read_c(t, s, 8 * s.v + i);
        x.exp_max[i] = t->result == PG_MMA_D_F16 ? pg_mma_addend_f16((uint16_t)c[i]).exp
                                                 : pg_mma_addend_f32(c[i]).exp;
    }
    sum_lanes(e, panels, &x);
    for (uint32_t i = 0; i < 8; i++)
        finish_lane(e, s, i, (partial){x.sum[i], x.exp_max[i]}, c[i]);
}

static inline __attribute__((always_inline)) void multiply_body(const engine *e)
{
    const pg_mma_tile *t = e->t;
    for (uint32_t g = 0; g < t->m / 8; g++)
        for (uint32_t j = 0; j < t->n / 8; j++)
            for (uint32_t i = 0; i < 8; i++)
                eight_outputs(e, (spot){g, j, i / 4, i % 4});
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const engine *e)
{
    multiply_body(e);
}
#endif

static void multiply(const engine *e)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(e);
        return;
    }
#endif
    multiply_body(e);
}

void pg_mma_exact(const pg_mma_tile *t, void *scratch)
{
    if (pg_mma_is_integer(t->a_type)) {
        pg_mma_integer(t, scratch);
        return;
    }
    const bool fp8 = pg_mma_types[t->a_type].bits == 8;
    engine e = {.t = t, .fraction = fp8 && t->low_precision_fp8 ? 13 : 25};
    e.low_precision = fp8 && t->low_precision_fp8;
    const size_t size_a = (size_t)t->m * t->k * 4, size_b = (size_t)t->n * t->k * 2;
    e.sig_a = scratch;
    e.exp_a = e.sig_a + size_a;
    e.sig_b = e.exp_a + size_a;
    e.exp_b = e.sig_b + size_b;
    int32_t *const sig = e.exp_b + size_b;
    const size_t most = t->m > t->n ? t->m : t->n;
    int32_t *const exp = sig + most * t->k;
    e.value_a = (float *)(exp + most * t->k);
    e.value_b = e.value_a + size_a;
    /* A's significands carry the shift that gives every product F fraction bits. */
    const pg_format_id format_a = formats[t->a_type], format_b = formats[t->b_type];
    const int up = e.fraction - pg_formats[format_a].man_bits - pg_formats[format_b].man_bits;
    const pg_mma_split split_a = {format_a, (uint32_t)up, t->negate_a != t->negate_b},
                       split_b = {format_b, 0, false};
    pg_mma_split_array(&split_a, t->a, (size_t)t->m * t->k, sig, exp);
    for (size_t i = 0; t->absent && i < (size_t)t->m * t->k; i++)
        if (t->absent[i])
            exp[i] = PG_MMA_EXP_ABSENT;
    pg_mma_panel_a((const uint32_t *)sig, t->m, t->k, (uint32_t *)e.sig_a);
    pg_mma_panel_a((const uint32_t *)exp, t->m, t->k, (uint32_t *)e.exp_a);
    pg_mma_split_array(&split_b, t->b, (size_t)t->n * t->k, sig, exp);
    pg_mma_panel_b((const uint32_t *)sig, t->n, t->k, (uint32_t *)e.sig_b);
    pg_mma_panel_b((const uint32_t *)exp, t->n, t->k, (uint32_t *)e.exp_b);
    e.quick = t->result != PG_MMA_D_F16 &&
              pg_mma_quick_values(e.sig_a, e.exp_a, size_a, e.value_a) &&
              pg_mma_quick_values(e.sig_b, e.exp_b, size_b, e.value_b);
    multiply(&e);
}
