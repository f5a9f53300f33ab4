/* The fast tile engine: operands as float panels, one multiply and one add a product. A block of 8
 * x 8 outputs is eight vectors that stay in registers over k. */
#include "emulator/matrix/mma_model.h"

#include "emulator/number/formats.h"

#include <math.h>

/* e4m3 moves into an f16 with the exponent off by 8, put right exactly; e5m2 is the top byte of an
 * f16. */
static float float_of_e4m3(uint8_t x)
{
    if ((x & 0x7f) == 0x7f)
        return pg_f32_of(0x7fffffffu);
    return pg_f32_of_f16((uint16_t)((x & 0x80) << 8 | (x & 0x7f) << 7)) * 256.0f;
}

typedef uint16_t u16x8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8_in_memory __attribute__((vector_size(32), aligned(4), may_alias));

/* pg_f32_of_f16, eight at a time; tiles hold multiples of eight elements. */
static inline __attribute__((always_inline)) void widen_f16(const uint16_t *in, size_t count,
                                                            float *out)
{
    for (size_t i = 0; i < count; i += 8) {
        const u32x8 h = __builtin_convertvector(*(const u16x8 *)(in + i), u32x8);
        const u32x8 magnitude = h & 0x7fffu;
        const pg_f32x8 scaled = (pg_f32x8)(magnitude << 13) * 0x1p112f;
        const u32x8 special = (u32x8)(magnitude >= 0x7c00u) & 0x7f800000u;
        *(u32x8_in_memory *)(out + i) = (u32x8)scaled | special | (h & 0x8000u) << 16;
    }
}

static inline __attribute__((always_inline)) void widen_bf16(const uint16_t *in, size_t count,
                                                             float *out)
{
    for (size_t i = 0; i < count; i += 8)
        *(u32x8_in_memory *)(out + i) = __builtin_convertvector(*(const u16x8 *)(in + i), u32x8)
                                        << 16;
}

static inline __attribute__((always_inline)) void widen_body(pg_mma_type type, const void *in,
                                                             size_t count, float *out)
{
    switch (type) {
    case PG_MMA_F16:
        widen_f16(in, count, out);
        return;
    case PG_MMA_BF16:
        widen_bf16(in, count, out);
        return;
    case PG_MMA_TF32:
        for (size_t i = 0; i < count; i++)
            out[i] = pg_f32_of(((const uint32_t *)in)[i] & 0xffffe000u);
        return;
    case PG_MMA_E4M3:
        for (size_t i = 0; i < count; i++)
            out[i] = float_of_e4m3(((const uint8_t *)in)[i]);
        return;
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = pg_f32_of_f16((uint16_t)(((const uint8_t *)in)[i] << 8));
    }
}

static inline __attribute__((always_inline)) void
widen_negated(pg_mma_type type, const void *in, size_t count, bool negate, float *out)
{
    widen_body(type, in, count, out);
    for (size_t i = 0; negate && i < count; i++)
        out[i] = -out[i];
}

/* An 8 x 8 block of D: by parity of the column, and quarter of the warp. */
typedef struct block {
    pg_f32x8 lanes[2][4];
} block;

static inline __attribute__((always_inline)) void multiply_block(block *d, const float *a,
                                                                 const float *b, uint32_t k)
{
    block sum = *d;
    for (uint32_t i = 0; i < k; i++) {
        const pg_f32x8_in_memory *const x = (const pg_f32x8_in_memory *)(a + 32 * i);
        const pg_f32x8_in_memory *const y = (const pg_f32x8_in_memory *)(b + 16 * i);
        const pg_f32x8 even = y[0], odd = y[1];
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            sum.lanes[0][v] += x[v] * even;
            sum.lanes[1][v] += x[v] * odd;
        }
    }
    *d = sum;
}

static void load_f16(block *d, const uint32_t *row)
{
    for (int lane = 0; lane < 32; lane++)
        for (int p = 0; p < 2; p++)
            d->lanes[p][lane / 8][lane % 8] = pg_f32_of_f16((uint16_t)(row[lane] >> 16 * p));
}

static void store_f16(const block *d, uint32_t *row)
{
    for (int lane = 0; lane < 32; lane++)
        row[lane] = (uint32_t)pg_f16_of_f32(d->lanes[1][lane / 8][lane % 8]) << 16 |
                    pg_f16_of_f32(d->lanes[0][lane / 8][lane % 8]);
}

static inline __attribute__((always_inline)) void load_f32(block *d, const uint32_t *const *rows)
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        d->lanes[i / 4][i % 4] = ((const pg_f32x8_in_memory *)rows[i / 4])[i % 4];
}

static inline __attribute__((always_inline)) void store_f32(const block *d, uint32_t *const *rows)
{
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        ((pg_f32x8_in_memory *)rows[i / 4])[i % 4] = d->lanes[i / 4][i % 4];
}

static inline __attribute__((always_inline)) void multiply_body(const pg_mma_tile *t,
                                                                const float *a, const float *b)
{
    const uint32_t blocks = t->m / 8 * (t->n / 8);
    const bool half = t->result == PG_MMA_D_F16;
    for (uint32_t at = 0; at < blocks; at++) {
        const uint32_t g = at / (t->n / 8), j = at % (t->n / 8);
        block d = {0};
        if (!t->zero_c && half)
            load_f16(&d, t->c[at]);
        else if (!t->zero_c)
            load_f32(&d, t->c + 2 * at);
        multiply_block(&d, a + g * t->k * 32, b + j * t->k * 16, t->k);
        if (half)
            store_f16(&d, t->d[at]);
        else
            store_f32(&d, t->d + 2 * at);
    }
}

/* An infinity or NaN of B times the 0 of what a sparse A does not store would be NaN. */
static bool meets_special(const pg_mma_tile *t, const float *b)
{
    for (uint32_t i = 0; t->absent && i < t->n * t->k; i++)
        if (!isfinite(b[i]))
            return true;
    return false;
}

/* False: not carried out, the exact engine has to. */
static inline __attribute__((always_inline)) bool run_body(const pg_mma_tile *t, float *scratch)
{
    float *const a = scratch, *const b = a + t->m * t->k * 4, *const plain = b + t->n * t->k * 2;
    widen_negated(t->a_type, t->a, t->m * t->k, t->negate_a != t->negate_b, plain);
    pg_mma_panel_a((const uint32_t *)plain, t->m, t->k, (uint32_t *)a);
    widen_body(t->b_type, t->b, t->n * t->k, plain);
    if (meets_special(t, plain))
        return false;
    pg_mma_panel_b((const uint32_t *)plain, t->n, t->k, (uint32_t *)b);
    multiply_body(t, a, b);
    return true;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static bool run_avx2(const pg_mma_tile *t, float *scratch)
{
    return run_body(t, scratch);
}
#endif

void pg_mma_fast(const pg_mma_tile *t, void *scratch)
{
    if (pg_mma_is_integer(t->a_type)) {
        pg_mma_integer(t, scratch);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        if (!run_avx2(t, scratch))
            pg_mma_exact(t, scratch);
        return;
    }
#endif
    if (!run_body(t, scratch))
        pg_mma_exact(t, scratch);
}
