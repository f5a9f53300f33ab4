/* See video.h. Values are 64-bit integers all the way, so nothing overflows before it saturates
 * or is cut. */
#include "emulator/scalar/video.h"

#include "emulator/machine/lanes.h"
#include "emulator/scalar/scalar.h"
#include "ptx/ptx.h"

static int64_t extend(uint32_t x, unsigned bits, bool is_signed)
{
    const uint32_t part = bits == 32 ? x : x & ((1u << bits) - 1);
    return is_signed && part >> (bits - 1) ? (int64_t)part - (INT64_C(1) << bits) : (int64_t)part;
}

static int64_t clamp(int64_t x, unsigned bits, bool is_signed)
{
    const int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    const int64_t high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    return x < low ? low : x > high ? high : x;
}

/* Bits of the part that a selector with one digit names; 32: the whole register. */
static unsigned part_bits(uint32_t selector)
{
    return !(selector >> PG_SELECT_COUNT_SHIFT & 7) ? 32 : selector & PG_SELECT_HALVES ? 16 : 8;
}

static int64_t part(uint32_t x, uint32_t selector, bool is_signed)
{
    const unsigned bits = part_bits(selector);
    return extend(bits == 32 ? x : x >> bits * (selector & 15), bits, is_signed);
}

static bool compare(int64_t a, int64_t b, unsigned accept)
{
    const unsigned outcome = a < b   ? PG_OUTCOME_LESS
                             : a > b ? PG_OUTCOME_GREATER
                                     : PG_OUTCOME_EQUAL;
    return (outcome & accept) != 0;
}

/* Left by up to 32: what no longer fits keeps its sign, its low word and that it is too large. */
static int64_t shift_left(int64_t x, unsigned n)
{
    const __int128 wide = x * ((__int128)1 << n); /* a shift of what is negative is undefined */
    const int64_t most = INT64_MAX - UINT32_MAX;
    return wide > INT64_MAX ? most : wide < INT64_MIN ? INT64_MIN : (int64_t)wide;
}

static int64_t primary(const pg_video_plan *p, int64_t a, int64_t b)
{
    const unsigned n = (unsigned)(p->wrap ? b & 31 : b > 32 ? 32 : b);
    switch (p->op) {
    case PG_VIDEO_ADD:
        return a + b;
    case PG_VIDEO_SUB:
        return a - b;
    case PG_VIDEO_ABSDIFF:
        return a > b ? a - b : b - a;
    case PG_VIDEO_MIN:
        return a < b ? a : b;
    case PG_VIDEO_MAX:
        return a > b ? a : b;
    case PG_VIDEO_SHL:
        return shift_left(a, n);
    case PG_VIDEO_SHR:
        return a >> n;
    case PG_VIDEO_AVRG: /* away from zero, as the ISA writes it */
        return (a + b + (a + b >= 0)) >> 1;
    default:
        return compare(a, b, p->accept);
    }
}

static uint32_t merge(uint32_t value, uint32_t selector, uint32_t into)
{
    const unsigned bits = part_bits(selector), at = bits == 32 ? 0 : bits * (selector & 15);
    const uint32_t mask = bits == 32 ? UINT32_MAX : ((1u << bits) - 1) << at;
    return (into & ~mask) | (value << at & mask);
}

/* The second operation: its third source has the type of the result, and of a comparison that of
 * the first. The result is not cut to 32 bits before. */
static uint32_t combine(const pg_video_plan *p, int64_t x, uint32_t c)
{
    const int64_t y = extend(c, 32, p->op == PG_VIDEO_SET ? p->a_signed : p->d_signed);
    switch (p->second) {
    case PG_SECOND_ADD:
        return (uint32_t)x + c;
    case PG_SECOND_MIN:
        return (uint32_t)(x < y ? x : y);
    case PG_SECOND_MAX:
        return (uint32_t)(x > y ? x : y);
    default:
        return merge((uint32_t)x, p->d, c);
    }
}

pg_step pg_op_video(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_video_plan *p = op->extra;
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    PG_EACH_LANE(
        lanes, int64_t x = primary(p, part(a[l], p->a, p->a_signed), part(b[l], p->b, p->b_signed));
        x = p->sat ? clamp(x, part_bits(p->d), p->d_signed) : x; d[l] = combine(p, x, c[l]));
    return PG_NEXT;
}

/* The result of a mad is signed when a source is, or when one is subtracted. */
static bool mad_is_signed(const pg_video_plan *p)
{
    return p->a_signed || p->b_signed || ((p->a | p->b | p->c) & PG_SELECT_NEGATED);
}

/* (a * b + c) >> shift, where the product or the addend may be negated, or a * b + c + 1. */
static int64_t multiply_add(const pg_video_plan *p, uint32_t a, uint32_t b, uint32_t c)
{
    __int128 product = (__int128)part(a, p->a, p->a_signed) * part(b, p->b, p->b_signed);
    __int128 addend = extend(c, 32, mad_is_signed(p));
    product = (p->a | p->b) & PG_SELECT_NEGATED ? -product : product;
    addend = p->c & PG_SELECT_NEGATED ? -addend : addend;
    const __int128 sum = (product + addend + p->plus_one) >> p->shift;
    return sum > INT64_MAX ? INT64_MAX - UINT32_MAX + (int64_t)(uint32_t)sum : (int64_t)sum;
}

pg_step pg_op_video_mad(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_video_plan *p = op->extra;
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    PG_EACH_LANE(lanes, int64_t x = multiply_add(p, a[l], b[l], c[l]);
                 d[l] = (uint32_t)(p->sat ? clamp(x, 32, mad_is_signed(p)) : x));
    return PG_NEXT;
}

/* ---- two halves or four bytes ---- */

static uint32_t whole(uint32_t value, unsigned parts)
{
    return parts == 4 ? value & 0xff : value & 0xffff;
}

static uint32_t parts_of_lane(const pg_video_plan *p, uint32_t a, uint32_t b, uint32_t c)
{
    const unsigned bits = 32 / p->parts;
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t sum = c, merged = 0;
    for (unsigned i = 0; i < p->parts; i++) {
        const uint32_t va = (uint32_t)(both >> bits * (p->a >> 4 * i & 15));
        const uint32_t vb = (uint32_t)(both >> bits * (p->b >> 4 * i & 15));
        int64_t x = primary(p, extend(va, bits, p->a_signed), extend(vb, bits, p->b_signed));
        x = p->sat ? clamp(x, bits, p->d_signed) : x;
        const bool chosen = p->d >> i & 1;
        sum += chosen ? (uint32_t)x : 0;
        merged |= whole(chosen ? (uint32_t)x : c >> bits * i, p->parts) << bits * i;
    }
    return p->second == PG_SECOND_ADD ? sum : merged;
}

pg_step pg_op_video_parts(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_video_plan *p = op->extra;
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    PG_EACH_LANE(lanes, d[l] = parts_of_lane(p, a[l], b[l], c[l]));
    return PG_NEXT;
}
