/* What checking mode has found: the list of its reports: one per (kind, line, other line),
 * counted. Thread-safe. */
#ifndef PG_EMULATOR_FINDINGS_H
#define PG_EMULATOR_FINDINGS_H

#include "base/alloc.h"
#include "ptxgen/emulator.h"

typedef struct pg_findings pg_findings;

pg_findings *pg_findings_new(const pg_alloc *alloc);
void pg_findings_free(pg_findings *r);
/* Whether this kind and these lines have been reported; counts it then. */
bool pg_findings_again(pg_findings *r, ptxgen_emulator_report_kind kind, int line, int other_line);
/* True when this is the first of its kind and lines; `where` and `text` are copied then. When
 * memory runs out the report is counted as lost. */
bool pg_findings_add(pg_findings *r, const ptxgen_emulator_report *report);
bool pg_findings_get(pg_findings *r, size_t i, ptxgen_emulator_report *out);
void pg_findings_clear(pg_findings *r);

#endif
