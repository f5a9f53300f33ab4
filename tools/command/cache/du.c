/* ptxgen cache du: bytes and entries by family and architecture, the largest first. */
#include "command/cache/cache.h"
#include "command/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct share {
    char *family; /* owned; "(failed)" and "(damaged)" for entries that are no kernels */
    const char *arch;
    uint64_t entries, bytes;
} share;

typedef struct shares {
    share *all; /* owned */
    size_t count;
    uint64_t entries, bytes;
} shares;

static share *share_of(shares *s, const char *family, const char *arch)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->all[i].family, family) == 0 && strcmp(s->all[i].arch, arch) == 0)
            return &s->all[i];
    share *more = cli_calloc(s->count + 1, sizeof *more); /* as many as families by architectures */
    if (s->count > 0)
        memcpy(more, s->all, s->count * sizeof *more);
    free(s->all);
    s->all = more;
    s->all[s->count] = (share){.family = cli_format("%s", family), .arch = arch};
    return &s->all[s->count++];
}

static bool add_entry(void *user, const ptxgen_cache_record *r)
{
    shares *s = user;
    const bool kernel = !r->fault[0] && r->status == PTXGEN_OK;
    const char *family = kernel ? r->family : r->fault[0] ? "(damaged)" : "(failed)";
    share *of = share_of(s, family, kernel ? ptxgen_arch_name(r->arch) : "-");
    of->entries++;
    of->bytes += r->file_bytes;
    s->entries++;
    s->bytes += r->file_bytes;
    return true;
}

static int largest_first(const void *a, const void *b)
{
    const share *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    const int d = strcmp(x->family, y->family);
    return d ? d : strcmp(x->arch, y->arch);
}

static void print_json(const cache_action *a, const shares *s)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "path", ptxgen_cache_path(a->cache));
    cli_json_integer(root, "entries", (int64_t)s->entries);
    cli_json_integer(root, "bytes", (int64_t)s->bytes);
    cJSON *list = cJSON_AddArrayToObject(root, "shares");
    for (size_t i = 0; i < s->count; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "family", s->all[i].family);
        cJSON_AddStringToObject(o, "arch", s->all[i].arch);
        cli_json_integer(o, "entries", (int64_t)s->all[i].entries);
        cli_json_integer(o, "bytes", (int64_t)s->all[i].bytes);
        cJSON_AddItemToArray(list, o);
    }
    cli_json_print(root);
}

int cache_du(const cache_action *a)
{
    ptxgen_error err = {0};
    shares s = {0};
    const ptxgen_status status = ptxgen_cache_each(a->cache, add_entry, &s, &err);
    if (s.count > 0)
        qsort(s.all, s.count, sizeof *s.all, largest_first);
    if (status == PTXGEN_OK && a->args->set.json)
        print_json(a, &s);
    for (size_t i = 0; i < s.count; i++) {
        const share *of = &s.all[i];
        if (status == PTXGEN_OK && !a->args->set.json)
            printf("%12llu bytes  %16s  %-7s  %s\n", (unsigned long long)of->bytes,
                   cli_count(of->entries, "entry", "entries"), of->arch, of->family);
        free(of->family);
    }
    free(s.all);
    if (status != PTXGEN_OK)
        return cli_report(&a->args->set, &err);
    if (!a->args->set.json)
        printf("%12llu bytes  %16s  in all\n", (unsigned long long)s.bytes,
               cli_count(s.entries, "entry", "entries"));
    return cache_say_state(a->cache, s.entries) ? CLI_OK : CLI_NO;
}
