/* See watch.h. For each function: which operands an instruction reads and writes, which
 * registers have been written on every path to it (a forward analysis over basic blocks), which
 * it may read too early, and the closure of those. */
#include "emulator/decode/watch.h"

#include "emulator/decode/layout.h"
#include "emulator/machine/observer.h"
#include "emulator/memory/warp_sync.h"
#include "ptx/table/form.h"

#include <stdio.h>

/* The registers of one instruction; the carry flag is number n_regs of the function. */
typedef struct uses {
    uint32_t *read, *effect, *written; /* room for all operands and the carry flag */
    uint32_t reads, effects, writes;
} uses;

typedef struct finder {
    pg_decoder *d;
    const pg_ptx_function *f;
    uint32_t regs;      /* with the carry flag */
    uint32_t words;     /* of a bit set of registers */
    uint64_t *written;  /* by block: on every path to its end */
    uint64_t *now;      /* the set at hand */
    uint8_t *watched;   /* by register */
    uint32_t *number;   /* by register: watched number + 1 */
    uint32_t *block_of; /* by instruction: its block; and n_code */
    uint32_t *first;    /* instruction, by block */
    uint32_t blocks;
    uses u;
} finder;

/* ---- one instruction ---- */

static bool is_written(char letter)
{
    return letter && strchr("dDoecqV", letter) != NULL;
}

static void note(uint32_t *list, uint32_t *count, uint32_t reg)
{
    list[(*count)++] = reg;
}

static void add_elements(finder *x, const pg_ptx_operand *o, bool written, bool effect)
{
    uses *u = &x->u;
    if (o->kind == PG_OPERAND_REG) {
        if (written)
            note(u->written, &u->writes, o->index);
        else if (effect)
            note(u->effect, &u->effects, o->index);
        else
            note(u->read, &u->reads, o->index);
        return;
    }
    const bool address = o->kind == PG_OPERAND_ADDRESS;
    if (address && o->base == PG_OPERAND_REG)
        note(u->effect, &u->effects, o->index);
    for (uint32_t i = 0; i < o->n_elems; i++)
        add_elements(x, &o->elems[i], written && !address, effect || address);
}

static bool is_named(const pg_ptx_insn *insn, const char *mnemonic)
{
    return !strcmp(pg_ptx_op_describe(insn->opcode->op)->mnemonic, mnemonic);
}

/* Stores whose value leaves the CTA: there an undefined value has an effect. */
static bool stores_globally(const pg_ptx_insn *insn)
{
    const unsigned space = insn->opcode->mod[PG_F_SPACE];
    return (is_named(insn, "st") || is_named(insn, "red") || is_named(insn, "atom")) &&
           space == PG_M_SPACE_GLOBAL;
}

static bool carries_in(const pg_ptx_insn *insn)
{
    return is_named(insn, "addc") || is_named(insn, "subc") || is_named(insn, "madc");
}

static bool carries_out(const pg_ptx_insn *insn)
{
    return insn->opcode->mod[PG_F_CC] == PG_M_CC_CC;
}

static void find_uses(finder *x, const pg_ptx_insn *insn)
{
    pg_form form;
    uses *u = &x->u;
    u->reads = u->effects = u->writes = 0;
    pg_form_of(insn->opcode, &form);
    const bool call = is_named(insn, "call"), stores = stores_globally(insn);
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
    if (insn->guard != PG_PTX_NO_REG && (is_named(insn, "bra") || stores))
        note(u->effect, &u->effects, (uint32_t)insn->guard);
    if (carries_in(insn))
        note(u->effect, &u->effects, x->regs - 1);
    if (carries_out(insn))
        note(u->written, &u->writes, x->regs - 1);
}

/* ---- blocks ---- */

static bool ends_block(const pg_ptx_insn *insn)
{
    return is_named(insn, "bra") || is_named(insn, "brx.idx") || is_named(insn, "ret") ||
           is_named(insn, "exit") || is_named(insn, "trap");
}

static void find_blocks(finder *x)
{
    const pg_ptx_function *f = x->f;
    x->block_of[0] = 1;
    for (uint32_t i = 0; i < f->n_labels; i++)
        x->block_of[f->labels[i].target] = 1;
    for (uint32_t i = 0; i < f->n_code; i++)
        if (ends_block(&f->code[i]))
            x->block_of[i + 1] = 1;
    for (uint32_t i = 0; i <= f->n_code; i++) {
        if (x->block_of[i])
            x->first[x->blocks++] = i;
        x->block_of[i] = x->blocks - 1;
    }
    x->first[x->blocks] = f->n_code + 1;
}

static void set_bit(uint64_t *set, uint32_t i)
{
    set[i / 64] |= UINT64_C(1) << i % 64;
}

static void clear_bit(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static bool has_bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

/* x->now from before the instruction to after it. */
static void step(finder *x, const pg_ptx_insn *insn)
{
    for (uint32_t i = 0; insn->guard == PG_PTX_NO_REG && i < x->u.writes; i++)
        set_bit(x->now, x->u.written[i]);
    if (is_named(insn, "call"))
        clear_bit(x->now, x->regs - 1);
}

/* Sets of written registers only shrink: at first everything counts as written everywhere. What
 * reaches the first block of a function is its parameters in registers. */
static bool flow_into(finder *x, uint32_t block)
{
    uint64_t *in = x->written + (size_t)block * x->words;
    bool changed = false;
    for (uint32_t i = 0; i < x->words; i++) {
        changed |= (in[i] & ~x->now[i]) != 0;
        in[i] &= x->now[i];
    }
    return changed;
}

static bool flow_to_targets(finder *x, const pg_ptx_insn *insn)
{
    const pg_ptx_function *f = x->f;
    bool changed = false;
    for (uint32_t k = 0; k < insn->n_operands; k++) {
        const pg_ptx_operand *o = &insn->operands[k];
        if (o->kind == PG_OPERAND_LABEL)
            changed |= flow_into(x, x->block_of[f->labels[o->index].target]);
        for (uint32_t t = 0; o->kind == PG_OPERAND_TABLE && t < f->tables[o->index].n_targets; t++)
            changed |= flow_into(x, x->block_of[f->labels[f->tables[o->index].targets[t]].target]);
    }
    return changed;
}

static bool flow_through(finder *x, uint32_t block)
{
    bool changed = false;
    const pg_ptx_insn *last = NULL;
    memcpy(x->now, x->written + (size_t)block * x->words, x->words * sizeof *x->now);
    for (uint32_t i = x->first[block]; i < x->first[block + 1] && i < x->f->n_code; i++) {
        last = &x->f->code[i];
        find_uses(x, last);
        step(x, last);
    }
    if (last && (is_named(last, "bra") || is_named(last, "brx.idx")))
        changed |= flow_to_targets(x, last);
    const bool leaves = last && ends_block(last) && last->guard == PG_PTX_NO_REG;
    if (!leaves && block + 1 < x->blocks)
        changed |= flow_into(x, block + 1);
    return changed;
}

static void find_written(finder *x)
{
    memset(x->written, 0xff, (size_t)x->blocks * x->words * sizeof *x->written);
    memset(x->written, 0, x->words * sizeof *x->written);
    for (uint32_t i = 0; i < x->f->n_reg_decls; i++)
        for (uint32_t r = 0; x->f->reg_decls[i].is_parameter && r < x->f->reg_decls[i].count; r++)
            set_bit(x->written, x->f->reg_decls[i].first + r);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < x->blocks; b++)
            changed |= flow_through(x, b);
    }
}

/* ---- what is watched ---- */

static pg_watch_kind kind_of(const pg_ptx_insn *insn)
{
    static const char *const all[] = {
        "add",   "sub",   "mul",  "mad",      "fma",  "div",   "rem",  "abs",  "neg", "min", "max",
        "cvt",   "setp",  "set",  "rcp",      "sqrt", "rsqrt", "ex2",  "lg2",  "sin", "cos", "tanh",
        "mad24", "mul24", "cvta", "copysign", "clz",  "popc",  "addc", "subc", "madc"};
    static const char *const any[] = {"mov", "and", "or",  "xor", "not",  "lop3", "shl",
                                      "shr", "shf", "bfe", "bfi", "prmt", "cnot"};
    if (is_named(insn, "selp"))
        return PG_WATCH_SELECT;
    if (is_named(insn, "call"))
        return PG_WATCH_FORGET;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_named(insn, all[i]))
            return PG_WATCH_ALL;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (is_named(insn, any[i]))
            return PG_WATCH_ANY;
    return PG_WATCH_DEFINE;
}

/* The instruction may leave an undefined value by itself. */
static bool is_origin(const pg_ptx_insn *insn)
{
    return is_named(insn, "shfl") ||
           (is_named(insn, "ld") && insn->opcode->mod[PG_F_SPACE] == PG_M_SPACE_LOCAL);
}

static void watch_early_reads(finder *x, uint32_t block)
{
    memcpy(x->now, x->written + (size_t)block * x->words, x->words * sizeof *x->now);
    for (uint32_t i = x->first[block]; i < x->first[block + 1] && i < x->f->n_code; i++) {
        find_uses(x, &x->f->code[i]);
        for (uint32_t k = 0; k < x->u.reads; k++)
            x->watched[x->u.read[k]] |= !has_bit(x->now, x->u.read[k]);
        for (uint32_t k = 0; k < x->u.effects; k++)
            x->watched[x->u.effect[k]] |= !has_bit(x->now, x->u.effect[k]);
        for (uint32_t k = 0; is_origin(&x->f->code[i]) && k < x->u.writes; k++)
            x->watched[x->u.written[k]] = true;
        step(x, &x->f->code[i]);
    }
}

/* Results of watched values are watched. */
static bool spread(finder *x)
{
    bool changed = false;
    for (uint32_t i = 0; i < x->f->n_code; i++) {
        const pg_watch_kind kind = kind_of(&x->f->code[i]);
        if (kind == PG_WATCH_DEFINE || kind == PG_WATCH_FORGET)
            continue;
        find_uses(x, &x->f->code[i]);
        bool any = false;
        for (uint32_t k = 0; k < x->u.reads; k++)
            any |= x->watched[x->u.read[k]];
        for (uint32_t k = 0; any && k < x->u.writes; k++) {
            changed |= !x->watched[x->u.written[k]];
            x->watched[x->u.written[k]] = true;
        }
    }
    return changed;
}

/* ---- the result ---- */

/* The watched ones of a list; `keep` leaves places for the others. */
static uint32_t take(finder *x, const uint32_t *list, uint32_t count, bool keep,
                     const uint32_t **out)
{
    uint32_t *numbers = PG_NEW_ARRAY(x->d->arena, uint32_t, count + 1);
    uint32_t n = 0;
    bool any = false;
    for (uint32_t i = 0; numbers && i < count; i++) {
        const uint32_t number = x->watched[list[i]] ? x->number[list[i]] - 1 : PG_NOT_WATCHED;
        any |= number != PG_NOT_WATCHED;
        if (keep || number != PG_NOT_WATCHED)
            numbers[n++] = number;
    }
    *out = numbers;
    return any ? n : 0;
}

static void attach(finder *x, const pg_ptx_insn *insn, pg_op *op, pg_watch *watch)
{
    find_uses(x, insn);
    pg_watch w = {.run = op->run, .kind = kind_of(insn)};
    if (w.kind != PG_WATCH_DEFINE && w.kind != PG_WATCH_FORGET)
        w.source_count = take(x, x->u.read, x->u.reads, w.kind == PG_WATCH_SELECT, &w.sources);
    w.used_count = take(x, x->u.effect, x->u.effects, false, &w.used);
    w.result_count = take(x, x->u.written, x->u.writes, true, &w.results);
    const bool forgets = w.kind == PG_WATCH_FORGET && x->watched[x->regs - 1];
    if ((!w.source_count && !w.used_count && !w.result_count && !forgets) ||
        op->run == pg_op_bar_warp_sync)
        return;
    *watch = w;
    op->run = pg_op_watch;
}

static const char *name_of(finder *x, uint32_t reg)
{
    char text[80] = "the carry flag";
    for (uint32_t i = 0; i < x->f->n_reg_decls; i++) {
        const pg_ptx_reg_decl *r = &x->f->reg_decls[i];
        if (reg - r->first >= r->count)
            continue;
        if (r->is_range)
            snprintf(text, sizeof text, "register %.60s%u", r->name, reg - r->first);
        else
            snprintf(text, sizeof text, "register %.60s", r->name);
    }
    return pg_arena_strndup(x->d->arena, text, strlen(text));
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

static bool prepare(finder *x, const pg_ptx_function *f)
{
    pg_arena *arena = x->d->arena;
    uint32_t operands = 0;
    for (uint32_t i = 0; i < f->n_code; i++) {
        const uint32_t n = most_registers(&f->code[i]);
        operands = n > operands ? n : operands;
    }
    x->f = f;
    x->regs = f->n_regs + 1;
    x->words = x->regs / 64 + 1;
    x->blocks = 0;
    x->watched = PG_NEW_ARRAY(arena, uint8_t, x->regs);
    x->number = PG_NEW_ARRAY(arena, uint32_t, x->regs);
    x->block_of = PG_NEW_ARRAY(arena, uint32_t, f->n_code + 2);
    x->first = PG_NEW_ARRAY(arena, uint32_t, f->n_code + 2);
    x->now = PG_NEW_ARRAY(arena, uint64_t, x->words);
    x->u.read = PG_NEW_ARRAY(arena, uint32_t, operands);
    x->u.effect = PG_NEW_ARRAY(arena, uint32_t, operands);
    x->u.written = PG_NEW_ARRAY(arena, uint32_t, operands);
    if (arena->failed)
        return false;
    find_blocks(x);
    x->written = PG_NEW_ARRAY(arena, uint64_t, (size_t)x->blocks * x->words);
    return !arena->failed;
}

/* Numbers the function's watched registers from `count` on; the carry flag has a number of its
 * own. */
static uint32_t number_registers(finder *x, uint32_t count)
{
    for (uint32_t r = 0; r + 1 < x->regs; r++)
        if (x->watched[r])
            x->number[r] = ++count;
    x->number[x->regs - 1] = PG_WATCH_CARRY + 1;
    return count;
}

static uint32_t find_in_function(finder *x, const pg_ptx_function *f, uint32_t count)
{
    if (!f->n_code || !prepare(x, f))
        return count;
    find_written(x);
    for (uint32_t b = 0; b < x->blocks; b++)
        watch_early_reads(x, b);
    while (spread(x))
        ;
    return number_registers(x, count);
}

static void attach_function(finder *x, uint32_t index, pg_op *ops, pg_program *program)
{
    pg_watch *watches = (pg_watch *)program->watches;
    const uint32_t first = x->d->layout->functions[index].layout->first_op;
    for (uint32_t i = 0; i < x->f->n_code; i++)
        attach(x, &x->f->code[i], &ops[first + i], &watches[first + i]);
}

void pg_watches_find(pg_decoder *d, pg_op *ops, uint32_t op_count, pg_program *program)
{
    finder x = {.d = d};
    uint32_t count = PG_WATCH_CARRY + 1, room = 1;
    pg_watch *watches = PG_NEW_ARRAY(d->arena, pg_watch, (size_t)op_count + 1);
    for (uint32_t i = 0; i < d->module->n_functions; i++)
        room += d->layout->functions[i].reachable ? d->module->functions[i].n_regs : 0;
    const char **names = PG_NEW_ARRAY(d->arena, const char *, room + 1);
    if (!watches || !names)
        return;
    program->watches = watches;
    program->watched_names = names;
    names[PG_WATCH_CARRY] = "the carry flag";
    for (uint32_t i = 0; i < d->module->n_functions; i++) {
        if (!d->layout->functions[i].reachable)
            continue;
        count = find_in_function(&x, &d->module->functions[i], count);
        if (d->arena->failed)
            return;
        for (uint32_t r = 0; x.f == &d->module->functions[i] && r + 1 < x.regs; r++)
            if (x.watched[r])
                names[x.number[r] - 1] = name_of(&x, r);
        if (x.f == &d->module->functions[i])
            attach_function(&x, i, ops, program);
    }
    program->watched_registers = count;
}

pg_step pg_op_watch(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, watch, w, op, lanes);
    return w->launch->program->watches[pg_pc_of(w, op)].run(w, op, lanes);
}
