/* ptxgen tune: which kernel is the fastest for a problem, by measurement, into the tuning file. */
#include "command/command.h"
#include "command/json.h"
#include "command/options.h"
#include "command/problem.h"
#include "command/progress.h"

#include "ptxgen/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_CANDIDATES = 48, FINALISTS = 6, ROUNDS = 5 };
static const double pass_us = 1500, round_us = 4000; /* of measuring */

typedef struct candidate {
    char *params; /* owned */
    double estimate_us, us;
    ptxgen_kernel *kernel; /* NULL: it cannot be had */
    char *why;             /* owned */
} candidate;

typedef struct job {
    const cli_args *args;
    const char *family;
    ptxgen *ctx;
    cli_problem problem;
    void *memory[PROBLEM_MAX_OPERANDS]; /* owned; of the device */
    candidate *all;                     /* owned */
    size_t count;
    const candidate *best;
} job;

/* ---- the problem ---- */

static ptxgen_status fill(job *j, size_t i, ptxgen_error *err)
{
    const size_t size = cli_problem_bytes(&j->problem, i);
    char *host = malloc(size ? size : 1);
    if (!host)
        return cli_fail(err, PTXGEN_ENOMEM, "no memory for an operand of %zu bytes", size);
    cli_problem_values(&j->problem, i, host);
    ptxgen_status status = ptxgen_device_alloc(j->ctx, size, &j->memory[i], err);
    if (status == PTXGEN_OK)
        status = ptxgen_device_upload(j->ctx, j->memory[i], host, size, err);
    j->problem.tensors[i].data = j->memory[i];
    free(host);
    return status;
}

static ptxgen_status make_operands(job *j, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    for (size_t i = 0; i < j->problem.count && status == PTXGEN_OK; i++)
        if (j->problem.tensors[i].rank)
            status = fill(j, i, err);
    return status;
}

/* ---- candidates ---- */

static bool add_candidate(void *user, const char *params, double estimate_us)
{
    job *j = user;
    j->all[j->count++] =
        (candidate){.params = cli_format("%s", params), .estimate_us = estimate_us};
    return true;
}

static ptxgen_status find_candidates(job *j, ptxgen_error *err)
{
    const int64_t wanted = j->args->set.candidates ? j->args->set.candidates : DEFAULT_CANDIDATES;
    j->all = cli_calloc((size_t)wanted, sizeof *j->all);
    const ptxgen_status status =
        ptxgen_call_candidates(j->ctx, j->family, j->problem.words, j->problem.tensors,
                               j->problem.count, (size_t)wanted, add_candidate, j, err);
    if (status == PTXGEN_OK && !j->count)
        return cli_fail(err, PTXGEN_EUNSUPPORTED,
                        "there is nothing to choose from for such a problem on this device");
    return status;
}

/* All at once in the background, then one after the other. */
static void compile(job *j)
{
    cli_progress bar = cli_progress_begin("compiling", j->count);
    for (size_t i = 0; i < j->count; i++)
        (void)ptxgen_prefetch(j->ctx, j->family, j->all[i].params, NULL);
    for (size_t i = 0; i < j->count; i++) {
        ptxgen_error err = {0};
        candidate *c = &j->all[i];
        cli_progress_step(&bar, c->params);
        if (ptxgen_get(j->ctx, j->family, c->params, NULL, &c->kernel, &err) != PTXGEN_OK)
            c->why = cli_format("%s", err.message);
    }
    cli_progress_end(&bar);
}

/* ---- measuring ---- */

static int repeats(double us, double budget_us)
{
    const double fit = budget_us / us;
    return fit < 1 ? 1 : fit > 200 ? 200 : (int)fit;
}

static void time_one(job *j, candidate *c, double budget_us, double *us)
{
    ptxgen_error err = {0};
    if (!c->kernel)
        return;
    if (ptxgen_call_time(c->kernel, j->problem.tensors, j->problem.count,
                         repeats(c->us > 0 ? c->us : c->estimate_us, budget_us), us,
                         &err) == PTXGEN_OK)
        return;
    c->why = cli_format("%s", err.message);
    ptxgen_kernel_unref(c->kernel);
    c->kernel = NULL;
}

static int by_time(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (!x->kernel != !y->kernel)
        return x->kernel ? -1 : 1;
    return (x->us > y->us) - (x->us < y->us);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All once; then the best in turn, in rounds: medians. */
static void measure(job *j)
{
    double rounds[FINALISTS][ROUNDS];
    cli_progress bar = cli_progress_begin("measuring", j->count + ROUNDS);
    for (size_t i = 0; i < j->count; i++) {
        cli_progress_step(&bar, j->all[i].params);
        time_one(j, &j->all[i], pass_us, &j->all[i].us);
    }
    qsort(j->all, j->count, sizeof *j->all, by_time);
    const size_t finalists = j->count < FINALISTS ? j->count : FINALISTS;
    for (int r = 0; r < ROUNDS; r++) {
        cli_progress_step(&bar, "the best again");
        for (size_t i = 0; i < finalists; i++)
            time_one(j, &j->all[i], round_us, &rounds[i][r]);
    }
    for (size_t i = 0; i < finalists; i++)
        if (j->all[i].kernel) {
            qsort(rounds[i], ROUNDS, sizeof **rounds, by_value);
            j->all[i].us = rounds[i][ROUNDS / 2];
        }
    qsort(j->all, finalists, sizeof *j->all, by_time);
    j->best = j->all[0].kernel ? &j->all[0] : NULL;
    cli_progress_end(&bar);
}

static ptxgen_status tune(job *j, ptxgen_error *err)
{
    ptxgen_status status = make_operands(j, err);
    if (status != PTXGEN_OK)
        return status;
    compile(j);
    measure(j);
    if (!j->best)
        return cli_fail(err, PTXGEN_EUNSUPPORTED, "no candidate runs: %s",
                        j->all[0].why ? j->all[0].why : "?");
    return ptxgen_tuning_keep(j->ctx, j->family, j->problem.words, j->problem.tensors,
                              j->problem.count, j->best->params, j->best->us, err);
}

/* ---- the report ---- */

static void print_json(const job *j, const char *path)
{
    cJSON *root = cJSON_CreateObject(), *list = cJSON_CreateArray();
    cJSON_AddStringToObject(root, "family", j->family);
    cJSON_AddBoolToObject(root, "dry_run", j->args->set.dry_run);
    cJSON_AddStringToObject(root, "tuning_file", path);
    for (size_t i = 0; i < j->count; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "params", j->all[i].params);
        cJSON_AddNumberToObject(o, "estimate_us", j->all[i].estimate_us);
        if (j->all[i].us > 0)
            cJSON_AddNumberToObject(o, "us", j->all[i].us);
        if (j->all[i].why)
            cJSON_AddStringToObject(o, "message", j->all[i].why);
        cJSON_AddItemToArray(list, o);
    }
    cJSON_AddItemToObject(root, "candidates", list);
    if (j->best) {
        cJSON_AddStringToObject(root, "best", j->best->params);
        cJSON_AddNumberToObject(root, "us", j->best->us);
    }
    cli_json_cache(root, j->ctx);
    cli_json_print(root);
}

static void print_text(const job *j, const char *path)
{
    const size_t shown = j->args->set.verbose || j->args->set.dry_run ? j->count
                         : j->count < 5                               ? j->count
                                                                      : 5;
    if (j->args->set.verbose)
        printf("candidates  %zu\n", j->count);
    for (size_t i = 0; i < shown; i++) {
        const candidate *c = &j->all[i];
        if (c->why)
            printf("refused     %s: %s\n", c->params, c->why);
        else if (c->us > 0)
            printf("%8.2f us %s\n", c->us, c->params);
        else
            printf("estimate %8.2f us %s\n", c->estimate_us, c->params);
    }
    if (j->best)
        printf("kept in     %s\n", path);
}

/* The emulator assembles nothing: what says how to would be read by nobody. */
static ptxgen_status refuse_unread(const job *j, ptxgen_error *err)
{
    static const char *const names[] = {"assembler", "toolkit"};
    ptxgen_device_info d = {.size = sizeof d};
    const ptxgen_status status = ptxgen_device_get_info(j->ctx, &d, err);
    for (size_t i = 0; i < 2 && status == PTXGEN_OK && d.kind == PTXGEN_DEVICE_EMULATOR; i++)
        if (cli_option_given(j->args, names[i]))
            return cli_fail(
                err, PTXGEN_EINVAL,
                "--%s would have no effect here: the emulator runs PTX, nothing is assembled",
                names[i]);
    return status;
}

static void free_job(job *j)
{
    for (size_t i = 0; i < j->count; i++) {
        ptxgen_kernel_unref(j->all[i].kernel);
        free(j->all[i].params);
        free(j->all[i].why);
    }
    for (size_t i = 0; i < j->problem.count && j->ctx; i++)
        ptxgen_device_free(j->ctx, j->memory[i]);
    free(j->all);
    cli_problem_free(&j->problem);
    ptxgen_destroy(j->ctx);
}

static int run(const cli_args *args)
{
    ptxgen_error err = {0};
    ptxgen_tuning_info info = {.size = sizeof info};
    size_t family = 0;
    job j = {.args = args};
    if (args->count == 0)
        return cli_usage_error(&args->set,
                               "which problem? `ptxgen tune matmul_accumulate m=M n=N k=K`");
    j.family = args->words[0];
    while (ptxgen_family_name(family) && strcmp(ptxgen_family_name(family), j.family) != 0)
        family++;
    ptxgen_status status =
        ptxgen_family_name(family)
            ? cli_problem_read(&j.problem, family, args->words + 1, args->count - 1, &err)
            : ptxgen_canonical(j.family, "", NULL, 0, &err);
    if (status == PTXGEN_OK)
        status = cli_context(&args->set, &j.ctx, &err);
    if (status == PTXGEN_OK)
        status = refuse_unread(&j, &err);
    if (status == PTXGEN_OK)
        status = ptxgen_tuning_get_info(j.ctx, &info, &err);
    if (status == PTXGEN_OK && info.problem[0] && !args->set.dry_run)
        status = cli_fail(&err, PTXGEN_EPARSE, "%s", info.problem);
    if (status == PTXGEN_OK && !info.path[0] && !args->set.dry_run)
        status = cli_fail(&err, PTXGEN_EIO,
                          "there is no tuning file: name a cache folder with --cache-dir, or set "
                          "PTXGEN_TUNING_FILE");
    if (status == PTXGEN_OK)
        status = find_candidates(&j, &err);
    if (status == PTXGEN_OK && !args->set.dry_run)
        status = tune(&j, &err);
    if (status == PTXGEN_OK)
        (args->set.json ? print_json : print_text)(&j, info.path);
    free_job(&j);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}

/* A dry run measures nothing. */
static const char *reads(const cli_args *args)
{
    return args->set.dry_run ? "candidates device cache-dir dry-run json log" : NULL;
}

const cli_command cli_tune = {
    .name = "tune",
    .usage = "FAMILY m=M n=N k=K [name=value ...]",
    .summary = "measure which kernel is the fastest, and keep it",
    .text = "Times the kernels that could serve a problem on the device, on random data, and\n"
            "keeps the fastest in the tuning file, from which calls that leave the choice\n"
            "open take it: `tuning` in the cache folder, or PTXGEN_TUNING_FILE. An entry\n"
            "holds for the device, driver release, generator and problem (extents, element\n"
            "types, layouts, alignment). Parameters that are named stay as they are.\n"
            "--dry-run lists the candidates with the model's estimate.\n",
    .examples = "  ptxgen tune matmul_accumulate m=4096 n=4096 k=4096\n"
                "  ptxgen tune matmul_accumulate m=16 n=8192 k=8192 b=transposed c=none\n",
    .options = "candidates device dry-run verbose assembler toolkit cache-dir json log help",
    .takes_family = true,
    .reads = reads,
    .run = run,
};
