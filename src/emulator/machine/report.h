/* Failures that stop a launch, and what the checker has to say. A message names the PTX line, the CTA, the
 * warp and the lane, and an address as buffer + offset. */
#ifndef PG_EMULATOR_REPORT_H
#define PG_EMULATOR_REPORT_H

#include "emulator/machine/launch.h"

/* Stops the launch (the first failure counts) and returns PG_STOP. */
pg_step pg_stop(pg_warp *w, const pg_op *op, ptxgen_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a lane's memory access. `address` is as the program wrote it. */
typedef struct pg_fault {
    uint32_t lane;
    pg_space space;
    uint64_t address;
    uint32_t bytes;
    bool write;
    const char *what; /* "is outside every buffer", ... */
} pg_fault;
pg_step pg_stop_fault(pg_warp *w, const pg_op *op, const pg_fault *fault);
void pg_stop_budget(pg_grid_run *launch, uint64_t instructions);
void pg_stop_memory(pg_grid_run *launch, size_t bytes);
/* No warp can run and nothing is pending. */
void pg_report_deadlock(pg_cluster *cluster);

/* Appends "buffer + offset" for an address. */
void pg_describe_address(const pg_grid_run *launch, pg_space space, uint64_t address, pg_buf *out);

#endif
