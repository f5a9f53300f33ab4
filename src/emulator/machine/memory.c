/* Address resolution; see memory.h. */
#include "emulator/machine/memory.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/stop.h"
#include "emulator/machine/observer.h"

/* Shared memory's own addresses have 32 bits: of a generic address of it, hardware takes those. */
static void leave_window(uint32_t lanes, uint64_t *address)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint64_t *a = &address[__builtin_ctz(left)];
        if ((*a & PG_WINDOW_MASK) == PG_WINDOW_SHARED)
            *a &= ~PG_WINDOW_MASK;
    }
}

void pg_addresses(const pg_warp *w, const pg_op *op, uint32_t lanes, uint64_t *address)
{
    const uint64_t imm = op->imm;
    if (op->flags & PG_ACCESS_NO_BASE) {
        const uint64_t base = op->space == PG_MEM_SHARED ? imm + w->cta->shared_address : imm;
        PG_EACH_LANE(lanes, address[l] = base);
    } else if (op->flags & PG_ACCESS_ADDRESS32) {
        const uint32_t *a = pg_row_at(w, op->a);
        PG_EACH_LANE(lanes, address[l] = (uint32_t)(a[l] + (uint32_t)imm));
    } else {
        const uint64_t *a = pg_row_at(w, op->a);
        PG_EACH_LANE(lanes, address[l] = a[l] + imm);
        if (op->space == PG_MEM_SHARED || op->space == PG_MEM_CLUSTER)
            leave_window(lanes, address);
    }
    if (op->flags & PG_ACCESS_FRAME)
        PG_EACH_LANE(lanes, address[l] += w->frame[l]);
}

/* The buffer that holds the range, by bisection; NULL: none. */
static const pg_buffer *find_buffer(const pg_memory *memory, uint64_t address, uint64_t bytes)
{
    uint32_t low = 0, high = memory->count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (memory->buffers[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    const pg_buffer *b = &memory->buffers[low - 1];
    const uint64_t offset = address - b->address;
    return offset <= b->bytes && bytes <= b->bytes - offset ? b : NULL;
}

uint8_t *pg_global_at(pg_worker *worker, uint64_t address, uint64_t bytes, bool write)
{
    const uint64_t offset = address - worker->last.address;
    if (offset < worker->last.bytes && bytes <= worker->last.bytes - offset &&
        (!write || worker->last.writable))
        return (uint8_t *)(uintptr_t)address;
    const pg_memory *memory = &worker->launch->memory;
    if (memory->trust_pointers)
        return (uint8_t *)(uintptr_t)address;
    const pg_buffer *b = find_buffer(memory, address, bytes);
    if (!b || (write && !b->writable))
        return NULL;
    worker->last = *b;
    return (uint8_t *)(uintptr_t)address;
}

uint8_t *pg_cluster_at(pg_cta *own, uint32_t address, uint32_t bytes, pg_cta **cta)
{
    const uint32_t rank = address >> PG_SHARED_RANK_SHIFT;
    const uint32_t offset = PG_SHARED_OFFSET(address);
    if (rank >= own->cluster->cta_count)
        return NULL;
    pg_cta *target = &own->cluster->ctas[rank];
    if (offset < PG_SHARED_BASE || offset > target->shared_bytes ||
        bytes > target->shared_bytes - offset)
        return NULL;
    *cta = target;
    return target->shared + offset;
}

/* A kernel parameter's generic address (cvta.param) is its host address. */
static bool is_parameter(const pg_grid_run *launch, uint64_t address)
{
    return address - (uint64_t)(uintptr_t)launch->params < launch->entry->param_bytes;
}

/* One lane's address, in any space; NULL: out of bounds. */
static uint8_t *resolve_one(pg_warp *w, pg_space space, const pg_checked_access *access,
                            uint32_t lane)
{
    const pg_access_kind kind = access->kind;
    const uint32_t bytes = access->bytes;
    uint64_t address = access->address[lane];
    pg_worker *worker = w->cta->cluster->worker;
    const pg_grid_run *launch = w->launch;
    pg_cta *cta = NULL;
    const bool generic = space == PG_MEM_GENERIC;
    if (generic)
        space = pg_generic_space(address, &address);
    if (space == PG_MEM_GLOBAL && generic && is_parameter(launch, address)) {
        space = PG_MEM_PARAM;
        address -= (uint64_t)(uintptr_t)launch->params;
    }
    switch (space) {
    case PG_MEM_SHARED:
        if (address >> PG_SHARED_RANK_SHIFT != w->cta->rank)
            return NULL;
        return pg_cluster_at(w->cta, (uint32_t)address, bytes, &cta);
    case PG_MEM_CLUSTER:
        return address >> 32 ? NULL : pg_cluster_at(w->cta, (uint32_t)address, bytes, &cta);
    case PG_MEM_LOCAL:
        if (address > launch->local_bytes || bytes > launch->local_bytes - address)
            return NULL;
        return (uint8_t *)w->local + (size_t)lane * launch->local_bytes + address;
    case PG_MEM_PARAM: {
        const uint32_t size = launch->entry->param_bytes;
        if (address > size || bytes > size - address || (kind & PG_ACCESS_WRITE))
            return NULL;
        return (uint8_t *)(uintptr_t)launch->params + address;
    }
    default:
        return pg_global_at(worker, address, bytes, (kind & PG_ACCESS_WRITE) != 0);
    }
}

static bool stop_at(pg_warp *w, const pg_op *op, const pg_fault *fault)
{
    pg_stop_fault(w, op, fault);
    return false;
}

/* Any space, lane by lane: also the place where a fault is found and reported. */
static bool resolve_each(pg_warp *w, const pg_op *op, const pg_checked_access *access, uint8_t **at)
{
    const uint32_t bytes = access->bytes;
    pg_fault fault = {.space = (pg_space)op->space,
                      .bytes = bytes,
                      .write = (access->kind & PG_ACCESS_WRITE) != 0};
    for (uint32_t left = access->lanes; left; left &= left - 1) {
        fault.lane = (uint32_t)__builtin_ctz(left);
        fault.address = access->address[fault.lane];
        at[fault.lane] = resolve_one(w, fault.space, access, fault.lane);
        if (!at[fault.lane]) {
            fault.what = "is out of bounds";
            return stop_at(w, op, &fault);
        }
        if (fault.address & (bytes - 1)) {
            fault.what = "is misaligned";
            return stop_at(w, op, &fault);
        }
    }
    return true;
}

/* All lanes in the own CTA's shared memory; false: some lane is not, look at each. */
static bool resolve_shared(pg_warp *w, const pg_checked_access *access, uint8_t **at)
{
    const uint32_t bytes = access->bytes;
    const uint64_t *address = access->address;
    const uint64_t base = (uint64_t)w->cta->shared_address + PG_SHARED_BASE;
    const uint64_t room = (uint64_t)w->cta->shared_bytes - PG_SHARED_BASE;
    const uintptr_t memory =
        (uintptr_t)(w->cta->shared + PG_SHARED_BASE); /* bad offsets leave it */
    uint64_t bad = room < bytes;
    const uint64_t last = room - bytes;
    PG_EACH_LANE(access->lanes, const uint64_t offset = address[l] - base;
                 bad |= (uint64_t)(offset > last) | (offset & (bytes - 1));
                 at[l] = (uint8_t *)(memory + offset));
    return bad == 0;
}

/* All lanes in the buffer of the last access. */
static bool resolve_global(pg_warp *w, const pg_checked_access *access, uint8_t **at)
{
    const pg_buffer *last = &w->cta->cluster->worker->last;
    const uint32_t bytes = access->bytes;
    const uint64_t *address = access->address;
    if (last->bytes < bytes || ((access->kind & PG_ACCESS_WRITE) && !last->writable))
        return false;
    const uint64_t base = last->address, room = last->bytes - bytes;
    uint64_t bad = 0;
    PG_EACH_LANE(access->lanes,
                 bad |= (uint64_t)(address[l] - base > room) | (address[l] & (bytes - 1));
                 at[l] = (uint8_t *)(uintptr_t)address[l]);
    return bad == 0;
}

/* Whether lane l is at first + l * bytes for all lanes. */
static bool consecutive_64(const uint64_t *a, uint64_t bytes)
{
    const uint64_t first = a[0];
    uint64_t differs = 0;
    for (uint64_t l = 0; l < PG_LANES; l++)
        differs |= a[l] ^ (first + l * bytes);
    return differs == 0;
}

static bool consecutive_32(const uint32_t *a, uint32_t bytes)
{
    const uint32_t first = a[0];
    uint32_t differs = 0;
    for (uint32_t l = 0; l < PG_LANES; l++)
        differs |= a[l] ^ (first + l * bytes);
    return differs == 0;
}

uint8_t *pg_resolve_row(pg_warp *w, const pg_op *op, uint32_t bytes, bool write)
{
    if (w->launch->observer || (op->flags & (PG_ACCESS_NO_BASE | PG_ACCESS_FRAME)))
        return NULL;
    const void *row = pg_row_at(w, op->a);
    uint64_t first;
    if (op->flags & PG_ACCESS_ADDRESS32) {
        if (!consecutive_32(row, bytes))
            return NULL;
        first = (uint32_t)(*(const uint32_t *)row + (uint32_t)op->imm);
    } else {
        if (!consecutive_64(row, bytes))
            return NULL;
        first = *(const uint64_t *)row + op->imm;
    }
    if (first % bytes)
        return NULL;
    if (op->space == PG_MEM_SHARED) {
        const uint64_t offset = first - w->cta->shared_address;
        const bool inside = offset >= PG_SHARED_BASE && offset <= w->cta->shared_bytes &&
                            PG_LANES * bytes <= w->cta->shared_bytes - offset;
        return inside ? w->cta->shared + offset : NULL;
    }
    if ((op->space != PG_MEM_GLOBAL && op->space != PG_MEM_GENERIC) || first & PG_WINDOW_MASK)
        return NULL;
    return pg_global_at(w->cta->cluster->worker, first, PG_LANES * bytes, write);
}

static bool resolve(pg_warp *w, const pg_op *op, const pg_checked_access *access, uint8_t **at)
{
    bool found = false;
    if (op->space == PG_MEM_SHARED)
        found = resolve_shared(w, access, at);
    else if (op->space == PG_MEM_GLOBAL || op->space == PG_MEM_GENERIC)
        found = resolve_global(w, access, at);
    return found || resolve_each(w, op, access, at);
}

bool pg_resolve_async(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t bytes,
                      pg_access_kind kind, uint8_t **at)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    return resolve(w, op, &(pg_checked_access){lanes, bytes, kind, address, NULL}, at);
}

bool pg_resolve(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t bytes, pg_access_kind kind,
                uint8_t **at)
{
    uint64_t address[PG_LANES];
    pg_addresses(w, op, lanes, address);
    return pg_resolve_at(w, op, &(pg_checked_access){lanes, bytes, kind, address, NULL}, at);
}

bool pg_resolve_at(pg_warp *w, const pg_op *op, const pg_checked_access *access, uint8_t **at)
{
    if (!resolve(w, op, access, at))
        return false;
    PG_OBSERVE(w->launch, access, w, op, access);
    return true;
}
