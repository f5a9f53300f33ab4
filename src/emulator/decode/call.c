/* Decoding of calls and of stack memory. A call is known as far as the text says it: a direct
 * one has one target, one through a register those of its list, or every reached function that
 * fits its prototype. */
#include "emulator/flow/control.h"
#include "emulator/decode/families.h"
#include "emulator/decode/layout.h"

/* One end of a parameter copy: a register row, or an offset in a frame. */
typedef struct copy_end {
    bool is_row;
    pg_row row;
    uint32_t offset;
} copy_end;

/* The callee's end: a parameter of the function. */
static copy_end callee_end(pg_decoder *d, uint32_t function, uint32_t var)
{
    const pg_ptx_var *v = &d->module->vars[var];
    if (v->space != PG_SPACE_REG)
        return (copy_end){.offset = (uint32_t)pg_variable_place(d, var).address};
    const pg_ptx_operand reg = {.kind = PG_OPERAND_REG, .index = (uint32_t)v->reg};
    const pg_ptx_function *caller = d->function;
    d->function = &d->module->functions[function];
    const pg_row row = pg_dest(d, &reg);
    d->function = caller;
    return (copy_end){.is_row = true, .row = row};
}

/* The caller's end: an element of the argument or return list. */
static copy_end caller_end(pg_decoder *d, const pg_ptx_operand *o, pg_ptx_type type)
{
    if (o->kind == PG_OPERAND_VAR)
        return (copy_end){.offset = (uint32_t)(pg_variable_place(d, o->index).address + o->value)};
    return (copy_end){.is_row = true, .row = pg_source(d, o, type)};
}

static void set_from(pg_call_copy *c, copy_end end)
{
    c->from_row = end.is_row;
    c->from = end.row;
    c->from_offset = end.offset;
}

static void set_to(pg_call_copy *c, copy_end end)
{
    c->to_row = end.is_row;
    c->to = end.row;
    c->to_offset = end.offset;
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
        const copy_end here = callee_end(d, callee, var),
                       there = caller_end(d, &list->elems[i], (pg_ptx_type)v->type);
        set_from(&c[i], returns ? here : there);
        set_to(&c[i], returns ? there : here);
    }
    return c;
}

/* Functions that the device side of CUDA always has. */
static const struct built_in {
    const char *name;
    uint32_t arguments;
    pg_handler run;
    bool heap;
} built_ins[] = {{"vprintf", 2, pg_op_vprintf, false},
                 {"__assertfail", 4, pg_op_assertfail, false},
                 {"malloc", 1, pg_op_malloc, true},
                 {"free", 1, pg_op_free, true}};

static const struct built_in *find_built_in(const char *name)
{
    for (size_t i = 0; i < sizeof built_ins / sizeof *built_ins; i++)
        if (!strcmp(built_ins[i].name, name))
            return &built_ins[i];
    return NULL;
}

/* A call of one: what its arguments are, by position, as rows or places in the caller's frame. */
static void built_in(pg_decoder *d, pg_op *op, pg_call_target *t, const pg_ptx_function *f)
{
    const pg_ptx_operand *list = pg_operand(d, 2), *result = pg_operand(d, 0);
    const struct built_in *known = find_built_in(f->name);
    if (!known) {
        pg_decode_fail(d, "function %s has no body%s", f->name,
                       strncmp(f->name, "__cuda", 6) ? "" : ": no kernel launches kernels here");
        return;
    }
    d->layout->uses_heap |= known->heap;
    const uint32_t n = list->kind == PG_OPERAND_LIST ? list->n_elems : 0;
    pg_call_copy *c = PG_NEW_ARRAY(d->arena, pg_call_copy, n + 2);
    if (!c || n < known->arguments || n != f->n_params) {
        pg_decode_fail(d, "%s is called with %u arguments", f->name, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const pg_ptx_var *v = &d->module->vars[f->params[i]];
        c[i].bytes = (uint32_t)v->size;
        set_from(&c[i], caller_end(d, &list->elems[i], (pg_ptx_type)v->type));
    }
    t->args = c;
    t->arg_count = n;
    if (result->kind == PG_OPERAND_LIST && result->n_elems == 1 && f->n_returns == 1) {
        pg_call_copy *r = &c[n];
        const pg_ptx_var *v = &d->module->vars[f->returns[0]];
        r->bytes = (uint32_t)v->size;
        set_to(r, caller_end(d, &result->elems[0], (pg_ptx_type)v->type));
        t->returns = r;
        t->return_count = 1;
    }
    op->run = known->run;
}

/* A function with a body as a target of the call. */
static void fill_target(pg_decoder *d, pg_call_target *t, uint32_t callee)
{
    const pg_ptx_function *f = &d->module->functions[callee];
    t->caller = pg_function_of(d, (uint32_t)(d->function - d->module->functions));
    t->callee = pg_function_of(d, callee);
    t->args = copies(d, pg_operand(d, PG_CALL_ARGUMENTS), callee, false);
    t->arg_count = f->n_params;
    t->returns = copies(d, pg_operand(d, PG_CALL_RETURNS), callee, true);
    t->return_count = f->n_returns;
}

/* ---- through a register ---- */

static bool fits(const pg_ptx_module *m, const uint32_t *vars, uint32_t n_vars,
                 const pg_ptx_proto_param *params, uint32_t n_params)
{
    if (n_vars != n_params)
        return false;
    for (uint32_t i = 0; i < n_vars; i++)
        if (m->vars[vars[i]].size != params[i].size)
            return false;
    return true;
}

bool pg_call_may_be_of(const pg_ptx_module *m, const pg_ptx_function *caller,
                       const pg_ptx_insn *insn, uint32_t function)
{
    const pg_ptx_function *f = &m->functions[function];
    const pg_ptx_operand *targets = &insn->operands[PG_CALL_TARGETS];
    if (f->is_entry || !f->has_body)
        return false;
    if (targets->kind == PG_OPERAND_PROTO) {
        const pg_ptx_proto *p = &caller->protos[targets->index];
        return fits(m, f->returns, f->n_returns, p->returns, p->n_returns) &&
               fits(m, f->params, f->n_params, p->params, p->n_params);
    }
    const pg_ptx_table *list = &caller->tables[targets->index];
    for (uint32_t i = 0; i < list->n_targets; i++)
        if (pg_function_behind(m, list->targets[i]) == function)
            return true;
    return false;
}

bool pg_call_may_reach(const pg_decoder *d, const pg_ptx_function *caller, const pg_ptx_insn *insn,
                       uint32_t function)
{
    return d->layout->functions[function].reachable &&
           pg_call_may_be_of(d->module, caller, insn, function);
}

static void indirect_call(pg_decoder *d, pg_op *op)
{
    const uint32_t n = d->module->n_functions;
    pg_indirect_call *call = PG_NEW(d->arena, pg_indirect_call);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += pg_call_may_reach(d, d->function, d->insn, i);
    pg_call_target *targets = PG_NEW_ARRAY(d->arena, pg_call_target, count + 1);
    uint64_t *addresses = PG_NEW_ARRAY(d->arena, uint64_t, count + 1);
    if (!call || !targets || !addresses)
        return;
    for (uint32_t i = 0; i < n && d->status == PTXGEN_OK; i++)
        if (pg_call_may_reach(d, d->function, d->insn, i)) {
            addresses[call->count] = pg_function_address(i);
            fill_target(d, &targets[call->count++], i);
        }
    call->targets = targets;
    call->addresses = addresses;
    op->a = pg_source(d, pg_operand(d, PG_CALL_CALLEE), PG_T_U64);
    op->extra = call;
    op->run = pg_op_call_indirect;
}

void pg_decode_call(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *callee = pg_operand(d, PG_CALL_CALLEE);
    if (callee->kind != PG_OPERAND_FUNC) {
        indirect_call(d, op);
        return;
    }
    pg_call_target *t = PG_NEW(d->arena, pg_call_target);
    if (!t)
        return;
    const uint32_t index = pg_function_behind(d->module, callee->index);
    const pg_ptx_function *f = &d->module->functions[index];
    op->extra = t;
    if (!f->has_body) {
        t->caller = pg_function_of(d, (uint32_t)(d->function - d->module->functions));
        built_in(d, op, t, f);
        return;
    }
    fill_target(d, t, index);
    op->run = pg_op_call;
}

/* ---- stack memory ---- */

static void stack_operation(pg_decoder *d, pg_op *op, pg_handler run)
{
    op->extra = pg_function_of(d, (uint32_t)(d->function - d->module->functions));
    op->size = (uint8_t)(pg_ptx_type_bits(pg_type(d, 0)) / 8);
    op->run = run;
}

void pg_decode_alloca(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->imm = pg_operand_present(d, 2) ? pg_immediate(d, pg_operand(d, 2)) : 8;
    if (!op->imm || op->imm & (op->imm - 1) || op->imm > 1u << 20) {
        pg_decode_fail(d, "an alignment of %llu bytes: it must be a power of two up to 1 MiB",
                       (unsigned long long)op->imm);
        return;
    }
    stack_operation(d, op, pg_op_alloca);
}

void pg_decode_stacksave(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    stack_operation(d, op, pg_op_stacksave);
}

void pg_decode_stackrestore(pg_decoder *d, pg_op *op)
{
    op->a = pg_source(d, pg_operand(d, 0), pg_type(d, 0));
    stack_operation(d, op, pg_op_stackrestore);
}
