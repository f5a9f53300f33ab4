/* For growing hopper_forest_*.c: reads the CSV of bench_matmul_cublaslt (--csv) on standard input
 * and writes, for each kernel of ours that was timed with parameters and can be chosen,
 * "PROBLEM,MICROSECONDS,MODEL,FACT,...". */
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

/* With nothing set that a choice leaves open. */
static bool is_choice(const char *params)
{
    static const char *const others[] = {"stream=", "group_m=", "stages=", "c_slots="};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(params, others[i]))
            return false;
    return strstr(params, "warpgroups=") != NULL;
}

static pg_hopper_choice choice_of(const char *params)
{
    const bool late = strstr(params, "c_load=late") != NULL;
    return (pg_hopper_choice){.pingpong = strstr(params, "schedule=pingpong") != NULL,
                              .swap = strstr(params, "swap=yes") != NULL,
                              .ring = late || strstr(params, "c_load=ring"),
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

int main(void)
{
    char line[600], params[400];
    long long batch, m, n, k;
    int transposed, no_c, final;
    double us, facts[PG_HOPPER_FACTS];
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%lld,%lld,%lld,%lld,%d,%d,ours,%d,%lf,%399[^\n]", &batch, &m, &n, &k,
                   &transposed, &no_c, &final, &us, params) != 9 ||
            !is_choice(params))
            continue;
        const pg_hopper_choice c = choice_of(params);
        const pg_matmul_problem p = problem_of((int64_t[]){batch, m, n, k}, transposed, no_c);
        const double model = pg_hopper_time(&c, &p);
        if (!(model < HUGE_VAL))
            continue;
        pg_hopper_facts(&c, &p, facts);
        printf("%lld:%lldx%lldx%lld%s%s,%.3f,%.6g", batch, m, n, k, transposed ? "t" : "",
               no_c ? "z" : "", us, model);
        for (int i = 0; i < PG_HOPPER_FACTS; i++)
            printf(",%.9g", facts[i]);
        puts("");
    }
    return 0;
}
