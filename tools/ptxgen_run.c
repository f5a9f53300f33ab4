/* ptxgen run: finds out what is to be run. */
#include "ptxgen_run.h"

#include "ptxgen_options.h"

#include <string.h>

static const struct {
    const char *family;
    const char *options; /* the ones that apply */
    int (*run)(const cli_args *);
} runners[] = {
    {"scatter_add", "output json check repeat device assembler toolkit cache-dir log",
     cli_run_scatter_add},
};
enum { RUNNER_COUNT = sizeof runners / sizeof *runners };

static const char ptx_options[] =
    "output json entry grid block cluster shared arg result check-races order seeds "
    "stats budget";

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
    .usage = "scatter_add out=FILE index=FILE src=FILE [n=v ...] | FILE.ptx",
    .summary = "run a kernel on .npy files, or any PTX on the emulator",
    .text = "scatter_add: reads out, index and src from .npy files (one may be -), runs\n"
            "out[index[i], :] += src[i, :] and writes the new out with -o; nothing else is\n"
            "written. dtype, n and the index type come from the files. A bad index is\n"
            "reported with position and value, exit code 1. --check compares with a sum in\n"
            "double: an element that k rows were added to may be off by\n"
            "(k + 1) u (|out| + sum |src|), u = 2^-24 (f32), 2^-11 (f16), 2^-8 (bf16).\n"
            "FILE.ptx (or -): runs an entry on the emulator. A VALUE is a number (7, 0x10,\n"
            "f32:0.5), buf:FILE.npy, zeros:BYTES, or a tensor map over an earlier one,\n"
            "map:ARG:TYPE:SIZES:BOX[:SWIZZLE] with sizes innermost first, as in\n"
            "map:0:bf16:64x128:64x8:128.\n",
    .examples = "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy -o result.npy\n"
                "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy --check --repeat 100\n"
                "  ptxgen run k.ptx --grid 8 --block 128 --arg buf:x.npy --arg 1024 -o y.npy\n"
                "  ptxgen run k.ptx --block 32 --arg zeros:4096 --check-races --seeds 1..100\n",
    .options =
        "output json check repeat device assembler toolkit cache-dir entry grid block cluster "
        "shared arg result check-races order seeds stats budget log help",
    .run = run,
};
