/* Which calls of a function can be inlined. Arguments and results of a call sit in .param
 * variables of the caller, which only the call, loads and stores name; if that is so, they
 * become registers. */
#include "ptx/inline/inline.h"

#include <stdio.h>
#include <string.h>

uint32_t pg_callee_of(const pg_caller *c, const pg_ptx_insn *insn)
{
    if (insn->opcode->op != PG_OP_CALL || insn->operands[1].kind != PG_OPERAND_FUNC)
        return PG_INLINE_NONE;
    return c->callee_of[insn->operands[1].index];
}

/* ---- variables of calls ---- */

/* What is known of a local .param variable of the caller. */
typedef struct param_use {
    bool of_call;    /* of a call that is inlined */
    bool blocked;    /* something else needs it as memory */
    pg_touches list; /* by the caller and by the callees */
} param_use;

typedef struct uses {
    const pg_caller *c;
    /* by variable of the module, from `first` on: those of the caller follow each other */
    param_use *vars;
    uint32_t first, count;
    bool changed;
} uses;

static param_use *use_of(const uses *u, uint32_t var)
{
    return &u->vars[var - u->first];
}

static bool is_local_param(const pg_caller *c, uint32_t var)
{
    return c->module->vars[var].role == PG_ROLE_LOCAL &&
           c->module->vars[var].space == PG_SPACE_PARAM;
}

static bool is_kept(const pg_caller *c, uint32_t callee)
{
    return c->text && c->in->functions[callee].kept;
}

/* The variables of one list of a call, each with the callee's parameter. */
static const pg_ptx_var *parameter_of(const pg_caller *c, uint32_t callee, unsigned slot,
                                      uint32_t i)
{
    const pg_ptx_module *m = c->in->user.module;
    const pg_ptx_function *f = &m->functions[callee];
    const uint32_t n = slot ? f->n_params : f->n_returns;
    return i < n ? &m->vars[(slot ? f->params : f->returns)[i]] : NULL;
}

/* An own parameter, passed on as it is, cannot: it is the kernel's memory, or another call's. */
static bool can_bridge(const uses *u, uint32_t var)
{
    return is_local_param(u->c, var) && !use_of(u, var)->blocked;
}

static bool can_inline(const uses *u, const pg_ptx_insn *insn, uint32_t callee)
{
    if (callee == PG_INLINE_NONE || is_kept(u->c, callee))
        return false;
    for (unsigned slot = 0; slot <= 2; slot += 2) {
        const pg_ptx_operand *list = &insn->operands[slot];
        for (uint32_t i = 0; i < list->n_elems; i++) {
            const pg_ptx_var *parameter = parameter_of(u->c, callee, slot, i);
            const bool is_var = list->elems[i].kind == PG_OPERAND_VAR;
            if (!parameter && u->c->in->seam)
                continue; /* the function does not want it */
            if (!parameter || (is_var && !can_bridge(u, list->elems[i].index)) ||
                (is_var && parameter->space != PG_SPACE_PARAM))
                return false;
        }
    }
    return true;
}

static void block(uses *u, uint32_t var)
{
    if (is_local_param(u->c, var) && !use_of(u, var)->blocked)
        u->changed = use_of(u, var)->blocked = true;
}

static void visit_call(uses *u, const pg_ptx_insn *insn)
{
    const bool inlined = can_inline(u, insn, pg_callee_of(u->c, insn));
    for (uint32_t slot = 0; slot < insn->n_operands; slot++)
        for (uint32_t i = 0; i < insn->operands[slot].n_elems; i++) {
            const pg_ptx_operand *o = &insn->operands[slot].elems[i];
            if (o->kind != PG_OPERAND_VAR)
                continue;
            if (inlined)
                use_of(u, o->index)->of_call = true;
            else
                block(u, o->index);
        }
}

static void visit(uses *u, const pg_ptx_insn *insn)
{
    pg_param_access a;
    if (insn->opcode->op == PG_OP_CALL) {
        visit_call(u, insn);
        return;
    }
    if (pg_param_access_of(u->c->module, insn, &a)) {
        if (a.offset % a.size ||
            (uint64_t)a.offset + (uint64_t)a.n * a.size > u->c->module->vars[a.var].size)
            block(u, a.var);
        return;
    }
    for (uint32_t i = 0; i < insn->n_operands; i++) {
        const pg_ptx_operand *o = &insn->operands[i];
        if (o->kind == PG_OPERAND_VAR ||
            (o->kind == PG_OPERAND_ADDRESS && o->base == PG_OPERAND_VAR))
            block(u, o->index);
    }
}

/* ---- bridges ---- */

/* What the callee of an inlined call does with the parameters that variables stand for. */
static bool touch_callee(uses *u, const pg_ptx_insn *insn)
{
    const uint32_t callee = pg_callee_of(u->c, insn);
    const pg_ptx_module *m = u->c->in->user.module;
    if (!can_inline(u, insn, callee))
        return true;
    for (unsigned slot = 0; slot <= 2; slot += 2)
        for (uint32_t i = 0; i < insn->operands[slot].n_elems; i++) {
            const pg_ptx_operand *o = &insn->operands[slot].elems[i];
            const pg_ptx_var *parameter = parameter_of(u->c, callee, slot, i);
            if (parameter && o->kind == PG_OPERAND_VAR &&
                !pg_touch_body(u->c->in, m, &m->functions[callee], (uint32_t)(parameter - m->vars),
                               &use_of(u, o->index)->list))
                return false;
        }
    return true;
}

static bool touch_caller(uses *u, const pg_ptx_insn *insn)
{
    pg_param_access a;
    if (!pg_param_access_of(u->c->module, insn, &a) || !is_local_param(u->c, a.var))
        return true;
    for (uint32_t i = 0; i < a.n; i++)
        if (!pg_touch_add(u->c->in, &use_of(u, a.var)->list,
                          (pg_touch){a.offset + i * a.size, a.size, a.is_store}))
            return false;
    return true;
}

static bool make_bridges(uses *u)
{
    const pg_caller *c = u->c;
    for (uint32_t i = 0; i < c->f->n_code; i++)
        if (!(c->f->code[i].opcode->op == PG_OP_CALL ? touch_callee : touch_caller)(u,
                                                                                    &c->f->code[i]))
            return false;
    for (uint32_t i = 0; i < c->f->n_locals; i++) {
        const uint32_t var = c->f->locals[i];
        char name[200];
        c->bridges[var] = NULL;
        if (!is_local_param(c, var) || !use_of(u, var)->of_call || use_of(u, var)->blocked)
            continue;
        snprintf(name, sizeof name, "%%%s%.80s", c->text ? c->prefix : "",
                 c->module->vars[var].name);
        c->bridges[var] =
            pg_bridge_make(c->in, c->module->vars[var].size, &use_of(u, var)->list, name);
        if (!c->bridges[var])
            return false;
    }
    return true;
}

/* The locals are declared between the function's braces, so nothing else's numbers lie between
 * theirs. */
static void find_range(uses *u)
{
    const pg_ptx_function *f = u->c->f;
    uint32_t end = 0;
    u->first = f->n_locals ? f->locals[0] : 0;
    for (uint32_t i = 0; i < f->n_locals; i++) {
        u->first = f->locals[i] < u->first ? f->locals[i] : u->first;
        end = f->locals[i] + 1 > end ? f->locals[i] + 1 : end;
    }
    u->count = end - (f->n_locals ? u->first : 0);
}

bool pg_inline_bridges(const pg_caller *c)
{
    uses u = {.c = c};
    find_range(&u);
    u.vars = PG_NEW_ARRAY(c->in->arena, param_use, u.count + 1);
    if (!u.vars)
        return false;
    /* A call that is not inlined blocks its variables, which may keep another call. */
    do {
        u.changed = false;
        for (uint32_t i = 0; i < u.count; i++)
            u.vars[i].of_call = false;
        for (uint32_t i = 0; i < c->f->n_code; i++)
            visit(&u, &c->f->code[i]);
    } while (u.changed);
    return make_bridges(&u);
}

const char *pg_inline_why_not(const pg_caller *c, const pg_ptx_insn *insn)
{
    const uint32_t callee = pg_callee_of(c, insn);
    if (is_kept(c, callee))
        return c->in->budget < 0 ? "nothing is to be inlined" : "its copies would pass the budget";
    for (unsigned slot = 0; slot <= 2; slot += 2)
        for (uint32_t i = 0; i < insn->operands[slot].n_elems; i++) {
            const pg_ptx_operand *o = &insn->operands[slot].elems[i];
            const pg_ptx_var *parameter = parameter_of(c, callee, slot, i);
            if (!parameter && c->in->seam)
                continue;
            if (!parameter)
                return "it leaves out an argument";
            if (o->kind == PG_OPERAND_VAR && parameter->space != PG_SPACE_PARAM)
                return "it passes memory where the function takes a register";
            if (o->kind == PG_OPERAND_VAR &&
                (!is_local_param(c, o->index) || !c->bridges[o->index]))
                return "one of its .param variables is used for something else too";
        }
    return NULL;
}
