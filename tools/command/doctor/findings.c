#include "command/doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

finding *finding_add(findings *f, const char *topic, int state, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    finding *a = &f->all[f->count < MAX_FINDINGS ? f->count++ : MAX_FINDINGS - 1];
    free(a->text); /* of the last, which gives way when there are too many */
    cJSON_Delete(a->facts);
    *a = (finding){.topic = topic,
                   .state = state,
                   .text = cli_format("%s", text),
                   .facts = cJSON_CreateObject()};
    return a;
}

void finding_text(finding *a, const char *name, const char *value)
{
    cJSON_AddStringToObject(a->facts, name, value);
}

void finding_number(finding *a, const char *name, int64_t value)
{
    cli_json_integer(a->facts, name, value);
}

bool findings_text_is(const findings *f, const char *topic, const char *name, const char *value)
{
    for (size_t i = 0; i < f->count; i++) {
        const char *fact = cJSON_GetStringValue(cJSON_GetObjectItem(f->all[i].facts, name));
        if (strcmp(f->all[i].topic, topic) == 0 && fact && strcmp(fact, value) == 0)
            return true;
    }
    return false;
}

static const char *const states[] = {"ok", "missing", "broken"};

static void print_json(const findings *f, ptxgen *ctx, bool ready)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "version", ptxgen_version());
    cJSON_AddBoolToObject(root, "ready", ready);
    cJSON *list = cJSON_AddArrayToObject(root, "findings");
    for (size_t i = 0; i < f->count; i++) {
        cJSON *o = cJSON_Duplicate(f->all[i].facts, true);
        cJSON_AddStringToObject(o, "topic", f->all[i].topic);
        cJSON_AddStringToObject(o, "state", states[f->all[i].state]);
        cJSON_AddStringToObject(o, "text", f->all[i].text);
        cJSON_AddItemToArray(list, o);
    }
    cJSON *settings = cJSON_AddArrayToObject(root, "settings");
    ptxgen_setting s;
    for (size_t i = 0; ptxgen_setting_at(ctx, i, &s); i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", s.name);
        cJSON_AddStringToObject(o, "value", s.value);
        cJSON_AddStringToObject(o, "origin", s.origin);
        cJSON_AddStringToObject(o, "variable", s.variable);
        cJSON_AddItemToArray(settings, o);
    }
    cli_json_print(root);
}

static void print_text(const findings *f, ptxgen *ctx)
{
    ptxgen_setting s;
    printf("ptxgen %s\n", ptxgen_version());
    for (size_t i = 0; i < f->count; i++)
        printf("%-14s %-8s %s\n", f->all[i].topic, states[f->all[i].state], f->all[i].text);
    for (size_t i = 0; ptxgen_setting_at(ctx, i, &s); i++)
        if (strcmp(s.origin, "default") != 0)
            printf("%-14s %-8s %s = %s (%s)\n", "setting", "", s.name, s.value, s.origin);
}

int findings_print(const cli_settings *set, const findings *f, ptxgen *ctx)
{
    bool ready = true;
    for (size_t i = 0; i < f->count; i++)
        ready = ready && f->all[i].state != BROKEN;
    if (set->json)
        print_json(f, ctx, ready);
    else
        print_text(f, ctx);
    return ready ? CLI_OK : CLI_NO;
}

void findings_free(findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->all[i].text);
        cJSON_Delete(f->all[i].facts);
    }
}
