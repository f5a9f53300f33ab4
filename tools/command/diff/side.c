#include "command/diff/side.h"

#include "command/child.h"
#include "command/diff/counts.h"
#include "command/file.h"
#include "command/function.h"
#include "command/options.h"
#include "command/sass.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *copy_bytes(const void *bytes, size_t n)
{
    char *copy = cli_calloc(n + 1, 1);
    memcpy(copy, bytes, n);
    return copy;
}

/* ---- cubins ---- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* What all kernels of a cubin use. */
static ptxgen_status inspect(diff_side *s, ptxgen_error *err)
{
    ptxgen_cubin_kernel k = {.size = sizeof k};
    s->info.size = sizeof s->info;
    const ptxgen_status status = ptxgen_cubin_inspect(s->cubin, s->cubin_size, &s->info, err);
    s->kernel = (ptxgen_cubin_kernel){.registers = -1,
                                      .barriers = -1,
                                      .shared_bytes = -1,
                                      .local_bytes = -1,
                                      .param_bytes = -1,
                                      .calls = -1};
    for (size_t i = 0; ptxgen_cubin_kernel_at(s->cubin, s->cubin_size, i, &k); i++) {
        s->kernel.code_bytes += k.code_bytes;
        s->kernel.registers = larger(s->kernel.registers, k.registers);
        s->kernel.barriers = larger(s->kernel.barriers, k.barriers);
        s->kernel.shared_bytes = larger(s->kernel.shared_bytes, k.shared_bytes);
        s->kernel.local_bytes = larger(s->kernel.local_bytes, k.local_bytes);
        s->kernel.param_bytes = larger(s->kernel.param_bytes, k.param_bytes);
        if (k.calls >= 0)
            s->kernel.calls = larger(s->kernel.calls, 0) + k.calls;
    }
    return status;
}

/* SASS, or the reason why there is none. */
static void disassemble(diff_side *s, ptxgen *ctx)
{
    ptxgen_error err = {0};
    const char *program;
    size_t n;
    if (!s->cubin) {
        s->no_sass = cli_format("%s", s->no_cubin);
        return;
    }
    ptxgen_status status = cli_find_part(ctx, "disassembler", &program, &err);
    const int to = status == PTXGEN_OK ? cli_memory_file("", 0) : -1;
    if (status == PTXGEN_OK && to < 0)
        status = cli_fail(&err, PTXGEN_EIO, "no memory for SASS: %s", strerror(errno));
    if (status == PTXGEN_OK)
        status = cli_disassemble(program, s->cubin, s->cubin_size, to, &err);
    if (status == PTXGEN_OK)
        status = cli_memory_read(to, &s->sass, &n, &err);
    if (to >= 0)
        close(to);
    if (status != PTXGEN_OK)
        s->no_sass = cli_format("%s", err.message);
}

/* ---- files ---- */

/* "sm_90a" of the line ".target sm_90a, ..."; "" when there is none. */
static void target_of(const char *ptx, char *out, size_t size)
{
    const char *at = strstr(ptx, ".target");
    out[0] = '\0';
    if (at)
        at += 7 + strspn(at + 7, " \t");
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at, ", \t\r\n/"), at);
}

/* The bytes of spilled registers that ptxas -v tells of, stores and loads. */
static int spills_in(const char *log)
{
    int sum = -1, n;
    for (const char *p = log; (p = strstr(p, " bytes spill ")); p++) {
        const char *digits = p;
        while (digits > log && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (sscanf(digits, "%d", &n) == 1)
            sum = (sum < 0 ? 0 : sum) + n;
    }
    return sum;
}

/* Its first line that says something. */
static char *first_line(const char *log)
{
    const char *at = strstr(log, "error");
    at = at ? at : log;
    while (at > log && at[-1] != '\n' && strncmp(at, "line ", 5) != 0) /* not our file's name */
        at--;
    return cli_format("%.*s", (int)strcspn(at, "\n"), at);
}

static ptxgen_status run_ptxas(diff_side *s, const char *ptxas, const char *target,
                               ptxgen_error *err)
{
    enum { FROM, TO, LOG, FILES };
    char paths[2][CLI_DESCRIPTOR_PATH], *log = NULL;
    char *arch = cli_format("-arch=%s", target);
    const int fds[FILES] = {cli_memory_file(s->ptx, strlen(s->ptx)), cli_memory_file("", 0),
                            cli_memory_file("", 0)};
    char verbose[] = "-v", output[] = "-o";
    int code = 0;
    size_t n;
    ptxgen_status status = PTXGEN_OK;
    if (fds[FROM] < 0 || fds[TO] < 0 || fds[LOG] < 0)
        status = cli_fail(err, PTXGEN_EIO, "no memory for a cubin: %s", strerror(errno));
    char *const argv[] = {(char *)ptxas, verbose,
                          arch,          (char *)cli_descriptor_path(fds[FROM], paths[0]),
                          output,        (char *)cli_descriptor_path(fds[TO], paths[1]),
                          NULL};
    if (status == PTXGEN_OK)
        status = cli_run_child(&(cli_child){argv, fds[LOG], fds[LOG]}, &code, err);
    if (status == PTXGEN_OK)
        status = cli_memory_read(fds[LOG], &log, &n, err);
    if (status == PTXGEN_OK && code) {
        char *line = first_line(log);
        status = cli_fail(err, PTXGEN_EPARSE, "not assembled: %.400s", line);
        free(line);
    }
    if (status == PTXGEN_OK)
        status = cli_memory_read(fds[TO], (char **)&s->cubin, &s->cubin_size, err);
    if (status == PTXGEN_OK)
        s->spill_bytes = spills_in(log);
    for (int i = 0; i < FILES; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(log);
    free(arch);
    return status;
}

static void assemble(diff_side *s, ptxgen *ctx)
{
    ptxgen_error err = {0};
    const char *ptxas;
    char target[24];
    target_of(s->ptx, target, sizeof target);
    ptxgen_status status = cli_find_part(ctx, "ptxas", &ptxas, &err);
    if (status == PTXGEN_OK)
        status = run_ptxas(s, ptxas, target, &err);
    if (status == PTXGEN_OK)
        status = inspect(s, &err);
    if (status == PTXGEN_OK)
        return;
    free(s->cubin);
    s->cubin = NULL;
    s->no_cubin = cli_format("%s", err.message);
}

static ptxgen_status open_file(diff_side *s, ptxgen *ctx, const char *path, ptxgen_error *err)
{
    char *bytes;
    size_t n;
    ptxgen_status status = cli_read_file(path, &bytes, &n, err);
    if (status != PTXGEN_OK)
        return status;
    s->name = cli_format("%s", strcmp(path, "-") == 0 ? "<stdin>" : path);
    s->no_counts = cli_format("%s is a file: counts are of a family's problem", s->name);
    if (n >= 4 && memcmp(bytes, "\177ELF", 4) == 0) {
        s->cubin = bytes;
        s->cubin_size = n;
        s->no_ptx = cli_format("%s is a cubin", s->name);
        status = inspect(s, err);
        if (status != PTXGEN_OK) {
            ptxgen_error whole = *err;
            return cli_fail(err, status, "%s: %s", s->name, whole.message);
        }
        return PTXGEN_OK;
    }
    s->ptx = bytes;
    if (strlen(bytes) != n || !strstr(bytes, ".version") || !strstr(bytes, ".target"))
        return cli_fail(err, PTXGEN_EINVAL, "%s is neither a cubin nor PTX", s->name);
    assemble(s, ctx);
    return PTXGEN_OK;
}

/* ---- families ---- */

/* The kernel's PTX, and its cubin where there is an assembler. */
static ptxgen_status take_kernel(diff_side *s, ptxgen *ctx, const char *family, const char *params,
                                 ptxgen_error *err)
{
    ptxgen_kernel *kernel = NULL;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error unassembled = {0};
    ptxgen_status status = ptxgen_emit(ctx, family, params, &kernel, err);
    if (status != PTXGEN_OK)
        return status;
    ptxgen_kernel_describe(kernel, &info);
    s->name = cli_format("%s %s", family, info.params);
    s->ptx = copy_bytes(info.ptx, info.ptx_size);
    s->dynamic_shared = info.dynamic_shared_bytes;
    ptxgen_kernel_unref(kernel);
    kernel = NULL;
    if (ptxgen_compile(ctx, family, params, &kernel, &unassembled) == PTXGEN_OK) {
        ptxgen_kernel_describe(kernel, &info);
        s->cubin = copy_bytes(info.cubin, info.cubin_size);
        s->cubin_size = info.cubin_size;
        s->spill_bytes = info.spill_bytes;
        status = inspect(s, err);
    } else {
        s->no_cubin = cli_format("%s", unassembled.message);
    }
    ptxgen_kernel_unref(kernel);
    return status;
}

/* A problem is counted too. */
static ptxgen_status open_problem(diff_side *s, ptxgen *ctx, size_t family, cli_args words,
                                  ptxgen_error *err)
{
    run_problem r;
    ptxgen_status status = run_problem_open(&r, ctx, family, words, err);
    if (status == PTXGEN_OK)
        diff_count_problem(s, &r);
    if (status == PTXGEN_OK)
        status = take_kernel(s, ctx, r.problem.family, r.params, err);
    run_problem_close(&r);
    return status;
}

static ptxgen_status open_kernel(diff_side *s, ptxgen *ctx, const char *family, cli_args words,
                                 ptxgen_error *err)
{
    char *params;
    s->no_counts = cli_format("'%.60s' names a kernel, not a problem (all extents)", family);
    ptxgen_status status = cli_params(&words, 0, &params, err);
    if (status != PTXGEN_OK)
        return status;
    status = cli_functions(ctx, &params, err);
    if (status == PTXGEN_OK)
        status = take_kernel(s, ctx, family, params, err);
    free(params);
    return status;
}

static ptxgen_status open_request(diff_side *s, ptxgen *ctx, const char *text, ptxgen_error *err)
{
    enum { MOST_WORDS = 128 };
    char *copy = cli_format("%s", text), *words[MOST_WORDS], *rest = NULL;
    size_t count = 0, family = 0;
    for (char *w = strtok_r(copy, " \t\n", &rest); w && count < MOST_WORDS;
         w = strtok_r(NULL, " \t\n", &rest))
        words[count++] = w;
    const char *name = count ? words[0] : "";
    while (ptxgen_family_name(family) && strcmp(ptxgen_family_name(family), name) != 0)
        family++;
    const cli_args others = {.words = words + 1, .count = count ? count - 1 : 0};
    const bool problem =
        ptxgen_family_name(family) && cli_problem_is_one(family, others.words, others.count);
    const ptxgen_status status = problem ? open_problem(s, ctx, family, others, err)
                                         : open_kernel(s, ctx, name, others, err);
    free(copy);
    return status;
}

ptxgen_status diff_side_open(diff_side *s, const cli_settings *set, const char *word,
                             ptxgen_error *err)
{
    ptxgen *ctx;
    cli_settings own = *set;
    char first[64];
    *s = (diff_side){.spill_bytes = -1, .dynamic_shared = -1};
    own.device = PTXGEN_DEVICE_EMULATOR;
    ptxgen_status status = cli_context(&own, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(word, " \t\n"), word);
    if (cli_is_family(first) || (strchr(word, '=') && access(word, F_OK) != 0))
        status = open_request(s, ctx, word, err);
    else
        status = open_file(s, ctx, word, err);
    if (status == PTXGEN_OK)
        disassemble(s, ctx);
    ptxgen_destroy(ctx);
    return status;
}

void diff_side_free(diff_side *s)
{
    free(s->name);
    free(s->ptx);
    free(s->no_ptx);
    free(s->cubin);
    free(s->no_cubin);
    free(s->sass);
    free(s->no_sass);
    free(s->no_counts);
}
