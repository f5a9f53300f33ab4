/* ptxgen inspect: what a cubin or a cache entry is. */
#include "command/entry.h"
#include "command/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct shown {
    const cli_settings *set;
    bool doubtful;
} shown;

static bool show_entry(void *user, const ptxgen_cache_record *r)
{
    shown *s = user;
    char doubt[256];
    if (s->set->json)
        cli_json_print(cli_entry_json(r));
    else
        cli_entry_text(r, s->set->verbose);
    cli_entry_doubt(r, doubt, sizeof doubt);
    s->doubtful = r->fault[0] || doubt[0];
    return true;
}

int cli_show_entry(const cli_settings *set, ptxgen_cache *cache, const char *text)
{
    ptxgen_error err = {0};
    shown s = {set, false};
    if (ptxgen_cache_find(cache, text, show_entry, &s, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    return s.doubtful ? CLI_NO : CLI_OK;
}

static int open_and_show(const cli_settings *set, const char *text)
{
    ptxgen_error err = {0};
    ptxgen_cache *cache;
    if (cli_open_cache(set, false, &cache, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    int code = cli_show_entry(set, cache, text);
    ptxgen_cache_close(cache);
    return code;
}

/* <folder>/v1/ab/cdef... is entry abcdef... of that folder; false for any other path. */
static bool entry_of_path(const char *path, char *folder, size_t size, char hash[33])
{
    char *real = realpath(path, NULL);
    const size_t n = real ? strlen(real) : 0;
    bool is_entry = n > 38 && real[n - 31] == '/' && real[n - 34] == '/' &&
                    strncmp(real + n - 37, "/v1/", 4) == 0 && n - 37 < size &&
                    strspn(real + n - 30, "0123456789abcdef") == 30;
    if (is_entry) {
        snprintf(folder, size, "%.*s", (int)(n - 37), real);
        snprintf(hash, 33, "%.2s%.30s", real + n - 33, real + n - 30);
    }
    free(real);
    return is_entry;
}

static int show_file(const cli_args *args, const char *path)
{
    ptxgen_error err = {0};
    char folder[4096], hash[33];
    if (entry_of_path(path, folder, sizeof folder, hash)) {
        cli_settings set = args->set;
        set.cache_dir = folder;
        return open_and_show(&set, hash);
    }
    char *bytes;
    size_t size;
    ptxgen_status status = cli_read_file(path, &bytes, &size, &err);
    if (status != PTXGEN_OK)
        return cli_report(&args->set, &err);
    if (args->set.json) {
        cJSON *root = cJSON_CreateObject();
        status = cli_cubin_json(bytes, size, root, &err);
        if (status == PTXGEN_OK)
            cli_json_print(root);
        else
            cJSON_Delete(root);
    } else {
        status = cli_cubin_text(bytes, size, &err);
    }
    free(bytes);
    if (status == PTXGEN_OK)
        return CLI_OK;
    ptxgen_error with_path;
    cli_fail(&with_path, PTXGEN_EINVAL,
             "%s: %s; of PTX `ptxgen run` tells more, of a pack `ptxgen cache ls --cache-dir FILE`",
             path, err.message);
    return cli_report(&args->set, &with_path);
}

static int run(const cli_args *args)
{
    struct stat s;
    if (args->count != 1)
        return cli_usage_error(&args->set,
                               "inspect what? One cubin file, entry file, or entry of the cache "
                               "(`ptxgen cache ls` shows them)");
    const char *what = args->words[0];
    const bool is_file = strcmp(what, "-") == 0 || stat(what, &s) == 0;
    if (!is_file && (strchr(what, '/') || strchr(what, '.')))
        return cli_usage_error(&args->set, "%s does not exist", what);
    return is_file ? show_file(args, what) : open_and_show(&args->set, what);
}

const cli_command cli_inspect = {
    .name = "inspect",
    .usage = "FILE | ENTRY",
    .summary = "say what a cubin or a cache entry is",
    .text = "A cubin, ours or any other: its architecture with suffix, the tool that wrote it\n"
            "and its version, its kernels with registers, shared and local memory. A cache\n"
            "entry (its file, or at least 4 first digits of its name): all that, its key, and\n"
            "whether the cubin is what the key says (exit code 1 if not). -v adds the log.\n",
    .examples = "  ptxgen inspect kernel.cubin\n"
                "  ptxgen inspect 3fa94c\n"
                "  ptxgen inspect - --json < kernel.cubin\n",
    .options = "verbose cache-dir json help",
    .run = run,
};
