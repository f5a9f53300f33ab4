#include "command/run/suppressions.h"

#include "command/command.h"
#include "command/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folded(char c)
{
    return c == '-' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && folded(*a) == folded(*b); a++, b++)
        ;
    return folded(*a) == folded(*b);
}

/* "missing-proxy-fence" of a kind. */
static void spell(int kind, char *out, size_t size)
{
    const char *id = ptxgen_emulator_report_id((ptxgen_emulator_report_kind)kind);
    size_t n = 0;
    for (; id[n] && n + 1 < size; n++)
        out[n] = id[n] == '_' ? '-' : id[n] >= 'A' && id[n] <= 'Z' ? (char)(id[n] + 32) : id[n];
    out[n] = '\0';
}

/* -1: every kind; -2: unknown. */
static int find_kind(const char *word)
{
    if (strcmp(word, "*") == 0)
        return -1;
    for (int k = 0; k < PTXGEN_EMULATOR_REPORT_KINDS; k++)
        if (same_name(word, ptxgen_emulator_report_id((ptxgen_emulator_report_kind)k)))
            return k;
    return -2;
}

static ptxgen_status unknown_kind(const char *where, const char *word, ptxgen_error *err)
{
    char spelled[PTXGEN_EMULATOR_REPORT_KINDS][48];
    const char *known[PTXGEN_EMULATOR_REPORT_KINDS];
    for (int k = 0; k < PTXGEN_EMULATOR_REPORT_KINDS; k++) {
        spell(k, spelled[k], sizeof spelled[k]);
        known[k] = spelled[k];
    }
    const char *near = cli_nearest(word, known, PTXGEN_EMULATOR_REPORT_KINDS);
    return cli_fail(err, PTXGEN_EINVAL,
                    "%s: '%s' is no kind of report%s%s%s; a report's \"id\" with --json is one",
                    where, word, near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "");
}

static run_suppression *append(run_suppressions *s)
{
    run_suppression *more = cli_calloc(s->count + 1, sizeof *more);
    if (s->count)
        memcpy(more, s->all, s->count * sizeof *more);
    free(s->all);
    s->all = more;
    return &s->all[s->count++];
}

ptxgen_status run_suppress_kind(run_suppressions *s, const char *kind, ptxgen_error *err)
{
    const int found = find_kind(kind);
    if (found == -2)
        return unknown_kind("--ignore", kind, err);
    append(s)->kind = found;
    return PTXGEN_OK;
}

static bool take_number(const char *text, int *out)
{
    char *end;
    const long v = strtol(text, &end, 10);
    *out = (int)v;
    return end != text && *end == '\0' && v > 0 && v < INT32_MAX;
}

static bool take_text(const char *text, char *out, size_t size)
{
    const size_t n = strlen(text);
    if (n == 0 || n >= size)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

/* "file" or "file:line" */
static bool take_source(const char *text, run_suppression *s)
{
    char file[sizeof s->source];
    if (!take_text(text, file, sizeof file))
        return false;
    char *colon = strrchr(file, ':');
    if (colon && take_number(colon + 1, &s->source_line))
        *colon = '\0';
    return take_text(file, s->source, sizeof s->source);
}

static bool take_condition(const char *word, run_suppression *s)
{
    if (strncmp(word, "line=", 5) == 0)
        return take_number(word + 5, &s->line);
    if (strncmp(word, "other=", 6) == 0)
        return take_number(word + 6, &s->other_line);
    if (strncmp(word, "object=", 7) == 0)
        return take_text(word + 7, s->object, sizeof s->object);
    if (strncmp(word, "entry=", 6) == 0)
        return take_text(word + 6, s->entry, sizeof s->entry);
    return strncmp(word, "source=", 7) == 0 && take_source(word + 7, s);
}

static ptxgen_status take_line(run_suppressions *all, char *text, const char *path, int number,
                               ptxgen_error *err)
{
    char *rest = text, where[600];
    char *word = strtok_r(rest, " \t\r", &rest);
    snprintf(where, sizeof where, "%.500s:%d", path, number);
    if (!word || *word == '#')
        return PTXGEN_OK;
    const int kind = find_kind(word);
    if (kind == -2)
        return unknown_kind(where, word, err);
    run_suppression *s = append(all);
    s->kind = kind;
    s->from = number;
    while ((word = strtok_r(rest, " \t\r", &rest)) && *word != '#')
        if (!take_condition(word, s))
            return cli_fail(err, PTXGEN_EINVAL,
                            "%s: '%s' is no condition; there are line=N, other=N, object=NAME, "
                            "entry=NAME and source=FILE[:LINE]",
                            where, word);
    return PTXGEN_OK;
}

ptxgen_status run_suppress_file(run_suppressions *s, const char *path, ptxgen_error *err)
{
    char *text = NULL, *rest, *line;
    ptxgen_status status = cli_read_text(path, &text, err);
    int number = 0;
    for (rest = text; status == PTXGEN_OK && rest && *rest;) {
        line = rest;
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        status = take_line(s, line, path, ++number, err);
    }
    free(text);
    return status;
}

static bool is_file(const char *whole, const char *wanted)
{
    const char *slash = strrchr(whole, '/');
    return strcmp(whole, wanted) == 0 || (slash && strcmp(slash + 1, wanted) == 0);
}

static bool takes(const run_suppression *s, const char *entry, const ptxgen_emulator_report *r)
{
    const bool own =
        is_file(r->source, s->source) && (!s->source_line || s->source_line == r->source_line);
    const bool other = is_file(r->other_source, s->source) &&
                       (!s->source_line || s->source_line == r->other_source_line);
    return (s->kind < 0 || s->kind == (int)r->kind) && (!s->line || s->line == r->line) &&
           (!s->other_line || s->other_line == r->other_line) &&
           (!*s->object || strcmp(s->object, r->object) == 0) &&
           (!*s->entry || strcmp(s->entry, entry) == 0) && (!*s->source || own || other);
}

bool run_is_suppressed(run_suppressions *s, const char *entry, const ptxgen_emulator_report *r)
{
    for (size_t i = 0; i < s->count; i++)
        if (takes(&s->all[i], entry, r)) {
            s->all[i].used++;
            return true;
        }
    return false;
}

void run_suppressions_free(run_suppressions *s)
{
    free(s->all);
    *s = (run_suppressions){NULL, 0};
}
