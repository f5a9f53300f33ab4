/* The kernel's text with its edits: helpers and tables of the function behind the header, local
 * arrays at the top of each function that has inlined calls, registers for parameter variables,
 * blocks for calls. All else is copied. */
#include "ptx/inline/inline.h"

#include "base/error.h"
#include "ptx/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum edit_kind {
    EDIT_VERSION,
    EDIT_ITEMS,       /* behind the header */
    EDIT_DECLARATION, /* of a function that is inlined: dropped */
    EDIT_LOCALS,      /* at the top of a body */
    EDIT_VARIABLES,   /* a statement that declares .param variables */
    EDIT_INSTRUCTION
} edit_kind;

typedef struct edit {
    pg_ptx_span span;
    edit_kind kind;
    uint32_t line, index; /* index: function; variable; instruction */
    uint32_t function;
} edit;

typedef struct merge {
    pg_inliner *in;
    edit *edits;
    uint32_t n_edits, cap_edits;
} merge;

static void add_edit(merge *m, edit e)
{
    if (m->n_edits == m->cap_edits) {
        const uint32_t cap = m->cap_edits ? 2 * m->cap_edits : 64;
        edit *edits = PG_NEW_ARRAY(m->in->arena, edit, cap);
        if (!edits)
            return;
        if (m->n_edits)
            memcpy(edits, m->edits, m->n_edits * sizeof *edits);
        m->edits = edits;
        m->cap_edits = cap;
    }
    m->edits[m->n_edits++] = e;
}

static pg_caller kernel_caller(pg_inliner *in, uint32_t function)
{
    return (pg_caller){.in = in,
                       .module = in->kernel.module,
                       .f = &in->kernel.module->functions[function],
                       .callee_of = in->callee_of_kernel,
                       .bridges = in->kernel_bridges,
                       .text = in->kernel.text,
                       .prefix = in->unique};
}

/* ---- finding edits ---- */

/* Nested calls are inlined with their callers, or the whole cannot be. */
static ptxgen_status check_nested(pg_inliner *in, uint32_t index)
{
    const pg_ptx_function *f = &in->user.module->functions[index];
    const pg_caller c = {.in = in,
                         .module = in->user.module,
                         .f = f,
                         .callee_of = in->callee_of_user,
                         .bridges = in->user_bridges,
                         .prefix = in->functions[index].prefix};
    if (in->functions[index].inlined)
        return PTXGEN_OK;
    in->functions[index].inlined = true;
    if (!pg_inline_bridges(&c))
        return pg_fail_memory(in->err, 0);
    for (uint32_t i = 0; i < f->n_code; i++) {
        const uint32_t callee = pg_callee_of(&c, &f->code[i]);
        const char *why = callee == PG_INLINE_NONE ? NULL : pg_inline_why_not(&c, &f->code[i]);
        if (why)
            return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)f->code[i].line,
                              "%s:%u:%u: the call of '%s' cannot be inlined: %s", in->user.file,
                              f->code[i].line, f->code[i].column, in->functions[callee].name, why);
    }
    for (uint32_t i = 0; i < f->n_code; i++) {
        const uint32_t callee = pg_callee_of(&c, &f->code[i]);
        if (callee != PG_INLINE_NONE)
            PG_TRY(check_nested(in, callee));
    }
    return PTXGEN_OK;
}

static ptxgen_status note_call(merge *m, const pg_caller *c, const pg_ptx_insn *insn,
                               uint32_t callee)
{
    pg_inliner *in = m->in;
    const char *why = pg_inline_why_not(c, insn);
    if (why)
        pg_inline_need(in, callee);
    else
        PG_TRY(check_nested(in, callee));
    in->calls[in->n_calls++] =
        (ptxgen_inlined_call){.caller = c->f->name,
                              .callee = in->user.module->functions[callee].name,
                              .line = insn->line,
                              .inlined = !why,
                              .instructions = (size_t)in->functions[callee].size,
                              .reason = why ? why : ""};
    return PTXGEN_OK;
}

static ptxgen_status find_instructions(merge *m, const pg_caller *c, uint32_t function)
{
    for (uint32_t i = 0; i < c->f->n_code; i++) {
        const pg_ptx_insn *insn = &c->f->code[i];
        const uint32_t callee = pg_callee_of(c, insn);
        pg_param_access a;
        bool replaced = pg_param_access_of(c->module, insn, &a) && c->bridges[a.var];
        if (callee != PG_INLINE_NONE) {
            PG_TRY(note_call(m, c, insn, callee));
            replaced = !pg_inline_why_not(c, insn);
        }
        if (replaced)
            add_edit(m, (edit){insn->span, EDIT_INSTRUCTION, insn->line, i, function});
    }
    return PTXGEN_OK;
}

static void find_variables(merge *m, const pg_caller *c, uint32_t function)
{
    uint32_t last = PG_INLINE_NONE;
    for (uint32_t i = 0; i < c->f->n_locals; i++) {
        const pg_ptx_var *v = &c->module->vars[c->f->locals[i]];
        if (!c->bridges[c->f->locals[i]] || v->span.begin == last)
            continue;
        last = v->span.begin;
        add_edit(m, (edit){v->span, EDIT_VARIABLES, v->line, i, function});
    }
}

static bool calls_any(const pg_caller *c)
{
    for (uint32_t i = 0; i < c->f->n_code; i++)
        if (pg_callee_of(c, &c->f->code[i]) != PG_INLINE_NONE)
            return true;
    return false;
}

/* Marks what this function inlines; the marks of others are gone afterwards. */
static ptxgen_status find_in_function(merge *m, uint32_t function)
{
    pg_inliner *in = m->in;
    const pg_caller c = kernel_caller(in, function);
    if (!calls_any(&c))
        return PTXGEN_OK;
    if (!pg_inline_bridges(&c))
        return pg_fail_memory(in->err, 0);
    PG_TRY(find_instructions(m, &c, function));
    find_variables(m, &c, function);
    add_edit(m, (edit){{c.f->body, c.f->body}, EDIT_LOCALS, c.f->line, function, function});
    return PTXGEN_OK;
}

static ptxgen_status find_edits(merge *m)
{
    pg_inliner *in = m->in;
    const pg_ptx_module *k = in->kernel.module;
    size_t n_calls = 0;
    for (uint32_t i = 0; i < in->user.module->n_functions; i++)
        n_calls += (size_t)in->functions[i].sites;
    in->calls = PG_NEW_ARRAY(in->arena, ptxgen_inlined_call, n_calls + 1);
    if (!in->calls)
        return pg_fail_memory(in->err, 0);
    if (in->user.module->version > k->version)
        add_edit(m, (edit){.span = k->version_span, .kind = EDIT_VERSION, .line = 1});
    add_edit(m, (edit){.span = {k->header_end, k->header_end}, .kind = EDIT_ITEMS, .line = 1});
    for (uint32_t i = 0; i < k->n_functions; i++) {
        if (in->callee_of_kernel[i] != PG_INLINE_NONE)
            add_edit(m, (edit){k->functions[i].span, EDIT_DECLARATION, k->functions[i].line, i, i});
        PG_TRY(find_in_function(m, i));
    }
    return PTXGEN_OK;
}

/* ---- carrying them out ---- */

static void put_items(merge *m)
{
    pg_inliner *in = m->in;
    const pg_ptx_module *u = in->user.module;
    in->out.now = (pg_origin){0};
    pg_out_put(&in->out, "\n", 1);
    for (uint32_t i = 0; i < u->n_items; i++) {
        const pg_ptx_item *item = &u->items[i];
        const size_t from = in->out.text.len;
        if (item->kind == PG_ITEM_VAR && in->copied[item->index] &&
            u->vars[item->index].linkage != PG_LINKAGE_EXTERN) {
            in->out.now = (pg_origin){PTXGEN_INLINED_FUNCTION, u->vars[item->index].line, 0};
            pg_ptx_print_var(u, &u->vars[item->index], item->is_declaration, &in->out.text);
        } else if (item->kind == PG_ITEM_FUNCTION && in->functions[item->index].needed) {
            in->out.now = (pg_origin){PTXGEN_INLINED_FUNCTION, u->functions[item->index].line, 0};
            pg_ptx_print_function(u, &u->functions[item->index], item->is_declaration,
                                  &in->out.text);
        }
        pg_out_wrote(&in->out, from);
    }
}

/* .file directives that .loc lines of functions that stay refer to. */
static void put_files(merge *m)
{
    const pg_ptx_module *u = m->in->user.module;
    bool any = false;
    for (uint32_t i = 0; i < u->n_functions; i++)
        any |= m->in->functions[i].needed;
    for (uint32_t i = 0; any && u->n_locs > 1 && i < u->n_files; i++)
        pg_out_line(&m->in->out, "\n.file %u \"%s\"", u->files[i].number, u->files[i].name);
}

static void put_local(pg_inliner *in, const pg_ptx_var *v)
{
    const size_t from = in->out.text.len;
    in->out.now = (pg_origin){PTXGEN_INLINED_FUNCTION, v->line, 0};
    pg_buf_puts(&in->out.text, "    ");
    pg_ptx_print_var(in->user.module, v, false, &in->out.text);
    pg_out_wrote(&in->out, from);
}

static void mark(pg_inliner *in, uint32_t index)
{
    const pg_ptx_function *f = &in->user.module->functions[index];
    if (in->functions[index].inlined)
        return;
    in->functions[index].inlined = true;
    for (uint32_t i = 0; i < f->n_code; i++)
        if (f->code[i].opcode->op == PG_OP_CALL)
            mark(in, in->callee_of_user[f->code[i].operands[1].index]);
}

/* Local arrays of all functions that stand in this one. */
static void put_locals(merge *m, uint32_t function)
{
    pg_inliner *in = m->in;
    const pg_caller c = kernel_caller(in, function);
    size_t bytes = 0;
    for (uint32_t i = 0; i < in->user.module->n_functions; i++)
        in->functions[i].inlined = false;
    for (uint32_t i = 0; i < c.f->n_code; i++) {
        const uint32_t callee = pg_callee_of(&c, &c.f->code[i]);
        if (callee != PG_INLINE_NONE && !pg_inline_why_not(&c, &c.f->code[i]))
            mark(in, callee);
    }
    for (uint32_t i = 0; i < in->user.module->n_functions; i++) {
        const pg_ptx_function *f = &in->user.module->functions[i];
        for (uint32_t l = 0; in->functions[i].inlined && l < f->n_locals; l++) {
            const pg_ptx_var *v = &in->user.module->vars[f->locals[l]];
            if (v->space != PG_SPACE_LOCAL)
                continue;
            if (!bytes)
                pg_out_put(&in->out, "\n", 1);
            put_local(in, v);
            bytes += (size_t)v->size;
        }
    }
    if (bytes > in->local_bytes)
        in->local_bytes = bytes;
}

/* Registers for bridged variables; variables of the same statement that stay memory are declared
 * again. */
static void put_variables(pg_inliner *in, const pg_caller *c, uint32_t first)
{
    const pg_ptx_span span = c->module->vars[c->f->locals[first]].span;
    for (uint32_t i = 0; i < c->f->n_locals; i++) {
        const pg_ptx_var *v = &c->module->vars[c->f->locals[i]];
        if (v->span.begin != span.begin)
            continue;
        if (c->bridges[c->f->locals[i]]) {
            pg_bridge_declare(in, c->bridges[c->f->locals[i]]);
            continue;
        }
        const size_t from = in->out.text.len;
        pg_ptx_print_var(c->module, v, false, &in->out.text);
        pg_out_wrote(&in->out, from);
    }
}

static void carry_out(merge *m, const edit *e)
{
    pg_inliner *in = m->in;
    in->out.now = (pg_origin){PTXGEN_INLINED_KERNEL, e->line, 0};
    pg_caller c = kernel_caller(in, e->function);
    switch (e->kind) {
    case EDIT_VERSION: {
        char version[16];
        snprintf(version, sizeof version, "%u.%u", in->user.module->version / 10,
                 in->user.module->version % 10);
        pg_out_put(&in->out, version, strlen(version));
        break;
    }
    case EDIT_ITEMS:
        put_files(m);
        put_items(m);
        break;
    case EDIT_DECLARATION:
        break;
    case EDIT_LOCALS:
        put_locals(m, e->index);
        break;
    case EDIT_VARIABLES:
        put_variables(in, &c, e->index);
        break;
    case EDIT_INSTRUCTION:
        pg_inline_instruction(&c, &c.f->code[e->index]);
        break;
    }
}

static int by_position(const void *a, const void *b)
{
    const edit *x = a, *y = b;
    if (x->span.begin != y->span.begin)
        return x->span.begin < y->span.begin ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static uint32_t lines_in(const char *text, uint32_t begin, uint32_t end)
{
    uint32_t n = 0;
    for (const char *at = text + begin; (at = memchr(at, '\n', (size_t)(text + end - at))); at++)
        n++;
    return n;
}

ptxgen_status pg_inline_merge(pg_inliner *in)
{
    merge m = {.in = in};
    PG_TRY(find_edits(&m));
    if (in->arena->failed)
        return pg_fail_memory(in->err, 0);
    qsort(m.edits, m.n_edits, sizeof *m.edits, by_position);
    uint32_t at = 0, line = 1;
    for (uint32_t i = 0; i < m.n_edits; i++) {
        const edit *e = &m.edits[i];
        pg_out_source(&in->out, (pg_origin){PTXGEN_INLINED_KERNEL, line, 0}, in->kernel.text + at,
                      e->span.begin - at);
        line += lines_in(in->kernel.text, at, e->span.end);
        carry_out(&m, e);
        at = e->span.end;
    }
    pg_out_source(&in->out, (pg_origin){PTXGEN_INLINED_KERNEL, line, 0}, in->kernel.text + at,
                  in->kernel.length - at);
    return pg_out_failed(&in->out) ? pg_fail_memory(in->err, 0) : PTXGEN_OK;
}
