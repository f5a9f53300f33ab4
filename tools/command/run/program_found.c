/* See program_found.h. */
#include "command/run/program_found.h"

#include "command/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- taking lines over ---- */

/* One more zeroed element at the end of an owned array. */
static void *grow(void *array, size_t *count, size_t size)
{
    char *more = cli_calloc(*count + 1, size);
    if (*count)
        memcpy(more, array, *count * size);
    free(array);
    ++*count;
    return more;
}

static run_findings *findings_of(program_found *p, const char *kernel)
{
    for (size_t i = 0; i < p->kernel_count; i++)
        if (strcmp(p->kernels[i].entry, kernel) == 0)
            return &p->kernels[i];
    p->kernels = grow(p->kernels, &p->kernel_count, sizeof *p->kernels);
    run_findings *f = &p->kernels[p->kernel_count - 1];
    f->entry = cli_format("%s", kernel);
    f->file = cli_format("ptxgen emulate: %s", kernel);
    f->at = ": PTX line ";
    f->seeded = p->seeded;
    return f;
}

static const char *text_of(const cJSON *o, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(o, name));
    return text ? text : "";
}

static uint32_t number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? (uint32_t)item->valuedouble : 0;
}

static ptxgen_emulator_report_kind kind_of(const char *id)
{
    int k = 0;
    while (strcmp(ptxgen_emulator_report_id(k), "?") != 0 &&
           strcmp(ptxgen_emulator_report_id(k), id) != 0)
        k++;
    return k;
}

static void take_stop(program_found *p, const char *kernel, const char *text, uint64_t seed)
{
    for (size_t i = 0; i < p->stop_count; i++)
        if (strcmp(p->stops[i].kernel, kernel) == 0 && strcmp(p->stops[i].text, text) == 0)
            return;
    p->stops = grow(p->stops, &p->stop_count, sizeof *p->stops);
    p->stops[p->stop_count - 1] =
        (program_stop){cli_format("%s", kernel), cli_format("%s", text), seed};
}

/* The strings are those of `o`. */
static void take_report(run_findings *of_kernel, const cJSON *o, uint64_t seed)
{
    const cJSON *thread = cJSON_GetObjectItem(o, "thread");
    ptxgen_emulator_report r = {
        .kind = kind_of(text_of(o, "id")),
        .line = (int)number_of(cJSON_GetObjectItem(o, "line")),
        .other_line = (int)number_of(cJSON_GetObjectItem(o, "other_line")),
        .where = text_of(o, "where"),
        .text = text_of(o, "text"),
        .count = number_of(cJSON_GetObjectItem(o, "count")),
        .op = text_of(o, "op"),
        .other_op = "",
        .warp = number_of(cJSON_GetArrayItem(thread, 3)),
        .lane = number_of(cJSON_GetArrayItem(thread, 4)),
        .source = text_of(o, "source"),
        .other_source = text_of(o, "other_source"),
        .source_line = (int)number_of(cJSON_GetObjectItem(o, "source_line")),
        .other_source_line = (int)number_of(cJSON_GetObjectItem(o, "other_source_line")),
        .object = text_of(o, "object"),
    };
    for (int i = 0; i < 3; i++)
        r.cta[i] = number_of(cJSON_GetArrayItem(thread, i));
    run_findings_add(of_kernel, &r, seed);
}

/* A line says that a kernel runs for the first time, what it stopped with, how many reports were
 * not kept, or what one report says. Takes `o`. */
static void take_line(program_found *p, cJSON *o, uint64_t seed)
{
    const char *kernel = text_of(o, "kernel");
    run_findings *of_kernel = findings_of(p, kernel);
    const cJSON *left_out = cJSON_GetObjectItem(o, "left_out");
    if (left_out) {
        of_kernel->left_out += (uint64_t)left_out->valuedouble;
    } else if (cJSON_HasObjectItem(o, "stop")) {
        take_stop(p, kernel, text_of(o, "stop"), seed);
    } else if (cJSON_HasObjectItem(o, "id")) {
        take_report(of_kernel, o, seed);
        if (p->reports) {
            cli_json_integer(o, "seed", (int64_t)seed);
            cJSON_AddItemToArray(p->reports, o);
            return;
        }
    }
    cJSON_Delete(o);
}

void program_found_take(program_found *p, const char *path, uint64_t seed)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        cJSON *o = cJSON_Parse(line);
        if (o)
            take_line(p, o, seed);
    }
    free(line);
    if (file)
        fclose(file);
    unlink(path);
}

/* ---- telling ---- */

static size_t found(const program_found *p, ptxgen_emulator_report_class c)
{
    size_t n = 0;
    for (size_t i = 0; i < p->kernel_count; i++)
        n += run_findings_of(&p->kernels[i], c);
    return n;
}

void program_found_text(const program_found *p, const char *program, uint64_t runs, FILE *to)
{
    if (!p->kernel_count) {
        cli_say("%s: no kernel ran on the emulator, so nothing was checked", program);
        return;
    }
    for (size_t i = 0; i < p->kernel_count; i++)
        run_findings_text(&p->kernels[i], to);
    for (size_t i = 0; p->seeded && i < p->stop_count; i++)
        cli_say("%s stopped with seed %llu: %s", p->stops[i].kernel,
                (unsigned long long)p->stops[i].seed, p->stops[i].text);
    char *stops = p->stop_count ? cli_format("%s, ", cli_count(p->stop_count, "stop", "stops"))
                                : cli_format("%s", "");
    cli_say("%s: %s%s, %s on ptxas or the hardware, %s of advice in %s of %s", program, stops,
            cli_count(found(p, PTXGEN_EMULATOR_UNDEFINED), "defect", "defects"),
            cli_count(found(p, PTXGEN_EMULATOR_RELIANCE), "reliance", "reliances"),
            cli_count(found(p, PTXGEN_EMULATOR_ADVICE), "piece", "pieces"),
            cli_count(runs, "run", "runs"), cli_count(p->kernel_count, "kernel", "kernels"));
    free(stops);
}

void program_found_json(program_found *p, cJSON *into)
{
    uint64_t left_out = 0;
    cJSON_AddItemToObject(into, "reports", p->reports);
    p->reports = NULL;
    cJSON *stops = cJSON_AddArrayToObject(into, "stops");
    for (size_t i = 0; i < p->stop_count; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "kernel", p->stops[i].kernel);
        cJSON_AddStringToObject(o, "text", p->stops[i].text);
        cli_json_integer(o, "seed", (int64_t)p->stops[i].seed);
        cJSON_AddItemToArray(stops, o);
    }
    for (size_t i = 0; i < p->kernel_count; i++)
        left_out += p->kernels[i].left_out;
    cli_json_integer(into, "kernels", (int64_t)p->kernel_count);
    cli_json_integer(into, "left_out", (int64_t)left_out);
}

int program_found_exit(const program_found *p)
{
    return p->stop_count || found(p, PTXGEN_EMULATOR_UNDEFINED) ? CLI_NO
           : found(p, PTXGEN_EMULATOR_RELIANCE)                 ? CLI_RELIES
                                                                : CLI_OK;
}

void program_found_free(program_found *p)
{
    for (size_t i = 0; i < p->kernel_count; i++) {
        free((void *)p->kernels[i].entry);
        free((void *)p->kernels[i].file);
        run_findings_free(&p->kernels[i]);
    }
    for (size_t i = 0; i < p->stop_count; i++) {
        free(p->stops[i].kernel);
        free(p->stops[i].text);
    }
    free(p->kernels);
    free(p->stops);
    cJSON_Delete(p->reports);
}
