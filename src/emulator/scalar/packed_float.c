/* Float instructions of two or three values at a time: f32x2 arithmetic, min and max of three, set
 * of half pairs. PTX ISA 9.0, sections 9.7.3 and 9.7.7. */
#include "emulator/scalar/alu_float.h"
#include "emulator/decode/decode.h"
#include "emulator/decode/engines.h"
#include "emulator/decode/families.h"
#include "emulator/machine/lanes.h"

/* op->extra of all handlers here. */
typedef struct packed_plan {
    pg_float_mode mode;
    pg_minmax_mode minmax;
    bool bf16, ftz;
    unsigned accept;  /* set: outcomes that are true */
    unsigned combine; /* set: PG_M_OP_..., or PG_M_NONE */
} packed_plan;

#define PLAN(op) ((const packed_plan *)(op)->extra)

static inline uint64_t join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

#define F32X2(NAME, low, high)                                                                     \
    static pg_step NAME(pg_warp *w, const pg_op *op, uint32_t lanes)                               \
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
F32X2(add_f32x2, pg_f32_add(LOW(a), LOW(b), m), pg_f32_add(HIGH(a), HIGH(b), m))
F32X2(sub_f32x2, pg_f32_sub(LOW(a), LOW(b), m), pg_f32_sub(HIGH(a), HIGH(b), m))
F32X2(mul_f32x2, pg_f32_mul(LOW(a), LOW(b), m), pg_f32_mul(HIGH(a), HIGH(b), m))
F32X2(fma_f32x2, pg_f32_fma(LOW(a), LOW(b), LOW(c), m), pg_f32_fma(HIGH(a), HIGH(b), HIGH(c), m))

static pg_step minmax3(pg_warp *w, const pg_op *op, uint32_t lanes)
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

static float half_value(uint16_t bits, const packed_plan *p)
{
    if (p->bf16)
        return pg_f32_of_bf16(bits);
    return pg_f32_of_f16(p->ftz && !(bits & 0x7c00u) ? bits & 0x8000u : bits);
}

static bool holds(uint16_t a, uint16_t b, const packed_plan *p, bool with)
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

static pg_step set_x2(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const packed_plan *p = PLAN(op);
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

/* ---- decoding ---- */

static packed_plan *plan_and_operands(pg_decoder *d, pg_op *op, pg_ptx_type type, uint32_t sources)
{
    pg_row *const slots[3] = {&op->a, &op->b, &op->c};
    packed_plan *p = PG_NEW(d->arena, packed_plan);
    if (!p)
        return NULL;
    p->ftz = pg_mod(d, PG_F_FTZ) != 0;
    p->mode = (pg_float_mode){pg_round_of(pg_mod(d, PG_F_ROUND)), p->ftz, false};
    p->minmax = (pg_minmax_mode){.ftz = p->ftz, .nan = pg_mod(d, PG_F_NAN) != 0};
    op->d = pg_dest(d, pg_operand(d, 0));
    for (uint32_t i = 0; i < sources; i++)
        *slots[i] = pg_source(d, pg_operand(d, i + 1), type);
    op->extra = p;
    return p;
}

void pg_decode_f32x2(pg_decoder *d, pg_op *op)
{
    const bool fused = d->opcode->op == PG_OP_FMA_F32X2;
    if (!plan_and_operands(d, op, PG_T_B64, fused ? 3 : 2))
        return;
    op->run = fused                              ? fma_f32x2
              : d->opcode->op == PG_OP_ADD_F32X2 ? add_f32x2
              : d->opcode->op == PG_OP_SUB_F32X2 ? sub_f32x2
                                                 : mul_f32x2;
}

void pg_decode_minmax3(pg_decoder *d, pg_op *op)
{
    packed_plan *p = plan_and_operands(d, op, PG_T_F32, 3);
    if (!p)
        return;
    p->minmax.max = d->opcode->op == PG_OP_MAX_F32_3;
    op->mode = pg_mod(d, PG_F_ABS) != 0;
    op->run = minmax3;
}

void pg_decode_set_x2(pg_decoder *d, pg_op *op)
{
    packed_plan *p = plan_and_operands(d, op, PG_T_B32, 2);
    if (!p)
        return;
    p->bf16 = pg_type(d, 1) == PG_T_BF16X2;
    op->imm = pg_type(d, 0) == PG_T_F16X2 ? 0x3c00 : pg_type(d, 0) == PG_T_BF16X2 ? 0x3f80 : 0xffff;
    p->accept = pg_accepted_outcomes(pg_mod(d, PG_F_CMP));
    p->combine = pg_mod(d, PG_F_OP);
    if (p->combine)
        op->q = pg_source_pred(d, pg_operand(d, 3), &op->q_not);
    op->run = set_x2;
}
