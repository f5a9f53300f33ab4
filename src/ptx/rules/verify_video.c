/* The parts of registers that video instructions name (PTX ISA 9.0, section 9.7.17): which
 * selector may stand where, and when there is a third source. */
#include "ptx/rules/verify.h"

bool pg_verify_is_video(const pg_verifier *v)
{
    return v->insn->opcode->op >= PG_OP_VADD && v->insn->opcode->op <= PG_OP_VSET4;
}

/* Parts of a SIMD instruction; 0: a scalar one. */
static unsigned parts_of(pg_ptx_op op)
{
    return op >= PG_OP_VADD4 ? 4 : op >= PG_OP_VADD2 ? 2 : 0;
}

/* "'vadd': .h3 is no part of this operand" */
static bool refuse(pg_verifier *v, const pg_ptx_operand *o)
{
    return pg_verify_fail(v, o, "'%s' has no such part of this operand", pg_verify_name(v));
}

static bool check_digits(pg_verifier *v, const pg_ptx_operand *o, unsigned limit)
{
    const unsigned count = o->value >> PG_SELECT_COUNT_SHIFT & 7;
    for (unsigned i = 0; i < count; i++)
        if ((o->value >> 4 * i & 15) >= limit)
            return refuse(v, o);
    return true;
}

/* A byte or a half of a scalar instruction's operand. */
static bool check_scalar(pg_verifier *v, const pg_ptx_operand *o)
{
    const unsigned count = o->value >> PG_SELECT_COUNT_SHIFT & 7;
    return count <= 1 ? check_digits(v, o, o->value & PG_SELECT_HALVES ? 2 : 4) : refuse(v, o);
}

/* The mask of the destination: parts, each at most once and in falling order; a selection of all
 * parts of two registers. */
static bool check_parts(pg_verifier *v, const pg_ptx_operand *o, bool mask)
{
    const unsigned parts = parts_of(v->insn->opcode->op);
    const unsigned count = o->value >> PG_SELECT_COUNT_SHIFT & 7;
    if (!count)
        return true;
    if (!(o->value & PG_SELECT_HALVES) != (parts == 4) || (!mask && count != parts))
        return refuse(v, o);
    for (unsigned i = 1; mask && i < count; i++)
        if ((o->value >> 4 * i & 15) <= (o->value >> 4 * (i - 1) & 15))
            return refuse(v, o);
    return check_digits(v, o, mask ? parts : 2 * parts);
}

bool pg_verify_video(pg_verifier *v)
{
    const pg_ptx_operand *o = v->insn->operands;
    const pg_ptx_op op = v->insn->opcode->op;
    const bool simd = parts_of(op) != 0, mad = op == PG_OP_VMAD;
    const unsigned negated = (o[1].kind == PG_OPERAND_REG && (o[1].value & PG_SELECT_NEGATED)) +
                             (o[2].kind == PG_OPERAND_REG && (o[2].value & PG_SELECT_NEGATED)) +
                             (o[3].kind == PG_OPERAND_REG && (o[3].value & PG_SELECT_NEGATED));
    for (unsigned i = 0; i < 4; i++) {
        const bool part =
            o[i].kind == PG_OPERAND_REG && (o[i].value & ~(uint64_t)PG_SELECT_NEGATED);
        if (part && (i == 3 || (mad && i == 0)))
            return refuse(v, &o[i]);
        if (part && !(simd ? check_parts(v, &o[i], i == 0) : check_scalar(v, &o[i])))
            return false;
    }
    const bool second = v->insn->opcode->mod[PG_F_OP] != 0;
    const bool merges = (o[0].value >> PG_SELECT_COUNT_SHIFT & 7) != 0;
    if (negated > 1 || (negated && (!mad || v->insn->opcode->mod[PG_F_PO])))
        return pg_verify_fail(v, NULL, "'%s' can negate %s", pg_verify_name(v),
                              mad ? "one source, not with .po" : "nothing");
    if (simd && second && v->insn->opcode->mod[PG_F_SAT])
        return pg_verify_fail(v, NULL, "'%s' cannot both saturate and add", pg_verify_name(v));
    if (simd || mad)
        return true;
    if (second && merges)
        return pg_verify_fail(v, NULL, "'%s' cannot both merge and combine", pg_verify_name(v));
    return !(second || merges) || o[3].kind != PG_OPERAND_NONE ||
           pg_verify_fail(v, NULL, "'%s' needs a third source to merge or combine with",
                          pg_verify_name(v));
}
