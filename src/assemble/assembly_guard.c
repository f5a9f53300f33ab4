/* The check of pg_refuse_crashing_text: finds the two instructions outside comments and looks at
 * the first character of their address. Text without "tcgen05." costs one search. */
#include "base/error.h"
#include "assemble/assembly_log.h"

#include <string.h>

typedef struct scanner {
    const char *p, *end;
    int line;
} scanner;

static bool starts_with(const scanner *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->p) >= n && memcmp(s->p, word, n) == 0;
}

/* Past one character, or past a whole comment. */
static void step(scanner *s)
{
    const char *stop = starts_with(s, "//") ? "\n" : starts_with(s, "/*") ? "*/" : NULL;
    size_t length = 1;
    if (stop) {
        size_t left = (size_t)(s->end - s->p) - 2;
        const char *e = memmem(s->p + 2, left, stop, strlen(stop));
        length = e ? (size_t)(e - s->p) + (*stop == '*' ? 2 : 0) : left + 2;
    }
    for (size_t i = 0; i < length; i++)
        s->line += s->p[i] == '\n';
    s->p += length;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || c == '_' || c == '$';
}

/* From the opcode to its '[' and the first character inside; 0 when there is none. */
static char address_start(scanner s)
{
    while (s.p < s.end && *s.p != '[' && *s.p != ';')
        step(&s);
    if (s.p == s.end || *s.p == ';')
        return 0;
    s.p++;
    while (s.p < s.end && (is_space(*s.p) || starts_with(&s, "//") || starts_with(&s, "/*")))
        step(&s);
    return s.p < s.end ? *s.p : 0;
}

ptxgen_status pg_refuse_crashing_text(const char *ptx, size_t size, ptxgen_error *err)
{
    scanner s = {ptx, ptx + size, 1};
    if (!memmem(ptx, size, "tcgen05.", 8))
        return PTXGEN_OK;
    for (; s.p < s.end; step(&s)) {
        if (*s.p != 't' || !(starts_with(&s, "tcgen05.cp") || starts_with(&s, "tcgen05.shift")))
            continue;
        char c = address_start(s);
        if (c && !is_name_start(c))
            return pg_fail_at(
                err, PTXGEN_EASSEMBLE, "", s.line,
                "PTX line %d: a literal tensor-memory address crashes the assembler: move "
                "it into a register first",
                s.line);
    }
    return PTXGEN_OK;
}
