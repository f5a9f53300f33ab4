/* The two things `ptxgen run` can run: a family's kernel on .npy files, and any PTX on the
 * emulator. */
#ifndef PTXGEN_RUN_H
#define PTXGEN_RUN_H

#include "command/command.h"

#include "ptxgen/emulator.h"

/* Hears what happens in a run; of several seeds, in the last. */
typedef struct run_listener {
    void (*event)(void *user, const ptxgen_emulator_event *event);
    void *user;
} run_listener;

/* The family at `family` of the library's list. */
int cli_run_family(const cli_args *, size_t family);
/* listener NULL: nobody hears. */
int cli_run_ptx(const cli_args *, const run_listener *listener);

#endif
