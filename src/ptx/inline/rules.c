/* What may not stand in a function that becomes part of a kernel. Its caller may be one warp of
 * a block, or a few lanes of it, so nothing that a whole warp, warpgroup or block does together
 * is allowed; and nothing that ends the thread or uses memory that the caller laid out. Each
 * refusal names the line of the user's PTX and, where the function was compiled with line
 * information, the line of its source. */
#include "ptx/inline/inline.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

typedef struct rule {
    pg_ptx_op first, last; /* rows of opcodes.def */
    const char *what;
} rule;

static const char barrier[] = "is a barrier, but only some threads of the block come here",
                  whole_warp[] = "works on a whole warp, but only some of its lanes may come here",
                  copies[] = "copies asynchronously through shared memory, which is the kernel's",
                  tensor[] = "works on tensor memory, which is the kernel's",
                  ends[] = "ends the thread, but the kernel has work left",
                  launch[] = "directs the whole block, which is the kernel's to do",
                  stack[] = "takes local memory of a size that is not known before it runs",
                  cluster[] = "addresses shared memory, which is the kernel's";

static const rule rules[] = {
    {PG_OP_MAPA, PG_OP_GETCTARANK, cluster},
    {PG_OP_ALLOCA, PG_OP_STACKRESTORE, stack},
    {PG_OP_ST_ASYNC, PG_OP_ST_BULK, copies},
    {PG_OP_RED_ASYNC_BITS, PG_OP_RED_ASYNC_GLOBAL_MINMAX, copies},
    {PG_OP_FENCE_MBARRIER_INIT, PG_OP_FENCE_MBARRIER_INIT, barrier},
    {PG_OP_EXIT, PG_OP_BRKPT, ends},
    {PG_OP_SETMAXNREG, PG_OP_GRIDDEPCONTROL_WAIT, launch},
    {PG_OP_SHFL_SYNC, PG_OP_ACTIVEMASK, whole_warp},
    {PG_OP_BAR_WARP_SYNC, PG_OP_BARRIER_CLUSTER_WAIT, barrier},
    {PG_OP_MBARRIER_INIT, PG_OP_MBARRIER_PENDING_COUNT, barrier},
    {PG_OP_CP_ASYNC, PG_OP_TENSORMAP_CP_FENCEPROXY, copies},
    {PG_OP_CLC_TRY_CANCEL, PG_OP_CLC_FIRST_CTAID_Z, launch},
    {PG_OP_LDMATRIX, PG_OP_WGMMA_SPARSE_INT, whole_warp},
    {PG_OP_TCGEN05_ALLOC, PG_OP_TCGEN05_FENCE_AFTER, tensor},
};

static ptxgen_status refuse(const pg_inliner *in, const pg_ptx_insn *insn, const char *what,
                            const char *name)
{
    const pg_ptx_module *m = in->user.module;
    char source[300] = "";
    if (insn->loc) {
        const pg_ptx_loc *loc = &m->locs[insn->loc];
        for (uint32_t i = 0; i < m->n_files; i++)
            if (m->files[i].number == loc->file)
                snprintf(source, sizeof source, " (%s:%u)", m->files[i].name, loc->line);
    }
    return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)insn->line,
                      "%s:%u:%u%s: '%s' cannot stand in a function that is inlined: it %s",
                      in->user.file, insn->line, insn->column, source, name, what);
}

static const char *rule_of(const pg_ptx_opcode *o)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (o->op >= rules[i].first && o->op <= rules[i].last)
            return rules[i].what;
    switch (o->mod[PG_F_SPACE]) {
    case PG_M_SPACE_SHARED:
    case PG_M_SPACE_SHARED_CTA:
    case PG_M_SPACE_SHARED_CLUSTER:
        return cluster;
    default:
        return NULL;
    }
}

static const char *rule_of_special(uint32_t special)
{
    return strstr(pg_ptx_special_name((pg_ptx_special)special), "smem") ? cluster : NULL;
}

/* An operand, or an element of one. */
static const char *rule_of_operand(const pg_ptx_module *m, const pg_ptx_operand *o)
{
    const bool names =
        o->kind == PG_OPERAND_VAR || (o->kind == PG_OPERAND_ADDRESS && o->base == PG_OPERAND_VAR);
    if (o->kind == PG_OPERAND_SPECIAL)
        return rule_of_special(o->index);
    if (!names)
        return NULL;
    const pg_ptx_var *v = &m->vars[o->index];
    if (v->space == PG_SPACE_SHARED)
        return cluster;
    if (v->role == PG_ROLE_LOCAL && (v->space == PG_SPACE_GLOBAL || v->space == PG_SPACE_CONST))
        return "uses a variable that is declared in the body: declare it outside of the function";
    if (o->kind == PG_OPERAND_VAR && v->space == PG_SPACE_PARAM)
        return "takes the address of a parameter, which becomes a register";
    return NULL;
}

static ptxgen_status check_call(const pg_inliner *in, const pg_ptx_insn *insn)
{
    const pg_ptx_module *m = in->user.module;
    const pg_ptx_operand *callee = &insn->operands[1];
    if (callee->kind != PG_OPERAND_FUNC)
        return refuse(in, insn, "calls through a pointer", "call");
    const pg_ptx_function *f = &m->functions[in->callee_of_user[callee->index]];
    if (f->has_body)
        return PTXGEN_OK;
    const char *name = f->name;
    return pg_fail_at(
        in->err, PTXGEN_EPARSE, in->user.file, (int)insn->line,
        "%s:%u:%u: '%s' is called but defined nowhere in this text%s", in->user.file, insn->line,
        insn->column, name,
        !strcmp(name, "vprintf")        ? ": printf cannot stand in a function that is inlined"
        : !strcmp(name, "__assertfail") ? ": assert cannot stand in a function that is inlined"
                                        : ": put its definition there as well");
}

/* Parameters are loaded and stored by name, at offsets that are multiples of the size, within
 * them. */
static const char *rule_of_access(const pg_ptx_module *m, const pg_ptx_insn *insn)
{
    const unsigned space = insn->opcode->mod[PG_F_SPACE];
    pg_param_access a;
    if (space != PG_M_SPACE_PARAM && space != PG_M_SPACE_PARAM_FUNC &&
        space != PG_M_SPACE_PARAM_ENTRY)
        return NULL;
    if (!pg_param_access_of(m, insn, &a))
        return "reaches a parameter through its address, but it becomes a register";
    if (a.offset % a.size || (uint64_t)a.offset + (uint64_t)a.n * a.size > m->vars[a.var].size)
        return "reaches beyond a parameter, or to an offset that is no multiple of its size";
    return NULL;
}

static ptxgen_status check_insn(const pg_inliner *in, const pg_ptx_insn *insn)
{
    const pg_ptx_module *m = in->user.module;
    const char *what = rule_of(insn->opcode);
    if (!what)
        what = rule_of_access(m, insn);
    for (uint32_t i = 0; !what && i < insn->n_operands; i++) {
        const pg_ptx_operand *o = &insn->operands[i];
        if (o->kind == PG_OPERAND_FUNC && insn->opcode->op != PG_OP_CALL)
            what = "takes the address of a function, but only direct calls can be inlined";
        what = what ? what : rule_of_operand(m, o);
        for (uint32_t e = 0; !what && e < o->n_elems && insn->opcode->op != PG_OP_CALL; e++)
            what = rule_of_operand(m, &o->elems[e]);
    }
    if (!what)
        return insn->opcode->op == PG_OP_CALL ? check_call(in, insn) : PTXGEN_OK;
    return refuse(in, insn, what, pg_ptx_op_describe(insn->opcode->op)->mnemonic);
}

ptxgen_status pg_inline_check(const pg_inliner *in, uint32_t index)
{
    const pg_ptx_function *f = &in->user.module->functions[index];
    if (f->directives.noreturn)
        return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, (int)f->line,
                          "%s:%u:%u: '%s' does not return, but the kernel has work left",
                          in->user.file, f->line, f->column, f->name);
    for (uint32_t i = 0; i < f->n_code; i++)
        PG_TRY(check_insn(in, &f->code[i]));
    return PTXGEN_OK;
}

ptxgen_status pg_inline_check_target(const pg_inliner *in)
{
    const pg_ptx_module *k = in->kernel.module, *u = in->user.module;
    const bool same_family = k->arch / 10 == u->arch / 10;
    const bool runs = u->arch_suffix == 0     ? k->arch >= u->arch
                      : u->arch_suffix == 'a' ? k->arch == u->arch && k->arch_suffix == 'a'
                                              : k->arch >= u->arch && same_family && k->arch_suffix;
    if (runs)
        return PTXGEN_OK;
    return pg_fail_at(in->err, PTXGEN_EPARSE, in->user.file, 1,
                      "%s: this text is for %s, the kernel (%s) for %s, which does not run that: "
                      "compile the function for %s",
                      in->user.file, u->target, in->kernel.file, k->target, k->target);
}
