/* A call as a block: { registers and code of the callee }. Arguments and results are bridges
 * (bridge.c); loads and stores of the callee's parameters become moves, ret a branch to the end
 * of the block, calls blocks inside. Local arrays are declared once at the top of the kernel's
 * function (merge.c): copies of the code share them. */
#include "ptx/inline/inline.h"

#include "ptx/print.h"

#include <stdio.h>
#include <string.h>

static void put_insn(const pg_caller *c, const pg_ptx_insn *insn)
{
    pg_out *o = &c->in->out;
    const size_t from = o->text.len;
    pg_buf_puts(&o->text, "    ");
    pg_ptx_print_insn(c->module, c->f, insn, &o->text);
    pg_buf_putc(&o->text, '\n');
    pg_out_wrote(o, from);
}

static unsigned operand_bits(const pg_caller *c, const pg_ptx_operand *o, unsigned otherwise)
{
    return o->kind == PG_OPERAND_REG ? pg_ptx_type_bits((pg_ptx_type)c->f->reg_types[o->index])
                                     : otherwise;
}

/* ---- loads and stores of parameters ---- */

static void put_access(const pg_caller *c, const pg_ptx_insn *insn, const pg_param_access *a)
{
    const uint32_t slot = a->is_store ? 1 : 0;
    const bool is_vector = a->data->kind == PG_OPERAND_VECTOR;
    pg_move move = {.bridge = c->bridges[a->var],
                    .size = a->size,
                    .is_signed = pg_ptx_type_class_of(a->type) == PG_CLASS_SIGNED,
                    .guard = pg_inline_guard(c, insn)};
    for (uint32_t i = 0; i < a->n; i++) {
        const pg_ptx_operand *o = is_vector ? &a->data->elems[i] : a->data;
        if (o->kind == PG_OPERAND_SINK)
            continue;
        move.offset = a->offset + i * a->size;
        pg_value v = {.text = pg_inline_operand(c, insn, slot, is_vector ? (int)i : -1),
                      .bits = operand_bits(c, o, 8 * a->size),
                      .is_constant = o->kind == PG_OPERAND_IMM};
        if (v.is_constant)
            v.constant = pg_ptx_imm_bits(o, a->type);
        (a->is_store ? pg_bridge_store : pg_bridge_load)(c->in, &move, &v);
    }
}

/* ---- calls ---- */

/* A call under way: its instruction and its callee. */
typedef struct call {
    const pg_caller *from;
    const pg_ptx_insn *insn;
    pg_caller callee;
} call;

static const pg_ptx_var *parameter(const call *k, uint32_t slot, uint32_t i)
{
    const pg_ptx_function *f = k->callee.f;
    return &k->callee.module->vars[(slot ? f->params : f->returns)[i]];
}

/* How many elements of a call's list the callee has parameters for. */
static uint32_t count(const call *k, uint32_t slot)
{
    const pg_ptx_function *f = k->callee.f;
    const uint32_t wanted = slot ? f->n_params : f->n_returns,
                   given = k->insn->operands[slot].n_elems;
    return wanted < given ? wanted : given;
}

static uint32_t number_of(const call *k, const pg_ptx_var *v)
{
    return (uint32_t)(v - k->callee.module->vars);
}

/* A parameter whose argument is a register or a constant: a bridge of its own. */
static void bridge_argument(const call *k, uint32_t slot, const pg_ptx_var *v)
{
    pg_inliner *in = k->callee.in;
    pg_touches list = {0};
    char name[220];
    pg_touch whole = {0, (uint32_t)v->size, slot == 2};
    snprintf(name, sizeof name, "%%%.200s", v->name);
    if (pg_touch_add(in, &list, whole) &&
        pg_touch_body(in, k->callee.module, k->callee.f, number_of(k, v), &list))
        k->callee.bridges[number_of(k, v)] = pg_bridge_make(in, v->size, &list, name);
    if (k->callee.bridges[number_of(k, v)])
        pg_bridge_declare(in, k->callee.bridges[number_of(k, v)]);
}

/* Parameters get the caller's bridges, or their own. */
static void bind_parameters(const call *k)
{
    for (uint32_t slot = 0; slot <= 2; slot += 2) {
        const pg_ptx_operand *list = &k->insn->operands[slot];
        for (uint32_t i = 0; i < count(k, slot); i++) {
            const pg_ptx_var *v = parameter(k, slot, i);
            k->callee.bridges[number_of(k, v)] = NULL;
            if (v->space != PG_SPACE_PARAM)
                continue;
            if (list->elems[i].kind == PG_OPERAND_VAR)
                k->callee.bridges[number_of(k, v)] = k->from->bridges[list->elems[i].index];
            else
                bridge_argument(k, slot, v);
        }
    }
}

static pg_value argument_value(const call *k, uint32_t slot, uint32_t i)
{
    const pg_ptx_operand *o = &k->insn->operands[slot].elems[i];
    const pg_ptx_var *v = parameter(k, slot, i);
    pg_value value = {.text = pg_inline_operand(k->from, k->insn, slot, (int)i),
                      .bits = operand_bits(k->from, o, (unsigned)(8 * v->size)),
                      .is_constant = o->kind == PG_OPERAND_IMM};
    if (value.is_constant)
        value.constant = pg_ptx_imm_bits(o, (pg_ptx_type)v->type);
    return value;
}

/* Registers as arguments or results: moves between them and the callee's. */
static void move_registers(const call *k, uint32_t slot)
{
    const pg_ptx_operand *list = &k->insn->operands[slot];
    for (uint32_t i = 0; i < count(k, slot); i++) {
        const pg_ptx_var *v = parameter(k, slot, i);
        if (list->elems[i].kind == PG_OPERAND_VAR)
            continue;
        const pg_value value = argument_value(k, slot, i);
        const pg_move move = {
            .bridge = k->callee.bridges[number_of(k, v)], .size = (uint32_t)v->size, .guard = ""};
        char name[256];
        if (v->space == PG_SPACE_PARAM && move.bridge) {
            (slot ? pg_bridge_store : pg_bridge_load)(k->callee.in, &move, &value);
        } else if (v->space == PG_SPACE_REG) {
            const char *type =
                v->type == PG_T_PRED ? "pred" : pg_ptx_type_name((pg_ptx_type)v->type);
            pg_ptx_reg_name(k->callee.f, (uint32_t)v->reg, name, sizeof name);
            pg_out_line(&k->callee.in->out, "    mov.%s %s, %s;", type, slot ? name : value.text,
                        slot ? value.text : name);
        }
    }
}

static void put_declarations(const call *k)
{
    pg_inliner *in = k->callee.in;
    const pg_ptx_function *f = k->callee.f;
    size_t from = in->out.text.len;
    pg_ptx_print_registers(k->callee.module, f, true, &in->out.text);
    pg_out_wrote(&in->out, from);
    for (uint32_t i = 0; i < f->n_locals; i++)
        if (k->callee.bridges[f->locals[i]])
            pg_bridge_declare(in, k->callee.bridges[f->locals[i]]);
    from = in->out.text.len;
    pg_ptx_print_tables(k->callee.module, f, &in->out.text);
    pg_out_wrote(&in->out, from);
}

static void put_pragmas(const call *k, uint32_t insn)
{
    const pg_ptx_module *m = k->callee.module;
    const uint32_t function = (uint32_t)(k->callee.f - m->functions);
    for (uint32_t i = 0; i < m->n_pragmas; i++)
        if (m->pragmas[i].function == function && m->pragmas[i].insn == insn)
            pg_out_line(&k->callee.in->out, "    .pragma \"%s\";", m->pragmas[i].text);
}

/* ret: to the end of the block; as the last instruction: nothing. */
static bool put_return(const call *k, uint32_t i, bool *needs_label)
{
    const pg_ptx_insn *insn = &k->callee.f->code[i];
    if (insn->opcode->op != PG_OP_RET)
        return false;
    if (i + 1 == k->callee.f->n_code && insn->guard == PG_PTX_NO_REG)
        return true;
    *needs_label = true;
    pg_out_line(&k->callee.in->out, "    %sbra%s %sreturn;", pg_inline_guard(&k->callee, insn),
                insn->opcode->mod[PG_F_UNI] ? ".uni" : "", k->callee.prefix);
    return true;
}

static void put_body(const call *k)
{
    pg_inliner *in = k->callee.in;
    const pg_ptx_function *f = k->callee.f;
    uint32_t label = 0;
    bool needs_label = false;
    for (uint32_t i = 0; i <= f->n_code; i++) {
        if (i < f->n_code)
            in->out.now = (pg_origin){PTXGEN_INLINED_FUNCTION, f->code[i].line, f->code[i].loc};
        for (; label < f->n_labels && f->labels[label].target == i; label++)
            pg_out_line(&in->out, "%s:", f->labels[label].name);
        put_pragmas(k, i);
        if (i == f->n_code || put_return(k, i, &needs_label))
            continue;
        if (!pg_inline_instruction(&k->callee, &f->code[i]))
            put_insn(&k->callee, &f->code[i]);
    }
    if (needs_label)
        pg_out_line(&in->out, "%sreturn:", k->callee.prefix);
}

/* A guarded call skips the block. */
static bool put_guard(const call *k)
{
    const char *guard = pg_inline_guard(k->from, k->insn);
    if (!guard[0])
        return false;
    const bool negated = guard[1] == '!';
    pg_out_line(&k->callee.in->out, "    @%s%sbra%s %sskip;", negated ? "" : "!",
                guard + (negated ? 2 : 1), k->insn->opcode->mod[PG_F_UNI] ? ".uni" : "",
                k->callee.prefix);
    return true;
}

static void put_call(const pg_caller *from, const pg_ptx_insn *insn, uint32_t index)
{
    pg_inliner *in = from->in;
    const pg_origin here = in->out.now;
    const pg_ptx_function *f = &in->user.module->functions[index];
    const call k = {from,
                    insn,
                    {.in = in,
                     .module = in->user.module,
                     .f = f,
                     .callee_of = in->callee_of_user,
                     .bridges = in->user_bridges,
                     .prefix = in->functions[index].prefix}};
    if (!pg_inline_bridges(&k.callee)) {
        in->arena->failed = true;
        return;
    }
    pg_out_line(&in->out, "{ // %s", f->name);
    put_declarations(&k);
    bind_parameters(&k);
    move_registers(&k, 2);
    const bool guarded = put_guard(&k);
    put_body(&k);
    in->out.now = here;
    move_registers(&k, 0);
    if (guarded)
        pg_out_line(&in->out, "%sskip:", k.callee.prefix);
    pg_out_line(&in->out, "}");
}

bool pg_inline_instruction(const pg_caller *c, const pg_ptx_insn *insn)
{
    pg_param_access a;
    const uint32_t callee = pg_callee_of(c, insn);
    if (callee != PG_INLINE_NONE && !pg_inline_why_not(c, insn)) {
        put_call(c, insn, callee);
        return true;
    }
    if (!pg_param_access_of(c->module, insn, &a) || !c->bridges[a.var])
        return false;
    put_access(c, insn, &a);
    return true;
}
