/* The check and the report of a run; see job.h. */
#ifndef PTXGEN_RUN_REPORT_H
#define PTXGEN_RUN_REPORT_H

#include "command/run/job.h"

/* Compares job->result with the plain C answer, within the family's tolerances. */
ptxgen_status run_check_result(run_job *, ptxgen_error *);
/* Device, problem, kernel, check and time, as text or JSON. */
ptxgen_status run_report(const run_job *, ptxgen_error *);

#endif
