/* Decoding of bit instructions, carry chains and logic of predicates; handlers are in
 * scalar/bits.c. */
#include "emulator/decode/families.h"
#include "emulator/scalar/scalar.h"

void pg_decode_carry(pg_decoder *d, pg_op *op, pg_carry c)
{
    const pg_ptx_type type = pg_type(d, 0);
    const bool wide = pg_ptx_type_bits(type) == 64;
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    if (c.kind == PG_CARRY_MAD)
        op->c = pg_source(d, pg_operand(d, 3), type);
    op->mode =
        (uint8_t)((c.in ? PG_CARRY_IN : 0) | (c.out ? PG_CARRY_OUT : 0) |
                  (c.kind == PG_CARRY_SUB ? PG_CARRY_SUBTRACT : 0) | (c.high ? PG_CARRY_HIGH : 0) |
                  (pg_ptx_type_class_of(type) == PG_CLASS_SIGNED ? PG_CARRY_IS_SIGNED : 0));
    if (c.kind == PG_CARRY_MAD)
        op->run = wide ? pg_op_carry_64_mad : pg_op_carry_32_mad;
    else
        op->run = wide ? pg_op_carry_64_add : pg_op_carry_32_add;
}

pg_handler pg_relu_handler(bool max, bool packed)
{
    return max ? (packed ? pg_op_max_relu_x2 : pg_op_max_relu)
               : (packed ? pg_op_min_relu_x2 : pg_op_min_relu);
}

void pg_decode_pred_logic(pg_decoder *d, pg_op *op, pg_alu alu)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->q = pg_source_pred(d, pg_operand(d, 1), &op->q_not);
    if (pg_operand_present(d, 2))
        op->imm = pg_source_pred(d, pg_operand(d, 2), &op->p_not);
    op->mode = (uint8_t)alu;
    op->run = pg_op_pred_logic;
}

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
BITS(popc, false, is_64(d) ? pg_op_popc_64 : pg_op_popc_32)
BITS(clz, false, is_64(d) ? pg_op_clz_64 : pg_op_clz_32)
BITS(brev, false, is_64(d) ? pg_op_brev_64 : pg_op_brev_32)
BITS(fns, false, pg_op_fns_32)
BITS(bfe, true,
     is_64(d) ? (is_signed_type(d, 0) ? pg_op_bfe_s64 : pg_op_bfe_u64)
              : (is_signed_type(d, 0) ? pg_op_bfe_s32 : pg_op_bfe_u32))

void pg_decode_bfind(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    op->imm = pg_mod(d, PG_F_SHIFTAMT) != 0;
    op->run = is_64(d) ? (is_signed_type(d, 0) ? pg_op_bfind_s64 : pg_op_bfind_u64)
                       : (is_signed_type(d, 0) ? pg_op_bfind_s32 : pg_op_bfind_u32);
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
    op->run = is_64(d) ? pg_op_bfi_64 : pg_op_bfi_32;
}

void pg_decode_szext(pg_decoder *d, pg_op *op)
{
    operands(d, op, true);
    op->mode = (uint8_t)((is_signed_type(d, 0) ? 1 : 0) |
                         (pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0));
    op->run = pg_op_szext_32;
}

void pg_decode_bmsk(pg_decoder *d, pg_op *op)
{
    operands(d, op, true);
    op->mode = pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0;
    op->run = pg_op_bmsk_32;
}

static void dot_product(pg_decoder *d, pg_op *op, unsigned mode)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->b = pg_source(d, pg_operand(d, 2), pg_type(d, 1));
    op->c = pg_source(d, pg_operand(d, 3), PG_T_B32);
    op->mode = (uint8_t)(mode | (is_signed_type(d, 0) ? 1 : 0) | (is_signed_type(d, 1) ? 2 : 0));
    op->run = pg_op_dp_32;
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
    op->run = pg_op_lop3_pred;
}

void pg_decode_lop3(pg_decoder *d, pg_op *op)
{
    if (pg_mod(d, PG_F_OP)) {
        lop3_with_predicate(d, op);
        return;
    }
    operands(d, op, false);
    op->imm = pg_immediate(d, pg_operand(d, 4));
    op->run = pg_op_lop3_32;
}

void pg_decode_shf(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    op->mode = (uint8_t)((pg_mod(d, PG_F_DIRECTION) == PG_M_DIRECTION_R ? 1 : 0) |
                         (pg_mod(d, PG_F_SHIFT) == PG_M_SHIFT_WRAP ? 2 : 0));
    op->run = pg_op_shf_32;
}

void pg_decode_prmt(pg_decoder *d, pg_op *op)
{
    operands(d, op, false);
    const unsigned mode = pg_mod(d, PG_F_PRMT);
    op->mode = (uint8_t)(mode ? mode - PG_M_PRMT_F4E + 1 : 0);
    op->run = pg_op_prmt_32;
}
