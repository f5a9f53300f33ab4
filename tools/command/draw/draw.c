/* ptxgen draw: finds out what is to be drawn, and draws it. */
#include "command/draw/draw.h"

#include "command/output.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

const char *draw_word(const cli_args *args, const char *name)
{
    const size_t n = strlen(name);
    const char *value = NULL;
    for (size_t w = 1; w < args->count; w++)
        if (strncmp(args->words[w], name, n) == 0 && args->words[w][n] == '=')
            value = args->words[w] + n + 1;
    return value;
}

ptxgen_status draw_number(const cli_args *args, const char *name, int64_t min, int64_t max,
                          int64_t *value, ptxgen_error *err)
{
    const char *word = draw_word(args, name);
    if (!word)
        return PTXGEN_OK;
    char *end;
    errno = 0;
    const long long v = strtoll(word, &end, 10);
    if (end == word || *end != '\0' || errno || v < min || v > max)
        return cli_fail(err, PTXGEN_EINVAL, "%s=%s takes a number from %lld to %lld", name, word,
                        (long long)min, (long long)max);
    *value = v;
    return PTXGEN_OK;
}

static const struct {
    const char *name;
    ptxgen_status (*fill)(const cli_args *, drawing *, ptxgen_error *);
    const char *parameters; /* names that it takes, separated by spaces */
    bool takes_name;        /* and a word that is no name=value */
} kinds[] = {
    {"swizzle", draw_swizzle, "span bits columns rows", false},
    {"banks", draw_banks, "stride bytes offset swizzle", false},
    {"fragment", draw_fragment, "matrix bits by", true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Every word is one of the kind's parameters. */
static ptxgen_status check_words(const cli_args *args, size_t kind, ptxgen_error *err)
{
    const char *known = kinds[kind].parameters;
    bool named = !kinds[kind].takes_name;
    for (size_t w = 1; w < args->count; w++) {
        if (!named && !strchr(args->words[w], '=')) {
            named = true;
            continue;
        }
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(args->words[w], "="), args->words[w]);
        const char *at = strstr(known, name);
        const size_t n = strlen(name);
        if (!strchr(args->words[w], '=') || !n || !at || (at[n] != ' ' && at[n] != '\0') ||
            (at != known && at[-1] != ' '))
            return cli_fail(err, PTXGEN_EINVAL, "'%s' is not known here; %s takes %s",
                            args->words[w], args->words[0], known);
    }
    return PTXGEN_OK;
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    const char *known[KINDS];
    size_t k = 0;
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "draw what? swizzle, banks or fragment; `ptxgen draw --help`");
    for (; k < KINDS && strcmp(kinds[k].name, args->words[0]) != 0; k++)
        known[k] = kinds[k].name;
    if (k == KINDS) {
        const char *near = cli_nearest(args->words[0], known, KINDS);
        return cli_usage_error(&args->set, "cannot draw '%s'; %s%s%s", args->words[0],
                               near ? "did you mean '" : "`ptxgen draw --help` says what can be",
                               near ? near : "", near ? "'?" : "");
    }
    const char *path = args->set.output;
    const size_t n = path ? strlen(path) : 0;
    drawing d = {0};
    cli_output to;
    ptxgen_status status = check_words(args, k, &err);
    if (status == PTXGEN_OK)
        status = kinds[k].fill(args, &d, &err);
    if (status == PTXGEN_OK)
        status = cli_output_open(&to, path, false, &err);
    if (status == PTXGEN_OK) {
        if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
            drawing_write_svg(&d, to.file);
        else
            drawing_write_text(&d, to.file);
        status = cli_output_commit(&to, &err);
    }
    drawing_free(&d);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

const cli_command cli_draw = {
    .name = "draw",
    .usage = "swizzle|banks|fragment [NAME] [name=value ...] [-o FILE.svg]",
    .summary = "show where data lies in memory and registers, as text or picture",
    .text = "swizzle: which element of a tile lies in each 16 bytes of shared memory, under\n"
            "  span=32|64|128 (TMA's and wgmma's swizzle); bits= of an element (16),\n"
            "  columns= of the tile (a whole span), rows= (8).\n"
            "banks: which lanes of a warp meet in which bank, and how many wavefronts the\n"
            "  emulator counts: stride= bytes between lanes (4), bytes= of a lane (4),\n"
            "  offset= of lane 0 (0), swizzle=0|32|64|128 of the addresses (0).\n"
            "fragment: which thread and register holds which element of a matrix. NAME is\n"
            "  mma.m16n8k16, wgmma.m64n128, ldmatrix.x4.trans, tcgen05.ld.16x64b.x2, ...\n"
            "  (none: a list), matrix=a|b|c|d and bits= of an element choose one of its\n"
            "  matrices, by=element|thread whether rows are the matrix's or threads.\n"
            "-o FILE.svg is a picture, any other file and standard output are text.\n",
    .examples = "  ptxgen draw swizzle span=128 -o swizzle.svg\n"
                "  ptxgen draw banks stride=128 bytes=16 swizzle=128\n"
                "  ptxgen draw fragment mma.m16n8k16 matrix=a bits=16\n",
    .options = "output help",
    .run = run,
};
