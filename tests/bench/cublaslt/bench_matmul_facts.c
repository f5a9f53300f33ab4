/* For growing hopper_forest_*.c: reads the CSV of bench_matmul_cublaslt (--csv) on standard input
 * and writes, for each kernel of ours that was timed with parameters,
 * "PROBLEM,MICROSECONDS,MODEL,FACT,..."; MODEL is corrected by as many forests as the argument
 * says, for growing the next. */
#include "matmul_accumulate/hopper_forest.h"
#include "matmul_accumulate/hopper_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t number(const char *params, const char *name)
{
    const char *at = strstr(params, name);
    long long v = 0;
    return at && sscanf(at + strlen(name), "%lld", &v) == 1 ? v : 0;
}

/* Its facts are those of the same kernel that is not late, but one. */
static pg_hopper_choice choice_of(const char *params)
{
    const bool pingpong = strstr(params, "schedule=pingpong") != NULL,
               late = strstr(params, "c_load=late") != NULL;
    return (pg_hopper_choice){.pingpong = pingpong,
                              .swap = strstr(params, "swap=yes") != NULL,
                              .ring = strstr(params, "c_load=ring") || (late && pingpong),
                              .late = late,
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
static pg_matmul_problem problem_of(const int64_t of[4], bool transposed, bool no_c)
{
    enum { ALIGNED = 8, LINE = 64, SMS = 132 };
    const int64_t n = of[2], k = of[3], b_row = transposed ? k : n;
    return (pg_matmul_problem){.batch = of[0],
                               .m = of[1],
                               .n = n,
                               .k = k,
                               .c_bytes = no_c ? 0 : 4,
                               .d_bytes = 4,
                               .c_takes_map = n % 4 == 0,
                               .a_straddles = k % ALIGNED == 0 && k % LINE != 0,
                               .b_straddles = b_row % ALIGNED == 0 && b_row % LINE != 0,
                               .a_k_major = true,
                               .b_k_major = transposed,
                               .sm_count = SMS};
}

int main(int argc, char **argv)
{
    const size_t forests = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    char line[600], params[400];
    long long batch, m, n, k;
    int transposed, no_c, final;
    double us, facts[PG_HOPPER_FACTS];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%lld,%lld,%lld,%lld,%d,%d,ours,%d,%lf,%399[^\n]", &batch, &m, &n, &k,
                   &transposed, &no_c, &final, &us, params) != 9 ||
            !strstr(params, "warpgroups=") || strstr(params, "stream=") ||
            strstr(params, "group_m="))
            continue;
        const pg_hopper_choice c = choice_of(params);
        pg_hopper_choice timed = c;
        timed.ring |= c.late;
        const pg_matmul_problem p = problem_of((int64_t[]){batch, m, n, k}, transposed, no_c);
        pg_hopper_facts(&c, &p, facts);
        printf("%lld:%lldx%lldx%lld%s%s,%.3f,%.6g", batch, m, n, k, transposed ? "t" : "",
               no_c ? "z" : "", us,
               pg_hopper_time(&timed, &p) * exp(pg_hopper_forests(forests, facts)));
        for (int i = 0; i < PG_HOPPER_FACTS; i++)
            printf(",%.9g", facts[i]);
        puts("");
    }
    return 0;
}
