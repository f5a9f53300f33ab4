/* The list of reports of checking mode: one per (kind, line, other line), counted. Thread-safe. */
#ifndef PG_EMULATOR_REPORTS_H
#define PG_EMULATOR_REPORTS_H

#include "base/alloc.h"
#include "ptxgen/emulator.h"

typedef struct pg_reports pg_reports;

pg_reports *pg_reports_new(const pg_alloc *alloc);
void pg_reports_free(pg_reports *r);
/* Whether this kind and these lines have been reported; counts it then. */
bool pg_reports_again(pg_reports *r, ptxgen_emulator_report_kind kind, int line, int other_line);
/* True when this is the first of its kind and lines; `where` and `text` are copied then. When memory runs out the
 * report is counted as lost. */
bool pg_reports_add(pg_reports *r, const ptxgen_emulator_report *report);
bool pg_reports_get(pg_reports *r, size_t i, ptxgen_emulator_report *out);
void pg_reports_clear(pg_reports *r);

#endif
