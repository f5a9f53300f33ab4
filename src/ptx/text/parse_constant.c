/* Constant expressions (PTX ISA 4.5): C's operators on 64-bit integers, decimal and hexadecimal
 * floats with an optional sign. Integers are signed unless they exceed the signed range, which
 * matters only to / % >> and the comparisons; as in ptxas, all but a cast to .u64 count as
 * signed. */
#include "ptx/text/parser.h"

enum { MAX_DEPTH = 64 };

typedef struct expression {
    pg_parser *p;
    unsigned depth;
} expression;

typedef struct number {
    uint64_t v;
    bool is_unsigned;
} number;

typedef struct binary_operator {
    uint64_t token;
    int precedence; /* larger binds tighter */
} binary_operator;

static const binary_operator operators[] = {
    {PG_PUNCT2('|', '|'), 1},
    {PG_PUNCT2('&', '&'), 2},
    {'|', 3},
    {'^', 4},
    {'&', 5},
    {PG_PUNCT2('=', '='), 6},
    {PG_PUNCT2('!', '='), 6},
    {'<', 7},
    {'>', 7},
    {PG_PUNCT2('<', '='), 7},
    {PG_PUNCT2('>', '='), 7},
    {PG_PUNCT2('<', '<'), 8},
    {PG_PUNCT2('>', '>'), 8},
    {'+', 9},
    {'-', 9},
    {'*', 10},
    {'/', 10},
    {'%', 10},
};

static bool conditional(expression *e, number *out);

static bool is_cast(const pg_parser *p)
{
    return pg_parser_at_suffix(p, "s64") || pg_parser_at_suffix(p, "u64");
}

static bool primary(expression *e, number *out)
{
    pg_parser *p = e->p;
    if (p->token.kind == PG_TOKEN_INT) {
        *out = (number){p->token.value, p->token.value > INT64_MAX};
        pg_parser_advance(p);
        return true;
    }
    if (p->token.kind == PG_TOKEN_IDENT && pg_str_is(p->token.text, "WARP_SZ")) {
        *out = (number){32, false};
        pg_parser_advance(p);
        return true;
    }
    if (!pg_parser_accept(p, '('))
        return pg_parser_unexpected(p, "an integer constant");
    return conditional(e, out) && pg_parser_expect(p, ')');
}

static bool unary(expression *e, number *out)
{
    pg_parser *p = e->p;
    if (e->depth >= MAX_DEPTH)
        return pg_parser_error(p, "a constant expression nested deeper than %d", MAX_DEPTH);
    e->depth++;
    uint64_t sign = p->token.kind == PG_TOKEN_PUNCT ? p->token.value : 0;
    bool ok;
    if (sign == '-' || sign == '+' || sign == '!' || sign == '~') {
        pg_parser_advance(p);
        ok = unary(e, out);
        if (sign == '-')
            out->v = 0 - out->v;
        else if (sign == '!')
            *out = (number){!out->v, false};
        else if (sign == '~')
            out->v = ~out->v;
    } else if (sign == '(') {
        pg_parser_advance(p);
        if (is_cast(p)) {
            bool is_unsigned = p->token.text.p[0] == 'u';
            pg_parser_advance(p);
            ok = pg_parser_expect(p, ')') && unary(e, out);
            out->is_unsigned = is_unsigned;
        } else {
            ok = conditional(e, out) && pg_parser_expect(p, ')');
        }
    } else {
        ok = primary(e, out);
    }
    e->depth--;
    return ok;
}

static const binary_operator *find_operator(const pg_token *t)
{
    for (size_t i = 0; t->kind == PG_TOKEN_PUNCT && i < sizeof operators / sizeof *operators; i++)
        if (operators[i].token == t->value)
            return &operators[i];
    return NULL;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_unsigned, bool remainder)
{
    if (is_unsigned)
        return remainder ? a % b : a / b;
    if ((int64_t)b == -1) /* INT64_MIN / -1 would trap */
        return remainder ? 0 : 0 - a;
    return (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shift(uint64_t a, uint64_t n, bool left, bool is_unsigned)
{
    if (n > 63)
        return left || is_unsigned || (int64_t)a >= 0 ? 0 : UINT64_MAX;
    if (left)
        return a << n;
    return is_unsigned ? a >> n : (uint64_t)((int64_t)a >> n);
}

static bool less(number a, number b)
{
    return a.is_unsigned || b.is_unsigned ? a.v < b.v : (int64_t)a.v < (int64_t)b.v;
}

static number combine(uint64_t token, number a, number b)
{
    bool u = a.is_unsigned || b.is_unsigned;
    switch (token) {
    case PG_PUNCT2('|', '|'):
        return (number){a.v || b.v, false};
    case PG_PUNCT2('&', '&'):
        return (number){a.v && b.v, false};
    case PG_PUNCT2('=', '='):
        return (number){a.v == b.v, false};
    case PG_PUNCT2('!', '='):
        return (number){a.v != b.v, false};
    case '<':
        return (number){less(a, b), false};
    case '>':
        return (number){less(b, a), false};
    case PG_PUNCT2('<', '='):
        return (number){!less(b, a), false};
    case PG_PUNCT2('>', '='):
        return (number){!less(a, b), false};
    case PG_PUNCT2('<', '<'):
        return (number){shift(a.v, b.v, true, a.is_unsigned), a.is_unsigned};
    case PG_PUNCT2('>', '>'):
        return (number){shift(a.v, b.v, false, a.is_unsigned), a.is_unsigned};
    case '|':
        return (number){a.v | b.v, u};
    case '^':
        return (number){a.v ^ b.v, u};
    case '&':
        return (number){a.v & b.v, u};
    case '+':
        return (number){a.v + b.v, u};
    case '-':
        return (number){a.v - b.v, u};
    case '*':
        return (number){a.v * b.v, u};
    default:
        return (number){divide(a.v, b.v, u, token == '%'), u};
    }
}

/* Operators of at least this precedence, by climbing. */
static bool binary(expression *e, int precedence, number *out)
{
    pg_parser *p = e->p;
    if (!unary(e, out))
        return false;
    const binary_operator *o;
    while ((o = find_operator(&p->token)) && o->precedence >= precedence) {
        pg_token at = p->token;
        number right;
        pg_parser_advance(p);
        if (!binary(e, o->precedence + 1, &right))
            return false;
        if ((o->token == '/' || o->token == '%') && !right.v)
            return pg_parser_error_at(p, at.line, at.column, "division by zero in a constant");
        *out = combine(o->token, *out, right);
    }
    return true;
}

static bool conditional(expression *e, number *out)
{
    pg_parser *p = e->p;
    if (e->depth >= MAX_DEPTH)
        return pg_parser_error(p, "a constant expression nested deeper than %d", MAX_DEPTH);
    e->depth++;
    number yes, no;
    bool ok = binary(e, 1, out);
    if (ok && pg_parser_accept(p, '?')) {
        ok = conditional(e, &yes) && pg_parser_expect(p, ':') && conditional(e, &no);
        if (ok)
            *out = out->v ? yes : no;
    }
    e->depth--;
    return ok;
}

bool pg_parse_integer(pg_parser *p, int64_t *out)
{
    expression e = {.p = p};
    number n;
    if (!conditional(&e, &n))
        return false;
    *out = (int64_t)n.v;
    return true;
}

bool pg_parser_uint(pg_parser *p, uint64_t limit, uint64_t *value)
{
    pg_token at = p->token;
    int64_t v;
    if (!pg_parse_integer(p, &v))
        return false;
    if (v < 0 || (uint64_t)v > limit)
        return pg_parser_error_at(p, at.line, at.column, "%lld is not in 0 .. %llu", (long long)v,
                                  (unsigned long long)limit);
    *value = (uint64_t)v;
    return true;
}

bool pg_parser_at_constant(const pg_parser *p)
{
    switch (p->token.kind) {
    case PG_TOKEN_INT:
    case PG_TOKEN_F32:
    case PG_TOKEN_F64:
        return true;
    case PG_TOKEN_SUFFIX:
        return p->token.text.p[0] >= '0' && p->token.text.p[0] <= '9';
    case PG_TOKEN_IDENT:
        return pg_str_is(p->token.text, "WARP_SZ");
    case PG_TOKEN_PUNCT:
        return p->token.value == '-' || p->token.value == '~' || p->token.value == '+';
    default:
        return false;
    }
}

/* ".5": the lexer takes the dot for that of a suffix. */
static void lex_fraction(pg_parser *p)
{
    if (p->token.kind != PG_TOKEN_SUFFIX)
        return;
    p->lexer.p = p->token.text.p - 1;
    pg_lexer_fraction(&p->lexer, &p->token);
}

bool pg_parse_constant(pg_parser *p, pg_constant *out)
{
    const uint64_t sign_bit = 1ull << 63;
    bool negative = false;
    lex_fraction(p);
    if (pg_parser_at(p, '-')) {
        /* A minus before a float is a sign, before an integer an operator. */
        pg_lexer before = p->lexer;
        pg_token minus = p->token;
        pg_parser_advance(p);
        lex_fraction(p);
        negative = p->token.kind == PG_TOKEN_F64;
        if (!negative) {
            p->lexer = before;
            p->token = minus;
        }
    }
    if (p->token.kind == PG_TOKEN_F32 || p->token.kind == PG_TOKEN_F64) {
        out->literal = p->token.kind == PG_TOKEN_F32 ? PG_LITERAL_F32 : PG_LITERAL_F64;
        out->value = p->token.value ^ (negative ? sign_bit : 0);
        pg_parser_advance(p);
        return true;
    }
    int64_t v;
    if (!pg_parse_integer(p, &v))
        return false;
    *out = (pg_constant){PG_LITERAL_INT, (uint64_t)v};
    return true;
}
