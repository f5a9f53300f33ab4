/* Tiles of 8-bit integers and of bits. Sums are exact in 32 bits (32 products, or 256 bits); adding
 * C wraps, or clamps with .satfinite. */
#include "emulator/matrix/mma_model.h"

/* The sums of 8 consecutive lanes of one row of D. */
static inline __attribute__((always_inline)) void dot(pg_s32x8 *result, const int32_t *a,
                                                      const int32_t *b, uint32_t k)
{
    pg_s32x8 sum = {0};
    for (uint32_t i = 0; i < k; i++) {
        const pg_s32x8 x = *(const pg_s32x8_in_memory *)(a + 32 * i);
        const pg_s32x8 y = *(const pg_s32x8_in_memory *)(b + 16 * i);
        sum += x * y;
    }
    *result = sum;
}

static inline __attribute__((always_inline)) void multiply_body(const pg_mma_tile *t,
                                                                const int32_t *a, const int32_t *b)
{
    const uint32_t groups = t->n / 8;
    for (uint32_t row = 0; row < t->m / 8 * groups * 2; row++) {
        const uint32_t g = row / 2 / groups, j = row / 2 % groups, p = row & 1;
        for (uint32_t v = 0; v < 4; v++) {
            pg_s32x8 sum;
            dot(&sum, a + g * t->k * 32 + 8 * v, b + j * t->k * 16 + 8 * p, t->k);
            for (uint32_t i = 0; i < 8; i++)
                t->d[row][8 * v + i] =
                    pg_add_s32(t->zero_c ? 0 : t->c[row][8 * v + i], sum[i], t->saturate);
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const pg_mma_tile *t, const int32_t *a,
                                                          const int32_t *b)
{
    multiply_body(t, a, b);
}
#endif

static void multiply(const pg_mma_tile *t, const int32_t *a, const int32_t *b)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(t, a, b);
        return;
    }
#endif
    multiply_body(t, a, b);
}

static int32_t count_bits(const uint8_t *a, const uint8_t *b, uint32_t bytes, bool exclusive)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < bytes; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum += __builtin_popcountll(exclusive ? x ^ y : x & y);
    }
    return sum;
}

static void multiply_bits(const pg_mma_tile *t)
{
    const uint32_t bytes = t->k / 8, groups = t->n / 8;
    for (uint32_t row = 0; row < t->m / 8 * groups * 2; row++) {
        const uint32_t g = row / 2 / groups, j = row / 2 % groups, p = row & 1;
        for (uint32_t lane = 0; lane < 32; lane++) {
            const uint8_t *a = (const uint8_t *)t->a + (8 * g + lane / 4) * bytes;
            const uint8_t *b = (const uint8_t *)t->b + (8 * j + 2 * (lane % 4) + p) * bytes;
            t->d[row][lane] = pg_add_s32(t->zero_c ? 0 : t->c[row][lane],
                                         count_bits(a, b, bytes, t->xor_popc), false);
        }
    }
}

void pg_mma_integer(const pg_mma_tile *t, void *scratch)
{
    if (t->a_type == PG_MMA_B1) {
        multiply_bits(t);
        return;
    }
    uint32_t *const a = scratch, *const b = a + t->m * t->k * 4, *const plain = b + t->n * t->k * 2;
    pg_widen_bytes(t->a, t->a_type == PG_MMA_S8, t->m * t->k, (int32_t *)plain);
    pg_mma_panel_a(plain, t->m, t->k, a);
    pg_widen_bytes(t->b, t->b_type == PG_MMA_S8, t->n * t->k, (int32_t *)plain);
    pg_mma_panel_b(plain, t->n, t->k, b);
    multiply(t, (const int32_t *)a, (const int32_t *)b);
}
