/* How long the emission of a kernel takes, in microseconds of processor time: the first in a
 * process, and the median of many of kernels that differ (so that no memory of them helps),
 * without and with a user function handed over as PTX. bench_emit [CSV] */
#include "ptxgen/function.h"
#include "ptxgen/kernel.h"
#include "ptxgen/ptxgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 201 };

static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                           ".visible .func (.param .b32 r) f(.param .b32 x)\n{\n"
                           "    .reg .f32 %f<3>;\n    ld.param.f32 %f0, [x];\n"
                           "    fma.rn.f32 %f1, %f0, %f0, %f0;\n    max.f32 %f2, %f1, 0f00000000;\n"
                           "    st.param.f32 [r], %f2;\n    ret;\n}\n";

static const struct {
    const char *name, *params;
    bool function;
} kernels[] = {
    {"Hopper", "arch=sm_90a dtype=bf16 b=transposed", false},
    {"Hopper, ping-pong of three", "arch=sm_90a schedule=pingpong warpgroups=3 c_load=ring", false},
    {"Hopper, silu and gate", "arch=sm_90a c=none epilogue=silu gate=yes", false},
    {"Hopper, user function", "arch=sm_90a dtype=bf16 b=transposed", true},
    {"Blackwell", "arch=sm_100a", false},
    {"mma.sync", "arch=sm_80", false},
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double emit_us(ptxgen *ctx, const char *params, int group, size_t *bytes)
{
    char all[256];
    ptxgen_kernel *k;
    ptxgen_kernel_info info = {.size = sizeof info};
    ptxgen_error err;
    snprintf(all, sizeof all, "%s group_m=%d", params, group);
    const double start = now_us();
    if (ptxgen_emit(ctx, "matmul_accumulate", all, &k, &err) != PTXGEN_OK) {
        fprintf(stderr, "%s: %s\n", all, err.message);
        exit(1);
    }
    const double took = now_us() - start;
    ptxgen_kernel_describe(k, &info);
    *bytes = info.ptx_size;
    ptxgen_kernel_unref(k);
    return took;
}

int main(int argc, char **argv)
{
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;
    const ptxgen_config config = {.size = sizeof config, .cache_dir = ""};
    const ptxgen_function function = {
        .size = sizeof function, .language = PTXGEN_FUNCTION_PTX, .text = text};
    ptxgen *ctx;
    ptxgen_error err;
    int64_t id;
    if (ptxgen_create(&config, &ctx, &err) != PTXGEN_OK ||
        ptxgen_function_add(ctx, &function, &id, &err) != PTXGEN_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%-28s %8s %10s %10s %10s\n", "kernel", "bytes", "first us", "median us", "p90 us");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        double times[ROUNDS];
        char params[160];
        size_t bytes = 0;
        snprintf(params, sizeof params, "%s", kernels[i].params);
        if (kernels[i].function)
            snprintf(params, sizeof params, "%s function=%lld", kernels[i].params, (long long)id);
        const double first = emit_us(ctx, params, ROUNDS + 1, &bytes);
        for (int r = 0; r < ROUNDS; r++)
            times[r] = emit_us(ctx, params, 1 + r, &bytes);
        qsort(times, ROUNDS, sizeof *times, by_value);
        printf("%-28s %8zu %10.0f %10.0f %10.0f\n", kernels[i].name, bytes, first,
               times[ROUNDS / 2], times[ROUNDS * 9 / 10]);
        if (csv)
            fprintf(csv, "%s,%zu,%.1f,%.1f\n", kernels[i].name, bytes, first, times[ROUNDS / 2]);
    }
    if (csv)
        fclose(csv);
    ptxgen_destroy(ctx);
    return 0;
}
