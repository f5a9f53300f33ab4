/* ptxgen cache verify, clear, prune, export, import. */
#include "command/cache/cache.h"
#include "command/options.h"
#include "command/progress.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A key is a few hundred bytes. */
enum { KEY_MAX = 16384 };

/* ---- verify ---------------------------------------------------------------------------------- */

typedef struct verifying {
    const cli_settings *set;
    ptxgen *ctx;           /* of --recompile */
    cJSON *bad;            /* NULL without --json */
    uint64_t incomparable; /* made by another assembler or version: says nothing against them */
} verifying;

static void add_finding(verifying *v, const ptxgen_cache_record *r, const char *name,
                        const char *text)
{
    if (v->bad) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "hash", r->hash);
        cJSON_AddStringToObject(o, name, text);
        cJSON_AddItemToArray(v->bad, o);
    } else {
        printf("%.12s  %s\n", r->hash, text);
    }
}

static bool report_bad(void *user, const ptxgen_cache_record *r)
{
    add_finding(user, r, "fault", r->fault);
    return true;
}

/* The value of one line of a key, cut to size. */
static bool key_line(const char *key, const char *name, char *out, size_t size)
{
    const size_t n = strlen(name);
    for (const char *p = key; p && *p; p = strchr(p, '\n'), p += p != NULL) {
        if (strncmp(p, name, n) == 0 && p[n] == '=') {
            snprintf(out, size, "%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
            return true;
        }
    }
    return false;
}

/* Notes why an entry cannot be compared. `why` is owned; NULL: it can. */
static bool note_incomparable(verifying *v, const ptxgen_cache_record *r, char *why)
{
    if (why) {
        v->incomparable++;
        add_finding(v, r, "note", why);
    }
    free(why);
    return why != NULL;
}

/* Whether this generator would make the entry, by its key; if not, notes it and says why. */
static bool comparable(verifying *v, const ptxgen_cache_record *r)
{
    ptxgen_error err = {0};
    char *key = cli_calloc(KEY_MAX, 1), old[128];
    char *why = NULL;
    if (cli_entry_is_function(r))
        why = cli_format("not comparable: a user function, whose source is not here");
    else if (key_line(r->key, "function", old, sizeof old) && strcmp(old, "none") != 0)
        why = cli_format("not comparable: the source of its user function is not here");
    else if (ptxgen_key(v->ctx, r->family, r->params, key, KEY_MAX, &err) != PTXGEN_OK)
        why = cli_format("not comparable: cannot be built here: %s", err.message);
    else if (strcmp(key, r->key) != 0)
        why = cli_format("not comparable: written by another version of ptxgen");
    free(key);
    return !note_incomparable(v, r, why);
}

/* An entry is right when a fresh build has the same PTX and, by the same assembler, the same
 * cubin. */
static bool compare_fresh(void *user, const ptxgen_cache_record *r, char *why, size_t why_size)
{
    verifying *v = user;
    ptxgen_error err = {0};
    ptxgen_kernel *kernel = NULL;
    if (!comparable(v, r))
        return true;
    const ptxgen_status status = ptxgen_compile(v->ctx, r->family, r->params, &kernel, &err);
    if (status == PTXGEN_EMISSING)
        return note_incomparable(
            v, r, cli_format("not comparable: cannot be built here: %s", err.message));
    if (status != PTXGEN_OK) {
        snprintf(why, why_size, "cannot be built any more: %.200s", err.message);
        return false;
    }
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(kernel, &info);
    bool same = false;
    if (info.ptx_size != r->ptx_size || memcmp(info.ptx, r->ptx, r->ptx_size) != 0)
        snprintf(why, why_size, "its PTX differs from a fresh build's");
    else if (strcmp(info.assembler, r->assembler) != 0)
        same = note_incomparable(
            v, r,
            cli_format("not comparable: its PTX is right, and another assembler made it (%s)",
                       r->assembler));
    else if (info.cubin_size != r->cubin_size || memcmp(info.cubin, r->cubin, r->cubin_size) != 0)
        snprintf(why, why_size, "its cubin differs from a fresh build's");
    else
        same = true;
    ptxgen_kernel_unref(kernel);
    return same;
}

static void print_checked(const cache_action *a, const verifying *v,
                          const ptxgen_cache_check_result *r)
{
    if (v->bad) {
        cJSON *root = cJSON_CreateObject();
        cli_json_integer(root, "checked", (int64_t)r->checked);
        cli_json_integer(root, "damaged", (int64_t)r->damaged);
        cli_json_integer(root, "unreadable", (int64_t)r->unreadable);
        cli_json_integer(root, "different", (int64_t)r->different);
        cli_json_integer(root, "not_comparable", (int64_t)v->incomparable);
        cJSON_AddStringToObject(root, "pack_fault", ptxgen_cache_pack_fault(a->cache));
        cJSON_AddItemToObject(root, "entries", v->bad);
        cli_json_print(root);
        return;
    }
    printf("%s checked, %llu damaged", cli_count(r->checked, "entry", "entries"),
           (unsigned long long)r->damaged);
    if (v->ctx)
        printf(", %llu different from a fresh build, %llu not comparable",
               (unsigned long long)r->different, (unsigned long long)v->incomparable);
    putchar('\n');
}

int cache_verify(const cache_action *a)
{
    const cli_settings *set = &a->args->set;
    const char *keys = a->args->count > 1 ? cache_word_value(a->args->words[1], "keys") : NULL;
    if (keys)
        return cache_check_signatures(a, keys);
    ptxgen_error err = {0};
    ptxgen_cache_check_result result = {.size = sizeof result};
    verifying v = {.set = set, .bad = set->json ? cJSON_CreateArray() : NULL};
    const ptxgen_cache_check check = {.size = sizeof check,
                                      .compare = set->recompile ? compare_fresh : NULL,
                                      .report = report_bad,
                                      .user = &v};
    cli_settings memory_only = *set;
    memory_only.cache_dir = ""; /* a fresh build, not the entry itself */
    ptxgen_status status = set->recompile ? cli_context(&memory_only, &v.ctx, &err) : PTXGEN_OK;
    if (status == PTXGEN_OK)
        status = ptxgen_cache_verify(a->cache, a->args->count > 1 ? a->args->words[1] : NULL,
                                     &check, &result, &err);
    if (status == PTXGEN_OK)
        print_checked(a, &v, &result);
    else
        cJSON_Delete(v.bad);
    ptxgen_destroy(v.ctx);
    if (status == PTXGEN_EINVAL && a->args->count > 1 && access(a->args->words[1], F_OK) == 0)
        return cli_usage_error(set,
                               "%s is a file, and verify takes an entry: to check a pack, "
                               "ptxgen cache verify --cache-dir %s",
                               a->args->words[1], a->args->words[1]);
    if (status != PTXGEN_OK)
        return cli_report(set, &err);
    const bool pack_damaged = ptxgen_cache_pack_fault(a->cache)[0] != '\0';
    const bool whole =
        cache_say_state(a->cache, result.checked - (pack_damaged ? result.damaged : 0));
    if (result.unreadable) {
        cli_say("%s could not be read: nothing is known of them",
                cli_count(result.unreadable, "entry", "entries"));
        return CLI_SYSTEM;
    }
    if (v.incomparable)
        cli_say("%s could not be compared: that is no proof for or against them",
                cli_count(v.incomparable, "entry", "entries"));
    return whole && result.damaged + result.different + v.incomparable == 0 ? CLI_OK : CLI_NO;
}

/* ---- clear, prune ---------------------------------------------------------------------------- */

static int prune_by(const cache_action *a, ptxgen_cache_prune_rule *rule)
{
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    ptxgen_cache_prune_result r = {.size = sizeof r};
    rule->dry_run = set->dry_run;
    const ptxgen_status status = ptxgen_cache_prune(a->cache, rule, &r, &err);
    if (status != PTXGEN_OK)
        return cli_report(set, &err);
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cJSON_AddBoolToObject(root, "dry_run", set->dry_run);
        cli_json_integer(root, "removed", (int64_t)r.removed);
        cli_json_integer(root, "removed_bytes", (int64_t)r.removed_bytes);
        cli_json_integer(root, "entries", (int64_t)r.entries);
        cli_json_integer(root, "bytes", (int64_t)r.bytes);
        cli_json_print(root);
    } else {
        printf("%s %s of %llu bytes; %llu of %llu bytes stay\n",
               set->dry_run ? "would remove" : "removed", cli_count(r.removed, "entry", "entries"),
               (unsigned long long)r.removed_bytes, (unsigned long long)r.entries,
               (unsigned long long)r.bytes);
    }
    return CLI_OK;
}

int cache_clear(const cache_action *a)
{
    ptxgen_cache_prune_rule rule = {.size = sizeof rule, .everything = true};
    return prune_by(a, &rule);
}

int cache_prune(const cache_action *a)
{
    ptxgen_cache_prune_rule rule = {.size = sizeof rule};
    for (size_t w = 1; w < a->args->count; w++) {
        const char *word = a->args->words[w], *value;
        bool good = false;
        if ((value = cache_word_value(word, "unused")))
            good = cache_parse_age(value, &rule.unused_for_s) && rule.unused_for_s > 0;
        else if ((value = cache_word_value(word, "bytes")))
            good = cache_parse_bytes(value, &rule.max_bytes) && rule.max_bytes > 0;
        else if ((value = cache_word_value(word, "entries")))
            good = cache_parse_bytes(value, &rule.max_entries) && rule.max_entries > 0;
        if (!good)
            return cli_usage_error(&a->args->set,
                                   "'%s' is not understood; prune takes unused=AGE (90s, 5m, 12h, "
                                   "30d), bytes=SIZE (64K, 10M, 2G) and entries=N, each above 0",
                                   word);
    }
    return prune_by(a, &rule);
}

/* ---- export, import -------------------------------------------------------------------------- */

typedef struct filter {
    const char *family, *arch;
    ptxgen *ctx; /* of `current`: knows the keys that this ptxgen writes; NULL: any key */
} filter;

/* Whether a call of this version would ask for it. */
static bool is_current(ptxgen *ctx, const ptxgen_cache_record *r)
{
    char *key = cli_calloc(KEY_MAX, 1);
    const bool same = ptxgen_key(ctx, r->family, r->params, key, KEY_MAX, NULL) == PTXGEN_OK &&
                      strcmp(key, r->key) == 0;
    free(key);
    return same;
}

static bool passes(void *user, const ptxgen_cache_record *r)
{
    const filter *f = user;
    return (!f->family || strcmp(f->family, r->family) == 0) &&
           (!f->arch || strcmp(f->arch, ptxgen_arch_name(r->arch)) == 0) &&
           (!f->ctx || is_current(f->ctx, r));
}

static int print_transfer(const cli_settings *set, const char *verb, const ptxgen_cache_transfer *t)
{
    if (set->json) {
        cJSON *root = cJSON_CreateObject();
        cli_json_integer(root, "copied", (int64_t)t->copied);
        cli_json_integer(root, "bytes", (int64_t)t->bytes);
        cli_json_integer(root, "present", (int64_t)t->present);
        cli_json_integer(root, "damaged", (int64_t)t->damaged);
        cli_json_integer(root, "refused", (int64_t)t->refused);
        cJSON_AddStringToObject(root, "pack_fault", t->pack_fault);
        cli_json_print(root);
    } else {
        printf("%s %s, %llu bytes; %llu there already, %llu damaged, %llu left out\n", verb,
               cli_count(t->copied, "entry", "entries"), (unsigned long long)t->bytes,
               (unsigned long long)t->present, (unsigned long long)t->damaged,
               (unsigned long long)t->refused);
    }
    return t->damaged > 0 || t->pack_fault[0] ? CLI_NO : CLI_OK;
}

static int read_filter(const cache_action *a, filter *f, bool *current)
{
    const cli_settings *set = &a->args->set;
    ptxgen_arch arch;
    ptxgen_error err = {0};
    for (size_t w = 2; w < a->args->count; w++) {
        const char *word = a->args->words[w], *value;
        if ((value = cache_word_value(word, "family")))
            f->family = value;
        else if ((value = cache_word_value(word, "arch")))
            f->arch = value;
        else if (strcmp(word, "current") == 0)
            *current = true;
        else
            return cli_usage_error(
                set,
                "'%s' is not understood; export takes FILE, family=NAME, arch=ARCH and current",
                word);
    }
    if (f->family && !cli_is_family(f->family))
        return cli_unknown_family(set, f->family);
    if (f->arch && ptxgen_arch_parse(f->arch, &arch, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    return CLI_OK;
}

int cache_export(const cache_action *a)
{
    const cli_settings *set = &a->args->set;
    ptxgen_error err = {0};
    ptxgen_cache_transfer t = {.size = sizeof t};
    filter f = {0};
    bool current = false;
    cli_settings memory_only = *set;
    memory_only.cache_dir = "";
    int code = read_filter(a, &f, &current);
    if (code != CLI_OK)
        return code;
    char file[PATH_MAX]; /* a link stands for its target */
    const char *pack = realpath(a->args->words[1], file) ? file : a->args->words[1];
    if (strcmp(a->args->words[1], "-") == 0)
        return cli_usage_error(set, "export writes a file, not standard output: name one");
    code = cache_may_write(a, a->args->words[1]);
    if (code != CLI_OK)
        return code;
    ptxgen_status status = current ? cli_context(&memory_only, &f.ctx, &err) : PTXGEN_OK;
    if (status == PTXGEN_OK)
        status = ptxgen_cache_export(a->cache, pack, passes, &f, &t, &err);
    ptxgen_destroy(f.ctx);
    return status == PTXGEN_OK ? print_transfer(set, "exported", &t) : cli_report(set, &err);
}

int cache_import(const cache_action *a)
{
    ptxgen_error err = {0};
    ptxgen_cache_transfer t = {.size = sizeof t};
    char file[PATH_MAX]; /* the library follows no links; the user who names one means its target */
    const char *pack = realpath(a->args->words[1], file) ? file : a->args->words[1];
    if (ptxgen_cache_import(a->cache, pack, &t, &err) == PTXGEN_EPARSE)
        err.status = PTXGEN_EINVAL; /* an input file is wrong, no PTX */
    if (err.status != PTXGEN_OK)
        return cli_report(&a->args->set, &err);
    if (t.pack_fault[0])
        cli_say("%s %s: recovered %s", a->args->words[1], t.pack_fault,
                cli_count(t.copied + t.present + t.refused, "entry", "entries"));
    return print_transfer(&a->args->set, "imported", &t);
}
