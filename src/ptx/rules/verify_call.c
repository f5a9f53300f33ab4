/* Calls: the lists of a direct call against the callee's declaration, those of an indirect one
 * against its prototype (PTX ISA 9.7.12.5). */
#include "ptx/rules/verify.h"

#include "ptx/table/vocabulary.h"

/* What is passed: bytes and whether it is a .param variable or a plain value. */
typedef struct parameter {
    uint64_t size;
    bool is_array;
} parameter;

static bool check_argument(pg_verifier *v, const pg_ptx_operand *o, parameter want, uint32_t n)
{
    uint64_t have;
    switch (o->kind) {
    case PG_OPERAND_REG:
        have = pg_type_table[v->f->reg_types[o->index]].bits / 8u;
        break;
    case PG_OPERAND_IMM:
        return !want.is_array || pg_verify_fail(v, o, "argument %u is an array, not a constant", n);
    case PG_OPERAND_VAR:
        if (v->m->vars[o->index].space != PG_SPACE_PARAM)
            return pg_verify_fail(v, o, "argument %u must be a .param variable or a register", n);
        have = v->m->vars[o->index].size;
        break;
    default:
        return pg_verify_fail(v, o, "this cannot be passed as argument %u", n);
    }
    /* An open array takes any number of bytes. */
    if (have == want.size || (want.is_array && !want.size))
        return true;
    return pg_verify_fail(v, o, "argument %u has %llu bytes, the parameter %llu", n,
                          (unsigned long long)have, (unsigned long long)want.size);
}

static bool check_list(pg_verifier *v, const pg_ptx_operand *list, const parameter *wanted,
                       uint32_t n, const char *what)
{
    uint32_t have = list->kind == PG_OPERAND_LIST ? list->n_elems : 0;
    bool open = n && wanted[n - 1].is_array && !wanted[n - 1].size; /* may be left out */
    if (have != n && !(open && have == n - 1))
        return pg_verify_fail(v, list->kind == PG_OPERAND_LIST ? list : NULL,
                              "the callee has %u %s, the call %u", n, what, have);
    for (uint32_t i = 0; i < have; i++)
        if (!check_argument(v, &list->elems[i], wanted[i], i + 1))
            return false;
    return true;
}

enum { MAX_PARAMETERS = 512 };

static bool check_function(pg_verifier *v, const pg_ptx_operand *list, const uint32_t *vars,
                           uint32_t n, const char *what)
{
    parameter wanted[MAX_PARAMETERS];
    if (n > MAX_PARAMETERS)
        return pg_verify_fail(v, NULL, "more than %d %s", MAX_PARAMETERS, what);
    for (uint32_t i = 0; i < n; i++)
        wanted[i] = (parameter){v->m->vars[vars[i]].size, v->m->vars[vars[i]].is_array};
    return check_list(v, list, wanted, n, what);
}

static bool check_prototype(pg_verifier *v, const pg_ptx_operand *list,
                            const pg_ptx_proto_param *params, uint32_t n, const char *what)
{
    parameter wanted[MAX_PARAMETERS];
    if (n > MAX_PARAMETERS)
        return pg_verify_fail(v, NULL, "more than %d %s", MAX_PARAMETERS, what);
    for (uint32_t i = 0; i < n; i++)
        wanted[i] = (parameter){params[i].size, params[i].is_array};
    return check_list(v, list, wanted, n, what);
}

bool pg_verify_call(pg_verifier *v)
{
    enum { RETURNS, CALLEE, ARGUMENTS, TARGETS };
    const pg_ptx_operand *o = v->insn->operands;
    static const char returns[] = "return parameters", arguments[] = "parameters";
    if (o[CALLEE].kind == PG_OPERAND_FUNC) {
        const pg_ptx_function *f = &v->m->functions[o[CALLEE].index];
        if (f->is_entry)
            return pg_verify_fail(v, &o[CALLEE], "'%s' is an entry: only .func can be called",
                                  f->name);
        return check_function(v, &o[RETURNS], f->returns, f->n_returns, returns) &&
               check_function(v, &o[ARGUMENTS], f->params, f->n_params, arguments);
    }
    if (pg_type_table[v->f->reg_types[o[CALLEE].index]].bits != 64)
        return pg_verify_fail(v, &o[CALLEE], "the address of a function needs a 64-bit register");
    if (o[TARGETS].kind == PG_OPERAND_NONE)
        return pg_verify_fail(v, NULL, "an indirect call needs a prototype or a list of targets");
    if (o[TARGETS].kind == PG_OPERAND_TABLE) {
        if (!v->f->tables[o[TARGETS].index].is_calls)
            return pg_verify_fail(v, &o[TARGETS], "a list of labels is no list of functions");
        return true;
    }
    const pg_ptx_proto *proto = &v->f->protos[o[TARGETS].index];
    return check_prototype(v, &o[RETURNS], proto->returns, proto->n_returns, returns) &&
           check_prototype(v, &o[ARGUMENTS], proto->params, proto->n_params, arguments);
}
