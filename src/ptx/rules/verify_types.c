/* Operands against the types that the row of the opcode table wants (PTX ISA 9.4.1, tables 25 to
 * 27). */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

/* What a register of type `reg` may stand for. Bit-size types mix with everything of their size;
 * integers with integers; a float only with itself; alternate and packed formats live in
 * bit-size registers, f16x2 in its own as well. */
static bool class_fits(pg_ptx_type reg, pg_ptx_type type)
{
    pg_ptx_type_class r = pg_type_table[reg].class, t = pg_type_table[type].class;
    if (r == PG_CLASS_BITS || t == PG_CLASS_BITS)
        return r != PG_CLASS_PRED && t != PG_CLASS_PRED;
    if (t == PG_CLASS_UNSIGNED || t == PG_CLASS_SIGNED)
        return r == PG_CLASS_UNSIGNED || r == PG_CLASS_SIGNED;
    return reg == type;
}

/* Bits of the register that holds a value of the type: 4- and 6-bit floats and pairs are padded. */
static unsigned storage_bits(pg_ptx_type type)
{
    unsigned bits = pg_type_table[type].bits;
    return bits <= 8 && bits > 1 ? 8 : bits;
}

static bool register_fits(pg_ptx_type reg, const pg_slot_alternative *a)
{
    unsigned have = pg_type_table[reg].bits, want = storage_bits(a->type);
    if (a->type == PG_T_NONE || reg == a->type)
        return true;
    if (!class_fits(reg, a->type))
        return false;
    if (have == want)
        return true;
    /* A wider float register does not hold a narrower value. */
    return a->wider && have > want && pg_type_table[reg].class != PG_CLASS_FLOAT;
}

static bool check_register(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    if (o->value && !pg_verify_is_video(v))
        return pg_verify_fail(v, o, "'%s' takes whole registers, as they are", pg_verify_name(v));
    pg_ptx_type reg = v->f->reg_types[o->index];
    if (register_fits(reg, a))
        return true;
    return pg_verify_fail(v, o, "a register of type .%s does not fit '%s', which wants .%s here",
                          pg_type_table[reg].spelling, pg_verify_name(v),
                          pg_type_table[a->type].spelling);
}

static bool literal_fits(pg_ptx_literal literal, pg_ptx_type type)
{
    pg_ptx_type_class class = pg_type_table[type].class;
    if (literal == PG_LITERAL_INT)
        return class != PG_CLASS_FLOAT && class != PG_CLASS_PACKED;
    if (type == PG_T_F32 || type == PG_T_F64)
        return true;
    return class == PG_CLASS_BITS &&
           pg_type_table[type].bits == (literal == PG_LITERAL_F32 ? 32u : 64u);
}

static bool check_literal(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    pg_ptx_literal literal = (pg_ptx_literal)o->literal;
    if (a->type == PG_T_NONE ? literal == PG_LITERAL_INT : literal_fits(literal, a->type))
        return true;
    if (a->type == PG_T_NONE)
        return pg_verify_fail(v, o, "'%s' wants an integer here", pg_verify_name(v));
    return pg_verify_fail(v, o, "%s constant does not fit '%s', which wants .%s here",
                          literal == PG_LITERAL_INT ? "an integer" : "a floating-point",
                          pg_verify_name(v), pg_type_table[a->type].spelling);
}

/* The special registers that older PTX had in 16 bits, and the one that it had in 32. */
static bool had_other_width(uint32_t special, unsigned want)
{
    return want == 16 ? special <= PG_SPECIAL_NCTAID_Z : want == 32 && special == PG_SPECIAL_GRIDID;
}

/* Special registers are read whole, some also in their former width. */
static bool check_special(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    pg_ptx_type type = pg_ptx_special_type((pg_ptx_special)o->index);
    unsigned have = pg_type_table[type].bits, want = pg_type_table[a->type].bits;
    /* as elements of vectors also where a float is due: nobody checks */
    bool kind = pg_type_table[a->type].class != PG_CLASS_FLOAT || a->letter == 'v';
    bool fits = kind && (have == want || had_other_width(o->index, want));
    return fits || pg_verify_fail(v, o, "'%s' cannot read %s, which has type .%s",
                                  pg_verify_name(v), pg_ptx_special_name((pg_ptx_special)o->index),
                                  pg_type_table[type].spelling);
}

/* The address of a variable or function as a value: 64 bits; of shared, local and parameter
 * memory also 32. */
static bool check_symbol(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    unsigned want = pg_type_table[a->type].bits;
    unsigned space = o->kind == PG_OPERAND_VAR ? v->m->vars[o->index].space : PG_SPACE_NONE;
    bool narrow = space == PG_SPACE_SHARED || space == PG_SPACE_LOCAL || space == PG_SPACE_PARAM;
    bool fits =
        pg_type_table[a->type].class != PG_CLASS_FLOAT && (want == 64 || (want == 32 && narrow));
    return fits ||
           pg_verify_fail(v, o, "an address does not fit .%s", pg_type_table[a->type].spelling);
}

static bool check_element(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    switch (o->kind) {
    case PG_OPERAND_REG:
        return check_register(v, a, o);
    case PG_OPERAND_IMM:
        if (a->letter == 'v')
            return check_literal(v, a, o);
        return pg_verify_fail(v, o, "a constant cannot be written");
    case PG_OPERAND_SINK:
        if (a->letter == 'V')
            return true;
        return pg_verify_fail(v, o, "_ has no value");
    case PG_OPERAND_SPECIAL:
        if (a->letter == 'v')
            return check_special(v, a, o);
        return pg_verify_fail(v, o, "a special register cannot be written");
    default:
        return pg_verify_fail(v, o, "a vector of '%s' takes registers%s only", pg_verify_name(v),
                              a->letter == 'v' ? " and constants" : "");
    }
}

static bool check_vector(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    if (a->count != PG_COUNT_ANY && o->n_elems != a->count)
        return pg_verify_fail(v, o, "'%s' takes %u elements here, not %u", pg_verify_name(v),
                              a->count, o->n_elems);
    for (uint32_t i = 0; i < o->n_elems; i++)
        if (!check_element(v, a, &o->elems[i]))
            return false;
    return true;
}

/* register|predicate and predicate|predicate */
static bool check_pair(pg_verifier *v, const pg_slot_alternative *a, const pg_ptx_operand *o)
{
    const pg_slot_alternative predicate = {.letter = 'd', .type = PG_T_PRED};
    for (int i = 0; i < 2; i++) {
        const pg_ptx_operand *e = &o->elems[i];
        if (e->kind == PG_OPERAND_SINK && (i || a->letter != 'e'))
            continue;
        if (e->kind != PG_OPERAND_REG)
            return pg_verify_fail(v, e, "'%s' cannot write to this", pg_verify_name(v));
        if (!check_register(v, i ? &predicate : a, e))
            return false;
    }
    return true;
}

/* The alternative that the operand is meant for: the first that takes its kind and, for
 * registers, its type. */
static const pg_slot_alternative *choose(const pg_verifier *v, const pg_slot *slot,
                                         const pg_ptx_operand *o)
{
    const pg_slot_alternative *chosen = NULL;
    for (unsigned i = 0; i < slot->n_alternatives; i++) {
        const pg_slot_alternative *a = &slot->alternatives[i];
        if (!(a->kinds & PG_KIND_BIT(o->kind)))
            continue;
        if (o->kind != PG_OPERAND_REG || register_fits(v->f->reg_types[o->index], a))
            return a;
        chosen = chosen ? chosen : a;
    }
    return chosen ? chosen : slot->alternatives;
}

bool pg_verify_operand(pg_verifier *v, const pg_slot *slot, const pg_ptx_operand *o)
{
    const pg_slot_alternative *a = choose(v, slot, o);
    switch (o->kind) {
    case PG_OPERAND_REG:
        return check_register(v, a, o);
    case PG_OPERAND_IMM:
        return check_literal(v, a, o);
    case PG_OPERAND_SPECIAL:
        return check_special(v, a, o);
    case PG_OPERAND_VAR:
    case PG_OPERAND_FUNC:
        return a->letter == 'f' || check_symbol(v, a, o);
    case PG_OPERAND_VECTOR:
        return check_vector(v, a, o);
    case PG_OPERAND_PAIR:
        return check_pair(v, a, o);
    default:
        return true;
    }
}
