/* The report of a run: device, problem, kernel, check, time; as text or JSON. */
#include "command/output.h"
#include "command/report.h"
#include "command/run/family.h"

#include <string.h>

static double tflop_per_second(const run_job *j)
{
    return j->flop / j->mean_us / 1e6;
}

static double gigabytes_per_second(const run_job *j)
{
    return j->bytes / j->mean_us / 1e3;
}

static const char none[] = "none: there is nothing to do";

static void check_json(const ptxgen_call_verdict *v, cJSON *root)
{
    cJSON *o = cJSON_AddObjectToObject(root, "check");
    cJSON_AddBoolToObject(o, "right", v->wrong == 0);
    cli_json_integer(o, "elements", v->elements);
    cli_json_integer(o, "wrong", v->wrong);
    cJSON_AddNumberToObject(o, "worst_error", v->worst_error);
    cJSON_AddNumberToObject(o, "worst_bound", v->worst_bound);
    cli_json_integer(o, "worst_row", v->worst_row);
    cli_json_integer(o, "worst_column", v->worst_column);
    cJSON_AddNumberToObject(o, "worst_got", v->worst_got);
    cJSON_AddNumberToObject(o, "worst_want", v->worst_want);
}

static cJSON *job_json(run_job *j, const ptxgen_device_info *d)
{
    ptxgen_kernel_info k = {.size = sizeof k};
    cJSON *root = j->json ? j->json : cJSON_CreateObject();
    const char *name;
    int64_t value;
    j->json = NULL;
    cJSON_AddStringToObject(root, "device", d->name);
    cJSON_AddStringToObject(root, "device_kind",
                            d->kind == PTXGEN_DEVICE_CUDA ? "cuda" : "emulator");
    for (size_t i = 0; run_extent_at(j, i, &name, &value); i++)
        cli_json_integer(root, name, value);
    if (j->kernel) {
        ptxgen_kernel_describe(j->kernel, &k);
        cJSON_AddItemToObject(root, "kernel", cli_kernel_json(&k));
    }
    if (j->emulates) {
        run_findings_json(&j->found, root);
        cli_json_integer(root, "runs", (int64_t)(j->seeds.to - j->seeds.from + 1));
    }
    if (j->args->set.check)
        check_json(&j->verdict, root);
    if (j->mean_us > 0) {
        cli_json_integer(root, "repeat", j->args->set.repeat);
        cJSON_AddNumberToObject(root, "mean_us", j->mean_us);
        if (j->flop > 0)
            cJSON_AddNumberToObject(root, "tflop_per_s", tflop_per_second(j));
        cJSON_AddNumberToObject(root, "gb_per_s", gigabytes_per_second(j));
    }
    return root;
}

static void check_text(const ptxgen_call_verdict *v, FILE *to)
{
    fprintf(to, "%-10s %s: %lld of %lld elements ", "check", v->wrong ? "WRONG" : "right",
            (long long)v->wrong, (long long)v->elements);
    if (v->by_element)
        fprintf(to, "out of bounds; worst error %.3g (allowed %.3g)", v->worst_error,
                v->worst_bound);
    else
        fprintf(to, "differ");
    if (v->elements > 0 && (v->wrong > 0 || v->by_element))
        fprintf(to, " at row %lld, column %lld", (long long)v->worst_row,
                (long long)v->worst_column);
    if (v->wrong > 0)
        fprintf(to, ": %.17g, not %.17g", v->worst_got, v->worst_want);
    fputc('\n', to);
}

static void kernel_text(const run_job *j, FILE *to)
{
    ptxgen_kernel_info k = {.size = sizeof k};
    if (!j->kernel) {
        fprintf(to, "%-10s %s\n", "kernel", none);
        return;
    }
    ptxgen_kernel_describe(j->kernel, &k);
    fprintf(to, "%-10s %s (%s)\n%-10s %s\n", "kernel", k.entry, cli_origin_name(k.origin), "params",
            k.params);
}

static void job_text(const run_job *j, const ptxgen_device_info *d, FILE *to)
{
    const bool cuda = d->kind == PTXGEN_DEVICE_CUDA;
    const char *name;
    int64_t value;
    fprintf(to, "%-10s %s%s%s%s\n%-10s", "device", d->name, cuda ? " (" : "",
            cuda ? ptxgen_arch_name(d->arch) : "", cuda ? ")" : "", "problem");
    for (size_t i = 0; run_extent_at(j, i, &name, &value); i++)
        fprintf(to, " %s=%lld", name, (long long)value);
    fputc('\n', to);
    kernel_text(j, to);
    if (j->args->set.check_races) {
        run_findings_text(&j->found, to);
        run_findings_summary(&j->found, j->seeds.to - j->seeds.from + 1, to);
    }
    if (j->args->set.check)
        check_text(&j->verdict, to);
    if (j->mean_us > 0) {
        fprintf(to, "%-10s %.2f us a launch over %lld, ", "time", j->mean_us,
                (long long)j->args->set.repeat);
        if (j->flop > 0)
            fprintf(to, "%.4g TFLOP/s, ", tflop_per_second(j));
        fprintf(to, "%.4g GB/s\n", gigabytes_per_second(j));
    }
    if (j->args->set.output && strcmp(j->args->set.output, "-") != 0 && j->verdict.wrong == 0 &&
        run_findings_exit(&j->found) != CLI_NO)
        fprintf(to, "%-10s %s\n", "wrote", j->args->set.output);
}

ptxgen_status run_report(run_job *j, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    const ptxgen_status status = ptxgen_device_get_info(j->ctx, &d, err);
    if (status != PTXGEN_OK)
        return status;
    FILE *to = cli_report_file(&j->args->set);
    if (j->args->set.json) {
        cJSON *root = job_json(j, &d);
        cli_json_cache(root, j->ctx);
        cli_json_write(root, to);
    } else {
        job_text(j, &d, to);
    }
    return PTXGEN_OK;
}
