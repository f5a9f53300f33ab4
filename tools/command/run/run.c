/* ptxgen run: finds out what is to be run. */
#include "command/run/run.h"

#include "command/options.h"

#include <string.h>

/* Options that the ways to run a family read: on a device, on an emulator of its own, or not at
 * all. */
static const char device_options[] =
    "output json check repeat arch device assembler toolkit cache-dir log";
static const char emulator_options[] =
    "output json check arch device check-races ignore suppress sarif seeds stats report trace time "
    "cache-dir log";
static const char time_options[] = "json arch device entry grid block cluster cooperative shared "
                                   "arg trace time budget cache-dir log help";
static const char print_options[] = "json arch device print-launch cache-dir log";

#define PTX_OPTIONS                                                                                \
    "output json entry grid block cluster cooperative shared arg result expect check-races "       \
    "ignore suppress sarif order seeds stats report trace time budget"

#define FAMILY_OPTIONS                                                                             \
    "output json check repeat arch device assembler toolkit cache-dir log check-races ignore "     \
    "suppress sarif seeds stats report trace time print-launch help"

static const cli_way ways[] = {
    {"a family", "ptxgen run FAMILY --help", FAMILY_OPTIONS},
    {"a PTX file", "ptxgen run FILE.ptx --help", PTX_OPTIONS " help"},
};
enum { WAY_COUNT = sizeof ways / sizeof *ways };

static bool is_ptx_file(const char *word)
{
    const size_t n = strlen(word);
    return strcmp(word, "-") == 0 || (n > 4 && strcmp(word + n - 4, ".ptx") == 0);
}

static size_t way_of(const cli_args *args)
{
    if (args->count == 0)
        return WAY_COUNT;
    return is_ptx_file(args->words[0]) ? 1 : cli_is_family(args->words[0]) ? 0 : WAY_COUNT;
}

static int run_family(const cli_args *args, size_t family)
{
    const cli_settings *set = &args->set;
    const bool emulates = set->check_races || set->stats || set->seeds || set->report ||
                          set->trace || set->time || set->ignore_count || set->suppress ||
                          set->sarif;
    const char *options = set->print_launch ? print_options
                          : emulates        ? emulator_options
                                            : device_options;
    const char *foreign = cli_option_outside(args, options);
    if (!foreign)
        return cli_run_family(args, family);
    if (set->print_launch && cli_option_in(foreign, device_options))
        return cli_usage_error(
            set, "--print-launch launches nothing, so --%s has no use; leave it out", foreign);
    if (emulates && cli_option_in(foreign, device_options))
        return cli_usage_error(
            set,
            "--%s does not apply on the emulator that --check-races, --seeds and "
            "--stats, --report, --trace and --time ask for; leave it out",
            foreign);
    return cli_usage_error(set, "--%s does not apply to %s, only to a PTX file; leave it out",
                           foreign, args->words[0]);
}

static int run_ptx(const cli_args *args)
{
    const char *foreign = cli_option_outside(args, PTX_OPTIONS);
    if (!foreign)
        return cli_run_ptx(args, NULL);
    return cli_usage_error(
        &args->set, "--%s does not apply to a PTX file, which the emulator runs; leave it out",
        foreign);
}

static int run(const cli_args *args)
{
    if ((args->set.report || args->set.trace) && args->set.check_races)
        return cli_usage_error(&args->set,
                               "--%s counts and --check-races checks: one of them at a time",
                               args->set.report ? "report" : "trace");
    const char *foreign = args->set.time ? cli_option_outside(args, time_options) : NULL;
    if (foreign)
        return cli_usage_error(&args->set,
                               "--time follows a sample of the CTAs, so there are no results: "
                               "leave --%s out",
                               foreign);
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "run what? `ptxgen run scatter_add out=out.npy index=index.npy "
                               "src=src.npy -o result.npy`");
    const char *what = args->words[0];
    const size_t families = ptxgen_family_count();
    if (is_ptx_file(what))
        return run_ptx(args);
    const char *known[64];
    for (size_t i = 0; i < families && i < sizeof known / sizeof *known; i++) {
        known[i] = ptxgen_family_name(i);
        if (strcmp(known[i], what) == 0)
            return run_family(args, i);
    }
    const char *near = cli_nearest(what, known, families);
    return cli_usage_error(&args->set, "cannot run '%s'%s%s%s", what,
                           near ? "; did you mean '" : "", near ? near : "",
                           near ? "'?" : "; `ptxgen run --help` says what can be run");
}

const cli_command cli_run = {
    .name = "run",
    .usage = "FAMILY name=FILE.npy ... [name=value ...] | FILE.ptx",
    .summary = "run a kernel on .npy files, or any PTX on the emulator",
    .text = "Reads .npy files (one may be -), one for each operand of the family, runs the\n"
            "kernel and writes the result with -o. The files give types and sizes; parameters\n"
            "have defaults. `ptxgen run FAMILY --help` lists both. --check compares with the\n"
            "plain C answer: exit code 1 when an element is off by more than said.\n"
            "--check-races, --seeds and --stats run it on an emulator that watches it;\n"
            "--print-launch says what would be launched, for another runtime to do it.\n"
            "--time sm_90 (or sm_100) says how long an H200 (a B200) takes, by a model.\n"
            "matmul_scaled takes bytes (e4m3, two e2m1) and plain scales [rows, groups];\n"
            "their formats are a_format= and b_format= (or format=), mxfp8|mxfp4|nvfp4.\n"
            "FILE.ptx (or -): a kernel on the emulator. A VALUE is a number (7, 0.5),\n"
            "buf:FILE.npy, zeros:BYTES, zeros:4x32:f32, bytes:FILE (a struct), or a tensor\n"
            "map over an earlier one: map:ARG:TYPE:SIZES:BOX[:SWIZZLE], or a texture or\n"
            "surface: texture:ARG:TYPE:CHANNELSxWIDTH[xHEIGHT[xDEPTH]][:layers][:linear]\n"
            "[:normalized][:wrap|mirror|border].\n",
    .examples = "  ptxgen run scatter_add out=o.npy index=i.npy src=s.npy -o result.npy\n"
                "  ptxgen run k.ptx --grid 8 --block 128 --arg buf:x.npy --arg 1024 -o y.npy\n",
    .options =
        "output json check repeat arch device assembler toolkit cache-dir entry grid block cluster "
        "cooperative shared arg result expect check-races ignore suppress sarif order seeds stats "
        "report trace time budget print-launch log help",
    .takes_family = true,
    .arch_is_word = true,
    .ways = ways,
    .way_count = WAY_COUNT,
    .way_of = way_of,
    .run = run,
};
