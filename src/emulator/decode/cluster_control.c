/* Decoding of clusterlaunchcontrol. */
#include "emulator/copy/cluster_control.h"
#include "emulator/decode/families.h"

/* mode: 1 .multicast::cluster::all */
void pg_decode_clc_try_cancel(pg_decoder *d, pg_op *op)
{
    const pg_space space = pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    pg_cancel_operands *o = PG_NEW(d->arena, pg_cancel_operands);
    op->extra = o;
    if (!o)
        return;
    pg_address(d, op, pg_operand(d, 0), space);
    pg_address(d, &o->barrier, pg_operand(d, 1), space);
    op->mode = d->opcode->op == PG_OP_CLC_TRY_CANCEL_ALL;
    op->run = pg_op_try_cancel;
}

void pg_decode_clc_is_canceled(pg_decoder *d, pg_op *op)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B128);
    op->run = pg_op_is_canceled;
}

/* All three coordinates in a vector of four (the fourth is undefined), or the one that the
 * mnemonic names. */
void pg_decode_clc_first_ctaid(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *to = pg_operand(d, 0);
    pg_row *rows = pg_new_rows(d, 3);
    if (!rows)
        return;
    op->rows = rows;
    op->row_count = 3;
    for (uint32_t i = 0; i < 3 && to->kind == PG_OPERAND_VECTOR; i++)
        rows[i] = pg_dest(d, &to->elems[i]);
    if (to->kind != PG_OPERAND_VECTOR)
        rows[d->opcode->op - PG_OP_CLC_FIRST_CTAID_X] = pg_dest(d, to);
    op->a = pg_source(d, pg_operand(d, 1), PG_T_B128);
    op->run = pg_op_first_ctaid;
}
