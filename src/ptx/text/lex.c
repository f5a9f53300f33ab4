/* Bytes to tokens (PTX ISA section 4). One table of character classes; comments and white space
 * are dropped. */
#include "ptx/text/lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME = 1,   /* may stand in a name: letters, digits, _ $ */
    START = 2,  /* may start one: letters, _ $ % */
    DIGIT = 4,  /* 0-9 */
    HEX = 8,    /* 0-9 a-f A-F */
    BLANK = 16, /* space, tab, CR, form feed, vertical tab */
    LONGEST_FLOAT = 1000
};

#define D (NAME | DIGIT | HEX)
#define A (NAME | START | HEX)
#define L (NAME | START)
static const uint8_t class_of[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\f'] = BLANK, ['\v'] = BLANK, ['0'] = D,
    ['1'] = D,     ['2'] = D,      ['3'] = D,      ['4'] = D,      ['5'] = D,      ['6'] = D,
    ['7'] = D,     ['8'] = D,      ['9'] = D,      ['%'] = START,  ['a'] = A,      ['b'] = A,
    ['c'] = A,     ['d'] = A,      ['e'] = A,      ['f'] = A,      ['A'] = A,      ['B'] = A,
    ['C'] = A,     ['D'] = A,      ['E'] = A,      ['F'] = A,      ['g'] = L,      ['h'] = L,
    ['i'] = L,     ['j'] = L,      ['k'] = L,      ['l'] = L,      ['m'] = L,      ['n'] = L,
    ['o'] = L,     ['p'] = L,      ['q'] = L,      ['r'] = L,      ['s'] = L,      ['t'] = L,
    ['u'] = L,     ['v'] = L,      ['w'] = L,      ['x'] = L,      ['y'] = L,      ['z'] = L,
    ['G'] = L,     ['H'] = L,      ['I'] = L,      ['J'] = L,      ['K'] = L,      ['L'] = L,
    ['M'] = L,     ['N'] = L,      ['O'] = L,      ['P'] = L,      ['Q'] = L,      ['R'] = L,
    ['S'] = L,     ['T'] = L,      ['U'] = L,      ['V'] = L,      ['W'] = L,      ['X'] = L,
    ['Y'] = L,     ['Z'] = L,      ['_'] = L,      ['$'] = L,
};
#undef D
#undef A
#undef L

static int is(char c, int classes)
{
    return class_of[(unsigned char)c] & classes;
}

int pg_lex_is_name(char c)
{
    return is(c, NAME) != 0;
}

int pg_lex_is_name_start(char c)
{
    return is(c, START) != 0;
}

void pg_lexer_init(pg_lexer *x, const char *text, size_t len)
{
    *x = (pg_lexer){.p = text, .end = text + len, .line_start = text, .line = 1};
}

static void new_line(pg_lexer *x)
{
    x->line++;
    x->line_start = x->p;
}

void pg_lexer_skip_line(pg_lexer *x)
{
    const char *nl = memchr(x->p, '\n', (size_t)(x->end - x->p));
    x->p = nl ? nl + 1 : x->end;
    if (nl)
        new_line(x);
}

static void skip_block_comment(pg_lexer *x)
{
    x->p += 2;
    while (x->p < x->end) {
        char c = *x->p++;
        if (c == '\n')
            new_line(x);
        else if (c == '*' && x->p < x->end && *x->p == '/') {
            x->p++;
            return;
        }
    }
}

static void skip_blanks(pg_lexer *x)
{
    while (x->p < x->end) {
        char c = *x->p;
        if (is(c, BLANK)) {
            x->p++;
        } else if (c == '\n') {
            x->p++;
            new_line(x);
        } else if (c == '/' && x->end - x->p > 1 && x->p[1] == '/') {
            pg_lexer_skip_line(x);
        } else if (c == '/' && x->end - x->p > 1 && x->p[1] == '*') {
            skip_block_comment(x);
        } else {
            return;
        }
    }
}

/* The end of [A-Za-z0-9_$]* with "::" between words; a single ':' ends it (a label). */
static const char *suffix_end(const char *p, const char *end)
{
    for (;;) {
        while (p < end && is(*p, NAME))
            p++;
        if (end - p > 2 && p[0] == ':' && p[1] == ':' && is(p[2], NAME))
            p += 2;
        else
            return p;
    }
}

static void finish(pg_lexer *x, pg_token *t, pg_token_kind kind, const char *end)
{
    t->kind = kind;
    t->text.n = (size_t)(end - t->text.p);
    x->p = end;
}

static void bad(pg_lexer *x, pg_token *t, const char *end, const char *why)
{
    t->why = why;
    finish(x, t, PG_TOKEN_BAD, end);
}

static unsigned digit_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a' + 10);
}

/* 0f and 0d literals: exactly 8 or 16 hexadecimal digits. */
static void lex_hex_float(pg_lexer *x, pg_token *t, int digits)
{
    const char *p = x->p + 2;
    uint64_t v = 0;
    for (int i = 0; i < digits; i++, p++) {
        if (p >= x->end || !is(*p, HEX)) {
            bad(x, t, p,
                digits == 8 ? "0f needs exactly 8 hexadecimal digits"
                            : "0d needs exactly 16 hexadecimal digits");
            return;
        }
        v = v << 4 | digit_value(*p);
    }
    if (p < x->end && is(*p, NAME)) {
        bad(x, t, suffix_end(p, x->end), "too many digits in a 0f or 0d literal");
        return;
    }
    t->value = v;
    finish(x, t, digits == 8 ? PG_TOKEN_F32 : PG_TOKEN_F64, p);
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is(*p, DIGIT))
        p++;
    return p;
}

/* The end of the exponent at p ("e+5"), or p if there is none. */
static const char *exponent_end(const char *p, const char *end)
{
    if (p >= end || (*p | 32) != 'e')
        return p;
    const char *q = p + 1;
    if (q < end && (*q == '+' || *q == '-'))
        q++;
    return q < end && is(*q, DIGIT) ? skip_digits(q, end) : p;
}

static void lex_decimal_float(pg_lexer *x, pg_token *t, const char *end)
{
    char copy[LONGEST_FLOAT + 1];
    size_t n = (size_t)(end - t->text.p);
    if (n > LONGEST_FLOAT) {
        bad(x, t, end, "a floating-point literal of more than 1000 characters");
        return;
    }
    memcpy(copy, t->text.p, n);
    copy[n] = 0;
    /* The C locale, whatever the process has set: the decimal point must stay a point. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) {
        bad(x, t, end, "no C locale to read a floating-point literal with");
        return;
    }
    double d = strtod_l(copy, NULL, c_locale);
    freelocale(c_locale);
    memcpy(&t->value, &d, sizeof d);
    finish(x, t, PG_TOKEN_F64, end);
}

/* Integer of the given base at p; an optional U ends it. */
static void lex_integer(pg_lexer *x, pg_token *t, const char *p, unsigned base)
{
    uint64_t v = 0;
    const char *first = p;
    for (; p < x->end && is(*p, HEX) && digit_value(*p) < base; p++) {
        if (v > (UINT64_MAX - digit_value(*p)) / base) {
            bad(x, t, suffix_end(p, x->end), "an integer that does not fit 64 bits");
            return;
        }
        v = v * base + digit_value(*p);
    }
    bool empty = p == first;
    if (p < x->end && (*p | 32) == 'u')
        p++;
    if (empty || (p < x->end && is(*p, NAME))) {
        bad(x, t, suffix_end(p, x->end), "not a number");
        return;
    }
    t->value = v;
    finish(x, t, PG_TOKEN_INT, p);
}

static void lex_number(pg_lexer *x, pg_token *t)
{
    char second = x->end - x->p > 1 ? (char)(x->p[1] | 32) : 0;
    if (*x->p == '0' && (second == 'f' || second == 'd')) {
        lex_hex_float(x, t, second == 'f' ? 8 : 16);
        return;
    }
    if (*x->p == '0' && (second == 'x' || second == 'b')) {
        lex_integer(x, t, x->p + 2, second == 'x' ? 16 : 2);
        return;
    }
    const char *whole = skip_digits(x->p, x->end);
    const char *fraction = whole < x->end && *whole == '.' ? skip_digits(whole + 1, x->end) : whole;
    const char *end = exponent_end(fraction, x->end);
    if (end != whole)
        lex_decimal_float(x, t, end);
    else
        lex_integer(x, t, x->p, *x->p == '0' ? 8 : 10);
}

void pg_lexer_fraction(pg_lexer *x, pg_token *t)
{
    *t = (pg_token){
        .text = {x->p, 0}, .line = t->line, .column = (uint32_t)(x->p - x->line_start) + 1};
    const char *end = exponent_end(skip_digits(x->p + 1, x->end), x->end);
    if (end < x->end && is(*end, NAME))
        bad(x, t, suffix_end(end, x->end), "not a number");
    else
        lex_decimal_float(x, t, end);
}

static void lex_string(pg_lexer *x, pg_token *t)
{
    const char *p = x->p + 1;
    while (p < x->end && *p != '"' && *p != '\n')
        p += *p == '\\' && x->end - p > 1 && p[1] != '\n' ? 2 : 1;
    if (p >= x->end || *p != '"') {
        bad(x, t, p < x->end ? p : x->end, "a string without its closing quote");
        return;
    }
    t->text.p++;
    finish(x, t, PG_TOKEN_STRING, p);
    x->p = p + 1;
}

static void lex_punctuation(pg_lexer *x, pg_token *t)
{
    static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    char c = x->p[0], d = x->end - x->p > 1 ? x->p[1] : 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == c && pairs[i][1] == d) {
            t->value = PG_PUNCT2(c, d);
            finish(x, t, PG_TOKEN_PUNCT, x->p + 2);
            return;
        }
    t->value = (unsigned char)c;
    if (c && strchr("{}[]();,:@!=<>|&^~+-*/%?", c))
        finish(x, t, PG_TOKEN_PUNCT, x->p + 1);
    else
        bad(x, t, x->p + 1, "a character that PTX does not use");
}

void pg_lexer_next(pg_lexer *x, pg_token *t)
{
    skip_blanks(x);
    const char *p = x->p;
    *t = (pg_token){.text = {p, 0}, .line = x->line, .column = (uint32_t)(p - x->line_start) + 1};
    if (p >= x->end) {
        t->kind = PG_TOKEN_END;
        return;
    }
    /* '%' alone is the remainder operator; a name starts with it only before a name character. */
    if (is(*p, START) && (*p != '%' || (x->end - p > 1 && is(p[1], NAME)))) {
        for (p++; p < x->end && is(*p, NAME); p++)
            ;
        finish(x, t, PG_TOKEN_IDENT, p);
    } else if (is(*p, DIGIT)) {
        lex_number(x, t);
    } else if (*p == '.') {
        t->text.p++;
        p = suffix_end(p + 1, x->end);
        if (p == t->text.p)
            bad(x, t, p, "a dot with no word after it");
        else
            finish(x, t, PG_TOKEN_SUFFIX, p);
    } else if (*p == '"') {
        lex_string(x, t);
    } else {
        lex_punctuation(x, t);
    }
}

void pg_lexer_extend_opcode(pg_lexer *x, pg_token *ident)
{
    const char *p = x->p;
    while (x->end - p > 1 && *p == '.' && is(p[1], NAME))
        p = suffix_end(p + 1, x->end);
    ident->text.n = (size_t)(p - ident->text.p);
    x->p = p;
}
