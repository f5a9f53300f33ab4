/* Decoding of arithmetic: integers and floats with one to three operands of one type. */
#include "emulator/scalar/alu.h"
#include "emulator/scalar/alu_float.h"
#include "emulator/decode/families.h"

/* ---- integers ---- */

static bool is_signed(pg_ptx_type type)
{
    return pg_ptx_type_class_of(type) == PG_CLASS_SIGNED || type == PG_T_S16X2;
}

/* d, and up to three sources; the last of a mad has the type of the result. */
static void integer_operands(pg_decoder *d, pg_op *op, pg_ptx_type type)
{
    pg_row *const slots[3] = {&op->a, &op->b, &op->c};
    op->d = pg_dest(d, pg_operand(d, 0));
    for (uint32_t i = 1; i < d->insn->n_operands && i <= 3; i++)
        *slots[i - 1] = pg_source(d, pg_operand(d, i), type);
}

static void integer(pg_decoder *d, pg_op *op, pg_alu alu)
{
    const pg_ptx_type type = pg_type(d, 0);
    const bool packed = type == PG_T_U16X2 || type == PG_T_S16X2;
    integer_operands(d, op, type);
    op->run = pg_alu_int_handler(alu, packed ? 16 : pg_ptx_type_bits(type), is_signed(type));
}

#define INTEGER(name, alu)                                                                         \
    void pg_decode_##name(pg_decoder *d, pg_op *op)                                                \
    {                                                                                              \
        integer(d, op, alu);                                                                       \
    }
INTEGER(add_sat, PG_ALU_ADD_SAT)
INTEGER(sub_sat, PG_ALU_SUB_SAT)
INTEGER(mad_sat, PG_ALU_MAD_HI_SAT)
INTEGER(sub_int, PG_ALU_SUB)
INTEGER(sad, PG_ALU_SAD)
INTEGER(div_int, PG_ALU_DIV)
INTEGER(rem, PG_ALU_REM)
INTEGER(abs_int, PG_ALU_ABS)
INTEGER(neg_int, PG_ALU_NEG)
INTEGER(cnot, PG_ALU_CNOT)

static bool packed(const pg_decoder *d)
{
    return pg_ptx_type_class_of(pg_type(d, 0)) == PG_CLASS_PACKED;
}

void pg_decode_add_int(pg_decoder *d, pg_op *op)
{
    integer(d, op, packed(d) ? PG_ALU_ADD_X2 : PG_ALU_ADD);
}

void pg_decode_add_cc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op, (pg_carry){PG_CARRY_ADD, false, true, false});
}

void pg_decode_addc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op, (pg_carry){PG_CARRY_ADD, true, pg_mod(d, PG_F_CC) != 0, false});
}

void pg_decode_sub_cc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op, (pg_carry){PG_CARRY_SUB, false, true, false});
}

void pg_decode_subc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op, (pg_carry){PG_CARRY_SUB, true, pg_mod(d, PG_F_CC) != 0, false});
}

void pg_decode_mad_cc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op,
                    (pg_carry){PG_CARRY_MAD, false, true, pg_mod(d, PG_F_HALF) == PG_M_HALF_HI});
}

void pg_decode_madc(pg_decoder *d, pg_op *op)
{
    pg_decode_carry(d, op,
                    (pg_carry){PG_CARRY_MAD, true, pg_mod(d, PG_F_CC) != 0,
                               pg_mod(d, PG_F_HALF) == PG_M_HALF_HI});
}

/* min and max; .relu is max with zero on top. */
static void minmax(pg_decoder *d, pg_op *op, pg_alu plain, pg_alu x2)
{
    integer(d, op, packed(d) ? x2 : plain);
    if (!pg_mod(d, PG_F_RELU))
        return;
    op->run = packed(d) ? pg_relu_handler(plain == PG_ALU_MAX, true)
                        : pg_relu_handler(plain == PG_ALU_MAX, false);
}

void pg_decode_min_int(pg_decoder *d, pg_op *op)
{
    minmax(d, op, PG_ALU_MIN, PG_ALU_MIN_X2);
}

void pg_decode_max_int(pg_decoder *d, pg_op *op)
{
    minmax(d, op, PG_ALU_MAX, PG_ALU_MAX_X2);
}

void pg_decode_mul_int(pg_decoder *d, pg_op *op)
{
    const unsigned half = pg_mod(d, PG_F_HALF);
    integer(d, op,
            half == PG_M_HALF_WIDE ? PG_ALU_MUL_WIDE
            : half == PG_M_HALF_HI ? PG_ALU_MUL_HI
                                   : PG_ALU_MUL_LO);
}

/* The type twice as wide, of the same class. */
static pg_ptx_type wide_type(pg_ptx_type type)
{
    switch (type) {
    case PG_T_U16:
        return PG_T_U32;
    case PG_T_S16:
        return PG_T_S32;
    case PG_T_U32:
        return PG_T_U64;
    default:
        return PG_T_S64;
    }
}

void pg_decode_mad_int(pg_decoder *d, pg_op *op)
{
    const unsigned half = pg_mod(d, PG_F_HALF);
    const pg_ptx_type type = pg_type(d, 0);
    const bool wide = half == PG_M_HALF_WIDE;
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), type);
    op->c = pg_source(d, pg_operand(d, 3), wide ? wide_type(type) : type);
    op->run = pg_alu_int_handler(wide                   ? PG_ALU_MAD_WIDE
                                 : half == PG_M_HALF_HI ? PG_ALU_MAD_HI
                                                        : PG_ALU_MAD_LO,
                                 pg_ptx_type_bits(type), is_signed(type));
}

void pg_decode_mul24(pg_decoder *d, pg_op *op)
{
    integer(d, op, pg_mod(d, PG_F_HALF) == PG_M_HALF_HI ? PG_ALU_MUL24_HI : PG_ALU_MUL24_LO);
}

void pg_decode_mad24(pg_decoder *d, pg_op *op)
{
    const bool hi = pg_mod(d, PG_F_HALF) == PG_M_HALF_HI;
    integer(d, op,
            !hi                   ? PG_ALU_MAD24_LO
            : pg_mod(d, PG_F_SAT) ? PG_ALU_MAD24_HI_SAT
                                  : PG_ALU_MAD24_HI);
}

/* and, or, xor, not work on predicates as well. */
static void logic(pg_decoder *d, pg_op *op, pg_alu alu)
{
    if (pg_type(d, 0) == PG_T_PRED)
        pg_decode_pred_logic(d, op, alu);
    else
        integer(d, op, alu);
}

void pg_decode_and(pg_decoder *d, pg_op *op)
{
    logic(d, op, PG_ALU_AND);
}

void pg_decode_or(pg_decoder *d, pg_op *op)
{
    logic(d, op, PG_ALU_OR);
}

void pg_decode_xor(pg_decoder *d, pg_op *op)
{
    logic(d, op, PG_ALU_XOR);
}

void pg_decode_not(pg_decoder *d, pg_op *op)
{
    logic(d, op, PG_ALU_NOT);
}

static void shift(pg_decoder *d, pg_op *op, pg_alu alu)
{
    const pg_ptx_type type = pg_type(d, 0);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), type);
    op->b = pg_source(d, pg_operand(d, 2), PG_T_U32);
    op->run = pg_alu_int_handler(alu, pg_ptx_type_bits(type), is_signed(type));
}

void pg_decode_shl(pg_decoder *d, pg_op *op)
{
    shift(d, op, PG_ALU_SHL);
}

void pg_decode_shr(pg_decoder *d, pg_op *op)
{
    shift(d, op, PG_ALU_SHR);
}

/* ---- floats ---- */

pg_round pg_round_of(unsigned modifier)
{
    switch (modifier) {
    case PG_M_ROUND_RZ:
    case PG_M_ROUND_RZI:
        return PG_ROUND_RZ;
    case PG_M_ROUND_RM:
    case PG_M_ROUND_RMI:
        return PG_ROUND_RM;
    case PG_M_ROUND_RP:
    case PG_M_ROUND_RPI:
        return PG_ROUND_RP;
    case PG_M_ROUND_RNA:
        return PG_ROUND_RNA;
    case PG_M_ROUND_RS:
        return PG_ROUND_RS;
    default:
        return PG_ROUND_RN;
    }
}

static pg_fp_type fp_type(pg_ptx_type type)
{
    switch (type) {
    case PG_T_F32:
        return PG_FP_F32;
    case PG_T_F64:
        return PG_FP_F64;
    case PG_T_F16:
    case PG_T_BF16:
        return PG_FP_HALF;
    case PG_T_F16X2:
    case PG_T_BF16X2:
        return PG_FP_HALF2;
    default:
        return PG_FP_TYPE_COUNT;
    }
}

static void floating(pg_decoder *d, pg_op *op, pg_fp fp, pg_half_op half_op)
{
    const pg_ptx_type type = pg_type(d, 0);
    pg_fp_plan *plan = PG_NEW(d->arena, pg_fp_plan);
    if (!plan || fp_type(type) == PG_FP_TYPE_COUNT || pg_mod(d, PG_F_OOB))
        return;
    const bool ftz = pg_mod(d, PG_F_FTZ) != 0, sat = pg_mod(d, PG_F_SAT) != 0;
    const bool nan = pg_mod(d, PG_F_NAN) != 0, xorsign = pg_mod(d, PG_F_XORSIGN) != 0;
    plan->mode = (pg_float_mode){pg_round_of(pg_mod(d, PG_F_ROUND)), ftz, sat};
    plan->minmax = (pg_minmax_mode){fp == PG_FP_MAX, ftz, nan, xorsign};
    plan->half = (pg_half_mode){.bf16 = type == PG_T_BF16 || type == PG_T_BF16X2,
                                .ftz = ftz,
                                .sat = sat,
                                .relu = pg_mod(d, PG_F_RELU) != 0,
                                .nan = nan,
                                .xorsign_abs = xorsign};
    plan->half_op = half_op;
    op->extra = plan;
    integer_operands(d, op, type);
    op->run = pg_fp_handler(fp, fp_type(type), plan);
}

#define FLOATING(name, fp, half_op)                                                                \
    void pg_decode_##name(pg_decoder *d, pg_op *op)                                                \
    {                                                                                              \
        floating(d, op, fp, half_op);                                                              \
    }
FLOATING(add_float, PG_FP_ADD, PG_HALF_ADD)
FLOATING(sub_float, PG_FP_SUB, PG_HALF_SUB)
FLOATING(mul_float, PG_FP_MUL, PG_HALF_MUL)
FLOATING(fma, PG_FP_FMA, PG_HALF_FMA)
FLOATING(div_float, PG_FP_DIV, PG_HALF_ADD)
FLOATING(div_approx, PG_FP_DIV_APPROX, PG_HALF_ADD)
FLOATING(abs_float, PG_FP_ABS, PG_HALF_ABS)
FLOATING(neg_float, PG_FP_NEG, PG_HALF_NEG)
FLOATING(min_float, PG_FP_MIN, PG_HALF_MIN)
FLOATING(max_float, PG_FP_MAX, PG_HALF_MAX)
FLOATING(rcp, PG_FP_RCP, PG_HALF_ADD)
FLOATING(rcp_approx, PG_FP_RCP_APPROX, PG_HALF_ADD)
FLOATING(sqrt, PG_FP_SQRT, PG_HALF_ADD)
FLOATING(sqrt_approx, PG_FP_SQRT_APPROX, PG_HALF_ADD)
FLOATING(rsqrt, PG_FP_RSQRT, PG_HALF_ADD)
FLOATING(sin, PG_FP_SIN, PG_HALF_ADD)
FLOATING(cos, PG_FP_COS, PG_HALF_ADD)
FLOATING(lg2, PG_FP_LG2, PG_HALF_ADD)
FLOATING(ex2, PG_FP_EX2, PG_HALF_EX2)
FLOATING(tanh, PG_FP_TANH, PG_HALF_TANH)
FLOATING(copysign, PG_FP_COPYSIGN, PG_HALF_ADD)
