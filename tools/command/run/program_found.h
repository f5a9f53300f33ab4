/* What a program was found to do on the emulator, over its kernels and its runs: made of the JSON
 * lines that the stand-in writes (stand_in/report.c), shown as text or as one JSON object. */
#ifndef PTXGEN_RUN_PROGRAM_FOUND_H
#define PTXGEN_RUN_PROGRAM_FOUND_H

#include "command/json.h"
#include "command/run/findings.h"

/* A kernel that ended early: out of bounds, a deadlock, an endless loop. */
typedef struct program_stop {
    char *kernel, *text; /* owned */
    uint64_t seed;       /* of the first run with it */
} program_stop;

typedef struct program_found {
    bool seeded;    /* order=isa: seeds are worth telling */
    cJSON *reports; /* owned; every report as it came, or NULL where they are not asked for */
    run_findings *kernels; /* owned; one of each that ran */
    size_t kernel_count;
    program_stop *stops; /* owned; one of each kernel and text */
    size_t stop_count;
} program_found;

/* Takes over the lines of one run, and removes the file. */
void program_found_take(program_found *, const char *path, uint64_t seed);
/* The findings, then one line about `program`. */
void program_found_text(const program_found *, const char *program, uint64_t runs, FILE *to);
/* "reports", "stops", "kernels", "left_out" of the object; `reports` goes over into it. */
void program_found_json(program_found *, cJSON *into);
/* CLI_NO with something undefined or a stop, CLI_RELIES with reliances only, else CLI_OK. */
int program_found_exit(const program_found *);
void program_found_free(program_found *);

#endif
