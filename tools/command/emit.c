/* ptxgen emit: the PTX of a kernel. */
#include "command/function.h"
#include "command/output.h"
#include "command/report.h"

#include <stdlib.h>
#include <string.h>

/* "12<TAB>templates/x/main.ptxc:41<TAB>the PTX of line 12" */
static ptxgen_status write_line_map(const cli_args *args, const ptxgen_kernel *kernel,
                                    const char *ptx, ptxgen_error *err)
{
    cli_output to;
    ptxgen_status status = cli_output_open(&to, args->set.output, false, err);
    if (status != PTXGEN_OK)
        return status;
    int number = 0;
    for (const char *p = ptx; *p;) {
        const int length = (int)strcspn(p, "\n");
        const char *file = "-";
        int line = 0;
        number++;
        ptxgen_kernel_line_origin(kernel, number, &file, &line);
        fprintf(to.file, "%d\t%s:%d\t%.*s\n", number, file, line, length, p);
        p += length + (p[length] == '\n');
    }
    return cli_output_commit(&to, err);
}

/* The product is the PTX, of which -o names the place; --json reports on standard output what it
 * is, with it. */
static ptxgen_status write_kernel(const cli_args *args, const ptxgen_kernel *kernel,
                                  ptxgen_error *err)
{
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    if (args->set.line_map)
        return write_line_map(args, kernel, info.ptx, err);
    if (!args->set.json || args->set.output) {
        const ptxgen_status status =
            cli_output_bytes(args->set.output, false, info.ptx, info.ptx_size, err);
        if (status != PTXGEN_OK || !args->set.json)
            return status;
    }
    cJSON *root = cli_kernel_json(&info);
    cJSON_AddStringToObject(root, "ptx", info.ptx);
    cli_json_write(root, cli_report_file(&args->set));
    return PTXGEN_OK;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "which kernel? `ptxgen emit FAMILY name=value ...`; `ptxgen list` "
                               "shows the families");
    if (args->set.json && args->set.line_map)
        return cli_usage_error(&args->set, "--json or --line-map, not both");
    ptxgen *ctx = NULL;
    ptxgen_kernel *kernel = NULL;
    char *params = NULL;
    ptxgen_status status = cli_params(args, 1, &params, &err);
    cli_settings no_cache = args->set;
    no_cache.cache_dir = ""; /* nothing is assembled, so there is nothing to keep */
    if (status == PTXGEN_OK)
        status = cli_context(&no_cache, &ctx, &err);
    if (status == PTXGEN_OK)
        status = cli_kernel_params(ctx, args->words[0], &params, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_emit(ctx, args->words[0], params, &kernel, &err);
    if (status == PTXGEN_OK)
        status = write_kernel(args, kernel, &err);
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
    free(params);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

const cli_command cli_emit = {
    .name = "emit",
    .usage = "FAMILY [name=value ...] [-o FILE]",
    .summary = "write a kernel's PTX",
    .text = "Writes the PTX of one kernel. Needs neither a toolkit nor a GPU; the same\n"
            "parameters give the same bytes on every machine. A parameter that is not\n"
            "named takes its default. With a problem's extents it is the kernel that a\n"
            "call of them takes.\n",
    .examples = "  ptxgen emit scatter_add dtype=bf16 n=512\n"
                "  ptxgen emit matmul_accumulate m=4096 n=4096 k=512 arch=sm_90a\n"
                "  ptxgen emit scatter_add n=4096 arch=sm_100a -o kernel.ptx\n",
    .options = "output arch line-map json log help",
    .takes_family = true,
    .arch_is_word = true,
    .run = run,
};
