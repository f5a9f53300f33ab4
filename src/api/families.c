/* The registry as the public API lists it. */
#include "generate/family.h"

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
    out->kind = p->kind == PG_PARAM_INTEGER ? PTXGEN_PARAM_INTEGER : PTXGEN_PARAM_CHOICE;
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
