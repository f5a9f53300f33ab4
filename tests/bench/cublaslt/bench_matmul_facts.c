/* For growing hopper_forest_*.c: reads the CSV of bench_matmul_cublaslt (--csv) on standard input
 * and writes, for each kernel of ours that was timed with parameters,
 * "PROBLEM,MICROSECONDS,MODEL,FACT,..."; with the argument `first` MODEL is corrected by the first
 * forest, for growing the second. */
#include "matmul_accumulate/hopper_forest.h"
#include "matmul_accumulate/hopper_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t number(const char *params, const char *name)
{
    const char *at = strstr(params, name);
    long long v = 0;
    return at && sscanf(at + strlen(name), "%lld", &v) == 1 ? v : 0;
}

static pg_hopper_choice choice_of(const char *params)
{
    return (pg_hopper_choice){.pingpong = strstr(params, "schedule=pingpong") != NULL,
                              .swap = strstr(params, "swap=yes") != NULL,
                              .ring = strstr(params, "c_load=ring") != NULL,
                              .warpgroups = (int)number(params, "warpgroups="),
                              .block_m = (int)number(params, "block_m="),
                              .block_n = (int)number(params, "block_n="),
                              .block_k = (int)number(params, "block_k="),
                              .cluster_m = (int)number(params, "ctas="),
                              .cluster_n = (int)number(params, "ctas_n="),
                              .splits = (int)number(params, "splits="),
                              .slices = (int)number(params, "slices=")};
}

/* Dense operands, as the benchmark's: A row-major. */
static pg_matmul_problem problem_of(int64_t m, int64_t n, int64_t k, bool transposed)
{
    enum { ALIGNED = 8, LINE = 64, SMS = 132 };
    const int64_t b_row = transposed ? k : n;
    return (pg_matmul_problem){.m = m,
                               .n = n,
                               .k = k,
                               .c_takes_map = n % 4 == 0,
                               .a_straddles = k % ALIGNED == 0 && k % LINE != 0,
                               .b_straddles = b_row % ALIGNED == 0 && b_row % LINE != 0,
                               .a_k_major = true,
                               .b_k_major = transposed,
                               .sm_count = SMS};
}

int main(int argc, char **argv)
{
    const bool first = argc > 1 && !strcmp(argv[1], "first");
    char line[600], params[400];
    long long m, n, k;
    int transposed, final;
    double us, facts[PG_HOPPER_FACTS];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%lld,%lld,%lld,%d,ours,%d,%lf,%399[^\n]", &m, &n, &k, &transposed, &final,
                   &us, params) != 7 ||
            !strstr(params, "warpgroups=") || strstr(params, "stream=") ||
            strstr(params, "group_m="))
            continue;
        const pg_hopper_choice c = choice_of(params);
        const pg_matmul_problem p = problem_of(m, n, k, transposed);
        pg_hopper_facts(&c, &p, facts);
        printf("%lldx%lldx%lld%s,%.3f,%.6g", m, n, k, transposed ? "t" : "", us,
               pg_hopper_time(&c, &p) *
                   (first ? exp(pg_hopper_forest_sum(&pg_hopper_first_forest, facts)) : 1));
        for (int i = 0; i < PG_HOPPER_FACTS; i++)
            printf(",%.9g", facts[i]);
        puts("");
    }
    return 0;
}
