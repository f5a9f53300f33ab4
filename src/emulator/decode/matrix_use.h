/* Which instructions touch registers that wgmma uses or tcgen05.ld fills. Both access registers
 * after they were issued, so in checking mode every other access to them is watched: the decoder
 * gives such instructions, and tcgen05.ld itself, the handler pg_op_matrix_use, which tells the
 * checker and then runs their own. Fast mode has none. */
#ifndef PG_EMULATOR_MATRIX_USE_H
#define PG_EMULATOR_MATRIX_USE_H

#include "emulator/decode/layout.h"

/* Registers are numbered from 0 over all that some wgmma of the program uses or some tcgen05.ld
 * fills. */
#define PG_NOT_A_MATRIX_REGISTER UINT32_MAX

typedef struct pg_matrix_use {
    pg_handler run;            /* of the instruction itself */
    const uint32_t *registers; /* of a wgmma: one for each of op->rows, in that order */
    uint32_t count;
    uint32_t loaded; /* of a tcgen05.ld: that many, the first, are what it fills */
} pg_matrix_use;

/* Fills program->matrix_uses and the handlers of `ops`. Out of memory: the arena says so. */
void pg_matrix_uses_find(pg_decoder *d, pg_op *ops, uint32_t op_count, pg_program *program);

pg_step pg_op_matrix_use(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
