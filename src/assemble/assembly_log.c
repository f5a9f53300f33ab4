/* The log is read line by line with searches for fixed words: its format is not documented, so nothing is
 * taken for granted about what lies between them. */
#include "assemble/assembly_log.h"

#include "base/error.h"
#include "base/str.h"

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

pg_log_verdict pg_judge_log(const char *log, bool refused, const char *assembler, ptxgen_error *err)
{
    pg_str line, first = {"", 0}, text;
    for (const char *rest = log; next_line(&rest, &line);) {
        if (has_changed_kernel(line) && !refused)
            return fail_changed(line, assembler, err);
        if (refused && first.n == 0 && error_text(line).n)
            first = line;
    }
    if (!refused)
        return PG_LOG_GOOD;
    text = first.n ? error_text(first) : (pg_str){"it gave no reason", 17};
    int number = line_number(first);
    if (number)
        pg_fail_at(err, PTXGEN_EASSEMBLE, "", number, "%s refused PTX line %d: %.*s", assembler,
                   number, (int)text.n, text.p);
    else
        pg_fail(err, PTXGEN_EASSEMBLE, "%s refused the PTX: %.*s", assembler, (int)text.n, text.p);
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
