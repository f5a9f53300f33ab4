/* The exact engine of the 4-bit kinds (mxf4, mxf4nvf4): integer sums over 16 of K, scaled,
 * aligned at 35 fraction bits. */
#include "emulator/matrix/mma_model.h"
#include "emulator/matrix/mma_numerics.h"
#include "emulator/tensor/tcgen05_tile.h"

enum {
    GROUP = 16, /* of K */
    MAX_GROUPS = PG_TCGEN05_MAX_K / GROUP,
    FRACTION = 35,
    PRODUCT_FRACTION = 2 /* a product of two e2m1 is a multiple of 1/4 */
};

/* Twice the values of e2m1, sign in bit 3. */
static const int32_t halves[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

typedef struct sums {
    pg_s32x8 group[MAX_GROUPS]; /* in quarters */
} sums;

static inline __attribute__((always_inline)) void
add_groups(const pg_tcgen05_tile *t, const int32_t *a, const int32_t *b, sums *out)
{
    for (uint32_t g = 0; g < t->k / GROUP; g++) {
        pg_s32x8 sum = {0};
        for (uint32_t i = g * GROUP; i < (g + 1) * GROUP; i++)
            sum += a[i] * *(const pg_s32x8_in_memory *)(b + (size_t)i * t->n);
        out->group[g] = sum;
    }
}

/* The scales of one row of A or one column of B. A NaN is a special exponent. */
typedef struct scales {
    int32_t sig[MAX_GROUPS], exp[MAX_GROUPS];
} scales;

static void take_apart(const pg_tcgen05_tile *t, const uint8_t *bytes, uint32_t rows, scales *out)
{
    const uint32_t per_row = pg_tcgen05_scales_per_row(t);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t g = 0; g < t->k / GROUP; g++) {
            const pg_block_scale s =
                pg_block_scale_of(t->scale_type, bytes[row * per_row + g * GROUP / t->scale_block]);
            out[row].sig[g] = s.sig;
            out[row].exp[g] = s.nan ? PG_MMA_EXP_SPECIAL : s.exp;
        }
}

/* `d`: special, unless a scale is. */
static uint32_t special(bool nan, uint32_t d)
{
    pg_mma_special s = {.nan = nan};
    pg_mma_special_add(&s, (double)pg_f32_of(d));
    return pg_bits_of_f32(pg_mma_special_sum(s));
}

/* One output from its group sums. */
static uint32_t finish(const pg_tcgen05_tile *t, const scales *x, const scales *y,
                       const int32_t *groups, uint32_t d)
{
    const uint32_t count = t->k / GROUP;
    const int fraction =
        PRODUCT_FRACTION + (t->scale_type == PG_SCALE_UE4M3 ? 2 * PG_UE4M3_FRACTION : 0);
    const pg_mma_addend c = pg_mma_addend_f32(d);
    int64_t terms[MAX_GROUPS], sum = 0;
    int32_t exps[MAX_GROUPS], exp_max = c.exp;
    for (uint32_t g = 0; g < count; g++) {
        terms[g] = (int64_t)groups[g] * (x->sig[g] * y->sig[g]);
        exps[g] = x->exp[g] + y->exp[g];
        if (!terms[g] && exps[g] < PG_MMA_EXP_SPECIAL / 4)
            exps[g] = PG_MMA_EXP_OF_ZERO;
        exp_max = exps[g] > exp_max ? exps[g] : exp_max;
    }
    if (exp_max >= PG_MMA_EXP_SPECIAL / 4 || (d & 0x7f800000u) == 0x7f800000u)
        return special(exp_max >= PG_MMA_EXP_SPECIAL / 4, d);
    for (uint32_t g = 0; g < count; g++)
        sum += pg_mma_cut(terms[g] * ((int64_t)1 << (FRACTION - fraction)), exp_max - exps[g]);
    sum += pg_mma_cut(c.sig, exp_max - c.exp + 23 - FRACTION);
    return pg_mma_truncate_to_f32(sum, exp_max - FRACTION, false);
}

/* Operands as halves, b k x n; scales by row and by column. */
typedef struct operands {
    int32_t *a, *b;
    scales *a_scales, *b_scales;
} operands;

static inline __attribute__((always_inline)) void multiply_body(const pg_tcgen05_tile *t,
                                                                const operands *o)
{
    for (uint32_t row = 0; row < t->m; row++)
        for (uint32_t at = 0; t->d[row] && at < t->n; at += 8) {
            sums x;
            uint32_t *const d = t->d[row] + at;
            add_groups(t, o->a + row * t->k, o->b + at, &x);
            for (uint32_t i = 0; i < 8; i++) {
                int32_t groups[MAX_GROUPS];
                for (uint32_t g = 0; g < t->k / GROUP; g++)
                    groups[g] = x.group[g][i];
                d[i] = finish(t, &o->a_scales[row], &o->b_scales[at + i], groups,
                              t->zero_d ? 0 : d[i]);
            }
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const pg_tcgen05_tile *t,
                                                          const operands *o)
{
    multiply_body(t, o);
}
#endif

static void multiply(const pg_tcgen05_tile *t, const operands *o)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(t, o);
        return;
    }
#endif
    multiply_body(t, o);
}

void pg_tcgen05_exact_fp4(const pg_tcgen05_tile *t, void *scratch)
{
    operands o = {.a = scratch};
    o.b = o.a + t->m * t->k;
    o.a_scales = (scales *)(o.b + t->n * t->k);
    o.b_scales = o.a_scales + t->m;
    int32_t *const plain = (int32_t *)(o.b_scales + t->n);
    for (size_t i = 0; i < (size_t)t->m * t->k; i++) {
        const int32_t value = halves[((const uint8_t *)t->a)[i] & 15];
        o.a[i] = t->negate ? -value : value;
    }
    for (size_t i = 0; i < (size_t)t->n * t->k; i++)
        plain[i] = halves[((const uint8_t *)t->b)[i] & 15];
    pg_tcgen05_transpose((const uint32_t *)plain, t->n, t->k, (uint32_t *)o.b);
    take_apart(t, t->sfa, t->m, o.a_scales);
    take_apart(t, t->sfb, t->n, o.b_scales);
    multiply(t, &o);
}
