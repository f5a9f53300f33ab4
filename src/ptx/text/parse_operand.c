/* Operands (PTX ISA chapter 6): what a name means is decided here; whether it fits the instruction, in match.c. */
#include "ptx/text/parser.h"

#include <string.h>

enum { LONGEST_QUOTE = 60, LONGEST_SPECIAL = 40 };

void pg_use_label(pg_parser *p, pg_str name, const pg_token *at, uint32_t *where)
{
    uint32_t key = pg_names_intern(&p->names, name);
    if (key == PG_NAME_NONE) {
        pg_parser_stop(p, PTXGEN_ENOMEM);
        return;
    }
    while (p->fn.waiting.count <= key && p->fatal == PTXGEN_OK)
        pg_list_add(p, &p->fn.waiting);
    if (p->fatal != PTXGEN_OK)
        return;
    uint32_t *newest = PG_LIST_AT(&p->fn.waiting, uint32_t, key);
    pg_label_use *use = pg_list_add(p, &p->fn.label_uses);
    *use = (pg_label_use){.where = where,
                          .name = name,
                          .key = key,
                          .next = *newest,
                          .line = at->line,
                          .column = at->column};
    *newest = p->fn.label_uses.count;
}

static bool unknown_name(pg_parser *p, const pg_token *at)
{
    int n = at->text.n < LONGEST_QUOTE ? (int)at->text.n : LONGEST_QUOTE;
    return pg_parser_error_at(p, at->line, at->column, "'%.*s' is not declared here", n,
                              at->text.p);
}

/* "%tid" with ".x" behind it, or "%laneid". The current token is the one behind the name. */
static bool special_register(pg_parser *p, const pg_token *name, pg_ptx_operand *out)
{
    char text[LONGEST_SPECIAL];
    size_t n = name->text.n;
    bool has_component = p->token.kind == PG_TOKEN_SUFFIX && p->token.text.n == 1;
    if (n + 3 > sizeof text || name->text.p[0] != '%')
        return unknown_name(p, name);
    memcpy(text, name->text.p, n);
    if (has_component) {
        text[n++] = '.';
        text[n++] = p->token.text.p[0];
    }
    for (uint32_t s = 0; s < PG_PTX_SPECIAL_COUNT; s++)
        if (pg_str_is((pg_str){text, n}, pg_ptx_special_name((pg_ptx_special)s))) {
            out->kind = PG_OPERAND_SPECIAL;
            out->index = s;
            if (has_component)
                pg_parser_advance(p);
            return true;
        }
    return unknown_name(p, name);
}

/* The elements pushed since `first` become the operand's. */
static bool take_elems(pg_parser *p, uint32_t first, pg_ptx_operand *out)
{
    out->n_elems = p->elems.count - first;
    out->elems = pg_list_freeze(p, &p->elems, first);
    p->elems.count = first;
    return p->fatal == PTXGEN_OK;
}

/* A register of a .v2 or .v4 declaration: whole, or one component (.x .y .z .w, .r .g .b .a). */
static bool vector_register(pg_parser *p, const pg_binding *b, uint32_t index, pg_ptx_operand *out)
{
    static const char components[] = "xyzwrgba";
    uint32_t vector = b->vector, first = p->elems.count;
    if (p->token.kind == PG_TOKEN_SUFFIX) {
        const char *c = p->token.text.n == 1 ? strchr(components, p->token.text.p[0]) : NULL;
        uint32_t n = c ? (uint32_t)(c - components) % 4 : vector;
        if (n >= vector)
            return pg_parser_unexpected(p, "a component of a vector register");
        out->kind = PG_OPERAND_REG;
        out->index = index + n;
        pg_parser_advance(p);
        return true;
    }
    out->kind = PG_OPERAND_VECTOR;
    for (uint32_t i = 0; i < vector; i++)
        *(pg_ptx_operand *)pg_list_add(p, &p->elems) =
            (pg_ptx_operand){.kind = PG_OPERAND_REG, .index = index + i, .column = out->column};
    return take_elems(p, first, out);
}

/* "+ 4", "+ -4" behind a name inside an address or behind a symbol. */
static bool parse_offset(pg_parser *p, pg_ptx_operand *out)
{
    int64_t v;
    if (!pg_parser_accept(p, '+'))
        return true;
    if (!pg_parse_integer(p, &v))
        return false;
    out->value = (uint64_t)v;
    return true;
}

/* A name in an operand. `offset`: a symbol may have one. */
static bool parse_named(pg_parser *p, pg_ptx_operand *out)
{
    static const uint8_t kinds[] = {
        [PG_BIND_REG] = PG_OPERAND_REG,     [PG_BIND_VAR] = PG_OPERAND_VAR,
        [PG_BIND_FUNC] = PG_OPERAND_FUNC,   [PG_BIND_LABEL] = PG_OPERAND_LABEL,
        [PG_BIND_TABLE] = PG_OPERAND_TABLE, [PG_BIND_PROTO] = PG_OPERAND_PROTO,
    };
    const pg_token name = p->token;
    uint32_t index;
    pg_parser_advance(p);
    if (name.text.n == 1 && name.text.p[0] == '_') {
        out->kind = PG_OPERAND_SINK;
        return true;
    }
    const pg_binding *b = pg_names_find(&p->names, name.text, &index);
    if (!b)
        return special_register(p, &name, out);
    if (b->kind == PG_BIND_LABEL)
        return pg_parser_error_at(
            p, name.line, name.column, "'%.*s' is a label: only bra and .branchtargets take one",
            (int)(name.text.n < LONGEST_QUOTE ? name.text.n : LONGEST_QUOTE), name.text.p);
    if (b->kind == PG_BIND_REG && b->vector > 1)
        return vector_register(p, b, index, out);
    out->kind = kinds[b->kind];
    out->index = index;
    return b->kind != PG_BIND_VAR || parse_offset(p, out);
}

static bool parse_immediate(pg_parser *p, pg_ptx_operand *out)
{
    pg_constant c;
    if (!pg_parse_constant(p, &c))
        return false;
    out->kind = PG_OPERAND_IMM;
    out->literal = (uint8_t)c.literal;
    out->value = c.value;
    return true;
}

/* An element of a vector, pair or list: a name or a constant. */
static bool parse_element(pg_parser *p, pg_ptx_operand *out)
{
    out->column = p->token.column;
    if (p->token.kind == PG_TOKEN_IDENT && !pg_parser_at_constant(p))
        return parse_named(p, out);
    return parse_immediate(p, out);
}

/* Elements up to `close`, from behind the opening bracket. */
static bool parse_elements(pg_parser *p, char close, pg_ptx_operand *out)
{
    uint32_t first = p->elems.count;
    if (!pg_parser_at(p, close)) {
        do {
            pg_ptx_operand e = {0};
            if (!parse_element(p, &e)) {
                p->elems.count = first;
                return false;
            }
            *(pg_ptx_operand *)pg_list_add(p, &p->elems) = e;
        } while (pg_parser_accept(p, ','));
    }
    return take_elems(p, first, out) && pg_parser_expect(p, close);
}

static bool parse_base(pg_parser *p, pg_ptx_operand *out)
{
    if (pg_parser_at_constant(p) || pg_parser_at(p, '(')) {
        int64_t v;
        out->base = PG_OPERAND_IMM;
        if (!pg_parse_integer(p, &v))
            return false;
        out->value = (uint64_t)v;
        return true;
    }
    if (p->token.kind != PG_TOKEN_IDENT)
        return pg_parser_unexpected(p, "a register, a variable or a constant");
    pg_token at = p->token;
    if (!parse_named(p, out))
        return false;
    if (out->kind != PG_OPERAND_REG && out->kind != PG_OPERAND_VAR)
        return pg_parser_error_at(p, at.line, at.column,
                                  "an address begins with a register or a variable");
    out->base = out->kind;
    if (pg_parser_at(p, '-'))
        return pg_parser_error(p, "PTX has no subtraction here: write [x+-4]");
    return out->kind == PG_OPERAND_VAR || parse_offset(p, out);
}

/* [base + offset], [base + offset, {c0, c1}] from behind the '['. */
static bool parse_address(pg_parser *p, pg_ptx_operand *out)
{
    uint32_t first = p->elems.count;
    bool ok = parse_base(p, out);
    out->kind = PG_OPERAND_ADDRESS;
    while (ok && pg_parser_accept(p, ',')) {
        pg_ptx_operand v = {.kind = PG_OPERAND_VECTOR, .column = p->token.column};
        ok = pg_parser_expect(p, '{') && parse_elements(p, '}', &v);
        *(pg_ptx_operand *)pg_list_add(p, &p->elems) = v;
    }
    if (!ok) {
        p->elems.count = first;
        return false;
    }
    if (!take_elems(p, first, out) || !pg_parser_expect(p, ']'))
        return false;
    pg_parser_accept_suffix(p, "unified"); /* a hint without meaning since sm_20 */
    return true;
}

/* p|q: the current token is the '|'. */
static bool parse_pair(pg_parser *p, pg_ptx_operand *out)
{
    uint32_t first = p->elems.count;
    *(pg_ptx_operand *)pg_list_add(p, &p->elems) = *out;
    pg_parser_advance(p);
    pg_ptx_operand second = {.column = p->token.column};
    if (p->token.kind != PG_TOKEN_IDENT) {
        p->elems.count = first;
        return pg_parser_unexpected(p, "a predicate register or _");
    }
    if (!parse_named(p, &second)) {
        p->elems.count = first;
        return false;
    }
    *(pg_ptx_operand *)pg_list_add(p, &p->elems) = second;
    *out = (pg_ptx_operand){.kind = PG_OPERAND_PAIR, .column = out->column};
    return take_elems(p, first, out);
}

/* !p, or a constant that begins with '!'. */
static bool parse_negated(pg_parser *p, pg_ptx_operand *out)
{
    pg_lexer before = p->lexer;
    pg_token mark = p->token;
    pg_parser_advance(p);
    if (p->token.kind == PG_TOKEN_IDENT && !pg_parser_at_constant(p)) {
        out->negated = true;
        return parse_named(p, out);
    }
    p->lexer = before;
    p->token = mark;
    return parse_immediate(p, out);
}

bool pg_parse_operand(pg_parser *p, const pg_spelling_entry *spelling, pg_ptx_operand *out)
{
    *out = (pg_ptx_operand){.column = p->token.column};
    if (p->token.kind == PG_TOKEN_IDENT) {
        if (spelling->takes_label) {
            out->kind = PG_OPERAND_LABEL; /* the caller records the use */
            return true;
        }
        if (pg_parser_at_constant(p))
            return parse_immediate(p, out);
        return parse_named(p, out) && (!pg_parser_at(p, '|') || parse_pair(p, out));
    }
    if (p->token.kind == PG_TOKEN_PUNCT) {
        switch (p->token.value) {
        case '{':
            pg_parser_advance(p);
            out->kind = PG_OPERAND_VECTOR;
            return parse_elements(p, '}', out);
        case '[':
            pg_parser_advance(p);
            return parse_address(p, out);
        case '!':
            return parse_negated(p, out);
        case '(':
            if (!spelling->is_call)
                break;
            pg_parser_advance(p);
            out->kind = PG_OPERAND_LIST;
            return parse_elements(p, ')', out);
        default:
            break;
        }
    }
    if (pg_parser_at_constant(p) || pg_parser_at(p, '('))
        return parse_immediate(p, out);
    return pg_parser_unexpected(p, "an operand");
}

bool pg_parse_guard(pg_parser *p, int32_t *reg, bool *negated)
{
    *negated = pg_parser_accept(p, '!');
    const pg_token at = p->token;
    pg_ptx_operand o = {.column = at.column};
    if (at.kind != PG_TOKEN_IDENT)
        return pg_parser_unexpected(p, "a predicate register");
    if (!parse_named(p, &o))
        return false;
    if (o.kind != PG_OPERAND_REG || *PG_LIST_AT(&p->fn.reg_types, uint8_t, o.index) != PG_T_PRED)
        return pg_parser_error_at(p, at.line, at.column, "a guard must be a predicate register");
    *reg = (int32_t)o.index;
    return true;
}
