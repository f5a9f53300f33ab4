/* ptxgen run: finds out what is to be run. */
#include "command/run/run.h"

#include "command/options.h"

#include <string.h>

#define FAMILY_OPTIONS "output json check repeat arch device assembler toolkit cache-dir log"

static const struct {
    const char *family;
    const char *options; /* the ones that apply */
    int (*run)(const cli_args *);
} runners[] = {
    {"scatter_add", FAMILY_OPTIONS, cli_run_scatter_add},
    {"matmul_accumulate", FAMILY_OPTIONS, cli_run_matmul_accumulate},
    {"matmul_scaled", FAMILY_OPTIONS, cli_run_matmul_scaled},
    {"tcgen05_copy", FAMILY_OPTIONS, cli_run_tcgen05_copy},
};
enum { RUNNER_COUNT = sizeof runners / sizeof *runners };

static const char ptx_options[] = "output json entry grid block cluster cooperative shared arg "
                                  "result expect check-races ignore suppress sarif "
                                  "order seeds stats budget";

/* Runs it unless an option was given that would mean nothing to it. */
static int run_with(const cli_args *args, const char *options, int (*run)(const cli_args *))
{
    const char *foreign = cli_option_outside(args, options);
    if (!foreign)
        return run(args);
    if (run == cli_run_ptx)
        return cli_usage_error(
            &args->set, "--%s does not apply to a PTX file, which the emulator runs; leave it out",
            foreign);
    return cli_usage_error(&args->set,
                           "--%s does not apply to %s, only to a PTX file; leave it out", foreign,
                           args->words[0]);
}

static int run(const cli_args *args)
{
    const char *known[RUNNER_COUNT];
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "run what? `ptxgen run scatter_add out=out.npy index=index.npy "
                               "src=src.npy -o result.npy`");
    const char *what = args->words[0];
    const size_t n = strlen(what);
    if (strcmp(what, "-") == 0 || (n > 4 && strcmp(what + n - 4, ".ptx") == 0))
        return run_with(args, ptx_options, cli_run_ptx);
    for (size_t i = 0; i < RUNNER_COUNT; i++) {
        if (strcmp(runners[i].family, args->words[0]) == 0)
            return run_with(args, runners[i].options, runners[i].run);
        known[i] = runners[i].family;
    }
    const char *near = cli_nearest(args->words[0], known, RUNNER_COUNT);
    return cli_usage_error(&args->set, "cannot run '%s'%s%s%s", args->words[0],
                           near ? "; did you mean '" : "", near ? near : "",
                           near ? "'?" : "; `ptxgen run --help` says what can be run");
}

const cli_command cli_run = {
    .name = "run",
    .usage = "FAMILY name=FILE.npy ... [name=value ...] | FILE.ptx",
    .summary = "run a kernel on .npy files, or any PTX on the emulator",
    .text = "Runs a kernel on .npy files (one may be -), which give types and sizes. -o is\n"
            "the result; --check compares it: exit code 1 if it is off by more than said.\n"
            "scatter_add out= index= src=   out[index] += src; (adds+1) u (|out|+sum|src|)\n"
            "matmul_accumulate a= b= c=     A @ B + C; 5e-3 + 1e-2 |answer|. A and B f16 or\n"
            "    bf16, C f32 (default 0). A B stored as [N, K] is named bt=\n"
            "matmul_scaled a= b= a_scales= b_scales=   A @ B^T; 1e-3 + 1e-3 |answer| (bf16:\n"
            "    2^-7). Bytes: e4m3, two e2m1; scales [rows, groups]. a_format=, b_format=\n"
            "    mxfp8|mxfp4|nvfp4; out=f32|f16|bf16. mxfp8 with mxfp4: K % 128 is 0\n"
            "tcgen05_copy in=   a copy through tensor memory of 128, 256 or 512 rows; 0\n"
            "FILE.ptx (or -): an entry on the emulator. A VALUE is a number (7, 0.5),\n"
            "buf:FILE.npy, zeros:BYTES, zeros:4x32:f32, bytes:FILE (a struct), or a tensor\n"
            "map over an earlier one: map:ARG:TYPE:SIZES:BOX[:SWIZZLE].\n",
    .examples = "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy -o result.npy\n"
                "  ptxgen run k.ptx --grid 8 --block 128 --arg buf:x.npy --arg 1024 -o y.npy\n",
    .options =
        "output json check repeat arch device assembler toolkit cache-dir entry grid block cluster "
        "cooperative shared arg result expect check-races ignore suppress sarif order seeds stats "
        "budget log help",
    .run = run,
};
