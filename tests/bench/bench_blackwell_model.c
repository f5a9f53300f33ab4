/* The model that chooses tiles on Blackwell (common/tcgen05_time.h), beside published measurements,
 * and what it chooses for us. No GPU is used: nothing here is a measurement of ours.
 *
 *     bench_blackwell_model [FILE.csv]
 *
 * Published: Triton's Gluon tutorials 08, 11 and 14 (tables in their sources; GB200, 152 SMs, f16
 * results) and ThunderKittens' matmul kernels (B200, 148 SMs, bf16 results). */
#include "common/tcgen05_cut.h"
#include "matmul_accumulate/matmul_accumulate.h"

#include <math.h>
#include <stdio.h>

enum { F16, MXFP8, FP4, FORMATS };

static const struct format {
    const char *name;
    double k_bytes, most_flops; /* of an element; per ns at the power limit */
} formats[FORMATS] = {{"f16", 2, 1.45e6}, {"mxfp8", 1, 3.0e6}, {"fp4", 0.5, 6.2e6}};

typedef struct kernel {
    int format, columns, ctas, stages, accumulators;
    double c_bytes, d_bytes; /* of an element */
    int sm_count;
} kernel;

static double tflops(const kernel *q, int64_t m, int64_t n, int64_t k)
{
    enum { ROWS = 128, ROW_BYTES = 128, STEP_BYTES = 32 };
    const struct format *f = &formats[q->format];
    const int block_k = (int)(ROW_BYTES / f->k_bytes);
    const pg_tcgen05_cut cut = {q->columns, q->ctas, 1, 1};
    const pg_tcgen05_problem problem = {.m = m,
                                        .n = n,
                                        .matrices = 1,
                                        .k = (double)k,
                                        .row_bytes = f->k_bytes * (double)k,
                                        .d_bytes = q->d_bytes,
                                        .c_bytes = q->c_bytes,
                                        .most_flops = f->most_flops,
                                        .sm_count = q->sm_count};
    pg_tcgen05_work work = pg_tcgen05_work_of(&problem, &cut);
    work.stages = q->stages;
    work.overlapped = q->accumulators == 2;
    work.step_cycles = ROW_BYTES / STEP_BYTES * pg_tcgen05_cycles(q->columns);
    work.stage_bytes = ROW_BYTES * (ROWS + (double)q->columns / q->ctas);
    work.k_blocks = (k - 1) / block_k + 1;
    return work.flop / pg_tcgen05_time(&work) * 1e-3;
}

static const struct published {
    const char *source;
    kernel kernel;
    int64_t m, n, k;
    double tflops;
} published[] = {
    {"Gluon 08", {F16, 256, 1, 4, 2, 0, 2, 152}, 8192, 8192, 512, 1004},
    {"Gluon 08", {F16, 256, 1, 4, 2, 0, 2, 152}, 8192, 8192, 1024, 1183},
    {"Gluon 08", {F16, 256, 1, 4, 2, 0, 2, 152}, 8192, 8192, 2048, 1314},
    {"Gluon 08", {F16, 256, 1, 4, 2, 0, 2, 152}, 8192, 8192, 4096, 1318},
    {"Gluon 08", {F16, 256, 1, 4, 2, 0, 2, 152}, 8192, 8192, 8192, 1292},
    {"Gluon 14", {F16, 256, 2, 6, 2, 0, 2, 152}, 8192, 8192, 512, 1096},
    {"Gluon 14", {F16, 256, 2, 6, 2, 0, 2, 152}, 8192, 8192, 1024, 1306},
    {"Gluon 14", {F16, 256, 2, 6, 2, 0, 2, 152}, 8192, 8192, 2048, 1380},
    {"Gluon 14", {F16, 256, 2, 6, 2, 0, 2, 152}, 8192, 8192, 4096, 1444},
    {"Gluon 14", {F16, 256, 2, 6, 2, 0, 2, 152}, 8192, 8192, 8192, 1302},
    {"ThunderKittens", {F16, 128, 1, 3, 1, 0, 2, 148}, 4096, 4096, 4096, 731},
    {"ThunderKittens", {F16, 256, 1, 4, 2, 0, 2, 148}, 4096, 4096, 4096, 1050},
    {"ThunderKittens", {F16, 256, 2, 4, 2, 0, 2, 148}, 4096, 4096, 4096, 1285},
    {"Gluon 11 mxfp8", {MXFP8, 256, 1, 3, 1, 0, 2, 152}, 8192, 8192, 8192, 2378},
    {"Gluon 11 mxfp4", {FP4, 256, 1, 3, 1, 0, 2, 152}, 8192, 8192, 8192, 4871},
    {"Gluon 11 nvfp4", {FP4, 256, 1, 3, 1, 0, 2, 152}, 8192, 8192, 8192, 4847},
};

static void compare_published(FILE *csv)
{
    double sum = 0, worst = 0;
    size_t right = 0, pairs = 0;
    const size_t count = sizeof published / sizeof *published;
    double model[sizeof published / sizeof *published];
    printf("%-16s %5s %4s %6s  %9s %6s %6s\n", "published", "tile", "ctas", "K", "published",
           "model", "error");
    for (size_t i = 0; i < count; i++) {
        const struct published *p = &published[i];
        model[i] = tflops(&p->kernel, p->m, p->n, p->k);
        const double error = model[i] / p->tflops - 1;
        sum += fabs(error);
        worst = fabs(error) > worst ? fabs(error) : worst;
        printf("%-16s %5d %4d %6lld  %9.0f %6.0f %+5.0f%%\n", p->source, p->kernel.columns,
               p->kernel.ctas, (long long)p->k, p->tflops, model[i], 100 * error);
        if (csv)
            fprintf(csv, "%s,%d,%d,%lld,%.0f,%.0f\n", p->source, p->kernel.columns, p->kernel.ctas,
                    (long long)p->k, p->tflops, model[i]);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            if (published[i].kernel.format != published[j].kernel.format ||
                fabs(published[i].tflops / published[j].tflops - 1) < 0.05)
                continue;
            pairs++;
            right += (model[i] > model[j]) == (published[i].tflops > published[j].tflops);
        }
    printf(
        "mean error %.0f%%, worst %.0f%%; of %zu pairs that differ by over 5%%, %zu in the right "
        "order\n\n",
        100 * sum / (double)count, 100 * worst, pairs, right);
}

static const struct problem {
    int64_t m, n, k;
} problems[] = {{4096, 4096, 4096},
                {8192, 8192, 8192},
                {8192, 8192, 1024},
                {1024, 1024, 2048},
                {128, 8192, 8192}};

/* What a call takes; how long it takes then, bench_clock says. */
static void our_kernels(void)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *p = &problems[i];
        const pg_matmul_problem asked = {.m = p->m, .n = p->n, .k = p->k, .sm_count = 148};
        pg_matmul_accumulate_key k = {.arch = 1001, .d_store = PG_D_TENSOR};
        pg_matmul_accumulate_choose(&k, &asked);
        if (pg_matmul_accumulate_resolve(&k, pg_arch_find(1001), NULL) == PTXGEN_OK)
            printf("%lldx%lldx%lld: block_n=%lld ctas=%lld ctas_n=%lld splits=%lld stages=%lld\n",
                   (long long)p->m, (long long)p->n, (long long)p->k, (long long)k.block_n,
                   (long long)k.ctas, (long long)k.ctas_n, (long long)k.splits,
                   (long long)k.stages);
    }
}

int main(int argc, char **argv)
{
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1 && !csv) {
        perror(argv[1]);
        return 1;
    }
    if (csv)
        fprintf(csv, "source,block_n,ctas,k,published,model\n");
    compare_published(csv);
    our_kernels();
    if (csv)
        fclose(csv);
    return 0;
}
