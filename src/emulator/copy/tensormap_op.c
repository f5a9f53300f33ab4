/* See tensormap_op.h. A map is reached as two halves of 64 bytes, which is its alignment. */
#include "emulator/copy/tensormap_op.h"

#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/machine/observer.h"

enum { HALF = PG_TENSOR_MAP_BYTES / 2 };

/* Host addresses of the maps that the op's address operand names. */
static bool resolve_maps(pg_warp *w, const pg_op *op, uint32_t lanes, pg_access_kind kind,
                         uint8_t **at)
{
    uint64_t address[PG_LANES];
    uint8_t *upper[PG_LANES];
    pg_addresses(w, op, lanes, address);
    if (!pg_resolve_at(w, op, &(pg_checked_access){lanes, HALF, kind, address, NULL}, at))
        return false;
    for (uint32_t left = lanes; left; left &= left - 1)
        address[__builtin_ctz(left)] += HALF;
    return pg_resolve_at(w, op, &(pg_checked_access){lanes, HALF, kind, address, NULL}, upper);
}

pg_step pg_op_tensormap_replace(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const pg_tensormap_plan *p = op->extra;
    const void *values = pg_row_at(w, p->value);
    uint8_t *at[PG_LANES];
    ptxgen_error err = {0};
    if (!resolve_maps(w, op, lanes, PG_ACCESS_ATOMIC, at))
        return PG_STOP;
    w->cta->cluster->progress++;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t value =
            p->wide ? ((const uint64_t *)values)[l] : ((const uint32_t *)values)[l];
        if (pg_tensor_map_replace(at[l], p->field, p->index, value, &err) != PTXGEN_OK)
            return pg_stop(w, op, PTXGEN_EEMULATOR, "lane %d: %s", l, err.message);
    }
    return PG_NEXT;
}

pg_step pg_op_tensormap_copy(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    uint64_t source[PG_LANES];
    uint8_t *at[PG_LANES];
    pg_cta *cta;
    if (!pg_gather_warp(w, op, lanes, &all, &step))
        return step;
    const uint32_t first = all & -all; /* all lanes name the same addresses: one copy */
    const int l = __builtin_ctz(first);
    pg_addresses(w, op->extra, first, source);
    const uint8_t *from = pg_cluster_at(w->cta, (uint32_t)source[l], PG_TENSOR_MAP_BYTES, &cta);
    if (!from)
        return pg_stop(w, op, PTXGEN_EEMULATOR,
                       "the tensor map at shared address 0x%llx is out of bounds",
                       (unsigned long long)source[l]);
    if (!resolve_maps(w, op, first, PG_ACCESS_WRITE, at))
        return PG_STOP;
    memcpy(at[l], from, PG_TENSOR_MAP_BYTES);
    w->cta->cluster->progress++;
    PG_OBSERVE(w->launch, fence, w, op, all);
    return PG_NEXT;
}
