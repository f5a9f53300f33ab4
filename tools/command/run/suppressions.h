/* What is not to be reported: --ignore KIND, and the lines of a suppression file:
 *
 *     # comment
 *     missing-tensor-fence                     all of a kind
 *     race-global object=out entry=reduce      with conditions, which all must hold
 *     race-shared line=120 other=98            lines of the PTX
 *     race-shared source=reduce.cu:31          a line of its source (nvcc -lineinfo), or the file
 *
 * KIND is a name of ptxgen/emulator.h in any case, with - or _; * is every kind. */
#ifndef PTXGEN_RUN_SUPPRESSIONS_H
#define PTXGEN_RUN_SUPPRESSIONS_H

#include "command/fail.h"

#include "ptxgen/emulator.h"

typedef struct run_suppression {
    int kind;                          /* -1: every */
    int line, other_line, source_line; /* 0: any */
    char object[128], entry[128], source[128];
    int from; /* line of the file; 0: --ignore */
    uint64_t used;
} run_suppression;

typedef struct run_suppressions {
    run_suppression *all; /* owned */
    size_t count;
} run_suppressions;

/* EINVAL says which kind is unknown, and the nearest. */
ptxgen_status run_suppress_kind(run_suppressions *, const char *kind, ptxgen_error *err);
ptxgen_status run_suppress_file(run_suppressions *, const char *path, ptxgen_error *err);
/* Whether one of them takes the report; counts it then. */
bool run_is_suppressed(run_suppressions *, const char *entry, const ptxgen_emulator_report *);
void run_suppressions_free(run_suppressions *);

#endif
