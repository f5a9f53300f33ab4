/* Handlers of the scalar instructions that are decoded one by one (decode/bits.c, compare.c,
 * move.c and packed_float.c); those that a type and an operation name are looked up in alu.h and
 * alu_float.h. */
#ifndef PG_EMULATOR_SCALAR_H
#define PG_EMULATOR_SCALAR_H

#include "emulator/number/float_ops.h"
#include "emulator/machine/program.h"
#include "ptx/ptx.h"

/* X(name): pg_op_<name>; what it reads of the op stands at its definition. */
/* clang-format off */
#define PG_BITS_HANDLERS(X) \
    X(popc_32) X(popc_64) X(clz_32) X(clz_64) X(brev_32) X(brev_64) X(bfind_u32) \
    X(bfind_s32) X(bfind_u64) X(bfind_s64) X(fns_32) X(bfe_u32) X(bfe_s32) X(bfe_u64) \
    X(bfe_s64) X(bfi_32) X(bfi_64) X(szext_32) X(bmsk_32) X(prmt_32) X(lop3_32) X(lop3_pred) \
    X(shf_32) X(dp_32) X(carry_32_add) X(carry_32_mad) X(carry_64_add) X(carry_64_mad) \
    X(min_relu) X(max_relu) X(min_relu_x2) X(max_relu_x2) X(pred_logic)
#define PG_COMPARE_HANDLERS(X) \
    X(setp) X(set) X(selp_16) X(selp_32) X(selp_64) X(slct_16) X(slct_32) X(slct_64) \
    X(testp)
#define PG_MOVE_HANDLERS(X) \
    X(mov_16) X(mov_32) X(mov_64) X(mov_128) X(mov_address) X(mov_clock) \
    X(mov_explicit_cluster) X(mov_pack) X(mov_unpack) X(mov_vector) X(pack_32_64) X(unpack_64_32) \
    X(add_window) X(drop_window) X(add_params) X(drop_params) X(isspacep) X(mapa_32) \
    X(mapa_64) X(rank_32) X(rank_64) X(mapa_variable)
#define PG_PACKED_HANDLERS(X) \
    X(add_f32x2) X(sub_f32x2) X(mul_f32x2) X(fma_f32x2) X(minmax3) X(set_x2) X(mixed)
/* clang-format on */

#define PG_DECLARE(name) pg_step pg_op_##name(pg_warp *w, const pg_op *op, uint32_t lanes);
PG_BITS_HANDLERS(PG_DECLARE)
PG_COMPARE_HANDLERS(PG_DECLARE)
PG_MOVE_HANDLERS(PG_DECLARE)
PG_PACKED_HANDLERS(PG_DECLARE)
#undef PG_DECLARE

/* op->mode of the carry handlers. */
enum {
    PG_CARRY_IN = 1,
    PG_CARRY_OUT = 2,
    PG_CARRY_SUBTRACT = 4,
    PG_CARRY_HIGH = 8,
    PG_CARRY_IS_SIGNED = 16
};

/* ---- comparison ---- */

/* One bit a lane, of two rows; `accept`: outcomes that are true, for floats. */
typedef uint32_t (*pg_compare_fn)(const void *a, const void *b, unsigned accept);

typedef struct pg_compare_plan {
    pg_compare_fn compare;
    /* setp of two halves: the upper ones, for q; NULL: q is of the complement */
    pg_compare_fn upper;
    unsigned accept;
    bool ftz;
    uint8_t combine; /* 0, or PG_M_OP_... - PG_M_OP_ADD + 1 */
    pg_pred with;
    bool with_not;
    bool float_result; /* set: 1.0f, else all ones */
    uint8_t result_bytes;
} pg_compare_plan;

/* Outcomes of a comparison, and those that make a PG_M_CMP_... true. */
enum {
    PG_OUTCOME_LESS = 1,
    PG_OUTCOME_EQUAL = 2,
    PG_OUTCOME_GREATER = 4,
    PG_OUTCOME_UNORDERED = 8
};
unsigned pg_accepted_outcomes(unsigned cmp);
/* The comparison PG_M_CMP_... of a type, of pairs that of the lower halves; NULL: there is none. */
pg_compare_fn pg_compare_function(pg_ptx_type type, unsigned cmp, bool ftz);
/* That of the upper halves; NULL: the type is no pair. */
pg_compare_fn pg_compare_upper(pg_ptx_type type, bool ftz);

/* ---- pairs and threes of floats ---- */

enum { PG_MIXED_ADD, PG_MIXED_SUB, PG_MIXED_FMA };

/* op->extra of the handlers in packed_float.c. */
typedef struct pg_packed_plan {
    pg_float_mode mode;
    pg_minmax_mode minmax;
    bool bf16, ftz;
    unsigned accept;  /* set: outcomes that are true */
    unsigned combine; /* set: PG_M_OP_..., or PG_M_NONE */
} pg_packed_plan;

#endif
