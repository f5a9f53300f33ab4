/* Floating-point handlers; see alu_float.h. Round-to-nearest f32 add, mul and fma, the common
 * ones, go through whole-warp loops. */
#include "emulator/scalar/alu_float.h"

#include "emulator/machine/lanes.h"

#define PLAN(op) ((const pg_fp_plan *)(op)->extra)

/* d = f(a, b, c) for a row type. */
#define FP_UNARY(NAME, T, expr)                                                                    \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a);                                                          \
        const pg_fp_plan *p = PLAN(op);                                                            \
        (void)p;                                                                                   \
        PG_EACH_LANE(lanes, const T x = a[l]; d[l] = (expr));                                      \
        return PG_NEXT;                                                                            \
    }
#define FP_BINARY(NAME, T, expr)                                                                   \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                                \
        const pg_fp_plan *p = PLAN(op);                                                            \
        (void)p;                                                                                   \
        PG_EACH_LANE(lanes, const T x = a[l]; const T y = b[l]; d[l] = (expr));                    \
        return PG_NEXT;                                                                            \
    }
#define FP_TERNARY(NAME, T, expr)                                                                  \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        T *d = pg_row_at(w, op->d);                                                                \
        const T *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);      \
        const pg_fp_plan *p = PLAN(op);                                                            \
        (void)p;                                                                                   \
        PG_EACH_LANE(lanes, const T x = a[l]; const T y = b[l]; const T z = c[l]; d[l] = (expr));  \
        return PG_NEXT;                                                                            \
    }

FP_BINARY(add_f32, uint32_t, pg_f32_add(x, y, p->mode))
FP_BINARY(sub_f32, uint32_t, pg_f32_sub(x, y, p->mode))
FP_BINARY(mul_f32, uint32_t, pg_f32_mul(x, y, p->mode))
FP_TERNARY(fma_f32, uint32_t, pg_f32_fma(x, y, z, p->mode))
FP_BINARY(div_f32, uint32_t, pg_f32_div(x, y, p->mode))
FP_BINARY(div_approx_f32, uint32_t, pg_f32_div_approx(x, y, p->mode.ftz))
FP_BINARY(minmax_f32, uint32_t, pg_f32_minmax(x, y, p->minmax))
FP_UNARY(abs_f32, uint32_t, pg_f32_abs(x, p->mode.ftz))
FP_UNARY(neg_f32, uint32_t, pg_f32_neg(x, p->mode.ftz))
FP_UNARY(rcp_f32, uint32_t, pg_f32_rcp(x, p->mode))
FP_UNARY(rcp_approx_f32, uint32_t, pg_f32_rcp_approx(x, p->mode.ftz))
FP_UNARY(sqrt_f32, uint32_t, pg_f32_sqrt(x, p->mode))
FP_UNARY(sqrt_approx_f32, uint32_t, pg_f32_sqrt_approx(x, p->mode.ftz))
FP_UNARY(rsqrt_f32, uint32_t, pg_f32_rsqrt_approx(x, p->mode.ftz))
FP_UNARY(sin_f32, uint32_t, pg_f32_sin_approx(x, p->mode.ftz))
FP_UNARY(cos_f32, uint32_t, pg_f32_cos_approx(x, p->mode.ftz))
FP_UNARY(lg2_f32, uint32_t, pg_f32_lg2_approx(x, p->mode.ftz))
FP_UNARY(ex2_f32, uint32_t, pg_f32_ex2_approx(x, p->mode.ftz))
FP_UNARY(tanh_f32, uint32_t, pg_f32_tanh_approx(x))
FP_BINARY(copysign_f32, uint32_t, (y & 0x7fffffffu) | (x & 0x80000000u))

FP_BINARY(add_f64, uint64_t, pg_f64_add(x, y, p->mode.round))
FP_BINARY(sub_f64, uint64_t, pg_f64_sub(x, y, p->mode.round))
FP_BINARY(mul_f64, uint64_t, pg_f64_mul(x, y, p->mode.round))
FP_TERNARY(fma_f64, uint64_t, pg_f64_fma(x, y, z, p->mode.round))
FP_BINARY(div_f64, uint64_t, pg_f64_div(x, y, p->mode.round))
FP_BINARY(minmax_f64, uint64_t, pg_f64_minmax(x, y, p->minmax.max))
FP_UNARY(abs_f64, uint64_t, pg_f64_abs(x))
FP_UNARY(neg_f64, uint64_t, pg_f64_neg(x))
FP_UNARY(rcp_f64, uint64_t, pg_f64_rcp(x, p->mode.round))
FP_UNARY(rcp_approx_f64, uint64_t, pg_f64_rcp_approx_ftz(x))
FP_UNARY(sqrt_f64, uint64_t, pg_f64_sqrt(x, p->mode.round))
FP_UNARY(rsqrt_f64, uint64_t, p->mode.ftz ? pg_f64_rsqrt_approx_ftz(x) : pg_f64_rsqrt_approx(x))
FP_BINARY(copysign_f64, uint64_t, (y & ~(UINT64_C(1) << 63)) | (x & UINT64_C(1) << 63))

FP_UNARY(half_unary, uint16_t, pg_half(p->half_op, (const uint16_t[3]){x}, p->half))
FP_BINARY(half_binary, uint16_t, pg_half(p->half_op, (const uint16_t[3]){x, y}, p->half))
FP_TERNARY(half_ternary, uint16_t, pg_half(p->half_op, (const uint16_t[3]){x, y, z}, p->half))
FP_UNARY(half2_unary, uint32_t, pg_half2(p->half_op, (const uint32_t[3]){x}, p->half))
FP_BINARY(half2_binary, uint32_t, pg_half2(p->half_op, (const uint32_t[3]){x, y}, p->half))
FP_TERNARY(half2_ternary, uint32_t, pg_half2(p->half_op, (const uint32_t[3]){x, y, z}, p->half))

/* ---- whole warps ---- */

static void write_lanes(uint32_t *d, const uint32_t *value, uint32_t lanes)
{
    PG_EACH_LANE(lanes, d[l] = value[l]);
}

#define WHOLE_WARP(NAME, call)                                                                     \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
    {                                                                                              \
        uint32_t *d = pg_row_at(w, op->d), temporary[PG_LANES];                                    \
        const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                         \
        const bool ftz = PLAN(op)->mode.ftz;                                                       \
        uint32_t *to = lanes == PG_ALL_LANES ? d : temporary;                                      \
        call;                                                                                      \
        if (to != d)                                                                               \
            write_lanes(d, to, lanes);                                                             \
        return PG_NEXT;                                                                            \
    }
WHOLE_WARP(add_warp, pg_f32_add_lanes(to, a, b, PG_LANES, ftz))
WHOLE_WARP(mul_warp, pg_f32_mul_lanes(to, a, b, PG_LANES, ftz))
WHOLE_WARP(fma_warp,
           pg_f32_fma_lanes(to, ((pg_fma_operands){a, b, pg_row_at(w, op->c)}), PG_LANES, ftz))

static const pg_handler handlers[PG_FP_COUNT][PG_FP_TYPE_COUNT] = {
    [PG_FP_ADD] = {add_f32, add_f64, half_binary, half2_binary},
    [PG_FP_SUB] = {sub_f32, sub_f64, half_binary, half2_binary},
    [PG_FP_MUL] = {mul_f32, mul_f64, half_binary, half2_binary},
    [PG_FP_FMA] = {fma_f32, fma_f64, half_ternary, half2_ternary},
    [PG_FP_DIV] = {div_f32, div_f64},
    [PG_FP_DIV_APPROX] = {div_approx_f32},
    [PG_FP_MIN] = {minmax_f32, minmax_f64, half_binary, half2_binary},
    [PG_FP_MAX] = {minmax_f32, minmax_f64, half_binary, half2_binary},
    [PG_FP_ABS] = {abs_f32, abs_f64, half_unary, half2_unary},
    [PG_FP_NEG] = {neg_f32, neg_f64, half_unary, half2_unary},
    [PG_FP_RCP] = {rcp_f32, rcp_f64},
    [PG_FP_RCP_APPROX] = {rcp_approx_f32, rcp_approx_f64},
    [PG_FP_SQRT] = {sqrt_f32, sqrt_f64},
    [PG_FP_SQRT_APPROX] = {sqrt_approx_f32},
    [PG_FP_RSQRT] = {rsqrt_f32, rsqrt_f64},
    [PG_FP_SIN] = {sin_f32},
    [PG_FP_COS] = {cos_f32},
    [PG_FP_LG2] = {lg2_f32},
    [PG_FP_EX2] = {ex2_f32, NULL, half_unary, half2_unary},
    [PG_FP_TANH] = {tanh_f32, NULL, half_unary, half2_unary},
    [PG_FP_COPYSIGN] = {copysign_f32, copysign_f64},
};

pg_handler pg_fp_handler(pg_fp fp, pg_fp_type type, const pg_fp_plan *plan)
{
    if (type == PG_FP_F32 && plan->mode.round == PG_ROUND_RN && !plan->mode.sat) {
        if (fp == PG_FP_ADD)
            return add_warp;
        if (fp == PG_FP_MUL)
            return mul_warp;
        if (fp == PG_FP_FMA)
            return fma_warp;
    }
    return handlers[fp][type];
}
