/* Handlers of cvt. Conversions that compilers emit in inner loops have loops of their own; every
 * other one goes through pg_convert, lane by lane. */
#include "emulator/scalar/cvt_op.h"

#include "emulator/machine/lanes.h"

static inline uint64_t read_lane(const void *row, unsigned bytes, int lane)
{
    switch (bytes) {
    case 2:
        return ((const uint16_t *)row)[lane];
    case 4:
        return ((const uint32_t *)row)[lane];
    default:
        return ((const uint64_t *)row)[lane];
    }
}

static inline void write_lane(void *row, unsigned bytes, int lane, uint64_t value)
{
    switch (bytes) {
    case 2:
        ((uint16_t *)row)[lane] = (uint16_t)value;
        return;
    case 4:
        ((uint32_t *)row)[lane] = (uint32_t)value;
        return;
    default:
        ((uint64_t *)row)[lane] = value;
    }
}

static pg_step convert_any(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_cvt_plan *p = op->extra;
    void *d = pg_row_at(w, op->d);
    const void *a = pg_row_at(w, op->a);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t x = read_lane(a, p->from_lane_bytes, l);
        write_lane(d, p->to_lane_bytes, l, pg_convert(p->to, p->from, x, p->mode));
    }
    return PG_NEXT;
}

/* An int32 of an f32 towards zero, saturated; NaN gives 0. */
static int32_t s32_of_f32(float x)
{
    return x != x ? 0 : x >= 0x1p31f ? INT32_MAX : x < -0x1p31f ? INT32_MIN : (int32_t)x;
}

static PG_UNARY(f32_of_f16, uint32_t, uint16_t,
                (x & 0x7fff) > 0x7c00 ? 0x7fffffff : pg_bits_of_f32(pg_f32_of_f16(x)))
static PG_UNARY(f32_of_bf16, uint32_t, uint16_t, (uint32_t)x << 16)
static PG_UNARY(f16_of_f32, uint16_t, uint32_t, pg_f16_of_f32(pg_f32_of(x)))
static PG_UNARY(bf16_of_f32, uint16_t, uint32_t, pg_bf16_of_f32(pg_f32_of(x)))
static PG_UNARY(f32_of_s32, uint32_t, int32_t, pg_bits_of_f32((float)x))
static PG_UNARY(f32_of_u32, uint32_t, uint32_t, pg_bits_of_f32((float)x))
static PG_UNARY(s32_of_f32_rzi, uint32_t, uint32_t, s32_of_f32(pg_f32_of(x)))
static PG_UNARY(u64_of_u32, uint64_t, uint32_t, x)
static PG_UNARY(s64_of_s32, uint64_t, int32_t, (int64_t)x)
static PG_UNARY(low32_of_64, uint32_t, uint64_t, x)
static PG_UNARY(u32_of_u16, uint32_t, uint16_t, x)
static PG_UNARY(s32_of_s16, uint32_t, int16_t, (int32_t)x)
static PG_UNARY(low16_of_32, uint16_t, uint32_t, x)

/* A plan as a number, for the table: kinds are 0 unsigned, 1 signed, 2 + format. */
#define KIND(is_float, is_signed, bits, format)                                                    \
    ((is_float) ? 0x200u + (unsigned)(format) : (is_signed) ? 0x100u + (bits) : (unsigned)(bits))
#define UNSIGNED(bits) KIND(false, false, bits, 0)
#define SIGNED(bits)   KIND(false, true, bits, 0)
#define FLOAT(format)  KIND(true, false, 0, format)

typedef struct fast_case {
    unsigned to, from;
    int round; /* that it needs; -1: any */
    pg_handler run;
} fast_case;

static const fast_case fast_cases[] = {
    {FLOAT(PG_FMT_F32), FLOAT(PG_FMT_F16), -1, f32_of_f16},
    {FLOAT(PG_FMT_F32), FLOAT(PG_FMT_BF16), -1, f32_of_bf16},
    {FLOAT(PG_FMT_F16), FLOAT(PG_FMT_F32), PG_ROUND_RN, f16_of_f32},
    {FLOAT(PG_FMT_BF16), FLOAT(PG_FMT_F32), PG_ROUND_RN, bf16_of_f32},
    {FLOAT(PG_FMT_F32), SIGNED(32), PG_ROUND_RN, f32_of_s32},
    {FLOAT(PG_FMT_F32), UNSIGNED(32), PG_ROUND_RN, f32_of_u32},
    {SIGNED(32), FLOAT(PG_FMT_F32), PG_ROUND_RZ, s32_of_f32_rzi},
    {UNSIGNED(64), UNSIGNED(32), -1, u64_of_u32},
    {SIGNED(64), SIGNED(32), -1, s64_of_s32},
    {SIGNED(64), UNSIGNED(32), -1, u64_of_u32},
    {UNSIGNED(64), SIGNED(32), -1, s64_of_s32},
    {UNSIGNED(32), UNSIGNED(64), -1, low32_of_64},
    {SIGNED(32), SIGNED(64), -1, low32_of_64},
    {UNSIGNED(32), SIGNED(64), -1, low32_of_64},
    {SIGNED(32), UNSIGNED(64), -1, low32_of_64},
    {UNSIGNED(32), UNSIGNED(16), -1, u32_of_u16},
    {SIGNED(32), UNSIGNED(16), -1, u32_of_u16},
    {SIGNED(32), SIGNED(16), -1, s32_of_s16},
    {UNSIGNED(32), SIGNED(16), -1, s32_of_s16},
    {UNSIGNED(16), UNSIGNED(32), -1, low16_of_32},
    {SIGNED(16), SIGNED(32), -1, low16_of_32},
};

static unsigned kind_of(pg_scalar s)
{
    return KIND(s.is_float, s.is_signed, s.bits, s.format);
}

static unsigned type_bytes(pg_scalar s)
{
    return (s.is_float ? (unsigned)pg_formats[s.format].bits : s.bits) / 8;
}

pg_handler pg_cvt_handler(const pg_cvt_plan *p)
{
    const pg_convert_mode *m = &p->mode;
    const bool plain = !m->ftz && !m->sat && !m->satfinite && !m->relu &&
                       p->to_lane_bytes == type_bytes(p->to) &&
                       p->from_lane_bytes == type_bytes(p->from) &&
                       !(p->to.is_float && p->from.is_float && m->to_integral);
    for (size_t i = 0; plain && i < sizeof fast_cases / sizeof fast_cases[0]; i++) {
        const fast_case *c = &fast_cases[i];
        if (c->to == kind_of(p->to) && c->from == kind_of(p->from) &&
            (c->round < 0 || c->round == (int)m->round))
            return c->run;
    }
    return convert_any;
}

/* ---- packed ---- */

/* Random bits of element i (0 is the lowest): 13 of a half word for f16, 16 for bf16 and the 8- and
 * 6-bit types, 8 for fp4. PTX ISA 9.0, 9.7.9.21, figures of .rs. */
static void set_random(const pg_cvt_packed_plan *p, uint32_t bits, uint32_t i, pg_encode_mode *mode)
{
    const uint32_t half = bits >> (16 * (p->count == 2 ? i : i / 2)) & 0xffff;
    switch (p->to) {
    case PG_FMT_F16:
        mode->random = half & 0x1fff;
        mode->random_bits = 13;
        return;
    case PG_FMT_E2M1:
        mode->random = bits >> (8 * (i / 2) + 16 * (i & 1)) & 0xff;
        mode->random_bits = 8;
        return;
    default:
        mode->random = half;
        mode->random_bits = 16;
    }
}

static uint64_t pack_lane(const pg_warp *w, const pg_op *op, int l)
{
    const pg_cvt_packed_plan *p = op->extra;
    const uint64_t source =
        p->packed_source ? read_lane(pg_row_at(w, op->a), p->from_lane_bytes, l) : 0;
    uint64_t result = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        pg_encode_mode mode = p->mode;
        if (p->random)
            set_random(p, ((const uint32_t *)pg_row_at(w, op->b))[l], i, &mode);
        const uint64_t x = p->packed_source ? source >> p->from_width * i
                                            : ((const uint32_t *)pg_row_at(w, op->rows[i]))[l];
        const uint64_t mask = (1ull << pg_formats[p->from].bits) - 1;
        result |= pg_encode(p->to, pg_decode(p->from, x & mask), mode) << p->to_width * i;
    }
    return result;
}

pg_step pg_op_cvt_packed(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_cvt_packed_plan *p = op->extra;
    void *d = pg_row_at(w, op->d);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        write_lane(d, p->to_lane_bytes, l, pack_lane(w, op, l));
    }
    return PG_NEXT;
}

/* a goes above b; with c, both go below what is left of c after a shift. */
pg_step pg_op_cvt_int_pack(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_cvt_int_pack_plan *p = op->extra;
    const int64_t high = p->is_signed ? (1ll << (p->bits - 1)) - 1 : (1ll << p->bits) - 1;
    const int64_t low = p->is_signed ? -high - 1 : 0;
    const uint32_t mask = (1u << p->bits) - 1;
    uint32_t *d = pg_row_at(w, op->d);
    const int32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);
    const uint32_t *c = pg_row_at(w, op->c);
    PG_EACH_LANE(lanes, const int64_t x = a[l] > high  ? high
                                          : a[l] < low ? low
                                                       : a[l];
                 const int64_t y = b[l] > high  ? high
                                   : b[l] < low ? low
                                                : b[l];
                 const uint32_t above = p->has_c ? c[l] << 2 * p->bits : 0;
                 d[l] = above | ((uint32_t)x & mask) << p->bits | ((uint32_t)y & mask));
    return PG_NEXT;
}
