/* cvt between scalar types. A float source becomes a double (exact), an integer source sign and
 * magnitude; a float result is rounded once by pg_pack, an integer result by pg_int_of_double. */
#include "emulator/number/convert.h"

#include <math.h>

static uint64_t extend(uint64_t value, bool is_signed, int bits)
{
    if (bits == 64)
        return value;
    value &= (1ull << bits) - 1;
    return is_signed && value >> (bits - 1) ? value | ~0ull << bits : value;
}

/* x as an integral double. */
static double round_integral(double x, pg_round how)
{
    switch (how) {
    case PG_ROUND_RZ:
        return trunc(x);
    case PG_ROUND_RM:
        return floor(x);
    case PG_ROUND_RP:
        return ceil(x);
    case PG_ROUND_RNA:
        return round(x);
    default:
        return nearbyint(x);
    }
}

uint64_t pg_int_of_double(double x, pg_round how, pg_int_target target)
{
    if (isnan(x))
        return target.nan_result;
    const double whole = round_integral(x, how);
    const int bits = target.bits;
    /* The limits are powers of two, so they are exact; the upper one is exclusive. */
    if (target.is_signed) {
        const double limit = ldexp(1.0, bits - 1);
        if (whole >= limit)
            return (1ull << (bits - 1)) - 1;
        if (whole < -limit)
            return ~0ull << (bits - 1);
        return (uint64_t)(int64_t)whole;
    }
    if (whole <= 0)
        return 0;
    if (whole >= ldexp(1.0, bits))
        return bits == 64 ? ~0ull : (1ull << bits) - 1;
    return (uint64_t)whole;
}

static uint64_t int_to_int(pg_scalar to, pg_scalar from, uint64_t value, bool sat)
{
    value = extend(value, from.is_signed, from.bits);
    if (!sat)
        return extend(value, to.is_signed, to.bits);
    const bool negative = from.is_signed && value >> 63;
    const uint64_t max = (to.is_signed    ? 1ull << (to.bits - 1)
                          : to.bits == 64 ? 0
                                          : 1ull << to.bits) -
                         1;
    if (!negative)
        return value > max ? max : value;
    if (!to.is_signed)
        return 0;
    const int64_t min = (int64_t)(~0ull << (to.bits - 1));
    return (int64_t)value < min ? (uint64_t)min : value;
}

/* .sat of a float result: [0, 1], NaN gives +0. */
static uint64_t saturate_float(const pg_format *f, uint64_t bits)
{
    const uint64_t sign = 1ull << (f->bits - 1);
    const uint64_t one = (uint64_t)f->bias << f->man_bits;
    const uint64_t infinity = ((1ull << f->exp_bits) - 1) << f->man_bits;
    if ((bits & ~sign) > infinity || (bits & sign))
        return 0;
    return bits > one ? one : bits;
}

static uint64_t int_to_float(pg_scalar to, pg_scalar from, uint64_t value, pg_convert_mode m)
{
    value = extend(value, from.is_signed, from.bits);
    const bool negative = from.is_signed && value >> 63;
    const pg_encode_mode mode = {.round = m.round, .satfinite = m.satfinite, .relu = m.relu};
    return pg_pack(&pg_formats[to.format], negative, negative ? -value : value, 0, mode);
}

/* From and to f64 a NaN keeps its sign and the upper bits of its payload, quieted (with .ftz f32
 * turns canonical first); bf16 becomes f32 by a shift, and rna.tf32 cuts the low bits. Otherwise
 * the result is canonical. As an H200 does. */
static uint64_t converted_nan(pg_format_id to, pg_format_id from, uint64_t value, pg_convert_mode m)
{
    const pg_format *t = &pg_formats[to], *f = &pg_formats[from];
    if (to == PG_FMT_F32 && from == PG_FMT_BF16)
        return value << 16;
    if (to == PG_FMT_TF32 && m.round == PG_ROUND_RNA)
        return value & 0xffffe000u;
    if (to != PG_FMT_F64 && from != PG_FMT_F64)
        return t->canonical_nan;
    if (m.ftz && from == PG_FMT_F32)
        value = f->canonical_nan;
    const uint64_t payload = value & ((1ull << f->man_bits) - 1), sign = value >> (f->bits - 1) & 1;
    const int up = t->man_bits - f->man_bits;
    return sign << (t->bits - 1) | ((1ull << (t->exp_bits + 1)) - 1) << (t->man_bits - 1) |
           (up >= 0 ? payload << up : payload >> -up);
}

static double flushed_operand(pg_scalar from, uint64_t value, bool ftz)
{
    if (ftz && from.format == PG_FMT_F32 && !(value & 0x7f800000u))
        value &= 0x80000000u;
    return pg_decode(from.format, value);
}

static uint64_t float_to_float(pg_scalar to, pg_scalar from, uint64_t value, pg_convert_mode m)
{
    /* f32 to f16 rounds subnormals as they are, also with .ftz, which shows in .rm and .rp. */
    double x = flushed_operand(from, value, m.ftz && to.format != PG_FMT_F16);
    if (m.to_integral)
        x = round_integral(x, m.round);
    const pg_encode_mode mode = {.round = m.round, .satfinite = m.satfinite, .relu = m.relu};
    uint64_t bits = pg_encode(to.format, x, mode);
    if (isnan(x))
        bits = converted_nan(to.format, from.format, value, m);
    if (m.ftz && to.format == PG_FMT_F32 && !(bits & 0x7f800000u))
        bits &= 0x80000000u;
    return m.sat ? saturate_float(&pg_formats[to.format], bits) : bits;
}

uint64_t pg_convert(pg_scalar to, pg_scalar from, uint64_t value, pg_convert_mode m)
{
    if (from.is_float && to.is_float)
        return float_to_float(to, from, value, m);
    if (to.is_float) {
        const uint64_t bits = int_to_float(to, from, value, m);
        return m.sat ? saturate_float(&pg_formats[to.format], bits) : bits;
    }
    if (!from.is_float)
        return int_to_int(to, from, value, m.sat);
    const bool wide = from.format == PG_FMT_F64 || to.bits == 64;
    const uint64_t top = wide ? 1ull << (to.bits - 1) : 0;
    const pg_int_target target = {to.is_signed, to.bits, extend(top, to.is_signed, to.bits)};
    return pg_int_of_double(flushed_operand(from, value, m.ftz), m.round, target);
}
