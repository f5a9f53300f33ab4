#include "command/run/profile.h"

#include "command/output.h"

#include <stdlib.h>
#include <string.h>

enum { BUSIEST = 24, TEXT_WIDTH = 60 };

/* ---- units and mnemonics ---- */

static const char *const unit_columns[] = {"operations",    "global_read",    "global_written",
                                           "shared_read",   "shared_written", "tensor_read",
                                           "tensor_written"};
enum { UNIT_COLUMNS = sizeof unit_columns / sizeof *unit_columns };

void run_print_units(const ptxgen_emulator *emu, cJSON *json, FILE *to)
{
    ptxgen_emulator_engine e = {.size = sizeof e};
    cJSON *list = json ? cJSON_AddObjectToObject(json, "units") : NULL;
    bool head = false;
    for (size_t i = 0; ptxgen_emulator_engine_at(emu, i, &e); i++) {
        const uint64_t values[UNIT_COLUMNS] = {e.operations,    e.global_read,    e.global_written,
                                               e.shared_read,   e.shared_written, e.tensor_read,
                                               e.tensor_written};
        cJSON *o = list ? cJSON_AddObjectToObject(list, e.name) : NULL;
        for (size_t c = 0; o && c < UNIT_COLUMNS; c++)
            cli_json_integer(o, unit_columns[c], (int64_t)values[c]);
        if (list || e.operations == 0)
            continue;
        if (!head)
            fprintf(to, "%-22s %12s %14s %14s %14s %14s %14s %14s\n", "asynchronous, bytes",
                    "operations", "global read", "global written", "shared read", "shared written",
                    "tensor read", "tensor written");
        head = true;
        fprintf(to, "%-22s", e.name);
        for (size_t c = 0; c < UNIT_COLUMNS; c++)
            fprintf(to, " %*llu", c ? 14 : 12, (unsigned long long)values[c]);
        fputc('\n', to);
    }
}

/* ---- lines ---- */

/* Line `number` of a text, from 1: its first byte and length. */
static const char *line_of(const char *text, uint32_t number, int *length)
{
    for (uint32_t i = 1; i < number && text; i++) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    *length = text ? (int)strcspn(text, "\r\n") : 0;
    return text ? text : "";
}

static double per(uint64_t sum, uint64_t count)
{
    return count ? (double)sum / (double)count : 0;
}

static bool origin_of(const run_profile *p, uint32_t line, const char **file, int *at)
{
    return p->kernel && ptxgen_kernel_line_origin(p->kernel, (int)line, file, at) && *file;
}

static cJSON *line_json(const run_profile *p, const ptxgen_emulator_line *l)
{
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"line", l->line},
                  {"executions", l->executions},
                  {"active_lanes", l->active_lanes},
                  {"global_requests", l->global_requests},
                  {"global_sectors", l->global_sectors},
                  {"shared_requests", l->shared_requests},
                  {"shared_wavefronts", l->shared_wavefronts},
                  {"shared_wavefronts_ideal", l->shared_ideal},
                  {"async_operations", l->async_operations},
                  {"async_bytes", l->async_bytes},
                  {"live_registers", l->live_registers}};
    cJSON *o = cJSON_CreateObject();
    const char *file;
    int at;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        cli_json_integer(o, fields[i].name, (int64_t)fields[i].value);
    if (origin_of(p, l->line, &file, &at)) {
        cJSON_AddStringToObject(o, "file", file);
        cli_json_integer(o, "file_line", at);
    }
    return o;
}

/* The counts of a line in columns: a zero says nothing, so it is left out. */
static void print_counts(const ptxgen_emulator_line *l, FILE *to)
{
    char sectors[24] = "", beyond[24] = "", async[24] = "";
    if (l->global_requests)
        snprintf(sectors, sizeof sectors, "%.1f", per(l->global_sectors, l->global_requests));
    if (l->shared_wavefronts > l->shared_ideal)
        snprintf(beyond, sizeof beyond, "%llu",
                 (unsigned long long)(l->shared_wavefronts - l->shared_ideal));
    if (l->async_bytes)
        snprintf(async, sizeof async, "%llu", (unsigned long long)l->async_bytes);
    fprintf(to, "%11llu %5.1f %8s %9s %10s %4u", (unsigned long long)l->executions,
            per(l->active_lanes, l->executions), sectors, beyond, async, l->live_registers);
}

static void print_head(FILE *to)
{
    fprintf(to, "%6s %11s %5s %8s %9s %10s %4s  %s\n", "line", "executions", "lanes", "sectors",
            "conflicts", "async", "live",
            "PTX (lanes, sectors: of an execution; conflicts: wavefronts beyond");
    fprintf(to, "%60s the ideal; async: bytes; live: registers)\n", "");
}

/* What a line costs, roughly: its issues, and what memory and units do for it. */
static uint64_t work_of(const ptxgen_emulator_line *l)
{
    return l->executions + l->global_sectors + l->shared_wavefronts + l->async_bytes / 32;
}

static int busier(const void *a, const void *b)
{
    const ptxgen_emulator_line *x = a, *y = b;
    const uint64_t p = work_of(x), q = work_of(y);
    return p != q ? (p < q) - (p > q) : (x->line > y->line) - (x->line < y->line);
}

static int by_line(const void *a, const void *b)
{
    const ptxgen_emulator_line *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

void run_print_lines(const run_profile *p, cJSON *json, FILE *to)
{
    ptxgen_emulator_line l = {.size = sizeof l};
    cJSON *list = json ? cJSON_AddArrayToObject(json, "lines") : NULL;
    size_t count = 0;
    for (; ptxgen_emulator_line_at(p->module, count, &l); count++)
        if (list)
            cJSON_AddItemToArray(list, line_json(p, &l));
    if (list || count == 0)
        return;
    ptxgen_emulator_line *all = cli_calloc(count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i].size = sizeof *all;
        ptxgen_emulator_line_at(p->module, i, &all[i]);
    }
    qsort(all, count, sizeof *all, busier);
    const size_t shown = count < BUSIEST ? count : BUSIEST;
    qsort(all, shown, sizeof *all, by_line);
    print_head(to);
    for (size_t i = 0; i < shown; i++) {
        int n;
        const char *text = line_of(p->ptx, all[i].line, &n);
        const int indent = (int)strspn(text, " \t");
        fprintf(to, "%6u ", all[i].line);
        print_counts(&all[i], to);
        fprintf(to, "  %.*s\n", n - indent < TEXT_WIDTH ? n - indent : TEXT_WIDTH, text + indent);
    }
    if (shown < count)
        fprintf(to, "the busiest %zu of %zu lines; --report FILE.html shows all\n", shown, count);
    free(all);
}

/* ---- report ---- */

static void print_escaped(const char *text, int n, FILE *to)
{
    for (int i = 0; i < n; i++)
        switch (text[i]) {
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        case '&':
            fputs("&amp;", to);
            break;
        default:
            fputc(text[i], to);
        }
}

static void text_report(const run_profile *p, FILE *to)
{
    ptxgen_emulator_line l = {.size = sizeof l};
    size_t next = 0;
    bool more = ptxgen_emulator_line_at(p->module, next, &l);
    fprintf(to, "%s\n", p->name);
    run_print_units(p->emu, NULL, to);
    print_head(to);
    uint32_t line = 1;
    for (const char *at = p->ptx; *at; line++) {
        const int n = (int)strcspn(at, "\r\n");
        fprintf(to, "%6u ", line);
        if (more && l.line == line) {
            print_counts(&l, to);
            more = ptxgen_emulator_line_at(p->module, ++next, &l);
        } else {
            fprintf(to, "%52s", "");
        }
        fprintf(to, "  %.*s\n", n, at);
        at += n + (at[n] == '\r') + (at[n + (at[n] == '\r')] == '\n');
    }
}

/* A row of the page. The bar is as long as the line's share of the executions of the busiest. */
static void page_row(const run_profile *p, const ptxgen_emulator_line *l, uint64_t most, FILE *to)
{
    const char *file;
    int at;
    fprintf(to, "<td>%llu</td><td><i style=\"width:%.1fpx\"></i></td><td>%.1f</td><td>",
            (unsigned long long)l->executions, 60 * per(l->executions, most),
            per(l->active_lanes, l->executions));
    if (l->global_requests)
        fprintf(to, "%.1f", per(l->global_sectors, l->global_requests));
    fputs("</td><td>", to);
    if (l->shared_wavefronts > l->shared_ideal)
        fprintf(to, "%llu of %llu", (unsigned long long)(l->shared_wavefronts - l->shared_ideal),
                (unsigned long long)l->shared_wavefronts);
    fputs("</td><td>", to);
    if (l->async_bytes)
        fprintf(to, "%llu", (unsigned long long)l->async_bytes);
    fprintf(to, "</td><td>%u</td><td class=o>", l->live_registers);
    if (origin_of(p, l->line, &file, &at)) {
        const char *base = strrchr(file, '/');
        fprintf(to, "%s:%d", base ? base + 1 : file, at);
    }
    fputs("</td>", to);
}

static void page(const run_profile *p, FILE *to)
{
    ptxgen_emulator_line l = {.size = sizeof l};
    uint64_t most = 0;
    for (size_t i = 0; ptxgen_emulator_line_at(p->module, i, &l); i++)
        most = l.executions > most ? l.executions : most;
    fputs("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>", to);
    print_escaped(p->name, (int)strlen(p->name), to);
    fputs("</title><style>body{font:14px sans-serif}table{border-collapse:collapse}"
          "td,th{text-align:right;padding:0 .6em;font:13px monospace}th{vertical-align:bottom}"
          "td.p,th.p,td.o{text-align:left;white-space:pre}tr:hover{outline:1px solid}"
          "i{display:block;height:.8em;border:1px solid;float:left}"
          "thead{position:sticky;top:0;background:#fff}</style><h1>",
          to);
    print_escaped(p->name, (int)strlen(p->name), to);
    fputs("</h1><pre>", to);
    run_print_units(p->emu, NULL, to);
    fputs("</pre><p>Lanes: active, of 32. Sectors: pieces of 32 bytes of global memory that an "
          "execution touches. Conflicts: wavefronts over the banks of shared memory beyond those "
          "that the bytes need. Async: bytes that operations issued here move. Live: registers of "
          "32 bits that hold a value."
          "<table><thead><tr><th>line<th>executions<th><th>lanes<th>sectors<th>conflicts<th>async"
          "<th>live<th>template<th class=p>PTX</thead>\n",
          to);
    size_t next = 0;
    bool more = ptxgen_emulator_line_at(p->module, next, &l);
    uint32_t line = 1;
    for (const char *at = p->ptx; *at; line++) {
        const int n = (int)strcspn(at, "\r\n");
        fprintf(to, "<tr><td>%u</td>", line);
        if (more && l.line == line) {
            page_row(p, &l, most, to);
            more = ptxgen_emulator_line_at(p->module, ++next, &l);
        } else {
            fputs("<td colspan=8></td>", to);
        }
        fputs("<td class=p>", to);
        print_escaped(at, n, to);
        fputs("</td></tr>\n", to);
        at += n + (at[n] == '\r') + (at[n + (at[n] == '\r')] == '\n');
    }
    fputs("</table></html>\n", to);
}

ptxgen_status run_write_report(const run_profile *p, const char *path, ptxgen_error *err)
{
    const size_t n = strlen(path);
    cli_output to;
    const ptxgen_status status = cli_output_open(&to, path, false, err);
    if (status != PTXGEN_OK)
        return status;
    if (n > 5 && strcmp(path + n - 5, ".html") == 0)
        page(p, to.file);
    else
        text_report(p, to.file);
    return cli_output_commit(&to, err);
}
