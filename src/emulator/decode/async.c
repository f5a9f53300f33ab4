/* Decoding of cp.async, bulk and tensor copies, st.async and red.async. */
#include "emulator/copy/copies.h"
#include "emulator/flow/control.h"
#include "emulator/decode/families.h"

/* An address operand other than the op's own. */
static void other_address(pg_decoder *d, pg_op *other, uint32_t i, pg_space space)
{
    memset(other, 0, sizeof *other);
    pg_address(d, other, pg_operand(d, i), space);
}

static pg_bulk_operands *new_operands(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = PG_NEW(d->arena, pg_bulk_operands);
    op->extra = o;
    return o;
}

static pg_space space_of(const pg_decoder *d)
{
    return pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
}

static pg_space source_of(const pg_decoder *d)
{
    return pg_space_of_modifier(pg_mod(d, PG_F_SOURCE));
}

static void barrier_operand(pg_decoder *d, pg_bulk_operands *o, uint32_t i)
{
    other_address(d, &o->barrier, i, space_of(d));
    o->has_barrier = true;
}

static void multicast_operand(pg_decoder *d, pg_bulk_operands *o, uint32_t i)
{
    if (!pg_mod(d, PG_F_MULTICAST) || !pg_operand_present(d, i))
        return;
    o->multicast = pg_source(d, pg_operand(d, i), PG_T_U16);
    o->has_multicast = true;
}

static pg_reduce_op reduce_op(const pg_decoder *d)
{
    switch (pg_mod(d, PG_F_OP)) {
    case PG_M_OP_MIN:
        return PG_REDUCE_MIN;
    case PG_M_OP_MAX:
        return PG_REDUCE_MAX;
    case PG_M_OP_INC:
        return PG_REDUCE_INC;
    case PG_M_OP_DEC:
        return PG_REDUCE_DEC;
    case PG_M_OP_AND:
        return PG_REDUCE_AND;
    case PG_M_OP_OR:
        return PG_REDUCE_OR;
    case PG_M_OP_XOR:
        return PG_REDUCE_XOR;
    default:
        return PG_REDUCE_ADD;
    }
}

static pg_tensor_type element_type(pg_decoder *d, pg_ptx_type type)
{
    switch (type) {
    case PG_T_U32:
    case PG_T_B32:
        return PG_TENSOR_U32;
    case PG_T_S32:
        return PG_TENSOR_S32;
    case PG_T_U64:
    case PG_T_B64:
        return PG_TENSOR_U64;
    case PG_T_S64:
        return PG_TENSOR_S64;
    case PG_T_F16:
        return PG_TENSOR_F16;
    case PG_T_BF16:
        return PG_TENSOR_BF16;
    case PG_T_F32:
        return PG_TENSOR_F32;
    case PG_T_F64:
        return PG_TENSOR_F64;
    default:
        pg_decode_fail(d, "bulk reductions of this type are not executed");
        return PG_TENSOR_U32;
    }
}

void pg_decode_cp_async_bulk_load(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o)
        return;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    other_address(d, &o->source, 1, source_of(d));
    o->bytes = pg_source(d, pg_operand(d, 2), PG_T_U32);
    barrier_operand(d, o, 3);
    multicast_operand(d, o, 4);
    op->run = pg_op_bulk_load;
}

void pg_decode_cp_async_bulk_store(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o)
        return;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    other_address(d, &o->source, 1, source_of(d));
    o->bytes = pg_source(d, pg_operand(d, 2), PG_T_U32);
    o->has_byte_mask = pg_mod(d, PG_F_CP_MASK) != 0;
    if (o->has_byte_mask)
        o->byte_mask = pg_source(d, pg_operand(d, 4), PG_T_U16);
    op->run = pg_op_bulk_store;
}

void pg_decode_cp_reduce_async_bulk(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o)
        return;
    const bool to_cluster = pg_mod(d, PG_F_COMPLETION) == PG_M_COMPLETION_MBARRIER;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    other_address(d, &o->source, 1, source_of(d));
    o->bytes = pg_source(d, pg_operand(d, 2), PG_T_U32);
    o->is_reduction = true;
    o->reduce = reduce_op(d);
    o->type = element_type(d, pg_type(d, 0));
    if (to_cluster)
        barrier_operand(d, o, 3);
    op->run = to_cluster ? pg_op_bulk_reduce_cluster : pg_op_bulk_store;
}

/* The coordinates after the base of a tensor operand. */
static bool coordinates(pg_decoder *d, pg_bulk_operands *o, uint32_t i)
{
    const pg_ptx_operand *address = pg_operand(d, i);
    const unsigned mode = pg_mod(d, PG_F_TENSOR);
    const pg_ptx_operand *vector = address->n_elems ? &address->elems[0] : NULL;
    o->rank = pg_mod(d, PG_F_DIM) - PG_M_DIM_D1 + 1;
    o->four_rows = mode == PG_M_TENSOR_GATHER4 || mode == PG_M_TENSOR_SCATTER4;
    if (!vector || o->rank > PG_TENSOR_MAX_RANK ||
        pg_vector_length(vector) != pg_tensor_coordinates(o)) {
        pg_decode_fail(d, "this copy of %u dimensions needs %u coordinates", o->rank,
                       pg_tensor_coordinates(o));
        return false;
    }
    pg_vector_sources(d, vector, PG_T_S32, o->coords);
    o->wide = mode == PG_M_TENSOR_IM2COL_W       ? PG_IM2COL_W
              : mode == PG_M_TENSOR_IM2COL_W_128 ? PG_IM2COL_W128
                                                 : PG_IM2COL_WHOLE;
    o->im2col = o->wide || mode == PG_M_TENSOR_IM2COL || mode == PG_M_TENSOR_IM2COL_NO_OFFS;
    return true;
}

void pg_decode_cp_async_bulk_tensor_im2col(pg_decoder *d, pg_op *op)
{
    pg_decode_cp_async_bulk_tensor_load(d, op);
    pg_bulk_operands *o = (pg_bulk_operands *)op->extra;
    if (!o || !op->run)
        return;
    o->offset_count = pg_vector_length(pg_operand(d, 3));
    const uint32_t needs = o->wide ? 2 : o->rank - 2;
    if (o->offset_count != needs) {
        pg_decode_fail(d, "this im2col copy of %u dimensions needs %u offsets, not %u", o->rank,
                       needs, o->offset_count);
        return;
    }
    pg_vector_sources(d, pg_operand(d, 3), PG_T_U16, o->offsets);
}

void pg_decode_cp_async_bulk_tensor_load(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o || !coordinates(d, o, 1))
        return;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    other_address(d, &o->source, 1, PG_MEM_GENERIC);
    barrier_operand(d, o, 2);
    multicast_operand(d, o, o->im2col ? 4 : 3);
    o->pair = pg_mod(d, PG_F_CTA_GROUP) == PG_M_CTA_GROUP_G2;
    op->run = pg_op_tensor_load;
}

void pg_decode_cp_async_bulk_tensor_store(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o || !coordinates(d, o, 0))
        return;
    pg_address(d, op, pg_operand(d, 0), PG_MEM_GENERIC);
    other_address(d, &o->source, 1, source_of(d));
    op->run = pg_op_tensor_store;
}

void pg_decode_cp_reduce_async_bulk_tensor(pg_decoder *d, pg_op *op)
{
    pg_decode_cp_async_bulk_tensor_store(d, op);
    pg_bulk_operands *o = (pg_bulk_operands *)op->extra;
    if (!o)
        return;
    o->is_reduction = true;
    o->reduce = reduce_op(d);
}

/* Prefetches move nothing that a program could see. */
void pg_decode_cp_async_bulk_prefetch(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_nop;
}

void pg_decode_cp_async_bulk_tensor_prefetch(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_nop;
}

void pg_decode_cp_async_bulk_commit(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_bulk_commit;
}

void pg_decode_cp_async_bulk_wait(pg_decoder *d, pg_op *op)
{
    op->imm = pg_immediate(d, pg_operand(d, 0));
    op->mode = pg_mod(d, PG_F_READ) != 0;
    op->run = pg_op_bulk_wait;
}

/* ---- cp.async ---- */

/* imm of the copy: bytes; the optional fourth operand is the source size, or a predicate to
 * ignore the source. */
void pg_decode_cp_async(pg_decoder *d, pg_op *op)
{
    pg_bulk_operands *o = new_operands(d, op);
    if (!o)
        return;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    other_address(d, &o->source, 1, source_of(d));
    op->size = (uint8_t)pg_immediate(d, pg_operand(d, 2));
    op->count = 1;
    const pg_ptx_operand *limit = pg_operand_present(d, 3) ? pg_operand(d, 3) : NULL;
    const bool is_pred =
        limit && limit->kind == PG_OPERAND_REG && d->function->reg_types[limit->index] == PG_T_PRED;
    if (is_pred)
        op->q = pg_source_pred(d, limit, &op->q_not);
    o->bytes = limit && !is_pred ? pg_source(d, limit, PG_T_U32) : pg_const_u32(d, op->size);
    if (op->size != 4 && op->size != 8 && op->size != 16)
        pg_decode_fail(d, "cp.async copies 4, 8 or 16 bytes, not %u", op->size);
    op->run = pg_op_cp_async;
}

void pg_decode_cp_async_commit(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_cp_async_commit;
}

void pg_decode_cp_async_wait(pg_decoder *d, pg_op *op)
{
    op->imm = d->insn->n_operands == 0 ? UINT64_MAX : pg_immediate(d, pg_operand(d, 0));
    op->run = pg_op_cp_async_wait;
}

/* mode: 1 .noinc */
void pg_decode_cp_async_mbarrier_arrive(pg_decoder *d, pg_op *op)
{
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    op->mode = pg_mod(d, PG_F_NOINC) != 0;
    op->run = pg_op_cp_async_arrive;
}

/* ---- st.async, red.async ---- */

static void remote(pg_decoder *d, pg_op *op, bool is_reduction)
{
    const pg_ptx_type type = pg_type(d, 0);
    const pg_ptx_operand *value = pg_operand(d, 1);
    pg_bulk_operands *o = new_operands(d, op);
    const uint32_t n = pg_vector_length(value);
    pg_row *rows = pg_new_rows(d, n);
    if (!o || !rows || !pg_mod(d, PG_F_COMPLETION))
        return;
    pg_address(d, op, pg_operand(d, 0), space_of(d));
    pg_vector_sources(d, value, type, rows);
    op->rows = rows;
    op->row_count = (uint16_t)n;
    op->count = (uint8_t)n;
    op->size = (uint8_t)(pg_ptx_type_bits(type) / 8);
    op->lane_bytes = (uint8_t)pg_operand_lane_bytes(
        d, value->kind == PG_OPERAND_VECTOR ? &value->elems[0] : value, type);
    barrier_operand(d, o, 2);
    o->is_reduction = is_reduction;
    if (is_reduction) {
        o->reduce = reduce_op(d);
        o->type = element_type(d, type == PG_T_S64 ? PG_T_U64 : type); /* only added */
    }
    op->run = op->size * n <= 16 ? pg_op_remote_async : NULL;
}

void pg_decode_st_async(pg_decoder *d, pg_op *op)
{
    remote(d, op, false);
}

void pg_decode_red_async(pg_decoder *d, pg_op *op)
{
    remote(d, op, true);
}
