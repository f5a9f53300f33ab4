/* Issuing tcgen05.mma: reads the operands of every active lane and queues the operation. What
 * they mean, and the arithmetic, is in tcgen05_mma.c. PTX ISA 9.0, section 9.7.16.10. */
#include "emulator/tensor/tcgen05.h"
#include "emulator/machine/memory.h"
#include "emulator/tensor/tensor_memory.h"
#include "emulator/machine/observer.h"

/* Bits 30 and 31 of a scale address: libraries keep the scale id there that they write into the
 * instruction descriptor, which is where it is read. */
#define SCALE_ID 0xc0000000u

static uint32_t lane_address(const pg_warp *w, const pg_op *operand, uint32_t lane)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, operand, 1u << lane, address);
    return (uint32_t)address[lane];
}

static uint32_t lane_u32(const pg_warp *w, pg_row row, uint32_t lane)
{
    return ((const uint32_t *)pg_row_at(w, row))[lane];
}

static uint64_t lane_u64(const pg_warp *w, pg_row row, uint32_t lane)
{
    return ((const uint64_t *)pg_row_at(w, row))[lane];
}

static void read_operands(pg_async *a)
{
    const pg_warp *w = a->warp;
    const pg_tcgen05_mma_plan *p = a->op->extra;
    pg_async_tcgen05_mma *m = (pg_async_tcgen05_mma *)a;
    m->d = lane_address(w, a->op, a->lane);
    if (p->a_in_tensor)
        m->a = lane_address(w, &p->a, a->lane);
    else
        m->a_descriptor = lane_u64(w, p->a_descriptor, a->lane);
    m->b_descriptor = lane_u64(w, p->b_descriptor, a->lane);
    if (p->form.sparse)
        m->indices = lane_address(w, &p->indices, a->lane);
    m->instruction = lane_u32(w, p->instruction, a->lane);
    if (p->form.scale_block) {
        m->scale_a = lane_address(w, &p->scale_a, a->lane) & ~SCALE_ID;
        m->scale_b = lane_address(w, &p->scale_b, a->lane) & ~SCALE_ID;
    }
    for (uint32_t i = 0; i < p->mask_count; i++)
        m->masks[i] = lane_u32(w, p->masks[i], a->lane);
    if (p->has_zero_columns)
        m->zero_columns = lane_u64(w, p->zero_columns, a->lane);
    m->add_d = pg_pred_lanes(w, a->op->p, a->op->p_not) >> a->lane & 1;
}

pg_step pg_op_tcgen05_mma(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_tcgen05_mma_plan *p = op->extra;
    if (!pg_tensor_group(w, op, p->form.cta_group))
        return PG_STOP;
    for (uint32_t left = lanes; left; left &= left - 1) {
        pg_async *a = pg_async_new(w, op, &pg_kind_tcgen05_mma, (uint32_t)__builtin_ctz(left));
        if (!a)
            return PG_STOP;
        read_operands(a);
        if (!pg_tcgen05_mma_prepare(a)) {
            pg_async_free(w->cta->cluster, a);
            return PG_STOP;
        }
        pg_async_issue(a);
        PG_OBSERVE(w->launch, tensor_mma, a);
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}
