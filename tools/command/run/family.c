/* The run itself: files, kernel, launch or emulation, check, report. */
#include "command/run/family.h"

#include "command/function.h"
#include "command/options.h"
#include "command/output.h"
#include "command/run/emulate.h"
#include "command/run/profile.h"
#include "command/run/time.h"
#include "command/run/trace.h"
#include "command/run/scaled.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

run_adapter run_adapter_of(const char *family)
{
    return strcmp(family, "matmul_scaled") == 0 ? run_adapt_scaled : NULL;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void find_operands(run_job *j)
{
    for (; j->count < RUN_MAX_OPERANDS; j->count++) {
        j->operands[j->count].info.size = sizeof j->operands->info;
        if (!ptxgen_family_operand(j->place, j->count, &j->operands[j->count].info))
            return;
    }
}

/* A refusal on a GPU says that there is another way, one of a shape that a matrix may be given
 * transposed. */
static ptxgen_status explain(const run_job *j, ptxgen_status status, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    ptxgen_error ignored;
    const char *name = NULL;
    bool matrix = false; /* the message begins with such a matrix */
    for (size_t i = 0; i < j->count; i++) {
        const run_operand *o = &j->operands[i];
        if (!o->info.transposable || !o->path)
            continue;
        const size_t n = strlen(o->info.name);
        name = o->info.name;
        matrix = matrix || (strncmp(err->message, name, n) == 0 && err->message[n] == ' ');
    }
    if (status == PTXGEN_EINVAL && matrix && strstr(err->message, "must be equal"))
        return cli_fail(err, status, "%s (a file that holds %s transposed is named %st=)",
                        err->message, name, name);
    if (status != PTXGEN_EUNSUPPORTED ||
        ptxgen_device_get_info(j->ctx, &d, &ignored) != PTXGEN_OK || d.kind != PTXGEN_DEVICE_CUDA)
        return status;
    return cli_fail(err, status,
                    "%s (%s is %s; the emulator runs every architecture: --device emulator)",
                    err->message, d.name, ptxgen_arch_name(d.arch));
}

/* The kernel that the call takes, or none when there is nothing to do. */
static ptxgen_status find_kernel(run_job *j, ptxgen_error *err)
{
    ptxgen_tensor tensors[RUN_MAX_OPERANDS];
    run_host_tensors(j, false, tensors);
    ptxgen_status status =
        ptxgen_call_work(j->family, j->words, tensors, j->count, &j->flop, &j->bytes, err);
    if (status != PTXGEN_OK)
        return explain(j, status, err);
    status = run_place_operands(j, err); /* how rows are padded decides the kernel too */
    if (status != PTXGEN_OK || j->operands[j->result].array.header.count == 0)
        return status;
    run_device_tensors(j, tensors);
    status = ptxgen_call_params(j->ctx, j->family, j->words, tensors, j->count, j->params,
                                sizeof j->params, err);
    return status == PTXGEN_OK ? status : explain(j, status, err);
}

static bool has_index(const run_job *j)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->operands[i].present && j->operands[i].info.role == PTXGEN_ROLE_INDEX &&
            j->operands[i].array.header.count == 0)
            return false;
    return true;
}

static ptxgen_status get_kernel(run_job *j, ptxgen_error *err)
{
    if (!j->params[0] || !has_index(j))
        return PTXGEN_OK;
    const ptxgen_status status =
        j->emulates || j->args->set.print_launch
            ? ptxgen_emit(j->ctx, j->family, j->params, &j->kernel, err)
            : ptxgen_get(j->ctx, j->family, j->params, NULL, &j->kernel, err);
    return status == PTXGEN_OK ? status : explain(j, status, err);
}

static bool is_hopper(const char *arch)
{
    return strncmp(arch, "sm_90", 5) == 0;
}

static ptxgen_status prepare(run_job *j, ptxgen_error *err)
{
    cli_settings set = j->args->set;
    if (j->emulates && set.device == PTXGEN_DEVICE_CUDA)
        return cli_fail(err, PTXGEN_EINVAL,
                        "--check-races, --stats and --seeds are the emulator's: leave --device "
                        "cuda out");
    if (j->emulates)
        set.device = PTXGEN_DEVICE_EMULATOR;
    set.sms = set.time ? is_hopper(set.time) ? 132 : 148 : set.sms;
    ptxgen_status status = run_findings_filter(&j->found, &set, err);
    if (status == PTXGEN_OK)
        status = run_parse_seeds(set.seeds, &j->seeds, err);
    if (status == PTXGEN_OK)
        status = run_take_files(j, err);
    if (status == PTXGEN_OK && set.time && !run_word(j, "arch"))
        run_add_word(j, "arch", is_hopper(set.time) ? "sm_90a" : "sm_100a");
    if (status == PTXGEN_OK && run_word(j, "stall"))
        status = cli_fail(err, PTXGEN_EINVAL,
                          "stall= has no use here: the command waits for its kernel; leave it out");
    if (status == PTXGEN_OK)
        status = run_check_indices(j, err);
    if (status == PTXGEN_OK)
        status = cli_context(&set, &j->ctx, err);
    if (status == PTXGEN_OK)
        status = cli_functions(j->ctx, &j->words, err);
    if (status == PTXGEN_OK)
        status = find_kernel(j, err);
    if (status == PTXGEN_OK)
        status = get_kernel(j, err);
    return status == PTXGEN_OK && j->emulates ? run_place_workspace(j, err) : status;
}

/* ---- running --------------------------------------------------------------------------------- */

static ptxgen_status launch(run_job *j, ptxgen_error *err)
{
    ptxgen_tensor tensors[RUN_MAX_OPERANDS];
    run_device_tensors(j, tensors);
    return ptxgen_call_kernel(j->kernel, tensors, j->count, NULL, err);
}

static void trace_event(void *user, const ptxgen_emulator_event *e)
{
    run_trace_event(user, e);
}

typedef struct counting {
    const run_job *job;
    const ptxgen_emulator *emu;
} counting;

/* --stats and --report. */
static ptxgen_status tell_counts(void *user, const ptxgen_emulator_module *module,
                                 ptxgen_error *err)
{
    const counting *c = user;
    const cli_settings *set = &c->job->args->set;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_kernel_describe(c->job->kernel, &info);
    const run_profile p = {c->emu, module, info.entry, info.ptx, c->job->kernel};
    if (set->time)
        run_print_times(c->emu, c->job->json, cli_report_file(set));
    if (set->stats)
        run_print_stats(c->emu, c->job->json, cli_report_file(set));
    if (set->stats)
        run_print_lines(&p, c->job->json, cli_report_file(set));
    return set->report ? run_write_report(&p, set->report, err) : PTXGEN_OK;
}

static ptxgen_status emulate_seed(run_job *j, uint64_t seed, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    const ptxgen_emulator_config config = {
        .size = sizeof config,
        .order = set->seeds ? PTXGEN_EMULATOR_ORDER_ISA : PTXGEN_EMULATOR_ORDER_HW,
        .seed = seed,
        .check = set->check_races,
        .profile = !set->check_races && !set->time && (set->stats || set->report || set->trace),
        .clock = set->time,
        .trace = j->trace && seed == j->seeds.to ? trace_event : NULL,
        .user = j->trace};
    ptxgen_tensor tensors[RUN_MAX_OPERANDS];
    ptxgen_emulator *emu;
    run_bad_index bad;
    run_reset_operands(j);
    run_device_tensors(j, tensors);
    counting count = {.job = j};
    run_emulation e = {j->ctx, j->place, j->kernel, tensors, j->count, &bad, NULL, &count};
    if (seed == j->seeds.to && (set->stats || set->report || set->time))
        e.seen = tell_counts;
    ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    if (status != PTXGEN_OK)
        return status;
    count.emu = emu;
    status = run_emulate(emu, &e, err);
    run_findings_collect(&j->found, emu, seed);
    ptxgen_emulator_destroy(emu);
    return status;
}

/* Every seed is checked; the first wrong one ends it. */
static ptxgen_status emulate(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (uint64_t s = j->seeds.from;
         s <= j->seeds.to && status == PTXGEN_OK && j->verdict.wrong == 0; s++) {
        run_drop_outputs(j);
        status = j->kernel ? emulate_seed(j, s, err) : PTXGEN_OK;
        if (status == PTXGEN_OK)
            status = run_fetch_results(j, err);
        if (status == PTXGEN_OK)
            status = run_check(j, err);
    }
    return status;
}

static ptxgen_status run_on_device(run_job *j, ptxgen_error *err)
{
    ptxgen_status status = j->kernel ? launch(j, err) : PTXGEN_OK;
    if (status == PTXGEN_OK && j->kernel)
        status = ptxgen_synchronize(j->ctx, NULL, err);
    if (status == PTXGEN_OK && j->kernel)
        status = ptxgen_check_indices(j->ctx, NULL, err);
    if (status == PTXGEN_OK)
        status = run_fetch_results(j, err);
    return status == PTXGEN_OK ? run_check(j, err) : status;
}

/* --repeat: the launches are queued together and waited for once, so host and device overlap as
 * they do in a program; a first round is not counted. */
static ptxgen_status measure(run_job *j, ptxgen_error *err)
{
    struct timespec start = {0}, end;
    const int64_t repeat = j->args->set.repeat;
    ptxgen_status status = PTXGEN_OK;
    for (int64_t i = -1 - repeat / 10; i < repeat && status == PTXGEN_OK; i++) {
        if (i == 0) {
            status = ptxgen_synchronize(j->ctx, NULL, err);
            clock_gettime(CLOCK_MONOTONIC, &start);
        }
        if (status == PTXGEN_OK)
            status = launch(j, err);
    }
    if (status == PTXGEN_OK)
        status = ptxgen_synchronize(j->ctx, NULL, err);
    clock_gettime(CLOCK_MONOTONIC, &end);
    const double seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    j->mean_us = seconds * 1e6 / (double)repeat;
    return status;
}

static ptxgen_status write_array(const npy_array *array, const char *path, ptxgen_error *err)
{
    cli_output to;
    const ptxgen_status status = cli_output_open(&to, path, true, err);
    if (status != PTXGEN_OK)
        return status;
    npy_write(array, to.file);
    return cli_output_commit(&to, err);
}

static ptxgen_status write_results(const run_job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    ptxgen_status status = PTXGEN_OK;
    if (!set->output && !set->check && !set->json && set->repeat <= 0 && !j->emulates)
        cli_say("the result is not kept: -o FILE.npy writes it, --check compares it");
    if (j->verdict.wrong || run_findings_exit(&j->found) == CLI_NO)
        return PTXGEN_OK;
    for (size_t i = 0; i < j->count && status == PTXGEN_OK; i++) {
        const char *path = i == j->result ? set->output : j->operands[i].to;
        if (path && run_has_result(&j->operands[i]))
            status = write_array(&j->operands[i].output, path, err);
    }
    return status;
}

/* The emulator assembles nothing: what says how to would be read by nobody. A toolkit also
 * serves a function in CUDA C++. */
static ptxgen_status refuse_unread(const run_job *j, ptxgen_error *err)
{
    ptxgen_device_info d = {.size = sizeof d};
    const ptxgen_status status = ptxgen_device_get_info(j->ctx, &d, err);
    if (status != PTXGEN_OK)
        return status;
    bool has_function = false;
    for (size_t i = 0; i < j->args->count; i++)
        has_function |= strstr(j->args->words[i], "=@") != NULL;
    const char *unread = cli_option_given(j->args, "assembler")                  ? "assembler"
                         : cli_option_given(j->args, "toolkit") && !has_function ? "toolkit"
                                                                                 : NULL;
    if (d.kind != PTXGEN_DEVICE_EMULATOR || !unread)
        return PTXGEN_OK;
    return cli_fail(err, PTXGEN_EINVAL,
                    "--%s would have no effect here: the emulator runs PTX, nothing is assembled",
                    unread);
}

static ptxgen_status run_all(run_job *j, ptxgen_error *err)
{
    const cli_settings *set = &j->args->set;
    ptxgen_status status = prepare(j, err);
    if (status == PTXGEN_OK && set->print_launch)
        return run_print_launches(j, err);
    j->found.seeded = set->seeds != NULL;
    if (status == PTXGEN_OK && !j->emulates)
        status = refuse_unread(j, err);
    if (status == PTXGEN_OK)
        status = run_trace_open(set->trace, &j->trace, err);
    if (status == PTXGEN_OK)
        status = j->emulates ? emulate(j, err) : run_on_device(j, err);
    ptxgen_error untraced = {0};
    if (run_trace_close(j->trace, true, &untraced) != PTXGEN_OK && status == PTXGEN_OK) {
        status = untraced.status;
        *err = untraced;
    }
    if (status == PTXGEN_OK && set->repeat > 0 && j->kernel)
        status = measure(j, err);
    if (status == PTXGEN_OK)
        status = run_findings_write_sarif(&j->found, set, err);
    if (status == PTXGEN_OK)
        status = write_results(j, err);
    return status == PTXGEN_OK ? run_report(j, err) : status;
}

int cli_run_family(const cli_args *args, size_t family)
{
    ptxgen_error err = {0};
    const cli_settings *set = &args->set;
    run_job j = {.args = args,
                 .family = ptxgen_family_name(family),
                 .place = family,
                 .emulates = set->check_races || set->stats || set->seeds || set->report ||
                             set->trace || set->time};
    j.found = (run_findings){.file = j.family, .entry = j.family};
    j.json = set->json && j.emulates ? cJSON_CreateObject() : NULL;
    find_operands(&j);
    const ptxgen_status status = run_all(&j, &err);
    const int code = j.verdict.wrong > 0 ? CLI_NO : run_findings_exit(&j.found);
    cJSON_Delete(j.json);
    run_findings_free(&j.found);
    run_free_operands(&j);
    ptxgen_kernel_unref(j.kernel);
    ptxgen_destroy(j.ctx);
    free(j.words);
    if (status != PTXGEN_OK)
        return cli_report(set, &err);
    return code;
}
