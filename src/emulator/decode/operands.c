/* Operands of an instruction as rows, predicates and addresses; see decode.h. */
#include "emulator/decode/layout.h"

#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>

void pg_decode_fail(pg_decoder *d, const char *format, ...)
{
    if (d->status != PTXGEN_OK)
        return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d->status =
        pg_fail_at(d->err, PTXGEN_EUNSUPPORTED, d->file, d->insn ? (int)d->insn->line : 0,
                   "the emulator cannot run line %u (%s): %s", d->insn ? d->insn->line : 0,
                   d->insn ? pg_ptx_op_describe(d->opcode->op)->mnemonic : d->function->name, text);
}

unsigned pg_lane_bytes(pg_ptx_type type)
{
    const unsigned bits = pg_ptx_type_bits(type);
    return bits <= 16 ? 2 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

unsigned pg_operand_lane_bytes(const pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type)
{
    if (o->kind == PG_OPERAND_REG)
        return pg_lane_bytes((pg_ptx_type)d->function->reg_types[o->index]);
    if (o->kind == PG_OPERAND_SPECIAL)
        return pg_lane_bytes(pg_ptx_special_type((pg_ptx_special)o->index));
    return pg_lane_bytes(type);
}

static pg_row register_row(const pg_decoder *d, uint32_t reg)
{
    const uint32_t f = (uint32_t)(d->function - d->module->functions);
    return d->layout->functions[f].reg_rows[reg];
}

/* Doubles the table of constants. */
static bool grow_const_table(pg_decoder *d)
{
    pg_layout *y = d->layout;
    const uint32_t slots = y->const_slots ? 2 * y->const_slots : 64;
    uint32_t *table = PG_NEW_ARRAY(d->arena, uint32_t, 2 * (size_t)slots);
    if (!table)
        return false;
    for (uint32_t i = 0; i < y->const_slots; i++) {
        const uint32_t offset = y->const_table[2 * i], hash = y->const_table[2 * i + 1];
        if (!offset)
            continue;
        uint32_t at = hash & (slots - 1);
        while (table[2 * at])
            at = (at + 1) & (slots - 1);
        table[2 * at] = offset;
        table[2 * at + 1] = hash;
    }
    y->const_table = table;
    y->const_slots = slots;
    return true;
}

pg_row pg_const_row(pg_decoder *d, const void *value, unsigned bytes)
{
    pg_layout *y = d->layout;
    char key[17] = {(char)bytes};
    memcpy(key + 1, value, bytes);
    const uint32_t hash = (uint32_t)pg_hash64(key, bytes + 1);
    if (2 * y->const_count >= y->const_slots && !grow_const_table(d)) {
        d->status = PTXGEN_ENOMEM;
        return 0;
    }
    /* A row is preceded by 16 bytes whose first says its width. */
    uint32_t at = hash & (y->const_slots - 1);
    for (; y->const_table[2 * at]; at = (at + 1) & (y->const_slots - 1)) {
        const char *row = y->consts.data + y->const_table[2 * at] - 1;
        if (y->const_table[2 * at + 1] == hash && row[-16] == (char)bytes &&
            !memcmp(row, value, bytes))
            return ~(pg_row)(y->const_table[2 * at] - 1);
    }
    char head[16] = {(char)bytes};
    pg_buf_append(&y->consts, head, sizeof head);
    const uint32_t offset = (uint32_t)y->consts.len;
    for (int i = 0; i < PG_LANES; i++)
        pg_buf_append(&y->consts, value, bytes);
    if (y->consts.failed || y->consts.len > INT32_MAX) {
        d->status = PTXGEN_ENOMEM;
        return 0;
    }
    y->const_table[2 * at] = offset + 1;
    y->const_table[2 * at + 1] = hash;
    y->const_count++;
    return ~(pg_row)offset;
}

pg_row pg_const_u32(pg_decoder *d, uint32_t value)
{
    return pg_const_row(d, &value, sizeof value);
}

pg_row pg_const_u64(pg_decoder *d, uint64_t value)
{
    return pg_const_row(d, &value, sizeof value);
}

pg_row pg_scratch_row(pg_decoder *d, unsigned bytes)
{
    const uint32_t row = d->layout->regs_bytes;
    if (row > INT32_MAX - 32 * bytes) {
        pg_decode_fail(d, "its registers take more than 2 GiB per warp");
        return 0;
    }
    d->layout->regs_bytes += PG_LANES * bytes;
    return (pg_row)row;
}

/* A special register that a row can hold for the whole life of a warp. */
static pg_row special_row(pg_decoder *d, pg_ptx_special special, pg_ptx_type type)
{
    pg_layout *y = d->layout;
    const unsigned bytes = pg_lane_bytes(type);
    for (uint32_t i = 0; i < y->special_count; i++)
        if (y->specials[i].special == special && y->specials[i].bytes == bytes)
            return y->specials[i].row;
    if (bytes > pg_lane_bytes(pg_ptx_special_type(special)) ||
        y->special_count == PG_MAX_SPECIAL_ROWS) {
        pg_decode_fail(d, "%s has another width than the instruction",
                       pg_ptx_special_name(special));
        return 0;
    }
    const pg_row row = pg_scratch_row(d, bytes);
    y->specials[y->special_count++] = (pg_special_row){(uint16_t)special, (uint8_t)bytes, row};
    return row;
}

pg_row pg_source(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type)
{
    if (o->kind == PG_OPERAND_REG) {
        if (d->function->reg_types[o->index] == PG_T_PRED) {
            pg_decode_fail(d, "a predicate register is no value");
            return 0;
        }
        return register_row(d, o->index);
    }
    if (o->kind == PG_OPERAND_SPECIAL)
        return special_row(d, (pg_ptx_special)o->index, type);
    if (o->kind == PG_OPERAND_IMM) {
        const uint64_t bits = pg_ptx_imm_bits(o, type);
        const uint64_t wide[2] = {bits, 0};
        return pg_const_row(d, wide, pg_lane_bytes(type));
    }
    pg_decode_fail(d, "operand of a kind that it does not take");
    return 0;
}

pg_row pg_dest(pg_decoder *d, const pg_ptx_operand *o)
{
    if (o->kind == PG_OPERAND_SINK || o->kind == PG_OPERAND_NONE)
        return 0;
    if (o->kind != PG_OPERAND_REG || d->function->reg_types[o->index] == PG_T_PRED) {
        pg_decode_fail(d, "the destination is not a data register");
        return 0;
    }
    return register_row(d, o->index);
}

pg_pred pg_source_pred(pg_decoder *d, const pg_ptx_operand *o, bool *negated)
{
    *negated = false;
    if (o->kind == PG_OPERAND_REG && d->function->reg_types[o->index] == PG_T_PRED) {
        *negated = o->negated;
        return (pg_pred)register_row(d, o->index);
    }
    if (o->kind == PG_OPERAND_IMM) {
        *negated = o->value == 0;
        return PG_TRUE_PRED;
    }
    pg_decode_fail(d, "a predicate is needed");
    return PG_TRUE_PRED;
}

pg_pred pg_dest_pred(pg_decoder *d, const pg_ptx_operand *o)
{
    if (o->kind == PG_OPERAND_SINK || o->kind == PG_OPERAND_NONE)
        return 0;
    if (o->kind == PG_OPERAND_REG && d->function->reg_types[o->index] == PG_T_PRED)
        return (pg_pred)register_row(d, o->index);
    pg_decode_fail(d, "a predicate destination is needed");
    return 0;
}

pg_space pg_space_of_modifier(unsigned modifier)
{
    switch (modifier) {
    case PG_M_SPACE_CONST:
        return PG_MEM_CONST;
    case PG_M_SPACE_GLOBAL:
    case PG_M_SOURCE_GLOBAL:
        return PG_MEM_GLOBAL;
    case PG_M_SPACE_LOCAL:
        return PG_MEM_LOCAL;
    case PG_M_SPACE_PARAM:
    case PG_M_SPACE_PARAM_ENTRY:
    case PG_M_SPACE_PARAM_FUNC:
        return PG_MEM_PARAM;
    case PG_M_SPACE_SHARED:
    case PG_M_SPACE_SHARED_CTA:
    case PG_M_SOURCE_SHARED_CTA:
        return PG_MEM_SHARED;
    case PG_M_SPACE_SHARED_CLUSTER:
    case PG_M_SOURCE_SHARED_CLUSTER:
        return PG_MEM_CLUSTER;
    default:
        return PG_MEM_GENERIC;
    }
}

pg_place pg_variable_place(pg_decoder *d, uint32_t var)
{
    const pg_layout *y = d->layout;
    const pg_ptx_var *v = &d->module->vars[var];
    switch (v->space) {
    case PG_SPACE_SHARED:
        return (pg_place){PG_MEM_SHARED, y->shared_offset[var], false};
    case PG_SPACE_LOCAL:
        return (pg_place){PG_MEM_LOCAL, y->frame_offset[var], true};
    case PG_SPACE_PARAM:
        if (v->role == PG_ROLE_PARAM && v->function == y->entry)
            return (pg_place){PG_MEM_PARAM, y->param_offset[var], false};
        return (pg_place){PG_MEM_LOCAL, y->frame_offset[var], true};
    default:
        if (!y->memory->address[var])
            pg_decode_fail(d, "variable %s is declared but not defined", v->name);
        return (pg_place){v->space == PG_SPACE_CONST ? PG_MEM_CONST : PG_MEM_GLOBAL,
                          y->memory->address[var], false};
    }
}

void pg_address(pg_decoder *d, pg_op *op, const pg_ptx_operand *o, pg_space space)
{
    if (o->kind != PG_OPERAND_ADDRESS) {
        pg_decode_fail(d, "an address operand is needed");
        return;
    }
    op->space = (uint8_t)space;
    op->imm = o->value;
    if (o->base == PG_OPERAND_REG) {
        const pg_ptx_type type = (pg_ptx_type)d->function->reg_types[o->index];
        if (pg_lane_bytes(type) < 4 || pg_lane_bytes(type) > 8) {
            pg_decode_fail(d, "the address register has neither 32 nor 64 bits");
            return;
        }
        op->a = register_row(d, o->index);
        if (pg_lane_bytes(type) == 4)
            op->flags |= PG_ACCESS_ADDRESS32;
        return;
    }
    op->flags |= PG_ACCESS_NO_BASE;
    if (o->base != PG_OPERAND_VAR)
        return;
    const pg_place place = pg_variable_place(d, o->index);
    op->imm = place.address + o->value;
    op->space = (uint8_t)(space == PG_MEM_CLUSTER ? PG_MEM_CLUSTER : place.space);
    if (space == PG_MEM_CLUSTER) /* the own CTA's variable, as a cluster address */
        op->space = PG_MEM_SHARED;
    if (place.in_frame)
        op->flags |= PG_ACCESS_FRAME;
}

pg_row *pg_new_rows(pg_decoder *d, uint32_t count)
{
    pg_row *rows = PG_NEW_ARRAY(d->arena, pg_row, count ? count : 1);
    if (!rows)
        d->status = PTXGEN_ENOMEM;
    return rows;
}

uint32_t pg_vector_length(const pg_ptx_operand *o)
{
    return o->kind == PG_OPERAND_VECTOR ? o->n_elems : 1;
}

void pg_vector_sources(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type, pg_row *rows)
{
    const uint32_t n = pg_vector_length(o);
    for (uint32_t i = 0; rows && i < n; i++)
        rows[i] = pg_source(d, o->kind == PG_OPERAND_VECTOR ? &o->elems[i] : o, type);
}

uint64_t pg_immediate(pg_decoder *d, const pg_ptx_operand *o)
{
    if (o->kind == PG_OPERAND_IMM)
        return o->value;
    pg_decode_fail(d, "an immediate operand is needed");
    return 0;
}

uint32_t pg_label_target(pg_decoder *d, uint32_t label)
{
    const uint32_t f = (uint32_t)(d->function - d->module->functions);
    return d->layout->functions[f].layout->first_op + d->function->labels[label].target;
}

const pg_function_layout *pg_function_of(pg_decoder *d, uint32_t function)
{
    return d->layout->functions[function].layout;
}

uint32_t pg_function_behind(const pg_ptx_module *m, uint32_t function)
{
    for (uint32_t i = 0; !m->functions[function].has_body && i < m->n_aliases; i++)
        if (m->aliases[i].alias == function)
            return m->aliases[i].target;
    return function;
}
