/* ptxgen run FILE.ptx: any PTX on the emulator, once or once for each of a range of seeds. */
#include "command/file.h"
#include "command/json.h"
#include "command/output.h"
#include "command/run/expect.h"
#include "command/progress.h"
#include "command/run/findings.h"
#include "command/run/ptx_args.h"
#include "command/run/run.h"
#include "command/run/profile.h"
#include "command/run/time.h"
#include "command/run/trace.h"
#include "command/run/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const cli_args *args;
    const char *path;
    const char *name;             /* of the PTX in messages */
    FILE *to;                     /* where reports go */
    char *text;                   /* owned */
    run_seeds seeds;              /* order=isa */
    run_trace *trace;             /* NULL: none */
    const run_listener *listener; /* NULL: nobody */
    ptxgen_emulator_launch launch;
    ptx_args arguments;
    run_findings findings;
    char *deadlock;  /* the emulator's whole account of one, owned; NULL if there was none */
    cJSON *json;     /* NULL without --json */
    bool warned;     /* what the parser warns of has been said */
    bool unexpected; /* the result is not what --expect names */
} job;

/* An emulator with the program in it; a seed is fixed when it is created, so each run has its
 * own. */
typedef struct machine {
    ptxgen_emulator *emu;
    ptxgen_emulator_module *module;
    ptxgen_emulator_entry *entry;
} machine;

/* ---- options --------------------------------------------------------------------------------- */

/* "8", "8,4" or "8,4,2"; zero where nothing is said. */
static ptxgen_status parse_extent(const char *option, const char *text, uint32_t *out,
                                  ptxgen_error *err)
{
    const char *p = text;
    for (int d = 0; text && d < 3; d++) {
        char *end;
        const unsigned long v = strtoul(p, &end, 10);
        if (end == p || *p < '0' || *p > '9' || v == 0 || v > INT32_MAX)
            break;
        out[d] = (uint32_t)v;
        if (*end == '\0')
            return PTXGEN_OK;
        if (*end != ',')
            break;
        p = end + 1;
    }
    return text ? cli_fail(err, PTXGEN_EINVAL,
                           "--%s is '%s'; write one to three positive numbers, like 8 or 8,4,1",
                           option, text)
                : PTXGEN_OK;
}

/* The kernel's printf is passed on, and once what the parser warns of. A deadlock is said once, at
 * the end, and a defect by findings.c. */
static void log_line(void *user, ptxgen_log_level level, const char *line)
{
    job *j = user;
    if (level == PTXGEN_LOG_ERROR) {
        free(j->deadlock);
        j->deadlock = cli_format("%s", line);
    } else if (level == PTXGEN_LOG_INFO || (!j->warned && strstr(line, ": warning: "))) {
        fprintf(stderr, "%s\n", line);
    }
}

static void trace_event(void *user, const ptxgen_emulator_event *e)
{
    const job *j = user;
    if (j->trace)
        run_trace_event(j->trace, e);
    if (j->listener)
        j->listener->event(j->listener->user, e);
}

/* "scale, mirror"; cut when it is longer than text. */
static void list_entries(const ptxgen_emulator_module *module, char *text, size_t size)
{
    const char *name;
    size_t used = 0;
    for (size_t i = 0; (name = ptxgen_emulator_entry_name(module, i)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
}

/* The entry that --entry names, or the only one. */
static ptxgen_status find_entry(const job *j, machine *m, ptxgen_error *err)
{
    const char *wanted = j->args->set.entry, *name;
    char list[400] = "";
    size_t count = 0;
    bool there = false;
    for (; (name = ptxgen_emulator_entry_name(m->module, count)); count++)
        there |= wanted && strcmp(name, wanted) == 0;
    if (count == 0)
        return cli_fail(err, PTXGEN_EINVAL,
                        "%s has no kernel (.entry with a body), so there is nothing to run",
                        j->name);
    if (wanted ? there : count == 1)
        return ptxgen_emulator_find(m->module, wanted, &m->entry, err);
    list_entries(m->module, list, sizeof list);
    if (wanted)
        return cli_fail(err, PTXGEN_EINVAL, "%s has no kernel named %s; it has %s", j->name, wanted,
                        list);
    return cli_fail(err, PTXGEN_EINVAL, "%s has %zu kernels: %s; choose one with --entry NAME",
                    j->name, count, list);
}

/* Warp instructions of a launch: a minute or more of emulation. A program in an endless loop
 * then ends. */
#define DEFAULT_BUDGET UINT64_C(10000000000)

static ptxgen_status build_machine(job *j, uint64_t seed, machine *m, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    const ptxgen_emulator_config config = {
        .size = sizeof config,
        .order = set->seeds ? PTXGEN_EMULATOR_ORDER_ISA : (ptxgen_emulator_order)set->order,
        .seed = seed,
        .check = set->check_races,
        .profile = !set->check_races && !set->time &&
                   (set->stats || set->report || set->trace || j->listener),
        .clock = set->time,
        .trace = (j->trace || j->listener) && seed == j->seeds.to ? trace_event : NULL,
        .instruction_budget = set->budget ? (uint64_t)set->budget : DEFAULT_BUDGET,
        .log = log_line,
        .user = j,
        .log_level = PTXGEN_LOG_INFO};
    *m = (machine){0};
    ptxgen_status status = ptxgen_emulator_create(&config, &m->emu, err);
    if (status == PTXGEN_OK)
        status = ptxgen_emulator_load(m->emu, j->text, strlen(j->text), j->name, &m->module, err);
    j->warned = true;
    if (status == PTXGEN_OK)
        status = find_entry(j, m, err);
    /* Past a limit of the parser the PTX is refused; nothing has run. */
    if (status == PTXGEN_EBUDGET)
        status = err->status = PTXGEN_EPARSE;
    return status;
}

static void free_machine(machine *m)
{
    ptxgen_emulator_unload(m->module);
    ptxgen_emulator_destroy(m->emu);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Replaces `from` in a message by `to`, which is no longer. */
static void reword(char *message, const char *from, const char *to)
{
    char *at = strstr(message, from);
    if (!at)
        return;
    const size_t n = strlen(from), m = strlen(to);
    memcpy(at, to, m);
    memmove(at + m, at + n, strlen(at + n) + 1);
}

/* The library's words for its caller's means become the command's for its user's. */
static void speak_of_the_command(const job *j, uint64_t seed, ptxgen_error *err)
{
    const size_t n = strlen(err->message);
    const bool ran = err->status == PTXGEN_EEMULATOR || err->status == PTXGEN_EBUDGET;
    if (ran && j->findings.seeded)
        snprintf(err->message + n, sizeof err->message - n, " (order=isa, seed %llu)",
                 (unsigned long long)seed);
    reword(err->message, " (config.instruction_budget)", "; --budget N allows more");
    reword(err->message, "launch.dynamic_shared", "--shared");
    reword(err->message, " (config.memory_budget)", "");
}

/* --stats and --report, of the last run. */
static ptxgen_status tell_counts(job *j, const machine *m, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    const run_profile p = {.emu = m->emu, .module = m->module, .name = j->name, .ptx = j->text};
    if (set->time)
        run_print_times(m->emu, j->json, j->to);
    if (set->stats)
        run_print_stats(m->emu, j->json, j->to);
    if (set->stats)
        run_print_lines(&p, j->json, j->to);
    return set->report ? run_write_report(&p, set->report, err) : PTXGEN_OK;
}

static ptxgen_status run_seed(job *j, uint64_t seed, ptxgen_error *err)
{
    machine m;
    const cli_settings *set = &j->args->set;
    ptxgen_status status = build_machine(j, seed, &m, err);
    if (status == PTXGEN_OK && seed == j->seeds.from)
        status = ptx_args_parse(m.entry, set->arg, set->arg_count, &j->arguments, err);
    if (status == PTXGEN_OK)
        status = ptx_args_attach(&j->arguments, m.emu, err);
    if (status == PTXGEN_OK) {
        j->launch.args = j->arguments.pointers;
        j->launch.arg_count = j->arguments.count;
        status = ptxgen_emulator_run(m.entry, &j->launch, err);
        run_findings_collect(&j->findings, m.emu, seed);
        if (seed == j->seeds.to && status == PTXGEN_OK)
            status = tell_counts(j, &m, err);
    }
    free_machine(&m);
    if (status != PTXGEN_OK)
        speak_of_the_command(j, seed, err);
    return status;
}

static ptxgen_status run_all_seeds(job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    cli_progress bar = cli_progress_begin("running", (size_t)(j->seeds.to - j->seeds.from + 1));
    for (uint64_t seed = j->seeds.from; seed <= j->seeds.to && status == PTXGEN_OK; seed++) {
        cli_progress_clear(&bar);
        status = run_seed(j, seed, err);
        cli_progress_step(&bar, NULL);
    }
    cli_progress_end(&bar);
    return status;
}

/* -o writes the buffer of argument --result, or the first buffer; --expect compares it. */
static ptxgen_status write_result(job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    const ptx_args *a = &j->arguments;
    if (!set->output && !set->expect)
        return PTXGEN_OK;
    size_t which = set->result > 0 ? (size_t)set->result - 1 : 0;
    while (set->result == 0 && which < a->count && !a->all[which].buffer.data)
        which++;
    if (which >= a->count || !a->all[which].buffer.data)
        return cli_fail(err, PTXGEN_EINVAL, "%s a buffer, and %s",
                        set->output ? "-o writes" : "--expect compares",
                        set->result > 0 ? "the parameter of --result is none" : "no --arg is one");
    if (set->expect) {
        bool same;
        const ptxgen_status status = run_expect(set->expect, &a->all[which].buffer, &same, err);
        if (status != PTXGEN_OK)
            return status;
        j->unexpected = !same;
    }
    if (!set->output)
        return PTXGEN_OK;
    cli_output to;
    ptxgen_status status = cli_output_open(&to, set->output, true, err);
    if (status != PTXGEN_OK)
        return status;
    npy_write(&a->all[which].buffer, to.file);
    return cli_output_commit(&to, err);
}

static ptxgen_status prepare_findings(job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    j->findings.file = j->name;
    j->findings.entry = set->entry;
    j->findings.seeded = set->seeds || set->order == PTXGEN_EMULATOR_ORDER_ISA;
    return run_findings_filter(&j->findings, set, err);
}

static ptxgen_status prepare(job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    if (set->result > 0 && !set->output && !set->expect)
        return cli_fail(err, PTXGEN_EINVAL,
                        "--result says which buffer -o writes, and -o is not given");
    j->launch.size = sizeof j->launch;
    j->launch.dynamic_shared = (size_t)set->shared;
    j->launch.cooperative = set->cooperative;
    ptxgen_status status = parse_extent("grid", set->grid, j->launch.grid, err);
    if (status == PTXGEN_OK)
        status = parse_extent("block", set->block, j->launch.block, err);
    if (status == PTXGEN_OK)
        status = parse_extent("cluster", set->cluster, j->launch.cluster, err);
    if (status == PTXGEN_OK)
        status = run_parse_seeds(set->seeds, &j->seeds, err);
    if (status == PTXGEN_OK)
        status = prepare_findings(j, err);
    return status == PTXGEN_OK ? cli_read_text(j->path, &j->text, err) : status;
}

/* The findings and the last line, or the JSON object. */
static void conclude(job *j, const ptxgen_error *err)
{
    const uint64_t runs = j->seeds.to - j->seeds.from + 1;
    if (j->json) {
        run_findings_json(&j->findings, j->json);
        cli_json_integer(j->json, "runs", (int64_t)runs);
        cJSON_AddStringToObject(
            j->json, "order",
            j->args->set.order == PTXGEN_EMULATOR_ORDER_ISA || j->args->set.seeds ? "isa" : "hw");
        if (err)
            cJSON_AddItemToObject(j->json, "error", cli_error_json(err));
        cli_json_write(j->json, j->to);
    } else {
        run_findings_text(&j->findings, j->to);
        if (!err && j->args->set.check_races)
            run_findings_summary(&j->findings, runs, j->to);
    }
    /* The log's account is longer than an error can hold. */
    const char *seed = err ? strstr(err->message, " (order=isa, seed ") : NULL;
    const size_t said = err ? seed ? (size_t)(seed - err->message) : strlen(err->message) : 0;
    if (err && j->deadlock && strncmp(j->deadlock, err->message, said) == 0)
        cli_say("%s:%d: %s%s", j->name, err->line, j->deadlock, seed ? seed : "");
    else if (err)
        cli_say_error(err);
}

int cli_run_ptx(const cli_args *args, const run_listener *listener)
{
    ptxgen_error err = {0};
    cli_settings *set = (cli_settings *)&args->set;
    const char *path = args->words[0];
    job j = {.args = args,
             .path = path,
             .name = strcmp(path, "-") == 0 ? "<stdin>" : path,
             .listener = listener,
             .to = cli_report_file(set)};
    if (args->count > 1)
        return cli_usage_error(set, "'%s': arguments of a kernel are written --arg VALUE",
                               args->words[1]);
    ptxgen_status status = prepare(&j, &err);
    if (set->json)
        j.json = cJSON_CreateObject();
    if (status == PTXGEN_OK)
        status = run_trace_open(set->trace, &j.trace, &err);
    if (status == PTXGEN_OK)
        status = run_all_seeds(&j, &err);
    ptxgen_error untraced = {0};
    if (run_trace_close(j.trace, true, &untraced) != PTXGEN_OK && status == PTXGEN_OK) {
        status = untraced.status;
        err = untraced;
    }
    if (status == PTXGEN_OK)
        status = write_result(&j, &err);
    ptxgen_error unwritten = {0};
    const ptxgen_status written = run_findings_write_sarif(&j.findings, set, &unwritten);
    if (status == PTXGEN_OK && written != PTXGEN_OK) {
        status = written;
        err = unwritten;
    }
    conclude(&j, status == PTXGEN_OK ? NULL : &err);
    const int found = run_findings_exit(&j.findings);
    run_findings_free(&j.findings);
    ptx_args_free(&j.arguments);
    free(j.deadlock);
    free(j.text);
    if (status != PTXGEN_OK)
        return cli_exit_for(status);
    return found == CLI_OK && j.unexpected ? CLI_NO : found;
}
