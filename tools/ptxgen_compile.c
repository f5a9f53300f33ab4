/* ptxgen compile: one cubin, or a manifest of kernels into the cache. */
#include "ptxgen_output.h"
#include "ptxgen_progress.h"
#include "ptxgen_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static ptxgen_status write_cubin(const cli_args *args, const ptxgen_kernel_info *info,
                                 ptxgen_error *err)
{
    const char *output = args->set.output;
    if (output) {
        ptxgen_status status = cli_output_bytes(output, true, info->cubin, info->cubin_size, err);
        if (status != PTXGEN_OK)
            return status;
    }
    const bool cubin_on_stdout = output && strcmp(output, "-") == 0;
    if (args->set.json && !cubin_on_stdout)
        cli_json_print(cli_kernel_json(info));
    else
        cli_kernel_text(info, args->set.verbose, cubin_on_stdout ? stderr : stdout);
    return PTXGEN_OK;
}

static int compile_one(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen *ctx = NULL;
    ptxgen_kernel *kernel = NULL;
    char *params = NULL;
    ptxgen_status status = cli_params(args, 1, &params, &err);
    if (status == PTXGEN_OK)
        status = cli_context(&args->set, &ctx, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_compile(ctx, args->words[0], params, &kernel, &err);
    if (status == PTXGEN_OK) {
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(kernel, &info);
        status = write_cubin(args, &info, &err);
    }
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
    free(params);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

/* ---- manifest ---------------------------------------------------------------------------------- */

typedef struct manifest {
    char *text;   /* owned; its lines are cut into family and params in place */
    size_t count; /* kernels */
    struct request {
        const char *family, *params;
        int line;
    } * requests; /* owned */
} manifest;

static ptxgen_status read_text(const char *path, char **out, ptxgen_error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(errno));
    size_t size = 0, used = 0;
    char *text = NULL;
    do {
        size = size ? size * 2 : 4096;
        char *more = realloc(text, size);
        if (!more) {
            free(text);
            return cli_fail(err, PTXGEN_ENOMEM, "out of memory while reading %s", path);
        }
        text = more;
        used += fread(text + used, 1, size - used - 1, file);
    } while (used == size - 1);
    text[used] = '\0';
    const bool failed = ferror(file) != 0, binary = strlen(text) != used;
    const int why = errno;
    if (file != stdin)
        fclose(file);
    if (!failed && !binary) {
        *out = text;
        return PTXGEN_OK;
    }
    free(text);
    return failed ? cli_fail(err, PTXGEN_EIO, "cannot read %s: %s", path, strerror(why))
                  : cli_fail(err, PTXGEN_EINVAL,
                             "%s is no text: one \"FAMILY name=value ...\" a line", path);
}

static ptxgen_status read_manifest(const char *path, manifest *m, ptxgen_error *err)
{
    ptxgen_status status = read_text(path, &m->text, err);
    if (status != PTXGEN_OK)
        return status;
    size_t lines = 1;
    for (const char *p = m->text; *p; p++)
        lines += *p == '\n';
    m->requests = cli_calloc(lines, sizeof *m->requests);
    int number = 0;
    for (char *line = m->text, *next; line; line = next) {
        number++;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#\r")] = '\0';
        line += strspn(line, " \t");
        if (*line == '\0')
            continue;
        char *params = line + strcspn(line, " \t");
        if (*params != '\0')
            *params++ = '\0';
        m->requests[m->count++] = (struct request){line, params, number};
    }
    if (m->count == 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s names no kernel: one \"FAMILY name=value ...\" a line", path);
    return PTXGEN_OK;
}

/* How many kernels ended how; the exit code is the first failure's. */
typedef struct tally {
    size_t assembled, cached, failed;
    int code;
} tally;

static void count(tally *t, const cli_args *args, const struct request *r, ptxgen_status status,
                  ptxgen_kernel *kernel, const ptxgen_error *err)
{
    if (status != PTXGEN_OK) {
        cli_say("%s:%d: %s %s: %s", args->set.manifest, r->line, r->family, r->params,
                err->message);
        t->failed++;
        if (t->code == CLI_OK)
            t->code = cli_exit_for(status);
        return;
    }
    if (!kernel)
        return;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    if (info.origin == PTXGEN_ORIGIN_ASSEMBLED)
        t->assembled++;
    else
        t->cached++;
    if (args->set.verbose)
        cli_say("%s %s: %s", info.family, info.params, cli_origin_name(info.origin));
}

static void print_tally(const cli_args *args, const manifest *m, const tally *t)
{
    if (args->set.json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddBoolToObject(root, "dry_run", args->set.dry_run);
        cli_json_integer(root, "kernels", (int64_t)m->count);
        cli_json_integer(root, "assembled", (int64_t)t->assembled);
        cli_json_integer(root, "cached", (int64_t)t->cached);
        cli_json_integer(root, "failed", (int64_t)t->failed);
        cli_json_print(root);
    } else if (args->set.dry_run) {
        printf("%zu kernels would be compiled, %zu are refused\n", m->count - t->failed, t->failed);
    } else {
        printf("%zu kernels: %zu assembled, %zu were in the cache, %zu failed\n", m->count,
               t->assembled, t->cached, t->failed);
    }
}

/* ctx is NULL in a dry run: the lines are only checked. */
static void compile_lines(const cli_args *args, ptxgen *ctx, const manifest *m, tally *t)
{
    cli_progress bar = cli_progress_begin("compiling", m->count);
    for (size_t i = 0; i < m->count; i++) {
        const struct request *r = &m->requests[i];
        ptxgen_error err = {0};
        ptxgen_kernel *kernel = NULL;
        char canonical[512];
        ptxgen_status status =
            ctx ? ptxgen_compile(ctx, r->family, r->params, &kernel, &err)
                : ptxgen_canonical(r->family, r->params, canonical, sizeof canonical, &err);
        count(t, args, r, status, kernel, &err);
        ptxgen_kernel_unref(kernel);
        cli_progress_step(&bar, i + 1 < m->count ? m->requests[i + 1].params : NULL);
    }
    cli_progress_end(&bar);
}

static int compile_manifest(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen *ctx = NULL;
    manifest m = {0};
    tally t = {0};
    ptxgen_status status = read_manifest(args->set.manifest, &m, &err);
    if (status == PTXGEN_OK && !args->set.dry_run)
        status = cli_context(&args->set, &ctx, &err);
    if (status == PTXGEN_OK) {
        compile_lines(args, ctx, &m, &t);
        print_tally(args, &m, &t);
    } else {
        t.code = cli_report(&args->set, &err);
    }
    ptxgen_destroy(ctx);
    free(m.requests);
    free(m.text);
    return t.code;
}

/* ---- */

static int dry_run_one(const cli_args *args)
{
    ptxgen_error err = {0};
    char *params = NULL, canonical[512];
    ptxgen_status status = cli_params(args, 1, &params, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_canonical(args->words[0], params, canonical, sizeof canonical, &err);
    free(params);
    if (status != PTXGEN_OK)
        return cli_report(&args->set, &err);
    if (args->set.json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddTrueToObject(root, "dry_run");
        cJSON_AddStringToObject(root, "family", args->words[0]);
        cJSON_AddStringToObject(root, "params", canonical);
        cli_json_print(root);
    } else {
        printf("would compile %s %s\n", args->words[0], canonical);
    }
    return CLI_OK;
}

static int run(const cli_args *args)
{
    if (args->set.manifest && args->count > 0)
        return cli_usage_error(&args->set,
                               "'%s' and --manifest: name one kernel or a manifest, not both",
                               args->words[0]);
    if (args->set.manifest && args->set.output)
        return cli_usage_error(&args->set, "a manifest fills the cache; -o is for one kernel");
    if (!args->set.manifest && args->count == 0)
        return cli_usage_error(&args->set,
                               "which kernel? `ptxgen compile FAMILY name=value ... -o x.cubin`");
    if (args->set.manifest)
        return compile_manifest(args);
    return args->set.dry_run ? dry_run_one(args) : compile_one(args);
}

const cli_command cli_compile = {
    .name = "compile",
    .usage = "FAMILY [name=value ...] [-o FILE.cubin] | --manifest FILE",
    .summary = "assemble a kernel, or fill the cache with many",
    .text = "Assembles one kernel, keeps it in the cache, and says what it needs:\n"
            "registers, shared memory, spills. -o also writes the cubin. --manifest fills\n"
            "the cache for a fleet: what was compiled once is never assembled again; a\n"
            "line of the file is one kernel, # begins a comment, - is standard input.\n"
            "Needs an assembler, no GPU.\n",
    .examples = "  ptxgen compile scatter_add dtype=bf16 n=512 arch=sm_90a -o kernel.cubin\n"
                "  ptxgen compile scatter_add n=4096 --assembler nvjitlink --json\n"
                "  ptxgen compile --manifest kernels.txt --cache-dir /srv/ptxgen\n",
    .options = "output manifest dry-run verbose assembler toolkit cache-dir json log help",
    .takes_family = true,
    .run = run,
};
