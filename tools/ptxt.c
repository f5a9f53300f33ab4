/* ptxt: the template compiler. `ptxt templates/x/main.ptxc -o main.c` turns a kernel template into
 * C.
 *
 * A template is a C file in which a line whose first non-blank character is `|` is PTX and every
 * other line is C, copied as it is. In PTX, `$name` and `$(expr)` are holes that take a C value,
 * `$$` is a dollar sign. That is all there is, on purpose: C decides, PTX reads like PTX.
 *
 * One template line becomes one line of C, so a single #line at the top gives compilers, debuggers
 * and coverage the right position:
 *     |   add.s64 %a, %a, $(2 * k);
 *     { pg_at(E, __FILE__, __LINE__); pg_lit(E, "   add.s64 %a, %a, ", 19); pg_put(E, (2 * k)); }
 * The emitter must be called E. The braces make a PTX line one statement, but a PTX line
 * directly under an unbraced if, else, for or while is refused: the next line would silently
 * stand outside.
 *
 * Runs at build time only; prints file:line: message and exits 1 on a bad template, leaving no
 * output. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t len, cap;
} text;

static const char *template_name, *output_name;
static int line_number;

static void fail(const char *message)
{
    fprintf(stderr, "%s:%d: %s\n", template_name, line_number, message);
    exit(1);
}

static void append(text *t, const char *s, size_t n)
{
    if (t->len + n + 1 > t->cap) {
        t->cap = (t->len + n + 1) * 2;
        t->data = realloc(t->data, t->cap);
        if (!t->data)
            fail("out of memory");
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
    t->data[t->len] = 0;
}

static void append_string(text *t, const char *s)
{
    append(t, s, strlen(s));
}

static text read_file(const char *name)
{
    text t = {0};
    FILE *f = fopen(name, "rb");
    if (!f) {
        fprintf(stderr, "ptxt: cannot open %s\n", name);
        exit(1);
    }
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        append(&t, chunk, n);
    if (ferror(f))
        fail("read error");
    fclose(f);
    append(&t, "", 0);
    return t;
}

/* s[0..n) as one pg_lit call. */
static void put_literal(text *out, const char *s, size_t n)
{
    char number[32];
    if (n == 0)
        return;
    append_string(out, " pg_lit(E, \"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || s[i] == '\\')
            append(out, "\\", 1);
        if (s[i] == '\n')
            append_string(out, "\\n");
        else if (s[i] == '\t')
            append_string(out, "\\t");
        else
            append(out, s + i, 1);
    }
    snprintf(number, sizeof number, "\", %zu);", n);
    append_string(out, number);
}

/* The length of the parenthesised expression at s, both parentheses included. Strings and
 * characters inside may hold parentheses. */
static size_t expression_length(const char *s, const char *end)
{
    int depth = 0;
    char quote = 0;
    for (const char *p = s; p < end; p++) {
        if (quote) {
            if (*p == '\\')
                p++;
            else if (*p == quote)
                quote = 0;
        } else if (*p == '"' || *p == '\'') {
            quote = *p;
        } else if (*p == '(') {
            depth++;
        } else if (*p == ')' && --depth == 0) {
            return (size_t)(p - s) + 1;
        }
    }
    fail("`$(` is not closed on this line");
    return 0;
}

static size_t name_length(const char *s, const char *end)
{
    const char *p = s;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_'))
        p++;
    if (p == s || isdigit((unsigned char)*s))
        fail("after `$` comes a C name, `(expression)` or another `$`");
    return (size_t)(p - s);
}

/* A PTX line (without its `|` and newline) as one C statement. */
static void put_ptx_line(text *out, const char *s, const char *end)
{
    append_string(out, "{ pg_at(E, __FILE__, __LINE__);");
    text literal = {0};
    append(&literal, "", 0);
    while (s < end) {
        if (*s != '$') {
            append(&literal, s++, 1);
        } else if (s + 1 < end && s[1] == '$') {
            append(&literal, "$", 1);
            s += 2;
        } else {
            put_literal(out, literal.data, literal.len);
            literal.len = 0;
            s++;
            size_t n = s < end && *s == '(' ? expression_length(s, end) : name_length(s, end);
            append_string(out, " pg_put(E, ");
            append(out, s, n);
            append_string(out, ");");
            s += n;
        }
    }
    append(&literal, "\n", 1);
    put_literal(out, literal.data, literal.len);
    free(literal.data);
    append_string(out, " }\n");
}

/* The last C line without trailing blanks and `//` comment ends a control head that wants a
 * statement. */
static int wants_statement(const char *s, const char *end)
{
    const char *comment = NULL;
    for (const char *p = s; p + 1 < end && !comment; p++)
        if (p[0] == '/' && (p[1] == '/' || p[1] == '*'))
            comment = p;
    if (comment)
        end = comment;
    while (s < end && isspace((unsigned char)*s))
        s++;
    while (end > s && isspace((unsigned char)end[-1]))
        end--;
    if (end - s >= 4 && memcmp(end - 4, "else", 4) == 0)
        return 1;
    if (end == s || end[-1] != ')')
        return 0;
    if (*s == '}') {
        s++;
        while (s < end && isspace((unsigned char)*s))
            s++;
    }
    static const char *const heads[] = {"if", "for", "while", "else if"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t n = strlen(heads[i]);
        if ((size_t)(end - s) > n && memcmp(s, heads[i], n) == 0 && (s[n] == ' ' || s[n] == '('))
            return 1;
    }
    return 0;
}

static text translate(const text *in)
{
    text out = {0};
    append_string(&out, "#line 1 \"");
    append_string(&out, template_name);
    append_string(&out, "\"\n");
    int open_head = 0;
    for (const char *s = in->data, *last = in->data + in->len; s < last;) {
        line_number++;
        const char *end = memchr(s, '\n', (size_t)(last - s));
        if (!end)
            end = last;
        const char *first = s;
        while (first < end && (*first == ' ' || *first == '\t'))
            first++;
        if (first < end && *first == '|') {
            if (open_head)
                fail("a PTX line needs braces under if, else, for and while");
            put_ptx_line(&out, first + 1, end);
        } else {
            append(&out, s, (size_t)(end - s));
            append(&out, "\n", 1);
            if (first < end)
                open_head = wants_statement(s, end);
        }
        s = end < last ? end + 1 : last;
    }
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[2], "-o") != 0) {
        fprintf(stderr, "usage: ptxt TEMPLATE.ptxc -o OUTPUT.c\n");
        return 1;
    }
    template_name = argv[1];
    output_name = argv[3];
    text in = read_file(template_name);
    text out = translate(&in);
    FILE *f = fopen(output_name, "wb");
    if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0) {
        fprintf(stderr, "ptxt: cannot write %s\n", output_name);
        remove(output_name);
        return 1;
    }
    free(in.data);
    free(out.data);
    return 0;
}
