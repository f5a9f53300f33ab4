/* ptxgen list: the kernel families and their parameters. */
#include "command/json.h"
#include "command/options.h"

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

static cJSON *family_json(size_t f)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", ptxgen_family_name(f));
    cJSON_AddStringToObject(o, "summary", ptxgen_family_summary(f));
    cJSON *params = cJSON_AddArrayToObject(o, "params");
    ptxgen_param_info p;
    for (size_t i = 0; ptxgen_family_param(f, i, &p); i++)
        cJSON_AddItemToArray(params, param_json(&p));
    return o;
}

static void family_text(size_t f, bool verbose)
{
    printf("%-20s %s\n", ptxgen_family_name(f), ptxgen_family_summary(f));
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
    return cli_usage_error(set, "no family is named '%s'%s%s%s", name,
                           near ? "; did you mean '" : "", near ? near : "",
                           near ? "'?" : "; `ptxgen list` shows all");
}

static int run(const cli_args *args)
{
    const char *only = args->count > 0 ? args->words[0] : NULL;
    if (args->count > 1)
        return cli_usage_error(&args->set, "'%s' is one word too many; at most one family",
                               args->words[1]);
    if (only && !cli_is_family(only))
        return cli_unknown_family(&args->set, only);
    cJSON *all = args->set.json ? cJSON_CreateArray() : NULL;
    for (size_t f = 0; f < ptxgen_family_count(); f++) {
        if (only && strcmp(only, ptxgen_family_name(f)) != 0)
            continue;
        if (all)
            cJSON_AddItemToArray(all, family_json(f));
        else
            family_text(f, args->set.verbose || only != NULL);
    }
    if (all)
        cli_json_print(all);
    return CLI_OK;
}

const cli_command cli_list = {
    .name = "list",
    .usage = "[FAMILY] [-v]",
    .summary = "list the kernel families and their parameters",
    .text = "Lists the families of kernels; with a family's name or -v also their\n"
            "parameters: the values each takes, what it means and its default.\n",
    .examples = "  ptxgen list\n"
                "  ptxgen list scatter_add\n"
                "  ptxgen list --json\n",
    .options = "verbose json help",
    .run = run,
};
