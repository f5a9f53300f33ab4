/* Comparison and selection: setp, set, selp, slct, testp. A comparison function looks at all 32
 * lanes of two rows and returns one bit a lane; the handlers combine, negate and store. PTX ISA
 * 9.0, 9.7.6 and 9.7.3. */
#include "emulator/scalar/scalar.h"

#include "emulator/machine/lanes.h"
#include "emulator/number/float_ops.h"
#include "ptx/ptx.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    LESS = PG_OUTCOME_LESS,
    EQUAL = PG_OUTCOME_EQUAL,
    GREATER = PG_OUTCOME_GREATER,
    UNORDERED = PG_OUTCOME_UNORDERED
};

/* One bit per lane from 32 bytes that are 0 or 255. */
static inline uint32_t pack_lanes(const uint8_t *lane)
{
#if defined(__SSE2__)
    const __m128i low = _mm_loadu_si128((const __m128i *)lane);
    const __m128i high = _mm_loadu_si128((const __m128i *)(lane + 16));
    return (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
#else
    uint32_t bits = 0;
    for (int l = 0; l < PG_LANES; l++)
        bits |= (uint32_t)(lane[l] & 1) << l;
    return bits;
#endif
}

#define COMPARE(NAME, T, condition)                                                                \
    static uint32_t NAME(const void *a, const void *b, unsigned accept)                            \
    {                                                                                              \
        const T *x = a, *y = b;                                                                    \
        uint8_t lane[PG_LANES];                                                                    \
        (void)accept;                                                                              \
        for (int l = 0; l < PG_LANES; l++)                                                         \
            lane[l] = (condition) ? 255 : 0;                                                       \
        return pack_lanes(lane);                                                                   \
    }
#define COMPARE_TYPE(n, T)                                                                         \
    COMPARE(eq_##n, T, x[l] == y[l])                                                               \
    COMPARE(ne_##n, T, x[l] != y[l])                                                               \
    COMPARE(lt_##n, T, x[l] < y[l])                                                                \
    COMPARE(le_##n, T, x[l] <= y[l])                                                               \
    COMPARE(gt_##n, T, x[l] > y[l])                                                                \
    COMPARE(ge_##n, T, x[l] >= y[l])
COMPARE_TYPE(u16, uint16_t)
COMPARE_TYPE(s16, int16_t)
COMPARE_TYPE(u32, uint32_t)
COMPARE_TYPE(s32, int32_t)
COMPARE_TYPE(u64, uint64_t)
COMPARE_TYPE(s64, int64_t)

static unsigned outcome(double x, double y)
{
    return x < y ? LESS : x > y ? GREATER : x == y ? EQUAL : UNORDERED;
}
static double f32_value(uint32_t bits)
{
    return (double)pg_f32_of(bits);
}
static double f32_flushed(uint32_t bits)
{
    return (double)pg_f32_of(pg_f32_flush(bits));
}
static double f16_flushed(uint16_t bits)
{
    return (double)pg_f32_of_f16(bits & 0x7c00u ? bits : bits & 0x8000u);
}
COMPARE(cmp_f32, uint32_t, outcome(f32_value(x[l]), f32_value(y[l])) & accept)
COMPARE(cmp_f32_ftz, uint32_t, outcome(f32_flushed(x[l]), f32_flushed(y[l])) & accept)
COMPARE(cmp_f64, uint64_t, outcome(pg_f64_of(x[l]), pg_f64_of(y[l])) & accept)
COMPARE(cmp_f16, uint16_t,
        outcome((double)pg_f32_of_f16(x[l]), (double)pg_f32_of_f16(y[l])) & accept)
COMPARE(cmp_f16_ftz, uint16_t, outcome(f16_flushed(x[l]), f16_flushed(y[l])) & accept)
COMPARE(cmp_bf16, uint16_t,
        outcome((double)pg_f32_of_bf16(x[l]), (double)pg_f32_of_bf16(y[l])) & accept)

/* The lower and the upper half of packed operands. */
#define COMPARE_HALVES(n, T, value)                                                                \
    COMPARE(cmp_##n##_lower, uint32_t,                                                             \
            outcome((double)value((T)x[l]), (double)value((T)y[l])) & accept)                      \
    COMPARE(cmp_##n##_upper, uint32_t,                                                             \
            outcome((double)value((T)(x[l] >> 16)), (double)value((T)(y[l] >> 16))) & accept)
COMPARE_HALVES(f16x2, uint16_t, pg_f32_of_f16)
COMPARE_HALVES(f16x2_ftz, uint16_t, f16_flushed)
COMPARE_HALVES(bf16x2, uint16_t, pg_f32_of_bf16)

#define SIX(n)                                                                                     \
    {                                                                                              \
        eq_##n, ne_##n, lt_##n, le_##n, gt_##n, ge_##n                                             \
    }
static const pg_compare_fn integer_compare[6][6] = {SIX(u16), SIX(s16), SIX(u32),
                                                    SIX(s32), SIX(u64), SIX(s64)};

/* ---- the comparison that an instruction names ---- */

/* Index into SIX; the names for unsigned integers are synonyms. */
static int integer_index(unsigned cmp)
{
    switch (cmp) {
    case PG_M_CMP_EQ:
        return 0;
    case PG_M_CMP_NE:
        return 1;
    case PG_M_CMP_LT:
    case PG_M_CMP_LO:
        return 2;
    case PG_M_CMP_LE:
    case PG_M_CMP_LS:
        return 3;
    case PG_M_CMP_GT:
    case PG_M_CMP_HI:
        return 4;
    case PG_M_CMP_GE:
    case PG_M_CMP_HS:
        return 5;
    default:
        return -1;
    }
}

unsigned pg_accepted_outcomes(unsigned cmp)
{
    static const uint8_t ordered[6] = {EQUAL,        LESS | GREATER, LESS,
                                       LESS | EQUAL, GREATER,        GREATER | EQUAL};
    if (cmp == PG_M_CMP_NUM)
        return LESS | EQUAL | GREATER;
    if (cmp == PG_M_CMP_NAN)
        return UNORDERED;
    if (cmp >= PG_M_CMP_EQU && cmp <= PG_M_CMP_GEU)
        return ordered[cmp - PG_M_CMP_EQU] | UNORDERED;
    const int i = integer_index(cmp);
    return i < 0 ? 0 : ordered[i];
}

static pg_compare_fn float_compare(pg_ptx_type type, bool ftz)
{
    switch (type) {
    case PG_T_F32:
        return ftz ? cmp_f32_ftz : cmp_f32;
    case PG_T_F64:
        return cmp_f64;
    case PG_T_F16:
        return ftz ? cmp_f16_ftz : cmp_f16;
    case PG_T_BF16:
        return cmp_bf16;
    case PG_T_F16X2:
        return ftz ? cmp_f16x2_ftz_lower : cmp_f16x2_lower;
    case PG_T_BF16X2:
        return cmp_bf16x2_lower;
    default:
        return NULL;
    }
}

pg_compare_fn pg_compare_upper(pg_ptx_type type, bool ftz)
{
    return type == PG_T_BF16X2  ? cmp_bf16x2_upper
           : type != PG_T_F16X2 ? NULL
           : ftz                ? cmp_f16x2_ftz_upper
                                : cmp_f16x2_upper;
}

pg_compare_fn pg_compare_function(pg_ptx_type type, unsigned cmp, bool ftz)
{
    const pg_compare_fn compare = float_compare(type, ftz);
    if (compare || integer_index(cmp) < 0)
        return compare;
    const unsigned bits = pg_ptx_type_bits(type);
    const int row = bits == 16 ? 0 : bits == 32 ? 2 : bits == 64 ? 4 : -1;
    const bool is_signed = pg_ptx_type_class_of(type) == PG_CLASS_SIGNED;
    return row < 0 ? NULL : integer_compare[row + is_signed][integer_index(cmp)];
}

static uint32_t combine(const pg_warp *w, const pg_compare_plan *plan, uint32_t value)
{
    if (!plan->combine)
        return value;
    const uint32_t with = pg_pred_lanes(w, plan->with, plan->with_not);
    return plan->combine == 1 ? value & with : plan->combine == 2 ? value | with : value ^ with;
}

/* ---- setp, set ---- */

pg_step pg_op_setp(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_compare_plan *plan = op->extra;
    const void *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);
    const uint32_t value = plan->compare(a, b, plan->accept);
    const uint32_t other = plan->upper ? plan->upper(a, b, plan->accept) : ~value;
    const uint32_t p = combine(w, plan, value), q = combine(w, plan, other);
    pg_pred_write(w, op->p, lanes, p);
    pg_pred_write(w, op->q, lanes, q);
    return PG_NEXT;
}

pg_step pg_op_set(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_compare_plan *plan = op->extra;
    const uint32_t value =
        combine(w, plan, plan->compare(pg_row_at(w, op->a), pg_row_at(w, op->b), plan->accept));
    const uint32_t yes = plan->float_result ? 0x3f800000u : UINT32_MAX;
    void *d = pg_row_at(w, op->d);
    if (plan->result_bytes == 2) {
        /* f16 results: 1.0 of the type is in imm */
        uint16_t *half = d;
        PG_EACH_LANE(lanes, half[l] = value >> l & 1 ? (uint16_t)op->imm : 0);
        return PG_NEXT;
    }
    uint32_t *word = d;
    PG_EACH_LANE(lanes, word[l] = value >> l & 1 ? yes : 0);
    return PG_NEXT;
}

/* ---- selp, slct ---- */

#define SELECT(NAME, T)                                                                            \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        const uint32_t p = pg_pred_lanes(w, op->q, op->q_not);                                     \
        PG_EACH_LANE(lanes, d[l] = p >> l & 1 ? a[l] : b[l]);                                      \
        return PG_NEXT;                                                                            \
    }
SELECT(pg_op_selp_16, uint16_t)
SELECT(pg_op_selp_32, uint32_t)
SELECT(pg_op_selp_64, uint64_t)

/* a if c >= 0 else b; mode: 1 c is f32, 2 ftz. NaN selects b. */
static bool not_negative(uint32_t c, unsigned mode)
{
    if (!(mode & 1))
        return (int32_t)c >= 0;
    return pg_f32_of(mode & 2 ? pg_f32_flush(c) : c) >= 0.0f;
}

#define SLCT(NAME, T)                                                                              \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        const uint32_t *c = pg_row_at(w, op->c);                                                   \
        PG_EACH_LANE(lanes, d[l] = not_negative(c[l], op->mode) ? a[l] : b[l]);                    \
        return PG_NEXT;                                                                            \
    }
SLCT(pg_op_slct_16, uint16_t)
SLCT(pg_op_slct_32, uint32_t)
SLCT(pg_op_slct_64, uint64_t)

/* ---- testp ---- */

static bool has_property(double x, double smallest_normal, unsigned property)
{
    const double magnitude = x < 0 ? -x : x;
    const bool nan = x != x, infinite = magnitude > 0x1.fffffffffffffp1023;
    switch (property) {
    case PG_M_TESTP_FINITE:
        return !nan && !infinite;
    case PG_M_TESTP_INFINITE:
        return infinite;
    case PG_M_TESTP_NUMBER:
        return !nan;
    case PG_M_TESTP_NOTANUMBER:
        return nan;
    case PG_M_TESTP_NORMAL:
        return !nan && !infinite && (magnitude == 0 || magnitude >= smallest_normal);
    default:
        return !nan && magnitude != 0 && magnitude < smallest_normal;
    }
}

/* mode: 1 f64; imm: the property. */
pg_step pg_op_testp(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const void *a = pg_row_at(w, op->a);
    uint32_t value = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const double x =
            op->mode ? pg_f64_of(((const uint64_t *)a)[l]) : f32_value(((const uint32_t *)a)[l]);
        value |= (uint32_t)has_property(x, op->mode ? 0x1p-1022 : 0x1p-126, (unsigned)op->imm) << l;
    }
    pg_pred_write(w, op->p, lanes, value);
    return PG_NEXT;
}
