/* Addresses: the space that an instruction names against that of a variable, the width of
 * address registers, and how much a vector load or store may move. */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

static pg_ptx_space space_of(unsigned modifier)
{
    switch (modifier) {
    case PG_M_SPACE_CONST:
        return PG_SPACE_CONST;
    case PG_M_SPACE_GLOBAL:
    case PG_M_SOURCE_GLOBAL:
        return PG_SPACE_GLOBAL;
    case PG_M_SPACE_LOCAL:
        return PG_SPACE_LOCAL;
    case PG_M_SPACE_PARAM:
    case PG_M_SPACE_PARAM_ENTRY:
    case PG_M_SPACE_PARAM_FUNC:
        return PG_SPACE_PARAM;
    case PG_M_SPACE_SHARED:
    case PG_M_SPACE_SHARED_CTA:
    case PG_M_SPACE_SHARED_CLUSTER:
    case PG_M_SOURCE_SHARED_CTA:
    case PG_M_SOURCE_SHARED_CLUSTER:
        return PG_SPACE_SHARED;
    default:
        return PG_SPACE_NONE;
    }
}

static const char *space_name(pg_ptx_space space)
{
    static const char *const names[] = {
        [PG_SPACE_NONE] = "generic",   [PG_SPACE_REG] = ".reg",     [PG_SPACE_CONST] = ".const",
        [PG_SPACE_GLOBAL] = ".global", [PG_SPACE_LOCAL] = ".local", [PG_SPACE_PARAM] = ".param",
        [PG_SPACE_SHARED] = ".shared",
    };
    return names[space];
}

/* Rows whose addresses without a space may name parameters: those of tensor maps. */
static bool takes_tensor_map(const pg_ptx_opcode *o)
{
    return o->mod[PG_F_DIM] || o->mod[PG_F_PROXY] || o->mod[PG_F_MAP_FIELD];
}

static bool check_variable(pg_verifier *v, const pg_ptx_operand *o, pg_ptx_space space)
{
    const pg_ptx_var *var = &v->m->vars[o->index];
    bool fits = space == PG_SPACE_NONE
                    ? var->space != PG_SPACE_PARAM || takes_tensor_map(v->insn->opcode)
                    : var->space == space;
    return fits || pg_verify_fail(v, o, "'%s' is a %s variable, but '%s' wants a %s address",
                                  var->name, space_name((pg_ptx_space)var->space),
                                  pg_verify_name(v), space_name(space));
}

static bool check_base_register(pg_verifier *v, const pg_ptx_operand *o, bool wide)
{
    pg_ptx_type type = v->f->reg_types[o->index];
    pg_ptx_type_class class = pg_type_table[type].class;
    if (class != PG_CLASS_BITS && class != PG_CLASS_UNSIGNED && class != PG_CLASS_SIGNED)
        return pg_verify_fail(v, o, "a register of type .%s holds no address",
                              pg_type_table[type].spelling);
    return !wide || pg_type_table[type].bits == 64 ||
           pg_verify_fail(v, o, "a global or generic address needs a 64-bit register, not .%s",
                          pg_type_table[type].spelling);
}

static bool is_texture(pg_ptx_op op)
{
    return op >= PG_OP_TEX && op <= PG_OP_SURED_FORMATTED;
}

/* Coordinates that a texture's geometry needs at least; 0: a question, which needs none. */
static unsigned least_coordinates(unsigned geometry)
{
    switch (geometry) {
    case PG_M_NONE:
        return 0;
    case PG_M_GEOMETRY_G1D:
        return 1;
    case PG_M_GEOMETRY_G2D:
    case PG_M_GEOMETRY_GA1D:
        return 2;
    default:
        return 4;
    }
}

/* [handle or name, perhaps a sampler, coordinates] */
static bool check_texture(pg_verifier *v, const pg_ptx_operand *o)
{
    const unsigned least = least_coordinates(v->insn->opcode->mod[PG_F_GEOMETRY]);
    const pg_ptx_operand *last = o->n_elems ? &o->elems[o->n_elems - 1] : NULL;
    const unsigned have = !last ? 0 : last->kind == PG_OPERAND_VECTOR ? last->n_elems : 1;
    if (o->value)
        return pg_verify_fail(v, o, "'%s' takes a handle or a name without an offset",
                              pg_verify_name(v));
    return have >= least || pg_verify_fail(v, o, "'%s' needs %u coordinates here, not %u",
                                           pg_verify_name(v), least, have);
}

static bool check_coordinates(pg_verifier *v, const pg_ptx_operand *o)
{
    const pg_ptx_opcode *op = v->insn->opcode;
    if (is_texture(op->op))
        return check_texture(v, o);
    if (o->n_elems && (!op->mod[PG_F_DIM] || o->elems[0].kind != PG_OPERAND_VECTOR))
        return pg_verify_fail(v, o, "'%s' takes no coordinates here", pg_verify_name(v));
    const pg_slot slot = {.n_alternatives = 1,
                          .alternatives = {{.letter = 'v', .kinds = 0xFFFF, .type = PG_T_B32}}};
    for (uint32_t i = 0; i < o->n_elems; i++)
        if (!pg_verify_operand(v, &slot, &o->elems[i]))
            return false;
    return true;
}

/* Whether the space of the n-th address of an instruction is known, and which it is. */
static bool address_space(const pg_ptx_opcode *op, unsigned n, pg_ptx_space *space)
{
    bool tensor = op->mod[PG_F_DIM] != PG_M_NONE;
    if (op->op >= PG_OP_TCGEN05_CP && op->op <= PG_OP_TCGEN05_SHIFT)
        return false; /* tensor memory */
    if (n == 0 && !(tensor && op->mod[PG_F_SPACE] == PG_M_SPACE_GLOBAL)) {
        *space = space_of(op->mod[PG_F_SPACE]);
        return true;
    }
    /* A tensor map may be anywhere. The other end of a copy has the space of the source; what
     * follows is an mbarrier of either kind of shared memory. */
    if (n == 1 && op->mod[PG_F_SOURCE] && (!tensor || op->mod[PG_F_SPACE] == PG_M_SPACE_GLOBAL)) {
        *space = space_of(op->mod[PG_F_SOURCE]);
        return true;
    }
    return false;
}

static bool check_addresses(pg_verifier *v)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < v->insn->n_operands; i++) {
        const pg_ptx_operand *o = &v->insn->operands[i];
        pg_ptx_space space = PG_SPACE_NONE;
        if (o->kind != PG_OPERAND_ADDRESS)
            continue;
        bool known = address_space(v->insn->opcode, n++, &space);
        if (!check_coordinates(v, o))
            return false;
        if (o->n_elems && o->value)
            return pg_verify_fail(v, o, "the address of a tensor map takes no offset");
        if (o->base == PG_OPERAND_VAR && known && !check_variable(v, o, space))
            return false;
        /* ptxas takes a 32-bit (shared) address without a space in this one instruction, and
         * cuda::ptx writes it so. */
        bool wide = known && (space == PG_SPACE_GLOBAL || space == PG_SPACE_NONE) &&
                    v->insn->opcode->op != PG_OP_CP_ASYNC_MBARRIER_ARRIVE;
        if (o->base == PG_OPERAND_REG && !check_base_register(v, o, wide))
            return false;
        if (o->base == PG_OPERAND_IMM && known && space != PG_SPACE_LOCAL)
            return pg_verify_fail(v, o, "a constant is an address in .local memory only");
    }
    return true;
}

/* 128 bits at most; ld and st of global memory 256, as v8 of 32 or v4 of 64 bits. (v8 of small
 * integers is in no ISA, but ptxas takes it.) */
static bool check_vector_width(pg_verifier *v)
{
    const pg_ptx_opcode *op = v->insn->opcode;
    static const unsigned widths[] = {2, 4, 8};
    if (!op->mod[PG_F_VEC])
        return true;
    bool plain = op->op >= PG_OP_LD && op->op <= PG_OP_ST_ORDERED;
    unsigned n = widths[op->mod[PG_F_VEC] - PG_M_VEC_V2];
    unsigned element = pg_type_table[op->types[0]].bits, bits = element * n;
    bool wide = plain && bits == 256 && element <= 64;
    const bool is_float = pg_type_table[op->types[0]].class == PG_CLASS_FLOAT;
    if ((bits > 128 && !wide) || (plain && n == 8 && !wide && is_float))
        return pg_verify_fail(v, NULL,
                              "'%s' moves %u bits: vectors have 128 at most; of ld.global and "
                              "st.global 256, as .v8 of 32 or .v4 of 64 bits",
                              pg_verify_name(v), bits);
    if (wide && op->mod[PG_F_SPACE] != PG_M_SPACE_GLOBAL && op->mod[PG_F_SPACE] != PG_M_NONE)
        return pg_verify_fail(v, NULL, "'%s': 256 bits need .global", pg_verify_name(v));
    if (wide && (v->m->version < 88 || v->m->arch < 100))
        return pg_verify_fail(v, NULL, "'%s': 256 bits need .version 8.8 and sm_100",
                              pg_verify_name(v));
    return true;
}

/* Hints about the L2 cache go with global and generic addresses. */
static bool check_hints(pg_verifier *v)
{
    const pg_ptx_opcode *op = v->insn->opcode;
    bool hinted = op->mod[PG_F_HINT] || op->mod[PG_F_PREFETCH] || op->mod[PG_F_EVICT_L2];
    bool cached = op->mod[PG_F_SPACE] == PG_M_NONE || op->mod[PG_F_SPACE] == PG_M_SPACE_GLOBAL ||
                  op->mod[PG_F_SOURCE];
    return !hinted || cached ||
           pg_verify_fail(v, NULL, "'%s': a hint about L2 goes with .global only",
                          pg_verify_name(v));
}

static bool check_written_space(pg_verifier *v)
{
    const pg_ptx_operand *o = &v->insn->operands[0];
    unsigned space = v->insn->opcode->mod[PG_F_SPACE];
    if (space == PG_M_SPACE_CONST)
        return pg_verify_fail(v, o, "constant memory cannot be written");
    if (o->base == PG_OPERAND_VAR && v->m->vars[o->index].space == PG_SPACE_PARAM &&
        v->m->vars[o->index].role == PG_ROLE_PARAM)
        return pg_verify_fail(v, o, "parameter '%s' cannot be written", v->m->vars[o->index].name);
    return true;
}

bool pg_verify_memory(pg_verifier *v)
{
    switch (v->insn->opcode->op) {
    case PG_OP_ST:
    case PG_OP_ST_VOLATILE:
    case PG_OP_ST_MMIO:
    case PG_OP_ST_ORDERED:
        if (!check_written_space(v))
            return false;
        break;
    default:
        break;
    }
    return check_addresses(v) && check_vector_width(v) && check_hints(v);
}
