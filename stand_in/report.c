/* What the emulator says of a launch: said on standard error as it comes, and written as JSON, one
 * object a line, to the file that `ptxgen emulate` reads when the program has ended
 * (tools/command/run/program_found.c). */
#include "stand_in/launch.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const prefix[] = {"", "relies on ptxas or the hardware: ", "advice: "};
static const char *const class_name[] = {"undefined", "reliance", "advice"};

static void say(const pg_function *f, const ptxgen_emulator_report *r)
{
    pg_complain("%s: PTX line %d: %s%s: %s [CTA %u,%u,%u warp %u lane %u%s%s]", f->name, r->line,
                prefix[ptxgen_emulator_report_class_of(r->kind)],
                ptxgen_emulator_report_name(r->kind), r->text, r->cta[0], r->cta[1], r->cta[2],
                r->warp, r->lane, r->where[0] ? "; " : "", r->where);
}

/* One write(2), so that lines of several processes stay whole. */
static void append(const char *path, cJSON *o)
{
    char *line = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    const int fd = line ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) {
        const size_t n = strlen(line);
        line[n] = '\n'; /* over the NUL: n + 1 bytes are written */
        if (write(fd, line, n + 1) < 0)
            pg_complain("%s cannot be written", path);
        close(fd);
    }
    cJSON_free(line);
}

static cJSON *of_kernel(const pg_function *f)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "kernel", f->name);
    cJSON_AddStringToObject(o, "module", f->module->name);
    return o;
}

static cJSON *json_of(const pg_function *f, const ptxgen_emulator_report *r)
{
    const int thread[5] = {(int)r->cta[0], (int)r->cta[1], (int)r->cta[2], (int)r->warp,
                           (int)r->lane};
    cJSON *o = of_kernel(f);
    cJSON_AddStringToObject(o, "kind", ptxgen_emulator_report_name(r->kind));
    cJSON_AddStringToObject(o, "id", ptxgen_emulator_report_id(r->kind));
    cJSON_AddStringToObject(o, "class", class_name[ptxgen_emulator_report_class_of(r->kind)]);
    cJSON_AddNumberToObject(o, "line", r->line);
    cJSON_AddNumberToObject(o, "other_line", r->other_line);
    cJSON_AddStringToObject(o, "where", r->where);
    cJSON_AddStringToObject(o, "text", r->text);
    cJSON_AddStringToObject(o, "op", r->op);
    cJSON_AddStringToObject(o, "object", r->object);
    cJSON_AddStringToObject(o, "source", r->source);
    cJSON_AddNumberToObject(o, "source_line", r->source_line);
    cJSON_AddStringToObject(o, "other_source", r->other_source);
    cJSON_AddNumberToObject(o, "other_source_line", r->other_source_line);
    cJSON_AddNumberToObject(o, "count", (double)r->count);
    cJSON_AddItemToObject(o, "thread", cJSON_CreateIntArray(thread, 5));
    return o;
}

static void tell_member(const pg_function *f, const char *name, cJSON *value)
{
    cJSON *o = of_kernel(f);
    cJSON_AddItemToObject(o, name, value);
    append(pg_device_get()->settings.report, o);
}

/* How often reports were met that the emulator has not kept. */
static void tell_left_out(pg_device *d, const pg_function *f)
{
    const uint64_t left_out = ptxgen_emulator_reports_left_out(d->emulator);
    if (left_out == d->left_out_seen)
        return;
    if (!d->settings.silent_reports && !d->left_out_seen)
        pg_complain("%s: more reports of one kind than are kept", f->name);
    if (d->settings.report)
        tell_member(f, "left_out", cJSON_CreateNumber((double)(left_out - d->left_out_seen)));
    d->left_out_seen = left_out;
}

/* How long the launches that are new would take on a GPU, by the clock. */
static void tell_times(pg_device *d, const pg_function *f)
{
    ptxgen_emulator_time t = {.size = sizeof t};
    for (; ptxgen_emulator_time_at(d->emulator, d->times_seen, &t); d->times_seen++)
        pg_complain("%s: %.2f us on the %s by the clock, limited by %s (known error %.0f%%)",
                    f->name, t.ns / 1000, t.gpu, t.limit, t.error_percent);
}

void pg_report_run(pg_function *f, const char *stop)
{
    pg_device *d = pg_device_get();
    ptxgen_emulator_report r;
    if (d->settings.report && !f->has_run)
        tell_member(f, "ran", cJSON_CreateTrue());
    f->has_run = true;
    for (; ptxgen_emulator_get_report(d->emulator, d->reports_seen, &r); d->reports_seen++) {
        if (!d->settings.silent_reports)
            say(f, &r);
        if (d->settings.report)
            append(d->settings.report, json_of(f, &r));
    }
    if (d->settings.report && stop)
        tell_member(f, "stop", cJSON_CreateString(stop));
    tell_left_out(d, f);
    tell_times(d, f);
}
