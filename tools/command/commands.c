/* What there is: the subcommands in the order of help, exit codes, environment. Help is made of
 * this, and so are the manual pages and the completions of shells (tools/document). */
#include "command/command.h"

static const cli_command *const commands[] = {
    &cli_emit,  &cli_compile, &cli_run,     &cli_list, &cli_inspect,
    &cli_cache, &cli_prewarm, &cli_bench,   &cli_tune, &cli_doctor,
    &cli_array, &cli_inline,  &cli_emulate, &cli_draw, &cli_diff,
};

const cli_command *cli_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? commands[i] : NULL;
}

const char cli_purpose[] =
    "Writes, assembles, caches, runs and emulates GPU kernels specialized for one problem.";

static const char *const exit_texts[] = {
    "done",
    "the answer is no: a check failed, an index was out of range, a race was found",
    "the command line or an input file is wrong",
    "no kernel exists for this problem",
    "the PTX was rejected by the assembler or the parser",
    "the system: a file, memory, the driver, a part that is not installed",
    "--check-races: defined by no ISA, but today's ptxas and hardware do it",
};

const char *cli_exit_text(size_t i)
{
    return i < sizeof exit_texts / sizeof *exit_texts ? exit_texts[i] : NULL;
}

const char cli_environment[] =
    "PTXGEN_CACHE_DIR, PTXGEN_CACHE=off, PTXGEN_ASSEMBLER, PTXGEN_DEVICE,\n"
    "  PTXGEN_TOOLKIT, PTXGEN_LOG, PTXGEN_TUNING_FILE; an option of the command goes before them\n";
