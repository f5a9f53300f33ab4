#include "command/report.h"

#include "ptxgen/inspect.h"

const char *cli_arg_kind(ptxgen_arg_kind kind)
{
    static const char *const names[] = {"u32", "u64", "pointer", "tensor map", "bad-index record"};
    return names[kind <= PTXGEN_ARG_RECORD ? kind : 0];
}

const char *cli_origin_name(ptxgen_origin origin)
{
    static const char *const names[] = {"emitted", "assembled", "disk"};
    return names[origin <= PTXGEN_ORIGIN_DISK ? origin : 0];
}

/* "0 bytes" or "unknown". */
static void print_amount(FILE *to, const char *label, int value, const char *unit)
{
    if (value < 0)
        fprintf(to, "%-10s unknown\n", label);
    else
        fprintf(to, "%-10s %d%s\n", label, value, unit);
}

/* Calls that the assembler left in the kernel's code; -1: not known. */
static int calls_of(const ptxgen_kernel_info *k)
{
    ptxgen_cubin_kernel c = {.size = sizeof c};
    int n = -1;
    for (size_t i = 0; ptxgen_cubin_kernel_at(k->cubin, k->cubin_size, i, &c); i++)
        n = c.calls < 0 ? n : (n < 0 ? 0 : n) + c.calls;
    return n;
}

void cli_kernel_text(const ptxgen_kernel_info *k, bool log, FILE *to)
{
    fprintf(to, "%-10s %s\n", "kernel", k->entry);
    fprintf(to, "%-10s %s %s\n", "problem", k->family, k->params);
    fprintf(to, "%-10s %s\n", "arch", ptxgen_arch_name(k->arch));
    fprintf(to, "%-10s %s\n", "origin", cli_origin_name(k->origin));
    fprintf(to, "%-10s %zu bytes, written in %.1f us\n", "ptx", k->ptx_size, k->emit_us);
    fprintf(to, "%-10s %d bytes of shared memory at launch\n", "dynamic", k->dynamic_shared_bytes);
    if (k->cubin_size == 0)
        return;
    fprintf(to, "%-10s %zu bytes, assembled in %.1f ms by %s\n", "cubin", k->cubin_size,
            k->assemble_us / 1000, k->assembler);
    print_amount(to, "registers", k->registers, "");
    print_amount(to, "shared", k->shared_bytes, " bytes");
    print_amount(to, "local", k->local_bytes, " bytes");
    print_amount(to, "spills", k->spill_bytes, " bytes");
    print_amount(to, "calls", calls_of(k), " places that call a subroutine");
    if (log && k->log[0] != '\0')
        fprintf(to, "%-10s\n%s", "log", k->log);
}

static void add_amount(cJSON *object, const char *name, int value)
{
    if (value < 0)
        cJSON_AddNullToObject(object, name);
    else
        cli_json_integer(object, name, value);
}

cJSON *cli_kernel_json(const ptxgen_kernel_info *k)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "entry", k->entry);
    cJSON_AddStringToObject(o, "family", k->family);
    cJSON_AddStringToObject(o, "params", k->params);
    cJSON_AddStringToObject(o, "arch", ptxgen_arch_name(k->arch));
    cJSON_AddStringToObject(o, "origin", cli_origin_name(k->origin));
    cli_json_integer(o, "ptx_bytes", (int64_t)k->ptx_size);
    cJSON_AddNumberToObject(o, "emit_us", k->emit_us);
    cli_json_integer(o, "dynamic_shared_bytes", k->dynamic_shared_bytes);
    if (k->cubin_size == 0)
        return o;
    cJSON_AddStringToObject(o, "key", k->key);
    cJSON_AddStringToObject(o, "assembler", k->assembler);
    cJSON_AddNumberToObject(o, "assemble_us", k->assemble_us);
    cli_json_integer(o, "cubin_bytes", (int64_t)k->cubin_size);
    add_amount(o, "registers", k->registers);
    add_amount(o, "shared_bytes", k->shared_bytes);
    add_amount(o, "local_bytes", k->local_bytes);
    add_amount(o, "spill_bytes", k->spill_bytes);
    add_amount(o, "calls", calls_of(k));
    cJSON_AddStringToObject(o, "log", k->log);
    return o;
}
