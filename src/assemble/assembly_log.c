/* The log is read line by line with searches for fixed words: its format is not documented, so
 * nothing is taken for granted about what lies between them. */
#include "assemble/assembly_log.h"

#include "base/error.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Cuts the next line off *text; false at the end. */
static bool next_line(const char **text, pg_str *line)
{
    if (!**text)
        return false;
    size_t n = strcspn(*text, "\n");
    *line = (pg_str){*text, n};
    *text += n + ((*text)[n] == '\n');
    return true;
}

static const char *find(pg_str s, const char *what)
{
    return memmem(s.p, s.n, what, strlen(what));
}

static int number_at(const char *p)
{
    int v = 0;
    for (; is_digit(*p) && v < 100000000; p++)
        v = v * 10 + (*p - '0');
    return v;
}

/* "(C7504)" anywhere in the line */
static bool has_changed_kernel(pg_str line)
{
    const char *p = find(line, "(C75");
    return p && line.p + line.n - p >= 7 && is_digit(p[4]) && is_digit(p[5]) && p[6] == ')';
}

/* What follows "error   : " or "fatal   : "; n = 0 when the line is neither. */
static pg_str error_text(pg_str line)
{
    const char *p = find(line, "error"), *q = find(line, "fatal");
    if (!p || (q && q < p))
        p = q;
    if (!p)
        return (pg_str){line.p, 0};
    p += strlen("error");
    const char *end = line.p + line.n;
    while (p < end && (*p == ' ' || *p == ':'))
        p++;
    return (pg_str){p, (size_t)(end - p)};
}

static int line_number(pg_str line)
{
    const char *p = find(line, ", line ");
    return p ? number_at(p + strlen(", line ")) : 0;
}

static pg_log_verdict fail_changed(pg_str line, const char *assembler, ptxgen_error *err)
{
    const char *code = find(line, "(C75");
    pg_fail(err, PTXGEN_EASSEMBLE,
            "%s changed the kernel instead of assembling it: %.*s; assemble the whole program "
            "with ptxas or nvptxcompiler",
            assembler, (int)(line.p + line.n - code), code);
    return PG_LOG_CHANGED;
}

/* "Ptx assembly aborted due to errors" and the like say nothing that another error line has not
 * said. */
static bool says_nothing(pg_str line)
{
    return find(line, "aborted due to errors") != NULL;
}

enum { ERRORS_SHOWN = 3, LAST_LINES = 4, LINE_SHOWN = 160 };

static void append_line(char *to, size_t size, const char *before, pg_str text)
{
    const size_t used = strlen(to);
    const int n = text.n < LINE_SHOWN ? (int)text.n : LINE_SHOWN;
    snprintf(to + used, size - used, "%s%.*s%s", used ? before : "", n, text.p,
             text.n > LINE_SHOWN ? "..." : "");
}

/* The first errors, the lines of all but the first with them: the second often names what the
 * first is about. */
static int list_errors(const char *log, char *out, size_t size)
{
    pg_str line;
    int first = 0, count = 0;
    while (next_line(&log, &line)) {
        const pg_str text = error_text(line);
        const int number = line_number(line);
        char before[24] = "; ";
        if (text.n == 0 || says_nothing(line))
            continue;
        if (++count == 1)
            first = number;
        else if (number && number != first)
            snprintf(before, sizeof before, "; line %d: ", number);
        if (count <= ERRORS_SHOWN)
            append_line(out, size, before, text);
    }
    if (count > ERRORS_SHOWN)
        snprintf(out + strlen(out), size - strlen(out), "; and %d more", count - ERRORS_SHOWN);
    return first;
}

/* The last lines that are not empty, of a log that names no error. */
static void list_last_lines(const char *log, char *out, size_t size)
{
    pg_str last[LAST_LINES], line;
    size_t count = 0;
    while (next_line(&log, &line))
        if (strspn(line.p, " \t\r") < line.n)
            last[count++ % LAST_LINES] = line;
    for (size_t i = count > LAST_LINES ? count - LAST_LINES : 0; i < count; i++)
        append_line(out, size, " | ", last[i % LAST_LINES]);
}

pg_log_verdict pg_judge_log(const char *log, bool refused, const char *assembler, ptxgen_error *err)
{
    pg_str line;
    char text[640] = "";
    for (const char *rest = log; !refused && next_line(&rest, &line);)
        if (has_changed_kernel(line))
            return fail_changed(line, assembler, err);
    if (!refused)
        return PG_LOG_GOOD;
    const int number = list_errors(log, text, sizeof text);
    if (number) {
        pg_fail_at(err, PTXGEN_EASSEMBLE, "", number, "%s refused PTX line %d: %s", assembler,
                   number, text);
    } else if (text[0]) {
        pg_fail(err, PTXGEN_EASSEMBLE, "%s refused the PTX: %s", assembler, text);
    } else {
        list_last_lines(log, text, sizeof text);
        pg_fail(err, PTXGEN_EASSEMBLE, "%s refused the PTX and named no error; %s%s", assembler,
                text[0] ? "its last words: " : "it wrote nothing", text);
    }
    return number ? PG_LOG_REFUSED : PG_LOG_FAILED;
}

/* The number before `unit`, which stands right after it; -1 when the line has none. */
static int number_before(pg_str line, const char *unit)
{
    const char *p = find(line, unit);
    const char *start = p;
    while (start && start > line.p && is_digit(start[-1]))
        start--;
    return start == p ? -1 : number_at(start);
}

int pg_spill_bytes(const char *log)
{
    pg_str line;
    int most = -1;
    while (next_line(&log, &line)) {
        int stores = number_before(line, " bytes spill stores");
        int loads = number_before(line, " bytes spill loads");
        int larger = stores > loads ? stores : loads;
        if (larger > most)
            most = larger;
    }
    return most;
}
