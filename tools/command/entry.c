#include "command/entry.h"

#include "ptxgen/inspect.h"

#include <stdio.h>
#include <string.h>

const char *cli_time_text(int64_t seconds, char *text, size_t size)
{
    const time_t t = (time_t)seconds;
    struct tm local;
    if (!localtime_r(&t, &local) || strftime(text, size, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(text, size, "%lld", (long long)seconds);
    return text;
}

static void print_count(const char *label, int value)
{
    if (value >= 0)
        printf("  %-12s %d\n", label, value);
}

static void print_dims(const char *label, const int *dims)
{
    if (dims[0] >= 0)
        printf("  %-12s %d x %d x %d\n", label, dims[0], dims[1], dims[2]);
}

ptxgen_status cli_cubin_text(const void *bytes, size_t size, ptxgen_error *err)
{
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_status status = ptxgen_cubin_inspect(bytes, size, &info, err);
    if (status != PTXGEN_OK)
        return status;
    printf("cubin      %zu bytes\narch       %s\n", size, ptxgen_arch_name(info.arch));
    if (info.tool[0])
        printf("tool       %s %s\n", info.tool, info.version);
    if (info.options[0])
        printf("options    %s\n", info.options);
    ptxgen_cubin_kernel k = {.size = sizeof k};
    for (size_t i = 0; ptxgen_cubin_kernel_at(bytes, size, i, &k); i++) {
        printf("kernel     %s\n", k.name);
        printf("  %-12s %zu bytes\n", "code", k.code_bytes);
        print_count("registers", k.registers);
        print_count("shared", k.shared_bytes);
        print_count("local", k.local_bytes);
        print_count("calls", k.calls);
        print_count("parameters", k.param_bytes);
        print_count("barriers", k.barriers);
        print_dims("max threads", k.max_threads);
        print_dims("req. threads", k.required_threads);
    }
    return PTXGEN_OK;
}

static void add_count(cJSON *o, const char *name, int value)
{
    if (value >= 0)
        cli_json_integer(o, name, value);
    else
        cJSON_AddNullToObject(o, name);
}

static void add_dims(cJSON *o, const char *name, const int *dims)
{
    if (dims[0] >= 0)
        cJSON_AddItemToObject(o, name, cJSON_CreateIntArray(dims, 3));
}

static cJSON *kernel_json(const ptxgen_cubin_kernel *k)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", k->name);
    cli_json_integer(o, "code_bytes", (int64_t)k->code_bytes);
    add_count(o, "registers", k->registers);
    add_count(o, "shared_bytes", k->shared_bytes);
    add_count(o, "local_bytes", k->local_bytes);
    add_count(o, "calls", k->calls);
    add_count(o, "param_bytes", k->param_bytes);
    add_count(o, "barriers", k->barriers);
    add_dims(o, "max_threads", k->max_threads);
    add_dims(o, "required_threads", k->required_threads);
    return o;
}

ptxgen_status cli_cubin_json(const void *bytes, size_t size, cJSON *into, ptxgen_error *err)
{
    ptxgen_cubin_info info = {.size = sizeof info};
    ptxgen_status status = ptxgen_cubin_inspect(bytes, size, &info, err);
    if (status != PTXGEN_OK)
        return status;
    cli_json_integer(into, "bytes", (int64_t)size);
    cJSON_AddStringToObject(into, "arch", ptxgen_arch_name(info.arch));
    cJSON_AddStringToObject(into, "tool", info.tool);
    cJSON_AddStringToObject(into, "version", info.version);
    cJSON_AddStringToObject(into, "options", info.options);
    cJSON *kernels = cJSON_AddArrayToObject(into, "kernels");
    ptxgen_cubin_kernel k = {.size = sizeof k};
    for (size_t i = 0; ptxgen_cubin_kernel_at(bytes, size, i, &k); i++)
        cJSON_AddItemToArray(kernels, kernel_json(&k));
    return PTXGEN_OK;
}

bool cli_entry_is_function(const ptxgen_cache_record *r)
{
    return !r->fault[0] && r->status == PTXGEN_OK && r->cubin_size == 0;
}

void cli_entry_doubt(const ptxgen_cache_record *r, char *text, size_t size)
{
    ptxgen_error err = {0};
    ptxgen_cubin_info info = {.size = sizeof info};
    text[0] = '\0';
    if (r->fault[0] || r->status != PTXGEN_OK || cli_entry_is_function(r))
        return;
    if (ptxgen_cubin_inspect(r->cubin, r->cubin_size, &info, &err) != PTXGEN_OK) {
        snprintf(text, size, "the cubin cannot be read: %s", err.message);
        return;
    }
    if (info.arch != r->arch) {
        snprintf(text, size, "the entry says %s, its cubin %s", ptxgen_arch_name(r->arch),
                 ptxgen_arch_name(info.arch));
        return;
    }
    ptxgen_cubin_kernel k = {.size = sizeof k};
    for (size_t i = 0; ptxgen_cubin_kernel_at(r->cubin, r->cubin_size, i, &k); i++)
        if (strcmp(k.name, r->entry) == 0)
            return;
    snprintf(text, size, "the cubin has no kernel %s", r->entry);
}

/* The parts that a damaged entry has too. */
static void print_file(const ptxgen_cache_record *r)
{
    char used[32];
    printf("entry      %s\nfile       %s, %llu bytes, used %s\n", r->hash, r->path,
           (unsigned long long)r->file_bytes, cli_time_text(r->used, used, sizeof used));
}

void cli_entry_text(const ptxgen_cache_record *r, bool log)
{
    char created[32], doubt[256];
    ptxgen_error err;
    print_file(r);
    if (r->fault[0]) {
        printf("damaged    %s\n", r->fault);
        return;
    }
    printf("created    %s\n", cli_time_text(r->created, created, sizeof created));
    if (r->status != PTXGEN_OK) {
        printf("failed     %s: %s\n", ptxgen_status_name(r->status), r->message);
    } else if (cli_entry_is_function(r)) {
        printf("function   %s, compiled by %s in %.1f ms\n", r->params, r->assembler,
               r->assemble_us / 1000);
        printf("ptx        %zu bytes\n", r->ptx_size);
    } else {
        printf("problem    %s %s\n", r->family, r->params);
        printf("ptx        %zu bytes, written in %.1f us\n", r->ptx_size, r->emit_us);
        printf("assembler  %s, %.1f ms\n", r->assembler, r->assemble_us / 1000);
        printf("spills     %d bytes\n", r->spill_bytes);
        cli_entry_doubt(r, doubt, sizeof doubt);
        if (doubt[0])
            printf("DOUBT      %s\n", doubt);
        if (cli_cubin_text(r->cubin, r->cubin_size, &err) != PTXGEN_OK)
            printf("cubin      %s\n", err.message);
    }
    printf("key\n");
    for (const char *p = r->key; *p;) {
        const int n = (int)strcspn(p, "\n");
        printf("  %.*s\n", n, p);
        p += n + (p[n] == '\n');
    }
    if (log && r->log[0])
        printf("log\n%s%s", r->log, r->log[strlen(r->log) - 1] == '\n' ? "" : "\n");
}

cJSON *cli_entry_json(const ptxgen_cache_record *r)
{
    char doubt[256];
    ptxgen_error err;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "hash", r->hash);
    cJSON_AddStringToObject(o, "path", r->path);
    cli_json_integer(o, "file_bytes", (int64_t)r->file_bytes);
    cli_json_integer(o, "used", r->used);
    cJSON_AddStringToObject(o, "fault", r->fault);
    if (r->fault[0])
        return o;
    cli_json_integer(o, "created", r->created);
    cJSON_AddStringToObject(o, "status", ptxgen_status_name(r->status));
    cJSON_AddStringToObject(o, "key", r->key);
    cJSON_AddStringToObject(o, "log", r->log);
    if (r->status != PTXGEN_OK) {
        cJSON_AddStringToObject(o, "message", r->message);
        return o;
    }
    cJSON_AddStringToObject(o, "family", r->family);
    cJSON_AddStringToObject(o, "params", r->params);
    cJSON_AddStringToObject(o, "entry", r->entry);
    cJSON_AddStringToObject(o, "assembler", r->assembler);
    cJSON_AddNumberToObject(o, "emit_us", r->emit_us);
    cJSON_AddNumberToObject(o, "assemble_us", r->assemble_us);
    cli_json_integer(o, "ptx_bytes", (int64_t)r->ptx_size);
    add_count(o, "registers", r->registers);
    add_count(o, "shared_bytes", r->shared_bytes);
    add_count(o, "local_bytes", r->local_bytes);
    add_count(o, "spill_bytes", r->spill_bytes);
    cli_entry_doubt(r, doubt, sizeof doubt);
    cJSON_AddStringToObject(o, "doubt", doubt);
    (void)cli_cubin_json(r->cubin, r->cubin_size, cJSON_AddObjectToObject(o, "cubin"),
                         &err); /* doubt says it */
    return o;
}
