/* Cases of the epilogue set: a pairwise covering array of kernels, types and steps of
 * matmul_accumulate, each case run on a device and compared with the plain C answer. */
#ifndef EPILOGUE_CASE_H
#define EPILOGUE_CASE_H

#include "test.h"

#include "ptxgen/ptxgen.h"

/* Runs all cases on the context's device for one architecture, "sm_90a", "sm_100a", or what
 * takes the mma.sync kernel ("sm_89", "sm_90a schedule=mma_sync"); a wrong
 * one fails the test. Stops before the next case when `seconds` have passed. Prints how many
 * there were. */
void epilogue_cases_run(ptxgen *ctx, const char *arch, double seconds);
/* The same of matmul_scaled. */
void epilogue_cases_run_scaled(ptxgen *ctx, const char *arch, double seconds);

#endif
