/* Handlers of ld and st, picked by the width of the memory element and of the register row. */
#ifndef PG_EMULATOR_LOAD_STORE_H
#define PG_EMULATOR_LOAD_STORE_H

#include "emulator/machine/program.h"

/* One element in memory: `bytes` 1, 2, 4, 8 or 16, sign-extended when is_signed; lane_bytes 2,
 * 4, 8 or 16. NULL: no such combination. Operands: address, count rows (op->rows). */
pg_handler pg_load_handler(unsigned bytes, unsigned lane_bytes, bool is_signed);
pg_handler pg_store_handler(unsigned bytes, unsigned lane_bytes);
/* For plain accesses (no vector, not ordered) to a whole register of 2, 4 or 8 bytes: faster
 * when the lanes of a warp are side by side. */
pg_handler pg_load_row_handler(unsigned bytes);
pg_handler pg_store_row_handler(unsigned bytes);
/* Kernel parameters at a fixed offset (op->imm): the same value for every lane. */
pg_handler pg_load_param_handler(unsigned bytes, unsigned lane_bytes, bool is_signed);

#endif
