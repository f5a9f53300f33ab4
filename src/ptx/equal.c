/* Structural equality of modules: positions and the numbering of opcodes do not count. */
#include "ptx/ptx.h"

#include <string.h>

typedef struct comparison {
    const pg_ptx_module *a, *b;
    pg_buf *why; /* may be NULL */
} comparison;

static bool differ(const comparison *c, const char *what, const char *name, uint64_t index)
{
    if (c->why)
        pg_buf_printf(c->why, "%s of %s (number %llu) differs", what, name,
                      (unsigned long long)index);
    return false;
}

static bool same_operands(const pg_ptx_operand *a, const pg_ptx_operand *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind || a[i].base != b[i].base || a[i].literal != b[i].literal ||
            a[i].negated != b[i].negated || a[i].index != b[i].index || a[i].value != b[i].value ||
            a[i].n_elems != b[i].n_elems || !same_operands(a[i].elems, b[i].elems, a[i].n_elems))
            return false;
    }
    return true;
}

static bool same_opcode(const pg_ptx_opcode *a, const pg_ptx_opcode *b)
{
    return a->op == b->op && a->n_types == b->n_types && !memcmp(a->types, b->types, a->n_types) &&
           a->shape_m == b->shape_m && a->shape_n == b->shape_n && a->shape_k == b->shape_k &&
           !memcmp(a->mod, b->mod, sizeof a->mod);
}

static bool same_insn(const pg_ptx_insn *a, const pg_ptx_insn *b)
{
    return same_opcode(a->opcode, b->opcode) && a->guard == b->guard &&
           a->guard_negated == b->guard_negated && a->loc == b->loc &&
           a->n_operands == b->n_operands && same_operands(a->operands, b->operands, a->n_operands);
}

static bool same_numbers(const void *a, const void *b, uint64_t n, size_t size)
{
    return n == 0 || !memcmp(a, b, n * size);
}

static bool same_relocs(const pg_ptx_reloc *a, const pg_ptx_reloc *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].offset != b[i].offset || a[i].index != b[i].index ||
            a[i].is_function != b[i].is_function || a[i].generic != b[i].generic ||
            a[i].bytes != b[i].bytes || a[i].shift != b[i].shift || a[i].addend != b[i].addend)
            return false;
    return true;
}

static bool same_var(const pg_ptx_var *a, const pg_ptx_var *b)
{
    return !strcmp(a->name, b->name) && a->space == b->space && a->role == b->role &&
           a->linkage == b->linkage && a->type == b->type && a->vector == b->vector &&
           a->is_array == b->is_array && a->is_pointer == b->is_pointer &&
           a->pointer_space == b->pointer_space && a->managed == b->managed &&
           a->pointer_align == b->pointer_align && a->align == b->align &&
           a->align_declared == b->align_declared && a->size == b->size && a->n_dims == b->n_dims &&
           same_numbers(a->dims, b->dims, a->n_dims, sizeof *a->dims) &&
           a->function == b->function && a->reg == b->reg && !a->init == !b->init &&
           a->n_init == b->n_init && same_numbers(a->init, b->init, a->n_init, 1) &&
           a->n_relocs == b->n_relocs && same_relocs(a->relocs, b->relocs, a->n_relocs);
}

static bool same_vars(const comparison *c, const uint32_t *a, const uint32_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i] || !same_var(&c->a->vars[a[i]], &c->b->vars[b[i]]))
            return differ(c, "variable", c->a->vars[a[i]].name, a[i]);
    return true;
}

static bool same_registers(const pg_ptx_function *a, const pg_ptx_function *b)
{
    for (uint32_t i = 0; i < a->n_reg_decls; i++) {
        const pg_ptx_reg_decl *x = &a->reg_decls[i], *y = &b->reg_decls[i];
        if (strcmp(x->name, y->name) || x->type != y->type || x->vector != y->vector ||
            x->is_range != y->is_range || x->is_parameter != y->is_parameter ||
            x->count != y->count || x->first != y->first)
            return false;
    }
    return same_numbers(a->reg_types, b->reg_types, a->n_regs, 1);
}

static bool same_labels(const pg_ptx_function *a, const pg_ptx_function *b)
{
    for (uint32_t i = 0; i < a->n_labels; i++)
        if (strcmp(a->labels[i].name, b->labels[i].name) ||
            a->labels[i].target != b->labels[i].target)
            return false;
    return true;
}

static bool same_tables(const pg_ptx_function *a, const pg_ptx_function *b)
{
    for (uint32_t i = 0; i < a->n_tables; i++) {
        const pg_ptx_table *x = &a->tables[i], *y = &b->tables[i];
        if (strcmp(x->name, y->name) || x->is_calls != y->is_calls ||
            x->n_targets != y->n_targets ||
            !same_numbers(x->targets, y->targets, x->n_targets, sizeof *x->targets))
            return false;
    }
    return true;
}

static bool same_proto_params(const pg_ptx_proto_param *a, const pg_ptx_proto_param *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a[i].space != b[i].space || a[i].type != b[i].type || a[i].vector != b[i].vector ||
            a[i].is_array != b[i].is_array || a[i].align != b[i].align || a[i].size != b[i].size)
            return false;
    return true;
}

static bool same_protos(const pg_ptx_function *a, const pg_ptx_function *b)
{
    for (uint32_t i = 0; i < a->n_protos; i++) {
        const pg_ptx_proto *x = &a->protos[i], *y = &b->protos[i];
        if (strcmp(x->name, y->name) || x->noreturn != y->noreturn ||
            x->n_returns != y->n_returns || x->n_params != y->n_params ||
            !same_proto_params(x->returns, y->returns, x->n_returns) ||
            !same_proto_params(x->params, y->params, x->n_params))
            return false;
    }
    return true;
}

static bool same_directives(const pg_ptx_directives *a, const pg_ptx_directives *b)
{
    return !memcmp(a->reqntid, b->reqntid, sizeof a->reqntid) &&
           !memcmp(a->maxntid, b->maxntid, sizeof a->maxntid) &&
           !memcmp(a->reqnctapercluster, b->reqnctapercluster, sizeof a->reqnctapercluster) &&
           a->minnctapersm == b->minnctapersm && a->maxnctapersm == b->maxnctapersm &&
           a->maxnreg == b->maxnreg && a->maxclusterrank == b->maxclusterrank &&
           a->explicitcluster == b->explicitcluster &&
           a->blocksareclusters == b->blocksareclusters && a->noreturn == b->noreturn;
}

static bool same_function(const comparison *c, const pg_ptx_function *a, const pg_ptx_function *b)
{
    bool shape =
        !strcmp(a->name, b->name) && a->is_entry == b->is_entry && a->has_body == b->has_body &&
        a->linkage == b->linkage && same_directives(&a->directives, &b->directives) &&
        a->n_returns == b->n_returns && a->n_params == b->n_params && a->n_locals == b->n_locals &&
        a->n_reg_decls == b->n_reg_decls && a->n_regs == b->n_regs && a->n_code == b->n_code &&
        a->n_labels == b->n_labels && a->n_tables == b->n_tables && a->n_protos == b->n_protos;
    if (!shape)
        return differ(c, "the signature or a count", a->name, 0);
    if (!same_vars(c, a->returns, b->returns, a->n_returns) ||
        !same_vars(c, a->params, b->params, a->n_params) ||
        !same_vars(c, a->locals, b->locals, a->n_locals))
        return false;
    if (!same_registers(a, b))
        return differ(c, "a register", a->name, 0);
    if (!same_labels(a, b) || !same_tables(a, b) || !same_protos(a, b))
        return differ(c, "a label, target list or prototype", a->name, 0);
    for (uint32_t i = 0; i < a->n_code; i++)
        if (!same_insn(&a->code[i], &b->code[i]))
            return differ(c, "an instruction", a->name, i);
    return true;
}

static bool same_header(const pg_ptx_module *a, const pg_ptx_module *b)
{
    return a->version == b->version && !strcmp(a->target, b->target) &&
           !strcmp(a->target_options, b->target_options) && a->arch == b->arch &&
           a->arch_suffix == b->arch_suffix && a->address_size == b->address_size &&
           a->n_vars == b->n_vars && a->n_functions == b->n_functions && a->n_items == b->n_items &&
           a->n_aliases == b->n_aliases && a->n_files == b->n_files && a->n_locs == b->n_locs &&
           a->n_pragmas == b->n_pragmas;
}

static bool same_tables_of_module(const pg_ptx_module *a, const pg_ptx_module *b)
{
    for (uint32_t i = 0; i < a->n_items; i++)
        if (a->items[i].kind != b->items[i].kind || a->items[i].index != b->items[i].index ||
            a->items[i].is_declaration != b->items[i].is_declaration)
            return false;
    for (uint32_t i = 0; i < a->n_aliases; i++)
        if (a->aliases[i].alias != b->aliases[i].alias ||
            a->aliases[i].target != b->aliases[i].target)
            return false;
    for (uint32_t i = 0; i < a->n_files; i++)
        if (a->files[i].number != b->files[i].number || strcmp(a->files[i].name, b->files[i].name))
            return false;
    for (uint32_t i = 0; i < a->n_pragmas; i++)
        if (strcmp(a->pragmas[i].text, b->pragmas[i].text) ||
            a->pragmas[i].function != b->pragmas[i].function ||
            a->pragmas[i].insn != b->pragmas[i].insn)
            return false;
    return same_numbers(a->locs, b->locs, a->n_locs, sizeof *a->locs);
}

bool pg_ptx_equal(const pg_ptx_module *a, const pg_ptx_module *b, pg_buf *why)
{
    const comparison c = {a, b, why};
    if (!same_header(a, b))
        return differ(&c, "the header or a count", "the module", 0);
    if (!same_tables_of_module(a, b))
        return differ(&c, "an item, alias, file, pragma or position", "the module", 0);
    /* Variables outside of functions; those of functions are reached from there. A parameter of
     * a declaration that a definition replaced belongs to nobody. */
    for (uint32_t i = 0; i < a->n_vars; i++)
        if (a->vars[i].role == PG_ROLE_MODULE && !same_var(&a->vars[i], &b->vars[i]))
            return differ(&c, "variable", a->vars[i].name, i);
    for (uint32_t i = 0; i < a->n_functions; i++)
        if (!same_function(&c, &a->functions[i], &b->functions[i]))
            return false;
    return true;
}
