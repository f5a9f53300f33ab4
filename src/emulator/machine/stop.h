/* Failures that stop a launch. A message names the PTX line, the CTA, the
 * warp and the lane, and an address as buffer + offset. */
#ifndef PG_EMULATOR_STOP_H
#define PG_EMULATOR_STOP_H

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
/* Stops the launch with a finished message; line 0: none. */
void pg_stop_launch(pg_grid_run *launch, ptxgen_status status, int line, const char *message);
/* Appends "line 7 (bra), CTA (0,0,0) warp 1: ". */
void pg_append_place(const pg_warp *w, const pg_op *op, pg_buf *out);

/* The shared variable or buffer that holds an address, or is next below it; "" for none. */
const char *pg_object_at(const pg_grid_run *launch, pg_space space, uint64_t address);
/* Appends "buffer + offset" for an address. */
void pg_describe_address(const pg_grid_run *launch, pg_space space, uint64_t address, pg_buf *out);

#endif
