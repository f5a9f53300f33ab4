/* ptxgen cache stats: what the folder holds, what all processes counted, for people, as JSON,
 * and as text that Prometheus scrapes (text exposition format 0.0.4). */
#include "command/cache/cache.h"
#include "command/output.h"

#include <stdio.h>
#include <string.h>

enum { SIZES = 7 };

typedef struct row {
    const char *name, *text;
    uint64_t value;
} row;

typedef struct numbers {
    row sizes[SIZES];
    uint64_t hits, misses;
    char remote[512], why[256]; /* the store, "" for none; why it does not answer, or "" */
    double remote_us;
} numbers;

/* The remote store's counters are those of all processes; whether it answers is asked now. */
static ptxgen_status ask_remote(const cache_action *a, numbers *n, ptxgen_error *err)
{
    ptxgen *ctx;
    ptxgen_error fault = {0};
    const ptxgen_status status = cli_looking_context(&a->args->set, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    const char *place = cli_remote_place(ctx);
    if (place) {
        snprintf(n->remote, sizeof n->remote, "%s", place);
        if (ptxgen_cache_remote_ping(ctx, &n->remote_us, &fault) != PTXGEN_OK)
            snprintf(n->why, sizeof n->why, "%.255s", fault.message);
    }
    ptxgen_destroy(ctx);
    return PTXGEN_OK;
}

static ptxgen_status measure(const cache_action *a, numbers *n, ptxgen_error *err)
{
    ptxgen_cache_usage u = {.size = sizeof u};
    const ptxgen_status status = ptxgen_cache_measure(a->cache, &u, err);
    const row sizes[SIZES] = {
        {"entries", "entries", u.entries},
        {"bytes", "bytes in entries", u.bytes},
        {"failures", "entries that are failed compiles", u.failures},
        {"quarantined", "damaged entries set aside", u.quarantined},
        {"quarantined_bytes", "bytes in these", u.quarantined_bytes},
        {"temporary", "files being written, or left by killed processes", u.temporary},
        {"temporary_bytes", "bytes in these", u.temporary_bytes}};
    memcpy(n->sizes, sizes, sizeof sizes);
    ptxgen_cache_counter c;
    for (size_t i = 0; ptxgen_cache_counter_at(a->cache, i, &c); i++) {
        const bool hit = strcmp(c.name, "hits") == 0 || strcmp(c.name, "layer_hits") == 0 ||
                         strcmp(c.name, "failure_hits") == 0;
        n->hits += hit ? c.value : 0;
        n->misses += strcmp(c.name, "misses") == 0 ? c.value : 0;
    }
    return status;
}

/* -1: nothing was asked for yet. */
static double hit_rate(const numbers *n)
{
    return n->hits + n->misses ? (double)n->hits / (double)(n->hits + n->misses) : -1;
}

static void print_text(const cache_action *a, const numbers *n)
{
    ptxgen_cache_counter c;
    printf("%s\n", ptxgen_cache_path(a->cache));
    for (size_t i = 0; i < SIZES; i++)
        printf("%14llu  %s\n", (unsigned long long)n->sizes[i].value, n->sizes[i].text);
    for (size_t i = 0; ptxgen_cache_counter_at(a->cache, i, &c); i++)
        printf("%14llu  %s\n", (unsigned long long)c.value, c.text);
    if (hit_rate(n) >= 0)
        printf("%13.1f%%  of what was asked for was there\n", 100 * hit_rate(n));
    if (*n->why)
        printf("%s does not answer: %s\n", n->remote, n->why);
    else if (*n->remote)
        printf("%s answers in %.1f ms\n", n->remote, n->remote_us / 1000);
}

static void print_json(const cache_action *a, const numbers *n)
{
    ptxgen_cache_counter c;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "path", ptxgen_cache_path(a->cache));
    for (size_t i = 0; i < SIZES; i++)
        cli_json_integer(root, n->sizes[i].name, (int64_t)n->sizes[i].value);
    if (hit_rate(n) >= 0)
        cJSON_AddNumberToObject(root, "hit_rate", hit_rate(n));
    else
        cJSON_AddNullToObject(root, "hit_rate");
    if (*n->remote) {
        cJSON *remote = cJSON_AddObjectToObject(root, "remote");
        cJSON_AddStringToObject(remote, "place", n->remote);
        cJSON_AddBoolToObject(remote, "answers", !*n->why);
        cJSON_AddStringToObject(remote, "reason", n->why);
        cli_json_integer(remote, "microseconds", (int64_t)n->remote_us);
    }
    cJSON *counters = cJSON_AddObjectToObject(root, "counters");
    for (size_t i = 0; ptxgen_cache_counter_at(a->cache, i, &c); i++)
        cli_json_integer(counters, c.name, (int64_t)c.value);
    cli_json_print(root);
}

/* A label's value: backslash, quote and newline are escaped. */
static void print_path(const char *path)
{
    for (; *path; path++)
        if (*path == '\n')
            fputs("\\n", stdout);
        else
            printf("%s%c", *path == '\\' || *path == '"' ? "\\" : "", *path);
}

static void print_metric(const cache_action *a, const char *name, const char *kind,
                         const char *text, uint64_t value)
{
    const char *suffix = strcmp(kind, "counter") == 0 ? "_total" : "";
    printf("# HELP ptxgen_cache_%s%s %s\n# TYPE ptxgen_cache_%s%s %s\nptxgen_cache_%s%s{path=\"",
           name, suffix, text, name, suffix, kind, name, suffix);
    print_path(ptxgen_cache_path(a->cache));
    printf("\"} %llu\n", (unsigned long long)value);
}

static void print_prometheus(const cache_action *a, const numbers *n)
{
    ptxgen_cache_counter c;
    for (size_t i = 0; i < SIZES; i++)
        print_metric(a, n->sizes[i].name, "gauge", n->sizes[i].text, n->sizes[i].value);
    for (size_t i = 0; ptxgen_cache_counter_at(a->cache, i, &c); i++)
        print_metric(a, c.name, "counter", c.text, c.value);
    if (*n->remote)
        print_metric(a, "remote_up", "gauge", "whether the remote store answers", !*n->why);
}

int cache_stats(const cache_action *a)
{
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    numbers n = {0};
    if (set->prometheus && set->json)
        return cli_usage_error(set, "--json or --prometheus, not both");
    if (measure(a, &n, &err) != PTXGEN_OK || ask_remote(a, &n, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    if (set->prometheus)
        print_prometheus(a, &n);
    else if (set->json)
        print_json(a, &n);
    else
        print_text(a, &n);
    /* After they were shown: what is set to zero is not lost. */
    if (set->zero && ptxgen_cache_zero_counters(a->cache, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    return set->prometheus || cache_say_state(a->cache, n.sizes[0].value) ? CLI_OK : CLI_NO;
}
