/* The table of number formats, exact decoding, and the one rounding routine (pg_pack). */
#include "emulator/number/formats.h"

#include <math.h>

const pg_format pg_formats[PG_FMT_COUNT] = {
    /* name, bits, exp, man, bias, pad, sign, inf, nan, canonical NaN, largest finite */
    [PG_FMT_F16] = {"f16", 16, 5, 10, 15, 0, true, true, true, 0x7fff, 0x7bff},
    [PG_FMT_BF16] = {"bf16", 16, 8, 7, 127, 0, true, true, true, 0x7fff, 0x7f7f},
    [PG_FMT_TF32] = {"tf32", 32, 8, 10, 127, 13, true, true, true, 0x7fffe000, 0x7f7fe000},
    [PG_FMT_E4M3] = {"e4m3", 8, 4, 3, 7, 0, true, false, true, 0x7f, 0x7e},
    [PG_FMT_E5M2] = {"e5m2", 8, 5, 2, 15, 0, true, true, true, 0x7f, 0x7b},
    [PG_FMT_E2M3] = {"e2m3", 6, 2, 3, 1, 0, true, false, false, 0, 0x1f},
    [PG_FMT_E3M2] = {"e3m2", 6, 3, 2, 3, 0, true, false, false, 0, 0x1f},
    [PG_FMT_E2M1] = {"e2m1", 4, 2, 1, 1, 0, true, false, false, 0, 0x7},
    [PG_FMT_UE8M0] = {"ue8m0", 8, 8, 0, 127, 0, false, false, true, 0xff, 0xfe},
    [PG_FMT_F32] = {"f32", 32, 8, 23, 127, 0, true, true, true, 0x7fffffff, 0x7f7fffff},
    [PG_FMT_F64] = {"f64", 64, 11, 52, 1023, 0, true, true, true, 0x7fffffffffffffff,
                    0x7fefffffffffffff},
};

static int top_bit(pg_u128 x)
{
    const uint64_t high = (uint64_t)(x >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)x);
}

static uint64_t sign_bit(const pg_format *f, bool negative)
{
    return negative ? 1ull << (f->bits - 1) : 0;
}

/* Does the discarded part (`rest`, below a unit of 2^shift) round the magnitude up? */
static bool rounds_up(pg_encode_mode mode, bool negative, bool odd, pg_u128 rest, int shift)
{
    const pg_u128 half = (pg_u128)1 << (shift - 1);
    switch (mode.round) {
    case PG_ROUND_RN:
        return rest > half || (rest == half && odd);
    case PG_ROUND_RNA:
        return rest >= half;
    case PG_ROUND_RM:
        return negative && rest != 0;
    case PG_ROUND_RP:
        return !negative && rest != 0;
    case PG_ROUND_RS: {
        const int w = mode.random_bits;
        const pg_u128 lead = shift >= w ? rest >> (shift - w) : rest << (w - shift);
        return lead + mode.random >= (pg_u128)1 << w;
    }
    default:
        return false;
    }
}

/* A result beyond the largest finite value (or an infinity, for which `exact` holds). */
static uint64_t overflow(const pg_format *f, bool negative, bool exact, pg_encode_mode mode)
{
    const uint64_t sign = sign_bit(f, negative);
    if (mode.satfinite)
        return sign | f->max_finite;
    if (!f->has_inf)
        return f->has_nan ? f->canonical_nan : sign | f->max_finite;
    const bool stays_finite =
        !exact && (mode.round == PG_ROUND_RZ || (mode.round == PG_ROUND_RM && !negative) ||
                   (mode.round == PG_ROUND_RP && negative));
    if (stays_finite)
        return sign | f->max_finite;
    return sign | ((1ull << f->exp_bits) - 1) << (f->man_bits + f->low_pad);
}

uint64_t pg_pack(const pg_format *f, bool negative, pg_u128 sig, int exp, pg_encode_mode mode)
{
    if (mode.relu && negative)
        return 0;
    const uint64_t sign = sign_bit(f, negative);
    if (sig == 0)
        return sign;
    const int e = top_bit(sig) + exp; /* the value lies in [2^e, 2^(e+1)) */
    const int e_min = 1 - f->bias;
    const bool subnormal = e < e_min;
    const int shift =
        (subnormal ? e_min : e) - f->man_bits - exp; /* bits below the last kept one */
    uint64_t kept;
    if (shift <= 0) {
        kept = (uint64_t)sig << -shift;
    } else if (shift > 126) { /* far below half of the smallest subnormal */
        kept = rounds_up(mode, negative, false, 1, 126);
    } else {
        kept = (uint64_t)(sig >> shift);
        kept += rounds_up(mode, negative, kept & 1, sig & (((pg_u128)1 << shift) - 1), shift);
    }
    /* `kept` has the leading one of a normal number at man_bits: adding it carries into the
     * exponent. */
    const uint64_t exponent = subnormal ? 0 : (uint64_t)(e - e_min);
    if (exponent >> f->exp_bits)
        return overflow(f, negative, false, mode);
    const uint64_t bits = ((exponent << f->man_bits) + kept) << f->low_pad;
    if (bits > f->max_finite)
        return overflow(f, negative, false, mode);
    return sign | bits;
}

double pg_decode(pg_format_id id, uint64_t bits)
{
    const pg_format *f = &pg_formats[id];
    if (id == PG_FMT_F64)
        return pg_f64_of(bits);
    if (id == PG_FMT_F32)
        return (double)pg_f32_of((uint32_t)bits);
    if (id == PG_FMT_UE8M0)
        return (bits & 0xff) == 0xff ? (double)NAN : __builtin_ldexp(1.0, (int)(bits & 0xff) - 127);
    const uint64_t man_mask = (1ull << f->man_bits) - 1;
    const uint64_t exp_mask = (1ull << f->exp_bits) - 1;
    const uint64_t packed = bits >> f->low_pad;
    const uint64_t man = packed & man_mask;
    const int exp = (int)(packed >> f->man_bits & exp_mask);
    const bool negative = bits >> (f->bits - 1) & 1;
    double magnitude;
    if (f->has_inf && exp == (int)exp_mask)
        magnitude = man ? (double)NAN : (double)INFINITY;
    else if (f->has_nan && !f->has_inf && exp == (int)exp_mask && man == man_mask)
        magnitude = (double)NAN;
    else if (exp == 0)
        magnitude = __builtin_ldexp((double)man, 1 - f->bias - f->man_bits);
    else
        magnitude =
            __builtin_ldexp((double)(man | 1ull << f->man_bits), exp - f->bias - f->man_bits);
    return negative ? -magnitude : magnitude;
}

static uint64_t encode_ue8m0(uint64_t magnitude, pg_encode_mode mode)
{
    if (magnitude > 0x7ff0000000000000u)
        return 0xff;
    if (magnitude == 0x7ff0000000000000u)
        return mode.satfinite ? 0xfe : 0xff;
    if (magnitude == 0)
        return 0;
    int e = 0;
    const double fraction = __builtin_frexp(pg_f64_of(magnitude), &e); /* in [0.5, 1) */
    e += 126;
    if (mode.round == PG_ROUND_RP && fraction != 0.5)
        e++;
    if (e < 0)
        return 0;
    if (e > 254)
        return mode.satfinite ? 0xfe : 0xff;
    return (uint64_t)e;
}

uint64_t pg_encode(pg_format_id id, double x, pg_encode_mode mode)
{
    const pg_format *f = &pg_formats[id];
    const uint64_t bits = pg_bits_of_f64(x);
    const uint64_t magnitude = bits & ~(1ull << 63);
    const bool negative = bits >> 63;
    if (id == PG_FMT_UE8M0)
        return encode_ue8m0(magnitude, mode);
    if (magnitude > 0x7ff0000000000000u)
        return f->has_nan ? f->canonical_nan : f->max_finite;
    if (magnitude == 0x7ff0000000000000u)
        return mode.relu && negative ? 0 : overflow(f, negative, true, mode);
    const int exp = (int)(magnitude >> 52);
    const uint64_t man = magnitude & 0xfffffffffffffu;
    return pg_pack(f, negative, exp ? man | 1ull << 52 : man, (exp ? exp : 1) - 1075, mode);
}
