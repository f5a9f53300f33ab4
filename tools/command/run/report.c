#include "command/run/report.h"

#include "command/output.h"
#include "command/run/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- check ------------------------------------------------------------------------------------- */

ptxgen_status run_check_result(run_job *j, ptxgen_error *err)
{
    const size_t bytes = j->result.header.data_bytes;
    void *want = aligned_alloc(64, bytes / 64 * 64 + 64);
    if (!want)
        return cli_fail(err, PTXGEN_ENOMEM, "out of memory: --check needs %zu bytes", bytes);
    const ptxgen_status status = bytes ? j->family->oracle(j, want, err) : PTXGEN_OK;
    if (status == PTXGEN_OK)
        run_check_compare(&j->check, &(run_pair){j->type, j->result.data, want, j->m, j->n});
    free(want);
    return status;
}

/* ---- report ------------------------------------------------------------------------------------ */

static double tflop_per_second(const run_job *j)
{
    return j->flop / j->mean_us / 1e6;
}

static double gigabytes_per_second(const run_job *j)
{
    return j->bytes / j->mean_us / 1e3;
}

static void check_json(const run_check *c, cJSON *root)
{
    cJSON *o = cJSON_AddObjectToObject(root, "check");
    cJSON_AddBoolToObject(o, "right", c->wrong == 0);
    cli_json_integer(o, "elements", c->elements);
    cli_json_integer(o, "wrong", c->wrong);
    cJSON_AddNumberToObject(o, "worst_error", c->worst_error);
    cJSON_AddNumberToObject(o, "worst_bound", c->worst_bound);
    cli_json_integer(o, "worst_row", c->worst_row);
    cli_json_integer(o, "worst_column", c->worst_column);
}

static cJSON *job_json(const run_job *j, const ptxgen_device_info *d)
{
    cJSON *root = cJSON_CreateObject();
    run_head_json(d, root);
    cli_json_integer(root, "m", j->m);
    cli_json_integer(root, "n", j->n);
    if (j->flop > 0)
        cli_json_integer(root, "k", j->k);
    run_kernel_json(j->kernel, root);
    if (j->args->set.check)
        check_json(&j->check, root);
    if (j->mean_us > 0) {
        cli_json_integer(root, "repeat", j->args->set.repeat);
        cJSON_AddNumberToObject(root, "mean_us", j->mean_us);
        if (j->flop > 0)
            cJSON_AddNumberToObject(root, "tflop_per_s", tflop_per_second(j));
        cJSON_AddNumberToObject(root, "gb_per_s", gigabytes_per_second(j));
    }
    return root;
}

static void check_text(const run_check *c, FILE *to)
{
    fprintf(to, "%-10s %s: %lld of %lld elements ", "check", c->wrong ? "WRONG" : "right",
            (long long)c->wrong, (long long)c->elements);
    if (c->atol == 0 && c->rtol == 0)
        fprintf(to, "differ");
    else
        fprintf(to, "off by more than %g + %g |answer|; worst error %.3g (allowed %.3g)", c->atol,
                c->rtol, c->worst_error, c->worst_bound);
    if (c->elements > 0 && (c->wrong > 0 || c->atol > 0))
        fprintf(to, " at row %lld, column %lld", (long long)c->worst_row,
                (long long)c->worst_column);
    fputc('\n', to);
}

static void job_text(const run_job *j, const ptxgen_device_info *d, FILE *to)
{
    run_head_text(d, to);
    fprintf(to, "%-10s m=%lld n=%lld", "problem", (long long)j->m, (long long)j->n);
    if (j->flop > 0)
        fprintf(to, " k=%lld", (long long)j->k);
    fputc('\n', to);
    run_kernel_text(j->kernel, "the result has no elements", to);
    if (j->args->set.check)
        check_text(&j->check, to);
    if (j->mean_us > 0 && j->flop > 0)
        fprintf(to, "%-10s %.2f us a launch over %lld, %.4g TFLOP/s, %.4g GB/s\n", "time",
                j->mean_us, (long long)j->args->set.repeat, tflop_per_second(j),
                gigabytes_per_second(j));
    else if (j->mean_us > 0)
        fprintf(to, "%-10s %.2f us a launch over %lld, %.4g GB/s\n", "time", j->mean_us,
                (long long)j->args->set.repeat, gigabytes_per_second(j));
    if (j->args->set.output && strcmp(j->args->set.output, "-") != 0 && j->check.wrong == 0)
        fprintf(to, "%-10s %s\n", "wrote", j->args->set.output);
}

ptxgen_status run_report(const run_job *j, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    const ptxgen_status status = ptxgen_device_get_info(j->ctx, &d, err);
    if (status != PTXGEN_OK)
        return status;
    FILE *to = cli_report_file(&j->args->set);
    if (j->args->set.json)
        cli_json_write(job_json(j, &d), to);
    else
        job_text(j, &d, to);
    return PTXGEN_OK;
}
