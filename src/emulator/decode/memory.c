/* Decoding of ld, st, atom, red, prefetch and fences. */
#include "emulator/memory/atomics.h"
#include "emulator/flow/control.h"
#include "emulator/decode/families.h"
#include "emulator/memory/load_store.h"
#include "emulator/machine/observer.h"

static bool is_strong(unsigned sem)
{
    return sem != PG_M_NONE && sem != PG_M_SEM_WEAK;
}

static void ordering(pg_decoder *d, pg_op *op)
{
    const unsigned sem = pg_mod(d, PG_F_SEM);
    if (is_strong(sem))
        op->flags |= PG_ACCESS_STRONG;
    if (sem == PG_M_SEM_ACQUIRE || sem == PG_M_SEM_ACQ_REL)
        op->flags |= PG_ACCESS_ACQUIRE;
    if (sem == PG_M_SEM_RELEASE || sem == PG_M_SEM_ACQ_REL)
        op->flags |= PG_ACCESS_RELEASE;
}

/* The registers of a data operand and the width that they share. */
static bool data_rows(pg_decoder *d, pg_op *op, const pg_ptx_operand *o, bool destination)
{
    const pg_ptx_type type = pg_type(d, 0);
    const bool vector = o->kind == PG_OPERAND_VECTOR;
    const uint32_t n = pg_vector_length(o);
    pg_row *rows = pg_new_rows(d, n);
    op->rows = rows;
    op->row_count = (uint16_t)n;
    op->count = (uint8_t)n;
    op->size = (uint8_t)(pg_ptx_type_bits(type) / 8);
    op->lane_bytes = 0;
    for (uint32_t i = 0; rows && i < n; i++) {
        const pg_ptx_operand *e = vector ? &o->elems[i] : o;
        rows[i] = destination ? pg_dest(d, e) : pg_source(d, e, type);
        if (e->kind != PG_OPERAND_REG && destination)
            continue;
        const unsigned bytes = pg_operand_lane_bytes(d, e, type);
        if (op->lane_bytes && op->lane_bytes != bytes && e->kind == PG_OPERAND_REG) {
            pg_decode_fail(d, "the registers of the vector have different widths");
            return false;
        }
        op->lane_bytes = (uint8_t)bytes;
    }
    if (!op->lane_bytes)
        op->lane_bytes = (uint8_t)pg_lane_bytes(type);
    if (op->size == 0)
        pg_decode_fail(d, "elements smaller than a byte are not accessed");
    return rows && op->size;
}

/* One plain element that fills its register. */
static bool is_whole_row(const pg_op *op)
{
    return op->count == 1 && op->size == op->lane_bytes && op->size >= 2 && op->size <= 8 &&
           !(op->flags & PG_ACCESS_STRONG);
}

void pg_decode_ld(pg_decoder *d, pg_op *op)
{
    const bool is_signed = pg_ptx_type_class_of(pg_type(d, 0)) == PG_CLASS_SIGNED;
    if (!data_rows(d, op, pg_operand(d, 0), true))
        return;
    ordering(d, op);
    if (d->opcode->op == PG_OP_LD_NC)
        op->flags |= PG_ACCESS_READ_ONLY;
    pg_address(d, op, pg_operand(d, 1), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    if (op->space == PG_MEM_PARAM && (op->flags & PG_ACCESS_NO_BASE))
        op->run = pg_load_param_handler(op->size, op->lane_bytes, is_signed);
    else
        op->run = is_whole_row(op) ? pg_load_row_handler(op->size)
                                   : pg_load_handler(op->size, op->lane_bytes, is_signed);
}

void pg_decode_st(pg_decoder *d, pg_op *op)
{
    if (!data_rows(d, op, pg_operand(d, 1), false))
        return;
    ordering(d, op);
    pg_address(d, op, pg_operand(d, 0), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    op->run = is_whole_row(op) ? pg_store_row_handler(op->size)
                               : pg_store_handler(op->size, op->lane_bytes);
}

static pg_atomic_op atomic_op(unsigned modifier)
{
    return (pg_atomic_op)(modifier - PG_M_OP_ADD);
}

static pg_atomic_type atomic_type(pg_ptx_type type)
{
    switch (type) {
    case PG_T_U32:
    case PG_T_B32:
        return PG_ATOMIC_U32;
    case PG_T_S32:
        return PG_ATOMIC_S32;
    case PG_T_U64:
    case PG_T_B64:
        return PG_ATOMIC_U64;
    case PG_T_S64:
        return PG_ATOMIC_S64;
    case PG_T_F32:
        return PG_ATOMIC_F32;
    case PG_T_F64:
        return PG_ATOMIC_F64;
    case PG_T_F16:
        return PG_ATOMIC_F16;
    case PG_T_BF16:
        return PG_ATOMIC_BF16;
    case PG_T_F16X2:
        return PG_ATOMIC_F16X2;
    case PG_T_BF16X2:
        return PG_ATOMIC_BF16X2;
    case PG_T_B128:
        return PG_ATOMIC_B128;
    default:
        return PG_ATOMIC_B16;
    }
}

/* Operands: result (atom), address, value. */
static void atomic(pg_decoder *d, pg_op *op, bool result, pg_atomic_op what)
{
    const pg_ptx_type type = pg_type(d, 0);
    const uint32_t at = result ? 1 : 0;
    const pg_ptx_operand *value = pg_operand(d, at + 1);
    const uint32_t n = pg_vector_length(value);
    pg_row *rows = pg_new_rows(d, 2 * n);
    pg_atomic_plan *plan = PG_NEW(d->arena, pg_atomic_plan);
    if (!rows || !plan)
        return;
    pg_vector_sources(d, value, type, rows);
    const pg_ptx_operand *to = pg_operand(d, 0);
    for (uint32_t i = 0; result && i < n; i++)
        rows[n + i] = pg_dest(d, to->kind == PG_OPERAND_VECTOR ? &to->elems[i] : to);
    *plan = (pg_atomic_plan){pg_atomic_combine(what, atomic_type(type)), what,
                             result && to->kind != PG_OPERAND_SINK};
    op->rows = rows;
    op->row_count = (uint16_t)(2 * n);
    op->count = (uint8_t)n;
    op->size = (uint8_t)(pg_ptx_type_bits(type) / 8);
    op->extra = plan;
    op->flags |= PG_ACCESS_STRONG;
    ordering(d, op);
    pg_address(d, op, pg_operand(d, at), pg_space_of_modifier(pg_mod(d, PG_F_SPACE)));
    if (what == PG_ATOMIC_CAS)
        op->c = pg_source(d, pg_operand(d, at + 2), type);
    if (plan->combine || what == PG_ATOMIC_EXCH || what == PG_ATOMIC_CAS)
        op->run = pg_op_atomic;
}

void pg_decode_atom(pg_decoder *d, pg_op *op)
{
    atomic(d, op, true, atomic_op(pg_mod(d, PG_F_OP)));
}

void pg_decode_atom_cas(pg_decoder *d, pg_op *op)
{
    atomic(d, op, true, PG_ATOMIC_CAS);
}

void pg_decode_red(pg_decoder *d, pg_op *op)
{
    atomic(d, op, false, atomic_op(pg_mod(d, PG_F_OP)));
}

/* A multimem address stands for the same memory of every device of a team. The emulated device is
 * the only one of its team, so what reduces over the team reduces one value. */
void pg_decode_multimem_ld(pg_decoder *d, pg_op *op)
{
    pg_decode_ld(d, op);
}

void pg_decode_multimem_st(pg_decoder *d, pg_op *op)
{
    pg_decode_st(d, op);
}

void pg_decode_multimem_red(pg_decoder *d, pg_op *op)
{
    pg_decode_red(d, op);
}

/* Hints: prefetch, discard and the like do nothing. */
void pg_decode_prefetch(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_nop;
}

void pg_decode_nop(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = pg_op_nop;
}

/* ---- fences ---- */

/* Host threads order their own accesses with this; within a cluster everything is in order
 * anyway. */
static pg_step fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    if (w->launch->host_threads > 1)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    PG_OBSERVE(w->launch, fence, w, op, lanes);
    return PG_NEXT;
}

static pg_step proxy_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, proxy_fence, w, op, lanes);
    return PG_NEXT;
}

static pg_step init_fence(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    PG_OBSERVE(w->launch, init_fence, w, op, lanes);
    return PG_NEXT;
}

void pg_decode_fence(pg_decoder *d, pg_op *op)
{
    const unsigned sem = pg_mod(d, PG_F_SEM); /* none: membar */
    op->flags = (uint8_t)((sem == PG_M_SEM_RELEASE ? 0 : PG_ACCESS_ACQUIRE) |
                          (sem == PG_M_SEM_ACQUIRE ? 0 : PG_ACCESS_RELEASE));
    op->mode = !sem || sem == PG_M_SEM_SC; /* membar is fence.sc */
    op->run = fence;
}

/* imm: the space it is limited to, PG_MEM_GENERIC for all; alias fences order nothing that we
 * model. */
void pg_decode_fence_proxy(pg_decoder *d, pg_op *op)
{
    op->space = (uint8_t)pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    op->run = pg_mod(d, PG_F_PROXY) == PG_M_PROXY_ALIAS ? pg_op_nop : proxy_fence;
}

void pg_decode_fence_proxy_tensormap(pg_decoder *d, pg_op *op)
{
    pg_decode_fence(d, op);
}

void pg_decode_fence_mbarrier_init(pg_decoder *d, pg_op *op)
{
    (void)d;
    op->run = init_fence;
}
