/* Functions that can be called through a register. See decode.h. */
#include "emulator/decode/decode.h"

static void take_operand(const pg_ptx_module *m, const pg_ptx_operand *o, bool *taken)
{
    if (o->kind == PG_OPERAND_FUNC)
        taken[pg_function_behind(m, o->index)] = true;
    for (uint32_t i = 0; i < o->n_elems; i++)
        take_operand(m, &o->elems[i], taken);
}

static void take_code(const pg_ptx_module *m, const pg_ptx_function *f, bool *taken)
{
    for (uint32_t i = 0; i < f->n_code; i++) {
        const pg_ptx_insn *insn = &f->code[i];
        for (uint32_t k = 0; k < insn->n_operands; k++)
            if (insn->opcode->op != PG_OP_CALL || k != PG_CALL_CALLEE)
                take_operand(m, &insn->operands[k], taken);
    }
}

const bool *pg_functions_taken(pg_arena *arena, const pg_ptx_module *m)
{
    bool *taken = PG_NEW_ARRAY(arena, bool, m->n_functions + 1);
    for (uint32_t i = 0; taken && i < m->n_functions; i++)
        take_code(m, &m->functions[i], taken);
    for (uint32_t i = 0; taken && i < m->n_vars; i++)
        for (uint32_t k = 0; k < m->vars[i].n_relocs; k++)
            if (m->vars[i].relocs[k].is_function)
                taken[pg_function_behind(m, m->vars[i].relocs[k].index)] = true;
    return taken;
}
