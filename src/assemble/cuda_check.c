/* What a CUDA source may not do: name files that are not part of the request. A scanner of
 * lines, comments and literals as in C++ (phases 2 and 3 of translation): enough to find
 * directives and their operands. */
#include "assemble/nvrtc.h"

#include "base/error.h"
#include "base/str.h"

#include <string.h>

/* ---- options ---- */

/* Those that change the code and read nothing. */
static const char *const allowed[] = {
    "-D",
    "--define-macro=",
    "-U",
    "--undefine-macro=",
    "-std=",
    "--std=",
    "-use_fast_math",
    "--use_fast_math",
    "-ftz=",
    "--ftz=",
    "-prec-div=",
    "--prec-div=",
    "-prec-sqrt=",
    "--prec-sqrt=",
    "-fmad=",
    "--fmad=",
    "-w",
    "--disable-warnings",
    "-lineinfo",
    "--generate-line-info",
};

static bool is_allowed(const char *option)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        const size_t n = strlen(allowed[i]);
        const bool takes_value = allowed[i][n - 1] == '=' || n == 2;
        if (takes_value && allowed[i][1] != 'w' ? !strncmp(option, allowed[i], n) && option[n]
                                                : !strcmp(option, allowed[i]))
            return true;
    }
    return false;
}

static ptxgen_status check_options(const pg_cuda_request *r, ptxgen_error *err)
{
    for (size_t i = 0; i < r->option_count; i++)
        if (!r->options[i] || !is_allowed(r->options[i]))
            return pg_fail(
                err, PTXGEN_EINVAL,
                "NVRTC option '%.100s' is not taken: -DNAME=VALUE, -UNAME, -std=, -use_fast_math, "
                "-ftz=, -prec-div=, -prec-sqrt=, -fmad=, -lineinfo and -w are; headers are given "
                "as "
                "text",
                r->options[i] ? r->options[i] : "NULL");
    return PTXGEN_OK;
}

/* ---- directives ---- */

typedef struct scanner {
    const char *p;
    int line;
} scanner;

/* Past backslash-newlines. */
static void splice(scanner *s)
{
    for (;;) {
        if (s->p[0] == '\\' && s->p[1] == '\n')
            s->p += 2;
        else if (s->p[0] == '\\' && s->p[1] == '\r' && s->p[2] == '\n')
            s->p += 3;
        else
            return;
        s->line++;
    }
}

static void next(scanner *s)
{
    if (*s->p) {
        s->line += *s->p == '\n';
        s->p++;
    }
    splice(s);
}

static bool at_comment(const scanner *s, char *kind)
{
    scanner ahead = *s;
    if (*s->p != '/')
        return false;
    next(&ahead);
    *kind = *ahead.p;
    return *kind == '/' || *kind == '*';
}

static void skip_comment(scanner *s, char kind)
{
    next(s);
    next(s);
    while (*s->p) {
        if (kind == '/' && *s->p == '\n')
            return;
        const bool star = kind == '*' && *s->p == '*';
        next(s);
        if (star && *s->p == '/') {
            next(s);
            return;
        }
    }
}

/* Blanks and comments of one line. */
static void skip_blanks(scanner *s)
{
    char kind;
    for (;;) {
        if (*s->p == ' ' || *s->p == '\t' || *s->p == '\r' || *s->p == '\v' || *s->p == '\f')
            next(s);
        else if (at_comment(s, &kind))
            skip_comment(s, kind);
        else
            return;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void read_word(scanner *s, char *word, size_t size)
{
    size_t n = 0;
    for (; is_word(*s->p); next(s))
        if (n + 1 < size)
            word[n++] = *s->p;
    word[n] = 0;
}

/* "name" or <name> without its quotes; "" when it is neither. */
static void read_header_name(scanner *s, char *name, size_t size)
{
    size_t n = 0;
    const char close = *s->p == '<' ? '>' : *s->p == '"' ? '"' : 0;
    name[0] = 0;
    if (!close)
        return;
    next(s);
    for (; *s->p && *s->p != close && *s->p != '\n'; next(s))
        if (n + 1 < size)
            name[n++] = *s->p;
    name[*s->p == close ? n : 0] = 0;
}

static bool is_header(const pg_cuda_request *r, const char *name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (!strcmp(r->headers[i].name, name))
            return true;
    return false;
}

/* Behind the '#' of a line. */
static ptxgen_status check_directive(const pg_cuda_request *r, scanner *s, const char *file,
                                     ptxgen_error *err)
{
    static const char *const reading[] = {"include", "include_next", "import", "embed"};
    char word[32], name[256];
    const int line = s->line;
    skip_blanks(s);
    read_word(s, word, sizeof word);
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++) {
        if (strcmp(word, reading[i]) != 0)
            continue;
        skip_blanks(s);
        read_header_name(s, name, sizeof name);
        if (i == 0 && name[0] && is_header(r, name))
            return PTXGEN_OK;
        return pg_fail_at(
            err, PTXGEN_EINVAL, file, line,
            "%s:%d: #%s %.120s: only headers that are given as text can be included, by their "
            "name; no file is read",
            file, line, word, name[0] ? name : "of something that is no name");
    }
    return PTXGEN_OK;
}

/* A string, character or raw string literal. */
static void skip_literal(scanner *s, bool raw)
{
    const char quote = *s->p;
    char end[24] = ")";
    size_t n = 1;
    if (raw) { /* no splicing inside */
        for (s->p++; *s->p && *s->p != '(' && n < 20; s->p++)
            end[n++] = *s->p;
        end[n++] = '"';
        end[n] = 0;
        const char *stop = strstr(s->p, end);
        for (const char *to = stop ? stop + n : s->p + strlen(s->p); s->p < to; s->p++)
            s->line += *s->p == '\n';
        return;
    }
    for (next(s); *s->p && *s->p != quote && *s->p != '\n'; next(s))
        if (*s->p == '\\')
            next(s);
    if (*s->p == quote)
        next(s);
}

/* A word, which may be the prefix of a raw string. */
static ptxgen_status check_word(scanner *s, const char *file, ptxgen_error *err)
{
    char word[32];
    const int line = s->line;
    read_word(s, word, sizeof word);
    const size_t n = strlen(word);
    if (*s->p == '"' && n && word[n - 1] == 'R')
        skip_literal(s, true);
    if (strcmp(word, "__has_include") && strcmp(word, "__has_include_next") &&
        strcmp(word, "__has_embed"))
        return PTXGEN_OK;
    return pg_fail_at(err, PTXGEN_EINVAL, file, line,
                      "%s:%d: %s looks at files, which are no part of the key", file, line, word);
}

static ptxgen_status check_text(const pg_cuda_request *r, const char *file, const char *text,
                                ptxgen_error *err)
{
    scanner s = {text, 1};
    bool line_start = true;
    char kind;
    splice(&s);
    while (*s.p) {
        const bool hash =
            *s.p == '#' || (s.p[0] == '%' && s.p[1] == ':') || !strncmp(s.p, "?\?=", 3);
        if (at_comment(&s, &kind)) {
            skip_comment(&s, kind);
        } else if (line_start && hash) {
            s.p += *s.p == '#' ? 1 : *s.p == '%' ? 2 : 3;
            splice(&s);
            PG_TRY(check_directive(r, &s, file, err));
            line_start = false;
        } else if (*s.p == '"' || *s.p == '\'') {
            skip_literal(&s, false);
            line_start = false;
        } else if (is_word(*s.p)) {
            PG_TRY(check_word(&s, file, err));
            line_start = false;
        } else {
            line_start = *s.p == '\n' || (line_start && strchr(" \t\r\v\f", *s.p));
            next(&s);
        }
    }
    return PTXGEN_OK;
}

ptxgen_status pg_cuda_check(const pg_cuda_request *r, ptxgen_error *err)
{
    PG_TRY(check_options(r, err));
    for (size_t i = 0; i < r->header_count; i++)
        PG_TRY(check_text(r, r->headers[i].name, r->headers[i].text, err));
    return check_text(r, r->file, r->text, err);
}
