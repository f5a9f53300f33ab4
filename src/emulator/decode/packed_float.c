/* Decoding of f32x2 arithmetic, min and max of three, set of pairs; handlers are in
 * scalar/packed_float.c. */
#include "emulator/decode/families.h"
#include "emulator/scalar/scalar.h"

static pg_packed_plan *plan_and_operands(pg_decoder *d, pg_op *op, pg_ptx_type type,
                                         uint32_t sources)
{
    pg_row *const slots[3] = {&op->a, &op->b, &op->c};
    pg_packed_plan *p = PG_NEW(d->arena, pg_packed_plan);
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
    op->run = fused                              ? pg_op_fma_f32x2
              : d->opcode->op == PG_OP_ADD_F32X2 ? pg_op_add_f32x2
              : d->opcode->op == PG_OP_SUB_F32X2 ? pg_op_sub_f32x2
                                                 : pg_op_mul_f32x2;
}

void pg_decode_minmax3(pg_decoder *d, pg_op *op)
{
    pg_packed_plan *p = plan_and_operands(d, op, PG_T_F32, 3);
    if (!p)
        return;
    p->minmax.max = d->opcode->op == PG_OP_MAX_F32_3;
    op->mode = pg_mod(d, PG_F_ABS) != 0;
    op->run = pg_op_minmax3;
}

void pg_decode_set_x2(pg_decoder *d, pg_op *op)
{
    pg_packed_plan *p = plan_and_operands(d, op, PG_T_B32, 2);
    if (!p)
        return;
    p->bf16 = pg_type(d, 1) == PG_T_BF16X2;
    op->imm = pg_type(d, 0) == PG_T_F16X2 ? 0x3c00 : pg_type(d, 0) == PG_T_BF16X2 ? 0x3f80 : 0xffff;
    p->accept = pg_accepted_outcomes(pg_mod(d, PG_F_CMP));
    p->combine = pg_mod(d, PG_F_OP);
    if (p->combine)
        op->q = pg_source_pred(d, pg_operand(d, 3), &op->q_not);
    op->run = pg_op_set_x2;
}

void pg_decode_mixed(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type half = pg_type(d, 1);
    const bool fused = d->opcode->op == PG_OP_FMA_MIXED;
    pg_packed_plan *p = PG_NEW(d->arena, pg_packed_plan);
    if (!p)
        return;
    p->bf16 = half == PG_T_BF16;
    p->mode = (pg_float_mode){pg_round_of(pg_mod(d, PG_F_ROUND)), false, pg_mod(d, PG_F_SAT) != 0};
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), half);
    op->b = fused ? pg_source(d, pg_operand(d, 2), half) : op->a;
    op->c = pg_source(d, pg_operand(d, fused ? 3 : 2), PG_T_F32);
    op->extra = p;
    op->mode = fused                              ? PG_MIXED_FMA
               : d->opcode->op == PG_OP_SUB_MIXED ? PG_MIXED_SUB
                                                  : PG_MIXED_ADD;
    op->run = pg_op_mixed;
}
