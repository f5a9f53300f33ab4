/* Float instructions of two or three values at a time: f32x2 arithmetic, min and max of three, set
 * of half pairs. PTX ISA 9.0, sections 9.7.3 and 9.7.7. */
#include "emulator/scalar/scalar.h"

#include "emulator/machine/lanes.h"
#include "ptx/ptx.h"

#define PLAN(op) ((const pg_packed_plan *)(op)->extra)

static inline uint64_t join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

#define F32X2(NAME, low, high)                                                                     \
    pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                                      \
    {                                                                                              \
        uint64_t *d = pg_row_at(w, op->d);                                                         \
        const uint64_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);                         \
        const uint64_t *c = pg_row_at(w, op->c);                                                   \
        const pg_float_mode m = PLAN(op)->mode;                                                    \
        (void)c;                                                                                   \
        PG_EACH_LANE(lanes, d[l] = join(low, high));                                               \
        return PG_NEXT;                                                                            \
    }
#define LOW(x)  ((uint32_t)(x)[l])
#define HIGH(x) ((uint32_t)((x)[l] >> 32))
F32X2(pg_op_add_f32x2, pg_f32_add(LOW(a), LOW(b), m), pg_f32_add(HIGH(a), HIGH(b), m))
F32X2(pg_op_sub_f32x2, pg_f32_sub(LOW(a), LOW(b), m), pg_f32_sub(HIGH(a), HIGH(b), m))
F32X2(pg_op_mul_f32x2, pg_f32_mul(LOW(a), LOW(b), m), pg_f32_mul(HIGH(a), HIGH(b), m))
F32X2(pg_op_fma_f32x2, pg_f32_fma(LOW(a), LOW(b), LOW(c), m),
      pg_f32_fma(HIGH(a), HIGH(b), HIGH(c), m))

/* f32 arithmetic whose first sources are halves: exact as floats. op->mode: PG_MIXED_... */
static uint32_t widen(uint16_t x, bool bf16)
{
    const float value = bf16 ? pg_f32_of_bf16(x) : pg_f32_of_f16(x);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

pg_step pg_op_mixed(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *d = pg_row_at(w, op->d);
    const uint16_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);
    const uint32_t *c = pg_row_at(w, op->c);
    const pg_float_mode m = PLAN(op)->mode;
    const bool bf16 = PLAN(op)->bf16;
    if (op->mode == PG_MIXED_ADD)
        PG_EACH_LANE(lanes, d[l] = pg_f32_add(widen(a[l], bf16), c[l], m));
    else if (op->mode == PG_MIXED_SUB)
        PG_EACH_LANE(lanes, d[l] = pg_f32_sub(widen(a[l], bf16), c[l], m));
    else
        PG_EACH_LANE(lanes, d[l] = pg_f32_fma(widen(a[l], bf16), widen(b[l], bf16), c[l], m));
    return PG_NEXT;
}

pg_step pg_op_minmax3(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b), *c = pg_row_at(w, op->c);
    const pg_minmax_mode m = PLAN(op)->minmax;
    const uint32_t mask = op->mode ? 0x7fffffffu : 0xffffffffu; /* .abs */
    PG_EACH_LANE(lanes,
                 d[l] = pg_f32_minmax(pg_f32_minmax(a[l] & mask, b[l] & mask, m), c[l] & mask, m));
    return PG_NEXT;
}

/* ---- set of pairs ---- */

static float half_value(uint16_t bits, const pg_packed_plan *p)
{
    if (p->bf16)
        return pg_f32_of_bf16(bits);
    return pg_f32_of_f16(p->ftz && !(bits & 0x7c00u) ? bits & 0x8000u : bits);
}

static bool holds(uint16_t a, uint16_t b, const pg_packed_plan *p, bool with)
{
    const float x = half_value(a, p), y = half_value(b, p);
    const unsigned outcome = x < y    ? PG_OUTCOME_LESS
                             : x > y  ? PG_OUTCOME_GREATER
                             : x == y ? PG_OUTCOME_EQUAL
                                      : PG_OUTCOME_UNORDERED;
    const bool result = (outcome & p->accept) != 0;
    switch (p->combine) {
    case PG_M_OP_AND:
        return result && with;
    case PG_M_OP_OR:
        return result || with;
    case PG_M_OP_XOR:
        return result != with;
    default:
        return result;
    }
}

pg_step pg_op_set_x2(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_packed_plan *p = PLAN(op);
    uint32_t *d = pg_row_at(w, op->d);
    const uint32_t *a = pg_row_at(w, op->a), *b = pg_row_at(w, op->b);
    const uint32_t with = op->q ? pg_pred_lanes(w, op->q, op->q_not) : 0;
    const uint32_t one = (uint32_t)op->imm;
    PG_EACH_LANE(lanes, const bool q = with >> l & 1;
                 const bool low = holds((uint16_t)a[l], (uint16_t)b[l], p, q);
                 const bool high = holds((uint16_t)(a[l] >> 16), (uint16_t)(b[l] >> 16), p, q);
                 d[l] = (low ? one : 0) | (high ? one << 16 : 0));
    return PG_NEXT;
}
