/* ptxgen inline: a kernel's PTX with the functions that it calls from another PTX file put into
 * it. */
#include "command/file.h"
#include "command/json.h"
#include "command/output.h"

#include <ptxgen/inline.h>

#include <stdlib.h>
#include <string.h>

typedef struct job {
    const cli_args *args;
    char *kernel, *function; /* texts */
    ptxgen_inlined *inlined;
} job;

static void say_calls(const job *j)
{
    ptxgen_inlined_call call;
    const size_t local = ptxgen_inlined_local_bytes(j->inlined);
    for (size_t i = 0; ptxgen_inlined_call_at(j->inlined, i, &call); i++)
        if (!call.inlined)
            cli_say("%s:%u: %s still calls %s (%zu instructions): %s", j->args->words[0], call.line,
                    call.caller, call.callee, call.instructions, call.reason);
    if (local)
        cli_say("inlined functions need %zu bytes of local memory per thread (arrays that are "
                "indexed at run time)",
                local);
}

static void write_map(const job *j, FILE *to)
{
    const char *text = ptxgen_inlined_text(j->inlined, NULL);
    ptxgen_inlined_line line;
    for (size_t i = 0; *text && ptxgen_inlined_line_at(j->inlined, i, &line); i++) {
        const size_t length = strcspn(text, "\n");
        if (line.source == PTXGEN_INLINED_GENERATED)
            fprintf(to, "%zu\t-:0\t", i + 1);
        else if (line.file_line)
            fprintf(to, "%zu\t%s:%u\t", i + 1, line.file, line.file_line);
        else
            fprintf(to, "%zu\t%s:%u\t", i + 1,
                    j->args->words[line.source == PTXGEN_INLINED_FUNCTION], line.line);
        fprintf(to, "%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static cJSON *as_json(const job *j)
{
    cJSON *root = cJSON_CreateObject(), *calls = cJSON_AddArrayToObject(root, "calls");
    ptxgen_inlined_call call;
    for (size_t i = 0; ptxgen_inlined_call_at(j->inlined, i, &call); i++) {
        cJSON *c = cJSON_CreateObject();
        cJSON_AddStringToObject(c, "caller", call.caller);
        cJSON_AddStringToObject(c, "callee", call.callee);
        cli_json_integer(c, "line", call.line);
        cJSON_AddBoolToObject(c, "inlined", call.inlined);
        cli_json_integer(c, "instructions", (int64_t)call.instructions);
        if (!call.inlined)
            cJSON_AddStringToObject(c, "reason", call.reason);
        cJSON_AddItemToArray(calls, c);
    }
    cli_json_integer(root, "local_bytes", (int64_t)ptxgen_inlined_local_bytes(j->inlined));
    cJSON_AddStringToObject(root, "ptx", ptxgen_inlined_text(j->inlined, NULL));
    return root;
}

/* The product is the PTX, of which -o names the place; --json reports on standard output what
 * was done, with it. */
static ptxgen_status write_product(const job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    cli_output to;
    if (set->json)
        cli_json_write(as_json(j), cli_report_file(set));
    if (set->json && !set->output)
        return PTXGEN_OK;
    const ptxgen_status status = cli_output_open(&to, set->output, false, err);
    if (status != PTXGEN_OK)
        return status;
    if (set->line_map)
        write_map(j, to.file);
    else
        fputs(ptxgen_inlined_text(j->inlined, NULL), to.file);
    return cli_output_commit(&to, err);
}

static ptxgen_status inline_files(job *j, ptxgen_error *err)
{
    char **words = j->args->words;
    const int64_t limit = j->args->set.limit;
    ptxgen_status status = cli_read_text(words[0], &j->kernel, err);
    if (status == PTXGEN_OK)
        status = cli_read_text(words[1], &j->function, err);
    if (status != PTXGEN_OK)
        return status;
    const ptxgen_inline_args args = {.size = sizeof args,
                                     .kernel = j->kernel,
                                     .kernel_file = words[0],
                                     .function = j->function,
                                     .function_file = words[1],
                                     .budget = limit < 0 ? 0
                                               : limit   ? limit
                                                         : -1};
    status = ptxgen_inline(&args, &j->inlined, err);
    if (status != PTXGEN_OK)
        return status;
    say_calls(j);
    return write_product(j, err);
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    job j = {.args = args};
    if (args->count != 2)
        return cli_usage_error(&args->set, "two files: the kernel's PTX and the function's PTX");
    if (strcmp(args->words[0], "-") == 0 && strcmp(args->words[1], "-") == 0)
        return cli_usage_error(&args->set, "only one of the two files can be standard input");
    if (args->set.json && args->set.line_map)
        return cli_usage_error(&args->set, "--json or --line-map, not both");
    const ptxgen_status status = inline_files(&j, &err);
    ptxgen_inlined_free(j.inlined);
    free(j.kernel);
    free(j.function);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

const cli_command cli_inline = {
    .name = "inline",
    .usage = "KERNEL.ptx FUNCTION.ptx [-o FILE]",
    .summary = "put a function's PTX into the kernel that calls it",
    .text = "ptxas never inlines a .func. This does: calls in KERNEL.ptx of functions that\n"
            "FUNCTION.ptx defines become the functions' code, in a scope of its own; the\n"
            "rest of KERNEL.ptx stays as it is. KERNEL.ptx declares them (.extern .func), as\n"
            "nvcc -rdc=true writes it. Refused, with the line: barriers, instructions of a\n"
            "whole warp, shared memory, exit and trap, calls through pointers, printf,\n"
            "recursion, code for another architecture. A function whose copies would have\n"
            "more than --limit instructions stays a .func; that is said.\n",
    .examples = "  nvcc -arch=sm_90a -rdc=true -ptx my.cu\n"
                "  ptxgen inline kernel.ptx my.ptx -o merged.ptx\n"
                "  ptxgen inline kernel.ptx my.ptx --line-map\n",
    .options = "output json line-map limit help",
    .run = run,
};
