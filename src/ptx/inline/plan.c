/* Which functions of the user's module a kernel needs, how large they are with all that they
 * call, which of them are inlined; and the names that their parts get in the merged module. */
#include "ptx/inline/inline.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- who is called ---- */

static uint32_t follow_alias(const pg_ptx_module *m, uint32_t function)
{
    for (uint32_t i = 0; i < m->n_aliases; i++)
        if (m->aliases[i].alias == function && !m->functions[function].has_body)
            return m->aliases[i].target;
    return function;
}

static bool same_layout(const pg_ptx_var *a, const pg_ptx_var *b)
{
    return a->size == b->size && a->space == b->space && a->align == b->align;
}

static bool same_list(const pg_inliner *in, const uint32_t *kernel, const uint32_t *user,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!same_layout(&in->kernel.module->vars[kernel[i]], &in->user.module->vars[user[i]]))
            return false;
    return true;
}

static bool fits_seam(const pg_inliner *in, const pg_ptx_function *declared,
                      const pg_ptx_function *defined)
{
    return declared->n_params >= defined->n_params && declared->n_returns == defined->n_returns &&
           same_list(in, declared->params, defined->params, defined->n_params) &&
           same_list(in, declared->returns, defined->returns, defined->n_returns);
}

static ptxgen_status check_seam(const pg_inliner *in, const pg_ptx_function *declared,
                                const pg_ptx_function *defined)
{
    if (fits_seam(in, declared, defined))
        return PTXGEN_OK;
    return pg_fail_at(in->err, PTXGEN_EINVAL, in->user.file, (int)defined->line,
                      "%s: '%s' has another signature than this kernel calls: it must be %s; "
                      "trailing parameters may "
                      "be left out",
                      in->user.file, defined->name, in->seam->signature);
}

static ptxgen_status check_signature(const pg_inliner *in, const pg_ptx_function *declared,
                                     const pg_ptx_function *defined)
{
    const bool same = declared->n_params == defined->n_params &&
                      declared->n_returns == defined->n_returns &&
                      same_list(in, declared->params, defined->params, declared->n_params) &&
                      same_list(in, declared->returns, defined->returns, declared->n_returns);
    if (in->seam)
        return check_seam(in, declared, defined);
    if (same)
        return PTXGEN_OK;
    return pg_fail_at(in->err, PTXGEN_EINVAL, in->user.file, (int)defined->line,
                      "%s:%u:%u: '%s' takes or returns something else than %s:%u declares: sizes, "
                      "alignments and number of parameters must be the same",
                      in->user.file, defined->line, defined->column, defined->name, in->kernel.file,
                      declared->line);
}

/* The user's definition of a function that the kernel declares. */
static ptxgen_status find_callee(pg_inliner *in, uint32_t declared)
{
    const pg_ptx_function *f = &in->kernel.module->functions[declared];
    in->callee_of_kernel[declared] = PG_INLINE_NONE;
    if (f->has_body || f->is_entry)
        return PTXGEN_OK;
    const bool at_seam = in->seam && !strcmp(f->name, in->seam->kernel_name);
    const uint32_t found =
        pg_ptx_find_function(in->user.module, at_seam ? in->seam->user_name : f->name);
    if (found == PG_INLINE_NONE)
        return PTXGEN_OK;
    const uint32_t defined = in->callee_of_user[found];
    if (!in->user.module->functions[defined].has_body)
        return PTXGEN_OK;
    if (in->user.module->functions[defined].is_entry)
        return pg_fail_at(in->err, PTXGEN_EINVAL, in->user.file,
                          (int)in->user.module->functions[defined].line,
                          "%s:%u: '%s' is an .entry; only a .func can be called", in->user.file,
                          in->user.module->functions[defined].line, f->name);
    in->callee_of_kernel[declared] = defined;
    in->functions[defined].called = f->name;
    return check_signature(in, f, &in->user.module->functions[defined]);
}

/* ---- sizes ---- */

static ptxgen_status walk(pg_inliner *in, uint32_t index, uint32_t depth);

static ptxgen_status walk_call(pg_inliner *in, const pg_ptx_insn *insn, uint32_t depth)
{
    const uint32_t callee = in->callee_of_user[insn->operands[1].index];
    const char *name = in->user.module->functions[callee].name;
    if (in->functions[callee].busy)
        return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)insn->line,
                          "%s:%u:%u: '%s' calls itself, at once or through others, and cannot be "
                          "inlined: write a loop",
                          in->user.file, insn->line, insn->column, name);
    if (depth == PG_INLINE_DEPTH)
        return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)insn->line,
                          "%s:%u:%u: calls nested deeper than %d", in->user.file, insn->line,
                          insn->column, PG_INLINE_DEPTH);
    return walk(in, callee, depth + 1);
}

/* Checks a function and all that it calls, callees first. */
static ptxgen_status walk(pg_inliner *in, uint32_t index, uint32_t depth)
{
    pg_inline_function *plan = &in->functions[index];
    const pg_ptx_function *f = &in->user.module->functions[index];
    if (plan->reached)
        return PTXGEN_OK;
    plan->busy = true;
    PG_TRY(pg_inline_check(in, index));
    uint64_t size = f->n_code;
    for (uint32_t i = 0; i < f->n_code; i++) {
        if (f->code[i].opcode->op != PG_OP_CALL)
            continue;
        PG_TRY(walk_call(in, &f->code[i], depth));
        size += in->functions[in->callee_of_user[f->code[i].operands[1].index]].size;
        if (size > UINT32_MAX)
            size = UINT32_MAX; /* more than any budget; sums stay small */
    }
    plan->size = size;
    plan->reached = true;
    plan->busy = false;
    return PTXGEN_OK;
}

/* ---- decisions ---- */

static void count_sites(pg_inliner *in)
{
    const pg_ptx_module *m = in->kernel.module;
    for (uint32_t k = 0; k < m->n_functions; k++)
        for (uint32_t i = 0; i < m->functions[k].n_code; i++) {
            const pg_ptx_insn *insn = &m->functions[k].code[i];
            if (insn->opcode->op != PG_OP_CALL || insn->operands[1].kind != PG_OPERAND_FUNC)
                continue;
            const uint32_t callee = in->callee_of_kernel[insn->operands[1].index];
            if (callee != PG_INLINE_NONE)
                in->functions[callee].sites++;
        }
}

void pg_inline_need(pg_inliner *in, uint32_t index)
{
    const pg_ptx_function *f = &in->user.module->functions[index];
    if (in->functions[index].needed)
        return;
    in->functions[index].needed = true;
    for (uint32_t i = 0; i < f->n_code; i++)
        if (f->code[i].opcode->op == PG_OP_CALL)
            pg_inline_need(in, in->callee_of_user[f->code[i].operands[1].index]);
}

static const char *names_of(const pg_inliner *in, char *buf, size_t size)
{
    const pg_ptx_module *m = in->user.module;
    size_t n = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < m->n_functions && n + 40 < size; i++)
        if (m->functions[i].has_body && !m->functions[i].is_entry)
            n += (size_t)snprintf(buf + n, size - n, "%s'%.30s'", n ? ", " : "",
                                  m->functions[i].name);
    return buf[0] ? buf : "none";
}

/* A call that stays passes all that the kernel has. */
static ptxgen_status keep(pg_inliner *in, uint32_t index)
{
    const pg_ptx_function *f = &in->user.module->functions[index];
    const uint32_t declared = pg_ptx_find_function(in->kernel.module, in->functions[index].called);
    pg_inline_need(in, index);
    if (!in->seam || f->n_params == in->kernel.module->functions[declared].n_params)
        return PTXGEN_OK;
    return pg_fail_at(
        in->err, PTXGEN_EPARSE, in->user.file, (int)f->line,
        "%s: '%s' has %llu instructions, too many to stand in %llu places of this kernel, so it is "
        "called; for that it must take all parameters: %s",
        in->user.file, f->name, (unsigned long long)in->functions[index].size,
        (unsigned long long)in->functions[index].sites, in->seam->signature);
}

static ptxgen_status decide(pg_inliner *in)
{
    char names[200];
    bool any = false;
    count_sites(in);
    for (uint32_t i = 0; i < in->user.module->n_functions; i++) {
        pg_inline_function *plan = &in->functions[i];
        if (!plan->sites)
            continue;
        any = true;
        PG_TRY(walk(in, i, 0));
        plan->kept = in->budget < 0 || plan->sites > (uint64_t)in->budget ||
                     plan->size * plan->sites > (uint64_t)in->budget;
        if (plan->kept)
            PG_TRY(keep(in, i));
    }
    if (any)
        return PTXGEN_OK;
    return pg_fail(in->err, PTXGEN_EINVAL,
                   "%s calls no function that %s defines (it defines %s): declare it there with "
                   ".extern .func and call it",
                   in->kernel.file, in->user.file, names_of(in, names, sizeof names));
}

/* ---- names ---- */

static bool occurs(const pg_inline_text *t, const char *word)
{
    return memmem(t->text, t->length, word, strlen(word)) != NULL;
}

/* "f$", or "f$2", ...: a beginning of names that occurs in neither text. */
static const char *fresh_prefix(const pg_inliner *in, const char *name)
{
    char prefix[96];
    snprintf(prefix, sizeof prefix, "%.60s$", name);
    for (unsigned n = 2; occurs(&in->kernel, prefix) || occurs(&in->user, prefix); n++)
        snprintf(prefix, sizeof prefix, "%.60s$%u$", name, n);
    return pg_arena_strndup(in->arena, prefix, strlen(prefix));
}

/* "%f" -> "%silu$f", "$L" -> "silu$L" behind a prefix. */
static const char *renamed(const pg_inliner *in, const char *prefix, const char *name)
{
    const bool is_register = name[0] == '%';
    const size_t n = strlen(name) + strlen(prefix) + 2;
    char *out = pg_arena_alloc(in->arena, n);
    if (out)
        snprintf(out, n, "%s%s%s", is_register ? "%" : "", prefix,
                 name + (is_register || name[0] == '$'));
    return out;
}

/* The same elements with new names. */
#define RENAME_ALL(in, prefix, type, list, n)                                                      \
    do {                                                                                           \
        type *copy_ = PG_NEW_ARRAY((in)->arena, type, (n) + 1);                                    \
        for (uint32_t i_ = 0; copy_ && i_ < (n); i_++) {                                           \
            copy_[i_] = (list)[i_];                                                                \
            copy_[i_].name = renamed(in, prefix, (list)[i_].name);                                 \
        }                                                                                          \
        (list) = copy_;                                                                            \
    } while (0)

static void rename_function(pg_inliner *in, pg_ptx_function *f, const char *prefix)
{
    RENAME_ALL(in, prefix, pg_ptx_reg_decl, f->reg_decls, f->n_reg_decls);
    RENAME_ALL(in, prefix, pg_ptx_label, f->labels, f->n_labels);
    RENAME_ALL(in, prefix, pg_ptx_table, f->tables, f->n_tables);
    RENAME_ALL(in, prefix, pg_ptx_proto, f->protos, f->n_protos);
    f->linkage = PG_LINKAGE_NONE;
}

/* Names of module scope: they stay, unless the kernel's text has such a word. */
static const char *module_name(const pg_inliner *in, const char *name)
{
    return occurs(&in->kernel, name) ? renamed(in, in->unique, name) : name;
}

static bool rename_functions(pg_inliner *in, pg_ptx_module *m)
{
    pg_ptx_function *functions = PG_NEW_ARRAY(in->arena, pg_ptx_function, m->n_functions + 1);
    if (!functions)
        return false;
    for (uint32_t i = 0; i < m->n_functions; i++) {
        pg_inline_function *plan = &in->functions[i];
        functions[i] = m->functions[i];
        plan->name = functions[i].name;
        plan->prefix = fresh_prefix(in, plan->name);
        if (!plan->prefix || !plan->reached)
            continue;
        rename_function(in, &functions[i], plan->prefix);
        functions[i].name = plan->called ? plan->called : module_name(in, functions[i].name);
    }
    m->functions = functions;
    return true;
}

/* A variable that the text only declares is the kernel's of this name. */
static ptxgen_status bind_extern(const pg_inliner *in, const pg_ptx_var *v)
{
    const uint32_t index = pg_ptx_find_var(in->kernel.module, v->name);
    if (index != PG_INLINE_NONE && in->kernel.module->vars[index].space == v->space)
        return PTXGEN_OK;
    return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)v->line,
                      "%s:%u:%u: variable '%s' is declared here but defined nowhere", in->user.file,
                      v->line, v->column, v->name);
}

static ptxgen_status rename_vars(pg_inliner *in, pg_ptx_module *m)
{
    pg_ptx_var *vars = PG_NEW_ARRAY(in->arena, pg_ptx_var, m->n_vars + 1);
    if (!vars)
        return pg_fail_memory(in->err, 0);
    for (uint32_t i = 0; i < m->n_vars; i++) {
        vars[i] = m->vars[i];
        if (vars[i].role != PG_ROLE_MODULE)
            vars[i].name = renamed(in, in->functions[vars[i].function].prefix, vars[i].name);
        else if (!in->copied[i])
            continue;
        else if (vars[i].linkage == PG_LINKAGE_EXTERN)
            PG_TRY(bind_extern(in, &vars[i]));
        else
            vars[i].name = module_name(in, vars[i].name);
        if (vars[i].linkage != PG_LINKAGE_EXTERN)
            vars[i].linkage = PG_LINKAGE_NONE;
    }
    m->vars = vars;
    return PTXGEN_OK;
}

/* The merged module's files: those of the function have numbers behind the kernel's. */
static bool renumber_files(pg_inliner *in, pg_ptx_module *m)
{
    uint32_t base = 0;
    pg_ptx_file *files = PG_NEW_ARRAY(in->arena, pg_ptx_file, m->n_files + 1);
    pg_ptx_loc *locs = PG_NEW_ARRAY(in->arena, pg_ptx_loc, m->n_locs + 1);
    if (!files || !locs)
        return false;
    for (uint32_t i = 0; i < in->kernel.module->n_files; i++)
        if (in->kernel.module->files[i].number > base)
            base = in->kernel.module->files[i].number;
    for (uint32_t i = 0; i < m->n_files; i++)
        files[i] = (pg_ptx_file){m->files[i].number + base, m->files[i].name};
    for (uint32_t i = 0; i < m->n_locs; i++) {
        locs[i] = m->locs[i];
        locs[i].file += i ? base : 0;
    }
    m->files = files;
    m->locs = locs;
    return true;
}

/* ---- variables ---- */

static ptxgen_status copy_var(pg_inliner *in, uint32_t index)
{
    const pg_ptx_var *v = &in->user.module->vars[index];
    if (v->role != PG_ROLE_MODULE || in->copied[index])
        return PTXGEN_OK;
    in->copied[index] = true;
    for (uint32_t i = 0; i < v->n_relocs; i++) {
        if (v->relocs[i].is_function)
            return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)v->line,
                              "%s:%u:%u: '%s' holds the address of a function, but only direct "
                              "calls can be inlined",
                              in->user.file, v->line, v->column, v->name);
        PG_TRY(copy_var(in, v->relocs[i].index));
    }
    return PTXGEN_OK;
}

static ptxgen_status copy_operand(pg_inliner *in, const pg_ptx_operand *o)
{
    if (o->kind == PG_OPERAND_VAR || (o->kind == PG_OPERAND_ADDRESS && o->base == PG_OPERAND_VAR))
        return copy_var(in, o->index);
    return PTXGEN_OK;
}

static ptxgen_status find_variables(pg_inliner *in)
{
    for (uint32_t i = 0; i < in->user.module->n_functions; i++) {
        const pg_ptx_function *f = &in->user.module->functions[i];
        for (uint32_t n = 0; in->functions[i].reached && n < f->n_code; n++)
            for (uint32_t o = 0; o < f->code[n].n_operands; o++)
                PG_TRY(copy_operand(in, &f->code[n].operands[o]));
    }
    return PTXGEN_OK;
}

ptxgen_status pg_inline_plan(pg_inliner *in)
{
    const pg_ptx_module *k = in->kernel.module;
    pg_ptx_module *m = PG_NEW(in->arena, pg_ptx_module);
    in->functions = PG_NEW_ARRAY(in->arena, pg_inline_function, in->user.module->n_functions + 1);
    in->callee_of_kernel = PG_NEW_ARRAY(in->arena, uint32_t, k->n_functions + 1);
    in->callee_of_user = PG_NEW_ARRAY(in->arena, uint32_t, in->user.module->n_functions + 1);
    in->kernel_bridges = PG_NEW_ARRAY(in->arena, pg_bridge *, k->n_vars + 1);
    in->user_bridges = PG_NEW_ARRAY(in->arena, pg_bridge *, in->user.module->n_vars + 1);
    in->copied = PG_NEW_ARRAY(in->arena, bool, in->user.module->n_vars + 1);
    if (in->arena->failed)
        return pg_fail_memory(in->err, 0);
    PG_TRY(pg_inline_check_target(in));
    for (uint32_t i = 0; i < in->user.module->n_functions; i++)
        in->callee_of_user[i] = follow_alias(in->user.module, i);
    for (uint32_t i = 0; i < k->n_functions; i++)
        PG_TRY(find_callee(in, i));
    PG_TRY(decide(in));
    PG_TRY(find_variables(in));
    *m = *in->user.module;
    in->unique = fresh_prefix(in, "inlined");
    if (!in->unique || !rename_functions(in, m) || !renumber_files(in, m))
        return pg_fail_memory(in->err, 0);
    PG_TRY(rename_vars(in, m));
    in->user.module = m;
    return in->arena->failed ? pg_fail_memory(in->err, 0) : PTXGEN_OK;
}
