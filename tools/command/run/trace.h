/* --trace FILE.pftrace: what happened, as Perfetto shows it (ui.perfetto.dev): a track for each
 * warp and for each asynchronous unit of a CTA, counters of operations in flight, barrier phases,
 * shared memory and columns of tensor memory in use, and flows: from the write of shared memory
 * over the proxy fence to the operation that reads it, and from an operation's issue over its run
 * to the first wait that it ends. Time is the emulator's: one nanosecond is one warp
 * instruction. */
#ifndef PTXGEN_RUN_TRACE_H
#define PTXGEN_RUN_TRACE_H

#include "command/command.h"

#include "ptxgen/emulator.h"

typedef struct run_trace run_trace;

/* NULL path: no trace, *out NULL. */
ptxgen_status run_trace_open(const char *path, run_trace **out, ptxgen_error *err);
/* config.trace of the emulator calls this. */
void run_trace_event(run_trace *t, const ptxgen_emulator_event *e);
/* Closes what is still open and gives the file its name; or, when the run failed, drops it. */
ptxgen_status run_trace_close(run_trace *t, bool keep, ptxgen_error *err);

#endif
