/* The decode functions: pg_decode_<semantics> for every semantics name of opcodes.def that the emulator
 * executes (decode_table.c maps rows to them), and what the families share. */
#ifndef PG_EMULATOR_DECODE_FAMILIES_H
#define PG_EMULATOR_DECODE_FAMILIES_H

#include "emulator/scalar/alu.h"
#include "emulator/decode/decode.h"
#include "emulator/number/formats.h"

/* X(semantics): functions of the same name */
/* clang-format off */
#define PG_DECODE_FAMILIES(X)                                                                   \
    X(add_cc) X(sub_cc) X(mad_cc) X(add_int) X(add_sat) X(addc) X(sub_int) X(sub_sat) X(subc)   \
    X(mul_int) X(mad_int) X(mad_sat) X(madc) X(mul24) X(mad24) X(sad) X(div_int) X(rem)         \
    X(abs_int) X(neg_int) X(min_int) X(max_int) X(popc) X(clz) X(bfind) X(fns) X(brev) X(bfe)   \
    X(bfi) X(szext) X(bmsk) X(dp4a) X(dp2a)                                                     \
    X(and) X(or) X(xor) X(not) X(cnot) X(lop3) X(shf) X(shl) X(shr) X(prmt)                     \
    X(add_float) X(sub_float) X(mul_float) X(fma) X(div_float) X(div_approx) X(abs_float)       \
    X(neg_float) X(min_float) X(max_float) X(rcp) X(rcp_approx) X(sqrt) X(sqrt_approx) X(rsqrt) \
    X(sin) X(cos) X(lg2) X(ex2) X(tanh)                                                         \
    X(testp) X(copysign) X(set) X(setp) X(selp) X(slct)                                         \
    X(mov) X(mov_pack) X(mov_unpack) X(cvta) X(isspacep) X(mapa) X(getctarank) X(createpolicy)  \
    X(ld) X(st) X(st_async) X(prefetch) X(atom) X(atom_cas) X(red) X(red_async)                 \
    X(fence) X(fence_proxy) X(fence_mbarrier_init) X(fence_proxy_tensormap)                     \
    X(bra) X(brx_idx) X(call) X(alloca) X(stacksave) X(stackrestore) X(ret) X(exit) X(trap)     \
    X(nop) X(nanosleep) X(setmaxnreg) X(griddepcontrol_launch) X(griddepcontrol_wait)           \
    X(shfl) X(vote) X(vote_ballot) X(match_any) X(match_all) X(redux) X(redux_float) X(elect)   \
    X(activemask)                                                                               \
    X(bar_warp_sync) X(barrier_sync) X(barrier_arrive) X(barrier_red) X(barrier_cluster_arrive) \
    X(barrier_cluster_wait)                                                                     \
    X(mbarrier_init) X(mbarrier_inval) X(mbarrier_arrive) X(mbarrier_expect_tx)                 \
    X(mbarrier_complete_tx) X(mbarrier_wait) X(mbarrier_pending_count)                          \
    X(cp_async) X(cp_async_commit) X(cp_async_wait) X(cp_async_mbarrier_arrive)                 \
    X(cp_async_bulk_load) X(cp_async_bulk_store) X(cp_async_bulk_prefetch)                      \
    X(cp_async_bulk_commit) X(cp_async_bulk_wait) X(cp_reduce_async_bulk)                       \
    X(cp_async_bulk_tensor_load) X(cp_async_bulk_tensor_store) X(cp_async_bulk_tensor_prefetch) \
    X(cp_reduce_async_bulk_tensor)                                                              \
    X(tensormap_replace) X(tensormap_cp_fenceproxy) X(clc_try_cancel) X(clc_is_canceled)        \
    X(clc_first_ctaid)                                                                          \
    X(wmma_load) X(wmma_store) X(wmma_mma)
/* clang-format on */

#define PG_DECLARE(name) void pg_decode_##name(pg_decoder *d, pg_op *op);
PG_DECODE_FAMILIES(PG_DECLARE)
#undef PG_DECLARE

/* add.cc and relatives. */
typedef enum pg_carry_kind { PG_CARRY_ADD, PG_CARRY_SUB, PG_CARRY_MAD } pg_carry_kind;
typedef struct pg_carry {
    pg_carry_kind kind;
    bool in, out, high;
} pg_carry;
void pg_decode_carry(pg_decoder *d, pg_op *op, pg_carry carry);
/* and, or, xor, not and mov (PG_ALU_MOV) of predicates. */
void pg_decode_pred_logic(pg_decoder *d, pg_op *op, pg_alu alu);
pg_handler pg_relu_handler(bool max, bool packed);
/* Outcomes of a comparison, and those that make a PG_M_CMP_... true. compare.c */
enum {
    PG_OUTCOME_LESS = 1,
    PG_OUTCOME_EQUAL = 2,
    PG_OUTCOME_GREATER = 4,
    PG_OUTCOME_UNORDERED = 8
};
unsigned pg_accepted_outcomes(unsigned cmp);
/* PG_ROUND_RN for a modifier that is absent. */
pg_round pg_round_of(unsigned modifier);

#endif
