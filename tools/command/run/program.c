/* ptxgen emulate: an unmodified CUDA program on the emulator. The program runs as a child
 * process with the stand-in for CUDA's runtime and driver (folder stand_in/) preloaded; what is
 * found comes back in a file of JSON lines. */
#include "command/command.h"
#include "command/json.h"
#include "command/output.h"
#include "command/run/findings.h"
#include "command/run/watch.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIBRARY_NAME_ROOM = 64 };
static const char library_name[] = "libptxgen_cuda.so";

/* The folder with the stand-in: beside the installed library, or in the build tree. */
static bool find_stand_in(char *out, size_t size)
{
    static const char *const places[] = {"../" PTXGEN_LIBRARY_FOLDER "/ptxgen/stand_in",
                                         "../stand_in"};
    char self[PATH_MAX - LIBRARY_NAME_ROOM], path[PATH_MAX + LIBRARY_NAME_ROOM];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return false;
    self[n] = 0;
    char *slash = strrchr(self, '/');
    *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        char *folder = realpath(path, NULL);
        bool found = false;
        if (folder) {
            snprintf(path, sizeof path, "%s/%s", folder, library_name);
            found = access(path, R_OK) == 0 && strlen(folder) < size;
            if (found)
                strcpy(out, folder);
            free(folder);
        }
        if (found)
            return true;
    }
    return false;
}

/* "sm_90", "sm_100a", "90": the number; 0: none. */
static unsigned parse_arch(const char *text)
{
    const char *digits = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    char *end;
    const unsigned long v = strtoul(digits, &end, 10);
    if (*end == 'a' || *end == 'f')
        end++;
    return end != digits && !*end && v >= 50 && v < 1000 ? (unsigned)v : 0;
}

/* name=`before`:old, or name=`before`. */
static void prepend(const char *name, const char *before)
{
    const char *old = getenv(name);
    char *value = old && *old ? cli_format("%s:%s", before, old) : cli_format("%s", before);
    setenv(name, value, 1);
    free(value);
}

static void set_number(const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    setenv(name, text, 1);
}

/* 0: not given, so the stand-in's default. */
static void set_given(const char *name, int64_t value)
{
    if (value)
        set_number(name, value);
}

static void set_flag(const char *name, bool value)
{
    if (value)
        setenv(name, "1", 1);
}

typedef struct run_plan {
    const cli_args *args;
    char folder[PATH_MAX];
    char report[64]; /* file of JSON lines */
    unsigned arch;   /* 0: the stand-in's default */
    run_seeds seeds;
    bool isa;
    struct sigaction interrupt; /* what SIGINT did before us */
    cJSON *json;
    run_findings *kernels; /* owned, of a kernel each, over all runs */
    size_t kernel_count;
    int exit_code; /* of the program: the first that is not 0 */
} run_plan;

/* In the child: environment, then the program. Returns only if it cannot be started. */
static void become_program(const run_plan *p, uint64_t seed)
{
    const cli_settings *set = &p->args->set;
    sigaction(SIGINT, &p->interrupt, NULL);
    char *library = cli_format("%s/%s", p->folder, library_name);
    prepend("LD_PRELOAD", library);
    prepend("LD_LIBRARY_PATH", p->folder);
    free(library);
    set_given("PTXGEN_EMULATE_SM", p->arch);
    set_given("PTXGEN_EMULATE_SM_COUNT", set->sms);
    set_given("PTXGEN_EMULATE_MEMORY", set->memory * 1024 * 1024);
    set_given("PTXGEN_EMULATE_THREADS", set->threads);
    set_given("PTXGEN_EMULATE_BUDGET", set->budget);
    set_number("PTXGEN_EMULATE_SEED", (int64_t)seed);
    set_flag("PTXGEN_EMULATE_CHECK", set->check_races);
    set_flag("PTXGEN_EMULATE_VERBOSE", set->verbose);
    set_flag("PTXGEN_EMULATE_FAST", set->fast);
    set_flag("PTXGEN_EMULATE_SILENT_REPORTS", true); /* said merged, at the end */
    setenv("PTXGEN_EMULATE_ORDER", p->isa ? "isa" : "hw", 1);
    setenv("PTXGEN_EMULATE_REPORT", p->report, 1);
    if (set->time)
        setenv("PTXGEN_EMULATE_CLOCK", set->time, 1);
    char **words = cli_calloc(p->args->count + 1, sizeof *words);
    memcpy(words, p->args->words, p->args->count * sizeof *words);
    execvp(words[0], words);
    const int reason = errno;
    cli_say("%s cannot be started: %s", words[0], strerror(reason));
    _exit(reason == ENOENT ? 127 : 126);
}

/* A shell's way: the program's code, or 128 and the signal. */
static int exit_code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_program(run_plan *p, uint64_t seed)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        become_program(p, seed);
    int status = 0;
    if (child < 0)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    if (WIFSIGNALED(status))
        cli_say("%s was ended by signal %d (%s)", p->args->words[0], WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    return exit_code_of(status);
}

static run_findings *findings_of(run_plan *p, const char *kernel)
{
    for (size_t i = 0; i < p->kernel_count; i++)
        if (strcmp(p->kernels[i].entry, kernel) == 0)
            return &p->kernels[i];
    run_findings *more = cli_calloc(p->kernel_count + 1, sizeof *more);
    if (p->kernel_count)
        memcpy(more, p->kernels, p->kernel_count * sizeof *more);
    free(p->kernels);
    p->kernels = more;
    run_findings *f = &more[p->kernel_count++];
    f->entry = cli_format("%s", kernel);
    f->file = cli_format("ptxgen emulate: %s", kernel);
    f->at = ": PTX line ";
    f->seeded = p->isa;
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

/* What stand_in/report.c wrote; the strings are those of `o`. False: no report, but how many more
 * there were. */
static bool take_report(run_plan *p, const cJSON *o, uint64_t seed)
{
    run_findings *of_kernel = findings_of(p, text_of(o, "kernel"));
    const cJSON *left_out = cJSON_GetObjectItem(o, "left_out");
    if (left_out) {
        of_kernel->left_out += (uint64_t)left_out->valuedouble;
        return false;
    }
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
    return true;
}

static void take_reports(run_plan *p, uint64_t seed)
{
    FILE *file = fopen(p->report, "r");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        cJSON *o = cJSON_Parse(line);
        const bool is_report = o && take_report(p, o, seed);
        if (p->json && is_report) {
            cli_json_integer(o, "seed", (int64_t)seed);
            cJSON_AddItemToArray(cJSON_GetObjectItem(p->json, "reports"), o);
        } else {
            cJSON_Delete(o);
        }
    }
    free(line);
    if (file)
        fclose(file);
    unlink(p->report);
}

static size_t found(const run_plan *p, ptxgen_emulator_report_class c)
{
    size_t n = 0;
    for (size_t i = 0; i < p->kernel_count; i++)
        n += run_findings_of(&p->kernels[i], c);
    return n;
}

static void free_kernels(run_plan *p)
{
    for (size_t i = 0; i < p->kernel_count; i++) {
        free((void *)p->kernels[i].entry);
        free((void *)p->kernels[i].file);
        run_findings_free(&p->kernels[i]);
    }
    free(p->kernels);
}

/* What the emulator would refuse in each launch is refused before the program starts. */
static ptxgen_status check_clock(const cli_settings *set, ptxgen_error *err)
{
    const ptxgen_emulator_config config = {.size = sizeof config, .clock = set->time};
    ptxgen_emulator *emu = NULL;
    const ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    ptxgen_emulator_destroy(emu);
    return status;
}

/* Fills the plan; an exit code, CLI_OK to go on. */
static int make_plan(run_plan *p, const cli_args *args)
{
    const cli_settings *set = &args->set;
    *p = (run_plan){.args = args, .report = "/tmp/ptxgen-emulate-XXXXXX"};
    if (set->time && set->check_races)
        return cli_usage_error(set, "--time with --check-races: one of them watches a run");
    if (args->count == 0)
        return cli_usage_error(set, "which program? ptxgen emulate [options] -- PROGRAM ARGUMENTS");
    if (set->arch && !(p->arch = parse_arch(set->arch)))
        return cli_usage_error(set, "--arch is '%s'; write one architecture, like sm_90 or sm_100",
                               set->arch);
    ptxgen_error err = {0};
    if (check_clock(set, &err) != PTXGEN_OK ||
        run_parse_seeds(set->seeds, &p->seeds, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    p->isa = set->seeds || set->order == PTXGEN_EMULATOR_ORDER_ISA;
    if (!find_stand_in(p->folder, sizeof p->folder)) {
        cli_say("%s is not installed beside this command: build or install the whole package",
                library_name);
        return CLI_SYSTEM;
    }
    const int fd = mkstemp(p->report);
    if (fd < 0) {
        cli_say("no temporary file in /tmp: %s", strerror(errno));
        return CLI_SYSTEM;
    }
    close(fd);
    return CLI_OK;
}

static void conclude(run_plan *p)
{
    if (p->json) {
        cli_json_integer(p->json, "runs", (int64_t)(p->seeds.to - p->seeds.from + 1));
        cli_json_integer(p->json, "exit_code", p->exit_code);
        uint64_t left_out = 0;
        for (size_t i = 0; i < p->kernel_count; i++)
            left_out += p->kernels[i].left_out;
        cli_json_integer(p->json, "left_out", (int64_t)left_out);
        cli_json_write(p->json, stderr);
    } else if (p->args->set.check_races) {
        for (size_t i = 0; i < p->kernel_count; i++)
            run_findings_text(&p->kernels[i], stderr);
        cli_say("%s: %s, %s on ptxas or the hardware, %s of advice in %s", p->args->words[0],
                cli_count(found(p, PTXGEN_EMULATOR_UNDEFINED), "defect", "defects"),
                cli_count(found(p, PTXGEN_EMULATOR_RELIANCE), "reliance", "reliances"),
                cli_count(found(p, PTXGEN_EMULATOR_ADVICE), "piece", "pieces"),
                cli_count(p->seeds.to - p->seeds.from + 1, "run", "runs"));
    }
}

static int run_emulate(const cli_args *args)
{
    run_plan p;
    const int code = make_plan(&p, args);
    if (code != CLI_OK)
        return code;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &ignore, &p.interrupt); /* the program decides; we end when it does */
    if (args->set.json) {
        p.json = cJSON_CreateObject();
        cJSON_AddItemToObject(p.json, "reports", cJSON_CreateArray());
    }
    for (uint64_t seed = p.seeds.from; seed <= p.seeds.to; seed++) {
        const int one = run_program(&p, seed);
        take_reports(&p, seed);
        if (one && !p.exit_code)
            p.exit_code = one < 0 ? CLI_SYSTEM : one;
    }
    conclude(&p);
    const int verdict = found(&p, PTXGEN_EMULATOR_UNDEFINED)  ? CLI_NO
                        : found(&p, PTXGEN_EMULATOR_RELIANCE) ? CLI_RELIES
                                                              : CLI_OK;
    free_kernels(&p);
    return p.exit_code ? p.exit_code : verdict;
}

const cli_command cli_emulate = {
    .name = "emulate",
    .usage = "[options] -- PROGRAM [ARGUMENTS ...]",
    .summary = "run a CUDA program without a GPU, race-checked on request",
    .text = "Runs an unmodified program that nvcc built (CUDA 13; the runtime shared or\n"
            "static, the driver API, NVRTC) on the emulator. Its kernels must be there as\n"
            "PTX: nvcc -arch=sm_90 embeds it. What the stand-in for the runtime lacks is\n"
            "refused by name. Output is the program's own; words of the emulator, and the\n"
            "object of --json at the end, go to standard error. Exit code: the program's;\n"
            "1 if that is 0 and --check-races found a defect. --time says how long each\n"
            "launch takes by the clock; only a sample of its CTAs runs then, so results\n"
            "are wrong and the program may say so.\n",
    .examples = "  ptxgen emulate -- ./vectorAdd\n"
                "  ptxgen emulate --check-races -- ./a.out --size 128\n"
                "  ptxgen emulate --check-races --seeds 1..20 -- ./a.out\n"
                "  ptxgen emulate --time sm_90 -- ./gemm --m=4096\n"
                "  ptxgen emulate --arch sm_100 --sms 8 -- python3 tune.py\n",
    .options = "arch check-races order seeds budget threads sms memory fast time json verbose",
    .run = run_emulate,
};
