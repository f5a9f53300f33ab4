/* Runs the instruction tests (tests/emulator/cases, ptx_case.h) on a real GPU and compares bit
 * for bit with what their files expect: the emulator is held to the same files, so it is right
 * where the GPU agrees. Skipped without a device of compute capability 9.0.
 *
 *     test_gpu_instructions [--record DIR] [FILE.ptx ...]
 *
 * --record writes each file whose outputs differ into DIR, with the GPU's outputs as the
 * expected ones (review the difference, then correct the model in tests/emulator/generate). A
 * kernel that faults or never ends takes its CUDA context with it, so the cases run in a child
 * process; the next one goes on behind the case that killed it. */
#include "ptx_case.h"
#include "runtime_kernels.h"

#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, MOST_CASES = 4096, SECONDS_OF_A_CASE = 10, SHOWN_WORDS = 6 };

typedef enum outcome { NOT_RUN, EQUAL, DIFFERENT, FAILED, SKIPPED } outcome;

typedef struct job {
    const char *path, *name;
    ptx_case c;
    pg_assembly assembly;
    char skip[800]; /* why it is not run; "": it is */
    bool bad;       /* cannot be read or assembled */
} job;

/* What the process that runs cases tells its parent; in memory that both see. */
typedef struct progress {
    atomic_size_t at;  /* the case that runs now */
    atomic_uint steps; /* grows with every case */
    atomic_int outcomes[MOST_CASES];
} progress;

static job jobs[MOST_CASES];
static size_t job_count;
static progress *shared;
static const char *record;

/* ---- assembling, by all cores ---- */

static pg_toolkit *toolkit;
static ptxgen_assembler assembler;
static atomic_size_t next_to_assemble;

static ptxgen_arch target_of(const ptx_case *c)
{
    ptxgen_arch arch = 0;
    char name[16] = "";
    const char *line = strstr(c->text, "\n.target ");
    if (line && sscanf(line, " .target %15[a-z0-9_]", name) == 1)
        ptxgen_arch_parse(name, &arch, NULL);
    return arch;
}

static void prepare(job *j)
{
    ptxgen_error err = {0};
    assembly_init(&j->assembly);
    j->bad = !ptx_case_read(j->path, &j->c);
    if (j->bad) {
        snprintf(j->skip, sizeof j->skip, "%s", j->c.error);
        return;
    }
    const pg_assembly_request r = {
        .ptx = j->c.text, .ptx_size = j->c.length, .arch = target_of(&j->c), .whole_program = true};
    if (j->c.emulator_only) {
        snprintf(j->skip, sizeof j->skip, "for the emulator alone");
    } else if (pg_toolkit_assemble(toolkit, assembler, &r, &j->assembly, &err) != PTXGEN_OK) {
        j->bad = true;
        snprintf(j->skip, sizeof j->skip, "%s", err.message);
    }
}

static void *prepare_some(void *unused)
{
    (void)unused;
    for (size_t i; (i = atomic_fetch_add(&next_to_assemble, 1)) < job_count;)
        prepare(&jobs[i]);
    return NULL;
}

static void prepare_all(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, prepare_some, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- running, in a child process ---- */

static void print_differences(const job *j)
{
    for (size_t i = 0; i < j->c.param_count; i++) {
        const ptx_case_param *p = &j->c.params[i];
        size_t different = 0;
        for (size_t at = 0; p->expected && at < p->size; at += p->word) {
            uint64_t got = 0, expected = 0;
            memcpy(&got, p->bytes + at, p->word);
            memcpy(&expected, p->expected + at, p->word);
            if (got == expected || different++ >= SHOWN_WORDS)
                continue;
            const int digits = (int)(2 * p->word);
            printf("%-40s %s[%zu] expected %0*llx, got %0*llx\n", j->name, p->name, at / p->word,
                   digits, (unsigned long long)expected, digits, (unsigned long long)got);
        }
        if (different)
            printf("%-40s %s: %zu of %zu words differ\n", j->name, p->name, different,
                   p->size / p->word);
    }
}

static outcome run_case(const struct pg_driver *driver, job *j)
{
    char message[600], path[700];
    if (!ptx_case_launch(&j->c, driver, j->assembly.cubin.data, message, sizeof message)) {
        printf("%-40s failed: %s\n", j->name, message);
        return FAILED;
    }
    if (ptx_case_check(&j->c, message, sizeof message))
        return EQUAL;
    print_differences(j);
    if (record) {
        snprintf(path, sizeof path, "%s/%s", record, j->name);
        if (!ptx_case_write(&j->c, path))
            printf("cannot write %s\n", path);
    }
    return DIFFERENT;
}

/* Runs the cases from `first` on; leaves at the first failure, which may have cost it the
 * context. */
static int run_from(size_t first)
{
    char message[600];
    const struct pg_driver *driver = ptx_case_open_gpu(message, sizeof message);
    if (!driver) {
        printf("skipped: %s\n", message);
        return TEST_SKIPPED;
    }
    for (size_t i = first; i < job_count; i++) {
        if (jobs[i].skip[0])
            continue;
        shared->at = i;
        shared->steps++;
        const outcome o = run_case(driver, &jobs[i]);
        fflush(stdout);
        shared->outcomes[i] = (int)o;
        if (o == FAILED)
            return 1;
    }
    return 0;
}

/* Waits for the child, and kills it when a case does not end. Its exit status; -1: it had to be
 * killed or died. */
static int wait_for(pid_t child)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    unsigned seen = shared->steps;
    time_t since = time(NULL);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (seen != shared->steps)
            seen = shared->steps, since = time(NULL);
        if (time(NULL) - since > SECONDS_OF_A_CASE)
            kill(child, SIGKILL);
        nanosleep(&pause, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_in_child(size_t first)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const int status = run_from(first);
        fflush(stdout);
        _exit(status);
    }
    return wait_for(child);
}

static void run_all(void)
{
    for (size_t first = 0; first < job_count; first = shared->at + 1) {
        shared->at = first;
        const int status = run_in_child(first);
        if (status == 0)
            return;
        if (status < 0) {
            printf("%-40s failed: the process died or did not end\n", jobs[shared->at].name);
            shared->outcomes[shared->at] = FAILED;
        }
    }
}

/* ---- the whole ---- */

static void add_files(int argc, char **argv)
{
    glob_t files = {0};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--record") && i + 1 < argc)
            record = argv[++i];
        else
            glob(argv[i], files.gl_pathc ? GLOB_APPEND : 0, NULL, &files);
    }
    if (!files.gl_pathc)
        glob(PTXGEN_SOURCE_DIR "/tests/emulator/cases/*.ptx", 0, NULL, &files);
    for (; job_count < files.gl_pathc && job_count < MOST_CASES; job_count++) {
        job *j = &jobs[job_count];
        j->path = files.gl_pathv[job_count]; /* for the life of the process */
        j->name = strrchr(j->path, '/') ? strrchr(j->path, '/') + 1 : j->path;
    }
}

static int summarize(void)
{
    size_t count[SKIPPED + 1] = {0};
    for (size_t i = 0; i < job_count; i++) {
        const job *j = &jobs[i];
        if (j->bad)
            printf("%-40s failed: %s\n", j->name, j->skip);
        count[j->bad ? FAILED : j->skip[0] ? SKIPPED : (outcome)shared->outcomes[i]]++;
    }
    printf("%zu cases equal, %zu differ, %zu failed, %zu not run, %zu skipped (for the emulator "
           "alone)\n",
           count[EQUAL], count[DIFFERENT], count[FAILED], count[NOT_RUN], count[SKIPPED]);
    return count[EQUAL] == 0 || count[DIFFERENT] + count[FAILED] + count[NOT_RUN] > 0;
}

int main(int argc, char **argv)
{
    const char *identity;
    ptxgen_error err = {0};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    toolkit = open_toolkit(PTXGEN_ASSEMBLER_PTXAS);
    if (!toolkit || pg_toolkit_choose(toolkit, (pg_assembly_need){.whole_program = true},
                                      &assembler, &identity, &err) != PTXGEN_OK)
        return TEST_SKIPPED;
    if (run_in_child(job_count) == TEST_SKIPPED) /* runs nothing, but finds the device */
        return TEST_SKIPPED;
    add_files(argc, argv);
    prepare_all();
    printf("%zu cases assembled by %s\n", job_count, identity);
    run_all();
    const int failed = summarize();
    pg_toolkit_destroy(toolkit);
    return failed;
}
