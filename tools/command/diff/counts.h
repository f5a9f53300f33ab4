/* What a family's problem does on the emulator, as counts by name. */
#ifndef PTXGEN_DIFF_COUNTS_H
#define PTXGEN_DIFF_COUNTS_H

#include "command/diff/side.h"
#include "command/run/problem_run.h"

/* Runs it once and fills side->counts, or side->no_counts where it cannot be run. */
void diff_count_problem(diff_side *side, run_problem *problem);

#endif
