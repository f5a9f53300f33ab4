/* Builds a pg_program: which functions the entry reaches, where their registers and variables
 * lie, and one op per instruction (plus one that returns at the end of each function). See
 * decode.h. */
#include "emulator/flow/control.h"
#include "emulator/decode/layout.h"
#include "emulator/decode/matrix_use.h"
#include "emulator/decode/watch.h"

enum { GROWING_STACK = 16 * 1024, MAX_CALL_NESTING = 1000 };

static uint64_t align_up(uint64_t x, uint64_t align)
{
    return align ? (x + align - 1) / align * align : x;
}

/* ---- reachability ---- */

/* Calls `visit` for every function and variable that the operand names, also inside lists. */
typedef struct reach {
    pg_decoder *d;
    const bool *taken; /* pg_functions_taken */
    uint32_t *work;    /* functions found but not yet scanned */
    uint32_t work_count;
} reach;

static void reach_function(reach *r, uint32_t named)
{
    const uint32_t function = pg_function_behind(r->d->module, named);
    pg_function_info *info = &r->d->layout->functions[function];
    if (info->reachable || !r->d->module->functions[function].has_body)
        return;
    info->reachable = true;
    r->work[r->work_count++] = function;
}

static void reach_operand(reach *r, const pg_ptx_operand *o)
{
    const bool names_var =
        o->kind == PG_OPERAND_VAR || (o->kind == PG_OPERAND_ADDRESS && o->base == PG_OPERAND_VAR);
    if (names_var && r->d->module->vars[o->index].space == PG_SPACE_SHARED)
        r->d->layout->shared_offset[o->index] = 1; /* used; placed later */
    if (o->kind == PG_OPERAND_FUNC)
        reach_function(r, o->index);
    for (uint32_t i = 0; i < o->n_elems; i++)
        reach_operand(r, &o->elems[i]);
}

static void reach_insn(reach *r, const pg_ptx_function *f, const pg_ptx_insn *insn)
{
    const pg_ptx_module *m = r->d->module;
    for (uint32_t k = 0; k < insn->n_operands; k++)
        reach_operand(r, &insn->operands[k]);
    if (!pg_is_indirect_call(insn))
        return;
    for (uint32_t k = 0; k < m->n_functions; k++)
        if ((r->taken[k] || insn->operands[PG_CALL_TARGETS].kind == PG_OPERAND_TABLE) &&
            pg_call_may_be_of(m, f, insn, k))
            reach_function(r, k);
}

static void find_reachable(pg_decoder *d, const bool *taken)
{
    reach r = {
        .d = d, .taken = taken, .work = PG_NEW_ARRAY(d->arena, uint32_t, d->module->n_functions)};
    if (!r.work)
        return;
    reach_function(&r, d->layout->entry);
    while (r.work_count) {
        const pg_ptx_function *f = &d->module->functions[r.work[--r.work_count]];
        for (uint32_t i = 0; i < f->n_code; i++)
            reach_insn(&r, f, &f->code[i]);
    }
}

/* ---- variables ---- */

static void place_shared(pg_decoder *d)
{
    pg_layout *y = d->layout;
    uint64_t end = PG_SHARED_BASE;
    y->dynamic_align = 16;
    for (uint32_t i = 0; i < d->module->n_vars; i++) {
        const pg_ptx_var *v = &d->module->vars[i];
        if (!y->shared_offset[i])
            continue;
        if (!v->size) {
            y->dynamic_align = v->align > y->dynamic_align ? v->align : y->dynamic_align;
            continue;
        }
        end = align_up(end, v->align);
        y->shared_offset[i] = (uint32_t)end;
        end += v->size;
        if (end > PG_SHARED_BASE + PG_SHARED_LIMIT) {
            pg_decode_fail(d,
                           "its shared variables take %llu bytes or more; a CTA has at most %d: "
                           "make them smaller",
                           (unsigned long long)(end - PG_SHARED_BASE), PG_SHARED_LIMIT);
            return;
        }
    }
    y->shared_end = (uint32_t)end;
    const uint32_t dynamic = (uint32_t)align_up(end, y->dynamic_align);
    for (uint32_t i = 0; i < d->module->n_vars; i++)
        if (y->shared_offset[i] && !d->module->vars[i].size)
            y->shared_offset[i] = dynamic;
}

/* Frames: local variables and parameters of a function, in declaration order. */
static uint32_t place_frame(pg_decoder *d, uint32_t function)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < d->module->n_vars; i++) {
        const pg_ptx_var *v = &d->module->vars[i];
        const bool kernel_param = function == d->layout->entry && v->role == PG_ROLE_PARAM;
        if (v->function != function || kernel_param ||
            (v->space != PG_SPACE_LOCAL && v->space != PG_SPACE_PARAM))
            continue;
        end = align_up(end, v->align);
        d->layout->frame_offset[i] = (uint32_t)end;
        end += v->size;
        if (end > 1u << 30)
            pg_decode_fail(d, "its local variables take more than 1 GiB a thread");
    }
    return (uint32_t)align_up(end, 16);
}

static void place_params(pg_decoder *d, pg_entry *entry)
{
    const pg_ptx_function *f = &d->module->functions[d->layout->entry];
    pg_parameter *params = PG_NEW_ARRAY(d->arena, pg_parameter, f->n_params ? f->n_params : 1);
    uint64_t end = 0;
    if (!params)
        return;
    for (uint32_t i = 0; i < f->n_params; i++) {
        const pg_ptx_var *v = &d->module->vars[f->params[i]];
        end = align_up(end, v->align);
        d->layout->param_offset[f->params[i]] = (uint32_t)end;
        params[i] = (pg_parameter){.name = v->name,
                                   .offset = (uint32_t)end,
                                   .bytes = (uint32_t)v->size,
                                   .align = v->align,
                                   .is_array = v->is_array,
                                   .is_float = v->type == PG_T_F32 || v->type == PG_T_F64};
        end += v->size;
        if (end > 1u << 20)
            pg_decode_fail(d, "its parameters take more than 1 MiB");
    }
    entry->params = params;
    entry->param_count = f->n_params;
    entry->param_bytes = (uint32_t)end;
}

/* ---- registers ---- */

static void place_registers(pg_decoder *d, uint32_t function, pg_function_layout *layout)
{
    const pg_ptx_function *f = &d->module->functions[function];
    pg_layout *y = d->layout;
    pg_row *rows = PG_NEW_ARRAY(d->arena, pg_row, f->n_regs + 1);
    pg_row *saved = PG_NEW_ARRAY(d->arena, pg_row, f->n_regs + 1);
    uint8_t *saved_bytes = PG_NEW_ARRAY(d->arena, uint8_t, f->n_regs + 1);
    if (!rows || !saved || !saved_bytes)
        return;
    layout->preds_begin = y->pred_count;
    for (uint32_t r = 0; r < f->n_regs && d->status == PTXGEN_OK; r++) {
        const pg_ptx_type type = (pg_ptx_type)f->reg_types[r];
        if (type == PG_T_PRED) {
            rows[r] = (pg_row)++y->pred_count;
            continue;
        }
        const unsigned bytes = pg_lane_bytes(type);
        rows[r] = pg_scratch_row(d, bytes);
        saved[layout->row_count] = rows[r];
        saved_bytes[layout->row_count++] = (uint8_t)bytes;
        layout->saved_bytes += bytes;
    }
    if (y->pred_count > UINT16_MAX - 1)
        pg_decode_fail(d, "the program has more than 65534 predicate registers");
    layout->preds_end = y->pred_count;
    layout->saved_bytes += layout->preds_end - layout->preds_begin;
    layout->rows = saved;
    layout->row_bytes = saved_bytes;
    y->functions[function].reg_rows = rows;
}

/* ---- the call graph ---- */

/* Marks functions that can reach themselves, and finds the deepest frame. */
typedef struct call_walk {
    pg_decoder *d;
    uint8_t *state;  /* 0 new, 1 on the path, 2 done */
    uint64_t *depth; /* bytes from this function down */
    uint32_t nesting;
    bool recursion;
    bool grows; /* alloca */
} call_walk;

static void walk_calls(call_walk *c, uint32_t function);

static void walk_callee(call_walk *c, uint32_t function, uint64_t *below)
{
    if (!c->d->layout->functions[function].reachable)
        return;
    if (c->state[function] == 1)
        c->recursion = true;
    if (c->state[function] == 0 && c->d->status == PTXGEN_OK)
        walk_calls(c, function);
    *below = c->depth[function] > *below ? c->depth[function] : *below;
}

static void walk_calls(call_walk *c, uint32_t function)
{
    const pg_ptx_function *f = &c->d->module->functions[function];
    uint64_t below = 0;
    if (c->nesting++ > MAX_CALL_NESTING)
        pg_decode_fail(c->d, "its calls nest deeper than %d functions", MAX_CALL_NESTING);
    c->state[function] = 1;
    for (uint32_t i = 0; i < f->n_code; i++) {
        const pg_ptx_insn *insn = &f->code[i];
        for (uint32_t k = 0; k < insn->n_operands; k++)
            if (insn->operands[k].kind == PG_OPERAND_FUNC)
                walk_callee(c, pg_function_behind(c->d->module, insn->operands[k].index), &below);
        for (uint32_t k = 0; pg_is_indirect_call(insn) && k < c->d->module->n_functions; k++)
            if (pg_call_may_reach(c->d, f, insn, k))
                walk_callee(c, k, &below);
        c->grows |= insn->opcode->op == PG_OP_ALLOCA;
    }
    c->depth[function] = below + c->d->layout->functions[function].layout->frame_bytes;
    c->state[function] = 2;
    c->nesting--;
}

static uint32_t stack_bytes(pg_decoder *d)
{
    call_walk c = {.d = d,
                   .state = PG_NEW_ARRAY(d->arena, uint8_t, d->module->n_functions),
                   .depth = PG_NEW_ARRAY(d->arena, uint64_t, d->module->n_functions)};
    if (!c.state || !c.depth)
        return 0;
    walk_calls(&c, d->layout->entry);
    /* With recursion anywhere, every function saves its caller's registers: simple, and never
     * wrong. */
    for (uint32_t i = 0; c.recursion && i < d->module->n_functions; i++)
        if (d->layout->functions[i].layout)
            d->layout->functions[i].layout->recursive = true;
    const uint64_t bytes = c.depth[d->layout->entry] + (c.recursion || c.grows ? GROWING_STACK : 0);
    return bytes > 1u << 30 ? 1u << 30 : (uint32_t)bytes;
}

/* ---- code ---- */

static pg_scope scope_of(unsigned modifier)
{
    return modifier == PG_M_SCOPE_CTA       ? PG_SCOPE_CTA
           : modifier == PG_M_SCOPE_CLUSTER ? PG_SCOPE_CLUSTER
           : modifier                       ? PG_SCOPE_GPU
                                            : PG_SCOPE_NONE;
}

static void decode_insn(pg_decoder *d, const pg_ptx_insn *insn, pg_op *op)
{
    d->insn = insn;
    d->opcode = insn->opcode;
    op->line = insn->line;
    op->opcode = (uint16_t)insn->opcode->op;
    op->scope = (uint8_t)scope_of(pg_mod(d, PG_F_SCOPE));
    if (insn->guard != PG_PTX_NO_REG) {
        const uint32_t f = (uint32_t)(d->function - d->module->functions);
        op->guard = (pg_pred)d->layout->functions[f].reg_rows[insn->guard];
        op->guard_not = insn->guard_negated;
    }
    const pg_decode_fn decode = pg_decode_function(insn->opcode->op);
    if (!decode) {
        pg_decode_fail(d, "this instruction is not one that the emulator executes");
        return;
    }
    decode(d, op);
    if (!op->run)
        pg_decode_fail(d, "this combination of types and modifiers is not executed");
}

static void decode_function(pg_decoder *d, uint32_t index, pg_op *ops)
{
    d->function = &d->module->functions[index];
    const pg_function_layout *layout = d->layout->functions[index].layout;
    pg_op *op = ops + layout->first_op;
    for (uint32_t i = 0; i < d->function->n_code && d->status == PTXGEN_OK; i++)
        decode_insn(d, &d->function->code[i], op++);
    ops[layout->first_op + d->function->n_code] =
        (pg_op){.run = pg_op_ret, .line = d->function->end_line, .opcode = PG_OP_RET};
    d->insn = NULL;
}

static uint32_t lay_out_functions(pg_decoder *d, pg_function_layout *layouts)
{
    uint64_t ops = 0;
    for (uint32_t i = 0; i < d->module->n_functions && d->status == PTXGEN_OK; i++) {
        if (!d->layout->functions[i].reachable)
            continue;
        const pg_ptx_function *f = &d->module->functions[i];
        d->function = f;
        pg_function_layout *layout = &layouts[i];
        d->layout->functions[i].layout = layout;
        layout->name = f->name;
        layout->first_op = (uint32_t)ops;
        layout->frame_bytes = place_frame(d, i);
        place_registers(d, i, layout);
        ops += (uint64_t)f->n_code + 1;
        if (ops > INT32_MAX)
            pg_decode_fail(d, "the program has more than 2^31 instructions");
    }
    return (uint32_t)ops;
}

static void fill_entry(pg_decoder *d, pg_entry *entry)
{
    const pg_ptx_function *f = &d->module->functions[d->layout->entry];
    entry->name = f->name;
    entry->first_op = d->layout->functions[d->layout->entry].layout->first_op;
    entry->static_shared = d->layout->shared_end;
    entry->dynamic_align = d->layout->dynamic_align;
    memcpy(entry->reqntid, f->directives.reqntid, sizeof entry->reqntid);
    memcpy(entry->reqcluster, f->directives.reqnctapercluster, sizeof entry->reqcluster);
    const uint32_t *m = f->directives.maxntid;
    entry->min_ctas = f->directives.minnctapersm;
    entry->maxntid = m[0] ? m[0] * (m[1] ? m[1] : 1) * (m[2] ? m[2] : 1) : 0;
    entry->frame_bytes = stack_bytes(d);
}

static bool allocate(pg_decoder *d, pg_layout *y)
{
    const pg_ptx_module *m = d->module;
    y->functions = PG_NEW_ARRAY(d->arena, pg_function_info, m->n_functions);
    y->frame_offset = PG_NEW_ARRAY(d->arena, uint32_t, m->n_vars + 1);
    y->shared_offset = PG_NEW_ARRAY(d->arena, uint32_t, m->n_vars + 1);
    y->param_offset = PG_NEW_ARRAY(d->arena, uint32_t, m->n_vars + 1);
    y->regs_bytes = PG_SINK_ROW_BYTES;
    y->pred_count = PG_TRUE_PRED;
    pg_buf_init(&y->consts, d->arena->alloc);
    return y->functions && y->frame_offset && y->shared_offset && y->param_offset;
}

/* Copies what the layout collected into the program. */
static void finish_program(pg_decoder *d, pg_program *program)
{
    pg_layout *y = d->layout;
    char *consts = pg_arena_alloc(d->arena, y->consts.len + 16);
    pg_special_row *specials = PG_NEW_ARRAY(d->arena, pg_special_row, y->special_count + 1);
    if (!consts || !specials)
        return;
    if (y->consts.len)
        memcpy(consts, y->consts.data, y->consts.len);
    memcpy(specials, y->specials, y->special_count * sizeof *specials);
    program->consts = consts;
    program->consts_bytes = (uint32_t)y->consts.len;
    program->specials = specials;
    program->special_count = y->special_count;
    program->regs_bytes = y->regs_bytes;
    program->pred_count = y->pred_count;
    program->uses_heap = y->uses_heap;
}

ptxgen_status pg_program_decode(pg_arena *arena, const pg_decode_input *input, pg_program **out,
                                ptxgen_error *err)
{
    pg_layout layout = {.memory = input->memory, .entry = input->entry};
    pg_decoder d = {.arena = arena,
                    .module = input->module,
                    .file = input->file,
                    .layout = &layout,
                    .err = err,
                    .function = &input->module->functions[input->entry]};
    pg_program *program = PG_NEW(arena, pg_program);
    pg_entry *entry = PG_NEW(arena, pg_entry);
    pg_function_layout *layouts =
        PG_NEW_ARRAY(arena, pg_function_layout, input->module->n_functions);
    const bool allocated = allocate(&d, &layout);
    if (!program || !entry || !layouts || !allocated)
        return pg_fail_memory(err, 0);
    find_reachable(&d, input->taken);
    place_shared(&d);
    place_params(&d, entry);
    const uint32_t op_count = lay_out_functions(&d, layouts);
    pg_op *ops = PG_NEW_ARRAY(arena, pg_op, (size_t)op_count + 1);
    if (ops && d.status == PTXGEN_OK && !arena->failed) {
        fill_entry(&d, entry);
        for (uint32_t i = 0; i < input->module->n_functions && d.status == PTXGEN_OK; i++)
            if (layout.functions[i].reachable)
                decode_function(&d, i, ops);
        if (d.status == PTXGEN_OK && input->check) {
            pg_matrix_uses_find(&d, ops, op_count, program);
            pg_watches_find(&d, ops, op_count, program);
        }
        pg_program_names(&d, op_count, program);
        finish_program(&d, program);
    }
    pg_buf_fini(&layout.consts);
    if (d.status != PTXGEN_OK && d.status != PTXGEN_ENOMEM)
        return d.status;
    if (arena->failed || !ops || d.status != PTXGEN_OK)
        return pg_fail_memory(err, 0);
    program->file = input->file;
    program->ops = ops;
    program->op_count = op_count;
    program->entries = entry;
    program->entry_count = 1;
    program->functions = layouts;
    program->function_count = input->module->n_functions;
    *out = program;
    return PTXGEN_OK;
}
