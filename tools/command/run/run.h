/* The two things `ptxgen run` can run: a family's kernel on .npy files, and any PTX on the
 * emulator. */
#ifndef PTXGEN_RUN_H
#define PTXGEN_RUN_H

#include "command/command.h"

/* The family at `family` of the library's list. */
int cli_run_family(const cli_args *, size_t family);
int cli_run_ptx(const cli_args *);

#endif
