/* Decoding of branches, calls and what ends or delays a thread. */
#include "emulator/control.h"
#include "emulator/check.h"
#include "emulator/decode_families.h"

void pg_decode_bra(pg_decoder *d, pg_op *op)
{
    op->target = pg_label_target(d, pg_operand(d, 0)->index);
    op->run = pg_op_bra;
}

void pg_decode_brx_idx(pg_decoder *d, pg_op *op)
{
    const pg_ptx_table *table = &d->function->tables[pg_operand(d, 1)->index];
    pg_branch_table *t = PG_NEW(d->arena, pg_branch_table);
    uint32_t *targets = PG_NEW_ARRAY(d->arena, uint32_t, table->n_targets + 1);
    op->a = pg_source(d, pg_operand(d, 0), PG_T_U32);
    if (!t || !targets || table->is_calls)
        return;
    for (uint32_t i = 0; i < table->n_targets; i++)
        targets[i] = pg_label_target(d, table->targets[i]);
    *t = (pg_branch_table){targets, table->n_targets};
    op->extra = t;
    op->run = pg_op_brx;
}

/* One end of a parameter copy: a register of the function or a variable in its frame. */
static void copy_end(pg_decoder *d, uint32_t function, uint32_t var, bool *is_row, pg_row *row,
                     uint32_t *offset)
{
    const pg_ptx_var *v = &d->module->vars[var];
    if (v->space == PG_SPACE_REG) {
        const pg_ptx_operand reg = {.kind = PG_OPERAND_REG, .index = (uint32_t)v->reg};
        const pg_ptx_function *caller = d->function;
        d->function = &d->module->functions[function];
        *is_row = true;
        *row = pg_dest(d, &reg);
        d->function = caller;
    } else {
        *offset = (uint32_t)pg_variable_place(d, var).address;
    }
}

/* The caller's end: an element of the argument or return list. */
static void caller_end(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type, bool *is_row,
                       pg_row *row, uint32_t *offset)
{
    if (o->kind == PG_OPERAND_VAR) {
        *offset = (uint32_t)(pg_variable_place(d, o->index).address + o->value);
        return;
    }
    *is_row = true;
    *row = pg_source(d, o, type);
}

static const pg_call_copy *copies(pg_decoder *d, const pg_ptx_operand *list, uint32_t callee,
                                  bool returns)
{
    const pg_ptx_function *f = &d->module->functions[callee];
    const uint32_t formals = returns ? f->n_returns : f->n_params;
    const uint32_t actuals = list->kind == PG_OPERAND_LIST ? list->n_elems : 0;
    pg_call_copy *c = PG_NEW_ARRAY(d->arena, pg_call_copy, formals + 1);
    if (formals != actuals)
        pg_decode_fail(d, "%s takes %u %s, the call has %u", f->name, formals,
                       returns ? "returns" : "arguments", actuals);
    for (uint32_t i = 0; c && i < formals && d->status == PTXGEN_OK; i++) {
        const uint32_t var = returns ? f->returns[i] : f->params[i];
        const pg_ptx_var *v = &d->module->vars[var];
        c[i].bytes =
            v->space == PG_SPACE_REG ? pg_lane_bytes((pg_ptx_type)v->type) : (uint32_t)v->size;
        if (returns) {
            copy_end(d, callee, var, &c[i].from_row, &c[i].from, &c[i].from_offset);
            caller_end(d, &list->elems[i], (pg_ptx_type)v->type, &c[i].to_row, &c[i].to,
                       &c[i].to_offset);
        } else {
            caller_end(d, &list->elems[i], (pg_ptx_type)v->type, &c[i].from_row, &c[i].from,
                       &c[i].from_offset);
            copy_end(d, callee, var, &c[i].to_row, &c[i].to, &c[i].to_offset);
        }
    }
    return c;
}

/* vprintf and __assertfail: what their arguments are, by position, as rows or places in the caller's frame. */
static void built_in(pg_decoder *d, pg_op *op, pg_call_target *t, const pg_ptx_function *f)
{
    const pg_ptx_operand *list = pg_operand(d, 2), *result = pg_operand(d, 0);
    const bool is_printf = !strcmp(f->name, "vprintf");
    if (!is_printf && strcmp(f->name, "__assertfail")) {
        pg_decode_fail(d, "function %s has no body", f->name);
        return;
    }
    const uint32_t n = list->kind == PG_OPERAND_LIST ? list->n_elems : 0;
    pg_call_copy *c = PG_NEW_ARRAY(d->arena, pg_call_copy, n + 2);
    if (!c || n < (is_printf ? 2u : 4u) || n != f->n_params) {
        pg_decode_fail(d, "%s is called with %u arguments", f->name, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const pg_ptx_var *v = &d->module->vars[f->params[i]];
        c[i].bytes = (uint32_t)v->size;
        caller_end(d, &list->elems[i], (pg_ptx_type)v->type, &c[i].from_row, &c[i].from,
                   &c[i].from_offset);
    }
    t->args = c;
    t->arg_count = n;
    if (result->kind == PG_OPERAND_LIST && result->n_elems == 1) {
        pg_call_copy *r = &c[n];
        r->bytes = 4;
        caller_end(d, &result->elems[0], PG_T_B32, &r->to_row, &r->to, &r->to_offset);
        t->returns = r;
        t->return_count = 1;
    }
    op->run = is_printf ? pg_op_vprintf : pg_op_assertfail;
}

void pg_decode_call(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *callee = pg_operand(d, 1);
    pg_call_target *t = PG_NEW(d->arena, pg_call_target);
    if (!t)
        return;
    if (callee->kind != PG_OPERAND_FUNC) {
        pg_decode_fail(d, "calls through a register are not executed");
        return;
    }
    const pg_ptx_function *f = &d->module->functions[callee->index];
    t->caller = pg_function_of(d, (uint32_t)(d->function - d->module->functions));
    op->extra = t;
    if (!f->has_body) {
        built_in(d, op, t, f);
        return;
    }
    t->callee = pg_function_of(d, callee->index);
    t->args = copies(d, pg_operand(d, 2), callee->index, false);
    t->arg_count = f->n_params;
    t->returns = copies(d, pg_operand(d, 0), callee->index, true);
    t->return_count = f->n_returns;
    op->target = t->callee->first_op;
    op->run = pg_op_call;
}

#define PLAIN(name, handler)                                                                       \
    void pg_decode_##name(pg_decoder *d, pg_op *op)                                                \
    {                                                                                              \
        (void)d;                                                                                   \
        op->run = handler;                                                                         \
    }
PLAIN(ret, pg_op_ret)
PLAIN(exit, pg_op_exit)
PLAIN(nanosleep, pg_op_nanosleep)
PLAIN(setmaxnreg, pg_op_nop)
PLAIN(griddepcontrol_launch, pg_op_nop)

void pg_decode_trap(pg_decoder *d, pg_op *op)
{
    op->imm = !strcmp(pg_ptx_op_describe(d->opcode->op)->mnemonic, "brkpt");
    op->run = pg_op_trap;
}

/* Prerequisite grids have finished before an emulated launch starts: only the checker cares. */
static pg_step grid_wait(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    (void)op;
    if (w->launch->checker)
        pg_check_grid_wait(w, lanes);
    return PG_NEXT;
}
PLAIN(griddepcontrol_wait, grid_wait)
