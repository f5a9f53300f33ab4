/* Decoding of setp, set, selp, slct and testp; handlers are in scalar/compare.c. */
#include "emulator/decode/families.h"
#include "emulator/scalar/scalar.h"

static pg_compare_plan *make_plan(pg_decoder *d, pg_ptx_type type)
{
    pg_compare_plan *plan = PG_NEW(d->arena, pg_compare_plan);
    if (!plan)
        return NULL;
    const unsigned cmp = pg_mod(d, PG_F_CMP);
    plan->ftz = pg_mod(d, PG_F_FTZ) != 0;
    plan->accept = pg_accepted_outcomes(cmp);
    plan->compare = pg_compare_function(type, cmp, plan->ftz);
    plan->upper = pg_compare_upper(type, plan->ftz);
    const unsigned op = pg_mod(d, PG_F_OP);
    if (op) {
        plan->combine = op == PG_M_OP_AND ? 1 : op == PG_M_OP_OR ? 2 : 3;
        plan->with = pg_source_pred(d, pg_operand(d, 3), &plan->with_not);
    }
    return plan->compare ? plan : NULL;
}

void pg_decode_setp(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *pair = pg_operand(d, 0);
    const pg_ptx_type type = pg_type(d, 0);
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    op->extra = make_plan(d, type);
    if (pair->kind == PG_OPERAND_PAIR) {
        op->p = pg_dest_pred(d, &pair->elems[0]);
        op->q = pg_dest_pred(d, &pair->elems[1]);
    } else {
        op->p = pg_dest_pred(d, pair);
    }
    op->run = op->extra ? pg_op_setp : NULL;
}

void pg_decode_set(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type result = pg_type(d, 0), type = pg_type(d, 1);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    pg_compare_plan *plan = make_plan(d, type);
    if (!plan)
        return;
    plan->float_result = result == PG_T_F32;
    plan->result_bytes = (uint8_t)pg_lane_bytes(result);
    op->imm = result == PG_T_F16 ? 0x3c00 : result == PG_T_BF16 ? 0x3f80 : 0xffff;
    op->extra = plan;
    op->run = plan->result_bytes <= 4 ? pg_op_set : NULL;
}

void pg_decode_selp(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    const unsigned bytes = pg_lane_bytes(type);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    op->q = pg_source_pred(d, pg_operand(d, 3), &op->q_not);
    op->run = bytes == 2 ? pg_op_selp_16 : bytes == 4 ? pg_op_selp_32 : pg_op_selp_64;
}

void pg_decode_slct(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    const unsigned bytes = pg_lane_bytes(type);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    op->c = pg_source(d, pg_operand(d, 3), pg_type(d, 1));
    op->mode = (uint8_t)((pg_type(d, 1) == PG_T_F32 ? 1 : 0) | (pg_mod(d, PG_F_FTZ) ? 2 : 0));
    op->run = bytes == 2 ? pg_op_slct_16 : bytes == 4 ? pg_op_slct_32 : pg_op_slct_64;
}

void pg_decode_testp(pg_decoder *d, pg_op *op)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->mode = pg_type(d, 0) == PG_T_F64;
    op->imm = pg_mod(d, PG_F_TESTP);
    op->run = pg_op_testp;
}
