/* Initialisers of .global and .const variables: nested braces, numbers, addresses (PTX ISA 5.4.4
 * and 5.4.5). */
#include "ptx/text/parser.h"

#include "ptx/table/vocabulary.h"

#include <string.h>

typedef struct initializer {
    pg_ptx_var *var;
    uint8_t *bytes; /* scratch */
    uint64_t n, cap;
    uint64_t limit; /* bytes that may be written */
    uint32_t element;
    pg_list relocs;
} initializer;

/* Room for bytes up to `end`. */
static bool reserve(pg_parser *p, initializer *init, uint64_t end)
{
    if (end > init->limit)
        return pg_parser_error(p, "more values than '%s' has elements", init->var->name);
    if (end > p->options.max_bytes - p->init_bytes) {
        pg_parser_error(p, "initialisers of more than %zu bytes in a module", p->options.max_bytes);
        pg_parser_stop(p, PTXGEN_EBUDGET);
        return false;
    }
    if (end > init->cap) {
        uint64_t cap = init->cap * 2 > end ? init->cap * 2 : end + 64;
        uint8_t *bytes = pg_arena_alloc(&p->scratch, cap);
        if (!bytes) {
            pg_parser_stop(p, PTXGEN_ENOMEM);
            return false;
        }
        if (init->n)
            memcpy(bytes, init->bytes, init->n);
        init->bytes = bytes;
        init->cap = cap;
    }
    if (end > init->n)
        init->n = end;
    return true;
}

static bool put(pg_parser *p, initializer *init, uint64_t offset, uint64_t value)
{
    if (!reserve(p, init, offset + init->element))
        return false;
    for (uint32_t i = 0; i < init->element && i < 8; i++)
        init->bytes[offset + i] = (uint8_t)(value >> 8 * i);
    return true;
}

/* "0xFF00": which byte of an address it selects. */
static bool mask_shift(uint64_t mask, uint8_t *shift)
{
    for (*shift = 0; *shift < 64; *shift = (uint8_t)(*shift + 8))
        if (mask == (uint64_t)0xFF << *shift)
            return true;
    return false;
}

/* sym, sym + 4, generic(sym) + 4 */
static bool put_address(pg_parser *p, initializer *init, uint64_t offset, pg_ptx_reloc reloc)
{
    pg_token at = p->token;
    uint32_t index;
    bool parenthesis = false;
    if (p->token.kind == PG_TOKEN_IDENT && pg_str_is(p->token.text, "generic")) {
        pg_parser_advance(p);
        parenthesis = reloc.generic = true;
        if (!pg_parser_expect(p, '('))
            return false;
        at = p->token;
    }
    pg_str name;
    if (!pg_parser_name(p, &name))
        return false;
    const pg_binding *b = pg_names_find(&p->names, name, &index);
    if (!b || (b->kind != PG_BIND_VAR && b->kind != PG_BIND_FUNC))
        return pg_parser_error_at(p, at.line, at.column, "'%.*s' is no variable or function",
                                  (int)(name.n < 60 ? name.n : 60), name.p);
    if (parenthesis && !pg_parser_expect(p, ')'))
        return false;
    if ((pg_parser_at(p, '+') || pg_parser_at(p, '-')) && !pg_parse_integer(p, &reloc.addend))
        return false;
    reloc.offset = offset;
    reloc.index = index;
    reloc.is_function = b->kind == PG_BIND_FUNC;
    if (!reloc.bytes && init->element < 4)
        return pg_parser_error_at(p, at.line, at.column, "an address needs 4 or 8 bytes, not %u",
                                  init->element);
    if (!reloc.bytes)
        reloc.bytes = (uint8_t)init->element;
    *(pg_ptx_reloc *)pg_list_add(p, &init->relocs) = reloc;
    return reserve(p, init, offset + init->element);
}

/* A float stands for its bits in elements of 32 and 64 bits of any type but the integers. */
static bool constant_bits(pg_parser *p, const initializer *init, const pg_constant *c,
                          uint64_t *bits)
{
    pg_ptx_type type = (pg_ptx_type)init->var->type;
    pg_ptx_type_class class = pg_type_table[type].class;
    const pg_ptx_operand imm = {
        .kind = PG_OPERAND_IMM, .literal = (uint8_t)c->literal, .value = c->value};
    bool is_float = c->literal != PG_LITERAL_INT, wants_float = class == PG_CLASS_FLOAT;
    if (is_float ? class == PG_CLASS_UNSIGNED || class == PG_CLASS_SIGNED || init->element < 4
                 : wants_float)
        return pg_parser_error(p, "%s does not fit type .%s", is_float ? "a float" : "an integer",
                               pg_type_table[type].spelling);
    if (is_float)
        type = init->element == 4 ? PG_T_F32 : PG_T_F64;
    *bits = pg_ptx_imm_bits(&imm, type);
    return true;
}

static bool parse_value(pg_parser *p, initializer *init, uint64_t offset)
{
    pg_ptx_reloc reloc = {0};
    if (p->token.kind == PG_TOKEN_IDENT && !pg_parser_at_constant(p))
        return put_address(p, init, offset, reloc);
    pg_token at = p->token;
    pg_constant c;
    if (!pg_parse_constant(p, &c))
        return false;
    if (c.literal == PG_LITERAL_INT && pg_parser_at(p, '(')) { /* 0xFF00(sym) */
        reloc.bytes = 1;
        if (!mask_shift(c.value, &reloc.shift) || init->element != 1)
            return pg_parser_error_at(
                p, at.line, at.column,
                "a mask selects one byte (0xFF, 0xFF00, ...) of an address, for "
                "an element of 8 bits");
        pg_parser_advance(p);
        return put_address(p, init, offset, reloc) && pg_parser_expect(p, ')');
    }
    uint64_t bits = 0;
    return constant_bits(p, init, &c, &bits) && put(p, init, offset, bits);
}

/* Levels of braces: one for each dimension, one more for the elements of a vector. */
static uint32_t levels(const pg_ptx_var *v)
{
    return v->n_dims + (v->vector > 1);
}

/* One level of braces. `stride`: bytes of one entry of it. */
static bool parse_level(pg_parser *p, initializer *init, uint32_t level, uint64_t offset,
                        uint64_t stride)
{
    const pg_ptx_var *v = init->var;
    bool inner = level + 1 < levels(v);
    uint64_t n = level < v->n_dims ? v->dims[level] : v->vector; /* 0: as many as there are */
    if (!pg_parser_expect(p, '{'))
        return false;
    if (pg_parser_accept(p, '}'))
        return true;
    for (uint64_t i = 0;; i++, offset += stride) {
        if (n && i == n)
            return pg_parser_error(p, "more values than '%s' has elements", v->name);
        if (inner) {
            uint64_t entries = level + 1 < v->n_dims ? v->dims[level + 1] : v->vector;
            if (!parse_level(p, init, level + 1, offset, stride / entries))
                return false;
        } else if (!parse_value(p, init, offset)) {
            return false;
        }
        if (!pg_parser_accept(p, ','))
            return pg_parser_expect(p, '}');
    }
}

bool pg_parse_initializer(pg_parser *p, pg_ptx_var *var)
{
    initializer init = {.var = var,
                        .element = pg_type_table[var->type].bits / 8u,
                        .limit = var->size ? var->size : UINT64_MAX / 2,
                        .relocs = {.size = sizeof(pg_ptx_reloc)}};
    uint64_t stride = (uint64_t)init.element * (var->n_dims ? var->vector : 1u);
    for (uint32_t d = 1; d < var->n_dims; d++)
        stride *= var->dims[d];
    bool ok = levels(var) ? parse_level(p, &init, 0, 0, stride) : parse_value(p, &init, 0);
    if (!ok)
        return false;
    if (!var->size) { /* x[] = {...} */
        uint64_t n = (init.n + stride - 1) / stride;
        uint64_t *dims = pg_parser_alloc(p, var->n_dims, sizeof *dims);
        if (!dims)
            return false;
        memcpy(dims, var->dims, var->n_dims * sizeof *dims);
        dims[0] = n;
        var->dims = dims;
        var->size = n * stride;
    }
    uint8_t *bytes = pg_parser_alloc(p, init.n ? init.n : 1, 1);
    if (!bytes)
        return false;
    if (init.n)
        memcpy(bytes, init.bytes, init.n);
    p->init_bytes += init.n;
    var->init = bytes;
    var->n_init = init.n;
    var->n_relocs = init.relocs.count;
    var->relocs = pg_list_freeze(p, &init.relocs, 0);
    return p->fatal == PTXGEN_OK;
}
