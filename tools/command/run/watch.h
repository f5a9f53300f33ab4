/* What every run on an emulator of its own has: seeds, and the counts of --stats. */
#ifndef PTXGEN_RUN_WATCH_H
#define PTXGEN_RUN_WATCH_H

#include "command/json.h"

#include "ptxgen/emulator.h"

/* "7" or "1..100"; text NULL: 0 to 0. EINVAL. */
typedef struct run_seeds {
    uint64_t from, to;
} run_seeds;
ptxgen_status run_parse_seeds(const char *text, run_seeds *out, ptxgen_error *err);
/* Instructions and bytes, as lines, or into `json` (NULL: lines) as an object "stats". */
void run_print_stats(const ptxgen_emulator *, cJSON *json, FILE *to);

#endif
