/* atom and red on shared and global memory. A cluster's shared memory belongs to one host
 * thread; global memory is shared by all of them, so there every update is a compare-and-swap of
 * its element when more than one runs. The vector forms are atomic per element, as the ISA has
 * it. Float adds round to nearest; f32 adds to global memory flush subnormals, those to shared
 * memory do not (PTX ISA 9.0, section 9.7.13.5). */
#include "emulator/memory/atomics.h"

#include "emulator/number/float_ops.h"
#include "emulator/number/half_ops.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/memory/wide.h"

#define COMBINE(NAME, T, expr)                                                                     \
    static uint64_t NAME(uint64_t old, uint64_t operand, bool ftz)                                 \
    {                                                                                              \
        const T x = (T)old, y = (T)operand;                                                        \
        (void)ftz;                                                                                 \
        return (uint64_t)(expr);                                                                   \
    }
COMBINE(add_int, uint64_t, x + y)
COMBINE(and_int, uint64_t, x &y)
COMBINE(or_int, uint64_t, x | y)
COMBINE(xor_int, uint64_t, x ^ y)
COMBINE(min_u32, uint32_t, x < y ? x : y)
COMBINE(min_s32, int32_t, x < y ? x : y)
COMBINE(min_u64, uint64_t, x < y ? x : y)
COMBINE(min_s64, int64_t, x < y ? x : y)
COMBINE(max_u32, uint32_t, x > y ? x : y)
COMBINE(max_s32, int32_t, x > y ? x : y)
COMBINE(max_u64, uint64_t, x > y ? x : y)
COMBINE(max_s64, int64_t, x > y ? x : y)
COMBINE(inc_u32, uint32_t, x >= y ? 0 : x + 1)
COMBINE(dec_u32, uint32_t, x == 0 || x > y ? y : x - 1)
COMBINE(add_f32, uint32_t, pg_f32_add(x, y, ((pg_float_mode){.ftz = ftz})))
COMBINE(add_f64, uint64_t, pg_f64_add(x, y, PG_ROUND_RN))

static uint64_t half(pg_half_op op, uint64_t old, uint64_t operand, bool bf16, bool two)
{
    const pg_half_mode mode = {.bf16 = bf16};
    if (two)
        return pg_half2(op, (const uint32_t[3]){(uint32_t)old, (uint32_t)operand}, mode);
    return pg_half(op, (const uint16_t[3]){(uint16_t)old, (uint16_t)operand}, mode);
}
#define HALVES(name, op)                                                                           \
    COMBINE(name##_f16, uint64_t, half(op, x, y, false, false))                                    \
    COMBINE(name##_bf16, uint64_t, half(op, x, y, true, false))                                    \
    COMBINE(name##_f16x2, uint64_t, half(op, x, y, false, true))                                   \
    COMBINE(name##_bf16x2, uint64_t, half(op, x, y, true, true))
HALVES(add, PG_HALF_ADD)
HALVES(min, PG_HALF_MIN)
HALVES(max, PG_HALF_MAX)

/* Columns as pg_atomic_type: b16 u32 s32 u64 s64 f32 f64 f16 bf16 f16x2 bf16x2 b128. */
#define INTS(f)                                                                                    \
    {                                                                                              \
        NULL, f, f, f, f                                                                           \
    }
static const pg_combine table[PG_ATOMIC_OP_COUNT][PG_ATOMIC_TYPE_COUNT] = {
    [PG_ATOMIC_ADD] = {NULL, add_int, add_int, add_int, add_int, add_f32, add_f64, add_f16,
                       add_bf16, add_f16x2, add_bf16x2},
    [PG_ATOMIC_MIN] = {NULL, min_u32, min_s32, min_u64, min_s64, NULL, NULL, min_f16, min_bf16,
                       min_f16x2, min_bf16x2},
    [PG_ATOMIC_MAX] = {NULL, max_u32, max_s32, max_u64, max_s64, NULL, NULL, max_f16, max_bf16,
                       max_f16x2, max_bf16x2},
    [PG_ATOMIC_INC] = {NULL, inc_u32},
    [PG_ATOMIC_DEC] = {NULL, dec_u32},
    [PG_ATOMIC_AND] = INTS(and_int),
    [PG_ATOMIC_OR] = INTS(or_int),
    [PG_ATOMIC_XOR] = INTS(xor_int),
};

pg_combine pg_atomic_combine(pg_atomic_op op, pg_atomic_type type)
{
    return table[op][type];
}

/* One element of one lane; `next` is computed from the old value. */
typedef struct update {
    const pg_atomic_plan *plan;
    uint64_t operand, swap;
    bool ftz, contended;
} update;

static uint64_t next_value(const update *u, uint64_t old)
{
    if (u->plan->op == PG_ATOMIC_EXCH)
        return u->operand;
    if (u->plan->op == PG_ATOMIC_CAS)
        return old == u->operand ? u->swap : old;
    return u->plan->combine(old, u->operand, u->ftz);
}

#define UPDATE(NAME, T)                                                                            \
    static uint64_t NAME(void *at, const update *u)                                                \
    {                                                                                              \
        T *p = at;                                                                                 \
        if (!u->contended) {                                                                       \
            const T old = *p;                                                                      \
            *p = (T)next_value(u, old);                                                            \
            return old;                                                                            \
        }                                                                                          \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
        while (!__atomic_compare_exchange_n(p, &old, (T)next_value(u, old), true,                  \
                                            __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                   \
            ;                                                                                      \
        return old;                                                                                \
    }
UPDATE(update_16, uint16_t)
UPDATE(update_32, uint32_t)
UPDATE(update_64, uint64_t)

static uint64_t row_value(const pg_warp *w, pg_row row, unsigned bytes, int lane)
{
    const void *at = pg_row_at(w, row);
    return bytes == 2   ? ((const uint16_t *)at)[lane]
           : bytes == 4 ? ((const uint32_t *)at)[lane]
                        : ((const uint64_t *)at)[lane];
}

static void write_row(pg_warp *w, pg_row row, unsigned bytes, int lane, uint64_t value)
{
    void *at = pg_row_at(w, row);
    if (bytes == 2)
        ((uint16_t *)at)[lane] = (uint16_t)value;
    else if (bytes == 4)
        ((uint32_t *)at)[lane] = (uint32_t)value;
    else
        ((uint64_t *)at)[lane] = value;
}

/* 16-byte exch and cas. */
static void update_128(pg_warp *w, const pg_op *op, int lane, void *at)
{
    const pg_atomic_plan *plan = op->extra;
    const pg_wide operand = ((const pg_wide *)pg_row_at(w, op->rows[0]))[lane];
    pg_wide old = pg_wide_load(at);
    if (plan->op == PG_ATOMIC_EXCH) {
        while (!pg_wide_exchange(at, &old, operand))
            ;
    } else {
        const pg_wide swap = ((const pg_wide *)pg_row_at(w, op->c))[lane];
        while (old == operand && !pg_wide_exchange(at, &old, swap))
            ;
    }
    if (plan->result)
        ((pg_wide *)pg_row_at(w, op->rows[1]))[lane] = old;
}

static bool is_shared(const pg_warp *w, const pg_op *op, uint64_t address)
{
    (void)w;
    return op->space == PG_MEM_SHARED || op->space == PG_MEM_CLUSTER ||
           (op->space == PG_MEM_GENERIC && (address & PG_WINDOW_MASK) == PG_WINDOW_SHARED);
}

pg_step pg_op_atomic(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_atomic_plan *plan = op->extra;
    uint8_t *at[PG_LANES];
    uint64_t address[PG_LANES];
    if (!pg_resolve(w, op, lanes, (uint32_t)op->size * op->count, PG_ACCESS_ATOMIC, at))
        return PG_STOP;
    pg_addresses(w, op, lanes, address);
    w->cta->cluster->progress++;
    pg_worker *worker = w->cta->cluster->worker;
    worker->space_written[op->space] += (uint64_t)__builtin_popcount(lanes) * op->size * op->count;
    uint64_t (*const apply)(void *, const update *) = op->size == 2   ? update_16
                                                      : op->size == 4 ? update_32
                                                                      : update_64;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        if (op->size == 16) {
            update_128(w, op, l, at[l]);
            continue;
        }
        const bool shared = is_shared(w, op, address[l]);
        for (uint32_t e = 0; e < op->count; e++) {
            const update u = {.plan = plan,
                              .operand = row_value(w, op->rows[e], op->size, l),
                              .swap =
                                  plan->op == PG_ATOMIC_CAS ? row_value(w, op->c, op->size, l) : 0,
                              .ftz = !shared,
                              .contended = !shared && w->launch->host_threads > 1};
            const uint64_t old = apply(at[l] + e * op->size, &u);
            if (plan->result)
                write_row(w, op->rows[op->count + e], op->size, l, old);
        }
    }
    return PG_NEXT;
}
