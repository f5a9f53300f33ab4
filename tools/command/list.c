/* ptxgen list: the kernel families and their parameters. */
#include "command/json.h"
#include "command/options.h"
#include "ptxgen/emulator.h"

#include <stdio.h>
#include <string.h>

static cJSON *param_json(const ptxgen_param_info *p)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", p->name);
    cJSON_AddStringToObject(o, "doc", p->doc);
    static const char *const kinds[] = {"choice", "integer", "function"};
    cJSON_AddStringToObject(o, "kind", kinds[p->kind]);
    cJSON_AddStringToObject(o, "default", p->default_text);
    if (p->kind == PTXGEN_PARAM_INTEGER) {
        cli_json_integer(o, "min", p->min);
        cli_json_integer(o, "max", p->max);
    }
    cJSON *words = cJSON_AddArrayToObject(o, "words");
    for (size_t c = 0; p->choices && p->choices[c]; c++)
        cJSON_AddItemToArray(words, cJSON_CreateString(p->choices[c]));
    return o;
}

/* The architectures that stand for all: with each, the oldest toolkit that takes the family's
 * default kernel. */
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120"};
enum { TARGETS = sizeof targets / sizeof *targets };

typedef struct needs {
    char release[TARGETS][12]; /* "": the family has no kernel for it */
} needs;

static needs find_needs(ptxgen *ctx, size_t f)
{
    needs n = {{""}};
    for (size_t t = 0; t < TARGETS; t++) {
        char params[32];
        snprintf(params, sizeof params, "arch=%s", targets[t]);
        if (ptxgen_toolkit_needed(ctx, ptxgen_family_name(f), params, n.release[t],
                                  sizeof n.release[t], NULL) != PTXGEN_OK)
            n.release[t][0] = '\0';
    }
    return n;
}

static cJSON *family_json(ptxgen *ctx, size_t f)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", ptxgen_family_name(f));
    cJSON_AddStringToObject(o, "summary", ptxgen_family_summary(f));
    cJSON *toolkit = cJSON_AddObjectToObject(o, "toolkit");
    const needs n = find_needs(ctx, f);
    for (size_t t = 0; t < TARGETS; t++)
        if (n.release[t][0])
            cJSON_AddStringToObject(toolkit, targets[t], n.release[t]);
    cJSON *params = cJSON_AddArrayToObject(o, "params");
    ptxgen_param_info p;
    for (size_t i = 0; ptxgen_family_param(f, i, &p); i++)
        cJSON_AddItemToArray(params, param_json(&p));
    return o;
}

/* "12.3" for Hopper, "12.9" for Blackwell; "-" for none. */
static const char *of_generation(const needs *n, size_t from, size_t to)
{
    for (size_t t = from; t < to; t++)
        if (n->release[t][0])
            return n->release[t];
    return "-";
}

static void family_text(ptxgen *ctx, size_t f, bool verbose)
{
    const needs n = find_needs(ctx, f);
    printf("%-18s %6s %9s  %s\n", ptxgen_family_name(f), of_generation(&n, 0, 2),
           of_generation(&n, 2, TARGETS), ptxgen_family_summary(f));
    if (verbose)
        cli_print_params(f);
}

bool cli_is_family(const char *name)
{
    for (size_t f = 0; f < ptxgen_family_count(); f++)
        if (strcmp(name, ptxgen_family_name(f)) == 0)
            return true;
    return false;
}

int cli_unknown_family(const cli_settings *set, const char *name)
{
    const char *known[64];
    size_t count = 0;
    for (size_t f = 0; f < ptxgen_family_count() && count < 64; f++)
        known[count++] = ptxgen_family_name(f);
    const char *near = cli_nearest(name, known, count);
    if (near)
        return cli_usage_error(set, "no family is named '%s'; did you mean '%s'?", name, near);
    char all[512] = "";
    for (size_t f = 0; f < count; f++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", f ? ", " : "", known[f]);
    return cli_usage_error(set, "no family is named '%s'; there are: %s", name, all);
}

/* ---- --ptx: the instructions ---- */

static const char *const support_words[] = {"executed", "parsed only", "unknown"};

static void print_instruction(const ptxgen_emulator_instruction *x)
{
    printf("%-11s  %u.%u  sm_%-9s  %s%s%s\n", support_words[x->support], x->isa / 10, x->isa % 10,
           x->target, x->mnemonic, *x->modifiers ? " ." : "", x->modifiers);
}

static cJSON *instruction_json(const ptxgen_emulator_instruction *x)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "mnemonic", x->mnemonic);
    cJSON_AddStringToObject(o, "modifiers", x->modifiers);
    cJSON_AddStringToObject(o, "operands", x->operands);
    cli_json_integer(o, "isa", x->isa);
    cJSON_AddStringToObject(o, "target", x->target);
    cJSON_AddStringToObject(o, "support", support_words[x->support]);
    return o;
}

/* All instructions, or those whose name begins with `word`. */
static int list_instructions(const cli_args *args, const char *word)
{
    size_t shown = 0, by_support[3] = {0};
    cJSON *all = args->set.json ? cJSON_CreateArray() : NULL;
    ptxgen_emulator_instruction x;
    for (size_t i = 0; ptxgen_emulator_get_instruction(i, &x); i++) {
        if (word && strncmp(x.mnemonic, word, strlen(word)) != 0)
            continue;
        shown++;
        by_support[x.support]++;
        if (all)
            cJSON_AddItemToArray(all, instruction_json(&x));
        else
            print_instruction(&x);
    }
    if (word && !shown) {
        cJSON_Delete(all);
        return cli_usage_error(&args->set, "no instruction begins with '%s'", word);
    }
    if (all)
        cli_json_print(all);
    else
        printf("%zu forms executed, %zu parsed only, %zu unknown\n", by_support[0], by_support[1],
               by_support[2]);
    return CLI_OK;
}

static int run(const cli_args *args)
{
    const char *only = args->count > 0 ? args->words[0] : NULL;
    if (args->count > 1)
        return cli_usage_error(&args->set, "'%s' is one word too many; at most one family",
                               args->words[1]);
    if (args->set.ptx)
        return list_instructions(args, only);
    if (only && !cli_is_family(only))
        return cli_unknown_family(&args->set, only);
    ptxgen *ctx;
    ptxgen_error err = {0};
    cli_settings no_cache = args->set;
    no_cache.cache_dir = "";
    if (cli_context(&no_cache, &ctx, &err) != PTXGEN_OK)
        return cli_report(&args->set, &err);
    cJSON *all = args->set.json ? cJSON_CreateArray() : NULL;
    if (!all)
        printf("%-18s %6s %9s  (oldest CUDA toolkit that assembles it)\n", "family", "Hopper",
               "Blackwell");
    for (size_t f = 0; f < ptxgen_family_count(); f++) {
        if (only && strcmp(only, ptxgen_family_name(f)) != 0)
            continue;
        if (all)
            cJSON_AddItemToArray(all, family_json(ctx, f));
        else
            family_text(ctx, f, args->set.verbose || only != NULL);
    }
    if (all)
        cli_json_print(all);
    ptxgen_destroy(ctx);
    return CLI_OK;
}

const cli_command cli_list = {
    .name = "list",
    .usage = "[FAMILY] [-v] | --ptx [MNEMONIC]",
    .summary = "list the kernel families and their parameters, or PTX instructions",
    .text = "Lists the families of kernels and the oldest CUDA toolkit that assembles each;\n"
            "with a family's name or -v also their parameters: the values each takes, what\n"
            "it means and its default.\n"
            "With --ptx: the forms of PTX instructions, and whether the emulator executes\n"
            "them, only parses them (their text loads, an entry that reaches one does not\n"
            "run), or does not know them; with a word those whose name begins with it.\n",
    .examples = "  ptxgen list\n"
                "  ptxgen list scatter_add\n"
                "  ptxgen list --json\n"
                "  ptxgen list --ptx cp.async.bulk\n",
    .options = "verbose ptx json help",
    .run = run,
};
