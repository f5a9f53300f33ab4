/* What checking mode has found: its reports, one per program, kind, line and other line, counted.
 * Of each kind the first 2,000 are kept, so that no kind hides another. Thread-safe. */
#ifndef PG_EMULATOR_FINDINGS_H
#define PG_EMULATOR_FINDINGS_H

#include "emulator/machine/machine.h"
#include "ptxgen/emulator.h"

/* What makes two reports one. */
typedef struct pg_finding_key {
    const pg_program *program;
    ptxgen_emulator_report_kind kind;
    int line, other_line;
} pg_finding_key;

pg_findings *pg_findings_new(const pg_alloc *alloc);
void pg_findings_free(pg_findings *r);
/* Whether it needs no words: it has been reported, or is one too many of its kind. Counted. */
bool pg_findings_again(pg_findings *r, const pg_finding_key *key);
/* True when this is the first with its key and is kept: its strings are copied then. One that is
 * not kept, for the limit or for want of memory, is counted as left out. */
bool pg_findings_add(pg_findings *r, const pg_program *program,
                     const ptxgen_emulator_report *report);
bool pg_findings_get(pg_findings *r, size_t i, ptxgen_emulator_report *out);
uint64_t pg_findings_left_out(pg_findings *r);
/* The program is unloaded: its reports stay, another at its address has its own. */
void pg_findings_retire(pg_findings *r, const pg_program *program);
void pg_findings_clear(pg_findings *r);

#endif
