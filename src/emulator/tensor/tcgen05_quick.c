/* See tcgen05_quick.h. The bounds and why they suffice: matrix/mma_quick.h. */
#include "emulator/tensor/tcgen05_quick.h"

#include "emulator/matrix/mma_quick.h"

enum { FRACTION = 25 };

#if defined(__x86_64__)
#include <immintrin.h>

bool pg_tcgen05_quick_runs(void)
{
    return __builtin_cpu_supports("avx2");
}

void pg_tcgen05_quick_pack(const int32_t *exp, uint32_t count, bool twice, void *out)
{
    for (uint32_t i = 0; i < count; i++) {
        const int16_t e = (int16_t)exp[i];
        if (twice)
            ((uint32_t *)out)[i] = (uint16_t)e * 0x10001u;
        else
            ((int16_t *)out)[i] = e;
    }
}

/* Exponents of eight words of D as floats; infinities and NaN get 128. */
__attribute__((target("avx2"))) static inline __m256i exponents_of(__m256i bits)
{
    const __m256i e = _mm256_srli_epi32(_mm256_slli_epi32(bits, 1), 24);
    const __m256i subnormal = _mm256_cmpeq_epi32(e, _mm256_setzero_si256());
    const __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(bits, 1), _mm256_setzero_si256());
    const __m256i exp = _mm256_sub_epi32(_mm256_sub_epi32(e, subnormal), _mm256_set1_epi32(127));
    return _mm256_blendv_epi8(exp, _mm256_set1_epi32(PG_MMA_EXP_OF_ZERO), zero);
}

/* Largest exponent of the products of sixteen columns, as words of eight each. */
__attribute__((target("avx2"))) static inline void
largest(const pg_tcgen05_quick *q, const uint32_t *a, const int16_t *b, __m256i out[2])
{
    __m256i max = _mm256_set1_epi16(INT16_MIN);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < q->k; i++) {
        const __m256i x = _mm256_set1_epi32((int)a[i]);
        const __m256i y = _mm256_loadu_si256((const __m256i *)(b + (size_t)i * q->n));
        max = _mm256_max_epi16(max, _mm256_add_epi16(x, y));
    }
    out[0] = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(max));
    out[1] = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(max, 1));
}

__attribute__((target("avx2"))) static inline __m256 power(__m256i exp)
{
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(exp, _mm256_set1_epi32(127)), 23));
}

/* Whether an exponent of the eight is not for this file; zeros' become 0. */
__attribute__((target("avx2"))) static inline bool are_outside(__m256i *max)
{
    const __m256i zero = _mm256_cmpgt_epi32(_mm256_set1_epi32(PG_QUICK_ZERO), *max);
    *max = _mm256_andnot_si256(zero, *max);
    const __m256i outside =
        _mm256_or_si256(_mm256_cmpgt_epi32(*max, _mm256_set1_epi32(PG_QUICK_MOST)),
                        _mm256_cmpgt_epi32(_mm256_set1_epi32(-PG_QUICK_MOST), *max));
    return !_mm256_testz_si256(outside, outside);
}

/* Sums of 34 bits and less, cut towards zero to a float's significand. */
__attribute__((target("avx2"))) static inline __m128 cut(__m256d sum)
{
    const __m256i mask = _mm256_set1_epi64x(~0x1fffffffLL);
    return _mm256_cvtpd_ps(_mm256_and_pd(sum, _mm256_castsi256_pd(mask)));
}

__attribute__((target("avx2"))) static inline __m256 finish(__m256i first, __m256i second,
                                                            __m256i max)
{
    const __m256d low = _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_castsi256_si128(first)),
                                      _mm256_cvtepi32_pd(_mm256_castsi256_si128(second)));
    const __m256d high = _mm256_add_pd(_mm256_cvtepi32_pd(_mm256_extracti128_si256(first, 1)),
                                       _mm256_cvtepi32_pd(_mm256_extracti128_si256(second, 1)));
    return _mm256_mul_ps(_mm256_set_m128(cut(high), cut(low)),
                         power(_mm256_sub_epi32(max, _mm256_set1_epi32(FRACTION))));
}

/* The products of sixteen columns, in units. */
__attribute__((target("avx2"))) static inline void products(const pg_tcgen05_quick *q,
                                                            const float *a, const float *b,
                                                            const __m256 scale[2], __m256i sum[2])
{
#pragma GCC unroll 8
    for (uint32_t i = 0; i < q->k; i++) {
        const __m256 x = _mm256_set1_ps(a[i]);
        const float *y = b + (size_t)i * q->n;
        const __m256 p = _mm256_mul_ps(_mm256_mul_ps(x, _mm256_loadu_ps(y)), scale[0]);
        const __m256 r = _mm256_mul_ps(_mm256_mul_ps(x, _mm256_loadu_ps(y + 8)), scale[1]);
        sum[0] = _mm256_add_epi32(sum[0], _mm256_cvttps_epi32(p));
        sum[1] = _mm256_add_epi32(sum[1], _mm256_cvttps_epi32(r));
    }
}

__attribute__((target("avx2"))) bool
pg_tcgen05_quick_columns(const pg_tcgen05_quick *q, uint32_t row, uint32_t at, uint32_t *d)
{
    const size_t a = (size_t)row * q->k;
    __m256i max[2], c[2], sum[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    __m256 scale[2];
    largest(q, q->exp_a + a, q->exp_b + at, max);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        __m256i bits = _mm256_setzero_si256();
        if (!q->zero_d)
            bits = _mm256_loadu_si256((const __m256i *)(d + 8 * i));
        const __m256 value = _mm256_mul_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(q->down));
        const __m256i down = _mm256_set1_epi32((int)(pg_bits_of_f32(q->down) >> 23) - 127);
        max[i] = _mm256_max_epi32(max[i], _mm256_add_epi32(exponents_of(bits), down));
        if (are_outside(&max[i]))
            return false;
        scale[i] = power(_mm256_sub_epi32(_mm256_setzero_si256(), max[i]));
        const __m256 units = power(_mm256_sub_epi32(_mm256_set1_epi32(FRACTION), max[i]));
        c[i] = _mm256_cvttps_epi32(_mm256_mul_ps(value, units));
    }
    products(q, q->value_a + a, q->value_b + at, scale, sum);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        _mm256_storeu_ps((float *)(d + 8 * i), finish(sum[i], c[i], max[i]));
    return true;
}
#else
bool pg_tcgen05_quick_runs(void)
{
    return false;
}

void pg_tcgen05_quick_pack(const int32_t *exp, uint32_t count, bool twice, void *out)
{
    (void)exp, (void)count, (void)twice, (void)out;
}

bool pg_tcgen05_quick_columns(const pg_tcgen05_quick *q, uint32_t row, uint32_t at, uint32_t *d)
{
    (void)q, (void)row, (void)at, (void)d;
    return false;
}
#endif
