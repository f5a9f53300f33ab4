/* f32 and f64 arithmetic in four rounding modes. Every operation computes the exact value as sign *
 * sig * 2^exp in 128 bits (its lowest bit sticky) and rounds once with pg_pack; round to nearest
 * takes the processor's instruction instead. f32 and f64 share the code: a row of pg_formats tells
 * them apart. */
#include "emulator/number/float_ops.h"

#include <math.h>

enum { CANONICAL_NAN_F32 = 0x7fffffff };

/* A finite operand, taken apart: value = (-1)^negative * sig * 2^exp. */
typedef struct number {
    bool negative, nan, inf;
    uint64_t sig;
    int exp;
} number;

static number take_apart(const pg_format *f, uint64_t bits)
{
    const uint64_t exp_mask = (1ull << f->exp_bits) - 1;
    const uint64_t man = bits & ((1ull << f->man_bits) - 1);
    const uint64_t exp = bits >> f->man_bits & exp_mask;
    number x = {.negative = bits >> (f->bits - 1) & 1};
    if (exp == exp_mask) {
        x.nan = man != 0;
        x.inf = man == 0;
        return x;
    }
    x.sig = exp ? man | 1ull << f->man_bits : man;
    x.exp = (exp ? (int)exp : 1) - f->bias - f->man_bits;
    return x;
}

static uint64_t infinity_of(const pg_format *f, bool negative)
{
    return (negative ? 1ull << (f->bits - 1) : 0) | ((1ull << f->exp_bits) - 1) << f->man_bits;
}

/* NaN of an operation that has no NaN operand. */
static uint64_t invalid(const pg_format *f)
{
    return f->bits == 32 ? CANONICAL_NAN_F32 : 0xfff8000000000000u;
}

/* NaN of an operation with NaN operands: f64 keeps the first one's payload, quieted. */
static uint64_t nan_of(const pg_format *f, uint64_t bits)
{
    return f->bits == 32 ? CANONICAL_NAN_F32 : bits | 1ull << 51;
}

static bool is_nan(const pg_format *f, uint64_t bits)
{
    return (bits & ~(1ull << (f->bits - 1))) > infinity_of(f, false);
}

static uint64_t round_to(const pg_format *f, bool negative, pg_u128 sig, int exp, pg_round round)
{
    return pg_pack(f, negative, sig, exp, (pg_encode_mode){.round = round});
}

static pg_u128 shift_right_sticky(pg_u128 x, int n)
{
    if (n <= 0)
        return x;
    if (n > 127)
        return x != 0;
    return x >> n | ((x & (((pg_u128)1 << n) - 1)) != 0);
}

/* The sum of two exact values, each below 2^107, rounded. The larger exponent's operand moves up to
 * bit 124, so bits are only lost (into the sticky bit) when the other one is too small to cancel
 * more than one bit. */
typedef struct term {
    bool negative;
    pg_u128 sig;
    int exp;
} term;

static int term_top(term t)
{
    const uint64_t high = (uint64_t)(t.sig >> 64);
    return t.exp + (high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)t.sig));
}

static uint64_t add_terms(const pg_format *f, term a, term b, pg_round round)
{
    if (!a.sig && !b.sig) {
        const bool negative = a.negative == b.negative ? a.negative : round == PG_ROUND_RM;
        return round_to(f, negative, 0, 0, round);
    }
    if (!a.sig || !b.sig) {
        const term t = a.sig ? a : b;
        return round_to(f, t.negative, t.sig, t.exp, round);
    }
    if (term_top(a) < term_top(b)) {
        const term t = a;
        a = b;
        b = t;
    }
    const int up = 124 - (term_top(a) - a.exp);
    a.sig <<= up;
    a.exp -= up;
    /* b goes to a's exponent: up if it fits (it is below a's top bit), down with a sticky bit
     * otherwise. */
    b.sig = b.exp >= a.exp ? b.sig << (b.exp - a.exp) : shift_right_sticky(b.sig, a.exp - b.exp);
    if (a.negative == b.negative)
        return round_to(f, a.negative, a.sig + b.sig, a.exp, round);
    if (a.sig == b.sig)
        return round_to(f, round == PG_ROUND_RM, 0, 0, round);
    if (a.sig > b.sig)
        return round_to(f, a.negative, a.sig - b.sig, a.exp, round);
    return round_to(f, b.negative, b.sig - a.sig, a.exp, round);
}

static uint64_t exact_fma(const pg_format *f, const uint64_t x[3], pg_round round)
{
    static const int by_rank[] = {1, 2, 0}; /* which NaN wins */
    for (int i = 0; i < 3; i++)
        if (is_nan(f, x[by_rank[i]]))
            return nan_of(f, x[by_rank[i]]);
    const number a = take_apart(f, x[0]), b = take_apart(f, x[1]), c = take_apart(f, x[2]);
    const bool negative = a.negative != b.negative;
    if (a.inf || b.inf) {
        const bool zero_times_inf = (a.inf && !b.inf && !b.sig) || (b.inf && !a.inf && !a.sig);
        if (zero_times_inf || (c.inf && c.negative != negative))
            return invalid(f);
        return infinity_of(f, negative);
    }
    if (c.inf)
        return infinity_of(f, c.negative);
    const term product = {negative, (pg_u128)a.sig * b.sig, a.exp + b.exp};
    return add_terms(f, product, (term){c.negative, c.sig, c.exp}, round);
}

static uint64_t exact_add(const pg_format *f, uint64_t a, uint64_t b, pg_round round)
{
    if (is_nan(f, a) || is_nan(f, b))
        return nan_of(f, is_nan(f, b) ? b : a);
    const number x = take_apart(f, a), y = take_apart(f, b);
    if (x.inf && y.inf && x.negative != y.negative)
        return invalid(f);
    if (x.inf || y.inf)
        return x.inf ? a : b;
    return add_terms(f, (term){x.negative, x.sig, x.exp}, (term){y.negative, y.sig, y.exp}, round);
}

static uint64_t exact_mul(const pg_format *f, uint64_t a, uint64_t b, pg_round round)
{
    if (is_nan(f, a) || is_nan(f, b))
        return nan_of(f, is_nan(f, b) ? b : a);
    const number x = take_apart(f, a), y = take_apart(f, b);
    const bool negative = x.negative != y.negative;
    if (x.inf || y.inf) {
        if ((!x.inf && !x.sig) || (!y.inf && !y.sig))
            return invalid(f);
        return infinity_of(f, negative);
    }
    return round_to(f, negative, (pg_u128)x.sig * y.sig, x.exp + y.exp, round);
}

static uint64_t exact_div(const pg_format *f, uint64_t a, uint64_t b, pg_round round)
{
    if (is_nan(f, a) || is_nan(f, b))
        return nan_of(f, is_nan(f, a) ? a : b);
    const number x = take_apart(f, a), y = take_apart(f, b);
    const bool negative = x.negative != y.negative;
    if ((x.inf && y.inf) || (!x.inf && !y.inf && !x.sig && !y.sig))
        return invalid(f);
    if (x.inf || (!y.inf && !y.sig))
        return infinity_of(f, negative);
    if (y.inf || !x.sig)
        return round_to(f, negative, 0, 0, round);
    /* The top bits go up first, so the quotient always has more than 60 bits. */
    const int up_x = __builtin_clzll(x.sig), up_y = __builtin_clzll(y.sig);
    const pg_u128 dividend = (pg_u128)(x.sig << up_x) << 63;
    const uint64_t divisor = y.sig << up_y;
    const pg_u128 quotient = dividend / divisor;
    const bool sticky = dividend % divisor != 0;
    return round_to(f, negative, quotient << 1 | sticky, x.exp - up_x - 63 - y.exp + up_y - 1,
                    round);
}

static uint64_t exact_sqrt(const pg_format *f, uint64_t a, pg_round round)
{
    if (is_nan(f, a))
        return nan_of(f, a);
    const number x = take_apart(f, a);
    if (!x.inf && !x.sig)
        return a;
    if (x.negative)
        return invalid(f);
    if (x.inf)
        return a;
    /* sig * 2^exp with an even exponent and the top bit at 125 or 124: a root of 63 bits. */
    int up = 125 - (63 - __builtin_clzll(x.sig));
    up -= (x.exp - up) & 1;
    const pg_u128 radicand = (pg_u128)x.sig << up;
    pg_u128 root = 0;
    for (int bit = 62; bit >= 0; bit--) {
        const pg_u128 next = root | (pg_u128)1 << bit;
        if (next * next <= radicand)
            root = next;
    }
    const bool sticky = root * root != radicand;
    return round_to(f, false, root << 1 | sticky, (x.exp - up) / 2 - 1, round);
}

/* f32: flush and clamp around the exact routines and the processor's instructions. */

static uint32_t finish(uint32_t r, pg_float_mode m)
{
    if ((r & 0x7fffffffu) > 0x7f800000u)
        return m.sat ? 0 : CANONICAL_NAN_F32;
    if (m.ftz)
        r = pg_f32_flush(r);
    if (m.sat) {
        if (r >> 31)
            return 0;
        if (r > 0x3f800000u)
            return 0x3f800000u;
    }
    return r;
}

static inline uint32_t flush_if(uint32_t a, bool ftz)
{
    return ftz ? pg_f32_flush(a) : a;
}

uint32_t pg_f32_add(uint32_t a, uint32_t b, pg_float_mode m)
{
    a = flush_if(a, m.ftz);
    b = flush_if(b, m.ftz);
    const uint32_t r = m.round == PG_ROUND_RN
                           ? pg_bits_of_f32(pg_f32_of(a) + pg_f32_of(b))
                           : (uint32_t)exact_add(&pg_formats[PG_FMT_F32], a, b, m.round);
    return finish(r, m);
}

uint32_t pg_f32_sub(uint32_t a, uint32_t b, pg_float_mode m)
{
    return pg_f32_add(a, b ^ 0x80000000u, m);
}

uint32_t pg_f32_mul(uint32_t a, uint32_t b, pg_float_mode m)
{
    a = flush_if(a, m.ftz);
    b = flush_if(b, m.ftz);
    const uint32_t r = m.round == PG_ROUND_RN
                           ? pg_bits_of_f32(pg_f32_of(a) * pg_f32_of(b))
                           : (uint32_t)exact_mul(&pg_formats[PG_FMT_F32], a, b, m.round);
    return finish(r, m);
}

uint32_t pg_f32_fma(uint32_t a, uint32_t b, uint32_t c, pg_float_mode m)
{
    const uint64_t x[3] = {flush_if(a, m.ftz), flush_if(b, m.ftz), flush_if(c, m.ftz)};
    const uint32_t r =
        m.round == PG_ROUND_RN
            ? pg_bits_of_f32(fmaf(pg_f32_of((uint32_t)x[0]), pg_f32_of((uint32_t)x[1]),
                                  pg_f32_of((uint32_t)x[2])))
            : (uint32_t)exact_fma(&pg_formats[PG_FMT_F32], x, m.round);
    return finish(r, m);
}

uint32_t pg_f32_div(uint32_t a, uint32_t b, pg_float_mode m)
{
    a = flush_if(a, m.ftz);
    b = flush_if(b, m.ftz);
    const uint32_t r = m.round == PG_ROUND_RN
                           ? pg_bits_of_f32(pg_f32_of(a) / pg_f32_of(b))
                           : (uint32_t)exact_div(&pg_formats[PG_FMT_F32], a, b, m.round);
    return finish(r, m);
}

uint32_t pg_f32_rcp(uint32_t a, pg_float_mode m)
{
    return pg_f32_div(0x3f800000u, a, m);
}

uint32_t pg_f32_sqrt(uint32_t a, pg_float_mode m)
{
    a = flush_if(a, m.ftz);
    const uint32_t r = m.round == PG_ROUND_RN
                           ? pg_bits_of_f32(sqrtf(pg_f32_of(a)))
                           : (uint32_t)exact_sqrt(&pg_formats[PG_FMT_F32], a, m.round);
    return finish(r, m);
}

/* f64. NaN operands are sorted out before the processor, whose choice depends on operand order. */

static const pg_format *const f64 = &pg_formats[PG_FMT_F64];

/* The processor's NaN of an invalid operation has a sign of its own: negative on x86, positive
 * on Arm. */
static uint64_t f64_result(double d)
{
    return isnan(d) ? invalid(f64) : pg_bits_of_f64(d);
}

uint64_t pg_f64_add(uint64_t a, uint64_t b, pg_round round)
{
    if (round != PG_ROUND_RN || is_nan(f64, a) || is_nan(f64, b))
        return exact_add(f64, a, b, round);
    return f64_result(pg_f64_of(a) + pg_f64_of(b));
}

uint64_t pg_f64_sub(uint64_t a, uint64_t b, pg_round round)
{
    return is_nan(f64, b) ? pg_f64_add(a, b, round) : pg_f64_add(a, b ^ 1ull << 63, round);
}

uint64_t pg_f64_mul(uint64_t a, uint64_t b, pg_round round)
{
    if (round != PG_ROUND_RN || is_nan(f64, a) || is_nan(f64, b))
        return exact_mul(f64, a, b, round);
    return f64_result(pg_f64_of(a) * pg_f64_of(b));
}

uint64_t pg_f64_fma(uint64_t a, uint64_t b, uint64_t c, pg_round round)
{
    const uint64_t x[3] = {a, b, c};
    if (round != PG_ROUND_RN || is_nan(f64, a) || is_nan(f64, b) || is_nan(f64, c))
        return exact_fma(f64, x, round);
    return f64_result(fma(pg_f64_of(a), pg_f64_of(b), pg_f64_of(c)));
}

uint64_t pg_f64_div(uint64_t a, uint64_t b, pg_round round)
{
    if (round != PG_ROUND_RN || is_nan(f64, a) || is_nan(f64, b))
        return exact_div(f64, a, b, round);
    return f64_result(pg_f64_of(a) / pg_f64_of(b));
}

uint64_t pg_f64_rcp(uint64_t a, pg_round round)
{
    return pg_f64_div(0x3ff0000000000000u, a, round);
}

uint64_t pg_f64_sqrt(uint64_t a, pg_round round)
{
    if (round != PG_ROUND_RN || is_nan(f64, a))
        return exact_sqrt(f64, a, round);
    return f64_result(sqrt(pg_f64_of(a)));
}

/* Orders all numbers, -0 below +0. */
static int64_t order_key(uint64_t bits, int width)
{
    const uint64_t sign = 1ull << (width - 1);
    return bits & sign ? -(int64_t)(bits & ~sign) - 1 : (int64_t)bits;
}

uint32_t pg_f32_minmax(uint32_t a, uint32_t b, pg_minmax_mode m)
{
    a = flush_if(a, m.ftz);
    b = flush_if(b, m.ftz);
    const pg_format *f = &pg_formats[PG_FMT_F32];
    const bool nan_a = is_nan(f, a), nan_b = is_nan(f, b);
    const uint32_t sign = m.xorsign_abs ? (a ^ b) & 0x80000000u : 0;
    if (nan_a || nan_b) {
        if (m.nan || (nan_a && nan_b))
            return CANONICAL_NAN_F32;
        const uint32_t other = nan_a ? b : a;
        return m.xorsign_abs ? (other & 0x7fffffffu) | sign : other;
    }
    if (m.xorsign_abs) {
        a &= 0x7fffffffu;
        b &= 0x7fffffffu;
    }
    const bool a_less = order_key(a, 32) < order_key(b, 32);
    return (a_less == m.max ? b : a) | sign;
}

uint64_t pg_f64_minmax(uint64_t a, uint64_t b, bool max)
{
    if (is_nan(f64, a) || is_nan(f64, b)) {
        if (is_nan(f64, a) && is_nan(f64, b))
            return nan_of(f64, b);
        return is_nan(f64, a) ? b : a;
    }
    return (order_key(a, 64) < order_key(b, 64)) == max ? b : a;
}

typedef float f32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(4), may_alias));

/* NaN become the canonical one. */
static inline void keep_four(uint32_t *d, f32x4 r)
{
    const u32x4 nan = (u32x4)(r != r);
    *(u32x4 *)d = ((u32x4)r & ~nan) | (nan & CANONICAL_NAN_F32);
}

void pg_f32_add_lanes(uint32_t *d, const uint32_t *a, const uint32_t *b, size_t n, bool ftz)
{
    const pg_float_mode m = {PG_ROUND_RN, ftz, false};
    size_t i = 0;
    for (; !ftz && i + 4 <= n; i += 4)
        keep_four(d + i, *(const f32x4 *)(a + i) + *(const f32x4 *)(b + i));
    for (; i < n; i++)
        d[i] = finish(
            pg_bits_of_f32(pg_f32_of(flush_if(a[i], ftz)) + pg_f32_of(flush_if(b[i], ftz))), m);
}

void pg_f32_mul_lanes(uint32_t *d, const uint32_t *a, const uint32_t *b, size_t n, bool ftz)
{
    const pg_float_mode m = {PG_ROUND_RN, ftz, false};
    size_t i = 0;
    for (; !ftz && i + 4 <= n; i += 4)
        keep_four(d + i, *(const f32x4 *)(a + i) * *(const f32x4 *)(b + i));
    for (; i < n; i++)
        d[i] = finish(
            pg_bits_of_f32(pg_f32_of(flush_if(a[i], ftz)) * pg_f32_of(flush_if(b[i], ftz))), m);
}

static inline __attribute__((always_inline)) void fma_lanes(uint32_t *d, pg_fma_operands x,
                                                            size_t n, bool ftz)
{
    const pg_float_mode m = {PG_ROUND_RN, ftz, false};
    size_t i = 0;
    for (; !ftz && i + 4 <= n; i += 4) {
        f32x4 r;
        for (size_t l = 0; l < 4; l++)
            r[l] =
                __builtin_fmaf(pg_f32_of(x.a[i + l]), pg_f32_of(x.b[i + l]), pg_f32_of(x.c[i + l]));
        keep_four(d + i, r);
    }
    for (; i < n; i++) {
        const float a = pg_f32_of(flush_if(x.a[i], ftz)), b = pg_f32_of(flush_if(x.b[i], ftz));
        d[i] = finish(pg_bits_of_f32(__builtin_fmaf(a, b, pg_f32_of(flush_if(x.c[i], ftz)))), m);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void fma_lanes_avx2(uint32_t *d, pg_fma_operands x,
                                                               size_t n, bool ftz)
{
    fma_lanes(d, x, n, ftz);
}
#endif

void pg_f32_fma_lanes(uint32_t *d, pg_fma_operands x, size_t n, bool ftz)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        fma_lanes_avx2(d, x, n, ftz);
        return;
    }
#endif
    fma_lanes(d, x, n, ftz);
}
