/* ptxgen diff: two kernels side by side: what they use, their instructions by class, what they do
 * on the emulator, and their texts. */
#include "command/child.h"
#include "command/diff/opcodes.h"
#include "command/diff/side.h"
#include "command/json.h"
#include "command/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct comparison {
    diff_side side[2];
    opcode_counts *ptx[2], *sass[2]; /* NULL: no text */
    char *sass_text[2];              /* without addresses */
    char *ptx_diff, *sass_diff;      /* owned; NULL: not compared */
    char *no_ptx_diff, *no_sass_diff;
    bool different;
    FILE *to;
    cJSON *json; /* NULL: text */
} comparison;

/* ---- texts ---- */

/* SASS without the address at the begin of a line, which one instruction more would change in all
 * that follow. */
static char *without_addresses(const char *sass)
{
    char *out = cli_calloc(strlen(sass) + 1, 1), *to = out;
    for (const char *line = sass; *line;) {
        const size_t n = strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
        const size_t space = strspn(line, " \t");
        const char *end = strstr(line, "*/");
        const bool addressed =
            strncmp(line + space, "/*", 2) == 0 && end && end < line + n && space < n;
        const size_t skipped = addressed ? (size_t)(end + 2 - line) : 0;
        memcpy(to, line + skipped, n - skipped);
        to += n - skipped;
        line += n;
    }
    return out;
}

/* By the program diff, or the reason why not. */
static char *unified(const char *a, const char *b, const char *what, char **reason)
{
    ptxgen_error err = {0};
    char paths[2][CLI_DESCRIPTOR_PATH], *out = NULL;
    const int fds[3] = {cli_memory_file(a, strlen(a)), cli_memory_file(b, strlen(b)),
                        cli_memory_file("", 0)};
    char program[] = "diff", context[] = "-U3", label[] = "--label";
    char *names[2] = {cli_format("A (%s)", what), cli_format("B (%s)", what)};
    char *const argv[] = {program,
                          context,
                          label,
                          names[0],
                          label,
                          names[1],
                          (char *)cli_descriptor_path(fds[0], paths[0]),
                          (char *)cli_descriptor_path(fds[1], paths[1]),
                          NULL};
    int code = 0;
    size_t n;
    ptxgen_status status = PTXGEN_OK;
    if (fds[0] < 0 || fds[1] < 0 || fds[2] < 0)
        status = cli_fail(&err, PTXGEN_EIO, "no memory for a text: %s", strerror(errno));
    if (status == PTXGEN_OK)
        status = cli_run_child(&(cli_child){argv, fds[2], -1}, &code, &err);
    if (status == PTXGEN_OK && code > 1)
        status = cli_fail(&err, PTXGEN_EIO, "diff failed with exit code %d", code);
    if (status == PTXGEN_OK)
        status = cli_memory_read(fds[2], &out, &n, &err);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(names[0]);
    free(names[1]);
    if (status != PTXGEN_OK)
        *reason = cli_format("%s", err.message);
    return out;
}

/* Of the first side that has one. */
static char *reason_of(char *const reasons[2])
{
    return reasons[0] ? cli_format("A: %s", reasons[0]) : cli_format("B: %s", reasons[1]);
}

static void compare_texts(comparison *c)
{
    diff_side *a = &c->side[0], *b = &c->side[1];
    if (a->ptx && b->ptx) {
        c->different |= strcmp(a->ptx, b->ptx) != 0;
        c->ptx_diff = unified(a->ptx, b->ptx, "PTX", &c->no_ptx_diff);
    } else {
        c->no_ptx_diff = reason_of((char *[2]){a->no_ptx, b->no_ptx});
    }
    if (c->sass_text[0] && c->sass_text[1]) {
        c->different |= strcmp(c->sass_text[0], c->sass_text[1]) != 0;
        c->sass_diff = unified(c->sass_text[0], c->sass_text[1], "SASS", &c->no_sass_diff);
    } else {
        c->no_sass_diff = reason_of((char *[2]){a->no_sass, b->no_sass});
        /* Then the bytes speak, unless the texts that they were made of do. */
        c->different |=
            !(a->ptx && b->ptx) && a->cubin && b->cubin &&
            (a->cubin_size != b->cubin_size || memcmp(a->cubin, b->cubin, a->cubin_size) != 0);
    }
}

/* ---- rows of two numbers ---- */

enum { UNKNOWN = -1 };

typedef struct row {
    const char *name;
    int64_t value[2]; /* UNKNOWN */
} row;

/* Of a section's table, or into a JSON object. */
static void say_row(comparison *c, cJSON *into, const row *r)
{
    if (into) {
        cJSON *pair = cJSON_AddArrayToObject(into, r->name);
        for (int i = 0; i < 2; i++)
            cJSON_AddItemToArray(pair, r->value[i] == UNKNOWN
                                           ? cJSON_CreateNull()
                                           : cJSON_CreateNumber((double)r->value[i]));
        return;
    }
    fprintf(c->to, "  %-36s", r->name);
    for (int i = 0; i < 2; i++)
        if (r->value[i] == UNKNOWN)
            fprintf(c->to, " %14s", "unknown");
        else
            fprintf(c->to, " %14lld", (long long)r->value[i]);
    const bool known = r->value[0] != UNKNOWN && r->value[1] != UNKNOWN;
    if (known && r->value[0] != r->value[1])
        fprintf(c->to, " %+14lld", (long long)(r->value[1] - r->value[0]));
    fputc('\n', c->to);
}

static cJSON *begin_section(comparison *c, const char *key, const char *title)
{
    if (!c->json)
        fprintf(c->to, "\n%-38s %14s %14s %14s\n", title, "A", "B", "B - A");
    return c->json ? cJSON_AddObjectToObject(c->json, key) : NULL;
}

static void say_resources(comparison *c)
{
    const diff_side *a = &c->side[0], *b = &c->side[1];
    const ptxgen_cubin_kernel *x = &a->kernel, *y = &b->kernel;
    const bool cubins[2] = {a->cubin != NULL, b->cubin != NULL};
    const row rows[] = {{"registers", {x->registers, y->registers}},
                        {"static shared bytes", {x->shared_bytes, y->shared_bytes}},
                        {"dynamic shared bytes", {a->dynamic_shared, b->dynamic_shared}},
                        {"local bytes", {x->local_bytes, y->local_bytes}},
                        {"spill bytes", {a->spill_bytes, b->spill_bytes}},
                        {"named barriers", {x->barriers, y->barriers}},
                        {"parameter bytes", {x->param_bytes, y->param_bytes}},
                        {"calls left", {x->calls, y->calls}},
                        {"code bytes", {(int64_t)x->code_bytes, (int64_t)y->code_bytes}}};
    cJSON *into = begin_section(c, "resources", "resources");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        row r = rows[i];
        for (int k = 0; k < 2; k++)
            if (!cubins[k] && i != 2)
                r.value[k] = UNKNOWN;
        if (r.value[0] != UNKNOWN && r.value[1] != UNKNOWN)
            c->different |= r.value[0] != r.value[1];
        say_row(c, into, &r);
    }
}

static void say_classes(comparison *c, const char *key, const char *title,
                        opcode_counts *const counts[2])
{
    if (!counts[0] && !counts[1])
        return;
    cJSON *section = begin_section(c, key, title);
    cJSON *classes = section ? cJSON_AddObjectToObject(section, "classes") : NULL;
    cJSON *opcodes = section ? cJSON_AddObjectToObject(section, "opcodes") : NULL;
    row r = {"all", {UNKNOWN, UNKNOWN}};
    for (int k = 0; k < 2; k++)
        r.value[k] = counts[k] ? (int64_t)counts[k]->instructions : UNKNOWN;
    say_row(c, classes, &r);
    for (size_t i = 0; (r.name = opcode_class_name(i)); i++) {
        for (int k = 0; k < 2; k++)
            r.value[k] = counts[k] ? (int64_t)counts[k]->by_class[i] : UNKNOWN;
        if (r.value[0] > 0 || r.value[1] > 0)
            say_row(c, classes, &r);
    }
    /* Opcodes: all in JSON, in text those whose counts differ. */
    for (int from = 0; from < 2; from++)
        for (size_t i = 0; counts[from] && i < counts[from]->kinds; i++) {
            r.name = counts[from]->all[i].name;
            if (from == 1 && counts[0] && opcode_count(counts[0], r.name))
                continue; /* has had its row */
            for (int k = 0; k < 2; k++)
                r.value[k] = counts[k] ? (int64_t)opcode_count(counts[k], r.name) : UNKNOWN;
            const bool both = counts[0] && counts[1];
            if (section || (both && r.value[0] != r.value[1]))
                say_row(c, opcodes, &r);
        }
}

static void say_counts(comparison *c)
{
    const diff_side *a = &c->side[0], *b = &c->side[1];
    if (a->no_counts || b->no_counts) {
        char *why = reason_of((char *[2]){a->no_counts, b->no_counts});
        if (c->json)
            cJSON_AddStringToObject(c->json, "no_counts", why);
        else
            fprintf(c->to, "\nnot run: %s\n", why);
        free(why);
        return;
    }
    cJSON *into = begin_section(c, "counts", "counts on the emulator");
    for (size_t i = 0; i < a->count_count && i < b->count_count; i++) {
        const row r = {a->counts[i].name,
                       {(int64_t)a->counts[i].value, (int64_t)b->counts[i].value}};
        c->different |= r.value[0] != r.value[1];
        if (into || r.value[0] || r.value[1])
            say_row(c, into, &r);
    }
}

/* ---- the report ---- */

static void count_lines(const char *diff, size_t *removed, size_t *added)
{
    *removed = *added = 0;
    for (const char *line = diff; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        *removed += *line == '-' && strncmp(line, "--- ", 4) != 0;
        *added += *line == '+' && strncmp(line, "+++ ", 4) != 0;
    }
}

static void say_text(comparison *c, const char *what, const char *diff, const char *reason)
{
    size_t removed, added;
    if (!diff) {
        fprintf(c->to, "\n%s not compared: %s\n", what, reason);
        return;
    }
    count_lines(diff, &removed, &added);
    if (!*diff)
        fprintf(c->to, "\n%s: the same\n", what);
    else
        fprintf(c->to, "\n%s: %s of A, %s of B\n%s", what, cli_count(removed, "line", "lines"),
                cli_count(added, "line", "lines"), diff);
}

static void add_text(cJSON *o, const char *key, const char *diff, const char *reason)
{
    char *why = cli_format("no_%s", key);
    if (diff)
        cJSON_AddStringToObject(o, key, diff);
    else
        cJSON_AddStringToObject(o, why, reason);
    free(why);
}

static void say_sides(comparison *c)
{
    for (int i = 0; i < 2; i++) {
        const diff_side *s = &c->side[i];
        const char *arch = s->cubin ? ptxgen_arch_name(s->info.arch) : NULL;
        if (c->json) {
            cJSON *o = cJSON_AddObjectToObject(c->json, i ? "b" : "a");
            cJSON_AddStringToObject(o, "name", s->name);
            if (arch)
                cJSON_AddStringToObject(o, "arch", arch);
            else
                cJSON_AddStringToObject(o, "no_cubin", s->no_cubin);
        } else {
            fprintf(c->to, "%c  %s%s%s\n", "AB"[i], s -> name, arch ? "; cubin for " : "",
                    arch ? arch : "");
            if (!arch)
                fprintf(c->to, "   no cubin: %s\n", s->no_cubin);
        }
    }
}

static void report(comparison *c)
{
    say_sides(c);
    say_resources(c);
    say_classes(c, "ptx", "PTX instructions", c->ptx);
    say_classes(c, "sass", "SASS instructions", c->sass);
    say_counts(c);
    if (!c->json) {
        say_text(c, "PTX", c->ptx_diff, c->no_ptx_diff);
        say_text(c, "SASS", c->sass_diff, c->no_sass_diff);
        return;
    }
    cJSON_AddBoolToObject(c->json, "equal", !c->different);
    add_text(c->json, "ptx_diff", c->ptx_diff, c->no_ptx_diff);
    add_text(c->json, "sass_diff", c->sass_diff, c->no_sass_diff);
}

static void count_texts(comparison *c)
{
    for (int i = 0; i < 2; i++) {
        const diff_side *s = &c->side[i];
        if (s->ptx) {
            c->ptx[i] = cli_calloc(1, sizeof *c->ptx[i]);
            opcodes_of_ptx(s->ptx, c->ptx[i]);
        }
        if (s->sass) {
            c->sass[i] = cli_calloc(1, sizeof *c->sass[i]);
            opcodes_of_sass(s->sass, c->sass[i]);
            c->sass_text[i] = without_addresses(s->sass);
        }
    }
}

static void free_comparison(comparison *c)
{
    for (int i = 0; i < 2; i++) {
        diff_side_free(&c->side[i]);
        free(c->ptx[i]);
        free(c->sass[i]);
        free(c->sass_text[i]);
    }
    free(c->ptx_diff);
    free(c->sass_diff);
    free(c->no_ptx_diff);
    free(c->no_sass_diff);
}

static ptxgen_status compare(comparison *c, const cli_args *args, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (int i = 0; i < 2 && status == PTXGEN_OK; i++)
        status = diff_side_open(&c->side[i], &args->set, args->words[i], err);
    const diff_side *a = &c->side[0], *b = &c->side[1];
    if (status == PTXGEN_OK && !(a->ptx && b->ptx) && !(a->cubin && b->cubin))
        status =
            cli_fail(err, PTXGEN_EMISSING, "one is a cubin and of the other there is only PTX: %s",
                     a->cubin ? b->no_cubin : a->no_cubin);
    if (status != PTXGEN_OK)
        return status;
    count_texts(c);
    compare_texts(c);
    return PTXGEN_OK;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    cli_output out;
    if (args->count != 2)
        return cli_usage_error(&args->set,
                               "compare what? Two words: files, or \"FAMILY name=value ...\" in "
                               "quotes");
    comparison *c = cli_calloc(1, sizeof *c);
    ptxgen_status status = compare(c, args, &err);
    if (status == PTXGEN_OK)
        status = cli_output_open(&out, args->set.output, false, &err);
    if (status == PTXGEN_OK) {
        c->to = out.file;
        c->json = args->set.json ? cJSON_CreateObject() : NULL;
        report(c);
        if (c->json)
            cli_json_write(c->json, out.file);
        status = cli_output_commit(&out, &err);
    }
    const int code = c->different ? CLI_NO : CLI_OK;
    free_comparison(c);
    free(c);
    return status == PTXGEN_OK ? code : cli_report(&args->set, &err);
}

/* Files are not kept in the cache. */
static const char *reads(const cli_args *args)
{
    bool files = true;
    for (size_t i = 0; i < args->count; i++)
        files &= access(args->words[i], F_OK) == 0 || strcmp(args->words[i], "-") == 0;
    return files ? "output json toolkit log" : NULL;
}

const cli_command cli_diff = {
    .name = "diff",
    .usage = "A B",
    .summary = "compare two kernels: resources, instructions, counts, PTX, SASS",
    .text = "A and B are a word each: a file of PTX, a cubin, or a family with parameters in\n"
            "quotes. Both are assembled where there is an assembler, and disassembled where\n"
            "there is nvdisasm or cuobjdump; what is missing is said in its place. A family\n"
            "with all extents of its operands is a problem: that is run on the emulator, on\n"
            "random data, and what it does is counted. Exit code 0: the same, 1: they differ.\n",
    .examples = "  ptxgen diff old.ptx new.ptx\n"
                "  ptxgen diff \"scatter_add n=512\" \"scatter_add n=512 schedule=seed\"\n"
                "  ptxgen diff \"matmul_accumulate m=64 n=64 k=64\" \\\n"
                "              \"matmul_accumulate m=64 n=64 k=64 swizzle=64\" --json\n",
    .options = "output json toolkit cache-dir log help",
    .reads = reads,
    .run = run,
};
