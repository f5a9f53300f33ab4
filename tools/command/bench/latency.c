/* ptxgen bench latency: from a request to a kernel, by every way there is. */
#include "command/bench/bench.h"
#include "command/output.h"
#include "command/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct row {
    char what[80];
    size_t samples;
    double min_us, median_us;
} row;

enum { MAX_ROWS = 32, SAMPLES = 200, ASSEMBLIES = 5 };

typedef struct bench {
    const cli_args *args;
    char *cache_dir; /* owned; removed at the end */
    row rows[MAX_ROWS];
    size_t count;
} bench;

static const char *const problems[] = {"schedule=seed n=512 dtype=bf16",
                                       "schedule=bulk n=512 dtype=bf16"};

typedef ptxgen_status (*request)(ptxgen *, const char *, const char *, ptxgen_kernel **,
                                 ptxgen_error *);

/* How one line of the table is measured. */
typedef struct plan {
    request ask;
    const char *problem;
    ptxgen_assembler assembler;
    bool clear_memory, clear_disk; /* before each sample */
    size_t samples;
    size_t batch; /* requests in a sample: what is quicker than a clock needs many */
} plan;

static ptxgen_status sample(ptxgen *ctx, const plan *p, double *us, ptxgen_error *err)
{
    ptxgen_kernel *kernel = NULL;
    if (p->clear_memory) {
        ptxgen_status cleared = ptxgen_cache_clear(ctx, p->clear_disk, err);
        if (cleared != PTXGEN_OK)
            return cleared;
    }
    ptxgen_status status = PTXGEN_OK;
    const double start = bench_now();
    for (size_t i = 0; i < p->batch && status == PTXGEN_OK; i++) {
        status = p->ask(ctx, "scatter_add", p->problem, &kernel, err);
        ptxgen_kernel_unref(kernel);
    }
    *us = (bench_now() - start) * 1e6 / (double)p->batch;
    return status;
}

static ptxgen_status measure(bench *b, const plan *p, const char *what, ptxgen_error *err)
{
    double samples[SAMPLES], warm;
    ptxgen *ctx;
    cli_settings set = b->args->set;
    set.cache_dir = b->cache_dir;
    set.assembler = p->assembler;
    ptxgen_status status = cli_context(&set, &ctx, err);
    if (status != PTXGEN_OK)
        return status;
    status = sample(ctx, p, &warm, err);
    for (size_t i = 0; i < p->samples && status == PTXGEN_OK; i++)
        status = sample(ctx, p, &samples[i], err);
    ptxgen_destroy(ctx);
    if (status != PTXGEN_OK || b->count == MAX_ROWS)
        return status;
    row *r = &b->rows[b->count++];
    snprintf(r->what, sizeof r->what, "%s", what);
    r->samples = p->samples;
    r->median_us = bench_median(samples, p->samples);
    r->min_us = samples[0]; /* sorted by then */
    return PTXGEN_OK;
}

/* Assembling with everything that is found here; what is not there has no line. */
static ptxgen_status measure_assemblers(bench *b, const char *problem, ptxgen_error *err)
{
    static const char *const names[] = {NULL, "ptxas", "nvptxcompiler", "nvjitlink", "driver"};
    ptxgen_status status = PTXGEN_OK;
    for (int a = PTXGEN_ASSEMBLER_PTXAS; a <= PTXGEN_ASSEMBLER_DRIVER && status == PTXGEN_OK; a++) {
        const plan p = {ptxgen_compile, problem, (ptxgen_assembler)a, true, true, ASSEMBLIES, 1};
        char *what = cli_format("assemble by %s, %s", names[a], problem);
        status = measure(b, &p, what, err);
        if (status == PTXGEN_EMISSING)
            status = PTXGEN_OK;
        free(what);
    }
    return status;
}

static ptxgen_status measure_all(bench *b, ptxgen_error *err)
{
    ptxgen_status status = PTXGEN_OK;
    const size_t count = sizeof problems / sizeof *problems;
    cli_progress bar = cli_progress_begin("measuring", 4 * count);
    for (size_t i = 0; i < count && status == PTXGEN_OK; i++) {
        const char *problem = problems[i];
        const plan emit = {ptxgen_emit, problem, PTXGEN_ASSEMBLER_AUTO, true, false, SAMPLES, 1};
        const plan memory = {ptxgen_compile, problem, PTXGEN_ASSEMBLER_AUTO, false, false,
                             SAMPLES,        1000};
        const plan disk = {ptxgen_compile, problem, PTXGEN_ASSEMBLER_AUTO, true, false, SAMPLES, 1};
        const struct {
            const plan *how;
            const char *what;
        } lines[] = {{&emit, "emit"}, {&memory, "memory hit"}, {&disk, "disk hit"}};
        for (size_t l = 0; l < 3 && status == PTXGEN_OK; l++) {
            char *what = cli_format("%s, %s", lines[l].what, problem);
            status = measure(b, lines[l].how, what, err);
            if (status == PTXGEN_EMISSING) /* no assembler here */
                status = PTXGEN_OK;
            free(what);
            cli_progress_step(&bar, problem);
        }
        if (status == PTXGEN_OK)
            status = measure_assemblers(b, problem, err);
        cli_progress_step(&bar, problem);
    }
    cli_progress_end(&bar);
    return status;
}

static void print_json(const bench *b)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < b->count; i++) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "what", b->rows[i].what);
        cli_json_integer(o, "samples", (int64_t)b->rows[i].samples);
        cJSON_AddNumberToObject(o, "min_us", b->rows[i].min_us);
        cJSON_AddNumberToObject(o, "median_us", b->rows[i].median_us);
        cJSON_AddItemToArray(list, o);
    }
    cli_json_print(list);
}

static ptxgen_status print_rows(const bench *b, ptxgen_error *err)
{
    if (b->args->set.json)
        print_json(b);
    else
        printf("%-60s %8s %12s %12s\n", "what", "samples", "min us", "median us");
    for (size_t i = 0; i < b->count && !b->args->set.json; i++)
        printf("%-60s %8zu %12.2f %12.2f\n", b->rows[i].what, b->rows[i].samples, b->rows[i].min_us,
               b->rows[i].median_us);
    if (!b->args->set.output)
        return PTXGEN_OK;
    cli_output to;
    ptxgen_status status = cli_output_open(&to, b->args->set.output, false, err);
    if (status != PTXGEN_OK)
        return status;
    fputs("what,samples,min_us,median_us\n", to.file);
    for (size_t i = 0; i < b->count; i++)
        fprintf(to.file, "\"%s\",%zu,%.3f,%.3f\n", b->rows[i].what, b->rows[i].samples,
                b->rows[i].min_us, b->rows[i].median_us);
    return cli_output_commit(&to, err);
}

/* A folder that only we use, so that nobody's cache is cleared or warmed. */
static ptxgen_status make_cache_dir(bench *b, ptxgen_error *err)
{
    const char *where = getenv("TMPDIR");
    b->cache_dir = cli_format("%s/ptxgen-bench.XXXXXX", where && where[0] ? where : "/tmp");
    if (mkdtemp(b->cache_dir))
        return PTXGEN_OK;
    ptxgen_status status =
        cli_fail(err, PTXGEN_EIO, "cannot make a folder %s: %s", b->cache_dir, strerror(errno));
    free(b->cache_dir);
    b->cache_dir = NULL;
    return status;
}

int cli_bench_latency(const cli_args *args)
{
    ptxgen_error err = {0};
    bench b = {.args = args};
    if (args->count > 1)
        return cli_usage_error(&args->set, "'%s': `ptxgen bench latency` takes options only",
                               args->words[1]);
    ptxgen_status status = make_cache_dir(&b, &err);
    if (status == PTXGEN_OK)
        status = measure_all(&b, &err);
    if (status == PTXGEN_OK)
        status = print_rows(&b, &err);
    if (b.cache_dir)
        cli_remove_folder(b.cache_dir);
    free(b.cache_dir);
    return status == PTXGEN_OK ? CLI_OK : cli_report(&args->set, &err);
}
