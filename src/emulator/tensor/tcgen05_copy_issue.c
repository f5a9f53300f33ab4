/* Issuing tcgen05.cp and tcgen05.shift: what can be refused then, and what the checker hears. */
#include "emulator/tensor/tcgen05_copy.h"

#include "emulator/machine/memory.h"
#include "emulator/machine/observer.h"
#include "emulator/machine/stop.h"
#include "emulator/tensor/tensor_memory.h"

/* The target in one CTA. Only .4x256b may begin at another lane than 0: it leaves lanes between
 * its rows alone. */
static bool check_target(pg_async *a, const pg_cta *cta)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    const uint32_t address = ((const pg_async_tcgen05_cp *)a)->address,
                   lane = pg_tensor_lane(address);
    const uint32_t most = p->shape == PG_COPY_4X256B ? PG_LANES : 1;
    if (lane >= most) {
        pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
                "tensor-memory address 0x%08x begins at lane %u; this shape fills lanes from %s",
                address, lane, most == 1 ? "lane 0 on" : "one of lanes 0 to 31 on");
        return false;
    }
    const pg_tensor_extent extent = {pg_tensor_column(address), PG_TENSOR_LANES,
                                     pg_tcgen05_copy_shapes[p->shape].bytes / 4};
    return pg_tensor_reachable(a->warp, a->op, cta, &extent, "target");
}

static bool check_cp(pg_async *a)
{
    pg_matrix_layout layout;
    const pg_tcgen05_cp_plan *p = a->op->extra;
    return pg_tcgen05_copy_layout(a, &layout) && check_target(a, a->warp->cta) &&
           (p->cta_group == 1 || check_target(a, pg_pair_of(a->warp->cta)));
}

static void tell_observer(pg_async *a, pg_cta *cta)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    const pg_tcgen05_copy_shape *s = &pg_tcgen05_copy_shapes[p->shape];
    const uint32_t address = ((const pg_async_tcgen05_cp *)a)->address,
                   lane = pg_tensor_lane(address);
    const pg_matrix_shape shape = pg_tcgen05_copy_source(s);
    pg_matrix_layout layout;
    if (!pg_tcgen05_copy_layout(a, &layout))
        return;
    const pg_matrix_extent e = pg_matrix_layout_extent(&layout, &shape);
    pg_tensor_area area =
        pg_tensor_area_at(pg_tensor_column(address), PG_TENSOR_LANES, s->bytes / 4);
    for (uint32_t i = 0; p->shape == PG_COPY_4X256B && i < PG_TENSOR_LANES / 16; i++)
        area.lanes[i] = (uint16_t)(i % 2 == lane / 16 ? 1u << lane % 16 : 0);
    area.writes = true;
    PG_OBSERVE(a->warp->launch, tensor_read, a, cta, e.first, e.end);
    PG_OBSERVE(a->warp->launch, matrix_operand, a, &layout, &shape);
    PG_OBSERVE(a->warp->launch, tensor_use, a, cta, &area);
}

pg_step pg_op_tcgen05_cp(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_tcgen05_cp_plan *p = op->extra;
    uint64_t address[PG_LANES];
    if (!pg_tensor_group(w, op, p->cta_group))
        return PG_STOP;
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_async *a = pg_async_new(w, op, &pg_kind_tcgen05_cp, (uint32_t)l);
        if (!a)
            return PG_STOP;
        ((pg_async_tcgen05_cp *)a)->descriptor = ((const uint64_t *)pg_row_at(w, p->descriptor))[l];
        ((pg_async_tcgen05_cp *)a)->address = (uint32_t)address[l];
        if (!check_cp(a)) {
            pg_async_free(w->cta->cluster, a);
            return PG_STOP;
        }
        pg_async_issue(a);
        if (w->launch->observer)
            tell_observer(a, w->cta);
        if (w->launch->observer && p->cta_group == 2)
            tell_observer(a, pg_pair_of(w->cta));
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}

/* ---- shift ---- */

static bool check_shift(pg_async *a, const pg_cta *cta)
{
    const uint32_t address = ((const pg_async_tcgen05_shift *)a)->address;
    const pg_tensor_extent extent = {address, PG_SHIFT_LANES, PG_SHIFT_COLUMNS};
    if (pg_tensor_lane(address) % PG_SHIFT_LANES == 0)
        return pg_tensor_reachable(a->warp, a->op, cta, &extent, "matrix");
    pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
            "tensor-memory address 0x%08x begins at lane %u, which is not a multiple of 32",
            address, pg_tensor_lane(address));
    return false;
}

static void tell_observer_of_shift(pg_async *a, pg_cta *cta)
{
    pg_tensor_area area = pg_tensor_area_at(((const pg_async_tcgen05_shift *)a)->address,
                                            PG_SHIFT_LANES, PG_SHIFT_COLUMNS);
    area.reads = area.writes = true;
    PG_OBSERVE(a->warp->launch, tensor_use, a, cta, &area);
}

pg_step pg_op_tcgen05_shift(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address[PG_LANES];
    if (!pg_tensor_group(w, op, op->mode))
        return PG_STOP;
    pg_addresses(w, op, lanes, address);
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        pg_async *a = pg_async_new(w, op, &pg_kind_tcgen05_shift, (uint32_t)l);
        if (!a)
            return PG_STOP;
        ((pg_async_tcgen05_shift *)a)->address = (uint32_t)address[l];
        if (!check_shift(a, w->cta) || (op->mode == 2 && !check_shift(a, pg_pair_of(w->cta)))) {
            pg_async_free(w->cta->cluster, a);
            return PG_STOP;
        }
        pg_async_issue(a);
        if (w->launch->observer)
            tell_observer_of_shift(a, w->cta);
        if (w->launch->observer && op->mode == 2)
            tell_observer_of_shift(a, pg_pair_of(w->cta));
    }
    w->cta->cluster->progress++;
    return PG_NEXT;
}
