/* The state of tensor memory and its column allocator. See tensor_memory.h. */
#include "emulator/tensor/tensor_memory.h"

#include "emulator/machine/stop.h"

static uint32_t unit_mask(uint32_t first, uint32_t columns)
{
    return ((1u << columns / PG_TENSOR_UNIT) - 1) << first / PG_TENSOR_UNIT;
}

int pg_tensor_find(uint32_t used, uint32_t columns)
{
    for (uint32_t first = 0; first + columns <= PG_TENSOR_COLUMNS; first += PG_TENSOR_UNIT)
        if (!(used & unit_mask(first, columns)))
            return (int)first;
    return -1;
}

void pg_tensor_take(pg_tensor_allocator *a, uint32_t first, uint32_t columns)
{
    a->used |= (uint16_t)unit_mask(first, columns);
    a->size[first / PG_TENSOR_UNIT] = (uint16_t)columns;
    a->last_columns = columns;
}

bool pg_tensor_give_back(pg_tensor_allocator *a, uint32_t first, uint32_t columns)
{
    if (first % PG_TENSOR_UNIT || first >= PG_TENSOR_COLUMNS || columns == 0 ||
        a->size[first / PG_TENSOR_UNIT] != columns)
        return false;
    a->used &= (uint16_t)~unit_mask(first, columns);
    a->size[first / PG_TENSOR_UNIT] = 0;
    return true;
}

uint32_t pg_tensor_free_columns(const pg_tensor_allocator *a)
{
    return PG_TENSOR_COLUMNS - PG_TENSOR_UNIT * (uint32_t)__builtin_popcount(a->used);
}

bool pg_tensor_is_allocated(const pg_tensor_allocator *a, uint32_t first, uint32_t count)
{
    if (first >= PG_TENSOR_COLUMNS || count > PG_TENSOR_COLUMNS - first)
        return false;
    for (uint32_t unit = first / PG_TENSOR_UNIT; unit * PG_TENSOR_UNIT < first + count; unit++)
        if (!(a->used >> unit & 1))
            return false;
    return true;
}

pg_tensor_memory *pg_tensor_memory_of(pg_warp *w)
{
    pg_cta *cta = w->cta;
    if (cta->tensor)
        return cta->tensor;
    pg_grid_run *launch = w->launch;
    const size_t bytes = sizeof *cta->tensor;
    const uint64_t used = atomic_fetch_add(&launch->memory_used, bytes) + bytes;
    if (!launch->memory_budget || used <= launch->memory_budget)
        cta->tensor = pg_alloc_zero(launch->alloc, bytes);
    if (!cta->tensor) {
        atomic_fetch_sub(&launch->memory_used, bytes);
        pg_stop_memory(launch, bytes);
    }
    return cta->tensor;
}

void pg_tensor_memory_free(pg_cta *cta)
{
    if (!cta->tensor)
        return;
    pg_grid_run *launch = cta->cluster->launch;
    pg_free(launch->alloc, cta->tensor, sizeof *cta->tensor);
    atomic_fetch_sub(&launch->memory_used, sizeof *cta->tensor);
    cta->tensor = NULL;
}

bool pg_tensor_reachable(pg_warp *w, const pg_op *op, const pg_cta *cta,
                         const pg_tensor_extent *extent, const char *what)
{
    const uint32_t lane = pg_tensor_lane(extent->address),
                   column = pg_tensor_column(extent->address);
    if (lane >= PG_TENSOR_LANES || extent->lanes > PG_TENSOR_LANES - lane) {
        pg_stop(
            w, op, PTXGEN_EEMULATOR,
            "%s at tensor-memory address 0x%08x: lanes %u to %u; tensor memory has lanes 0 to 127",
            what, extent->address, lane, lane + extent->lanes - 1);
        return false;
    }
    if (cta->tensor && pg_tensor_is_allocated(&cta->tensor->allocator, column, extent->columns))
        return true;
    pg_stop(
        w, op, PTXGEN_EEMULATOR,
        "%s at tensor-memory address 0x%08x: columns %u to %u are not all allocated in CTA rank %u "
        "(tcgen05.alloc gives multiples of 32 columns, %u are allocated)",
        what, extent->address, column, column + extent->columns - 1, cta->rank,
        cta->tensor ? PG_TENSOR_COLUMNS - pg_tensor_free_columns(&cta->tensor->allocator) : 0);
    return false;
}

bool pg_tensor_group(pg_warp *w, const pg_op *op, uint32_t cta_group)
{
    if (cta_group == 2 && !pg_pair_of(w->cta)) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                ".cta_group::2 needs pairs of CTAs: the cluster has %u, CTA rank %u has no partner "
                "of rank %u",
                w->cta->cluster->cta_count, w->cta->rank, w->cta->rank ^ 1);
        return false;
    }
    pg_tensor_memory *t = pg_tensor_memory_of(w);
    if (!t)
        return false;
    if (t->cta_group && t->cta_group != cta_group) {
        pg_stop(w, op, PTXGEN_EEMULATOR,
                ".cta_group::%u after .cta_group::%u: all tcgen05 instructions of a kernel must "
                "have the same",
                cta_group, t->cta_group);
        return false;
    }
    t->cta_group = (uint8_t)cta_group;
    return true;
}
