/* ptxgen bench: finds out what is to be measured. */
#include "command/bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, ascending);
    return samples[count / 2];
}

static const struct {
    const char *name;
    int (*run)(const cli_args *);
    const char *reads; /* options */
} benches[] = {
    {"latency", cli_bench_latency, "output toolkit json log"},
    {"scatter_add", cli_bench_scatter_add, "output repeat seed device toolkit json log"},
};
enum { BENCH_COUNT = sizeof benches / sizeof *benches };

static const char *reads(const cli_args *args)
{
    for (size_t i = 0; args->count > 0 && i < BENCH_COUNT; i++)
        if (strcmp(benches[i].name, args->words[0]) == 0)
            return benches[i].reads;
    return NULL;
}

static int run(const cli_args *args)
{
    const char *known[BENCH_COUNT];
    if (args->count == 0)
        return cli_usage_error(
            &args->set, "measure what? `ptxgen bench latency` or `ptxgen bench scatter_add`");
    for (size_t i = 0; i < BENCH_COUNT; i++) {
        if (strcmp(benches[i].name, args->words[0]) == 0)
            return benches[i].run(args);
        known[i] = benches[i].name;
    }
    const char *near = cli_nearest(args->words[0], known, BENCH_COUNT);
    return cli_usage_error(&args->set, "no bench is named '%s'%s%s%s", args->words[0],
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const cli_command cli_bench = {
    .name = "bench",
    .usage = "latency | scatter_add [rows=N out_rows=N n=N dtype=...]",
    .summary = "measure how long things take here",
    .text = "latency: from a request to PTX, to a cubin by each assembler found, and to\n"
            "a cached kernel (memory, disk); uses a cache folder of its own.\n"
            "scatter_add: every schedule on the device in one run, schedule=seed being\n"
            "the baseline; without a shape, a list of shapes. Times are of the wall\n"
            "clock, launches queued together, medians over --repeat rounds.\n"
            "-o writes the table as CSV too.\n",
    .examples = "  ptxgen bench latency\n"
                "  ptxgen bench scatter_add -o scatter_add.csv\n"
                "  ptxgen bench scatter_add rows=1048576 out_rows=262144 n=128 dtype=bf16\n",
    .options = "output repeat seed device toolkit json log help",
    .reads = reads,
    .run = run,
};
