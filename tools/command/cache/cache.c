/* ptxgen cache: finds the action and opens the folder for it. */
#include "command/cache/cache.h"
#include "command/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    int (*run)(const cache_action *);
    size_t min_words, max_words; /* beside the action's name */
    const char *needs;           /* what those words are */
    const char *options;         /* that it reads, beside json, cache-dir and help */
} actions[] = {
    {"ls", cache_ls, 0, 8,
     "[family=NAME] [arch=ARCH] [older=AGE] [newer=AGE] [sort=used|created|size|family]", "arch"},
    {"show", cache_show, 1, 1, "ENTRY [-o FILE --ptx|--cubin|--sass]",
     "output ptx cubin sass toolkit"},
    {"stats", cache_stats, 0, 0, "[--prometheus] [--zero]", "prometheus zero"},
    {"du", cache_du, 0, 0, "", ""},
    {"path", cache_path, 0, 0, "", ""},
    {"why", cache_why, 1, SIZE_MAX, "FAMILY [name=value ...]", "arch toolkit"},
    {"verify", cache_verify, 0, 1, "[ENTRY|keys=FILE] [--recompile]", "recompile toolkit"},
    {"clear", cache_clear, 0, 0, "", "dry-run"},
    {"prune", cache_prune, 1, 3, "unused=AGE|bytes=SIZE|entries=N ...", "dry-run"},
    {"export", cache_export, 1, 8,
     "FILE [family=NAME] [arch=ARCH] [current] [--readable] [--force]", "arch readable force"},
    {"keygen", cache_keygen, 2, 3, "FILE NAME [mac]", ""},
    {"sign", cache_sign, 2, 3, "FILE KEY [days=N] [--readable] [--force]", "readable force"},
    {"import", cache_import, 1, 1, "FILE [--readable]", "readable"},
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

int cache_may_write(const cache_action *a, const char *pack)
{
    const cli_settings *set = &a->args->set;
    struct stat there;
    if (lstat(pack, &there) != 0)
        return CLI_OK;
    if (stat(pack, &there) == 0 && !S_ISREG(there.st_mode))
        return cli_usage_error(set, "%s is no file: name one for the pack", pack);
    if (!set->force)
        return cli_usage_error(set,
                               "%s exists: name another file, or replace it with --force "
                               "(--cache-dir PACK names the pack to read)",
                               pack);
    return CLI_OK;
}

bool cache_say_state(ptxgen_cache *cache, uint64_t entries)
{
    const char *fault = ptxgen_cache_pack_fault(cache);
    if (fault[0])
        cli_say("%s %s: recovered %s", ptxgen_cache_path(cache), fault,
                cli_count(entries, "entry", "entries"));
    else if (entries == 0)
        cli_say("empty cache");
    return fault[0] == '\0';
}

const char *cache_why_none(const cli_settings *set)
{
    const char *use = getenv("PTXGEN_CACHE"), *dir = getenv("PTXGEN_CACHE_DIR");
    if (set->cache_dir)
        return "--cache-dir \"\" is memory only: name a folder";
    if (use && strcmp(use, "off") == 0)
        return "PTXGEN_CACHE=off is in the environment: unset it, or name a folder with "
               "--cache-dir";
    if (dir && dir[0] == '\0')
        return "PTXGEN_CACHE_DIR is set and empty: set it to a folder";
    return "neither XDG_CACHE_HOME nor HOME is an absolute path: set PTXGEN_CACHE_DIR to a folder";
}

/* The folder or pack of --cache-dir. `make`: as every command that compiles would. */
static ptxgen_status named_cache(const cli_settings *set, bool make, char path[PATH_MAX],
                                 ptxgen_error *err)
{
    char file[PATH_MAX];
    struct stat s;
    const ptxgen_status status = cli_absolute_path(set->cache_dir, path, PATH_MAX, err);
    if (status != PTXGEN_OK)
        return status;
    if (lstat(path, &s) != 0 && !make)
        return cli_fail(err, PTXGEN_EMISSING, "%s %s%s", path,
                        errno == ENOENT ? "does not exist" : "cannot be used: ",
                        errno == ENOENT ? "" : strerror(errno));
    /* A pack may be named through a link: its content decides, not where it is. */
    if (stat(path, &s) == 0 && S_ISREG(s.st_mode) && realpath(path, file))
        snprintf(path, PATH_MAX, "%s", file);
    return PTXGEN_OK;
}

ptxgen_status cli_open_cache(const cli_settings *set, bool make, ptxgen_cache **out,
                             ptxgen_error *err)
{
    char path[PATH_MAX];
    *out = NULL;
    if (set->cache_dir && set->cache_dir[0] == '\0')
        return cli_fail(err, PTXGEN_EINVAL,
                        "--cache-dir \"\" is memory only; there is nothing to look at");
    if (set->cache_dir) {
        const ptxgen_status status = named_cache(set, make, path, err);
        if (status != PTXGEN_OK)
            return status;
    } else {
        ptxgen *ctx;
        const ptxgen_status status = cli_context_for_folder(set, &ctx, err);
        if (status != PTXGEN_OK)
            return status;
        ptxgen_cache_info info = {.size = sizeof info};
        ptxgen_cache_get_info(ctx, &info);
        snprintf(path, sizeof path, "%s", info.dir);
        ptxgen_destroy(ctx);
        if (path[0] == '\0')
            return cli_fail(err, PTXGEN_EMISSING, "there is no cache folder: %s",
                            cache_why_none(set));
    }
    const ptxgen_cache_options options = {.size = sizeof options,
                                          .create = make,
                                          .readable = set->readable,
                                          .log = cli_log_waits,
                                          .log_level = PTXGEN_LOG_WARNING};
    ptxgen_status status = ptxgen_cache_open(path, &options, out, err);
    if (status == PTXGEN_EPARSE) /* an input file is wrong, no PTX */
        status = err->status = PTXGEN_EINVAL;
    return status;
}

/* The first option given that the action does not read; NULL: none. */
static const char *foreign_option(const cli_args *args, const char *own)
{
    char *list = cli_format("json cache-dir help %s", own);
    const char *foreign = cli_option_outside(args, list);
    free(list);
    /* --toolkit is for what disassembles or compiles. */
    const bool uses_toolkit =
        args->set.sass || args->set.recompile || strcmp(own, "arch toolkit") == 0;
    return !foreign && args->set.toolkit && !uses_toolkit ? "toolkit" : foreign;
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
    const char *foreign = foreign_option(args, actions[a].options);
    if (foreign)
        return cli_usage_error(&args->set,
                               "'ptxgen cache %s' has no --%s; usage: ptxgen cache %s%s%s",
                               actions[a].name, foreign, actions[a].name,
                               actions[a].needs[0] ? " " : "", actions[a].needs);
    ptxgen_error err = {0};
    cache_action action = {.args = args};
    const bool needs_cache = actions[a].run != cache_keygen;
    if (needs_cache && cli_open_cache(&args->set, actions[a].run == cache_import, &action.cache,
                                      &err) != PTXGEN_OK)
        return cli_report(&args->set, &err);
    const int code = actions[a].run(&action);
    if (needs_cache)
        ptxgen_cache_close(action.cache);
    return code;
}

const cli_command cli_cache = {
    .name = "cache",
    .usage = "ACTION ...",
    .summary = "look into the kernel cache, check it, keep it small",
    .text = "ls [family=NAME] [arch=ARCH] [older=AGE] [newer=AGE]\n"
            "   [sort=used|created|size|family]      list the entries\n"
            "show ENTRY [--ptx|--cubin|--sass]       one entry in full, or a part of it\n"
            "why FAMILY [name=value ...]             where it is, or why it is not used\n"
            "stats [--prometheus] [--zero]           entries, bytes, hits and misses\n"
            "du | path | clear            bytes by family and target; where it is; empty it\n"
            "verify [ENTRY] [--recompile]            checksums; or compared with a new build;\n"
            "       [keys=FILE]                      signatures, by a file of trusted keys\n"
            "prune [unused=AGE] [bytes=SIZE] [entries=N]   remove what was unused longest\n"
            "export FILE [family=NAME] [arch=ARCH] [current]   pack entries into one file\n"
            "import FILE                             take them in from one\n"
            "keygen FILE NAME [mac]     a key, and FILE.pub to trust (mac: for cache_mac_key)\n"
            "sign FILE KEY [days=N]                  export the cache, each entry signed\n"
            "export and sign replace a file that is there only with --force, keygen never.\n"
            "ENTRY: 4 first digits of its name or more. AGE: 90s, 5m, 12h, 30d. SIZE: 64K,\n"
            "2G. --cache-dir may name a folder or an exported file. Exit code 1: a pack\n"
            "that is cut short, a damaged or different entry.\n",
    "  ptxgen cache why scatter_add n=512\n"
    "  ptxgen cache prune unused=30d bytes=1G --dry-run\n",
    .options =
        "output arch ptx cubin sass toolkit recompile prometheus zero readable force dry-run "
        "cache-dir json help",
    .arch_is_word = true,
    .run = run,
};
