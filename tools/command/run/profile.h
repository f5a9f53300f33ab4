/* What a run did, by asynchronous unit, by mnemonic and by PTX line: as text, as JSON, and as a
 * page that shows the PTX with its counts (--stats, --report). */
#ifndef PTXGEN_RUN_PROFILE_H
#define PTXGEN_RUN_PROFILE_H

#include "command/json.h"

#include "ptxgen/emulator.h"
#include "ptxgen/ptxgen.h"

typedef struct run_profile {
    const ptxgen_emulator *emu; /* made with config.profile */
    const ptxgen_emulator_module *module;
    const char *name; /* of the file or kernel */
    const char *ptx;
    const ptxgen_kernel *kernel; /* its lines come from templates; NULL: from a file */
} run_profile;

/* The units that did something, the warp instructions by mnemonic; with `json` into it, else as
 * lines. */
void run_print_units(const ptxgen_emulator *emu, cJSON *json, FILE *to);
/* The lines: all into `json`, or the busiest as a table. */
void run_print_lines(const run_profile *p, cJSON *json, FILE *to);
/* --report FILE: the whole PTX with its counts; a page when the name ends in .html, else text. */
ptxgen_status run_write_report(const run_profile *p, const char *path, ptxgen_error *err);

#endif
