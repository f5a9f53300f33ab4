/* Messages, errors, contexts and parameter text for the subcommands. */
#include "command/command.h"
#include "command/json.h"
#include "command/output.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cli_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("ptxgen: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

int cli_exit_for(ptxgen_status status)
{
    switch (status) {
    case PTXGEN_OK:
        return CLI_OK;
    case PTXGEN_EINDEX:
    case PTXGEN_EEMULATOR:
    case PTXGEN_EBUDGET:
        return CLI_NO;
    case PTXGEN_EINVAL:
        return CLI_USAGE;
    case PTXGEN_EUNSUPPORTED:
        return CLI_UNSUPPORTED;
    case PTXGEN_ETEMPLATE:
    case PTXGEN_EASSEMBLE:
    case PTXGEN_EPARSE:
        return CLI_REJECTED;
    default:
        return CLI_SYSTEM;
    }
}

void cli_say_error(const ptxgen_error *err)
{
    if (err->file[0] != '\0' && strstr(err->message, err->file) == NULL)
        cli_say("%s:%d: %s", err->file, err->line, err->message);
    else
        cli_say("%s", err->message);
}

cJSON *cli_error_json(const ptxgen_error *err)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "status", ptxgen_status_name(err->status));
    cJSON_AddStringToObject(object, "message", err->message);
    if (err->file[0] != '\0') {
        cJSON_AddStringToObject(object, "file", err->file);
        cli_json_integer(object, "line", err->line);
    }
    cli_json_integer(object, "exit_code", cli_exit_for(err->status));
    return object;
}

int cli_report(const cli_settings *set, const ptxgen_error *err)
{
    cli_say_error(err);
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddItemToObject(root, "error", cli_error_json(err));
        cli_json_write(root, cli_report_file(set));
    }
    return cli_exit_for(err->status);
}

int cli_usage_error(const cli_settings *set, const char *format, ...)
{
    ptxgen_error err;
    va_list args;
    va_start(args, format);
    cli_vfail(&err, PTXGEN_EINVAL, format, args);
    va_end(args);
    return cli_report(set, &err);
}

void cli_log_waits(void *user, ptxgen_log_level level, const char *line)
{
    (void)user, (void)level;
    if (strncmp(line, "waiting for ", 12) == 0)
        cli_say("%s", line);
}

static void log_to_stderr(void *user, ptxgen_log_level level, const char *line)
{
    (void)user;
    static const char *const names[] = {"error", "warning", "info", "debug"};
    fprintf(stderr, "ptxgen: %s: %s\n", names[level < PTXGEN_LOG_DEBUG ? level : PTXGEN_LOG_DEBUG],
            line);
}

ptxgen_status cli_absolute_path(const char *path, char *out, size_t size, ptxgen_error *err)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && path[0] != '\0' && !getcwd(here, sizeof here))
        return cli_fail(err, PTXGEN_EIO, "the working directory is gone: %s", strerror(errno));
    const int n = snprintf(out, size, "%s%s%s", here, here[0] ? "/" : "", path);
    return (size_t)n < size ? PTXGEN_OK
                            : cli_fail(err, PTXGEN_EINVAL, "the path %.60s... is too long", path);
}

static bool logs_nothing(const ptxgen *ctx)
{
    ptxgen_setting s;
    for (size_t i = 0; ptxgen_setting_at(ctx, i, &s); i++)
        if (strcmp(s.name, "log") == 0)
            return strcmp(s.origin, "default") == 0;
    return false;
}

enum { THREADS_MAX = 64 };

/* *logs: whether somebody asked for a log. */
static ptxgen_status create_context(const cli_settings *set, bool look_only, bool *logs,
                                    ptxgen **out, ptxgen_error *err)
{
    char cache_dir[PATH_MAX], toolkit[PATH_MAX];
    const struct {
        const char *given;
        char *absolute;
    } paths[] = {{set->cache_dir, cache_dir}, {set->toolkit, toolkit}};
    *out = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!paths[i].given)
            continue;
        const ptxgen_status status =
            cli_absolute_path(paths[i].given, paths[i].absolute, PATH_MAX, err);
        if (status != PTXGEN_OK)
            return status;
    }
    ptxgen_config config = {
        .size = sizeof config,
        .log = log_to_stderr,
        .log_level = (ptxgen_log_level)set->log_level,
        .cache_dir = set->cache_dir ? cache_dir : NULL,
        .cache = set->cache_dir ? PTXGEN_CACHE_ON
                                : PTXGEN_CACHE_AUTO, /* options go before PTXGEN_CACHE */
        .device = (ptxgen_device_kind)set->device,
        .assembler = (ptxgen_assembler)set->assembler,
        .toolkit_dir = set->toolkit ? toolkit : NULL,
        .cache_look_only = look_only,
        .prefetch_threads = set->jobs < THREADS_MAX ? (uint32_t)set->jobs : THREADS_MAX,
        .cache_readable = set->readable,
        .emulated_sms = (uint32_t)set->sms,
    };
    const char *const pack = cache_dir;
    struct stat st;
    if (look_only && set->cache_dir && stat(pack, &st) == 0 && S_ISREG(st.st_mode)) {
        config.cache_dir = "";
        config.cache_layers = &pack;
        config.cache_layer_count = 1;
    }
    const ptxgen_status status = ptxgen_create(&config, out, err);
    *logs = status == PTXGEN_OK && !logs_nothing(*out);
    if (status != PTXGEN_OK || *logs)
        return status;
    /* Nobody asked for a log; that the command waits, and for whom, is said all the same. */
    ptxgen_destroy(*out);
    config.log = cli_log_waits;
    config.log_level = PTXGEN_LOG_WARNING;
    return ptxgen_create(&config, out, err);
}

static const char *why_cache_is_off(ptxgen *ctx)
{
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    return info.why_off;
}

const char *cli_remote_place(ptxgen *ctx)
{
    ptxgen_setting s;
    ptxgen_cache_info info = {.size = sizeof info};
    ptxgen_cache_get_info(ctx, &info);
    for (size_t i = 0; info.remote_breaker && ptxgen_setting_at(ctx, i, &s); i++)
        if (strcmp(s.name, "cache_remote") == 0)
            return s.value;
    return NULL;
}

ptxgen_status cli_context(const cli_settings *set, ptxgen **out, ptxgen_error *err)
{
    bool logs;
    const ptxgen_status status = create_context(set, false, &logs, out, err);
    const char *why = status == PTXGEN_OK && !logs ? why_cache_is_off(*out) : "";
    if (why[0])
        cli_say("the cache is not used: %s; kernels are not kept", why);
    return status;
}

ptxgen_status cli_context_for_folder(const cli_settings *set, ptxgen **out, ptxgen_error *err)
{
    bool logs;
    return create_context(set, false, &logs, out, err);
}

void cli_json_cache(cJSON *root, ptxgen *ctx)
{
    const char *why = why_cache_is_off(ctx);
    if (why[0])
        cJSON_AddStringToObject(root, "cache_off", why);
}

ptxgen_status cli_looking_context(const cli_settings *set, ptxgen **out, ptxgen_error *err)
{
    bool logs;
    return create_context(set, true, &logs, out, err);
}

ptxgen_status cli_params(const cli_args *args, size_t from, char **out, ptxgen_error *err)
{
    size_t size = 1;
    for (size_t i = from; i < args->count; i++) {
        const char *word = args->words[i];
        if (!strchr(word, '=') || strpbrk(word, " \t\r\n"))
            return cli_fail(err, PTXGEN_EINVAL,
                            "'%s' is no parameter; parameters are written name=value, like n=512",
                            word);
        size += strlen(word) + 1;
    }
    char *text = cli_calloc(size, 1);
    char *at = text;
    for (size_t i = from; i < args->count; i++)
        at += sprintf(at, "%s%s", at == text ? "" : " ", args->words[i]);
    *out = text;
    return PTXGEN_OK;
}

/* Levenshtein distance of words shorter than 64 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; *a; a++, i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *known, size_t count)
{
    size_t n = strlen(word),
           best = n < 4 ? 2 : n / 3 + 2; /* where more differs, it is another word */
    const char *near = NULL;
    if (n == 0 || n > 63)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = strncmp(word, known[i], n) == 0 ? 1 : distance(word, known[i]);
        char start[64]; /* "scater" is near "scatter_add" */
        snprintf(start, n + 2 < sizeof start ? n + 2 : sizeof start, "%s", known[i]);
        const size_t begun = n < 4 ? d : distance(word, start) + 1;
        d = begun < d ? begun : d;
        if (d < best) {
            best = d;
            near = known[i];
        }
    }
    return near;
}

const char *cli_count(uint64_t n, const char *one, const char *many)
{
    static char texts[8][64];
    static size_t next;
    char *text = texts[next++ % 8];
    snprintf(text, sizeof texts[0], "%llu %s", (unsigned long long)n, n == 1 ? one : many);
    return text;
}

void *cli_calloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (p)
        return p;
    cli_say("out of memory (%zu bytes)", count * size);
    exit(CLI_SYSTEM);
}

char *cli_format(const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = cli_calloc((size_t)n + 1, 1);
    vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    return text;
}
