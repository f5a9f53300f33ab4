/* The two things `ptxgen run` can run: a family's kernel on .npy files, and any PTX on the emulator. */
#ifndef PTXGEN_RUN_H
#define PTXGEN_RUN_H

#include "command/command.h"

int cli_run_scatter_add(const cli_args *);
int cli_run_tcgen05_copy(const cli_args *);
int cli_run_matmul_accumulate(const cli_args *);
int cli_run_matmul_scaled(const cli_args *);
int cli_run_ptx(const cli_args *);

#endif
