/* Findings as a SARIF 2.1.0 log (OASIS), which CI systems show at the lines. A result's level:
 * error for what the ISA leaves undefined, warning for a reliance, note for advice. */
#include "command/output.h"
#include "command/run/findings.h"

#include "ptxgen/ptxgen.h"

#include <stdlib.h>

static cJSON *message(const char *text)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "text", text);
    return o;
}

static cJSON *location(const char *file, int line, const char *text)
{
    cJSON *o = cJSON_CreateObject();
    cJSON *physical = cJSON_AddObjectToObject(o, "physicalLocation");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(physical, "artifactLocation"), "uri", file);
    cli_json_integer(cJSON_AddObjectToObject(physical, "region"), "startLine", line);
    if (text)
        cJSON_AddItemToObject(o, "message", message(text));
    return o;
}

static const char *level_of(ptxgen_emulator_report_kind kind)
{
    static const char *const levels[] = {"error", "warning", "note"};
    return levels[ptxgen_emulator_report_class_of(kind)];
}

static cJSON *rules(void)
{
    cJSON *all = cJSON_CreateArray();
    for (int k = 0; k < PTXGEN_EMULATOR_REPORT_KINDS; k++) {
        const ptxgen_emulator_report_kind kind = (ptxgen_emulator_report_kind)k;
        cJSON *rule = cJSON_CreateObject();
        cJSON_AddStringToObject(rule, "id", ptxgen_emulator_report_id(kind));
        cJSON_AddItemToObject(rule, "shortDescription", message(ptxgen_emulator_report_name(kind)));
        cJSON_AddStringToObject(cJSON_AddObjectToObject(rule, "defaultConfiguration"), "level",
                                level_of(kind));
        cJSON_AddItemToArray(all, rule);
    }
    return all;
}

/* The other lines of the finding, and the lines of the source. */
static void add_related(const run_findings *all, const run_finding *f, cJSON *result)
{
    const ptxgen_emulator_report *r = &f->first;
    cJSON *related = cJSON_AddArrayToObject(result, "relatedLocations");
    for (size_t i = 0; i < f->pair_count; i++) {
        if (i > 0)
            cJSON_AddItemToArray(related, location(all->file, f->pairs[i].line, "also here"));
        if (f->pairs[i].other_line)
            cJSON_AddItemToArray(related,
                                 location(all->file, f->pairs[i].other_line, "the other access"));
    }
    if (*r->source)
        cJSON_AddItemToArray(related, location(r->source, r->source_line, "source"));
    if (*r->other_source)
        cJSON_AddItemToArray(
            related, location(r->other_source, r->other_source_line, "source of the other"));
}

static cJSON *result_of(const run_findings *all, const run_finding *f)
{
    const ptxgen_emulator_report *r = &f->first;
    cJSON *o = cJSON_CreateObject();
    char *text = cli_format("%s: %s%s%s", ptxgen_emulator_report_name(r->kind), r->text,
                            *r->where ? " At " : "", r->where);
    cJSON_AddStringToObject(o, "ruleId", ptxgen_emulator_report_id(r->kind));
    cli_json_integer(o, "ruleIndex", r->kind);
    cJSON_AddStringToObject(o, "level", level_of(r->kind));
    cJSON_AddItemToObject(o, "message", message(text));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "locations"),
                         location(all->file, r->line, NULL));
    cli_json_integer(o, "occurrenceCount", f->count > INT32_MAX ? INT32_MAX : (int64_t)f->count);
    add_related(all, f, o);
    cJSON *properties = cJSON_AddObjectToObject(o, "properties");
    cJSON_AddStringToObject(properties, "object", r->object);
    if (all->seeded)
        cli_json_integer(properties, "seed", (int64_t)f->seed);
    free(text);
    return o;
}

cJSON *run_findings_sarif(const run_findings *all)
{
    cJSON *log = cJSON_CreateObject();
    cJSON_AddStringToObject(log, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    cJSON_AddStringToObject(log, "version", "2.1.0");
    cJSON *run = cJSON_CreateObject(), *driver = cJSON_CreateObject();
    cJSON_AddStringToObject(driver, "name", "ptxgen");
    cJSON_AddStringToObject(driver, "version", ptxgen_version());
    cJSON_AddItemToObject(driver, "rules", rules());
    cJSON_AddItemToObject(cJSON_AddObjectToObject(run, "tool"), "driver", driver);
    cJSON *results = cJSON_AddArrayToObject(run, "results");
    for (size_t i = 0; i < all->count; i++)
        cJSON_AddItemToArray(results, result_of(all, &all->all[i]));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(log, "runs"), run);
    return log;
}

ptxgen_status run_findings_write_sarif(const run_findings *f, const cli_settings *set,
                                       ptxgen_error *err)
{
    cli_output to;
    if (!set->sarif)
        return PTXGEN_OK;
    const ptxgen_status status = cli_output_open(&to, set->sarif, false, err);
    if (status != PTXGEN_OK)
        return status;
    cli_json_write(run_findings_sarif(f), to.file);
    return cli_output_commit(&to, err);
}
