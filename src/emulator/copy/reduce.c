/* The element-wise reductions of bulk copies. One function per element type and operation; a table
 * finds it. */
#include "emulator/copy/tensor_map.h"

#include "emulator/number/float_ops.h"
#include "emulator/number/half_ops.h"

#include <string.h>

typedef void reduce_function(uint8_t *global, const uint8_t *linear, uint32_t bytes);

/* reduce_NAME: global = EXPR of x (global) and y (linear). */
#define PG_REDUCE(name, type, expr)                                                                \
    static void reduce_##name(uint8_t *global, const uint8_t *linear, uint32_t bytes)              \
    {                                                                                              \
        for (uint32_t i = 0; i < bytes; i += (uint32_t)sizeof(type)) {                             \
            type x, y;                                                                             \
            memcpy(&x, global + i, sizeof x);                                                      \
            memcpy(&y, linear + i, sizeof y);                                                      \
            x = (type)(expr);                                                                      \
            memcpy(global + i, &x, sizeof x);                                                      \
        }                                                                                          \
    }

PG_REDUCE(add_32, uint32_t, x + y)
PG_REDUCE(add_64, uint64_t, x + y)
PG_REDUCE(min_u32, uint32_t, x < y ? x : y)
PG_REDUCE(max_u32, uint32_t, x > y ? x : y)
PG_REDUCE(min_s32, int32_t, x < y ? x : y)
PG_REDUCE(max_s32, int32_t, x > y ? x : y)
PG_REDUCE(min_u64, uint64_t, x < y ? x : y)
PG_REDUCE(max_u64, uint64_t, x > y ? x : y)
PG_REDUCE(min_s64, int64_t, x < y ? x : y)
PG_REDUCE(max_s64, int64_t, x > y ? x : y)
PG_REDUCE(inc_u32, uint32_t, x >= y ? 0 : x + 1)
PG_REDUCE(dec_u32, uint32_t, x == 0 || x > y ? y : x - 1)
PG_REDUCE(and_32, uint32_t, x &y)
PG_REDUCE(or_32, uint32_t, x | y)
PG_REDUCE(xor_32, uint32_t, x ^ y)
PG_REDUCE(and_64, uint64_t, x &y)
PG_REDUCE(or_64, uint64_t, x | y)
PG_REDUCE(xor_64, uint64_t, x ^ y)
PG_REDUCE(add_f64, uint64_t, pg_f64_add(x, y, PG_ROUND_RN))
/* A float has more than twice the precision plus two bits: one rounding after another is one
 * rounding. */
PG_REDUCE(add_f16, uint16_t, pg_f16_of_f32(pg_f32_of_f16(x) + pg_f32_of_f16(y)))
PG_REDUCE(add_bf16, uint16_t, pg_bf16_of_f32(pg_f32_of_bf16(x) + pg_f32_of_bf16(y)))
PG_REDUCE(min_f16, uint16_t, pg_half(PG_HALF_MIN, ((const uint16_t[3]){x, y}), (pg_half_mode){0}))
PG_REDUCE(max_f16, uint16_t, pg_half(PG_HALF_MAX, ((const uint16_t[3]){x, y}), (pg_half_mode){0}))
PG_REDUCE(min_bf16, uint16_t,
          pg_half(PG_HALF_MIN, ((const uint16_t[3]){x, y}), (pg_half_mode){.bf16 = true}))
PG_REDUCE(max_bf16, uint16_t,
          pg_half(PG_HALF_MAX, ((const uint16_t[3]){x, y}), (pg_half_mode){.bf16 = true}))

static void add_f32(uint8_t *global, const uint8_t *linear, uint32_t bytes, bool ftz)
{
    uint32_t x[64], y[64];
    for (uint32_t done = 0; done < bytes; done += sizeof x) {
        const uint32_t n = bytes - done < sizeof x ? bytes - done : (uint32_t)sizeof x;
        memcpy(x, global + done, n);
        memcpy(y, linear + done, n);
        pg_f32_add_lanes(x, x, y, n / 4, ftz);
        memcpy(global + done, x, n);
    }
}

static void reduce_add_f32(uint8_t *global, const uint8_t *linear, uint32_t bytes)
{
    add_f32(global, linear, bytes, false);
}

static void reduce_add_f32_ftz(uint8_t *global, const uint8_t *linear, uint32_t bytes)
{
    add_f32(global, linear, bytes, true);
}

#define PG_REDUCE_BITS(width)                                                                      \
    [PG_REDUCE_AND] = reduce_and_##width, [PG_REDUCE_OR] = reduce_or_##width,                      \
    [PG_REDUCE_XOR] = reduce_xor_##width

static reduce_function *const reductions[PG_TENSOR_TYPE_COUNT][PG_REDUCE_OP_COUNT] = {
    [PG_TENSOR_U32] = {[PG_REDUCE_ADD] = reduce_add_32,
                       [PG_REDUCE_MIN] = reduce_min_u32,
                       [PG_REDUCE_MAX] = reduce_max_u32,
                       [PG_REDUCE_INC] = reduce_inc_u32,
                       [PG_REDUCE_DEC] = reduce_dec_u32,
                       PG_REDUCE_BITS(32)},
    [PG_TENSOR_S32] = {[PG_REDUCE_ADD] = reduce_add_32,
                       [PG_REDUCE_MIN] = reduce_min_s32,
                       [PG_REDUCE_MAX] = reduce_max_s32,
                       PG_REDUCE_BITS(32)},
    [PG_TENSOR_U64] = {[PG_REDUCE_ADD] = reduce_add_64,
                       [PG_REDUCE_MIN] = reduce_min_u64,
                       [PG_REDUCE_MAX] = reduce_max_u64,
                       PG_REDUCE_BITS(64)},
    [PG_TENSOR_S64] = {[PG_REDUCE_ADD] = reduce_add_64,
                       [PG_REDUCE_MIN] = reduce_min_s64,
                       [PG_REDUCE_MAX] = reduce_max_s64,
                       PG_REDUCE_BITS(64)},
    [PG_TENSOR_F16] = {[PG_REDUCE_ADD] = reduce_add_f16,
                       [PG_REDUCE_MIN] = reduce_min_f16,
                       [PG_REDUCE_MAX] = reduce_max_f16},
    [PG_TENSOR_BF16] = {[PG_REDUCE_ADD] = reduce_add_bf16,
                        [PG_REDUCE_MIN] = reduce_min_bf16,
                        [PG_REDUCE_MAX] = reduce_max_bf16},
    [PG_TENSOR_F32] = {[PG_REDUCE_ADD] = reduce_add_f32},
    [PG_TENSOR_F32_FTZ] = {[PG_REDUCE_ADD] = reduce_add_f32_ftz},
    [PG_TENSOR_F64] = {[PG_REDUCE_ADD] = reduce_add_f64},
};

bool pg_reduce_bytes_atomic(pg_reduce_op op, pg_tensor_type type, uint8_t *global,
                            const uint8_t *linear, uint32_t bytes)
{
    reduce_function *f = reductions[type][op];
    for (uint32_t i = 0; f && i < bytes; i += (uint32_t)sizeof(uint64_t)) {
        uint64_t *word = (uint64_t *)(void *)(global + i);
        uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED), next;
        do {
            next = seen;
            f((uint8_t *)&next, linear + i, sizeof next);
        } while (!__atomic_compare_exchange_n(word, &seen, next, true, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED));
    }
    return f != NULL;
}

bool pg_reduce_bytes(pg_reduce_op op, pg_tensor_type type, uint8_t *global, const uint8_t *linear,
                     uint32_t bytes)
{
    reduce_function *f = reductions[type][op];
    if (f)
        f(global, linear, bytes);
    return f != NULL;
}
