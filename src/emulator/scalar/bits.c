/* Bit instructions: counts, fields, permutations, funnel shifts, dot products of bytes,
 * extended-precision chains. PTX ISA 9.0, sections 9.7.1 to 9.7.2 and 9.7.8. */
#include "emulator/scalar/alu.h"
#include "emulator/scalar/scalar.h"

#include "emulator/machine/lanes.h"

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))

/* ---- counts ---- */

PG_UNARY(pg_op_popc_32, uint32_t, uint32_t, __builtin_popcount(x))
PG_UNARY(pg_op_popc_64, uint32_t, uint64_t, __builtin_popcountll(x))
PG_UNARY(pg_op_clz_32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
PG_UNARY(pg_op_clz_64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)

static uint32_t reverse_32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
PG_UNARY(pg_op_brev_32, uint32_t, uint32_t, reverse_32(x))
PG_UNARY(pg_op_brev_64, uint64_t, uint64_t,
         (uint64_t)reverse_32((uint32_t)x) << 32 | reverse_32((uint32_t)(x >> 32)))

/* Position of the highest bit that differs from the sign, or with `amount` the shift that brings
 * it to the top. */
static uint32_t find_bit(uint64_t x, unsigned bits, bool amount)
{
    if (!x)
        return UINT32_MAX;
    const uint32_t position = 63u - (uint32_t)__builtin_clzll(x);
    return amount ? bits - 1 - position : position;
}
PG_UNARY(pg_op_bfind_u32, uint32_t, uint32_t, find_bit(x, 32, op->imm != 0))
PG_UNARY(pg_op_bfind_s32, uint32_t, int32_t, find_bit((uint32_t)(x < 0 ? ~x : x), 32, op->imm != 0))
PG_UNARY(pg_op_bfind_u64, uint32_t, uint64_t, find_bit(x, 64, op->imm != 0))
PG_UNARY(pg_op_bfind_s64, uint32_t, int64_t, find_bit((uint64_t)(x < 0 ? ~x : x), 64, op->imm != 0))

/* The n-th set bit from `base` on, upwards (n > 0) or downwards; n = 0: base itself if set. */
static uint32_t nth_set_bit(uint32_t mask, uint32_t base, int32_t n)
{
    if (n == 0)
        return base < 32 && (mask >> base & 1) ? base : UINT32_MAX;
    const int step = n > 0 ? 1 : -1;
    uint32_t left = (uint32_t)(n > 0 ? n : -(int64_t)n);
    for (int64_t i = base; i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) && --left == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}
PG_TERNARY(pg_op_fns_32, uint32_t, uint32_t, uint32_t, int32_t, nth_set_bit(x, y, z))

/* ---- fields ---- */

static uint64_t extract(uint64_t x, uint32_t position, uint32_t length, unsigned bits,
                        bool is_signed)
{
    position &= 255;
    length &= 255;
    uint64_t sign = 0;
    if (is_signed && length)
        sign = x >> MIN(position + length - 1, bits - 1) & 1;
    uint64_t field = position < bits ? x >> position : 0;
    const uint32_t valid = position < bits ? MIN(length, bits - position) : 0;
    if (valid < 64)
        field &= (UINT64_C(1) << valid) - 1;
    if (sign && valid < 64)
        field |= ~UINT64_C(0) << valid;
    return field;
}
PG_TERNARY(pg_op_bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, false))
PG_TERNARY(pg_op_bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, true))
PG_TERNARY(pg_op_bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, false))
PG_TERNARY(pg_op_bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, true))

static uint64_t insert(uint64_t field, uint64_t x, uint32_t position, uint32_t length,
                       unsigned bits)
{
    position &= 255;
    length &= 255;
    if (position >= bits || !length)
        return x;
    length = MIN(length, bits - position);
    const uint64_t mask = (length < 64 ? (UINT64_C(1) << length) - 1 : ~UINT64_C(0)) << position;
    return (x & ~mask) | (field << position & mask);
}
/* rows[0]: length */
#define BFI(NAME, T, bits)                                                                         \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        const uint32_t *c = pg_row_at(w, op->c), *e = pg_row_at(w, op->rows[0]);                   \
        PG_EACH_LANE(lanes, d[l] = (T)insert(a[l], b[l], c[l], e[l], bits));                       \
        return PG_NEXT;                                                                            \
    }
BFI(pg_op_bfi_32, uint32_t, 32)
BFI(pg_op_bfi_64, uint64_t, 64)

/* mode: 1 signed, 2 wrap */
static uint32_t sign_or_zero_extend(uint32_t x, uint32_t n, unsigned mode)
{
    if (mode & 2)
        n &= 31;
    if (n >= 32)
        return x;
    const uint32_t mask = (1u << n) - 1;
    const bool negative = (mode & 1) && n && (x >> (n - 1) & 1);
    return negative ? x | ~mask : x & mask;
}
PG_BINARY(pg_op_szext_32, uint32_t, uint32_t, uint32_t, sign_or_zero_extend(x, y, op->mode))

static uint32_t bit_mask(uint32_t position, uint32_t length, bool wrap)
{
    if (wrap) {
        position &= 31;
        length &= 31;
    }
    if (position >= 32 || !length)
        return 0;
    const uint32_t ones = length >= 32 ? UINT32_MAX : (1u << length) - 1;
    return ones << position;
}
PG_BINARY(pg_op_bmsk_32, uint32_t, uint32_t, uint32_t, bit_mask(x, y, (op->mode & 2) != 0))

/* ---- permutation, logic, funnel shift ---- */

static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t pick = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (pick & 7))) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << (8 * i);
    }
    return result;
}

/* The special modes as selectors of the plain one, by the low two bits of c. */
static uint32_t permute_selector(unsigned mode, uint32_t c)
{
    static const uint16_t selectors[7][4] = {
        [1] = {0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
        [2] = {0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
        [3] = {0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
        [4] = {0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
        [5] = {0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
        [6] = {0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
    };
    return mode ? selectors[mode][c & 3] : c;
}
PG_TERNARY(pg_op_prmt_32, uint32_t, uint32_t, uint32_t, uint32_t,
           permute(x, y, permute_selector(op->mode, z)))

static uint32_t lookup(uint32_t a, uint32_t b, uint32_t c, uint64_t table)
{
    uint32_t result = 0;
    for (int i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}
PG_TERNARY(pg_op_lop3_32, uint32_t, uint32_t, uint32_t, uint32_t, lookup(x, y, z, op->imm))

/* lop3 with a predicate: p = (d != 0) and/or q. mode: 1 or */
pg_step pg_op_lop3_pred(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    const uint32_t other = pg_pred_lanes(w, op->q, op->q_not);
    uint32_t nonzero = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        d[l] = lookup(a[l], b[l], c[l], op->imm);
        nonzero |= (uint32_t)(d[l] != 0) << l;
    }
    pg_pred_write(w, op->p, lanes, op->mode ? nonzero | other : nonzero & other);
    return PG_NEXT;
}

static uint32_t funnel(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    const uint32_t n = mode & 2 ? c & 31 : MIN(c, 32);
    return mode & 1 ? (uint32_t)(both >> n) : n ? (uint32_t)(both >> (32 - n)) : b;
}
PG_TERNARY(pg_op_shf_32, uint32_t, uint32_t, uint32_t, uint32_t, funnel(x, y, z, op->mode))

/* ---- dot products ---- */

static int64_t part(uint32_t x, int i, unsigned bits, bool is_signed)
{
    const uint32_t v = x >> (unsigned)i * bits & ((1u << bits) - 1);
    return is_signed && v >> (bits - 1) ? (int64_t)v - (INT64_C(1) << bits) : (int64_t)v;
}

/* mode: 1 a signed, 2 b signed, 4 dp2a on the high half of b, 8 dp2a */
static uint32_t dot(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
    int64_t sum = c;
    const bool halves = (mode & 8) != 0;
    for (int i = 0; i < (halves ? 2 : 4); i++)
        sum += part(a, i, halves ? 16 : 8, (mode & 1) != 0) *
               part(b, halves && (mode & 4) ? i + 2 : i, 8, (mode & 2) != 0);
    return (uint32_t)sum;
}
PG_TERNARY(pg_op_dp_32, uint32_t, uint32_t, uint32_t, uint32_t, dot(x, y, z, op->mode))

/* ---- extended precision ---- The flag is that of the adder, as in SASS and on an H200: after a
 * subtraction, which adds the complement and one, it says "no borrow". The ISA leaves chains of
 * both kinds open; programs (and compilers) have come to mean this. */

#define CARRY(NAME, T, S, W, V, bits)                                                              \
    pg_step NAME##_add(pg_warp *w, const pg_op *op, uint32_t lanes)                                \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        uint32_t carry = w->carry;                                                                 \
        for (uint32_t left = lanes; left; left &= left - 1) {                                      \
            const int l = __builtin_ctz(left);                                                     \
            const W in =                                                                           \
                op->mode & PG_CARRY_IN ? carry >> l & 1 : (op->mode & PG_CARRY_SUBTRACT) != 0;     \
            const W sum = (W)a[l] + (T)(op->mode & PG_CARRY_SUBTRACT ? ~b[l] : b[l]) + in;         \
            d[l] = (T)sum;                                                                         \
            carry = (carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l;                       \
        }                                                                                          \
        if (op->mode & PG_CARRY_OUT)                                                               \
            w->carry = carry;                                                                      \
        return PG_NEXT;                                                                            \
    }                                                                                              \
    pg_step NAME##_mad(pg_warp *w, const pg_op *op, uint32_t lanes)                                \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);      \
        uint32_t carry = w->carry;                                                                 \
        for (uint32_t left = lanes; left; left &= left - 1) {                                      \
            const int l = __builtin_ctz(left);                                                     \
            const W in = op->mode & PG_CARRY_IN ? carry >> l & 1 : 0;                              \
            const W product =                                                                      \
                op->mode & PG_CARRY_IS_SIGNED ? (W)((V)(S)a[l] * (S)b[l]) : (W)a[l] * b[l];        \
            const W sum =                                                                          \
                (W)(T)(op->mode & PG_CARRY_HIGH ? product >> bits : product) + c[l] + in;          \
            d[l] = (T)sum;                                                                         \
            carry = (carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l;                       \
        }                                                                                          \
        if (op->mode & PG_CARRY_OUT)                                                               \
            w->carry = carry;                                                                      \
        return PG_NEXT;                                                                            \
    }
CARRY(pg_op_carry_32, uint32_t, int32_t, uint64_t, int64_t, 32)
CARRY(pg_op_carry_64, uint64_t, int64_t, unsigned __int128, __int128, 64)

/* ---- .relu ---- */

#define RELU(x) MAX(x, 0)
#define RELU_X2(x, y, pick)                                                                        \
    ((uint32_t)(uint16_t)RELU(pick((int16_t)(x), (int16_t)(y))) |                                  \
     (uint32_t)RELU(pick((int16_t)((x) >> 16), (int16_t)((y) >> 16))) << 16)
PG_BINARY(pg_op_min_relu, int32_t, int32_t, int32_t, RELU(MIN(x, y)))
PG_BINARY(pg_op_max_relu, int32_t, int32_t, int32_t, RELU(MAX(x, y)))
PG_BINARY(pg_op_min_relu_x2, uint32_t, uint32_t, uint32_t, RELU_X2(x, y, MIN))
PG_BINARY(pg_op_max_relu_x2, uint32_t, uint32_t, uint32_t, RELU_X2(x, y, MAX))

/* ---- predicates ---- */

/* mode: pg_alu; p = q op (rows: second source as predicate index in imm) */
pg_step pg_op_pred_logic(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t x = pg_pred_lanes(w, op->q, op->q_not);
    const uint32_t y = op->imm ? pg_pred_lanes(w, (pg_pred)op->imm, op->p_not) : 0;
    const uint32_t value = op->mode == PG_ALU_AND   ? x & y
                           : op->mode == PG_ALU_OR  ? x | y
                           : op->mode == PG_ALU_XOR ? x ^ y
                           : op->mode == PG_ALU_NOT ? ~x
                                                    : x;
    pg_pred_write(w, op->p, lanes, value);
    return PG_NEXT;
}
