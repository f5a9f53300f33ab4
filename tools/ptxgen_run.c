/* ptxgen run: finds out what is to be run. */
#include "ptxgen_run.h"

#include <string.h>

static const struct {
    const char *family;
    int (*run)(const cli_args *);
} runners[] = {
    {"scatter_add", cli_run_scatter_add},
};
enum { RUNNER_COUNT = sizeof runners / sizeof *runners };

static int run(const cli_args *args)
{
    const char *known[RUNNER_COUNT];
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "run what? `ptxgen run scatter_add out=out.npy index=index.npy "
                               "src=src.npy -o result.npy`");
    for (size_t i = 0; i < RUNNER_COUNT; i++) {
        if (strcmp(runners[i].family, args->words[0]) == 0)
            return runners[i].run(args);
        known[i] = runners[i].family;
    }
    const char *near = cli_nearest(args->words[0], known, RUNNER_COUNT);
    return cli_usage_error(&args->set, "cannot run '%s'%s%s%s", args->words[0],
                           near ? "; did you mean '" : "", near ? near : "",
                           near ? "'?" : "; `ptxgen run --help` says what can be run");
}

const cli_command cli_run = {
    .name = "run",
    .usage = "scatter_add out=FILE index=FILE src=FILE [name=value ...]",
    .summary = "run a kernel on .npy files",
    .text = "Reads out, index and src from .npy files (one may be -, standard input),\n"
            "runs out[index[i], :] += src[i, :] and writes the new out with -o; nothing\n"
            "else is written. dtype, n and the index type come from the files; other\n"
            "parameters may be given. An index out of range is reported with its\n"
            "position and value, exit code 1, and nothing is written. --check compares\n"
            "each element with a sum in double: an element that k rows were added to may\n"
            "be off by (k + 1) u (|out| + sum |src|), with u = 2^-24 for f32, 2^-11 for\n"
            "f16, 2^-8 for bf16.\n",
    .examples = "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy -o result.npy\n"
                "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy --check\n"
                "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy --repeat 100\n",
    .options = "output check repeat device assembler toolkit cache-dir json log help",
    .takes_family = true,
    .run = run,
};
