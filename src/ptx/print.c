/* A parsed module as canonical text. Registers, variables, target lists and prototypes of a
 * function come first in its body, in the order of their numbers; then the code with its labels. */
#include "ptx/print.h"

#include "ptx/table/form.h"
#include "ptx/table/vocabulary.h"

#include <string.h>

typedef struct printer {
    const pg_ptx_module *m;
    const pg_ptx_function *f;
    uint32_t next_pragma;
    pg_buf *out;
} printer;

static const char *space_name(unsigned space)
{
    static const char *const names[] = {
        [PG_SPACE_NONE] = "",          [PG_SPACE_REG] = ".reg",     [PG_SPACE_CONST] = ".const",
        [PG_SPACE_GLOBAL] = ".global", [PG_SPACE_LOCAL] = ".local", [PG_SPACE_PARAM] = ".param",
        [PG_SPACE_SHARED] = ".shared",
    };
    return names[space];
}

static const char *linkage_name(unsigned linkage)
{
    static const char *const names[] = {
        [PG_LINKAGE_NONE] = "",
        [PG_LINKAGE_EXTERN] = ".extern ",
        [PG_LINKAGE_VISIBLE] = ".visible ",
        [PG_LINKAGE_WEAK] = ".weak ",
        [PG_LINKAGE_COMMON] = ".common ",
    };
    return names[linkage];
}

/* ---- operands ---- */

static void put_register(const printer *p, uint32_t reg)
{
    const pg_ptx_reg_decl *d = pg_ptx_find_reg_decl(p->f, reg);
    pg_buf_puts(p->out, d->name);
    if (d->is_range)
        pg_buf_put_u64(p->out, (reg - d->first) / d->vector);
    if (d->vector > 1)
        pg_buf_printf(p->out, ".%c", "xyzw"[(reg - d->first) % d->vector]);
}

static void put_offset(pg_buf *out, uint64_t offset)
{
    if (!offset)
        return;
    pg_buf_putc(out, '+');
    pg_buf_put_i64(out, (int64_t)offset);
}

static void put_immediate(pg_buf *out, const pg_ptx_operand *o)
{
    if (o->literal == PG_LITERAL_F32)
        pg_buf_printf(out, "0f%08X", (unsigned)o->value);
    else if (o->literal == PG_LITERAL_F64)
        pg_buf_printf(out, "0d%016llX", (unsigned long long)o->value);
    else
        pg_buf_put_i64(out, (int64_t)o->value);
}

static void put_operand(const printer *p, const pg_ptx_operand *o);

static void put_elems(const printer *p, const pg_ptx_operand *o, const char *separator)
{
    for (uint32_t i = 0; i < o->n_elems; i++) {
        if (i)
            pg_buf_puts(p->out, separator);
        put_operand(p, &o->elems[i]);
    }
}

static void put_address(const printer *p, const pg_ptx_operand *o)
{
    pg_buf_putc(p->out, '[');
    if (o->base == PG_OPERAND_IMM) {
        pg_buf_put_i64(p->out, (int64_t)o->value);
    } else {
        if (o->base == PG_OPERAND_REG)
            put_register(p, o->index);
        else
            pg_buf_puts(p->out, p->m->vars[o->index].name);
        put_offset(p->out, o->value);
    }
    if (o->n_elems) {
        pg_buf_puts(p->out, ", ");
        put_elems(p, o, ", ");
    }
    pg_buf_putc(p->out, ']');
}

static void put_bracketed(const printer *p, const pg_ptx_operand *o, char open, char close)
{
    pg_buf_putc(p->out, open);
    put_elems(p, o, ", ");
    pg_buf_putc(p->out, close);
}

/* ".h10" */
static void put_selector(pg_buf *out, uint64_t value)
{
    const unsigned count = value >> PG_SELECT_COUNT_SHIFT & 7;
    if (count)
        pg_buf_puts(out, value & PG_SELECT_HALVES ? ".h" : ".b");
    for (unsigned i = count; i-- > 0;)
        pg_buf_putc(out, (char)('0' + (value >> 4 * i & 15)));
}

static void put_operand(const printer *p, const pg_ptx_operand *o)
{
    switch ((pg_ptx_operand_kind)o->kind) {
    case PG_OPERAND_NONE:
        break;
    case PG_OPERAND_REG:
        if (o->negated)
            pg_buf_putc(p->out, '!');
        if (o->value & PG_SELECT_NEGATED)
            pg_buf_putc(p->out, '-');
        put_register(p, o->index);
        put_selector(p->out, o->value);
        break;
    case PG_OPERAND_IMM:
        put_immediate(p->out, o);
        break;
    case PG_OPERAND_SPECIAL:
        pg_buf_puts(p->out, pg_ptx_special_name((pg_ptx_special)o->index));
        break;
    case PG_OPERAND_SINK:
        pg_buf_putc(p->out, '_');
        break;
    case PG_OPERAND_VECTOR:
        put_bracketed(p, o, '{', '}');
        break;
    case PG_OPERAND_PAIR:
        put_elems(p, o, "|");
        break;
    case PG_OPERAND_ADDRESS:
        put_address(p, o);
        break;
    case PG_OPERAND_VAR:
        pg_buf_puts(p->out, p->m->vars[o->index].name);
        put_offset(p->out, o->value);
        break;
    case PG_OPERAND_FUNC:
        pg_buf_puts(p->out, p->m->functions[o->index].name);
        break;
    case PG_OPERAND_LABEL:
        pg_buf_puts(p->out, p->f->labels[o->index].name);
        break;
    case PG_OPERAND_TABLE:
        pg_buf_puts(p->out, p->f->tables[o->index].name);
        break;
    case PG_OPERAND_PROTO:
        pg_buf_puts(p->out, p->f->protos[o->index].name);
        break;
    case PG_OPERAND_LIST:
        put_bracketed(p, o, '(', ')');
        break;
    }
}

static void put_insn(const printer *p, const pg_ptx_insn *insn)
{
    if (insn->guard != PG_PTX_NO_REG) {
        pg_buf_puts(p->out, insn->guard_negated ? "@!" : "@");
        put_register(p, (uint32_t)insn->guard);
        pg_buf_putc(p->out, ' ');
    }
    pg_form_print(insn->opcode, p->out);
    const char *separator = " ";
    for (uint32_t i = 0; i < insn->n_operands; i++) {
        if (insn->operands[i].kind == PG_OPERAND_NONE)
            continue;
        pg_buf_puts(p->out, separator);
        put_operand(p, &insn->operands[i]);
        separator = ", ";
    }
    pg_buf_putc(p->out, ';');
}

void pg_ptx_print_insn(const pg_ptx_module *module, const pg_ptx_function *function,
                       const pg_ptx_insn *insn, pg_buf *out)
{
    const printer p = {.m = module, .f = function, .out = out};
    put_insn(&p, insn);
}

/* ---- variables ---- */

static void put_type(pg_buf *out, unsigned vector, unsigned type)
{
    if (vector > 1)
        pg_buf_printf(out, ".v%u ", vector);
    pg_buf_printf(out, ".%s ", pg_type_table[type].spelling);
}

static void put_declarator(const printer *p, const pg_ptx_var *v)
{
    pg_buf *out = p->out;
    pg_buf_puts(out, space_name(v->space));
    pg_buf_putc(out, ' ');
    if (v->managed)
        pg_buf_puts(out, ".attribute(.managed) ");
    if (v->align_declared)
        pg_buf_printf(out, ".align %u ", v->align);
    put_type(out, v->vector, v->type);
    if (v->is_pointer) {
        pg_buf_printf(out, ".ptr %s ", space_name(v->pointer_space));
        if (v->pointer_align)
            pg_buf_printf(out, ".align %u ", v->pointer_align);
    }
    pg_buf_puts(out, v->name);
    for (uint32_t i = 0; i < v->n_dims; i++) {
        pg_buf_putc(out, '[');
        if (v->dims[i])
            pg_buf_put_u64(out, v->dims[i]);
        pg_buf_putc(out, ']');
    }
}

static void put_reloc(const printer *p, const pg_ptx_reloc *r)
{
    pg_buf *out = p->out;
    const char *name = r->is_function ? p->m->functions[r->index].name : p->m->vars[r->index].name;
    if (r->bytes == 1)
        pg_buf_printf(out, "0x%llX(", (unsigned long long)0xFF << r->shift);
    pg_buf_puts(out, r->generic ? "generic(" : "");
    pg_buf_puts(out, name);
    pg_buf_puts(out, r->generic ? ")" : "");
    put_offset(out, (uint64_t)r->addend);
    pg_buf_puts(out, r->bytes == 1 ? ")" : "");
}

/* The element at `offset`; *reloc is the next address that has not been printed. */
static void put_element(const printer *p, const pg_ptx_var *v, uint64_t offset, uint32_t *reloc)
{
    unsigned n = pg_type_table[v->type].bits / 8u;
    uint64_t value = 0;
    if (*reloc < v->n_relocs && v->relocs[*reloc].offset == offset) {
        put_reloc(p, &v->relocs[(*reloc)++]);
        return;
    }
    for (unsigned i = 0; i < n && i < 8; i++)
        value |= (uint64_t)v->init[offset + i] << 8 * i;
    if (v->type == PG_T_F32)
        pg_buf_printf(p->out, "0f%08X", (unsigned)value);
    else if (v->type == PG_T_F64)
        pg_buf_printf(p->out, "0d%016llX", (unsigned long long)value);
    else
        pg_buf_put_u64(p->out, value);
}

/* A place in an initialiser: a level of braces, its first byte, and the bytes of one of its
 * elements. */
typedef struct brace {
    uint32_t level;
    uint64_t offset, stride;
} brace;

/* One level of braces; see parse_initializer.c. Elements that are not set at the end are left
 * out. */
static void put_level(const printer *p, const pg_ptx_var *v, brace at, uint32_t *reloc)
{
    bool inner = at.level + 1 < v->n_dims + (v->vector > 1);
    uint64_t n = at.level < v->n_dims ? v->dims[at.level] : v->vector;
    pg_buf_putc(p->out, '{');
    for (uint64_t i = 0; i < n && at.offset < v->n_init; i++, at.offset += at.stride) {
        if (i)
            pg_buf_puts(p->out, i % 32 ? ", " : ",\n    ");
        if (inner) {
            uint64_t entries = at.level + 1 < v->n_dims ? v->dims[at.level + 1] : v->vector;
            put_level(p, v, (brace){at.level + 1, at.offset, at.stride / entries}, reloc);
        } else {
            put_element(p, v, at.offset, reloc);
        }
    }
    pg_buf_putc(p->out, '}');
}

static void put_initializer(const printer *p, const pg_ptx_var *v)
{
    uint64_t stride = pg_type_table[v->type].bits / 8u * (v->n_dims ? v->vector : 1u);
    uint32_t reloc = 0;
    for (uint32_t d = 1; d < v->n_dims; d++)
        stride *= v->dims[d];
    pg_buf_puts(p->out, " = ");
    if (v->n_dims || v->vector > 1)
        put_level(p, v, (brace){0, 0, stride}, &reloc);
    else
        put_element(p, v, 0, &reloc);
}

static void put_variable(const printer *p, const pg_ptx_var *v, bool is_declaration)
{
    pg_buf_puts(p->out, is_declaration ? ".extern " : linkage_name(v->linkage));
    put_declarator(p, v);
    if (v->init && !is_declaration)
        put_initializer(p, v);
    pg_buf_puts(p->out, ";\n");
}

/* ---- functions ---- */

static void put_parameters(const printer *p, const uint32_t *vars, uint32_t n)
{
    pg_buf_putc(p->out, '(');
    for (uint32_t i = 0; i < n; i++) {
        pg_buf_puts(p->out, i ? ",\n    " : n > 1 ? "\n    " : "");
        put_declarator(p, &p->m->vars[vars[i]]);
    }
    pg_buf_putc(p->out, ')');
}

static void put_extents(pg_buf *out, const char *name, const uint32_t extents[3])
{
    if (extents[0] || extents[1] || extents[2])
        pg_buf_printf(out, "\n.%s %u, %u, %u", name, extents[0], extents[1], extents[2]);
}

static void put_limit(pg_buf *out, const char *name, uint32_t limit)
{
    if (limit)
        pg_buf_printf(out, "\n.%s %u", name, limit);
}

static void put_directives(pg_buf *out, const pg_ptx_directives *d)
{
    pg_buf_puts(out, d->noreturn ? "\n.noreturn" : "");
    pg_buf_puts(out, d->explicitcluster ? "\n.explicitcluster" : "");
    put_extents(out, "reqnctapercluster", d->reqnctapercluster);
    put_limit(out, "maxclusterrank", d->maxclusterrank);
    put_extents(out, "maxntid", d->maxntid);
    put_extents(out, "reqntid", d->reqntid);
    pg_buf_puts(out, d->blocksareclusters ? "\n.blocksareclusters" : "");
    put_limit(out, "minnctapersm", d->minnctapersm);
    put_limit(out, "maxnctapersm", d->maxnctapersm);
    put_limit(out, "maxnreg", d->maxnreg);
}

static void put_string(pg_buf *out, const char *s)
{
    pg_buf_printf(out, "\"%s\"", s);
}

/* The pragmas of this function that stand before instruction `insn`. */
static void put_pragmas(printer *p, uint32_t insn)
{
    uint32_t function = (uint32_t)(p->f - p->m->functions);
    for (; p->next_pragma < p->m->n_pragmas; p->next_pragma++) {
        const pg_ptx_pragma *pragma = &p->m->pragmas[p->next_pragma];
        if (pragma->function != function || pragma->insn != insn)
            return;
        pg_buf_puts(p->out, "\n.pragma ");
        put_string(p->out, pragma->text);
        pg_buf_puts(p->out, ";");
    }
}

static void put_signature(printer *p)
{
    const pg_ptx_function *f = p->f;
    pg_buf_puts(p->out, linkage_name(f->linkage));
    pg_buf_puts(p->out, f->is_entry ? ".entry " : ".func ");
    if (f->n_returns) {
        put_parameters(p, f->returns, f->n_returns);
        pg_buf_putc(p->out, ' ');
    }
    pg_buf_puts(p->out, f->name);
    put_parameters(p, f->params, f->n_params);
    put_directives(p->out, &f->directives);
}

static void put_registers(const printer *p, bool parameters)
{
    for (uint32_t i = 0; i < p->f->n_reg_decls; i++) {
        const pg_ptx_reg_decl *d = &p->f->reg_decls[i];
        if (d->is_parameter && !parameters)
            continue;
        pg_buf_puts(p->out, "    .reg ");
        put_type(p->out, d->vector, d->type);
        pg_buf_puts(p->out, d->name);
        if (d->is_range)
            pg_buf_printf(p->out, "<%u>", d->count);
        pg_buf_puts(p->out, ";\n");
    }
}

static void put_tables(const printer *p)
{
    for (uint32_t i = 0; i < p->f->n_tables; i++) {
        const pg_ptx_table *t = &p->f->tables[i];
        pg_buf_puts(p->out, t->name);
        pg_buf_puts(p->out, t->is_calls ? ": .calltargets " : ": .branchtargets ");
        for (uint32_t j = 0; j < t->n_targets; j++) {
            pg_buf_puts(p->out, j ? ", " : "");
            pg_buf_puts(p->out, t->is_calls ? p->m->functions[t->targets[j]].name
                                            : p->f->labels[t->targets[j]].name);
        }
        pg_buf_puts(p->out, ";\n");
    }
}

static void put_proto_params(const printer *p, const pg_ptx_proto_param *params, uint32_t n)
{
    pg_buf_putc(p->out, '(');
    for (uint32_t i = 0; i < n; i++) {
        const pg_ptx_proto_param *v = &params[i];
        pg_buf_puts(p->out, i ? ", " : "");
        pg_buf_printf(p->out, "%s ", space_name(v->space));
        if (v->space == PG_SPACE_PARAM)
            pg_buf_printf(p->out, ".align %u ", v->align);
        put_type(p->out, v->vector, v->type);
        pg_buf_putc(p->out, '_');
        uint64_t element = pg_type_table[v->type].bits / 8u * v->vector;
        if (v->is_array && v->size)
            pg_buf_printf(p->out, "[%llu]", (unsigned long long)(v->size / element));
        else if (v->is_array)
            pg_buf_puts(p->out, "[]");
    }
    pg_buf_putc(p->out, ')');
}

static void put_protos(const printer *p)
{
    for (uint32_t i = 0; i < p->f->n_protos; i++) {
        const pg_ptx_proto *proto = &p->f->protos[i];
        pg_buf_puts(p->out, proto->name);
        pg_buf_puts(p->out, ": .callprototype ");
        if (proto->n_returns)
            put_proto_params(p, proto->returns, proto->n_returns);
        pg_buf_puts(p->out, " _ ");
        put_proto_params(p, proto->params, proto->n_params);
        pg_buf_puts(p->out, proto->noreturn ? " .noreturn;\n" : ";\n");
    }
}

static void put_code(printer *p)
{
    const pg_ptx_function *f = p->f;
    uint32_t label = 0, loc = 0;
    for (uint32_t i = 0; i <= f->n_code; i++) {
        put_pragmas(p, i);
        for (; label < f->n_labels && f->labels[label].target == i; label++)
            pg_buf_printf(p->out, "\n%s:", f->labels[label].name);
        if (i == f->n_code)
            break;
        if (f->code[i].loc != loc) {
            loc = f->code[i].loc;
            const pg_ptx_loc *l = &p->m->locs[loc];
            pg_buf_printf(p->out, "\n    .loc %u %u %u", l->file, l->line, l->column);
        }
        pg_buf_puts(p->out, "\n    ");
        put_insn(p, &f->code[i]);
    }
    pg_buf_puts(p->out, "\n");
}

static void put_function(printer *p, const pg_ptx_function *f, bool is_declaration)
{
    p->f = f;
    put_signature(p);
    if (is_declaration || !f->has_body) {
        pg_buf_puts(p->out, ";\n");
        return;
    }
    pg_buf_puts(p->out, "\n{\n");
    put_registers(p, false);
    for (uint32_t i = 0; i < f->n_locals; i++) {
        pg_buf_puts(p->out, "    ");
        put_variable(p, &p->m->vars[f->locals[i]], false);
    }
    put_tables(p);
    put_protos(p);
    put_code(p);
    pg_buf_puts(p->out, "}\n");
}

/* ---- module ---- */

static void put_header(printer *p)
{
    const pg_ptx_module *m = p->m;
    pg_buf_printf(p->out, ".version %u.%u\n.target %s", m->version / 10, m->version % 10,
                  m->target);
    if (m->target_options[0])
        pg_buf_printf(p->out, ", %s", m->target_options);
    pg_buf_printf(p->out, "\n.address_size %u\n", m->address_size);
    for (uint32_t i = 0; i < m->n_files; i++) {
        pg_buf_printf(p->out, ".file %u ", m->files[i].number);
        put_string(p->out, m->files[i].name);
        pg_buf_putc(p->out, '\n');
    }
}

static void put_module_pragmas(printer *p)
{
    for (; p->next_pragma < p->m->n_pragmas && p->m->pragmas[p->next_pragma].function == UINT32_MAX;
         p->next_pragma++) {
        pg_buf_puts(p->out, ".pragma ");
        put_string(p->out, p->m->pragmas[p->next_pragma].text);
        pg_buf_puts(p->out, ";\n");
    }
}

void pg_ptx_print(const pg_ptx_module *m, pg_buf *out)
{
    printer p = {.m = m, .out = out};
    put_header(&p);
    for (uint32_t i = 0; i < m->n_items; i++) {
        const pg_ptx_item *item = &m->items[i];
        put_module_pragmas(&p);
        if (item->kind == PG_ITEM_VAR)
            put_variable(&p, &m->vars[item->index], item->is_declaration);
        else if (item->kind == PG_ITEM_FUNCTION)
            put_function(&p, &m->functions[item->index], item->is_declaration);
        else
            pg_buf_printf(out, ".alias %s, %s;\n", m->functions[m->aliases[item->index].alias].name,
                          m->functions[m->aliases[item->index].target].name);
    }
    put_module_pragmas(&p);
}

/* ---- parts ---- */

void pg_ptx_print_operand(const pg_ptx_module *module, const pg_ptx_function *function,
                          const pg_ptx_operand *operand, pg_buf *out)
{
    const printer p = {.m = module, .f = function, .out = out};
    put_operand(&p, operand);
}

void pg_ptx_print_var(const pg_ptx_module *module, const pg_ptx_var *var, bool is_declaration,
                      pg_buf *out)
{
    const printer p = {.m = module, .out = out};
    put_variable(&p, var, is_declaration);
}

void pg_ptx_print_registers(const pg_ptx_module *module, const pg_ptx_function *function,
                            bool parameters, pg_buf *out)
{
    const printer p = {.m = module, .f = function, .out = out};
    put_registers(&p, parameters);
}

void pg_ptx_print_tables(const pg_ptx_module *module, const pg_ptx_function *function, pg_buf *out)
{
    const printer p = {.m = module, .f = function, .out = out};
    put_tables(&p);
    put_protos(&p);
}

void pg_ptx_print_function(const pg_ptx_module *module, const pg_ptx_function *function,
                           bool is_declaration, pg_buf *out)
{
    printer p = {.m = module, .out = out};
    const uint32_t index = (uint32_t)(function - module->functions);
    while (p.next_pragma < module->n_pragmas && module->pragmas[p.next_pragma].function != index)
        p.next_pragma++;
    put_function(&p, function, is_declaration);
}
