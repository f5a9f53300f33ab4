/* The adapter of matmul_scaled: see scaled.c. */
#ifndef PTXGEN_RUN_SCALED_H
#define PTXGEN_RUN_SCALED_H

#include "command/run/family.h"

ptxgen_status run_adapt_scaled(run_job *, ptxgen_error *);

#endif
