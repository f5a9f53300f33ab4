/* ptxgen doctor: what is here, what works, what does not and why. Looking makes nothing; what is
 * tried in the cache folder is removed again. */
#include "command/doctor/findings.h"

#include "ptxgen/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts and device ------------------------------------------------------------------------ */

static void look_at_parts(findings *f, ptxgen *ctx)
{
    ptxgen_part p;
    for (size_t i = 0; ptxgen_part_at(ctx, i, &p); i++) {
        const char *note = p.note ? p.note : "";
        finding *a = p.found ? finding_add(f, p.name, WORKS, "%s%s%s%s%s", p.version,
                                           p.path[0] ? ", " : "", p.path, note[0] ? "; " : "", note)
                             : finding_add(f, p.name, MISSING, "%s", note);
        finding_text(a, "path", p.path);
        finding_text(a, "version", p.version);
    }
}

static void look_at_device(findings *f, ptxgen *ctx)
{
    ptxgen_error err = {0};
    ptxgen_device_info d = {.size = sizeof d};
    if (ptxgen_device_get_info(ctx, &d, &err) != PTXGEN_OK) {
        finding_add(f, "device", err.status == PTXGEN_EMISSING ? MISSING : BROKEN, "%s",
                    err.message);
        return;
    }
    const bool gpu = d.kind != PTXGEN_DEVICE_EMULATOR;
    finding *a =
        gpu ? finding_add(f, "device", WORKS, "%s (device %d), %s, %d SMs, driver for CUDA %d.%d",
                          d.name, d.ordinal, ptxgen_arch_name(d.arch), d.sm_count,
                          d.driver_version / 1000, d.driver_version % 1000 / 10)
            : finding_add(f, "device", WORKS,
                          "%s: kernels run on the CPU (no GPU was found or wanted)",
                          d.name[0] ? d.name : "emulator");
    finding_text(a, "kind", gpu ? "cuda" : "emulator");
    finding_text(a, "name", d.name);
    if (gpu) {
        finding_text(a, "arch", ptxgen_arch_name(d.arch));
        finding_number(a, "sm_count", d.sm_count);
        finding_number(a, "driver_version", d.driver_version);
    }
}

static void look_at_tuning(findings *f, ptxgen *ctx)
{
    ptxgen_tuning_info t = {.size = sizeof t};
    ptxgen_error err = {0};
    if (ptxgen_tuning_get_info(ctx, &t, &err) != PTXGEN_OK) {
        finding_add(f, "tuning", BROKEN, "%s", err.message);
        return;
    }
    finding *a =
        t.problem[0] ? finding_add(f, "tuning", BROKEN, "%s", t.problem)
        : !t.path[0]
            ? finding_add(f, "tuning", MISSING,
                          "no file: kernels are chosen by the model (PTXGEN_TUNING_FILE names one)")
        : !t.exists
            ? finding_add(f, "tuning", MISSING,
                          "%s is not there: kernels are chosen by the model (`ptxgen tune`)",
                          t.path)
            : finding_add(f, "tuning", WORKS,
                          "%s: %zu of %zu entries are of this device, driver and generator", t.path,
                          t.current, t.entries);
    finding_text(a, "path", t.path);
    finding_number(a, "entries", (int64_t)t.entries);
    finding_number(a, "current", (int64_t)t.current);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Does the whole way from a problem to a cubin work? A kernel of the first family, nothing kept. */
static void try_compile(findings *f, const cli_settings *set)
{
    ptxgen_error err = {0};
    ptxgen *ctx;
    ptxgen_kernel *kernel = NULL;
    cli_settings memory_only = *set;
    memory_only.cache_dir = "";
    if (ptxgen_family_count() == 0)
        return;
    if (cli_context(&memory_only, &ctx, &err) != PTXGEN_OK ||
        ptxgen_emit(ctx, ptxgen_family_name(0), "", &kernel, &err) != PTXGEN_OK) {
        finding_add(f, "emit", BROKEN, "%s", err.message);
        ptxgen_destroy(ctx);
        return;
    }
    finding_add(f, "emit", WORKS, "kernels are written");
    ptxgen_kernel_unref(kernel);
    kernel = NULL;
    if (ptxgen_compile(ctx, ptxgen_family_name(0), "", &kernel, &err) != PTXGEN_OK) {
        finding_add(f, "compile", err.status == PTXGEN_EMISSING ? MISSING : BROKEN, "%s",
                    err.message);
    } else {
        ptxgen_kernel_info info = {.size = sizeof info};
        ptxgen_kernel_describe(kernel, &info);
        finding *a = finding_add(f, "compile", WORKS, "kernels are assembled, by %s in %.0f ms",
                                 info.assembler, info.assemble_us / 1000);
        finding_text(a, "assembler", info.assembler);
        finding_number(a, "microseconds", (int64_t)info.assemble_us);
    }
    ptxgen_kernel_unref(kernel);
    ptxgen_destroy(ctx);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* What --require takes: a finding's topic, or one of the words that stand for several. */
static const char *const topics[] = {
    "ptxas", "nvptxcompiler", "nvjitlink", "driver", "nvrtc",   "disassembler", "device",
    "cache", "locks",         "remote",    "emit",   "compile", "gpu",          "assembler"};
enum { TOPICS = sizeof topics / sizeof *topics };

static bool holds(const findings *f, const char *topic)
{
    if (strcmp(topic, "assembler") == 0)
        topic = "compile";
    if (strcmp(topic, "gpu") == 0)
        return findings_text_is(f, "device", "kind", "cuda");
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->all[i].topic, topic) == 0)
            return f->all[i].state == WORKS;
    return false;
}

static void require(findings *f, const char *topic, const char *why)
{
    const bool good = holds(f, topic);
    finding *a = finding_add(f, "required", good ? WORKS : BROKEN, "%s: %s (%s)", topic,
                             good ? "works" : "does not work", why);
    finding_text(a, "required", topic);
}

/* The words of --require, and what an option or setting names itself: it was asked for, so its
 * absence is no detail. */
static ptxgen_status add_required(findings *f, const cli_settings *set, ptxgen *ctx,
                                  ptxgen_error *err)
{
    for (const char *p = set->require; p && *p;) {
        const size_t n = strcspn(p, ",");
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : 0), p);
        size_t t = 0;
        while (t < TOPICS && strcmp(topics[t], word) != 0)
            t++;
        if (t == TOPICS) {
            const char *near = cli_nearest(word, topics, TOPICS);
            return cli_fail(
                err, PTXGEN_EINVAL,
                "--require knows no '%.*s'%s%s%s; it takes a list of ptxas, "
                "nvptxcompiler, nvjitlink, driver, nvrtc, disassembler, assembler (any), "
                "device, gpu, cache, locks, remote, emit, compile",
                (int)n, p, near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
        }
        require(f, topics[t], "--require");
        p += n + (p[n] == ',');
    }
    ptxgen_setting s;
    for (size_t i = 0; ptxgen_setting_at(ctx, i, &s); i++) {
        if (strcmp(s.origin, "default") == 0 || s.value[0] == '\0' || strcmp(s.value, "auto") == 0)
            continue;
        char *why = cli_format("%s is %s", s.name, s.value);
        if (strcmp(s.name, "assembler") == 0)
            require(f, s.value, why);
        else if (strcmp(s.name, "toolkit") == 0)
            require(f, "assembler", why);
        else if (strcmp(s.name, "device") == 0 && strcmp(s.value, "cuda") == 0)
            require(f, "gpu", why);
        free(why);
    }
    return PTXGEN_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen *ctx;
    findings f = {0};
    if (args->count > 0)
        return cli_usage_error(&args->set, "'%s': doctor takes options only", args->words[0]);
    if (cli_looking_context(&args->set, &ctx, &err) != PTXGEN_OK)
        return cli_report(&args->set, &err);
    look_at_parts(&f, ctx);
    look_at_device(&f, ctx);
    look_at_tuning(&f, ctx);
    findings_look_at_cache(&f, &args->set, ctx);
    findings_look_at_remote(&f, ctx);
    try_compile(&f, &args->set);
    int code;
    if (add_required(&f, &args->set, ctx, &err) == PTXGEN_OK)
        code = findings_print(&args->set, &f, ctx); /* before the context goes: it owns the names */
    else
        code = cli_report(&args->set, &err);
    findings_free(&f);
    ptxgen_destroy(ctx);
    return code;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .usage = "[--require LIST]",
    .summary = "say what is installed, what works, what does not and why",
    .text = "Looks at the CUDA driver and device, the toolkit parts and where they are, and\n"
            "the settings and where each comes from; stores, locks and reads back an entry in\n"
            "the cache folder; writes and assembles one kernel. Leaves nothing behind. A\n"
            "missing part is no fault (exit code 0): its line says what to install. Something\n"
            "broken, or missing though it was asked for (by --require, an option, the\n"
            "environment or a configuration file), is exit code 1.\n",
    .examples = "  ptxgen doctor\n"
                "  ptxgen doctor --require gpu,assembler,cache --json\n",
    .options = "require device assembler toolkit cache-dir json log help",
    .run = run,
};
