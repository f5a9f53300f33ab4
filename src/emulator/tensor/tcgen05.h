/* tcgen05 on the emulated machine: what the decoder keeps about each instruction, what an issued
 * asynchronous one carries, the handlers, and the order among pending ones.
 *
 * cp, mma, shift and commit are asynchronous: every active lane issues one into the cluster's
 * queue (async.h). Descriptors, predicates and tensor-memory addresses are read at issue, data
 * when the operation is carried out. ld and st move data at issue; what the ISA leaves unordered
 * about them is the checker's business. The alloc family blocks until it can be carried out.
 * Source: PTX ISA 9.0, section 9.7.16. */
#ifndef PG_EMULATOR_TCGEN05_H
#define PG_EMULATOR_TCGEN05_H

#include "emulator/machine/async.h"
#include "emulator/memory/barrier.h"
#include "emulator/tensor/tcgen05_descriptor.h"

/* ---- cp ---- */

typedef enum pg_tensor_copy_shape {
    PG_COPY_128X256B,
    PG_COPY_128X128B,
    PG_COPY_64X128B_02_13,
    PG_COPY_64X128B_01_23,
    PG_COPY_32X128B_X4,
    PG_COPY_4X256B
} pg_tensor_copy_shape;
/* How 16 elements lie in each 16 bytes of the source; in tensor memory each takes a byte (see
 * unpack in tcgen05_copy.c). */
typedef enum pg_tensor_unpack { PG_UNPACK_NONE, PG_UNPACK_4BIT, PG_UNPACK_6BIT } pg_tensor_unpack;

/* op->extra; the op's address operand is the target. */
typedef struct pg_tcgen05_cp_plan {
    pg_tensor_copy_shape shape;
    pg_tensor_unpack unpack;
    uint32_t cta_group;
    pg_row descriptor; /* 64-bit */
} pg_tcgen05_cp_plan;

typedef struct pg_async_tcgen05_cp {
    pg_async head;
    uint64_t descriptor;
    uint32_t address;
} pg_async_tcgen05_cp;

/* ---- mma ---- */

enum { PG_TCGEN05_LANE_MASKS = 8 };

/* op->extra; the op's address operand is D, op->p the predicate that adds D. */
typedef struct pg_tcgen05_mma_plan {
    pg_tcgen05_form form;
    bool ashift;
    bool a_in_tensor;
    pg_op a;                /* address operand, if a_in_tensor */
    pg_row a_descriptor;    /* 64-bit, otherwise */
    pg_row b_descriptor;    /* 64-bit */
    pg_op indices;          /* address operand, if form.sparse */
    pg_row instruction;     /* 32-bit instruction descriptor */
    pg_op scale_a, scale_b; /* address operands, if form.scale_block */
    uint32_t mask_count;    /* words of the mask of lanes of D that are not written: 0, 4, 8 */
    pg_row masks[PG_TCGEN05_LANE_MASKS];
    bool has_zero_columns; /* .ws: zero-column mask descriptor */
    pg_row zero_columns;   /* 64-bit */
    uint32_t scale_d;      /* D is multiplied by 2^-scale_d before the sum */
} pg_tcgen05_mma_plan;

typedef struct pg_async_tcgen05_mma {
    pg_async head;
    uint64_t a_descriptor, b_descriptor, zero_columns;
    uint32_t d, a, indices, scale_a, scale_b; /* tensor-memory addresses */
    uint32_t instruction;
    uint32_t masks[PG_TCGEN05_LANE_MASKS];
    bool add_d;         /* else D = A * B */
    uint32_t d_columns; /* of D, in every CTA that holds a part; set by pg_tcgen05_mma_prepare */
} pg_async_tcgen05_mma;

/* ---- shift, commit ---- */

typedef struct pg_async_tcgen05_shift {
    pg_async head;
    uint32_t address;
} pg_async_tcgen05_shift;

/* op->extra; the op's address operand is the mbarrier. */
typedef struct pg_tcgen05_commit_plan {
    uint32_t cta_group;
    bool has_multicast;
    pg_row multicast; /* 16-bit */
} pg_tcgen05_commit_plan;

typedef struct pg_async_tcgen05_commit {
    pg_async head;
    pg_mbarrier_signal signal;
    uint16_t cta_mask; /* CTAs whose mbarrier at signal.offset is signalled; 0: signal.cta alone */
} pg_async_tcgen05_commit;

/* ---- ld, st ---- */

typedef enum pg_tensor_shape {
    PG_TENSOR_32X32B,
    PG_TENSOR_16X64B,
    PG_TENSOR_16X128B,
    PG_TENSOR_16X256B,
    PG_TENSOR_16X32BX2
} pg_tensor_shape;

/* .red: the smallest or largest of what a thread loads. */
typedef enum pg_tensor_reduction {
    PG_TENSOR_RED_NONE,
    PG_TENSOR_RED_F32,
    PG_TENSOR_RED_U32,
    PG_TENSOR_RED_S32
} pg_tensor_reduction;

/* op->extra; the op's address operand is the tensor-memory address, op->rows are the registers, and
 * behind them the one that gets what is reduced. */
typedef struct pg_tcgen05_move_plan {
    pg_tensor_shape shape;
    bool packed;    /* a register holds the low halves of two neighbouring columns */
    uint32_t split; /* .16x32bx2: columns between the parts of the two half warps */
    pg_tensor_reduction reduction;
    bool max, magnitude, nan; /* of f32: .abs, .NaN */
} pg_tcgen05_move_plan;

/* Where register `reg` of thread `thread` lies, from the instruction's address on. Without
 * packing. */
typedef struct pg_tensor_place {
    uint32_t lane, column;
} pg_tensor_place;
pg_tensor_place pg_tensor_place_of(pg_tensor_shape shape, uint32_t thread, uint32_t reg);
/* A shape: `lanes` it reaches, and the columns that `registers` registers of a thread, its unit
 * of repetition, take. */
typedef struct pg_tensor_shape_info {
    uint8_t lanes, registers, columns;
} pg_tensor_shape_info;
pg_tensor_shape_info pg_tensor_shape_of(pg_tensor_shape shape);

/* ---- handlers ---- */

/* alloc: address operand in shared memory, a: it; b: columns. dealloc: a: address, b: columns.
 * mode: cta_group. */
pg_step pg_op_tcgen05_alloc(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_dealloc(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_relinquish(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_ld(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_st(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_wait(pg_warp *w, const pg_op *op, uint32_t lanes); /* mode: 0 ld, 1 st */
pg_step pg_op_tcgen05_fence(pg_warp *w, const pg_op *op,
                            uint32_t lanes); /* mode: 0 before, 1 after */
pg_step pg_op_tcgen05_cp(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_mma(pg_warp *w, const pg_op *op, uint32_t lanes);
pg_step pg_op_tcgen05_shift(pg_warp *w, const pg_op *op, uint32_t lanes); /* mode: cta_group */
pg_step pg_op_tcgen05_commit(pg_warp *w, const pg_op *op, uint32_t lanes);

/* False with a stop: the last warp of the CTA leaves columns allocated. */
bool pg_tensor_all_given_back(pg_warp *w, const pg_op *op);

/* ---- completion; false: the launch has been stopped ---- */

extern const pg_async_kind pg_kind_tcgen05_cp, pg_kind_tcgen05_mma, pg_kind_tcgen05_shift,
    pg_kind_tcgen05_commit;
bool pg_tcgen05_cp_execute(pg_async *a);
/* At issue: everything that can be refused then, and d_columns. */
bool pg_tcgen05_mma_prepare(pg_async *a);
bool pg_tcgen05_mma_execute(pg_async *a);
bool pg_tcgen05_shift_execute(pg_async *a);

#endif
