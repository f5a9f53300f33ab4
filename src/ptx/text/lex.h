/* PTX tokens. The lexer never allocates and never fails: what is no token becomes PG_TOKEN_BAD,
 * and the end of the text repeats PG_TOKEN_END. Tokens borrow from the text. */
#ifndef PG_PTX_LEX_H
#define PG_PTX_LEX_H

#include "base/str.h"

#include <stdint.h>

typedef enum pg_token_kind {
    PG_TOKEN_END,
    PG_TOKEN_BAD,    /* a character or literal that PTX does not have; text says which */
    PG_TOKEN_IDENT,  /* %r1, $L__BB0_1, add */
    PG_TOKEN_SUFFIX, /* .u32, .shared::cta, .2d: text without the dot */
    PG_TOKEN_INT,    /* value */
    PG_TOKEN_F32,    /* 0fXXXXXXXX: value holds the bits */
    PG_TOKEN_F64,    /* 0dXXXXXXXXXXXXXXXX or decimal: value holds the bits of the double */
    PG_TOKEN_STRING, /* text without the quotes, escapes untouched */
    PG_TOKEN_PUNCT   /* one or two characters, as number in value: '+', PG_PUNCT2('<', '<') */
} pg_token_kind;

#define PG_PUNCT2(a, b) ((uint64_t)(a) << 8 | (uint64_t)(b))

typedef struct pg_token {
    pg_token_kind kind;
    pg_str text;
    uint64_t value;
    const char *why; /* BAD: what is wrong */
    uint32_t line, column;
} pg_token;

typedef struct pg_lexer {
    const char *p, *end, *line_start;
    uint32_t line;
} pg_lexer;

void pg_lexer_init(pg_lexer *lexer, const char *text, size_t len);
void pg_lexer_next(pg_lexer *lexer, pg_token *token);
/* After an IDENT: extends it over the ".word" suffixes that follow without a space:
 * "add.rn.f32". */
void pg_lexer_extend_opcode(pg_lexer *lexer, pg_token *ident);
/* At a '.' that begins a decimal fraction (".5"): lexes it as F64. */
void pg_lexer_fraction(pg_lexer *lexer, pg_token *token);
/* Skips to behind the next line break. */
void pg_lexer_skip_line(pg_lexer *lexer);

/* Whether c may stand in a name, and whether it may start one. */
int pg_lex_is_name(char c);
int pg_lex_is_name_start(char c);

#endif
