/* Tokens, diagnostics and growing arrays of the parser. Once a parse stops for good (memory, a
 * budget, too many errors) the current token is the end of the text for ever, so that all loops
 * end by themselves. */
#include "ptx/text/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_QUOTE = 60 };

void pg_parser_advance(pg_parser *p)
{
    if (p->fatal != PTXGEN_OK)
        return;
    p->end = (uint32_t)(p->lexer.p - p->text);
    pg_lexer_next(&p->lexer, &p->token);
}

uint32_t pg_parser_offset(const pg_parser *p)
{
    if (p->token.kind == PG_TOKEN_END)
        return (uint32_t)(p->lexer.end - p->text);
    /* The text of a suffix is without its dot. */
    return (uint32_t)(p->token.text.p - p->text) - (p->token.kind == PG_TOKEN_SUFFIX);
}

pg_ptx_span pg_parser_span(const pg_parser *p)
{
    const uint32_t at = pg_parser_offset(p);
    return (pg_ptx_span){p->begin, p->token.kind == PG_TOKEN_END ? at : at + 1};
}

void pg_parser_stop(pg_parser *p, ptxgen_status status)
{
    if (p->fatal == PTXGEN_OK)
        p->fatal = status;
    p->lexer.p = p->lexer.end;
    p->token.kind = PG_TOKEN_END;
    p->token.text.n = 0;
}

static void report(pg_parser *p, pg_ptx_diagnostic d, const char *format, va_list args)
{
    char text[512];
    if (p->diagnostics.count < p->options.max_diagnostics) {
        vsnprintf(text, sizeof text, format, args);
        d.message = pg_parser_copy(p, pg_str_of(text));
        if (d.message)
            *(pg_ptx_diagnostic *)pg_list_add(p, &p->diagnostics) = d;
    }
    if (d.severity == PG_PTX_ERROR && ++p->n_errors >= p->options.max_diagnostics)
        pg_parser_stop(p, PTXGEN_EPARSE);
}

bool pg_parser_error_at(pg_parser *p, uint32_t line, uint32_t column, const char *format, ...)
{
    if (p->fatal != PTXGEN_OK)
        return false;
    va_list args;
    va_start(args, format);
    report(p, (pg_ptx_diagnostic){PG_PTX_ERROR, line, column, NULL}, format, args);
    va_end(args);
    return false;
}

bool pg_parser_error(pg_parser *p, const char *format, ...)
{
    if (p->fatal != PTXGEN_OK)
        return false;
    va_list args;
    va_start(args, format);
    report(p, (pg_ptx_diagnostic){PG_PTX_ERROR, p->token.line, p->token.column, NULL}, format,
           args);
    va_end(args);
    return false;
}

void pg_parser_warn(pg_parser *p, uint32_t line, uint32_t column, const char *format, ...)
{
    if (p->fatal != PTXGEN_OK)
        return;
    va_list args;
    va_start(args, format);
    report(p, (pg_ptx_diagnostic){PG_PTX_WARNING, line, column, NULL}, format, args);
    va_end(args);
}

bool pg_parser_unexpected(pg_parser *p, const char *what)
{
    const pg_token *t = &p->token;
    int n = t->text.n < LONGEST_QUOTE ? (int)t->text.n : LONGEST_QUOTE;
    if (t->kind == PG_TOKEN_END)
        return pg_parser_error(p, "expected %s, found the end of the text", what);
    if (t->kind == PG_TOKEN_BAD)
        return pg_parser_error(p, "%s: '%.*s'", t->why, n, t->text.p);
    return pg_parser_error(p, "expected %s, found '%s%.*s'", what,
                           t->kind == PG_TOKEN_SUFFIX ? "." : "", n, t->text.p);
}

bool pg_parser_at(const pg_parser *p, char punctuation)
{
    return p->token.kind == PG_TOKEN_PUNCT && p->token.value == (unsigned char)punctuation;
}

bool pg_parser_at_suffix(const pg_parser *p, const char *word)
{
    return p->token.kind == PG_TOKEN_SUFFIX && pg_str_is(p->token.text, word);
}

bool pg_parser_accept(pg_parser *p, char punctuation)
{
    if (!pg_parser_at(p, punctuation))
        return false;
    pg_parser_advance(p);
    return true;
}

bool pg_parser_accept_suffix(pg_parser *p, const char *word)
{
    if (!pg_parser_at_suffix(p, word))
        return false;
    pg_parser_advance(p);
    return true;
}

bool pg_parser_expect(pg_parser *p, char punctuation)
{
    char what[4] = {'\'', punctuation, '\'', 0};
    return pg_parser_accept(p, punctuation) || pg_parser_unexpected(p, what);
}

bool pg_parser_name(pg_parser *p, pg_str *name)
{
    if (p->token.kind != PG_TOKEN_IDENT)
        return pg_parser_unexpected(p, "a name");
    *name = p->token.text;
    pg_parser_advance(p);
    return true;
}

void *pg_parser_alloc(pg_parser *p, size_t count, size_t size)
{
    void *m = pg_arena_array(p->arena, count, size);
    if (!m)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    return m;
}

const char *pg_parser_copy(pg_parser *p, pg_str text)
{
    const char *s = pg_arena_strndup(p->arena, text.p, text.n);
    if (!s)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    return s;
}

void *pg_list_add(pg_parser *p, pg_list *list)
{
    if (list->count == list->cap) {
        uint32_t cap = list->cap ? list->cap * 2 : 32;
        void *items = cap > list->cap ? pg_arena_array(&p->scratch, cap, list->size) : NULL;
        if (!items) {
            pg_parser_stop(p, PTXGEN_ENOMEM);
            return memset(p->dummy, 0, sizeof p->dummy);
        }
        if (list->count)
            memcpy(items, list->items, (size_t)list->count * list->size);
        list->items = items;
        list->cap = cap;
    }
    void *item = (char *)list->items + (size_t)list->count++ * list->size;
    return memset(item, 0, list->size);
}

void *pg_list_freeze(pg_parser *p, const pg_list *list, uint32_t first)
{
    if (list->count <= first)
        return NULL;
    size_t n = list->count - first;
    void *items = pg_parser_alloc(p, n, list->size);
    if (items)
        memcpy(items, (const char *)list->items + (size_t)first * list->size, n * list->size);
    return items;
}

uint32_t pg_add_item(pg_parser *p, pg_ptx_item_kind kind, uint32_t index)
{
    pg_ptx_item *item = pg_list_add(p, &p->items);
    item->kind = kind;
    item->index = index;
    return p->items.count - 1;
}

bool pg_parser_declare(pg_parser *p, pg_str name, const pg_token *where, pg_binding binding)
{
    binding.line = where->line;
    const pg_binding *present = pg_names_declare(&p->names, name, &binding);
    if (p->scratch.failed)
        pg_parser_stop(p, PTXGEN_ENOMEM);
    if (!present)
        return p->fatal == PTXGEN_OK;
    int n = name.n < LONGEST_QUOTE ? (int)name.n : LONGEST_QUOTE;
    return pg_parser_error_at(p, where->line, where->column,
                              "'%.*s' is declared twice in one scope: see line %u", n, name.p,
                              present->line);
}
