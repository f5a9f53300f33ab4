/* What the two benches share: samples and the table they end in. */
#ifndef PTXGEN_BENCH_H
#define PTXGEN_BENCH_H

#include "command/command.h"
#include "command/json.h"

#include <stdio.h>

/* Seconds of a clock that only goes forward. */
double bench_now(void);
/* Sorts and returns the middle one. */
double bench_median(double *samples, size_t count);

int cli_bench_latency(const cli_args *);
int cli_bench_scatter_add(const cli_args *);

#endif
