/* D = A @ B + C, or A @ B, on a GPU (A, B f16, bf16, e4m3 or f32 as tf32; C, D f32) against
 * cuBLASLt through its own API, in one run.
 *
 *     bench_matmul_cublaslt [--plan FILE] [--random COUNT] [--seed S] [--max EXTENT]
 *                           [--multiple M] [--rounds R] [--algorithms COUNT] [--all]
 *                           [--budget MS] [--type f16|bf16|e4m3|tf32] [--csv FILE]
 *                           [SHAPE...]
 *
 * A SHAPE is MxNxK, MxNxKt with B stored transposed, MxNxKz without C (beta = 0), MxNxKtz, or
 * BATCH:MxNxK, a strided batch (then a call for each matrix is timed too, "loop"). --random adds
 * COUNT shapes, M, N and K log-uniform from 16 to --max (16384), multiples of --multiple (8),
 * layouts in turn. A line of a plan is SHAPE[; PARAMS]...: parameters of kernels to try beside the
 * automatic choice.
 *
 * cuBLASLt: 256 MiB of workspace, every algorithm that its heuristic returns, or the first COUNT.
 * All candidates are timed once; then its first heuristic, its best three, our automatic choice
 * and our best three in rounds, each in a random order; medians. With --all every candidate takes
 * part in the rounds.
 * A measurement is a graph of calls on the same random data between two events. cuBLASLt's D is
 * compared with sums in double on some elements, and ours with cuBLASLt's on all. */
#include "bench_matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CANDIDATES = 256, FINALISTS = 3, MAX_ROUNDS = 31 };

typedef struct options {
    const char *plan, *csv;
    int random, rounds, max, multiple, algorithms;
    bool all;
    uint64_t seed;
    double budget_ms;
    bench_type type;
} options;

/* One way to compute D. */
typedef struct candidate {
    char params[240]; /* ours; "" is the automatic choice */
    int algorithm;    /* of cuBLASLt, or -1 */
    double us, rounds[MAX_ROUNDS];
    bool final, wrong;
} candidate;

typedef struct contest {
    bench_problem problem;
    candidate all[MAX_CANDIDATES];
    int count;
    int first_ours; /* candidates before it are cuBLASLt's */
} contest;

static FILE *csv;

static void enqueue(const contest *c, const candidate *k)
{
    if (k->algorithm >= 0)
        bench_enqueue_cublaslt(&c->problem, k->algorithm);
    else
        bench_enqueue_ours(&c->problem, k->params[0] ? k->params : NULL);
}

typedef struct bound_call {
    const contest *contest;
    const candidate *candidate;
} bound_call;

static void enqueue_bound(void *user)
{
    const bound_call *b = user;
    enqueue(b->contest, b->candidate);
}

static double measure(const contest *c, const candidate *k, double budget_ms)
{
    bound_call b = {c, k};
    return bench_microseconds(enqueue_bound, &b, budget_ms);
}

static bool is_ours(const candidate *k)
{
    return k->algorithm < 0;
}

/* Our candidates that cannot be had for this problem are left out; one that is wrong is kept and
 * shown. */
static void add_ours(contest *c, const char *params)
{
    char why[800];
    candidate k = {.algorithm = -1};
    snprintf(k.params, sizeof k.params, "%s", params);
    if (c->count == MAX_CANDIDATES)
        return;
    if (!bench_prepare_ours(&c->problem, params[0] ? params : NULL, why, sizeof why)) {
        printf("# %s: %s\n", params, why);
        return;
    }
    c->all[c->count++] = k;
}

static void first_pass(contest *c, const options *o)
{
    for (int i = 0; i < c->count; i++) {
        candidate *k = &c->all[i];
        if (is_ours(k))
            k->wrong = !bench_is_right(&c->problem, k->params[0] ? k->params : NULL);
        k->final = o->all;
        k->us = o->all ? 0 : measure(c, k, o->budget_ms / 2);
    }
}

/* The best FINALISTS of [from, to), and the first one. */
static void choose_finalists(contest *c, int from, int to)
{
    if (from < to)
        c->all[from].final = true;
    for (int n = 0; n < FINALISTS; n++) {
        candidate *best = NULL;
        for (int i = from; i < to; i++) {
            candidate *k = &c->all[i];
            if (!k->final && !k->wrong && (!best || k->us < best->us))
                best = k;
        }
        if (best)
            best->final = true;
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* Who runs behind whom matters where power limits, by up to 9%: each round has its own order. */
static void shuffle(int *order, int count, uint64_t *state)
{
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)(uniform(state) * (i + 1)), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
}

static void final_rounds(contest *c, const options *o)
{
    uint64_t state = o->seed;
    int order[MAX_CANDIDATES];
    for (int r = 0; r < o->rounds; r++) {
        shuffle(order, c->count, &state);
        for (int i = 0; i < c->count; i++) {
            candidate *k = &c->all[order[i]];
            if (k->final)
                k->rounds[r] = measure(c, k, o->budget_ms);
        }
    }
    for (int i = 0; i < c->count; i++) {
        candidate *k = &c->all[i];
        if (!k->final || !o->rounds)
            continue;
        qsort(k->rounds, (size_t)o->rounds, sizeof(double), by_value);
        k->us = k->rounds[o->rounds / 2];
    }
}

static const candidate *best_of(const contest *c, int from, int to)
{
    const candidate *best = NULL;
    for (int i = from; i < to; i++)
        if (c->all[i].final && !c->all[i].wrong && (!best || c->all[i].us < best->us))
            best = &c->all[i];
    return best;
}

static double log_sum[2];
static int shapes_done, wrong_results, below;

static void report(const contest *c)
{
    const bench_problem *p = &c->problem;
    const candidate *first = &c->all[0], *best = best_of(c, 0, c->first_ours),
                    *automatic = &c->all[c->first_ours];
    const candidate *ours = best_of(c, c->first_ours, c->count);
    const double flop = 2e-6 * (double)p->batch * (double)p->m * (double)p->n * (double)p->k;
    int wrong = 0;
    for (int i = c->first_ours; i < c->count; i++) {
        wrong += c->all[i].wrong;
        if (c->all[i].wrong)
            printf("# WRONG: %s\n", c->all[i].params[0] ? c->all[i].params : "auto");
    }
    printf(
        "%6lld %6lld %6lld %s%s %8.2f us %7.1f %7.1f | auto %7.1f %6.3f %6.3f | best %7.1f %6.3f  "
        "%-50s %4u MHz %s\n",
        (long long)p->m, (long long)p->n, (long long)p->k, p->transposed ? "t" : "r",
        p->no_c ? "z" : " ", best->us, flop / first->us, flop / best->us, flop / automatic->us,
        first->us / automatic->us, best->us / automatic->us, ours ? flop / ours->us : 0.0,
        ours ? best->us / ours->us : 0.0, ours && ours->params[0] ? ours->params : "auto",
        bench_clock_mhz(), wrong ? "WRONG" : "");
    fflush(stdout);
    if (p->batch > 1)
        printf("# that was %lld matrices; a call for each: %.2f us, %.2f of the time of one call\n",
               (long long)p->batch, c->all[c->first_ours + 1].us,
               c->all[c->first_ours + 1].us / automatic->us);
    char names[400];
    bench_kernel_names(enqueue_bound, &(bound_call){c, best}, names, sizeof names);
    printf("# cuBLASLt: %s\n", names);
    shapes_done++;
    wrong_results += wrong;
    below += best->us / automatic->us < 0.95;
    log_sum[0] += log(first->us / automatic->us);
    log_sum[1] += log(best->us / automatic->us);
    for (int i = 0; csv && i < c->count; i++)
        fprintf(csv, "%lld,%lld,%lld,%lld,%d,%d,%s,%d,%.3f,%s\n", (long long)p->batch,
                (long long)p->m, (long long)p->n, (long long)p->k, p->transposed, p->no_c,
                is_ours(&c->all[i]) ? "ours" : "cublaslt", c->all[i].final, c->all[i].us,
                c->all[i].wrong       ? "WRONG"
                : is_ours(&c->all[i]) ? c->all[i].params
                                      : "");
    if (csv)
        fflush(csv);
}

/* `rest`: "; PARAMS" as often as wanted; changed. */
static void run_shape(const options *o, bench_shape shape, char *rest)
{
    static contest c;
    memset(&c, 0, sizeof c);
    if (!bench_make(&c.problem, shape, o->type))
        return;
    const int algorithms = bench_find_algorithms(&c.problem, o->algorithms);
    for (int i = 0; i < algorithms; i++)
        c.all[c.count++] = (candidate){.algorithm = i};
    c.first_ours = c.count;
    add_ours(&c, "");
    if (shape.batch > 1)
        add_ours(&c, BENCH_LOOP);
    for (char *params = rest ? strtok(rest, ";\n") : NULL; params; params = strtok(NULL, ";\n"))
        add_ours(&c, params + strspn(params, " "));
    if (!algorithms || c.count == c.first_ours)
        printf("# %lld x %lld x %lld: nothing to compare\n", (long long)shape.m, (long long)shape.n,
               (long long)shape.k);
    else {
        first_pass(&c, o);
        choose_finalists(&c, 0, c.first_ours);
        choose_finalists(&c, c.first_ours, c.count);
        final_rounds(&c, o);
        report(&c);
    }
    bench_free(&c.problem);
}

static bool parse_shape(const char *text, bench_shape *out)
{
    long long m, n, k, batch = 1;
    char letters[3] = "";
    const char *colon = strchr(text, ':');
    if (colon && sscanf(text, "%lld:", &batch) != 1)
        return false;
    if (sscanf(colon ? colon + 1 : text, "%lldx%lldx%lld%2[tz]", &m, &n, &k, letters) < 3)
        return false;
    *out =
        (bench_shape){m, n, k, strchr(letters, 't') != NULL, batch, strchr(letters, 'z') != NULL};
    return batch > 0 && m > 0 && n > 0 && k > 0;
}

static void run_plan(const options *o)
{
    static char line[1 << 16];
    FILE *f = fopen(o->plan, "r");
    if (!f) {
        fprintf(stderr, "%s cannot be read\n", o->plan);
        exit(2);
    }
    while (fgets(line, sizeof line, f)) {
        bench_shape shape;
        char *rest = strchr(line, ';');
        if (parse_shape(line, &shape))
            run_shape(o, shape, rest ? rest + 1 : NULL);
    }
    fclose(f);
}

static int64_t log_uniform(const options *o, uint64_t *state)
{
    const double low = log(16), high = log(o->max);
    const int64_t v = (int64_t)exp(low + uniform(state) * (high - low));
    const int64_t rounded = (v + o->multiple / 2) / o->multiple * o->multiple;
    return rounded > 0 ? rounded : o->multiple;
}

static void run_random(const options *o)
{
    uint64_t state = o->seed * 0x9E3779B97F4A7C15u + 1;
    uniform(&state);
    for (int i = 0; i < o->random; i++) {
        bench_shape s = {.transposed = i % 2};
        s.m = log_uniform(o, &state);
        s.n = log_uniform(o, &state);
        s.k = log_uniform(o, &state);
        run_shape(o, s, NULL);
    }
}

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) {
        fprintf(stderr, "%s needs a value\n", argv[*i]);
        exit(2);
    }
    return argv[++*i];
}

static bench_type type_of(const char *word)
{
    static const char *const words[] = {"f16", "bf16", "e4m3", "tf32"};
    for (int t = 0; t < BENCH_TYPES; t++)
        if (!strcmp(word, words[t]))
            return (bench_type)t;
    fprintf(stderr, "--type f16, bf16, e4m3 or tf32\n");
    exit(2);
}

static void parse(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--plan"))
            o->plan = value_of(argc, argv, &i);
        else if (!strcmp(a, "--csv"))
            o->csv = value_of(argc, argv, &i);
        else if (!strcmp(a, "--random"))
            o->random = atoi(value_of(argc, argv, &i));
        else if (!strcmp(a, "--seed"))
            o->seed = (uint64_t)atoll(value_of(argc, argv, &i));
        else if (!strcmp(a, "--max"))
            o->max = atoi(value_of(argc, argv, &i));
        else if (!strcmp(a, "--algorithms"))
            o->algorithms = atoi(value_of(argc, argv, &i));
        else if (!strcmp(a, "--all"))
            o->all = true;
        else if (!strcmp(a, "--multiple"))
            o->multiple = atoi(value_of(argc, argv, &i));
        else if (!strcmp(a, "--rounds"))
            o->rounds = atoi(value_of(argc, argv, &i));
        else if (!strcmp(a, "--budget"))
            o->budget_ms = atof(value_of(argc, argv, &i));
        else if (!strcmp(a, "--type"))
            o->type = type_of(value_of(argc, argv, &i));
        else if (!strncmp(a, "--", 2)) {
            fprintf(stderr, "%s is no option; see the head of bench_matmul_cublaslt.c\n", a);
            exit(2);
        }
    }
    if (o->rounds < 1 || o->rounds > MAX_ROUNDS || o->multiple < 1 || o->max < 16) {
        fprintf(stderr, "--rounds 1 to %d, --multiple 1 or more, --max 16 or more\n", MAX_ROUNDS);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    options o = {.rounds = 5,
                 .max = 16384,
                 .multiple = 8,
                 .algorithms = MAX_CANDIDATES / 2,
                 .budget_ms = 3,
                 .seed = 1};
    parse(argc, argv, &o);
    if (!bench_open())
        return 77; /* no GPU: skipped */
    csv = o.csv ? fopen(o.csv, "w") : NULL;
    printf("     m      n      k B  best cuBLASLt  TFLOP/s: first heuristic, best | ours, "
           "automatic: TFLOP/s, of first, of "
           "best | ours, best tried: TFLOP/s, of best, parameters\n");
    for (int i = 1; i < argc; i++) {
        bench_shape shape;
        if (!strncmp(argv[i], "--", 2))
            i += strcmp(argv[i], "--all") != 0;
        else if (parse_shape(argv[i], &shape))
            run_shape(&o, shape, NULL);
    }
    if (o.plan)
        run_plan(&o);
    run_random(&o);
    if (shapes_done)
        printf("# %d shapes: geometric mean of cuBLASLt's time / ours: %.3f (first heuristic), "
               "%.3f (best); %d below 0.95 of "
               "its best; %d wrong\n",
               shapes_done, exp(log_sum[0] / shapes_done), exp(log_sum[1] / shapes_done), below,
               wrong_results);
    if (csv)
        fclose(csv);
    bench_close();
    return wrong_results != 0;
}
