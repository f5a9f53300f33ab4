/* ptxgen cache: finds the action and opens the folder for it. */
#include "ptxgen_cache.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(const cache_action *);
    size_t min_words, max_words; /* beside the action's name */
    const char *needs;           /* what those words are */
} actions[] = {
    {"ls", cache_ls, 0, 8,
     "[family=NAME] [arch=ARCH] [older=AGE] [newer=AGE] [sort=used|created|size|family]"},
    {"show", cache_show, 1, 1, "ENTRY [-o FILE --ptx|--cubin]"},
    {"stats", cache_stats, 0, 0, ""},
    {"path", cache_path, 0, 0, ""},
    {"why", cache_why, 1, SIZE_MAX, "FAMILY [name=value ...]"},
    {"verify", cache_verify, 0, 1, "[ENTRY] [--recompile]"},
    {"clear", cache_clear, 0, 0, ""},
    {"prune", cache_prune, 1, 3, "unused=AGE|bytes=SIZE|entries=N ..."},
    {"export", cache_export, 1, 8, "FILE [family=NAME] [arch=ARCH]"},
    {"import", cache_import, 1, 1, "FILE"},
};
enum { ACTION_COUNT = sizeof actions / sizeof *actions };

const char *cache_word_value(const char *word, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

/* A number and one of `units`, each `factors` times the smallest. */
static bool parse_scaled(const char *text, const char *units, const uint64_t *factors,
                         uint64_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    if (*end == '\0')
        return true;
    const char *unit = strchr(units, *end);
    return unit && end[1] == '\0' && !__builtin_mul_overflow(*out, factors[unit - units], out);
}

bool cache_parse_age(const char *text, int64_t *seconds)
{
    static const uint64_t factors[] = {1, 60, 3600, 86400};
    uint64_t value;
    if (!parse_scaled(text, "smhd", factors, &value) || value > INT64_MAX)
        return false;
    *seconds = (int64_t)value;
    return true;
}

bool cache_parse_bytes(const char *text, uint64_t *bytes)
{
    static const uint64_t factors[] = {1u << 10, 1u << 20, 1u << 30};
    return parse_scaled(text, "KMG", factors, bytes);
}

ptxgen_status cli_open_cache(const cli_settings *set, ptxgen_cache **out, ptxgen_error *err)
{
    char path[PATH_MAX];
    *out = NULL;
    if (set->cache_dir && set->cache_dir[0] == '\0')
        return cli_fail(err, PTXGEN_EINVAL,
                        "--cache-dir \"\" is memory only; there is nothing to look at");
    if (set->cache_dir && realpath(set->cache_dir, path) == NULL)
        return cli_fail(err, PTXGEN_EMISSING, "%s does not exist", set->cache_dir);
    if (!set->cache_dir) {
        ptxgen *ctx;
        ptxgen_status status = cli_context(set, &ctx, err);
        if (status != PTXGEN_OK)
            return status;
        ptxgen_cache_info info = {.size = sizeof info};
        ptxgen_cache_get_info(ctx, &info);
        snprintf(path, sizeof path, "%s", info.dir);
        ptxgen_destroy(ctx);
        if (path[0] == '\0')
            return cli_fail(err, PTXGEN_EMISSING,
                            "there is no cache folder (PTXGEN_CACHE=off, or no home): name one "
                            "with --cache-dir");
    }
    const ptxgen_cache_options options = {.size = sizeof options};
    return ptxgen_cache_open(path, &options, out, err);
}

static int run(const cli_args *args)
{
    const char *known[ACTION_COUNT];
    if (args->count == 0)
        return cli_usage_error(&args->set, "do what? `ptxgen cache --help` lists the actions");
    size_t a = 0;
    for (; a < ACTION_COUNT && strcmp(actions[a].name, args->words[0]) != 0; a++)
        known[a] = actions[a].name;
    if (a == ACTION_COUNT) {
        const char *near = cli_nearest(args->words[0], known, ACTION_COUNT);
        return cli_usage_error(&args->set, "'ptxgen cache' has no '%s'%s%s%s", args->words[0],
                               near ? "; did you mean '" : "", near ? near : "",
                               near ? "'?" : "; `ptxgen cache --help` lists the actions");
    }
    const size_t words = args->count - 1;
    if (words < actions[a].min_words || words > actions[a].max_words)
        return cli_usage_error(&args->set, "usage: ptxgen cache %s%s%s", actions[a].name,
                               actions[a].needs[0] ? " " : "", actions[a].needs);
    ptxgen_error err = {0};
    cache_action action = {.args = args};
    if (cli_open_cache(&args->set, &action.cache, &err) != PTXGEN_OK)
        return cli_report(&args->set, &err);
    const int code = actions[a].run(&action);
    ptxgen_cache_close(action.cache);
    return code;
}

const cli_command cli_cache = {
    .name = "cache",
    .usage = "ls|show|why|stats|path|verify|clear|prune|export|import ...",
    .summary = "look into the kernel cache, check it, keep it small",
    .text = "ls [family=NAME] [arch=ARCH] [older=AGE] [newer=AGE]\n"
            "   [sort=used|created|size|family]      list the entries\n"
            "show ENTRY [--ptx|--cubin]              one entry in full, or its PTX or cubin\n"
            "why FAMILY [name=value ...]             is it there? else what differs in the\n"
            "                                        nearest entry's key\n"
            "stats                                   entries, bytes, hits and misses\n"
            "path                                    where it is\n"
            "verify [ENTRY] [--recompile]            checksums; or compare with a fresh build\n"
            "clear                                   remove everything\n"
            "prune [unused=AGE] [bytes=SIZE] [entries=N]\n"
            "                                        remove what was unused longest\n"
            "export FILE [family=NAME] [arch=ARCH]   pack entries into one file\n"
            "import FILE                             take them in from one\n"
            "ENTRY: the first digits of an entry's name. AGE: 90s, 5m, 12h, 30d. SIZE:\n"
            "64K, 10M, 2G. --cache-dir may name a folder or an exported file.\n",
    .examples = "  ptxgen cache ls sort=size\n"
                "  ptxgen cache why scatter_add n=512 dtype=bf16\n"
                "  ptxgen cache prune unused=30d bytes=1G --dry-run\n",
    .options = "output ptx cubin recompile dry-run verbose cache-dir json help",
    .run = run,
};
