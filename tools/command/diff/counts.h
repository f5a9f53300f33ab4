/* What a family's problem does on the emulator, as counts by name. */
#ifndef PTXGEN_DIFF_COUNTS_H
#define PTXGEN_DIFF_COUNTS_H

#include "command/diff/side.h"

/* Runs the problem that the words name once and fills side->counts, or side->no_counts where it
 * cannot be run. *params (owned by the caller): its kernel's. EINVAL and EUNSUPPORTED: there is no
 * such kernel. */
ptxgen_status diff_count_problem(diff_side *side, ptxgen *ctx, size_t family, char *const *words,
                                 size_t count, char **params, ptxgen_error *err);

#endif
