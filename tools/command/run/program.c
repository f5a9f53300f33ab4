/* ptxgen emulate: an unmodified CUDA program on the emulator. The program runs as a child
 * process with the stand-in for CUDA's runtime and driver (folder stand_in/) preloaded; what is
 * found comes back in a file of JSON lines. */
#include "command/command.h"
#include "command/output.h"
#include "command/run/program_found.h"
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
    struct sigaction interrupt; /* what SIGINT did before us */
    program_found found;        /* over all runs */
    int exit_code;              /* of the program: the first that is not 0 */
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
    setenv("PTXGEN_EMULATE_ORDER", p->found.seeded ? "isa" : "hw", 1);
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

/* What the emulator would refuse in each launch is refused before the program starts. */
static ptxgen_status check_clock(const cli_settings *set, ptxgen_error *err)
{
    const ptxgen_emulator_config config = {.size = sizeof config, .clock = set->time};
    ptxgen_emulator *emu = NULL;
    const ptxgen_status status = ptxgen_emulator_create(&config, &emu, err);
    ptxgen_emulator_destroy(emu);
    return status;
}

/* What the program is told to run on: with --time the GPU whose time it is. */
static int choose_arch(run_plan *p, const cli_settings *set)
{
    const char *arch = set->arch ? set->arch : set->time;
    if (arch && !(p->arch = parse_arch(arch)))
        return cli_usage_error(set, "--arch is '%s'; write one architecture, like sm_90 or sm_100",
                               arch);
    if (set->time && p->arch != parse_arch(set->time))
        return cli_usage_error(set, "--arch %s with --time %s: the time would be another GPU's",
                               set->arch, set->time);
    return CLI_OK;
}

/* Fills the plan; an exit code, CLI_OK to go on. */
static int make_plan(run_plan *p, const cli_args *args)
{
    const cli_settings *set = &args->set;
    *p = (run_plan){.args = args, .report = "/tmp/ptxgen-emulate-XXXXXX"};
    if (set->time && (set->check_races || set->seeds || set->order == PTXGEN_EMULATOR_ORDER_ISA))
        return cli_usage_error(set, "--time is of one run in the hardware's order: leave "
                                    "--check-races, --seeds and --order isa out");
    if (args->count == 0)
        return cli_usage_error(set, "which program? ptxgen emulate [options] -- PROGRAM ARGUMENTS");
    ptxgen_error err = {0};
    if (check_clock(set, &err) != PTXGEN_OK ||
        run_parse_seeds(set->seeds, &p->seeds, &err) != PTXGEN_OK)
        return cli_report(set, &err);
    const int code = choose_arch(p, set);
    if (code != CLI_OK)
        return code;
    p->found.seeded = set->seeds || set->order == PTXGEN_EMULATOR_ORDER_ISA;
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
    const uint64_t runs = p->seeds.to - p->seeds.from + 1;
    if (p->args->set.json) {
        cJSON *json = cJSON_CreateObject();
        program_found_json(&p->found, json);
        cli_json_integer(json, "runs", (int64_t)runs);
        cli_json_integer(json, "exit_code", p->exit_code);
        cli_json_write(json, stderr);
    } else if (p->args->set.check_races) {
        program_found_text(&p->found, p->args->words[0], runs, stderr);
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
    if (args->set.json)
        p.found.reports = cJSON_CreateArray();
    for (uint64_t seed = p.seeds.from; seed <= p.seeds.to; seed++) {
        const int one = run_program(&p, seed);
        program_found_take(&p.found, p.report, seed);
        if (one && !p.exit_code)
            p.exit_code = one < 0 ? CLI_SYSTEM : one;
    }
    conclude(&p);
    const int verdict = args->set.check_races ? program_found_exit(&p.found) : CLI_OK;
    program_found_free(&p.found);
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
            "1 if that is 0 and --check-races found a defect or a kernel stopped.\n"
            "--time says how long each launch takes by the clock; only a sample of its\n"
            "CTAs runs then, so results are wrong and the program may say so.\n",
    .examples = "  ptxgen emulate -- ./vectorAdd\n"
                "  ptxgen emulate --check-races -- ./a.out --size 128\n"
                "  ptxgen emulate --check-races --seeds 1..20 -- ./a.out\n"
                "  ptxgen emulate --time sm_90 -- ./gemm --m=4096\n"
                "  ptxgen emulate --arch sm_100 --sms 8 -- python3 tune.py\n",
    .options = "arch check-races order seeds budget threads sms memory fast time json verbose",
    .run = run_emulate,
};
