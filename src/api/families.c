/* The registry as the public API lists it. */
#include "generate/dtype.h"
#include "generate/family.h"
#include "ptxgen/call.h"

#include <string.h>

size_t ptxgen_family_count(void)
{
    size_t n = 0;
    while (pg_family_at(n))
        n++;
    return n;
}

const char *ptxgen_family_name(size_t i)
{
    const pg_family *f = pg_family_at(i);
    return f ? f->name : NULL;
}

const char *ptxgen_family_summary(size_t i)
{
    const pg_family *f = pg_family_at(i);
    return f ? f->summary : NULL;
}

size_t ptxgen_family_param_count(size_t i)
{
    const pg_family *f = pg_family_at(i);
    return f ? f->params.count : 0;
}

bool ptxgen_family_param(size_t i, size_t param, ptxgen_param_info *out)
{
    const pg_family *f = pg_family_at(i);
    if (!f || param >= f->params.count)
        return false;
    const pg_param *p = &f->params.rows[param];
    *out = (ptxgen_param_info){.name = p->name, .doc = p->doc, .min = p->min, .max = p->max};
    out->kind = p->kind == PG_PARAM_INTEGER    ? PTXGEN_PARAM_INTEGER
                : p->kind == PG_PARAM_FUNCTION ? PTXGEN_PARAM_FUNCTION
                                               : PTXGEN_PARAM_CHOICE;
    out->default_text = "";
    if (p->kind == PG_PARAM_ARCH) {
        out->choices = pg_arch_names();
        out->default_text = ptxgen_arch_name(f->default_arch);
    } else if (p->kind == PG_PARAM_CHOICE) {
        out->choices = p->choices;
        out->default_text = p->choices[p->def];
    } else {
        out->choices = p->zero_words;
        out->default_text = p->zero_words[0];
    }
    return true;
}

static const char *dtype_param(const pg_family *f, size_t operand)
{
    for (size_t i = 0; i < f->params.count; i++)
        if (f->params.rows[i].from == PG_FROM_DTYPE && f->params.rows[i].source == operand)
            return f->params.rows[i].name;
    return "";
}

static const char *halving_param(const pg_family *f, const pg_operand *o)
{
    for (size_t i = 0; i < f->params.count && o->halved_by; i++)
        if (f->params.rows[i].offset + 1 == o->halved_by)
            return f->params.rows[i].name;
    return "";
}

bool ptxgen_family_operand(size_t i, size_t operand, ptxgen_operand_info *out)
{
    const pg_family *f = pg_family_at(i);
    if (!f || operand >= f->operands.count)
        return false;
    const pg_operand *o = &f->operands.rows[operand];
    ptxgen_operand_info info = {.size = out->size,
                                .name = o->name,
                                .doc = o->doc,
                                .role = (ptxgen_role)o->role,
                                .optional = o->optional,
                                .rank = o->rank,
                                .leading = o->leading,
                                .dtypes = o->dtypes,
                                .indexes =
                                    o->indexes ? f->operands.symbols[o->indexes - 1].name : "",
                                .like = o->same_dtype_as - 1,
                                .dtype_param = dtype_param(f, operand),
                                .alignment = o->alignment,
                                .transposable = o->inner == PG_INNER_EITHER,
                                .zero_if_absent = o->zero_if_absent,
                                .spread = o->spread,
                                .rows_by = o->rows_by - 1,
                                .halved_by = halving_param(f, o)};
    for (int d = 0; d < o->rank; d++) {
        const pg_symbol *s = &f->operands.symbols[o->extents[d]];
        info.extents[d] = s->name;
        info.usual[d] = s->equals ? f->operands.symbols[s->equals - 1].name : "";
    }
    memcpy(out, &info, out->size < sizeof info ? out->size : sizeof info);
    return true;
}

const char *ptxgen_dtype_name(ptxgen_dtype dtype)
{
    return pg_dtype_word(dtype);
}

int ptxgen_dtype_bits(ptxgen_dtype dtype)
{
    return pg_dtype_bits(dtype);
}
