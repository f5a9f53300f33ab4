/* ptxgen cache ls, show, why, stats, path: looking changes nothing. */
#include "command/function.h"
#include "command/cache/cache.h"
#include "command/output.h"
#include "command/sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- ls -------------------------------------------------------------------------------------- */

typedef struct line {
    char hash[33], arch[16];
    char *what; /* owned: family and parameters, or what is wrong */
    int registers;
    int64_t used, created;
    uint64_t bytes;
    cJSON *json; /* NULL without --json */
} line;

typedef struct listing {
    const cli_settings *set;
    const char *family, *arch, *sort;
    int64_t used_before, used_after;
    line *lines; /* owned */
    size_t count, room;
    uint64_t seen;    /* also those that were not wanted */
    uint64_t damaged; /* of those that were */
} listing;

static bool wanted(const listing *l, const ptxgen_cache_record *r)
{
    if (r->used > l->used_before || r->used < l->used_after)
        return false;
    if (l->family && (r->fault[0] || strcmp(r->family, l->family) != 0))
        return false;
    return !l->arch || (!r->fault[0] && strcmp(ptxgen_arch_name(r->arch), l->arch) == 0);
}

static bool collect(void *user, const ptxgen_cache_record *r)
{
    listing *l = user;
    l->seen++;
    if (!wanted(l, r))
        return true;
    if (l->count == l->room) {
        line *more = cli_calloc(l->room ? l->room * 2 : 64, sizeof *more);
        if (l->count > 0)
            memcpy(more, l->lines, l->count * sizeof *more);
        free(l->lines);
        l->lines = more;
        l->room = l->room ? l->room * 2 : 64;
    }
    line *n = &l->lines[l->count++];
    l->damaged += r->fault[0] != '\0';
    *n = (line){.registers = -1, .used = r->used, .created = r->created, .bytes = r->file_bytes};
    snprintf(n->hash, sizeof n->hash, "%s", r->hash);
    snprintf(n->arch, sizeof n->arch, "%s",
             r->fault[0] || r->status != PTXGEN_OK ? "-" : ptxgen_arch_name(r->arch));
    if (r->fault[0])
        n->what = cli_format("damaged: %s", r->fault);
    else if (r->status != PTXGEN_OK)
        n->what = cli_format("failed: %s", r->message);
    else
        n->what = cli_format("%s %s", r->family, r->params);
    if (!r->fault[0] && r->status == PTXGEN_OK)
        n->registers = r->registers;
    if (l->set->json)
        n->json = cli_entry_json(r);
    return true;
}

static int by_used(const void *a, const void *b)
{
    const line *x = a, *y = b;
    return x->used != y->used ? (x->used < y->used) - (x->used > y->used)
                              : strcmp(x->what, y->what);
}

static int by_created(const void *a, const void *b)
{
    const line *x = a, *y = b;
    return x->created != y->created ? (x->created < y->created) - (x->created > y->created)
                                    : strcmp(x->what, y->what);
}

static int by_size(const void *a, const void *b)
{
    const line *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
                                : strcmp(x->what, y->what);
}

static int by_what(const void *a, const void *b)
{
    const line *x = a, *y = b;
    const int d = strcmp(x->what, y->what);
    return d ? d : strcmp(x->hash, y->hash);
}

static int (*order_of(const char *name))(const void *, const void *)
{
    static const struct {
        const char *name;
        int (*compare)(const void *, const void *);
    } orders[] = {
        {"used", by_used}, {"created", by_created}, {"size", by_size}, {"family", by_what}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (strcmp(orders[i].name, name) == 0)
            return orders[i].compare;
    return NULL;
}

static ptxgen_status parse_listing(const cli_args *args, listing *l, ptxgen_error *err)
{
    const int64_t now = (int64_t)time(NULL);
    int64_t age;
    for (size_t w = 1; w < args->count; w++) {
        const char *word = args->words[w], *value;
        bool good = true;
        if ((value = cache_word_value(word, "family")))
            l->family = value;
        else if ((value = cache_word_value(word, "arch")))
            l->arch = value;
        else if ((value = cache_word_value(word, "sort")))
            good = order_of(l->sort = value) != NULL;
        else if ((value = cache_word_value(word, "older")) && (good = cache_parse_age(value, &age)))
            l->used_before = now - age;
        else if ((value = cache_word_value(word, "newer")) && (good = cache_parse_age(value, &age)))
            l->used_after = now - age;
        else
            good = false;
        if (!good)
            return cli_fail(err, PTXGEN_EINVAL,
                            "'%s' is not understood; ls takes family=NAME, arch=ARCH, older=AGE, "
                            "newer=AGE (90s, "
                            "5m, 12h, 30d) and sort=used|created|size|family",
                            word);
    }
    return PTXGEN_OK;
}

static void print_listing(const listing *l)
{
    char used[32];
    uint64_t bytes = 0;
    for (size_t i = 0; i < l->count; i++) {
        const line *n = &l->lines[i];
        if (i == 0)
            printf("%-12s  %-16s  %9s  %4s  %-7s  %s\n", "entry", "used", "bytes", "regs", "arch",
                   "kernel");
        printf("%.12s  %-16s  %9llu  ", n->hash, cli_time_text(n->used, used, sizeof used),
               (unsigned long long)n->bytes);
        if (n->registers >= 0)
            printf("%4d", n->registers);
        else
            printf("%4s", "-");
        printf("  %-7s  %s\n", n->arch, n->what);
        bytes += n->bytes;
    }
    cli_say("%s, %llu bytes", cli_count(l->count, "entry", "entries"), (unsigned long long)bytes);
}

int cache_ls(const cache_action *a)
{
    ptxgen_error err = {0};
    listing l = {
        .set = &a->args->set, .sort = "used", .used_before = INT64_MAX, .used_after = INT64_MIN};
    ptxgen_status status = parse_listing(a->args, &l, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_cache_each(a->cache, collect, &l, &err);
    if (status == PTXGEN_OK && l.count > 0)
        qsort(l.lines, l.count, sizeof *l.lines, order_of(l.sort));
    cJSON *list = status == PTXGEN_OK && l.set->json ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; i < l.count && list; i++) {
        cJSON_AddItemToArray(list, l.lines[i].json);
        l.lines[i].json = NULL;
    }
    if (list)
        cli_json_print(list);
    else if (status == PTXGEN_OK)
        print_listing(&l);
    for (size_t i = 0; i < l.count; i++) {
        free(l.lines[i].what);
        cJSON_Delete(l.lines[i].json);
    }
    free(l.lines);
    if (status != PTXGEN_OK)
        return cli_report(&a->args->set, &err);
    if (l.damaged > 0)
        cli_say("%llu damaged", (unsigned long long)l.damaged);
    return cache_say_state(a->cache, l.seen) && l.damaged == 0 ? CLI_OK : CLI_NO;
}

/* ---- show ------------------------------------------------------------------------------------ */

typedef struct product {
    const cli_settings *set;
    ptxgen_status status;
    ptxgen_error err;
} product;

static bool write_product(void *user, const ptxgen_cache_record *r)
{
    product *p = user;
    const cli_settings *set = p->set;
    if (r->fault[0])
        p->status = cli_fail(&p->err, PTXGEN_EIO, "the entry is damaged: %s", r->fault);
    else if (r->status != PTXGEN_OK)
        p->status = cli_fail(&p->err, PTXGEN_EMISSING,
                             "the entry is a failed compile, it has no PTX and no cubin");
    else if (cli_entry_is_function(r) && !set->ptx)
        p->status = cli_fail(&p->err, PTXGEN_EINVAL,
                             "the entry is a user function: it has PTX only, see --ptx");
    else if (set->sass)
        p->status = cli_output_sass(set, r->cubin, r->cubin_size, &p->err);
    else
        p->status = cli_output_bytes(set->output, set->cubin, set->cubin ? r->cubin : r->ptx,
                                     set->cubin ? r->cubin_size : r->ptx_size, &p->err);
    return true;
}

int cache_show(const cache_action *a)
{
    const cli_settings *set = &a->args->set;
    const int products = set->ptx + set->cubin + set->sass;
    if (products > 1)
        return cli_usage_error(set, "one of --ptx, --cubin and --sass, not more");
    if (products == 0) {
        if (set->output)
            return cli_usage_error(set, "-o needs --ptx, --cubin or --sass beside it");
        return cli_show_entry(set, a->cache, a->args->words[1]);
    }
    if (set->json)
        return cli_usage_error(set,
                               "--json describes the entry; --ptx, --cubin and --sass write one "
                               "product: give one of these");
    product p = {.set = set};
    ptxgen_status status =
        ptxgen_cache_find(a->cache, a->args->words[1], write_product, &p, &p.err);
    if (status == PTXGEN_OK)
        status = p.status;
    return status == PTXGEN_OK ? CLI_OK : cli_report(set, &p.err);
}

/* ---- path ------------------------------------------------------------------------------------ */

int cache_path(const cache_action *a)
{
    if (a->args->set.json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddStringToObject(root, "path", ptxgen_cache_path(a->cache));
        cJSON_AddBoolToObject(root, "pack", ptxgen_cache_is_pack(a->cache));
        cli_json_print(root);
    } else {
        puts(ptxgen_cache_path(a->cache));
    }
    return CLI_OK;
}

/* ---- why ------------------------------------------------------------------------------------- */

static void print_found(const cli_settings *set, const ptxgen_cache_why_result *why)
{
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddBoolToObject(root, "hit", true);
        cJSON_AddStringToObject(root, "place", why->place);
        cJSON_AddStringToObject(root, "assembler", why->assembler);
        cli_json_print(root);
        return;
    }
    printf("it is there: in %s, made by %s\n", why->place, why->assembler);
}

/* `n` is NULL when there is nothing to compare with. */
static void print_nearest(const cli_settings *set, const char *reason,
                          const ptxgen_cache_nearest_result *n)
{
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddBoolToObject(root, "hit", false);
        cJSON_AddStringToObject(root, "reason", reason);
        cJSON_AddStringToObject(root, "nearest", n ? n->hash : "");
        cJSON *list = cJSON_AddArrayToObject(root, "differences");
        for (size_t i = 0; n && i < n->listed; i++) {
            cJSON *o = cJSON_CreateObject();
            cJSON_AddStringToObject(o, "name", n->difference[i].name);
            cJSON_AddStringToObject(o, "wanted", n->difference[i].wanted);
            cJSON_AddStringToObject(o, "found", n->difference[i].found);
            cJSON_AddItemToArray(list, o);
        }
        cli_json_print(root);
        return;
    }
    printf("it is not used: %s\n", reason);
    if (!n)
        puts("the cache is empty");
    else if (n->different > 0)
        printf("the nearest entry, %.12s, differs in:\n", n->hash);
    for (size_t i = 0; n && i < n->listed; i++)
        printf("  %-12s wanted %s, found %s\n", n->difference[i].name,
               n->difference[i].wanted[0] ? n->difference[i].wanted : "nothing",
               n->difference[i].found[0] ? n->difference[i].found : "nothing");
}

/* What a call would find in this cache, looked at and not changed; and else its key. */
static ptxgen_status ask(const cache_action *a, ptxgen_cache_why_result *why, char *key,
                         size_t size, ptxgen_error *err)
{
    ptxgen *ctx = NULL;
    char *params = NULL;
    ptxgen_status status = cli_params(a->args, 2, &params, err);
    if (status == PTXGEN_OK)
        status = cli_looking_context(&a->args->set, &ctx, err);
    if (status == PTXGEN_OK)
        status = cli_kernel_params(ctx, a->args->words[1], &params, err);
    if (status == PTXGEN_OK)
        status = ptxgen_cache_why(ctx, a->args->words[1], params, why, err);
    if (status == PTXGEN_OK)
        status = ptxgen_key(ctx, a->args->words[1], params, key, size, err);
    ptxgen_destroy(ctx);
    free(params);
    return status;
}

int cache_why(const cache_action *a)
{
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    char key[4096];
    ptxgen_cache_why_result why = {.size = sizeof why};
    ptxgen_cache_nearest_result nearest = {.size = sizeof nearest};
    ptxgen_status status = ask(a, &why, key, sizeof key, &err);
    if (status == PTXGEN_OK && why.found) {
        print_found(set, &why);
        return CLI_OK;
    }
    if (status == PTXGEN_OK)
        status = ptxgen_cache_nearest(a->cache, key, &nearest, &err);
    if (status != PTXGEN_OK && status != PTXGEN_EMISSING)
        return cli_report(set, &err);
    print_nearest(set, why.reason, status == PTXGEN_OK ? &nearest : NULL);
    return CLI_NO;
}
