/* tex, tld4, txq, suld, sust, sured and suq on the emulated machine. */
#ifndef PG_EMULATOR_TEXTURE_OP_H
#define PG_EMULATOR_TEXTURE_OP_H

#include "emulator/machine/launch.h"
#include "emulator/texture/texture.h"

/* op->extra; op->a: 64-bit rows of handles; op->rows: what is read or written, op->row_count of
 * them. */
typedef struct pg_texture_plan {
    pg_row coordinates[4];
    uint32_t dimensions;       /* of the image, 1 to 3; a cube's direction has 3 coordinates */
    bool layered, cube;        /* layered: the first coordinate is the layer */
    bool is_integer;           /* coordinates of tex */
    bool half, packed;         /* results of tex: f16, pairs of f16 */
    uint32_t channel;          /* tld4 */
    uint32_t query;            /* txq, suq: PG_M_QUERY_... */
    uint32_t size, lane_bytes; /* surfaces: bytes of an element and of a register's lane */
    uint32_t boundary;         /* PG_M_BOUNDARY_... */
    uint32_t reduce;           /* sured: PG_M_OP_... */
    bool is_signed;            /* sured.b */
    bool formatted;            /* sust.p, sured.p: the first coordinate counts texels, not bytes */
} pg_texture_plan;

pg_step pg_op_tex(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tld4(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_txq(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_suld(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_sust(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_sust_formatted(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_sured(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
