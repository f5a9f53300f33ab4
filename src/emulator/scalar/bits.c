/* Bit instructions: counts, fields, permutations, funnel shifts, dot products of bytes, extended-precision
 * chains. Handlers and their decoding. PTX ISA 9.0, sections 9.7.1 to 9.7.2 and 9.7.8. */
#include "emulator/scalar/alu.h"
#include "emulator/decode/families.h"
#include "emulator/machine/lanes.h"

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))

/* ---- counts ---- */

PG_UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(x))
PG_UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(x))
PG_UNARY(clz_32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
PG_UNARY(clz_64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)

static uint32_t reverse_32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
PG_UNARY(brev_32, uint32_t, uint32_t, reverse_32(x))
PG_UNARY(brev_64, uint64_t, uint64_t,
         (uint64_t)reverse_32((uint32_t)x) << 32 | reverse_32((uint32_t)(x >> 32)))

/* Position of the highest bit that differs from the sign, or with `amount` the shift that brings it to the top. */
static uint32_t find_bit(uint64_t x, unsigned bits, bool amount)
{
    if (!x)
        return UINT32_MAX;
    const uint32_t position = 63u - (uint32_t)__builtin_clzll(x);
    return amount ? bits - 1 - position : position;
}
PG_UNARY(bfind_u32, uint32_t, uint32_t, find_bit(x, 32, op->imm != 0))
PG_UNARY(bfind_s32, uint32_t, int32_t, find_bit((uint32_t)(x < 0 ? ~x : x), 32, op->imm != 0))
PG_UNARY(bfind_u64, uint32_t, uint64_t, find_bit(x, 64, op->imm != 0))
PG_UNARY(bfind_s64, uint32_t, int64_t, find_bit((uint64_t)(x < 0 ? ~x : x), 64, op->imm != 0))

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
PG_TERNARY(fns_32, uint32_t, uint32_t, uint32_t, int32_t, nth_set_bit(x, y, z))

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
PG_TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, false))
PG_TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, true))
PG_TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, false))
PG_TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, true))

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
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        const uint32_t *c = pg_row_at(w, op->c), *e = pg_row_at(w, op->rows[0]);                   \
        PG_EACH_LANE(lanes, d[l] = (T)insert(a[l], b[l], c[l], e[l], bits));                       \
        return PG_NEXT;                                                                            \
    }
BFI(bfi_32, uint32_t, 32)
BFI(bfi_64, uint64_t, 64)

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
PG_BINARY(szext_32, uint32_t, uint32_t, uint32_t, sign_or_zero_extend(x, y, op->mode))

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
PG_BINARY(bmsk_32, uint32_t, uint32_t, uint32_t, bit_mask(x, y, (op->mode & 2) != 0))

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
PG_TERNARY(prmt_32, uint32_t, uint32_t, uint32_t, uint32_t,
           permute(x, y, permute_selector(op->mode, z)))

static uint32_t lookup(uint32_t a, uint32_t b, uint32_t c, uint64_t table)
{
    uint32_t result = 0;
    for (int i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}
PG_TERNARY(lop3_32, uint32_t, uint32_t, uint32_t, uint32_t, lookup(x, y, z, op->imm))

/* lop3 with a predicate: p = (d != 0) and/or q. mode: 1 or */
static pg_step lop3_pred(pg_warp *w, const pg_op *op, uint32_t lanes)
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
PG_TERNARY(shf_32, uint32_t, uint32_t, uint32_t, uint32_t, funnel(x, y, z, op->mode))

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
PG_TERNARY(dp_32, uint32_t, uint32_t, uint32_t, uint32_t, dot(x, y, z, op->mode))

/* ---- extended precision ---- */

enum { CARRY_IN = 1, CARRY_OUT = 2, SUBTRACT = 4, HIGH = 8, IS_SIGNED = 16 };

#define CARRY(NAME, T, S, W, V, bits)                                                              \
    static pg_step NAME##_add(pg_warp *w, const pg_op *op, uint32_t lanes)                         \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        uint32_t carry = w->carry;                                                                 \
        for (uint32_t left = lanes; left; left &= left - 1) {                                      \
            const int l = __builtin_ctz(left);                                                     \
            const W in = op->mode & CARRY_IN ? carry >> l & 1 : 0;                                 \
            /* subtraction keeps "no borrow" out of it: the flag is the borrow */                  \
            const W sum = op->mode & SUBTRACT ? (W)a[l] - b[l] - in : (W)a[l] + b[l] + in;         \
            d[l] = (T)sum;                                                                         \
            carry = (carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l;                       \
        }                                                                                          \
        if (op->mode & CARRY_OUT)                                                                  \
            w->carry = carry;                                                                      \
        return PG_NEXT;                                                                            \
    }                                                                                              \
    static pg_step NAME##_mad(pg_warp *w, const pg_op *op, uint32_t lanes)                         \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);      \
        uint32_t carry = w->carry;                                                                 \
        for (uint32_t left = lanes; left; left &= left - 1) {                                      \
            const int l = __builtin_ctz(left);                                                     \
            const W in = op->mode & CARRY_IN ? carry >> l & 1 : 0;                                 \
            const W product = op->mode & IS_SIGNED ? (W)((V)(S)a[l] * (S)b[l]) : (W)a[l] * b[l];   \
            const W sum = (W)(T)(op->mode & HIGH ? product >> bits : product) + c[l] + in;         \
            d[l] = (T)sum;                                                                         \
            carry = (carry & ~(1u << l)) | (uint32_t)(sum >> bits & 1) << l;                       \
        }                                                                                          \
        if (op->mode & CARRY_OUT)                                                                  \
            w->carry = carry;                                                                      \
        return PG_NEXT;                                                                            \
    }
CARRY(carry_32, uint32_t, int32_t, uint64_t, int64_t, 32)
CARRY(carry_64, uint64_t, int64_t, unsigned __int128, __int128, 64)

void pg_decode_carry(pg_decoder *d, pg_op *op, pg_carry c)
{
    const pg_ptx_type type = pg_type(d, 0);
    const bool wide = pg_ptx_type_bits(type) == 64;
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    if (c.kind == PG_CARRY_MAD)
        op->c = pg_source(d, pg_operand(d, 3), type);
    op->mode = (uint8_t)((c.in ? CARRY_IN : 0) | (c.out ? CARRY_OUT : 0) |
                         (c.kind == PG_CARRY_SUB ? SUBTRACT : 0) | (c.high ? HIGH : 0) |
                         (pg_ptx_type_class_of(type) == PG_CLASS_SIGNED ? IS_SIGNED : 0));
    if (c.kind == PG_CARRY_MAD)
        op->run = wide ? carry_64_mad : carry_32_mad;
    else
        op->run = wide ? carry_64_add : carry_32_add;
}

/* ---- .relu ---- */

#define RELU(x) MAX(x, 0)
#define RELU_X2(x, y, pick)                                                                        \
    ((uint32_t)(uint16_t)RELU(pick((int16_t)(x), (int16_t)(y))) |                                  \
     (uint32_t)RELU(pick((int16_t)((x) >> 16), (int16_t)((y) >> 16))) << 16)
PG_BINARY(min_relu, int32_t, int32_t, int32_t, RELU(MIN(x, y)))
PG_BINARY(max_relu, int32_t, int32_t, int32_t, RELU(MAX(x, y)))
PG_BINARY(min_relu_x2, uint32_t, uint32_t, uint32_t, RELU_X2(x, y, MIN))
PG_BINARY(max_relu_x2, uint32_t, uint32_t, uint32_t, RELU_X2(x, y, MAX))

pg_handler pg_relu_handler(bool max, bool packed)
{
    return max ? (packed ? max_relu_x2 : max_relu) : (packed ? min_relu_x2 : min_relu);
}

/* ---- predicates ---- */

/* mode: pg_alu; p = q op (rows: second source as predicate index in imm) */
static pg_step pred_logic(pg_warp *w, const pg_op *op, uint32_t lanes)
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

void pg_decode_pred_logic(pg_decoder *d, pg_op *op, pg_alu alu)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->q = pg_source_pred(d, pg_operand(d, 1), &op->q_not);
    if (pg_operand_present(d, 2))
        op->imm = pg_source_pred(d, pg_operand(d, 2), &op->p_not);
    op->mode = (uint8_t)alu;
    op->run = pred_logic;
}

/* ---- decoding ---- */

static bool is_64(const pg_decoder *d)
{
    return pg_ptx_type_bits(pg_type(d, 0)) == 64;
}

static bool is_signed_type(const pg_decoder *d, unsigned i)
{
    return pg_ptx_type_class_of(pg_type(d, i)) == PG_CLASS_SIGNED;
}

/* d and sources: the first of the instruction's type, the others u32 when `rest_u32`. */
static void operands(pg_decoder *d, pg_op *op, bool rest_u32)
{
    pg_row *const slots[3] = {&op->a, &op->b, &op->c};
    op->d = pg_dest(d, pg_operand(d, 0));
    for (uint32_t i = 1; i < d->insn->n_operands && i <= 3; i++)
        *slots[i - 1] =
            pg_source(d, pg_operand(d, i), rest_u32 && i > 1 ? PG_T_U32 : pg_type(d, 0));
}

#define BITS(name, rest_u32, handler)                                                              \
    void pg_decode_##name(pg_decoder *d, pg_op *op)                                                \
    {                                                                                              \
        operands(d, op, rest_u32);                                                                 \
        op->run = handler;                                                                         \
    }
BITS(popc, false, is_64(d) ? popc_64 : popc_32)
BITS(clz, false, is_64(d) ? clz_64 : clz_32)
BITS(brev, false, is_64(d) ? brev_64 : brev_32)
BITS(fns, false, fns_32)
BITS(bfe, true,
     is_64(d) ? (is_signed_type(d, 0) ? bfe_s64 : bfe_u64)
              : (is_signed_type(d, 0) ? bfe_s32 : bfe_u32))

void pg_decode_bfind(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    op->imm = pg_mod(d, PG_F_SHIFTAMT) != 0;
    op->run = is_64(d) ? (is_signed_type(d, 0) ? bfind_s64 : bfind_u64)
                       : (is_signed_type(d, 0) ? bfind_s32 : bfind_u32);
}

void pg_decode_bfi(pg_decoder *d, pg_op *op)
{
    pg_row *rows = pg_new_rows(d, 1);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->b = pg_source(d, pg_operand(d, 2), pg_type(d, 0));
    op->c = pg_source(d, pg_operand(d, 3), PG_T_U32);
    if (!rows)
        return;
    rows[0] = pg_source(d, pg_operand(d, 4), PG_T_U32);
    op->rows = rows;
    op->row_count = 1;
    op->run = is_64(d) ? bfi_64 : bfi_32;
}

void pg_decode_szext(pg_decoder *d, pg_op *op)
{
    operands(d, op, true);
    op->mode = (uint8_t)((is_signed_type(d, 0) ? 1 : 0) |
                         (pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0));
    op->run = szext_32;
}

void pg_decode_bmsk(pg_decoder *d, pg_op *op)
{
    operands(d, op, true);
    op->mode = pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0;
    op->run = bmsk_32;
}

static void dot_product(pg_decoder *d, pg_op *op, unsigned mode)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->b = pg_source(d, pg_operand(d, 2), pg_type(d, 1));
    op->c = pg_source(d, pg_operand(d, 3), PG_T_B32);
    op->mode = (uint8_t)(mode | (is_signed_type(d, 0) ? 1 : 0) | (is_signed_type(d, 1) ? 2 : 0));
    op->run = dp_32;
}

void pg_decode_dp4a(pg_decoder *d, pg_op *op)
{
    dot_product(d, op, 0);
}

void pg_decode_dp2a(pg_decoder *d, pg_op *op)
{
    dot_product(d, op, 8 | (pg_mod(d, PG_F_HALF) == PG_M_HALF_HI ? 4 : 0));
}

/* d|p with a predicate to combine with: a pair; the data half may be a sink. */
static void lop3_with_predicate(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *pair = pg_operand(d, 0);
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B32);
    op->b = pg_source(d, pg_operand(d, 2), PG_T_B32);
    op->c = pg_source(d, pg_operand(d, 3), PG_T_B32);
    op->imm = pg_immediate(d, pg_operand(d, 4));
    op->q = pg_source_pred(d, pg_operand(d, 5), &op->q_not);
    op->mode = pg_mod(d, PG_F_OP) == PG_M_OP_OR;
    if (pair->kind == PG_OPERAND_PAIR) {
        op->d = pg_dest(d, &pair->elems[0]);
        op->p = pg_dest_pred(d, &pair->elems[1]);
    } else {
        op->d = pg_dest(d, pair);
    }
    op->run = lop3_pred;
}

void pg_decode_lop3(pg_decoder *d, pg_op *op)
{
    if (pg_mod(d, PG_F_OP)) {
        lop3_with_predicate(d, op);
        return;
    }
    operands(d, op, false);
    op->imm = pg_immediate(d, pg_operand(d, 4));
    op->run = lop3_32;
}

void pg_decode_shf(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    op->mode = (uint8_t)((pg_mod(d, PG_F_DIRECTION) == PG_M_DIRECTION_R ? 1 : 0) |
                         (pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0));
    op->run = shf_32;
}

void pg_decode_prmt(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    const unsigned mode = pg_mod(d, PG_F_PRMT);
    op->mode = (uint8_t)(mode ? mode - PG_M_PRMT_F4E + 1 : 0);
    op->run = prmt_32;
}
