/* A reader of asm("text" : "=r"(x) : "l"(y), "n"(4) : "memory") that knows strings, parentheses
 * and constraints. */
#include "asm_statements.h"

#include <ctype.h>
#include <string.h>

enum { MAX_OPERANDS = 512 };

static const char *skip_blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

/* Appends the contents of the string literal at p; returns the end of it. */
static const char *read_string(const char *p, pg_buf *out)
{
    for (p++; *p && *p != '"'; p++) {
        if (*p != '\\') {
            pg_buf_putc(out, *p);
            continue;
        }
        p++;
        pg_buf_putc(out, *p == 'n' ? '\n' : *p == 't' ? '\t' : *p);
    }
    return *p ? p + 1 : p;
}

static const char *skip_parentheses(const char *p)
{
    int depth = 0;
    do {
        depth += (*p == '(') - (*p == ')');
        p++;
    } while (*p && depth);
    return p;
}

/* Constraint letters of the operands, from the first ':' on; returns the end of the statement. */
static const char *read_constraints(const char *p, char *letters, unsigned *n)
{
    *n = 0;
    while (*p && *p != ')') {
        if (*p != '"') {
            p++;
            continue;
        }
        const char *end = strchr(p + 1, '"');
        if (!end)
            return p + strlen(p);
        char letter = end[-1];
        p = skip_blanks(end + 1);
        if (*p == '(') {
            if (*n < MAX_OPERANDS)
                letters[(*n)++] = letter;
            p = skip_parentheses(p);
        }
    }
    return p;
}

static const char *register_type(char letter)
{
    switch (letter) {
    case 'h':
        return ".b16";
    case 'l':
        return ".b64";
    case 'f':
        return ".f32";
    case 'd':
        return ".f64";
    case 'q':
        return ".b128";
    default:
        return ".b32";
    }
}

/* %3 becomes a register or, for "n", the constant; %% becomes %. */
static void substitute(const char *text, const char *letters, unsigned n, const char *constant,
                       pg_buf *body)
{
    for (const char *p = text; *p; p++) {
        unsigned operand = 0;
        if (*p != '%') {
            pg_buf_putc(body, *p);
        } else if (p[1] == '%') {
            pg_buf_putc(body, *++p);
        } else {
            for (p++; isdigit((unsigned char)*p); p++)
                operand = operand * 10 + (unsigned)(*p - '0');
            p--;
            if (operand < n && letters[operand] == 'n')
                pg_buf_puts(body, constant);
            else
                pg_buf_printf(body, "operand%u", operand);
        }
    }
}

bool asm_statement_next(const char **rest, const char *constant, pg_buf *body)
{
    char letters[MAX_OPERANDS];
    unsigned n;
    const char *p = *rest;
    for (;; p += 3) {
        p = strstr(p, "asm");
        if (!p)
            return false;
        const char *q = skip_blanks(p + 3);
        if (!strncmp(q, "volatile", 8))
            q = skip_blanks(q + 8);
        bool word = p == *rest || !(isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (word && *q == '(' && *skip_blanks(q + 1) == '"') {
            p = skip_blanks(q + 1);
            break;
        }
    }
    pg_buf text;
    pg_buf_init(&text, &pg_alloc_libc);
    while (*p == '"')
        p = skip_blanks(read_string(p, &text));
    *rest = read_constraints(p, letters, &n);
    pg_buf_truncate(body, 0);
    for (unsigned i = 0; i < n; i++)
        if (letters[i] != 'n')
            pg_buf_printf(body, ".reg %s operand%u;\n", register_type(letters[i]), i);
    substitute(pg_buf_text(&text), letters, n, constant, body);
    pg_buf_puts(body, "\n");
    pg_buf_fini(&text);
    return true;
}
