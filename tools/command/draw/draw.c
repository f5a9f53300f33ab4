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
    /* One of the two; the second runs a kernel, and checks its words itself. */
    ptxgen_status (*fill)(const cli_args *, drawing *, ptxgen_error *);
    ptxgen_status (*run)(const cli_args *, drawing *, int *code, ptxgen_error *);
    const char *parameters; /* names that it takes, separated by spaces */
    bool takes_name;        /* and a word that is no name=value */
} kinds[] = {
    {"swizzle", draw_swizzle, NULL, "span bits columns rows", false},
    {"banks", draw_banks, NULL, "stride bytes offset swizzle", false},
    {"fragment", draw_fragment, NULL, "matrix bits by", true},
    {"tmem", NULL, draw_tmem, "", true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_given_before(const cli_args *args, size_t w)
{
    const size_t n = strcspn(args->words[w], "=") + 1;
    for (size_t i = 1; i < w; i++)
        if (strncmp(args->words[i], args->words[w], n) == 0)
            return true;
    return false;
}

/* Every word is one of the kind's parameters, given once. */
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
        if (is_given_before(args, w))
            return cli_fail(err, PTXGEN_EINVAL, "'%s=' is given twice: leave one out", name);
    }
    return PTXGEN_OK;
}

static ptxgen_status write_drawing(const drawing *d, const char *path, ptxgen_error *err)
{
    const size_t n = path ? strlen(path) : 0;
    cli_output to;
    const ptxgen_status status = cli_output_open(&to, path, false, err);
    if (status != PTXGEN_OK)
        return status;
    if (n > 4 && strcmp(path + n - 4, ".svg") == 0)
        drawing_write_svg(d, to.file);
    else
        drawing_write_text(d, to.file);
    return cli_output_commit(&to, err);
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    const char *known[KINDS];
    size_t k = 0;
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "draw what? swizzle, banks, fragment or tmem; `ptxgen draw --help`");
    for (; k < KINDS && strcmp(kinds[k].name, args->words[0]) != 0; k++)
        known[k] = kinds[k].name;
    if (k == KINDS) {
        const char *near = cli_nearest(args->words[0], known, KINDS);
        return cli_usage_error(&args->set, "cannot draw '%s'; %s%s%s", args->words[0],
                               near ? "did you mean '" : "`ptxgen draw --help` says what can be",
                               near ? near : "", near ? "'?" : "");
    }
    drawing d = {0};
    int code = CLI_OK;
    ptxgen_status status = kinds[k].fill ? check_words(args, k, &err) : PTXGEN_OK;
    if (status == PTXGEN_OK)
        status =
            kinds[k].fill ? kinds[k].fill(args, &d, &err) : kinds[k].run(args, &d, &code, &err);
    if (status == PTXGEN_OK && code == CLI_OK)
        status = write_drawing(&d, args->set.output, &err);
    drawing_free(&d);
    return status == PTXGEN_OK ? code : cli_report(&args->set, &err);
}

/* Only a kernel that is run has more than a place to write to. */
static const char *reads(const cli_args *args)
{
    return args->count && strcmp(args->words[0], "tmem") == 0 ? draw_tmem_options(args) : "output";
}

const cli_command cli_draw = {
    .name = "draw",
    .usage = "swizzle|banks|fragment|tmem [NAME] [name=value ...] [-o FILE]",
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
            "tmem: tensor memory in the CTA of rank= (0) of the first cluster of a kernel\n"
            "  that is run on the emulator: its allocations and what they hold. NAME is a\n"
            "  family, with all extents (random data), or FILE.ptx, with options as\n"
            "  `ptxgen run` takes them.\n"
            "-o FILE.svg is a picture, any other file and standard output are text.\n",
    .examples = "  ptxgen draw swizzle span=128 -o swizzle.svg\n"
                "  ptxgen draw banks stride=128 bytes=16 swizzle=128\n"
                "  ptxgen draw fragment mma.m16n8k16 matrix=a bits=16\n"
                "  ptxgen draw tmem matmul_accumulate m=128 n=64 k=64 arch=sm_100a\n"
                "  ptxgen draw tmem k.ptx --block 128 --arg zeros:4096 -o tmem.svg\n",
    .options = "output entry grid block cluster cooperative shared arg budget help",
    .reads = reads,
    .run = run,
};
