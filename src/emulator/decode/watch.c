/* See watch.h. For each function: which operands an instruction reads and writes, which
 * registers have been written on every path to it (a forward analysis over basic blocks), which
 * it may read too early, and the closure of those. */
#include "emulator/decode/watch.h"

#include "emulator/decode/layout.h"
#include "emulator/decode/registers.h"
#include "emulator/machine/observer.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/scalar/alu.h"
#include "emulator/scalar/scalar.h"

#include <stdio.h>

typedef struct finder {
    pg_decoder *d;
    pg_register_flow flow;
    uint64_t *written; /* by block: on every path to its end */
    uint64_t *now;     /* the set at hand */
    uint8_t *watched;  /* by register */
    uint32_t *number;  /* by register: watched number + 1 */
} finder;

/* ---- what has been written ---- */

/* x->now from before the instruction to after it. */
static void step(finder *x, const pg_ptx_insn *insn)
{
    for (uint32_t i = 0; insn->guard == PG_PTX_NO_REG && i < x->flow.writes; i++)
        pg_bit_set(x->now, x->flow.written[i]);
    if (pg_insn_is_named(insn, "call"))
        pg_bit_clear(x->now, x->flow.regs - 1);
}

/* Sets of written registers only shrink: at first everything counts as written everywhere. What
 * reaches the first block of a function is its parameters in registers. */
static bool flow_into(finder *x, uint32_t block)
{
    uint64_t *in = x->written + (size_t)block * x->flow.words;
    bool changed = false;
    for (uint32_t i = 0; i < x->flow.words; i++) {
        changed |= (in[i] & ~x->now[i]) != 0;
        in[i] &= x->now[i];
    }
    return changed;
}

static bool flow_through(finder *x, uint32_t block)
{
    bool changed = false;
    uint32_t next;
    const pg_register_flow *flow = &x->flow;
    memcpy(x->now, x->written + (size_t)block * flow->words, flow->words * sizeof *x->now);
    for (uint32_t i = flow->first[block]; i < flow->first[block + 1] && i < flow->f->n_code; i++) {
        pg_register_flow_ask(&x->flow, &flow->f->code[i]);
        step(x, &flow->f->code[i]);
    }
    for (uint32_t i = 0; pg_register_flow_next(flow, block, i, &next); i++)
        changed |= flow_into(x, next);
    return changed;
}

static void find_written(finder *x)
{
    memset(x->written, 0xff, (size_t)x->flow.blocks * x->flow.words * sizeof *x->written);
    memset(x->written, 0, x->flow.words * sizeof *x->written);
    for (uint32_t i = 0; i < x->flow.f->n_reg_decls; i++)
        for (uint32_t r = 0;
             x->flow.f->reg_decls[i].is_parameter && r < x->flow.f->reg_decls[i].count; r++)
            pg_bit_set(x->written, x->flow.f->reg_decls[i].first + r);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < x->flow.blocks; b++)
            changed |= flow_through(x, b);
    }
}

/* ---- what is watched ---- */

/* and or or of two registers, of one bit a lane. */
static bool combines(const pg_ptx_insn *insn)
{
    if (pg_insn_is_named(insn, "and") || pg_insn_is_named(insn, "or"))
        return insn->opcode->types[0] == PG_T_PRED && insn->n_operands == 3 &&
               insn->operands[1].kind == PG_OPERAND_REG && insn->operands[2].kind == PG_OPERAND_REG;
    const unsigned op = insn->opcode->mod[PG_F_OP];
    return (pg_insn_is_named(insn, "setp") || pg_insn_is_named(insn, "set")) &&
           (op == PG_M_OP_AND || op == PG_M_OP_OR);
}

static pg_watch_kind kind_of(const pg_ptx_insn *insn)
{
    static const char *const all[] = {
        "add",   "sub",   "mul",  "mad",      "fma",  "div",   "rem",  "abs",  "neg", "min", "max",
        "cvt",   "setp",  "set",  "rcp",      "sqrt", "rsqrt", "ex2",  "lg2",  "sin", "cos", "tanh",
        "mad24", "mul24", "cvta", "copysign", "clz",  "popc",  "addc", "subc", "madc"};
    static const char *const any[] = {"mov", "and", "or",  "xor", "not",  "lop3", "shl",
                                      "shr", "shf", "bfe", "bfi", "prmt", "cnot"};
    if (pg_insn_is_named(insn, "selp"))
        return PG_WATCH_SELECT;
    if (combines(insn))
        return PG_WATCH_COMBINE;
    if (pg_insn_is_named(insn, "call"))
        return PG_WATCH_FORGET;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (pg_insn_is_named(insn, all[i]))
            return PG_WATCH_ALL;
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        if (pg_insn_is_named(insn, any[i]))
            return PG_WATCH_ANY;
    return PG_WATCH_DEFINE;
}

/* The instruction may leave an undefined value by itself. */
static bool is_origin(const pg_ptx_insn *insn)
{
    return pg_insn_is_named(insn, "shfl") ||
           (pg_insn_is_named(insn, "ld") && insn->opcode->mod[PG_F_SPACE] == PG_M_SPACE_LOCAL);
}

static void watch_early_reads(finder *x, uint32_t block)
{
    memcpy(x->now, x->written + (size_t)block * x->flow.words, x->flow.words * sizeof *x->now);
    for (uint32_t i = x->flow.first[block]; i < x->flow.first[block + 1] && i < x->flow.f->n_code;
         i++) {
        pg_register_flow_ask(&x->flow, &x->flow.f->code[i]);
        for (uint32_t k = 0; k < x->flow.reads; k++)
            x->watched[x->flow.read[k]] |= !pg_bit_is(x->now, x->flow.read[k]);
        for (uint32_t k = 0; k < x->flow.effects; k++)
            x->watched[x->flow.effect[k]] |= !pg_bit_is(x->now, x->flow.effect[k]);
        for (uint32_t k = 0; is_origin(&x->flow.f->code[i]) && k < x->flow.writes; k++)
            x->watched[x->flow.written[k]] = true;
        step(x, &x->flow.f->code[i]);
    }
}

/* Results of watched values are watched. */
static bool spread(finder *x)
{
    bool changed = false;
    for (uint32_t i = 0; i < x->flow.f->n_code; i++) {
        const pg_watch_kind kind = kind_of(&x->flow.f->code[i]);
        if (kind == PG_WATCH_DEFINE || kind == PG_WATCH_FORGET)
            continue;
        pg_register_flow_ask(&x->flow, &x->flow.f->code[i]);
        bool any = false;
        for (uint32_t k = 0; k < x->flow.reads; k++)
            any |= x->watched[x->flow.read[k]];
        for (uint32_t k = 0; any && k < x->flow.writes; k++) {
            changed |= !x->watched[x->flow.written[k]];
            x->watched[x->flow.written[k]] = true;
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
    pg_register_flow_ask(&x->flow, insn);
    pg_watch w = {.run = op->run, .kind = kind_of(insn)};
    if (w.kind != PG_WATCH_DEFINE && w.kind != PG_WATCH_FORGET)
        w.source_count = take(x, x->flow.read, x->flow.reads,
                              w.kind == PG_WATCH_SELECT || w.kind == PG_WATCH_COMBINE, &w.sources);
    w.used_count = take(x, x->flow.effect, x->flow.effects, false, &w.used);
    w.result_count = take(x, x->flow.written, x->flow.writes, true, &w.results);
    const bool forgets = w.kind == PG_WATCH_FORGET && x->watched[x->flow.regs - 1];
    if ((!w.source_count && !w.used_count && !w.result_count && !forgets) ||
        op->run == pg_op_bar_warp_sync)
        return;
    *watch = w;
    op->run = pg_op_watch;
}

static const char *name_of(finder *x, uint32_t reg)
{
    char text[80] = "the carry flag";
    for (uint32_t i = 0; i < x->flow.f->n_reg_decls; i++) {
        const pg_ptx_reg_decl *r = &x->flow.f->reg_decls[i];
        if (reg - r->first >= r->count)
            continue;
        if (r->is_range)
            snprintf(text, sizeof text, "register %.60s%u", r->name, reg - r->first);
        else
            snprintf(text, sizeof text, "register %.60s", r->name);
    }
    return pg_arena_strndup(x->d->arena, text, strlen(text));
}

static bool prepare(finder *x, const pg_ptx_function *f)
{
    pg_arena *arena = x->d->arena;
    pg_register_flow *flow = &x->flow;
    if (!pg_register_flow_make(arena, f, flow))
        return false;
    x->watched = PG_NEW_ARRAY(arena, uint8_t, flow->regs);
    x->number = PG_NEW_ARRAY(arena, uint32_t, flow->regs);
    x->now = PG_NEW_ARRAY(arena, uint64_t, flow->words);
    x->written = PG_NEW_ARRAY(arena, uint64_t, (size_t)flow->blocks * flow->words);
    return !arena->failed;
}

/* Numbers the function's watched registers from `count` on; the carry flag has a number of its
 * own. */
static uint32_t number_registers(finder *x, uint32_t count)
{
    for (uint32_t r = 0; r + 1 < x->flow.regs; r++)
        if (x->watched[r])
            x->number[r] = ++count;
    x->number[x->flow.regs - 1] = PG_WATCH_CARRY + 1;
    return count;
}

static uint32_t find_in_function(finder *x, const pg_ptx_function *f, uint32_t count)
{
    if (!f->n_code || !prepare(x, f))
        return count;
    find_written(x);
    for (uint32_t b = 0; b < x->flow.blocks; b++)
        watch_early_reads(x, b);
    while (spread(x))
        ;
    return number_registers(x, count);
}

static void attach_function(finder *x, uint32_t index, pg_op *ops, pg_program *program)
{
    pg_watch *watches = (pg_watch *)program->watches;
    const uint32_t first = x->d->layout->functions[index].layout->first_op;
    for (uint32_t i = 0; i < x->flow.f->n_code; i++)
        attach(x, &x->flow.f->code[i], &ops[first + i], &watches[first + i]);
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
        for (uint32_t r = 0; x.flow.f == &d->module->functions[i] && r + 1 < x.flow.regs; r++)
            if (x.watched[r])
                names[x.number[r] - 1] = name_of(&x, r);
        if (x.flow.f == &d->module->functions[i])
            attach_function(&x, i, ops, program);
    }
    program->watched_registers = count;
}

pg_combined pg_watch_combined(const pg_warp *w, const pg_op *op, const pg_watch *watch)
{
    if (watch->run == pg_op_pred_logic)
        return (pg_combined){
            {pg_pred_lanes(w, op->q, op->q_not), pg_pred_lanes(w, (pg_pred)op->imm, op->p_not)},
            op->mode == PG_ALU_OR ? UINT32_MAX : 0};
    const pg_compare_plan *plan = op->extra;
    return (pg_combined){{plan->compare(pg_row_at(w, op->a), pg_row_at(w, op->b), plan->accept),
                          pg_pred_lanes(w, plan->with, plan->with_not)},
                         plan->combine == 2 ? UINT32_MAX : 0};
}

pg_step pg_op_watch(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, watch, w, op, lanes);
    return w->launch->program->watches[pg_pc_of(w, op)].run(w, op, lanes);
}
