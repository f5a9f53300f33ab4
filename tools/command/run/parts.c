#include "command/run/parts.h"

#include "command/output.h"
#include "command/report.h"

#include <time.h>

ptxgen_status run_measure(const run_series *s, double *mean_us, ptxgen_error *err)
{
    struct timespec start = {0}, end;
    ptxgen_status status = PTXGEN_OK;
    for (int64_t i = -1 - s->repeat / 10; i < s->repeat && status == PTXGEN_OK; i++) {
        if (i == 0) {
            status = ptxgen_synchronize(s->ctx, NULL, err);
            clock_gettime(CLOCK_MONOTONIC, &start);
        }
        if (status == PTXGEN_OK)
            status = s->launch(s->job, err);
    }
    if (status == PTXGEN_OK)
        status = ptxgen_synchronize(s->ctx, NULL, err);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    *mean_us = seconds * 1e6 / (double)s->repeat;
    return status;
}

ptxgen_status run_write_result(const cli_settings *set, const npy_array *result, ptxgen_error *err)
{
    cli_output to;
    if (!set->output && !set->check && !set->json && set->repeat <= 0)
        cli_say("the result is not kept: -o FILE.npy writes it, --check compares it");
    if (!set->output)
        return PTXGEN_OK;
    const ptxgen_status status = cli_output_open(&to, set->output, true, err);
    if (status != PTXGEN_OK)
        return status;
    npy_write(result, to.file);
    return cli_output_commit(&to, err);
}

void run_head_text(const ptxgen_device_info *d, FILE *to)
{
    const bool cuda = d->kind == PTXGEN_DEVICE_CUDA;
    fprintf(to, "%-10s %s%s%s%s\n", "device", d->name, cuda ? " (" : "",
            cuda ? ptxgen_arch_name(d->arch) : "", cuda ? ")" : "");
}

void run_kernel_text(const ptxgen_kernel *kernel, const char *none, FILE *to)
{
    ptxgen_kernel_info k = {.size = sizeof k};
    if (!kernel) {
        fprintf(to, "%-10s none: %s\n", "kernel", none);
        return;
    }
    ptxgen_kernel_describe(kernel, &k);
    fprintf(to, "%-10s %s (%s)\n%-10s %s\n", "kernel", k.entry, cli_origin_name(k.origin), "params",
            k.params);
}

void run_head_json(const ptxgen_device_info *d, cJSON *root)
{
    cJSON_AddStringToObject(root, "device", d->name);
    cJSON_AddStringToObject(root, "device_kind",
                            d->kind == PTXGEN_DEVICE_CUDA ? "cuda" : "emulator");
}

void run_kernel_json(const ptxgen_kernel *kernel, cJSON *root)
{
    ptxgen_kernel_info k = {.size = sizeof k};
    if (!kernel)
        return;
    ptxgen_kernel_describe(kernel, &k);
    cJSON_AddItemToObject(root, "kernel", cli_kernel_json(&k));
}
