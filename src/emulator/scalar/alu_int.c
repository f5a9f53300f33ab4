/* Integer and bit instructions whose meaning the C operators nearly give. Every lane expression
 * is written once per instruction and instantiated per type; decode/alu.c picks by (instruction,
 * type). Division by zero, which PTX leaves open, follows the hardware: all ones, and the
 * dividend as remainder. */
#include "emulator/scalar/alu.h"

#include "emulator/machine/lanes.h"

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
/* Shift amounts at or past the width give 0, or the sign (PTX clamps, C leaves it undefined). */
#define SHIFT_LEFT(x, y, bits)  ((y) >= (bits) ? 0 : (uint64_t)(x) << (y))
#define SHIFT_RIGHT(x, y, bits) ((x) >> MIN((y), (uint32_t)(bits)-1))
#define SHIFT_OUT(x, y, bits)   ((y) >= (bits) ? 0 : (x) >> (y))

/* U: unsigned type of the width, S: signed, W, V: unsigned and signed types of twice the width. */
#define INTEGER_WIDTH(n, U, S, W, V)                                                               \
    static PG_BINARY(add_##n, U, U, U, x + y)                                                      \
    static PG_BINARY(sub_##n, U, U, U, x - y)                                                      \
    static PG_BINARY(mul_lo_##n, U, U, U, (W)x *(W)y)                                              \
    static PG_TERNARY(mad_lo_##n, U, U, U, U, (W)x *(W)y + z)                                      \
    static PG_BINARY(mul_hi_u##n, U, U, U, ((W)x * (W)y) >> n)                                     \
    static PG_BINARY(mul_hi_s##n, U, S, S, ((V)x * (V)y) >> n)                                     \
    static PG_TERNARY(mad_hi_u##n, U, U, U, U, (((W)x * (W)y) >> n) + z)                           \
    static PG_TERNARY(mad_hi_s##n, U, S, S, U, (U)(((V)x * (V)y) >> n) + z)                        \
    static PG_BINARY(div_u##n, U, U, U, y == 0 ? (U)-1 : (U)(x / y))                               \
    static PG_BINARY(div_s##n, S, S, S, y == 0 ? (S)-1 : y == -1 ? (S)(0 - (U)x) : (S)(x / y))     \
    static PG_BINARY(rem_u##n, U, U, U, y == 0 ? x : (U)(x % y))                                   \
    static PG_BINARY(rem_s##n, S, S, S, y == 0 ? x : y == -1 ? 0 : (S)(x % y))                     \
    static PG_BINARY(min_u##n, U, U, U, MIN(x, y))                                                 \
    static PG_BINARY(min_s##n, S, S, S, MIN(x, y))                                                 \
    static PG_BINARY(max_u##n, U, U, U, MAX(x, y))                                                 \
    static PG_BINARY(max_s##n, S, S, S, MAX(x, y))                                                 \
    static PG_TERNARY(sad_u##n, U, U, U, U, z + (x > y ? x - y : y - x))                           \
    static PG_TERNARY(sad_s##n, U, S, S, U, z + (x > y ? (U)x - (U)y : (U)y - (U)x))               \
    static PG_UNARY(neg_##n, U, U, 0 - x)                                                          \
    static PG_UNARY(abs_##n, U, S, x < 0 ? 0 - (U)x : (U)x)                                        \
    static PG_UNARY(not_##n, U, U, ~x)                                                             \
    static PG_UNARY(cnot_##n, U, U, x == 0)                                                        \
    static PG_UNARY(mov_##n, U, U, x)                                                              \
    static PG_BINARY(and_##n, U, U, U, x &y)                                                       \
    static PG_BINARY(or_##n, U, U, U, x | y)                                                       \
    static PG_BINARY(xor_##n, U, U, U, x ^ y)                                                      \
    static PG_BINARY(shl_##n, U, U, uint32_t, SHIFT_LEFT(x, y, n))                                 \
    static PG_BINARY(shr_u##n, U, U, uint32_t, SHIFT_OUT(x, y, n))                                 \
    static PG_BINARY(shr_s##n, S, S, uint32_t, SHIFT_RIGHT(x, y, n))

INTEGER_WIDTH(16, uint16_t, int16_t, uint32_t, int32_t)
INTEGER_WIDTH(32, uint32_t, int32_t, uint64_t, int64_t)
INTEGER_WIDTH(64, uint64_t, int64_t, unsigned __int128, __int128)

static PG_BINARY(mul_wide_u16, uint32_t, uint16_t, uint16_t, (uint32_t)x *(uint32_t)y)
static PG_BINARY(mul_wide_s16, int32_t, int16_t, int16_t, (int32_t)x *(int32_t)y)
static PG_BINARY(mul_wide_u32, uint64_t, uint32_t, uint32_t, (uint64_t)x *(uint64_t)y)
static PG_BINARY(mul_wide_s32, int64_t, int32_t, int32_t, (int64_t)x *(int64_t)y)
static PG_TERNARY(mad_wide_u16, uint32_t, uint16_t, uint16_t, uint32_t,
                  (uint32_t)x *(uint32_t)y + z)
static PG_TERNARY(mad_wide_s16, uint32_t, int16_t, int16_t, uint32_t,
                  (uint32_t)((int32_t)x *(int32_t)y) + z)
static PG_TERNARY(mad_wide_u32, uint64_t, uint32_t, uint32_t, uint64_t,
                  (uint64_t)x *(uint64_t)y + z)
static PG_TERNARY(mad_wide_s32, uint64_t, int32_t, int32_t, uint64_t,
                  (uint64_t)((int64_t)x *(int64_t)y) + z)

static int32_t saturate_s32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}
static PG_BINARY(add_sat_s32, int32_t, int32_t, int32_t, saturate_s32((int64_t)x + y))
static PG_BINARY(sub_sat_s32, int32_t, int32_t, int32_t, saturate_s32((int64_t)x - y))
static PG_TERNARY(mad_hi_sat_s32, int32_t, int32_t, int32_t, int32_t,
                  saturate_s32((((int64_t)x * (int64_t)y) >> 32) + z))

/* Packed halves. */
#define HALVES(x, y, T, expr2)                                                                     \
    ((uint32_t)(uint16_t)(expr2((T)(x), (T)(y))) |                                                 \
     (uint32_t)(uint16_t)(expr2((T)((x) >> 16), (T)((y) >> 16))) << 16)
#define SUM(x, y) ((x) + (y))
static PG_BINARY(add_16x2, uint32_t, uint32_t, uint32_t, HALVES(x, y, uint16_t, SUM))
static PG_BINARY(min_u16x2, uint32_t, uint32_t, uint32_t, HALVES(x, y, uint16_t, MIN))
static PG_BINARY(min_s16x2, uint32_t, uint32_t, uint32_t, HALVES(x, y, int16_t, MIN))
static PG_BINARY(max_u16x2, uint32_t, uint32_t, uint32_t, HALVES(x, y, uint16_t, MAX))
static PG_BINARY(max_s16x2, uint32_t, uint32_t, uint32_t, HALVES(x, y, int16_t, MAX))

/* 24-bit products. */
#define U24(x) ((uint64_t)((x)&0xffffffu))
#define S24(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
static PG_BINARY(mul24_lo_u, uint32_t, uint32_t, uint32_t, U24(x) * U24(y))
static PG_BINARY(mul24_lo_s, uint32_t, uint32_t, uint32_t, S24(x) * S24(y))
static PG_BINARY(mul24_hi_u, uint32_t, uint32_t, uint32_t, (U24(x) * U24(y)) >> 16)
static PG_BINARY(mul24_hi_s, uint32_t, uint32_t, uint32_t, (S24(x) * S24(y)) >> 16)
static PG_TERNARY(mad24_lo_u, uint32_t, uint32_t, uint32_t, uint32_t, U24(x) * U24(y) + z)
static PG_TERNARY(mad24_lo_s, uint32_t, uint32_t, uint32_t, uint32_t,
                  (uint64_t)(S24(x) * S24(y)) + z)
static PG_TERNARY(mad24_hi_u, uint32_t, uint32_t, uint32_t, uint32_t, ((U24(x) * U24(y)) >> 16) + z)
static PG_TERNARY(mad24_hi_s, uint32_t, uint32_t, uint32_t, uint32_t,
                  (uint64_t)((S24(x) * S24(y)) >> 16) + z)
static PG_TERNARY(mad24_hi_sat_s, int32_t, uint32_t, uint32_t, int32_t,
                  saturate_s32(((S24(x) * S24(y)) >> 16) + z))

#define BY_WIDTH(name)                                                                             \
    {                                                                                              \
        name##_16, name##_16, name##_32, name##_32, name##_64, name##_64                           \
    }
#define BY_TYPE(name)                                                                              \
    {                                                                                              \
        name##_u16, name##_s16, name##_u32, name##_s32, name##_u64, name##_s64                     \
    }
#define BY_WIDE(name)                                                                              \
    {                                                                                              \
        name##_u16, name##_s16, name##_u32, name##_s32, NULL, NULL                                 \
    }

/* Columns: u16 s16 u32 s32 u64 s64. */
static const pg_handler handlers[PG_ALU_COUNT][6] = {
    [PG_ALU_ADD] = BY_WIDTH(add),
    [PG_ALU_SUB] = BY_WIDTH(sub),
    [PG_ALU_MUL_LO] = BY_WIDTH(mul_lo),
    [PG_ALU_MUL_HI] = BY_TYPE(mul_hi),
    [PG_ALU_MUL_WIDE] = BY_WIDE(mul_wide),
    [PG_ALU_MAD_LO] = BY_WIDTH(mad_lo),
    [PG_ALU_MAD_HI] = BY_TYPE(mad_hi),
    [PG_ALU_MAD_WIDE] = BY_WIDE(mad_wide),
    [PG_ALU_DIV] = BY_TYPE(div),
    [PG_ALU_REM] = BY_TYPE(rem),
    [PG_ALU_MIN] = BY_TYPE(min),
    [PG_ALU_MAX] = BY_TYPE(max),
    [PG_ALU_SAD] = BY_TYPE(sad),
    [PG_ALU_NEG] = BY_WIDTH(neg),
    [PG_ALU_ABS] = BY_WIDTH(abs),
    [PG_ALU_NOT] = BY_WIDTH(not ),
    [PG_ALU_CNOT] = BY_WIDTH(cnot),
    [PG_ALU_AND] = BY_WIDTH(and),
    [PG_ALU_OR] = BY_WIDTH(or),
    [PG_ALU_XOR] = BY_WIDTH(xor),
    [PG_ALU_SHL] = BY_WIDTH(shl),
    [PG_ALU_SHR] = BY_TYPE(shr),
    [PG_ALU_MOV] = BY_WIDTH(mov),
    [PG_ALU_ADD_SAT] = {NULL, NULL, NULL, add_sat_s32, NULL, NULL},
    [PG_ALU_SUB_SAT] = {NULL, NULL, NULL, sub_sat_s32, NULL, NULL},
    [PG_ALU_MAD_HI_SAT] = {NULL, NULL, NULL, mad_hi_sat_s32, NULL, NULL},
    [PG_ALU_MUL24_LO] = {NULL, NULL, mul24_lo_u, mul24_lo_s, NULL, NULL},
    [PG_ALU_MUL24_HI] = {NULL, NULL, mul24_hi_u, mul24_hi_s, NULL, NULL},
    [PG_ALU_MAD24_LO] = {NULL, NULL, mad24_lo_u, mad24_lo_s, NULL, NULL},
    [PG_ALU_MAD24_HI] = {NULL, NULL, mad24_hi_u, mad24_hi_s, NULL, NULL},
    [PG_ALU_MAD24_HI_SAT] = {NULL, NULL, NULL, mad24_hi_sat_s, NULL, NULL},
    [PG_ALU_ADD_X2] = {add_16x2, add_16x2, NULL, NULL, NULL, NULL},
    [PG_ALU_MIN_X2] = {min_u16x2, min_s16x2, NULL, NULL, NULL, NULL},
    [PG_ALU_MAX_X2] = {max_u16x2, max_s16x2, NULL, NULL, NULL, NULL},
};

pg_handler pg_alu_int_handler(pg_alu alu, unsigned bits, bool is_signed)
{
    const int column = bits == 16 ? 0 : bits == 32 ? 2 : bits == 64 ? 4 : -1;
    return column < 0 ? NULL : handlers[alu][column + (is_signed ? 1 : 0)];
}
