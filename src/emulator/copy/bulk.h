/* What issuing a bulk copy (bulk.c) and a tensor copy (bulk_tensor.c) have in common: one thread
 * issues one copy; its addresses are checked at issue, so that a fault names this instruction.
 * Each function that answers false has stopped the launch with the reason. */
#ifndef PG_EMULATOR_BULK_H
#define PG_EMULATOR_BULK_H

#include "emulator/machine/async.h"
#include "emulator/machine/stop.h"
#include "emulator/copy/copies.h"

/* What the lane's operands say. */
typedef struct pg_bulk_lane {
    uint64_t target, source, barrier;
    uint32_t bytes; /* of copies without a tensor map */
} pg_bulk_lane;
pg_bulk_lane pg_bulk_read_operands(const pg_warp *w, const pg_op *op, uint32_t lane);

/* Stops the launch: the access is at fault because it `what`; false. */
bool pg_bulk_fault(pg_warp *w, const pg_op *op, pg_fault f, const char *what);
/* The shared side of a copy: f.space as the operand says; generic addresses are taken as well. */
bool pg_bulk_shared_side(pg_warp *w, const pg_op *op, pg_fault f, pg_cta **cta, uint8_t **at);
/* The barrier that a load completes on. */
bool pg_bulk_barrier_side(pg_warp *w, const pg_op *op, uint64_t address,
                          pg_mbarrier_signal *signal);
/* Bits of the CTAs that receive a multicast; 0: none was asked for. */
uint16_t pg_bulk_multicast(const pg_warp *w, const pg_bulk_operands *o, uint32_t lane);
/* A mask must name CTAs of this cluster. */
bool pg_bulk_check_mask(pg_warp *w, const pg_op *op, uint16_t mask);
/* Issues for each lane. */
pg_step pg_bulk_each_lane(pg_warp *w, const pg_op *op, uint32_t lanes,
                          bool (*issue)(pg_warp *, const pg_op *, uint32_t));

#endif
