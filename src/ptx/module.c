/* Look-ups in a parsed module, and immediates as their instruction sees them. */
#include "ptx/ptx.h"

#include "ptx/table/vocabulary.h"

#include <stdio.h>
#include <string.h>

uint32_t pg_ptx_find_function(const pg_ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_functions; i++)
        if (!strcmp(m->functions[i].name, name))
            return i;
    return UINT32_MAX;
}

uint32_t pg_ptx_find_var(const pg_ptx_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_vars; i++)
        if (m->vars[i].role == PG_ROLE_MODULE && !strcmp(m->vars[i].name, name))
            return i;
    return UINT32_MAX;
}

const pg_ptx_reg_decl *pg_ptx_find_reg_decl(const pg_ptx_function *f, uint32_t reg)
{
    uint32_t low = 0, high = f->n_reg_decls;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const pg_ptx_reg_decl *d = &f->reg_decls[mid];
        if (reg < d->first)
            high = mid;
        else if (reg >= d->first + d->count * d->vector)
            low = mid + 1;
        else
            return d;
    }
    return NULL;
}

const char *pg_ptx_reg_name(const pg_ptx_function *f, uint32_t reg, char *buf, size_t size)
{
    const pg_ptx_reg_decl *d = pg_ptx_find_reg_decl(f, reg);
    if (!size)
        return buf;
    buf[0] = 0;
    if (!d)
        return buf;
    uint32_t n = (reg - d->first) / d->vector, component = (reg - d->first) % d->vector;
    int len =
        d->is_range ? snprintf(buf, size, "%s%u", d->name, n) : snprintf(buf, size, "%s", d->name);
    if (d->vector > 1 && len > 0 && (size_t)len < size)
        snprintf(buf + len, size - (size_t)len, ".%c", "xyzw"[component]);
    return buf;
}

static double literal_value(const pg_ptx_operand *imm)
{
    double d = 0;
    float f;
    const uint32_t bits = (uint32_t)imm->value;
    if (imm->literal == PG_LITERAL_F64) {
        memcpy(&d, &imm->value, sizeof d);
    } else {
        memcpy(&f, &bits, sizeof f);
        d = f;
    }
    return d;
}

static uint64_t float_bits(const pg_ptx_operand *imm)
{
    uint32_t bits = (uint32_t)imm->value;
    if (imm->literal == PG_LITERAL_F64) {
        const float f = (float)literal_value(imm);
        memcpy(&bits, &f, sizeof bits);
    }
    return bits;
}

static uint64_t double_bits(const pg_ptx_operand *imm)
{
    uint64_t bits = imm->value;
    if (imm->literal == PG_LITERAL_F32) {
        const double d = literal_value(imm);
        memcpy(&bits, &d, sizeof bits);
    }
    return bits;
}

uint64_t pg_ptx_imm_bits(const pg_ptx_operand *imm, pg_ptx_type type)
{
    unsigned bits = pg_type_table[type].bits;
    uint64_t v = imm->value;
    if (imm->literal != PG_LITERAL_INT && type == PG_T_F32)
        v = float_bits(imm);
    else if (imm->literal != PG_LITERAL_INT && type == PG_T_F64)
        v = double_bits(imm);
    if (type == PG_T_PRED)
        return v != 0;
    return bits && bits < 64 ? v & (((uint64_t)1 << bits) - 1) : v;
}
