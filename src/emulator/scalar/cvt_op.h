/* cvt on the emulated machine: the plan of a decoded conversion, and the handlers. */
#ifndef PG_EMULATOR_CVT_OP_H
#define PG_EMULATOR_CVT_OP_H

#include "emulator/number/convert.h"
#include "emulator/machine/program.h"

/* op->extra of a scalar conversion. Register rows may be wider than the types. */
typedef struct pg_cvt_plan {
    pg_scalar to, from;
    pg_convert_mode mode;
    uint8_t to_lane_bytes, from_lane_bytes;
} pg_cvt_plan;

/* d, a. The fastest handler for the plan. */
pg_handler pg_cvt_handler(const pg_cvt_plan *plan);

/* op->extra of a packing or unpacking conversion. Element 0 is the lowest of the packed register;
 * elements are `width` bits apart (8 for fp8 and fp6, 4 for fp4, 16 for f16 and bf16). */
typedef struct pg_cvt_packed_plan {
    pg_format_id to, from;
    uint8_t count; /* elements */
    uint8_t to_width, from_width;
    bool packed_source; /* one source row holds all elements; else op->rows[i] is the f32 of element
                           i */
    pg_encode_mode mode;
    uint8_t to_lane_bytes, from_lane_bytes;
    bool random; /* .rs: op->b holds the random bits */
} pg_cvt_packed_plan;

pg_step pg_op_cvt_packed(pg_warp *w, const pg_op *op, uint32_t lanes);

/* cvt.pack: op->extra is a pg_cvt_int_pack_plan; d, a, b, and c when has_c. */
typedef struct pg_cvt_int_pack_plan {
    bool is_signed, has_c;
    uint8_t bits; /* of a packed element: 16, 8, 4, 2 */
} pg_cvt_int_pack_plan;

pg_step pg_op_cvt_int_pack(pg_warp *w, const pg_op *op, uint32_t lanes);

#endif
