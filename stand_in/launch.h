/* Launches: what is checked before the emulator runs a kernel, and what its failure means to the
 * program. */
#ifndef PG_STAND_IN_LAUNCH_H
#define PG_STAND_IN_LAUNCH_H

#include "stand_in/stream.h"

/* Checks the shape and runs the kernel. The errors are those of a GPU. */
pg_cuda_error pg_launch_run(const pg_launch *launch);
/* Parameters handed over as one buffer (cuLaunchKernel's `extra`): fills `args`, room for
 * parameter_count pointers. */
pg_cuda_error pg_launch_unpack(pg_function *function, void **extra, void **args);
void pg_launch_attributes(pg_launch *launch, const cudaLaunchAttribute *attributes, unsigned count);
/* CTAs of the kernel that an SM holds at once, by threads, shared memory and CTA slots;
 * registers are not known. */
int pg_occupancy(const pg_function *function, int threads, size_t dynamic_shared);

/* Says what a launch of the function was like: that it ran, what checking mode has found since the
 * last call, what it stopped with (NULL: it did not). The `running` lock is held. report.c */
void pg_report_run(pg_function *function, const char *stop);

#endif
