/* See time.h. */
#include "command/run/time.h"

#include <string.h>

enum { BUSY_SHOWN = 3 }; /* percent: less is left out */

static void time_json(const ptxgen_emulator *emu, size_t i, const ptxgen_emulator_time *t,
                      cJSON *list)
{
    const char *name;
    double busy;
    cJSON *o = cJSON_CreateObject(), *units;
    cJSON_AddNumberToObject(o, "us", t->ns / 1000);
    cJSON_AddNumberToObject(o, "launch_us", t->launch_ns / 1000);
    cJSON_AddNumberToObject(o, "power_us", t->power_ns / 1000);
    cJSON_AddStringToObject(o, "limit", t->limit);
    cJSON_AddNumberToObject(o, "error_percent", t->error_percent);
    cJSON_AddNumberToObject(o, "dram_bytes", t->dram_bytes);
    cJSON_AddNumberToObject(o, "flop", t->flop);
    cli_json_integer(o, "clusters", (int64_t)t->clusters);
    cli_json_integer(o, "sampled", (int64_t)t->sampled);
    cli_json_integer(o, "ctas_per_sm", t->occupancy);
    cJSON_AddBoolToObject(o, "whole_grid", t->whole);
    units = cJSON_AddObjectToObject(o, "busy");
    for (size_t u = 0; ptxgen_emulator_time_unit_at(emu, i, u, &name, &busy); u++)
        cJSON_AddNumberToObject(units, name, busy);
    cJSON_AddItemToArray(list, o);
}

static void print_time(const ptxgen_emulator *emu, size_t i, const ptxgen_emulator_time *t,
                       FILE *to)
{
    const char *name;
    double busy;
    fprintf(to, "launch %zu: %.2f us, limited by %s (known error %.0f%%)\n", i, t->ns / 1000,
            t->limit, t->error_percent);
    fprintf(to, "  %llu of %llu clusters followed, %u CTAs an SM%s; %.2f us of it the launch\n",
            (unsigned long long)t->sampled, (unsigned long long)t->clusters, t->occupancy,
            t->whole ? "" : ", the rest extrapolated", t->launch_ns / 1000);
    if (t->dram_bytes > 0)
        fprintf(to, "  DRAM %.3f GB, %.2f TB/s\n", t->dram_bytes / 1e9,
                t->dram_bytes / t->ns / 1000);
    if (t->flop > 0)
        fprintf(to, "  %.1f TFLOP/s; power allows %.1f\n", t->flop / t->ns / 1000,
                t->power_ns > 0 ? t->flop / t->power_ns / 1000 : 0);
    for (size_t u = 0; ptxgen_emulator_time_unit_at(emu, i, u, &name, &busy); u++)
        if (100 * busy >= BUSY_SHOWN)
            fprintf(to, "  %5.1f%% %s\n", 100 * busy, name);
}

void run_print_times(const ptxgen_emulator *emu, cJSON *json, FILE *to)
{
    ptxgen_emulator_time t = {.size = sizeof t};
    double sum = 0, error = 0;
    size_t count = 0;
    const char *arch = "", *gpu = "";
    cJSON *o = json ? cJSON_AddObjectToObject(json, "time") : NULL;
    cJSON *list = o ? cJSON_AddArrayToObject(o, "launches") : NULL;
    for (; ptxgen_emulator_time_at(emu, count, &t); count++) {
        if (list)
            time_json(emu, count, &t, list);
        else
            print_time(emu, count, &t, to);
        sum += t.ns;
        error = t.error_percent > error ? t.error_percent : error;
        arch = t.arch;
        gpu = t.gpu;
    }
    if (list) {
        cJSON_AddStringToObject(o, "arch", arch);
        cJSON_AddStringToObject(o, "gpu", gpu);
        cJSON_AddNumberToObject(o, "us", sum / 1000);
        cJSON_AddNumberToObject(o, "error_percent", error);
        cJSON_AddStringToObject(o, "note", "a model's estimate, not a measurement");
    } else if (count) {
        fprintf(to,
                "%.2f us on %s %s (%s): a model's estimate, not a measurement; mean error of "
                "known kernels %.0f%%\n",
                sum / 1000, *gpu == 'H' ? "an" : "a", gpu, arch, error);
    }
}
