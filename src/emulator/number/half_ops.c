/* f16 and bf16 arithmetic: exact (or provably sufficient) in double, then one rounding.
 *
 * Sums and products of two 16-bit floats are either exact in double or so far apart in size that
 * rounding twice cannot differ (p >= 2q + 2). A fused multiply-add can differ, so its double sum is
 * rounded to odd. */
#include "emulator/number/half_ops.h"

#include <math.h>

enum { CANONICAL_NAN = 0x7fff };

static pg_format_id format_of(pg_half_mode m)
{
    return m.bf16 ? PG_FMT_BF16 : PG_FMT_F16;
}

static uint16_t flush(uint16_t x, pg_half_mode m)
{
    return m.ftz && !m.bf16 && !(x & 0x7c00) ? x & 0x8000 : x;
}

static double value_of(uint16_t x, pg_half_mode m)
{
    return (double)(m.bf16 ? pg_f32_of_bf16(x) : pg_f32_of_f16(x));
}

static bool is_nan(uint16_t x, pg_half_mode m)
{
    return (x & 0x7fff) > (m.bf16 ? 0x7f80 : 0x7c00);
}

/* a * b + c rounded to odd: the discarded part, if any, shows in the last bit. The product is exact
 * (22 bits). */
static double fma_to_odd(double a, double b, double c)
{
    const double p = a * b;
    const double s = p + c;
    if (!isfinite(s))
        return s;
    /* TwoSum: s + error == p + c exactly. */
    const double c_part = s - p;
    const double error = (p - (s - c_part)) + (c - c_part);
    uint64_t bits = pg_bits_of_f64(s);
    if (error != 0 && !(bits & 1))
        bits += (error > 0) == (s > 0) ? 1 : -1ull;
    return pg_f64_of(bits);
}

static uint16_t finish(double x, pg_half_mode m)
{
    if (isnan(x))
        return m.sat ? 0 : CANONICAL_NAN;
    const pg_encode_mode mode = {.round = PG_ROUND_RN};
    const uint16_t r = flush((uint16_t)pg_encode(format_of(m), x, mode), m);
    const uint16_t one = m.bf16 ? 0x3f80 : 0x3c00;
    if ((m.relu || m.sat) && r >> 15)
        return 0;
    return m.sat && r > one ? one : r;
}

static int order_key(uint16_t x)
{
    return x >> 15 ? -(x & 0x7fff) - 1 : x;
}

static uint16_t minmax(uint16_t a, uint16_t b, bool max, pg_half_mode m)
{
    const bool nan_a = is_nan(a, m), nan_b = is_nan(b, m);
    const uint16_t sign = m.xorsign_abs ? (a ^ b) & 0x8000 : 0;
    if (nan_a || nan_b) {
        if (m.nan || (nan_a && nan_b))
            return CANONICAL_NAN;
        const uint16_t other = nan_a ? b : a;
        return m.xorsign_abs ? (uint16_t)((other & 0x7fff) | sign) : other;
    }
    if (m.xorsign_abs) {
        a &= 0x7fff;
        b &= 0x7fff;
    }
    return (order_key(a) < order_key(b)) == max ? b | sign : a | sign;
}

uint16_t pg_half(pg_half_op op, const uint16_t x[3], pg_half_mode m)
{
    const uint16_t a = flush(x[0], m), b = flush(x[1], m);
    switch (op) {
    case PG_HALF_ADD:
        return finish(value_of(a, m) + value_of(b, m), m);
    case PG_HALF_SUB:
        return finish(value_of(a, m) - value_of(b, m), m);
    case PG_HALF_MUL:
        return finish(value_of(a, m) * value_of(b, m), m);
    case PG_HALF_FMA:
        return finish(fma_to_odd(value_of(a, m), value_of(b, m), value_of(flush(x[2], m), m)), m);
    case PG_HALF_MIN:
    case PG_HALF_MAX:
        return minmax(a, b, op == PG_HALF_MAX, m);
    case PG_HALF_NEG:
        return is_nan(a, m) ? CANONICAL_NAN : a ^ 0x8000;
    case PG_HALF_ABS:
        return is_nan(a, m) ? CANONICAL_NAN : a & 0x7fff;
    case PG_HALF_EX2:
        return finish(exp2(value_of(a, m)), m);
    case PG_HALF_TANH:
        return finish(tanh(value_of(a, m)), m);
    }
    return CANONICAL_NAN;
}

uint32_t pg_half2(pg_half_op op, const uint32_t x[3], pg_half_mode m)
{
    const uint16_t low[3] = {(uint16_t)x[0], (uint16_t)x[1], (uint16_t)x[2]};
    const uint16_t high[3] = {(uint16_t)(x[0] >> 16), (uint16_t)(x[1] >> 16),
                              (uint16_t)(x[2] >> 16)};
    return (uint32_t)pg_half(op, high, m) << 16 | pg_half(op, low, m);
}
