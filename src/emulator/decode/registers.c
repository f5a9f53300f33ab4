#include "emulator/decode/registers.h"

#include "ptx/table/form.h"

#include <string.h>

/* ---- one instruction ---- */

static bool is_written(char letter)
{
    return letter && strchr("dDoecqV", letter) != NULL;
}

static void note(uint32_t *list, uint32_t *count, uint32_t reg)
{
    list[(*count)++] = reg;
}

static void add_elements(pg_register_flow *x, const pg_ptx_operand *o, bool written, bool effect)
{
    if (o->kind == PG_OPERAND_REG) {
        if (written)
            note(x->written, &x->writes, o->index);
        else if (effect)
            note(x->effect, &x->effects, o->index);
        else
            note(x->read, &x->reads, o->index);
        return;
    }
    const bool address = o->kind == PG_OPERAND_ADDRESS;
    if (address && o->base == PG_OPERAND_REG)
        note(x->effect, &x->effects, o->index);
    for (uint32_t i = 0; i < o->n_elems; i++)
        add_elements(x, &o->elems[i], written && !address, effect || address);
}

bool pg_insn_is_named(const pg_ptx_insn *insn, const char *mnemonic)
{
    return !strcmp(pg_ptx_op_describe(insn->opcode->op)->mnemonic, mnemonic);
}

/* Stores whose value leaves the CTA: there an undefined value has an effect. */
static bool stores_globally(const pg_ptx_insn *insn)
{
    const unsigned space = insn->opcode->mod[PG_F_SPACE];
    return (pg_insn_is_named(insn, "st") || pg_insn_is_named(insn, "red") ||
            pg_insn_is_named(insn, "atom")) &&
           space == PG_M_SPACE_GLOBAL;
}

static bool carries_in(const pg_ptx_insn *insn)
{
    return pg_insn_is_named(insn, "addc") || pg_insn_is_named(insn, "subc") ||
           pg_insn_is_named(insn, "madc");
}

static bool carries_out(const pg_ptx_insn *insn)
{
    return insn->opcode->mod[PG_F_CC] == PG_M_CC_CC;
}

void pg_register_flow_ask(pg_register_flow *x, const pg_ptx_insn *insn)
{
    pg_form form;
    x->reads = x->effects = x->writes = 0;
    pg_form_of(insn->opcode, &form);
    const bool call = pg_insn_is_named(insn, "call"), stores = stores_globally(insn);
    for (uint32_t k = 0; k < insn->n_operands; k++) {
        const char letter = k < form.n_slots && form.slots[k].n_alternatives
                                ? form.slots[k].alternatives[0].letter
                                : 's';
        const bool result =
            call ? k == 0 && insn->operands[k].kind == PG_OPERAND_LIST : is_written(letter);
        if (letter == 'w')
            add_elements(x, &insn->operands[k], false, false);
        add_elements(x, &insn->operands[k], result || letter == 'w', stores && !result);
    }
    if (insn->guard != PG_PTX_NO_REG && (pg_insn_is_named(insn, "bra") || stores))
        note(x->effect, &x->effects, (uint32_t)insn->guard);
    if (carries_in(insn))
        note(x->effect, &x->effects, x->regs - 1);
    if (carries_out(insn))
        note(x->written, &x->writes, x->regs - 1);
}

/* ---- blocks ---- */

bool pg_insn_ends_block(const pg_ptx_insn *insn)
{
    return pg_insn_is_named(insn, "bra") || pg_insn_is_named(insn, "brx.idx") ||
           pg_insn_is_named(insn, "ret") || pg_insn_is_named(insn, "exit") ||
           pg_insn_is_named(insn, "trap");
}

static void find_blocks(pg_register_flow *x)
{
    const pg_ptx_function *f = x->f;
    x->block_of[0] = 1;
    for (uint32_t i = 0; i < f->n_labels; i++)
        x->block_of[f->labels[i].target] = 1;
    for (uint32_t i = 0; i < f->n_code; i++)
        if (pg_insn_ends_block(&f->code[i]))
            x->block_of[i + 1] = 1;
    for (uint32_t i = 0; i <= f->n_code; i++) {
        if (x->block_of[i])
            x->first[x->blocks++] = i;
        x->block_of[i] = x->blocks - 1;
    }
    x->first[x->blocks] = f->n_code + 1;
}

/* Of one instruction; a coordinate list of an address holds vectors. */
static uint32_t most_registers(const pg_ptx_insn *insn)
{
    uint32_t n = 4; /* guard, carry flag in and out */
    for (uint32_t k = 0; k < insn->n_operands; k++) {
        const pg_ptx_operand *o = &insn->operands[k];
        n += 2 + 2 * o->n_elems;
        for (uint32_t e = 0; e < o->n_elems; e++)
            n += 2 * o->elems[e].n_elems;
    }
    return n;
}

bool pg_register_flow_make(pg_arena *arena, const pg_ptx_function *f, pg_register_flow *x)
{
    uint32_t operands = 0;
    for (uint32_t i = 0; i < f->n_code; i++) {
        const uint32_t n = most_registers(&f->code[i]);
        operands = n > operands ? n : operands;
    }
    *x = (pg_register_flow){.f = f, .regs = f->n_regs + 1, .words = (f->n_regs + 1) / 64 + 1};
    x->block_of = PG_NEW_ARRAY(arena, uint32_t, f->n_code + 2);
    x->first = PG_NEW_ARRAY(arena, uint32_t, f->n_code + 2);
    x->read = PG_NEW_ARRAY(arena, uint32_t, operands);
    x->effect = PG_NEW_ARRAY(arena, uint32_t, operands);
    x->written = PG_NEW_ARRAY(arena, uint32_t, operands);
    if (arena->failed)
        return false;
    find_blocks(x);
    return true;
}

const pg_ptx_insn *pg_register_flow_last(const pg_register_flow *x, uint32_t block)
{
    const uint32_t end = x->first[block + 1] < x->f->n_code ? x->first[block + 1] : x->f->n_code;
    return end > x->first[block] ? &x->f->code[end - 1] : NULL;
}

/* Target i of a branch; false past the last. */
static bool target_of(const pg_register_flow *x, const pg_ptx_insn *insn, uint32_t i,
                      uint32_t *block)
{
    const pg_ptx_function *f = x->f;
    for (uint32_t k = 0; k < insn->n_operands; k++) {
        const pg_ptx_operand *o = &insn->operands[k];
        const bool table = o->kind == PG_OPERAND_TABLE;
        const uint32_t count = o->kind == PG_OPERAND_LABEL ? 1
                               : table                     ? f->tables[o->index].n_targets
                                                           : 0;
        if (i >= count) {
            i -= count;
            continue;
        }
        *block = x->block_of[f->labels[table ? f->tables[o->index].targets[i] : o->index].target];
        return true;
    }
    return false;
}

bool pg_register_flow_next(const pg_register_flow *x, uint32_t block, uint32_t i, uint32_t *next)
{
    const pg_ptx_insn *last = pg_register_flow_last(x, block);
    const bool leaves = last && pg_insn_ends_block(last) && last->guard == PG_PTX_NO_REG;
    const bool falls = !leaves && block + 1 < x->blocks;
    *next = block + 1;
    if (falls && i == 0)
        return true;
    const bool branches =
        last && (pg_insn_is_named(last, "bra") || pg_insn_is_named(last, "brx.idx"));
    return branches && target_of(x, last, i - falls, next);
}
