/* Findings of `ptxgen run FILE.ptx --check-races`: what the emulator reports in each run, put
 * together by root cause, filtered, and shown as text, JSON or SARIF. */
#ifndef PTXGEN_RUN_FINDINGS_H
#define PTXGEN_RUN_FINDINGS_H

#include "command/command.h"
#include "command/json.h"
#include "command/run/suppressions.h"

#include "ptxgen/emulator.h"

#include <stdio.h>

/* One pair of lines. */
typedef struct run_pair_of_lines {
    int line, other_line;
    uint64_t count; /* times met, in all runs */
    uint64_t seed;  /* of the first run that met it */
} run_pair_of_lines;

/* One root cause: reports of one kind about one object, connected by lines that they share. The
 * first report speaks for all. Strings are owned. */
typedef struct run_finding {
    ptxgen_emulator_report first;
    run_pair_of_lines *pairs; /* owned; the first is that of `first` */
    size_t pair_count;
    uint64_t count, seed;
} run_finding;

typedef struct run_findings {
    const char *file;  /* of the PTX, for messages */
    const char *at;    /* between the file and a line; NULL: ":" */
    const char *entry; /* name of the kernel */
    bool seeded;       /* order=isa: seeds are worth telling */
    run_suppressions filter;
    run_finding *all; /* owned */
    size_t count;
    size_t suppressed; /* reports that the filter has taken */
    uint64_t left_out; /* times met: reports that the emulator has not kept */
} run_findings;

/* --ignore, --suppress and --sarif: the filter. EINVAL without --check-races. */
ptxgen_status run_findings_filter(run_findings *, const cli_settings *, ptxgen_error *err);
/* --sarif FILE, if it was given. */
ptxgen_status run_findings_write_sarif(const run_findings *, const cli_settings *,
                                       ptxgen_error *err);
/* Takes over the reports of one run. */
void run_findings_collect(run_findings *, const ptxgen_emulator *, uint64_t seed);
/* Takes over one report. */
void run_findings_add(run_findings *, const ptxgen_emulator_report *, uint64_t seed);
/* How many there are of a class. */
size_t run_findings_of(const run_findings *, ptxgen_emulator_report_class);
/* CLI_NO with something undefined, CLI_RELIES with reliances only, else CLI_OK. */
int run_findings_exit(const run_findings *);

void run_findings_text(const run_findings *, FILE *to);
/* "2 defects in 5 runs; relies on ptxas or the hardware: 1; advice: 3" */
void run_findings_summary(const run_findings *, uint64_t runs, FILE *to);
/* "defects", "reliances", "advice": arrays in the object. */
void run_findings_json(const run_findings *, cJSON *into);
/* A SARIF 2.1.0 log, to be written. */
cJSON *run_findings_sarif(const run_findings *);
void run_findings_free(run_findings *);

#endif
