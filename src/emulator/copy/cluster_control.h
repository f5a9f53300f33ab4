/* clusterlaunchcontrol: a running cluster takes the place of one that has not started. The request
 * completes like a copy (pg_kind_cancel in copies.h): 16 opaque bytes go to shared memory and are
 * counted by an mbarrier.
 *
 * A cluster that is taken is never started. With order=isa the seed also lets requests fail, as
 * a GPU does when it wants the SM for something else; the grid is then finished by clusters that
 * start as usual. What the ISA leaves undefined stops the launch: a request by a CTA that has
 * seen one fail, a query of bytes that are no response, a multicast to a CTA that has exited.
 * PTX ISA 9.0, clusterlaunchcontrol.try_cancel and .query_cancel. */
#ifndef PG_EMULATOR_CLUSTER_CONTROL_H
#define PG_EMULATOR_CLUSTER_CONTROL_H

#include "emulator/machine/launch.h"

enum { PG_CANCEL_RESPONSE_BYTES = 16 };

/* Operands: op's address is where the response goes; op->mode: .multicast::cluster::all. */
typedef struct pg_cancel_operands {
    pg_op barrier; /* the mbarrier's address */
} pg_cancel_operands;

/* The 16 bytes. The marks are arbitrary: a program can only pass them to query_cancel. */
enum { PG_CANCEL_GRANTED = 0x436c7347, PG_CANCEL_REFUSED = 0x436c7352 };
typedef struct pg_cancel_response {
    uint32_t mark;
    uint32_t first_ctaid[3];
} pg_cancel_response;
_Static_assert(sizeof(pg_cancel_response) == PG_CANCEL_RESPONSE_BYTES, "as the ISA has it");

/* Handlers. */
pg_step pg_op_try_cancel(pg_warp *w, const pg_op *op, uint32_t lanes);
/* a: b128 rows; p: whether the request was granted. */
pg_step pg_op_is_canceled(pg_warp *w, const pg_op *op, uint32_t lanes);
/* a: b128 rows; rows: of b32, for x, y and z. */
pg_step pg_op_first_ctaid(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
