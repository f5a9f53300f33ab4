/* The exact engine of tcgen05.mma for floating-point types: see tcgen05_tile.h for the model.
 * Eight columns of a row at a time; an output that meets an infinity or NaN takes the scalar
 * path. */
#include "emulator/matrix/mma_model.h"
#include "emulator/matrix/mma_numerics.h"
#include "emulator/matrix/mma_quick.h"
#include "emulator/tensor/tcgen05_quick.h"
#include "emulator/tensor/tcgen05_tile.h"

enum {
    FRACTION = 25,
    MAX_CHUNK = 16 /* products whose sum fits 32 bits: each is below 2^27 */
};

/* A is m x k; B is k x n, n contiguous. */
typedef struct engine {
    const pg_tcgen05_tile *t;
    int32_t *sig_a, *exp_a, *sig_b, *exp_b;
    float *value_a, *value_b; /* where `quick` */
    bool quick;               /* mma_quick.h serves it */
    uint32_t *packed_a;       /* A's exponents for tcgen05_quick.h, where `wide` */
    bool wide;                /* which serves it too */
} engine;

/* ---- operands ---- */

/* A block scale that covers all of k moves the exponents of its row. */
static void scale_rows(const pg_tcgen05_tile *t, const uint8_t *scales, uint32_t rows, int32_t *exp)
{
    for (uint32_t row = 0; t->scale_block && row < rows; row++, exp += t->k) {
        const pg_block_scale s = pg_block_scale_of(t->scale_type, scales[row]);
        for (uint32_t i = 0; i < t->k; i++)
            exp[i] = s.nan ? PG_MMA_EXP_SPECIAL : exp[i] + s.exp;
    }
}

static void take_apart(engine *e, int32_t *scratch)
{
    const pg_tcgen05_tile *t = e->t;
    const size_t size_a = (size_t)t->m * t->k, size_b = (size_t)t->n * t->k;
    e->sig_a = scratch;
    e->exp_a = e->sig_a + size_a;
    e->sig_b = e->exp_a + size_a;
    e->exp_b = e->sig_b + size_b;
    int32_t *const sig = e->exp_b + size_b, *const exp = sig + size_b;
    /* A's significands carry the shift that gives every product FRACTION fraction bits. */
    const int up = FRACTION - pg_formats[t->a_format].man_bits - pg_formats[t->b_format].man_bits;
    const pg_mma_split split_a = {t->a_format, (uint32_t)up, t->negate},
                       split_b = {t->b_format, 0, false};
    pg_mma_split_array(&split_a, t->a, size_a, e->sig_a, e->exp_a);
    scale_rows(t, t->sfa, t->m, e->exp_a);
    pg_mma_split_array(&split_b, t->b, size_b, sig, exp);
    scale_rows(t, t->sfb, t->n, exp);
    pg_tcgen05_transpose((const uint32_t *)sig, t->n, t->k, (uint32_t *)e->sig_b);
    pg_tcgen05_transpose((const uint32_t *)exp, t->n, t->k, (uint32_t *)e->exp_b);
    e->value_b = (float *)sig; /* in place of what was transposed */
    e->value_a = e->value_b + 2 * size_b;
    e->quick = t->result == PG_MMA_D_F32 &&
               pg_mma_quick_values(e->sig_a, e->exp_a, size_a, e->value_a) &&
               pg_mma_quick_values(e->sig_b, e->exp_b, size_b, e->value_b);
    e->wide = e->quick && t->k <= PG_QUICK_CHUNK && pg_tcgen05_quick_runs();
    e->packed_a = (uint32_t *)(e->value_a + size_a);
    if (e->wide)
        pg_tcgen05_quick_pack(e->exp_a, (uint32_t)size_a, true, e->packed_a);
}

/* ---- one output ---- */

static pg_mma_addend addend_of(const pg_tcgen05_tile *t, uint32_t d)
{
    pg_mma_addend c =
        t->result == PG_MMA_D_F16 ? pg_mma_addend_f16((uint16_t)d) : pg_mma_addend_f32(d);
    c.exp -= (int32_t)t->scale_d;
    return c;
}

static bool is_special(const pg_tcgen05_tile *t, uint32_t d)
{
    return t->result == PG_MMA_D_F16 ? (d & 0x7c00) == 0x7c00 : (d & 0x7f800000u) == 0x7f800000u;
}

static uint32_t special_sum(const pg_tcgen05_tile *t, uint32_t row, uint32_t column, uint32_t d)
{
    const bool half = t->result == PG_MMA_D_F16;
    const double scale = !t->scale_block ? 1
                                         : pg_block_scale_value(t->scale_type, t->sfa[row]) *
                                               pg_block_scale_value(t->scale_type, t->sfb[column]);
    pg_mma_special sum = {false, false, false};
    pg_mma_special_add(&sum, (double)(half ? pg_f32_of_f16((uint16_t)d) : pg_f32_of(d)));
    for (uint32_t i = 0; i < t->k; i++) {
        const double product = pg_mma_element(t->a_format, t->a, (size_t)row * t->k + i) *
                               pg_mma_element(t->b_format, t->b, (size_t)column * t->k + i) * scale;
        pg_mma_special_add(&sum, t->negate ? -product : product);
    }
    const float value = pg_mma_special_sum(sum);
    return half ? pg_f16_of_f32(value) : pg_bits_of_f32(value);
}

static uint32_t round_sum(const pg_tcgen05_tile *t, int64_t products, int32_t exp_max,
                          pg_mma_addend c)
{
    const int64_t sum = products + pg_mma_cut(c.sig, exp_max - c.exp + 23 - FRACTION);
    return t->result == PG_MMA_D_F16 ? pg_mma_round_to_f16(sum, exp_max - FRACTION)
                                     : pg_mma_truncate_to_f32(sum, exp_max - FRACTION, false);
}

/* ---- eight outputs ---- */

typedef struct lanes {
    pg_s32x8 exp_max;
    int64_t sum[8];
} lanes;

/* Column `at` of row `row`, and where its operands begin. */
typedef struct spot {
    uint32_t row, at;
    const int32_t *sig_a, *exp_a, *sig_b, *exp_b;
} spot;

static inline __attribute__((always_inline)) void largest_exponent(const engine *e, const spot *s,
                                                                   pg_s32x8 *exp_max)
{
    const uint32_t k = e->t->k, n = e->t->n;
    pg_s32x8 max = *exp_max;
    for (uint32_t i = 0; i < k; i++) {
        const pg_s32x8 x = s->exp_a[i] + *(const pg_s32x8_in_memory *)(s->exp_b + (size_t)i * n);
        const pg_s32x8 larger = x > max;
        max = (x & larger) | (max & ~larger);
    }
    *exp_max = max;
}

static inline __attribute__((always_inline)) void add_products(const engine *e, const spot *s,
                                                               uint32_t first, lanes *out)
{
    const pg_s32x8 limit = {31, 31, 31, 31, 31, 31, 31, 31}, max = out->exp_max;
    const uint32_t n = e->t->n, end = e->t->k - first < MAX_CHUNK ? e->t->k : first + MAX_CHUNK;
    pg_s32x8 sum = {0};
    for (uint32_t i = first; i < end; i++) {
        const pg_s32x8 sb = *(const pg_s32x8_in_memory *)(s->sig_b + (size_t)i * n);
        const pg_s32x8 eb = *(const pg_s32x8_in_memory *)(s->exp_b + (size_t)i * n);
        const pg_s32x8 distance = max - (s->exp_a[i] + eb), far = distance > limit;
        const pg_s32x8 down = (limit & far) | (distance & ~far);
        const pg_s32x8 product = s->sig_a[i] * sb, sign = product >> 31;
        const pg_s32x8 magnitude = (product ^ sign) - sign;
        sum += ((magnitude >> down) ^ sign) - sign;
    }
    for (int i = 0; i < 8; i++)
        out->sum[i] += sum[i];
}

static inline __attribute__((always_inline)) void eight_outputs(const engine *e, const spot *s)
{
    const pg_tcgen05_tile *t = e->t;
    uint32_t *const d = t->d[s->row] + s->at;
    pg_mma_addend c[8];
    lanes x = {.sum = {0}};
    for (uint32_t i = 0; i < 8; i++) {
        c[i] = addend_of(t, t->zero_d ? 0 : d[i]);
        x.exp_max[i] = c[i].exp;
    }
    largest_exponent(e, s, &x.exp_max);
    for (uint32_t first = 0; first < t->k; first += MAX_CHUNK)
        add_products(e, s, first, &x);
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t before = t->zero_d ? 0 : d[i];
        d[i] = x.exp_max[i] >= PG_MMA_EXP_SPECIAL / 4 || is_special(t, before)
                   ? special_sum(t, s->row, s->at + i, before)
                   : round_sum(t, x.sum[i], x.exp_max[i], c[i]);
    }
}

/* ---- eight columns of all rows ---- */

/* B's eight columns from `at` on, side by side. */
typedef struct columns {
    float value[PG_TCGEN05_MAX_K][8];
    int32_t exp[PG_TCGEN05_MAX_K][8];
} columns;

static inline __attribute__((always_inline)) void take_columns(const engine *e, uint32_t at,
                                                               columns *out)
{
    for (uint32_t i = 0; e->quick && i < e->t->k; i++) {
        memcpy(out->value[i], e->value_b + (size_t)i * e->t->n + at, sizeof out->value[i]);
        memcpy(out->exp[i], e->exp_b + (size_t)i * e->t->n + at, sizeof out->exp[i]);
    }
}

static inline __attribute__((always_inline)) bool quick_outputs(const engine *e, const spot *s,
                                                                const columns *b)
{
    const pg_tcgen05_tile *t = e->t;
    const pg_mma_quick q = {.value_a = e->value_a + (size_t)s->row * t->k,
                            .value_b = b->value[0],
                            .exp_a = s->exp_a,
                            .exp_b = b->exp[0],
                            .k = t->k,
                            .a_step = 1,
                            .b_step = 8,
                            .fraction = FRACTION};
    uint32_t *const d = t->d[s->row] + s->at;
    pg_s32x8 bits = {0};
    if (!t->zero_d)
        bits = *(const pg_s32x8_in_memory *)d;
    const pg_s32x8 exp = pg_quick_exponents_of(bits);
    const pg_f32x8 down = pg_quick_power(pg_quick_fill(-(int32_t)t->scale_d));
    pg_f32x8 sum;
    if (!pg_mma_quick_sum(&q, (pg_f32x8)bits * down, exp - (int32_t)t->scale_d, &sum))
        return false;
    *(pg_f32x8_in_memory *)d = sum;
    return true;
}

static inline __attribute__((always_inline)) void multiply_body(const engine *e, uint32_t first)
{
    const pg_tcgen05_tile *t = e->t;
    columns b;
    for (uint32_t at = first; at < t->n; at += 8) {
        take_columns(e, at, &b);
        for (uint32_t row = 0; row < t->m; row++) {
            const spot s = {
                row,           at,           e->sig_a + row * t->k, e->exp_a + row * t->k,
                e->sig_b + at, e->exp_b + at};
            if (t->d[row] && !(e->quick && quick_outputs(e, &s, &b)))
                eight_outputs(e, &s);
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const engine *e, uint32_t first)
{
    multiply_body(e, first);
}
#endif

/* Sixteen columns of all rows. */
static void multiply_wide(const engine *e, uint32_t at)
{
    const pg_tcgen05_tile *t = e->t;
    float value[PG_QUICK_CHUNK][16];
    int16_t exp[PG_QUICK_CHUNK][16];
    for (uint32_t i = 0; i < t->k; i++) {
        memcpy(value[i], e->value_b + (size_t)i * t->n + at, sizeof value[i]);
        pg_tcgen05_quick_pack(e->exp_b + (size_t)i * t->n + at, 16, false, exp[i]);
    }
    const pg_tcgen05_quick q = {.value_a = e->value_a,
                                .value_b = value[0],
                                .exp_a = e->packed_a,
                                .exp_b = exp[0],
                                .k = t->k,
                                .n = 16,
                                .down = 1.0f / (float)(1u << t->scale_d),
                                .zero_d = t->zero_d};
    for (uint32_t row = 0; row < t->m; row++) {
        if (!t->d[row] || pg_tcgen05_quick_columns(&q, row, 0, t->d[row] + at))
            continue;
        for (uint32_t column = at; column < at + 16; column += 8) {
            const spot s = {row,
                            column,
                            e->sig_a + row * t->k,
                            e->exp_a + row * t->k,
                            e->sig_b + column,
                            e->exp_b + column};
            eight_outputs(e, &s);
        }
    }
}

static void multiply(const engine *e)
{
    uint32_t first = 0;
    for (; e->wide && first + 16 <= e->t->n; first += 16)
        multiply_wide(e, first);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(e, first);
        return;
    }
#endif
    multiply_body(e, first);
}

void pg_tcgen05_exact(const pg_tcgen05_tile *t, void *scratch)
{
    if (t->integer) {
        pg_tcgen05_integer(t, scratch);
        return;
    }
    if (t->scale_block && t->scale_block < t->k) {
        pg_tcgen05_exact_fp4(t, scratch);
        return;
    }
    engine e = {.t = t};
    take_apart(&e, scratch);
    multiply(&e);
}
