/* Shapes and fragments of mma.sync. In all shapes lane t owns row t/4 (and rows 8 further for m16),
 * and four lanes share the 16 bytes of K of one register set; the number of registers differs. */
#include "emulator/matrix/mma_sync.h"

#include <math.h>

static const pg_mma_sync_shape shapes[] = {
    /* m, n, k, bits, registers of A, of B, f64 */
    {16, 8, 8, 16, 2, 1, false}, {16, 8, 16, 16, 4, 2, false}, {16, 8, 4, 32, 2, 1, false},
    {16, 8, 8, 32, 4, 2, false}, {16, 8, 16, 8, 2, 1, false},  {16, 8, 32, 8, 4, 2, false},
    {8, 8, 16, 8, 1, 1, false},  {16, 8, 128, 1, 2, 1, false}, {16, 8, 256, 1, 4, 2, false},
    {8, 8, 128, 1, 1, 1, false}, {8, 8, 32, 4, 1, 1, false},   {16, 8, 32, 4, 2, 1, false},
    {16, 8, 64, 4, 4, 2, false}, {8, 8, 4, 64, 1, 1, true},    {16, 8, 4, 64, 2, 1, true},
    {16, 8, 8, 64, 4, 2, true},  {16, 8, 16, 64, 8, 4, true},
};

const pg_mma_sync_shape *pg_mma_sync_find(uint32_t m, uint32_t n, uint32_t k, uint32_t elem_bits)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i].m == m && shapes[i].n == n && shapes[i].k == k &&
            shapes[i].elem_bits == elem_bits)
            return &shapes[i];
    return NULL;
}

const pg_mma_sync_shape *pg_mma_sync_shape_at(uint32_t i)
{
    return i < sizeof shapes / sizeof shapes[0] ? &shapes[i] : NULL;
}

/* Elements of K that one register holds: 32 bits' worth, one f64. */
static uint32_t per_register(const pg_mma_sync_shape *s)
{
    return s->f64 ? 1 : 32 / s->elem_bits;
}

pg_mma_place pg_mma_sync_place_a(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r)
{
    const uint32_t e = per_register(s), halves = s->m / 8; /* row halves come before further K */
    return (pg_mma_place){lane / 4 + 8 * (r % halves), e * (lane % 4 + 4 * (r / halves))};
}

pg_mma_place pg_mma_sync_place_b(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r)
{
    return (pg_mma_place){per_register(s) * (lane % 4 + 4 * r), lane / 4};
}

pg_mma_place pg_mma_sync_place_c(const pg_mma_sync_shape *s, uint32_t lane, uint32_t r)
{
    (void)s;
    return (pg_mma_place){lane / 4 + 8 * (r >> 1), 2 * (lane % 4) + (r & 1)};
}

void pg_mma_sync_f64(const pg_mma_sync_shape *s, const double *a, const double *b, const double *c,
                     double *d)
{
    for (uint32_t row = 0; row < s->m; row++)
        for (uint32_t col = 0; col < s->n; col++) {
            double sum = c[row * s->n + col];
            for (uint32_t k = 0; k < s->k; k++)
                sum = fma(a[row * s->k + k], b[k * s->n + col], sum);
            d[row * s->n + col] = sum;
        }
}
