/* Decoding of the tcgen05 instructions. */
#include "emulator/decode/decode.h"
#include "emulator/decode/families.h"
#include "emulator/tensor/tcgen05.h"

static uint32_t cta_group(const pg_decoder *d)
{
    return pg_mod(d, PG_F_CTA_GROUP) == PG_M_CTA_GROUP_G2 ? 2 : 1;
}

/* A tensor-memory address that is not the op's own. */
static void tensor_address(pg_decoder *d, pg_op *other, uint32_t i)
{
    memset(other, 0, sizeof *other);
    pg_address(d, other, pg_operand(d, i), PG_MEM_GENERIC);
}

/* ---- the alloc family ---- */

void pg_decode_tcgen05_alloc(pg_decoder *d, pg_op *op)
{
    pg_address(d, op, pg_operand(d, 0), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    op->b = pg_source(d, pg_operand(d, 1), PG_T_U32);
    op->mode = (uint8_t)cta_group(d);
    op->run = pg_op_tcgen05_alloc;
}

void pg_decode_tcgen05_dealloc(pg_decoder *d, pg_op *op)
{
    op->a = pg_source(d, pg_operand(d, 0), PG_T_B32);
    op->b = pg_source(d, pg_operand(d, 1), PG_T_U32);
    op->mode = (uint8_t)cta_group(d);
    op->run = pg_op_tcgen05_dealloc;
}

void pg_decode_tcgen05_relinquish(pg_decoder *d, pg_op *op)
{
    op->mode = (uint8_t)cta_group(d);
    op->run = pg_op_tcgen05_relinquish;
}

/* ---- ld, st, wait, fence ---- */

static pg_tensor_shape move_shape(unsigned modifier)
{
    switch (modifier) {
    case PG_M_SHAPE_S_16X64B:
        return PG_TENSOR_16X64B;
    case PG_M_SHAPE_S_16X128B:
        return PG_TENSOR_16X128B;
    case PG_M_SHAPE_S_16X256B:
        return PG_TENSOR_16X256B;
    case PG_M_SHAPE_S_16X32BX2:
        return PG_TENSOR_16X32BX2;
    default:
        return PG_TENSOR_32X32B;
    }
}

/* The operands in the order of the row: the vector of registers at `vector`, the address at
 * `address`, after it the offset of the second half. */
static void move(pg_decoder *d, pg_op *op, uint32_t vector, uint32_t address)
{
    pg_tcgen05_move_plan *p = PG_NEW(d->arena, pg_tcgen05_move_plan);
    const uint32_t count = pg_vector_length(pg_operand(d, vector));
    pg_row *rows = p ? pg_new_rows(d, count + 1) : NULL;
    if (!rows)
        return;
    p->shape = move_shape(pg_mod(d, PG_F_SHAPE));
    p->packed = pg_mod(d, PG_F_PACK) != 0;
    if (p->shape == PG_TENSOR_16X32BX2)
        p->split = (uint32_t)pg_immediate(d, pg_operand(d, address + 1));
    pg_address(d, op, pg_operand(d, address), PG_MEM_GENERIC);
    pg_vector_sources(d, pg_operand(d, vector), PG_T_B32, rows);
    op->rows = rows;
    op->row_count = (uint16_t)count;
    op->extra = p;
}

void pg_decode_tcgen05_ld(pg_decoder *d, pg_op *op)
{
    move(d, op, 0, 1);
    op->run = pg_op_tcgen05_ld;
}

void pg_decode_tcgen05_ld_red(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    move(d, op, 0, 2);
    pg_tcgen05_move_plan *p = (pg_tcgen05_move_plan *)op->extra;
    if (!p)
        return;
    p->reduction = type == PG_T_F32   ? PG_TENSOR_RED_F32
                   : type == PG_T_U32 ? PG_TENSOR_RED_U32
                                      : PG_TENSOR_RED_S32;
    p->max = pg_mod(d, PG_F_OP) == PG_M_OP_MAX;
    p->magnitude = pg_mod(d, PG_F_ABS) != 0;
    p->nan = pg_mod(d, PG_F_NAN) != 0;
    ((pg_row *)op->rows)[op->row_count++] = pg_dest(d, pg_operand(d, 1));
    op->run = pg_op_tcgen05_ld;
}

void pg_decode_tcgen05_st(pg_decoder *d, pg_op *op)
{
    move(d, op, d->insn->n_operands - 1, 0);
    op->run = pg_op_tcgen05_st;
}

void pg_decode_tcgen05_wait(pg_decoder *d, pg_op *op)
{
    op->mode = d->opcode->op == PG_OP_TCGEN05_WAIT_ST;
    op->run = pg_op_tcgen05_wait;
}

void pg_decode_tcgen05_fence(pg_decoder *d, pg_op *op)
{
    op->mode = d->opcode->op == PG_OP_TCGEN05_FENCE_AFTER;
    op->run = pg_op_tcgen05_fence;
}

/* ---- cp, shift, commit ---- */

static pg_tensor_copy_shape copy_shape(const pg_decoder *d)
{
    switch (pg_mod(d, PG_F_SHAPE)) {
    case PG_M_SHAPE_S_128X128B:
        return PG_COPY_128X128B;
    case PG_M_SHAPE_S_4X256B:
        return PG_COPY_4X256B;
    case PG_M_SHAPE_S_32X128B:
        return PG_COPY_32X128B_X4;
    case PG_M_SHAPE_S_64X128B:
        return pg_mod(d, PG_F_WARPX) == PG_M_WARPX_X2_02_13 ? PG_COPY_64X128B_02_13
                                                            : PG_COPY_64X128B_01_23;
    default:
        return PG_COPY_128X256B;
    }
}

void pg_decode_tcgen05_cp(pg_decoder *d, pg_op *op)
{
    pg_tcgen05_cp_plan *p = PG_NEW(d->arena, pg_tcgen05_cp_plan);
    if (!p)
        return;
    const unsigned format = pg_mod(d, PG_F_SOURCE_FORMAT);
    if ((format != 0) != (pg_mod(d, PG_F_FORMAT) != 0)) {
        pg_decode_fail(d, ".b8x16 and the format of the source go together");
        return;
    }
    p->shape = copy_shape(d);
    p->unpack = format == PG_M_SOURCE_FORMAT_B4X16_P64   ? PG_UNPACK_4BIT
                : format == PG_M_SOURCE_FORMAT_B6X16_P32 ? PG_UNPACK_6BIT
                                                         : PG_UNPACK_NONE;
    p->cta_group = cta_group(d);
    p->descriptor = pg_source(d, pg_operand(d, 1), PG_T_B64);
    pg_address(d, op, pg_operand(d, 0), PG_MEM_GENERIC);
    op->extra = p;
    op->run = pg_op_tcgen05_cp;
}

void pg_decode_tcgen05_shift(pg_decoder *d, pg_op *op)
{
    pg_address(d, op, pg_operand(d, 0), PG_MEM_GENERIC);
    op->mode = (uint8_t)cta_group(d);
    op->run = pg_op_tcgen05_shift;
}

void pg_decode_tcgen05_commit(pg_decoder *d, pg_op *op)
{
    pg_tcgen05_commit_plan *p = PG_NEW(d->arena, pg_tcgen05_commit_plan);
    if (!p)
        return;
    p->cta_group = cta_group(d);
    p->has_multicast = pg_mod(d, PG_F_MULTICAST) != 0;
    if (p->has_multicast)
        p->multicast = pg_source(d, pg_operand(d, 1), PG_T_U16);
    pg_address(d, op, pg_operand(d, 0), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    op->extra = p;
    op->run = pg_op_tcgen05_commit;
}

/* ---- mma ---- */

static pg_tcgen05_kind kind_of(unsigned modifier)
{
    switch (modifier) {
    case PG_M_KIND_TF32:
        return PG_KIND_TF32;
    case PG_M_KIND_F8F6F4:
        return PG_KIND_F8F6F4;
    case PG_M_KIND_I8:
        return PG_KIND_I8;
    case PG_M_KIND_MXF8F6F4:
        return PG_KIND_MXF8F6F4;
    case PG_M_KIND_MXF4:
        return PG_KIND_MXF4;
    case PG_M_KIND_MXF4NVF4:
        return PG_KIND_MXF4NVF4;
    default:
        return PG_KIND_F16;
    }
}

/* Elements along K that share a scale factor. */
static uint32_t scale_block(const pg_decoder *d)
{
    if (!pg_mod(d, PG_F_BLOCK_SCALE))
        return 0;
    const unsigned vec = pg_mod(d, PG_F_SCALE_VEC);
    return vec == PG_M_SCALE_VEC_V4 || vec == PG_M_SCALE_VEC_BLOCK16 ? 16 : 32;
}

/* What begins all forms: D, A, B, with .sp the indices of A, instruction descriptor. Returns the
 * operand behind them. */
static uint32_t mma_matrices(pg_decoder *d, pg_op *op, pg_tcgen05_mma_plan *p)
{
    uint32_t next = 3;
    const pg_ptx_operand *a = pg_operand(d, 1);
    pg_address(d, op, pg_operand(d, 0), PG_MEM_GENERIC);
    p->a_in_tensor = a->kind == PG_OPERAND_ADDRESS;
    if (p->a_in_tensor)
        tensor_address(d, &p->a, 1);
    else
        p->a_descriptor = pg_source(d, a, PG_T_B64);
    p->b_descriptor = pg_source(d, pg_operand(d, 2), PG_T_B64);
    if (p->form.sparse)
        tensor_address(d, &p->indices, next++);
    p->instruction = pg_source(d, pg_operand(d, next++), PG_T_B32);
    return next;
}

static bool is_sparse(pg_ptx_op op)
{
    return op == PG_OP_TCGEN05_MMA_SP || op == PG_OP_TCGEN05_MMA_SP_F8F6F4 ||
           op == PG_OP_TCGEN05_MMA_SP_MXF8F6F4 || op == PG_OP_TCGEN05_MMA_SP_MXF4 ||
           op == PG_OP_TCGEN05_MMA_SP_MXF4NVF4 || op == PG_OP_TCGEN05_MMA_WS_SP;
}

/* [D], A, B, ([indices],) idesc, then: scales of A and B, p; or with .ws: p, zero columns; or:
 * lanes, p, scale of D. */
void pg_decode_tcgen05_mma(pg_decoder *d, pg_op *op)
{
    pg_tcgen05_mma_plan *p = PG_NEW(d->arena, pg_tcgen05_mma_plan);
    if (!p)
        return;
    p->form.kind = kind_of(pg_mod(d, PG_F_KIND));
    p->form.cta_group = cta_group(d);
    p->ashift = pg_mod(d, PG_F_ASHIFT) != 0;
    p->form.scale_block = scale_block(d);
    p->form.ws = d->opcode->op == PG_OP_TCGEN05_MMA_WS || d->opcode->op == PG_OP_TCGEN05_MMA_WS_SP;
    p->form.sparse = is_sparse(d->opcode->op);
    uint32_t next = mma_matrices(d, op, p);
    if (p->form.scale_block) {
        tensor_address(d, &p->scale_a, next++);
        tensor_address(d, &p->scale_b, next++);
    } else if (!p->form.ws && pg_operand_present(d, next++)) {
        p->mask_count = pg_vector_length(pg_operand(d, next - 1));
        pg_vector_sources(d, pg_operand(d, next - 1), PG_T_B32, p->masks);
    }
    op->p = pg_source_pred(d, pg_operand(d, next++), &op->p_not);
    p->has_zero_columns = p->form.ws && pg_operand_present(d, next);
    if (p->has_zero_columns)
        p->zero_columns = pg_source(d, pg_operand(d, next), PG_T_B64);
    else if (pg_operand_present(d, next))
        p->scale_d = (uint32_t)pg_immediate(d, pg_operand(d, next));
    op->extra = p;
    op->run = pg_op_tcgen05_mma;
}
