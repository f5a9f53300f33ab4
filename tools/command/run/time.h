/* --time ARCH: how long the launches of a run would take on a GPU, by the emulator's clock. */
#ifndef PTXGEN_RUN_TIME_H
#define PTXGEN_RUN_TIME_H

#include "command/json.h"

#include "ptxgen/emulator.h"

/* With `json` into it, else as lines. */
void run_print_times(const ptxgen_emulator *emu, cJSON *json, FILE *to);

#endif
