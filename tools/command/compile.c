/* ptxgen compile: a kernel's cubin and what it needs. */
#include "command/function.h"
#include "command/output.h"
#include "command/report.h"

#include <stdlib.h>
#include <string.h>

static cJSON *parameters_of(const ptxgen_kernel *kernel, size_t entry)
{
    ptxgen_launch_arg a;
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; ptxgen_kernel_entry_param(kernel, entry, i, &a); i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", a.name);
        cJSON_AddStringToObject(o, "kind", cli_arg_kind(a.kind));
        cli_json_integer(o, "offset", a.offset);
        cli_json_integer(o, "bytes", a.bytes);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

/* What a launch of the cubin fills; the values are those of --print-launch. Of a module with
 * several entries, for each of them. */
static cJSON *with_parameters(const ptxgen_kernel *kernel, cJSON *root)
{
    char name[128];
    if (!ptxgen_kernel_entry(kernel, 1, name, sizeof name)) {
        cJSON_AddItemToObject(root, "parameters", parameters_of(kernel, 0));
        return root;
    }
    cJSON *entries = cJSON_AddArrayToObject(root, "entries");
    for (size_t i = 0; ptxgen_kernel_entry(kernel, i, name, sizeof name); i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "entry", name);
        cJSON_AddItemToObject(o, "parameters", parameters_of(kernel, i));
        cJSON_AddItemToArray(entries, o);
    }
    return root;
}

static ptxgen_status write_cubin(const cli_args *args, ptxgen *ctx, const ptxgen_kernel *kernel,
                                 ptxgen_error *err)
{
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    const char *output = args->set.output;
    if (output) {
        ptxgen_status status = cli_output_bytes(output, true, info.cubin, info.cubin_size, err);
        if (status != PTXGEN_OK)
            return status;
    }
    FILE *to = cli_report_file(&args->set);
    if (args->set.json) {
        cJSON *root = with_parameters(kernel, cli_kernel_json(&info));
        cli_json_cache(root, ctx);
        cli_json_write(root, to);
    } else {
        cli_kernel_text(&info, args->set.verbose, to);
    }
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
        status = cli_kernel_params(ctx, args->words[0], &params, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_compile(ctx, args->words[0], params, &kernel, &err);
    if (status == PTXGEN_OK)
        status = write_cubin(args, ctx, kernel, &err);
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
    free(params);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

static int dry_run_one(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen *ctx = NULL;
    char *params = NULL;
    cli_settings no_cache = args->set;
    no_cache.cache_dir = "";
    ptxgen_status status = cli_params(args, 1, &params, &err);
    if (status == PTXGEN_OK)
        status = cli_context(&no_cache, &ctx, &err);
    if (status == PTXGEN_OK)
        status = cli_kernel_params(ctx, args->words[0], &params, &err);
    ptxgen_destroy(ctx);
    if (status != PTXGEN_OK) {
        free(params);
        return cli_report(&args->set, &err);
    }
    if (args->set.json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddTrueToObject(root, "dry_run");
        cJSON_AddStringToObject(root, "family", args->words[0]);
        cJSON_AddStringToObject(root, "params", params);
        cli_json_print(root);
    } else {
        printf("would compile %s %s\n", args->words[0], params);
    }
    free(params);
    return CLI_OK;
}

static int run(const cli_args *args)
{
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "which kernel? `ptxgen compile FAMILY name=value ... -o x.cubin`");
    return args->set.dry_run ? dry_run_one(args) : compile_one(args);
}

/* A dry run opens nothing. */
static const char *reads(const cli_args *args)
{
    return args->set.dry_run ? "arch dry-run json" : NULL;
}

const cli_command cli_compile = {
    .name = "compile",
    .usage = "FAMILY [name=value ...] [-o FILE.cubin]",
    .summary = "assemble a kernel and say what it needs",
    .text = "Assembles one kernel, keeps it in the cache, and says what it needs:\n"
            "registers, shared memory, spills, calls. -o also writes the cubin. Needs an\n"
            "assembler, no GPU. With a problem's extents it is the kernel that a call of\n"
            "them takes.\n",
    .examples = "  ptxgen compile scatter_add dtype=bf16 n=512 arch=sm_90a -o kernel.cubin\n"
                "  ptxgen compile scatter_add n=4096 --assembler nvjitlink --json\n",
    .options = "output arch dry-run verbose assembler toolkit cache-dir json log help",
    .takes_family = true,
    .arch_is_word = true,
    .reads = reads,
    .run = run,
};
