#include "command/options.h"

#include "ptxgen/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_INTEGER,
    OPTION_CHOICE,
    OPTION_ARGUMENT, /* may be given many times */
    OPTION_IGNORE    /* the same */
} option_kind;

typedef struct option {
    const char *name;
    char letter; /* 0: none */
    option_kind kind;
    size_t offset;     /* of the field in cli_settings: bool, const char * or int64_t */
    const char *value; /* what help calls the value */
    const char *doc;
    int64_t min, max;           /* OPTION_INTEGER */
    const char *const *choices; /* OPTION_CHOICE: the value is the word's place in the list */
} option;

static const char *const assembler_words[] = {"auto",      "ptxas",  "nvptxcompiler",
                                              "nvjitlink", "driver", NULL};
static const char *const device_words[] = {"auto", "cuda", "emulator", NULL};
static const char *const order_words[] = {"hw", "isa", NULL};
static const char *const log_words[] = {"error", "warning", "info", "debug", NULL};

#define FIELD(name) offsetof(cli_settings, name)

static const option options[] = {
    {"output", 'o', OPTION_TEXT, FIELD(output), "FILE",
     "write the product here (-: standard output)", 0, 0, NULL},
    {"json", 0, OPTION_FLAG, FIELD(json), NULL, "report as JSON on standard output", 0, 0, NULL},
    {"dry-run", 0, OPTION_FLAG, FIELD(dry_run), NULL, "say what would be done, change nothing", 0,
     0, NULL},
    {"verbose", 'v', OPTION_FLAG, FIELD(verbose), NULL, "say more", 0, 0, NULL},
    {"line-map", 0, OPTION_FLAG, FIELD(line_map), NULL,
     "put template line and number before each PTX line", 0, 0, NULL},
    {"ptx", 0, OPTION_FLAG, FIELD(ptx), NULL, "write the PTX", 0, 0, NULL},
    {"cubin", 0, OPTION_FLAG, FIELD(cubin), NULL, "write the cubin", 0, 0, NULL},
    {"sass", 0, OPTION_FLAG, FIELD(sass), NULL, "write the SASS, by nvdisasm or cuobjdump", 0, 0,
     NULL},
    {"recompile", 0, OPTION_FLAG, FIELD(recompile), NULL, "compare with a fresh build too", 0, 0,
     NULL},
    {"arch", 0, OPTION_TEXT, FIELD(arch), "LIST", "the GPUs: sm_90a (prewarm: sm_90a,sm_100a)", 0,
     0, NULL},
    {"prometheus", 0, OPTION_FLAG, FIELD(prometheus), NULL, "stats as Prometheus reads them", 0, 0,
     NULL},
    {"zero", 0, OPTION_FLAG, FIELD(zero), NULL, "set the counters to zero after showing them", 0, 0,
     NULL},
    {"readable", 0, OPTION_FLAG, FIELD(readable), NULL,
     "what is made can be read by every user (0755, 0644)", 0, 0, NULL},
    {"force", 0, OPTION_FLAG, FIELD(force), NULL, "replace the pack that is there", 0, 0, NULL},
    {"expect", 0, OPTION_TEXT, FIELD(expect), "FILE",
     "exit code 1 unless the result is this .npy file", 0, 0, NULL},
    {"require", 0, OPTION_TEXT, FIELD(require), "LIST",
     "exit code 1 unless these work: gpu,assembler,cache", 0, 0, NULL},
    {"jobs", 'j', OPTION_INTEGER, FIELD(jobs), "N", "compile N at a time (default: one per core)",
     1, 1024, NULL},
    {"check", 0, OPTION_FLAG, FIELD(check), NULL, "compare with the plain C answer", 0, 0, NULL},
    {"limit", 0, OPTION_INTEGER, FIELD(limit), "N",
     "most instructions of all copies (default 25600)", 0, INT64_MAX, NULL},
    {"repeat", 0, OPTION_INTEGER, FIELD(repeat), "N", "measure over N launches or rounds", 1,
     1000000, NULL},
    {"candidates", 0, OPTION_INTEGER, FIELD(candidates), "N",
     "kernels to try, by the model (default 48)", 1, 256, NULL},
    {"seed", 0, OPTION_INTEGER, FIELD(seed), "N", "seed of the random numbers (default 0)", 0,
     INT64_MAX, NULL},
    {"device", 0, OPTION_CHOICE, FIELD(device), NULL, "what runs the kernel", 0, 0, device_words},
    {"assembler", 0, OPTION_CHOICE, FIELD(assembler), NULL, "what makes the cubin", 0, 0,
     assembler_words},
    {"cache-dir", 0, OPTION_TEXT, FIELD(cache_dir), "DIR", "cache folder; \"\" is memory only", 0,
     0, NULL},
    {"toolkit", 0, OPTION_TEXT, FIELD(toolkit), "DIR", "CUDA toolkit folder (with bin/ptxas)", 0, 0,
     NULL},
    {"log", 0, OPTION_CHOICE, FIELD(log_level), NULL, "what to log on standard error", 0, 0,
     log_words},
    {"print-launch", 0, OPTION_FLAG, FIELD(print_launch), NULL,
     "say what would be launched, and launch nothing", 0, 0, NULL},
    {"entry", 0, OPTION_TEXT, FIELD(entry), "NAME", "the kernel, if the PTX has several", 0, 0,
     NULL},
    {"grid", 0, OPTION_TEXT, FIELD(grid), "X[,Y[,Z]]", "CTAs (default 1)", 0, 0, NULL},
    {"block", 0, OPTION_TEXT, FIELD(block), "X[,Y[,Z]]", "threads of a CTA (default 1)", 0, 0,
     NULL},
    {"cluster", 0, OPTION_TEXT, FIELD(cluster), "X[,Y[,Z]]", "CTAs of a cluster", 0, 0, NULL},
    {"shared", 0, OPTION_INTEGER, FIELD(shared), "BYTES", "dynamic shared memory", 0, 1 << 20,
     NULL},
    {"arg", 0, OPTION_ARGUMENT, 0, "VALUE", "the next parameter of the kernel", 0, 0, NULL},
    {"result", 0, OPTION_INTEGER, FIELD(result), "N",
     "the buffer that is the result (else the first)", 1, 64, NULL},
    {"check-races", 0, OPTION_FLAG, FIELD(check_races), NULL,
     "find races, misuse: docs/checking.md", 0, 0, NULL},
    {"ignore", 0, OPTION_IGNORE, 0, "KIND", "no reports of this kind (an id, like race-shared)", 0,
     0, NULL},
    {"suppress", 0, OPTION_TEXT, FIELD(suppress), "FILE", "no reports that the file's lines name",
     0, 0, NULL},
    {"sarif", 0, OPTION_TEXT, FIELD(sarif), "FILE", "also write the reports as SARIF 2.1.0", 0, 0,
     NULL},
    {"order", 0, OPTION_CHOICE, FIELD(order), NULL, "isa: reorder what may be reordered", 0, 0,
     order_words},
    {"seeds", 0, OPTION_TEXT, FIELD(seeds), "A..B", "order=isa, once with each of these seeds", 0,
     0, NULL},
    {"cooperative", 0, OPTION_FLAG, FIELD(cooperative), NULL,
     "all CTAs at the same time, for grid.sync()", 0, 0, NULL},
    {"stats", 0, OPTION_FLAG, FIELD(stats), NULL, "count instructions and bytes", 0, 0, NULL},
    {"report", 0, OPTION_TEXT, FIELD(report), "FILE",
     "write the PTX with its counts (.html: a page)", 0, 0, NULL},
    {"trace", 0, OPTION_TEXT, FIELD(trace), "FILE", "write what happened for ui.perfetto.dev", 0, 0,
     NULL},
    {"time", 0, OPTION_TEXT, FIELD(time), "ARCH", "how long a GPU takes, by a model: sm_90, sm_100",
     0, 0, NULL},
    {"budget", 0, OPTION_INTEGER, FIELD(budget), "N",
     "give up after N warp instructions (default 10^10)", 1, INT64_MAX, NULL},
    {"threads", 0, OPTION_INTEGER, FIELD(threads), "N", "host threads (default: one per core)", 1,
     1024, NULL},
    {"sms", 0, OPTION_INTEGER, FIELD(sms), "N", "multiprocessors that the GPU reports", 1, 1024,
     NULL},
    {"memory", 0, OPTION_INTEGER, FIELD(memory), "MIB", "memory of the GPU (default 16384)", 1,
     1 << 24, NULL},
    {"fast", 0, OPTION_FLAG, FIELD(fast), NULL, "tensor cores in float arithmetic", 0, 0, NULL},
    {"help", 'h', OPTION_FLAG, FIELD(help), NULL, "show this", 0, 0, NULL},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* Is `name` one of the words of `list`? */
static bool in_list(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static bool takes(const cli_command *command, const option *o)
{
    return strcmp(o->name, "help") == 0 || in_list(command->options, o->name);
}

bool cli_option_at(const cli_command *command, size_t i, cli_option_info *out)
{
    for (size_t k = 0; k < OPTION_COUNT; k++) {
        const option *o = &options[k];
        if (!takes(command, o) || i-- > 0)
            continue;
        *out = (cli_option_info){o->name, o->value, o->doc, o->letter, o->choices};
        return true;
    }
    return false;
}

static ptxgen_status unknown_option(const cli_command *command, const char *word, ptxgen_error *err)
{
    const char *known[OPTION_COUNT];
    size_t count = 0;
    const char *end = strchr(word, '=');
    char *name = cli_format("%.*s", (int)(end ? end - word : (long)strlen(word)), word);
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (takes(command, &options[i]))
            known[count++] = options[i].name;
    const char *bare = name + strspn(name, "-");
    const char *near = cli_nearest(bare, known, count);
    bool elsewhere = false;
    for (size_t i = 0; i < OPTION_COUNT; i++)
        elsewhere |= strcmp(options[i].name, bare) == 0;
    ptxgen_status status;
    if (elsewhere)
        status = cli_fail(err, PTXGEN_EINVAL,
                          "'ptxgen %s' does not take --%s; `ptxgen %s --help` lists what it takes",
                          command->name, bare, command->name);
    else if (near)
        status =
            cli_fail(err, PTXGEN_EINVAL, "unknown option '%s'; did you mean --%s?", name, near);
    else
        status = cli_fail(err, PTXGEN_EINVAL, "unknown option '%s'; `ptxgen %s --help` lists them",
                          name, command->name);
    free(name);
    return status;
}

/* The row that a word like "--name", "--name=value" or "-o" names; NULL if none. */
static const option *find_option(const cli_command *command, const char *word, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (!takes(command, o))
            continue;
        size_t n = strlen(o->name);
        if (word[1] == '-' && strncmp(word + 2, o->name, n) == 0 &&
            (word[2 + n] == '\0' || word[2 + n] == '=')) {
            *value = word[2 + n] == '=' ? word + 3 + n : NULL;
            return o;
        }
        if (word[1] == o->letter && o->letter != 0 && (word[2] == '\0' || o->kind != OPTION_FLAG)) {
            *value = word[2] != '\0' ? word + 2 : NULL;
            return o;
        }
    }
    return NULL;
}

static ptxgen_status set_integer(const option *o, const char *value, int64_t *field,
                                 ptxgen_error *err)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < o->min || number > o->max)
        return cli_fail(err, PTXGEN_EINVAL, "--%s is '%s'; it takes an integer from %lld to %lld",
                        o->name, value, (long long)o->min, (long long)o->max);
    *field = number;
    return PTXGEN_OK;
}

static ptxgen_status set_choice(const option *o, const char *value, int64_t *field,
                                ptxgen_error *err)
{
    char list[160] = "";
    size_t count = 0;
    for (; o->choices[count]; count++) {
        if (strcmp(o->choices[count], value) == 0) {
            *field = (int64_t)count;
            return PTXGEN_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", o->choices[count]);
    }
    const char *near = cli_nearest(value, o->choices, count);
    return cli_fail(err, PTXGEN_EINVAL, "--%s is '%s'; it takes %s%s%s%s", o->name, value, list,
                    near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

static ptxgen_status set_option(const option *o, const char *value, cli_settings *set,
                                ptxgen_error *err)
{
    char *field = (char *)set + o->offset;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return PTXGEN_OK;
    case OPTION_TEXT:
        *(const char **)field = value;
        return PTXGEN_OK;
    case OPTION_INTEGER:
        return set_integer(o, value, (int64_t *)field, err);
    case OPTION_CHOICE:
        return set_choice(o, value, (int64_t *)field, err);
    case OPTION_ARGUMENT:
        if (set->arg_count == CLI_MAX_ARGS)
            return cli_fail(err, PTXGEN_EINVAL, "more than %d --%s", CLI_MAX_ARGS, o->name);
        set->arg[set->arg_count++] = value;
        return PTXGEN_OK;
    case OPTION_IGNORE:
        if (set->ignore_count == CLI_MAX_ARGS)
            return cli_fail(err, PTXGEN_EINVAL, "more than %d --%s", CLI_MAX_ARGS, o->name);
        set->ignore[set->ignore_count++] = value;
        return PTXGEN_OK;
    }
    return PTXGEN_OK;
}

ptxgen_status cli_parse(const cli_command *command, int argc, char **argv, cli_args *out,
                        ptxgen_error *err)
{
    bool only_words = false;
    out->set.limit = -1;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (only_words || word[0] != '-' || word[1] == '\0') {
            out->words[out->count++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_words = true;
            continue;
        }
        const char *value;
        const option *o = find_option(command, word, &value);
        if (!o)
            return unknown_option(command, word, err);
        if (o->kind == OPTION_FLAG && value)
            return cli_fail(err, PTXGEN_EINVAL, "--%s takes no value, but '%s' gives one", o->name,
                            word);
        if (o->kind != OPTION_FLAG && !value) {
            if (i + 1 == argc)
                return cli_fail(err, PTXGEN_EINVAL, "--%s needs a value after it", o->name);
            value = argv[++i];
        }
        ptxgen_status status = set_option(o, value, &out->set, err);
        if (status != PTXGEN_OK)
            return status;
        out->given |= UINT64_C(1) << (o - options);
    }
    return PTXGEN_OK;
}

bool cli_option_given(const cli_args *args, const char *name)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if ((args->given >> i & 1) && strcmp(name, options[i].name) == 0)
            return true;
    return false;
}

bool cli_option_in(const char *name, const char *list)
{
    return in_list(list, name);
}

const char *cli_option_outside(const cli_args *args, const char *list)
{
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if ((args->given >> i & 1) && !in_list(list, options[i].name))
            return options[i].name;
    return NULL;
}

/* ---- help ------------------------------------------------------------------------------------ */

static void print_option(const option *o)
{
    char left[96];
    size_t n = (size_t)snprintf(left, sizeof left, "%s%c%s--%s", o->letter ? "-" : "  ",
                                o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name);
    if (o->value)
        n += (size_t)snprintf(left + n, sizeof left - n, " %s", o->value);
    for (size_t c = 0; o->choices && o->choices[c]; c++)
        n += (size_t)snprintf(left + n, sizeof left - n, "%s%s", c ? "|" : " ", o->choices[c]);
    if (n <= 26)
        printf("  %-27s%s\n", left, o->doc);
    else if (n + strlen(o->doc) <= 75)
        printf("  %s  %s\n", left, o->doc);
    else
        printf("  %s\n  %-27s%s\n", left, "", o->doc);
}

/* "  name=a|b|c", broken before a word that would pass the right edge. */
static void print_values(const ptxgen_param_info *p)
{
    enum { RIGHT_EDGE = 78 };
    int column = printf("  %s=", p->name);
    const int left = column;
    if (p->kind == PTXGEN_PARAM_INTEGER)
        column += printf("%lld..%lld%s", (long long)p->min, (long long)p->max,
                         p->choices && p->choices[0] ? "|" : "");
    if (p->kind == PTXGEN_PARAM_FUNCTION)
        column += printf("@FILE.cu|@FILE.ptx|");
    for (size_t c = 0; p->choices && p->choices[c]; c++) {
        const char *bar = p->choices[c + 1] ? "|" : "";
        if (column + (int)strlen(p->choices[c]) >= RIGHT_EDGE)
            column = printf("\n%*s", left, "") - 1;
        column += printf("%s%s", p->choices[c], bar);
    }
    putchar('\n');
}

void cli_print_params(size_t family)
{
    ptxgen_param_info p;
    for (size_t i = 0; ptxgen_family_param(family, i, &p); i++) {
        print_values(&p);
        printf("      %s (default %s)\n", p.doc, p.default_text);
    }
}

/* "  src=FILE.npy [rows, n] f32|f16|bf16", and what it is. */
static void print_operands(size_t family)
{
    ptxgen_operand_info o = {.size = sizeof o};
    for (size_t i = 0; ptxgen_family_operand(family, i, &o); i++) {
        const bool made = o.role == PTXGEN_ROLE_OUT, changed = o.role == PTXGEN_ROLE_INOUT;
        const char *role = made && o.optional      ? " (a result, to FILE.npy or FILE.npy:TYPE)"
                           : made                  ? " (result)"
                           : changed && o.optional ? " (changed in its file; may be left out)"
                           : changed               ? " (changed)"
                           : o.role == PTXGEN_ROLE_WORKSPACE ? " (made as it is needed)"
                           : o.optional                      ? " (may be left out)"
                                                             : "";
        printf("  %s ", o.name);
        if (o.role == PTXGEN_ROLE_SCALAR) /* `name=0.5` */
            printf("a number, ");
        for (int d = 0; d < o.rank; d++)
            printf("%s%s%s", d ? ", " : "[", o.extents[d], d + 1 == o.rank ? "] " : "");
        for (size_t t = 0; o.dtypes[t]; t++)
            printf("%s%s", t ? "|" : "", ptxgen_dtype_name(o.dtypes[t]));
        printf("%s\n      %s\n", role, o.doc);
    }
}

/* The family that the first word names, or -1. */
static int64_t named_family(const cli_args *args)
{
    for (size_t f = 0; args->count > 0 && f < ptxgen_family_count(); f++)
        if (strcmp(args->words[0], ptxgen_family_name(f)) == 0)
            return (int64_t)f;
    return -1;
}

static void print_families(void)
{
    printf("\nfamilies (add a family's name before --help to see its parameters):\n");
    for (size_t f = 0; f < ptxgen_family_count(); f++)
        printf("  %-20s %s\n", ptxgen_family_name(f), ptxgen_family_summary(f));
}

/* "  -o --json ...", in as many lines as it takes. */
static void print_names(const char *list)
{
    int column = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (!in_list(list, o->name))
            continue;
        if (column + (int)strlen(o->name) + 3 > 76)
            column = (putchar(10), 0);
        column += printf("%s--%s", column ? " " : "  ", o->name);
    }
    putchar('\n');
}

/* The options of one way in full, or of all ways by name. */
static void print_options(const cli_command *command, size_t way)
{
    if (way < command->way_count || !command->ways) {
        printf("\noptions:\n");
        for (size_t i = 0; i < OPTION_COUNT; i++)
            if (takes(command, &options[i]) &&
                (!command->ways || in_list(command->ways[way].options, options[i].name)))
                print_option(&options[i]);
        return;
    }
    for (size_t w = 0; w < command->way_count; w++) {
        printf("\noptions of %s (`%s` says what they do):\n", command->ways[w].name,
               command->ways[w].ask);
        print_names(command->ways[w].options);
    }
}

void cli_help(const cli_command *command, const cli_args *args)
{
    printf("usage: ptxgen %s %s\n\n%s", command->name, command->usage, command->text);
    const int64_t family = named_family(args);
    const size_t way = command->ways ? command->way_of(args) : 0;
    if (family >= 0) {
        printf("\noperands of %s:\n", args->words[0]);
        print_operands((size_t)family);
        printf("\nparameters of %s:\n", args->words[0]);
        cli_print_params((size_t)family);
    } else if (command->takes_family && way >= command->way_count) {
        print_families();
    }
    print_options(command, way);
    printf("\nexamples:\n%s", command->examples);
}
