/* tcgen05.mma on 8-bit integers: sums of at most 32 products are exact in 32 bits; adding D
 * wraps, or clamps. */
#include "emulator/matrix/mma_model.h"
#include "emulator/tensor/tcgen05_tile.h"

/* Eight columns of one row. */
static inline __attribute__((always_inline)) void
eight_outputs(const pg_tcgen05_tile *t, const int32_t *a, const int32_t *b, uint32_t *d)
{
    pg_s32x8 sum = {0};
    for (uint32_t i = 0; i < t->k; i++)
        sum += a[i] * *(const pg_s32x8_in_memory *)(b + (size_t)i * t->n);
    for (uint32_t c = 0; c < 8; c++)
        d[c] = pg_add_s32(t->zero_d ? 0 : d[c], sum[c], t->saturate);
}

static inline __attribute__((always_inline)) void multiply_body(const pg_tcgen05_tile *t,
                                                                const int32_t *a, const int32_t *b)
{
    for (uint32_t row = 0; row < t->m; row++)
        for (uint32_t column = 0; t->d[row] && column < t->n; column += 8)
            eight_outputs(t, a + row * t->k, b + column, t->d[row] + column);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void multiply_avx2(const pg_tcgen05_tile *t,
                                                          const int32_t *a, const int32_t *b)
{
    multiply_body(t, a, b);
}
#endif

static void multiply(const pg_tcgen05_tile *t, const int32_t *a, const int32_t *b)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(t, a, b);
        return;
    }
#endif
    multiply_body(t, a, b);
}

void pg_tcgen05_integer(const pg_tcgen05_tile *t, void *scratch)
{
    int32_t *const a = scratch, *const b = a + t->m * t->k, *const plain = b + t->n * t->k;
    pg_widen_bytes(t->a, t->a_signed, (size_t)t->m * t->k, a);
    pg_widen_bytes(t->b, t->b_signed, (size_t)t->n * t->k, plain);
    pg_tcgen05_transpose((const uint32_t *)plain, t->n, t->k, (uint32_t *)b);
    multiply(t, a, b);
}
