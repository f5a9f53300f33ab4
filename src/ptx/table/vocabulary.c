/* The .def tables as arrays, and their names. */
#include "ptx/table/vocabulary.h"

const pg_type_info pg_type_table[PG_PTX_TYPE_COUNT] = {
#define PG_PTX_TYPE(name, spelling, bits, class) {spelling, bits, PG_CLASS_##class},
#include "ptx/table/types.def"
#undef PG_PTX_TYPE
};

const pg_modifier_info pg_modifier_table[PG_PTX_MODIFIER_COUNT] = {
    {"", PG_PTX_FIELD_COUNT},
#define PG_PTX_MOD(field, name, spelling) {spelling, PG_F_##field},
#include "ptx/table/modifiers.def"
};

const char *const pg_field_table[PG_PTX_FIELD_COUNT] = {
#define PG_PTX_FIELD(field) #field,
#include "ptx/table/modifiers.def"
};

static const struct {
    const char *spelling;
    pg_ptx_type type;
} special_table[PG_PTX_SPECIAL_COUNT] = {
#define PG_PTX_SPECIAL(name, spelling, type) {spelling, PG_T_##type},
#include "ptx/table/special_registers.def"
#undef PG_PTX_SPECIAL
};

static const pg_ptx_op_info op_table[PG_PTX_OP_COUNT] = {
#define PG_PTX_OP(name, mnemonic, modifiers, operands, isa, target, semantics)                     \
    {#name, mnemonic, modifiers, operands, isa, target, #semantics},
#include "ptx/table/opcodes.def"
#undef PG_PTX_OP
};

unsigned pg_ptx_type_bits(pg_ptx_type type)
{
    return pg_type_table[type].bits;
}

pg_ptx_type_class pg_ptx_type_class_of(pg_ptx_type type)
{
    return pg_type_table[type].class;
}

const char *pg_ptx_type_name(pg_ptx_type type)
{
    return pg_type_table[type].spelling;
}

const char *pg_ptx_modifier_name(unsigned modifier)
{
    return pg_modifier_table[modifier].spelling;
}

const char *pg_ptx_special_name(pg_ptx_special special)
{
    return special_table[special].spelling;
}

pg_ptx_type pg_ptx_special_type(pg_ptx_special special)
{
    return special_table[special].type;
}

const pg_ptx_op_info *pg_ptx_op_describe(pg_ptx_op op)
{
    return &op_table[op];
}
