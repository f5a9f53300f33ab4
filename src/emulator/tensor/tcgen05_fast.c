/* The fast engine of tcgen05.mma: operands as floats, block scales multiplied in, one multiply
 * and one add a product. Four rows and sixteen columns of D stay in registers over k. */
#include "emulator/matrix/mma_model.h"
#include "emulator/matrix/mma_numerics.h"
#include "emulator/tensor/tcgen05_tile.h"

enum { ROWS = 4, WIDTH = 8 };

/* ---- operands as floats ---- */

/* What turns the bits of a format into a float: exponent and mantissa moved into place, the bias
 * put right by an exact multiplication. */
typedef struct widening {
    uint32_t magnitude, sign, shift,
        up;                         /* sign bit; left shifts of the magnitude and of the sign */
    uint32_t special, special_bits; /* magnitudes from `special` on are infinite or NaN */
    float scale;
} widening;

static widening widening_of(pg_format_id format)
{
    const pg_format *f = &pg_formats[format];
    const uint32_t bits = (uint32_t)f->bits, man = (uint32_t)f->man_bits,
                   top = (1u << f->exp_bits) - 1;
    widening w = {.magnitude = (1u << (bits - 1)) - 1,
                  .sign = 1u << (bits - 1),
                  .shift = 23 - man,
                  .up = 32 - bits};
    w.scale = (float)pg_decode(PG_FMT_F64, (uint64_t)(1023 + 127 - f->bias) << 52);
    w.special = f->has_inf ? top << man : f->has_nan ? w.magnitude : UINT32_MAX;
    w.special_bits = f->has_inf ? 0x7f800000u : 0x7fffffffu;
    return w;
}

static inline __attribute__((always_inline)) float widen_one(widening w, uint32_t raw)
{
    const uint32_t magnitude = raw & w.magnitude;
    const float scaled = pg_f32_of(magnitude << w.shift) * w.scale;
    const uint32_t special = magnitude >= w.special ? w.special_bits : 0;
    return pg_f32_of(pg_bits_of_f32(scaled) | special | (raw & w.sign) << w.up);
}

static inline __attribute__((always_inline)) void widen(pg_format_id format, const void *in,
                                                        size_t count, float *out)
{
    if (format == PG_FMT_TF32) {
        for (size_t i = 0; i < count; i++)
            out[i] = pg_f32_of(((const uint32_t *)in)[i] & 0xffffe000u);
        return;
    }
    const widening w = widening_of(format);
    if (pg_mma_container(format) == 2)
        for (size_t i = 0; i < count; i++)
            out[i] = widen_one(w, ((const uint16_t *)in)[i]);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = widen_one(w, ((const uint8_t *)in)[i]);
}

static void scale_rows(const pg_tcgen05_tile *t, const uint8_t *scales, uint32_t rows, float *x)
{
    const uint32_t per_row = pg_tcgen05_scales_per_row(t);
    for (uint32_t i = 0; i < rows * per_row; i++) {
        const float scale = (float)pg_block_scale_value(t->scale_type, scales[i]);
        for (uint32_t k = 0; k < t->scale_block; k++)
            *x++ *= scale;
    }
}

/* Whether some scale could take a scaled operand beyond a float. (Small ones only make
 * subnormals, which are exact.) */
static bool too_large(const pg_tcgen05_tile *t, const uint8_t *scales, uint32_t rows)
{
    enum { LAST = 127 + 110 };
    bool found = false;
    for (uint32_t i = 0; t->scale_type == PG_SCALE_UE8M0 && i < rows * pg_tcgen05_scales_per_row(t);
         i++)
        found |= scales[i] > LAST;
    return found;
}

/* ---- the product ---- */

/* D of ROWS rows and `vectors` times 8 columns; a: the rows of A, b: k x n. */
typedef struct block {
    const float *a[ROWS], *b;
    uint32_t *d[ROWS];
} block;

static inline __attribute__((always_inline)) void load(const pg_tcgen05_tile *t, const uint32_t *d,
                                                       pg_f32x8 *x)
{
    *x = (pg_f32x8){0};
    if (t->zero_d)
        return;
    *x = *(const pg_f32x8_in_memory *)d;
    for (uint32_t i = 0; t->result == PG_MMA_D_F16 && i < WIDTH; i++)
        (*x)[i] = pg_f32_of_f16((uint16_t)d[i]);
    if (t->scale_d)
        *x *= 1.0f / (float)(1u << t->scale_d);
}

static inline __attribute__((always_inline)) void store(const pg_tcgen05_tile *t, const pg_f32x8 *x,
                                                        uint32_t *d)
{
    if (t->result != PG_MMA_D_F16) {
        *(pg_f32x8_in_memory *)d = *x;
        return;
    }
    for (uint32_t i = 0; i < WIDTH; i++)
        d[i] = pg_f16_of_f32((*x)[i]);
}

/* rows and vectors are constants at each call. */
static inline __attribute__((always_inline)) void
multiply_block(const pg_tcgen05_tile *t, const block *at, uint32_t rows, uint32_t vectors)
{
    const block x = *at;
    pg_f32x8 sum[ROWS][2];
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vectors; v++)
            load(t, x.d[r] + WIDTH * v, &sum[r][v]);
    const uint32_t k = t->k, n = t->n;
    const float *b = x.b;
    for (uint32_t i = 0; i < k; i++, b += n)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vectors; v++) {
            const pg_f32x8 y = *(const pg_f32x8_in_memory *)(b + WIDTH * v);
#pragma GCC unroll 4
            for (uint32_t r = 0; r < rows; r++)
                sum[r][v] += x.a[r][i] * y;
        }
#pragma GCC unroll 4
    for (uint32_t r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (uint32_t v = 0; v < vectors; v++)
            store(t, &sum[r][v], x.d[r] + WIDTH * v);
}

static inline __attribute__((always_inline)) void multiply_rows(const pg_tcgen05_tile *t, block x,
                                                                uint32_t rows, uint32_t vectors)
{
    const uint32_t wide = t->n / (WIDTH * vectors) * vectors;
    for (uint32_t v = 0; v < t->n / WIDTH; v += v < wide ? vectors : 1) {
        if (v < wide)
            multiply_block(t, &x, rows, vectors);
        else
            multiply_block(t, &x, rows, 1);
        const uint32_t step = WIDTH * (v < wide ? vectors : 1);
        x.b += step;
        for (uint32_t r = 0; r < rows; r++)
            x.d[r] += step;
    }
}

/* Rows that are not written are left out. */
static inline __attribute__((always_inline)) void
multiply_body(const pg_tcgen05_tile *t, const float *a, const float *b, uint32_t vectors)
{
    block x = {.b = b};
    uint32_t held = 0;
    for (uint32_t row = 0; row < t->m; row++) {
        if (!t->d[row])
            continue;
        x.a[held] = a + row * t->k;
        x.d[held++] = t->d[row];
        if (held == ROWS) {
            multiply_rows(t, x, ROWS, vectors);
            held = 0;
        }
    }
    for (uint32_t r = 0; r < held; r++) {
        const block one = {.a = {x.a[r]}, .b = b, .d = {x.d[r]}};
        multiply_rows(t, one, 1, vectors);
    }
}

static inline __attribute__((always_inline)) void run_body(const pg_tcgen05_tile *t, float *scratch,
                                                           uint32_t vectors)
{
    float *const a = scratch, *const b = a + t->m * t->k, *const plain = b + t->n * t->k;
    widen(t->a_format, t->a, (size_t)t->m * t->k, a);
    scale_rows(t, t->sfa, t->m, a);
    for (size_t i = 0; t->negate && i < (size_t)t->m * t->k; i++)
        a[i] = -a[i];
    widen(t->b_format, t->b, (size_t)t->n * t->k, plain);
    scale_rows(t, t->sfb, t->n, plain);
    pg_tcgen05_transpose((const uint32_t *)plain, t->n, t->k, (uint32_t *)b);
    multiply_body(t, a, b, vectors);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void run_avx2(const pg_tcgen05_tile *t, float *scratch)
{
    run_body(t, scratch, 2);
}
#endif

void pg_tcgen05_fast(const pg_tcgen05_tile *t, void *scratch)
{
    if (t->integer) {
        pg_tcgen05_integer(t, scratch);
        return;
    }
    if (t->scale_block && (too_large(t, t->sfa, t->m) || too_large(t, t->sfb, t->n))) {
        pg_tcgen05_exact(t, scratch);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        run_avx2(t, scratch);
        return;
    }
#endif
    run_body(t, scratch, 1);
}
