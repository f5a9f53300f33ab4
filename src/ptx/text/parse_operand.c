/* Operands (PTX ISA chapter 6): what a name means is decided here; whether it fits the
 * instruction, in match.c. */
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

/* The elements pushed since `first` become the operand's. */
static bool take_elems(pg_parser *p, uint32_t first, pg_ptx_operand *out)
{
    out->n_elems = p->elems.count - first;
    out->elems = pg_list_freeze(p, &p->elems, first);
    p->elems.count = first;
    return p->fatal == PTXGEN_OK;
}

/* The special register of this name, with the component "x" behind it (0: none); else
 * PG_PTX_SPECIAL_COUNT. */
static uint32_t find_special(pg_str name, char component)
{
    char text[LONGEST_SPECIAL];
    size_t n = name.n;
    if (n + 3 > sizeof text || name.p[0] != '%')
        return PG_PTX_SPECIAL_COUNT;
    memcpy(text, name.p, n);
    if (component) {
        text[n++] = '.';
        text[n++] = component;
    }
    uint32_t s = 0;
    while (s < PG_PTX_SPECIAL_COUNT &&
           !pg_str_is((pg_str){text, n}, pg_ptx_special_name((pg_ptx_special)s)))
        s++;
    return s;
}

/* "%tid" whole: its three components, and a fourth that is 0 (PTX ISA 10). `first`: the number
 * of "%tid.x". */
static bool special_vector(pg_parser *p, uint32_t first_special, pg_ptx_operand *out)
{
    const uint32_t first = p->elems.count;
    out->kind = PG_OPERAND_VECTOR;
    out->index = 0;
    for (uint32_t i = 0; i < 3; i++)
        *(pg_ptx_operand *)pg_list_add(p, &p->elems) = (pg_ptx_operand){
            .kind = PG_OPERAND_SPECIAL, .index = first_special + i, .column = out->column};
    *(pg_ptx_operand *)pg_list_add(p, &p->elems) =
        (pg_ptx_operand){.kind = PG_OPERAND_IMM, .column = out->column};
    return take_elems(p, first, out);
}

/* "%laneid", "%tid.x", or "%tid" whole. The current token is the one behind the name. */
static bool special_register(pg_parser *p, const pg_token *name, pg_ptx_operand *out)
{
    const bool has_component = p->token.kind == PG_TOKEN_SUFFIX && p->token.text.n == 1;
    const char component = has_component ? p->token.text.p[0] : 0;
    const uint32_t x = find_special(name->text, 'x');
    out->kind = PG_OPERAND_SPECIAL;
    out->index = find_special(name->text, component);
    if (out->index == PG_PTX_SPECIAL_COUNT && x < PG_PTX_SPECIAL_COUNT && !has_component)
        return special_vector(p, x, out);
    if (out->index == PG_PTX_SPECIAL_COUNT && x < PG_PTX_SPECIAL_COUNT && component == 'w')
        *out = (pg_ptx_operand){.kind = PG_OPERAND_IMM, .column = out->column};
    else if (out->index == PG_PTX_SPECIAL_COUNT)
        return unknown_name(p, name);
    if (has_component)
        pg_parser_advance(p);
    return true;
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

/* ".b1", ".h10", ".b7654" behind a register: the part that a video instruction takes. */
static void accept_selector(pg_parser *p, pg_ptx_operand *out)
{
    const pg_str text = p->token.text;
    if (p->token.kind != PG_TOKEN_SUFFIX || text.n < 2 || text.n > 5 ||
        (text.p[0] != 'b' && text.p[0] != 'h'))
        return;
    uint64_t digits = 0;
    for (size_t i = 1; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '7')
            return;
        digits = digits << 4 | (uint64_t)(text.p[i] - '0');
    }
    out->value |= digits | (uint64_t)(text.n - 1) << PG_SELECT_COUNT_SHIFT |
                  (text.p[0] == 'h' ? PG_SELECT_HALVES : 0);
    pg_parser_advance(p);
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
    if (b->kind == PG_BIND_REG)
        accept_selector(p, out);
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
    const bool part = out->kind == PG_OPERAND_REG && out->value;
    if (part || (out->kind != PG_OPERAND_REG && out->kind != PG_OPERAND_VAR))
        return pg_parser_error_at(p, at.line, at.column,
                                  "an address begins with a register or a variable");
    out->base = out->kind;
    if (pg_parser_at(p, '-'))
        return pg_parser_error(p, "PTX has no subtraction here: write [x+-4]");
    return out->kind == PG_OPERAND_VAR || parse_offset(p, out);
}

/* [base + offset], [base + offset, {c0, c1}], [texture, sampler, {c0}] from behind the '['. */
static bool parse_address(pg_parser *p, pg_ptx_operand *out)
{
    uint32_t first = p->elems.count;
    bool ok = parse_base(p, out);
    out->kind = PG_OPERAND_ADDRESS;
    while (ok && pg_parser_accept(p, ',')) {
        pg_ptx_operand v = {.kind = PG_OPERAND_VECTOR, .column = p->token.column};
        if (p->token.kind == PG_TOKEN_IDENT) /* a sampler, or a coordinate alone */
            ok = parse_element(p, &v);
        else
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

/* -r, which vmad takes, or a constant that begins with '-'. */
static bool parse_minus(pg_parser *p, pg_ptx_operand *out)
{
    const pg_lexer before = p->lexer;
    const pg_token mark = p->token;
    pg_parser_advance(p);
    if (p->token.kind == PG_TOKEN_IDENT && !pg_parser_at_constant(p)) {
        const bool ok = parse_named(p, out);
        if (ok && out->kind != PG_OPERAND_REG)
            return pg_parser_error_at(p, mark.line, mark.column, "only a register can be negated");
        out->value |= PG_SELECT_NEGATED;
        return ok;
    }
    p->lexer = before;
    p->token = mark;
    return parse_immediate(p, out);
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

/* The register that holds reg + value: a new one, and an instruction before the current one that
 * fills it. */
static bool add_before(pg_parser *p, pg_ptx_operand *reg, int64_t value)
{
    const pg_ptx_type type = *PG_LIST_AT(&p->fn.reg_types, uint8_t, reg->index);
    const pg_ptx_type_class class = pg_ptx_type_class_of(type);
    const unsigned bits = pg_ptx_type_bits(type);
    const char *spelling = bits == 16 ? "add.u16" : bits == 32 ? "add.u32" : "add.u64";
    const pg_unique_name what = {.is_range = false};
    const char *name = pg_names_unique(&p->names, p->arena, pg_str_of("%sum"), &what);
    if (bits < 16 || bits > 64 || class == PG_CLASS_FLOAT || class == PG_CLASS_PACKED)
        return pg_parser_error_at(p, p->token.line, reg->column,
                                  "only an integer register can have a constant added to it");
    const pg_ptx_operand sum = {
        .kind = PG_OPERAND_REG, .index = p->fn.reg_types.count, .column = reg->column};
    const pg_ptx_operand operands[3] = {
        sum, *reg, {.kind = PG_OPERAND_IMM, .value = (uint64_t)value, .column = reg->column}};
    *(uint8_t *)pg_list_add(p, &p->fn.reg_types) = (uint8_t)type;
    *(pg_ptx_reg_decl *)pg_list_add(p, &p->fn.reg_decls) = (pg_ptx_reg_decl){
        .name = name, .type = (uint8_t)type, .vector = 1, .count = 1, .first = sum.index};
    const pg_spelling_entry *e = pg_find_spelling(p, pg_str_of(spelling));
    pg_ptx_insn insn = {.guard = PG_PTX_NO_REG,
                        .line = p->token.line,
                        .column = reg->column,
                        .span = {p->begin, p->begin}};
    if (!e || !name || !pg_match_operands(p, e, operands, 3, &insn))
        return false;
    insn.loc = p->fn.loc;
    *(pg_ptx_insn *)pg_list_add(p, &p->fn.code) = insn;
    *reg = sum;
    return p->fatal == PTXGEN_OK;
}

/* "r + 4" as a source: what ptxas takes wherever a register may stand, though the ISA knows it
 * in addresses only. */
static bool parse_sum(pg_parser *p, pg_ptx_operand *out)
{
    int64_t value;
    if (out->kind != PG_OPERAND_REG || out->negated || !pg_parser_accept(p, '+'))
        return true;
    return pg_parse_integer(p, &value) && add_before(p, out, value);
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
        return parse_named(p, out) && (spelling->is_parts || parse_sum(p, out)) &&
               (!pg_parser_at(p, '|') || parse_pair(p, out));
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
        case '-':
            return parse_minus(p, out);
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
