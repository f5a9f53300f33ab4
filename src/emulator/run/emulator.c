/* The emulator object: configuration, buffers, statistics; see ptxgen/emulator.h. */
#include "base/sized.h"
#include "emulator/clock/chip.h"
#include "emulator/run/clock_results.h"
#include "emulator/flow/heap.h"
#include "emulator/run/context.h"
#include "emulator/check/findings.h"
#include "emulator/copy/tensor_map.h"
#include "emulator/memory/swizzle.h"

#include <string.h>

#define DEFAULT_MEMORY (UINT64_C(8) << 30)
enum { DEFAULT_RESIDENT = 132 };

static ptxgen_status check_config(const ptxgen_emulator_config *c, ptxgen_error *err)
{
    if ((unsigned)c->order > PTXGEN_EMULATOR_ORDER_ISA)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.order is %d; it must be one of ptxgen_emulator_order", c->order);
    if ((unsigned)c->arithmetic > PTXGEN_EMULATOR_FAST)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.arithmetic is %d; it must be one of ptxgen_emulator_arithmetic",
                       c->arithmetic);
    if (c->check && c->profile)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.check and config.profile are both set: one of them at a time");
    if (c->trace && !c->profile && !c->clock)
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.trace is part of a profile or a clock: set config.profile");
    if (c->clock && !pg_clock_chip_named(c->clock))
        return pg_fail(err, PTXGEN_EINVAL, "the clock knows sm_90 and sm_100, not '%s'", c->clock);
    if (c->clock && (c->check || c->profile || c->order == PTXGEN_EMULATOR_ORDER_ISA))
        return pg_fail(err, PTXGEN_EINVAL,
                       "config.clock goes with order=hw alone: leave check and profile out");
    return PTXGEN_OK;
}

ptxgen_status ptxgen_emulator_create(const ptxgen_emulator_config *config, ptxgen_emulator **out,
                                     ptxgen_error *err)
{
    ptxgen_emulator_config c = {.size = sizeof c};
    if (!out)
        return pg_fail(err, PTXGEN_EINVAL, "a place for the emulator is needed");
    *out = NULL;
    if (config)
        PG_TRY(pg_sized_take(&c, sizeof c, config, "config", "ptxgen_emulator_config", err));
    PG_TRY(check_config(&c, err));
    const pg_alloc alloc = c.realloc ? (pg_alloc){c.realloc, c.user} : pg_alloc_libc;
    ptxgen_emulator *emu = pg_alloc_zero(&alloc, sizeof *emu);
    if (!emu)
        return pg_fail_memory(err, sizeof *emu);
    c.memory_budget = c.memory_budget ? c.memory_budget : DEFAULT_MEMORY;
    c.resident_clusters = c.resident_clusters ? c.resident_clusters : DEFAULT_RESIDENT;
    emu->alloc = alloc;
    emu->config = c;
    emu->log = (pg_log){c.log, c.user, c.log_level};
    emu->findings = pg_findings_new(&emu->alloc);
    if (!emu->findings || pthread_mutex_init(&emu->lock, NULL)) {
        pg_findings_free(emu->findings);
        pg_free(&alloc, emu, sizeof *emu);
        return pg_fail_memory(err, 0);
    }
    *out = emu;
    return PTXGEN_OK;
}

void ptxgen_emulator_destroy(ptxgen_emulator *emu)
{
    if (!emu)
        return;
    while (emu->buffer_count)
        pg_buffers_remove(emu, emu->buffers[emu->buffer_count - 1].address);
    for (uint64_t handle = 1; handle <= PG_MAX_TEXTURES; handle++)
        ptxgen_emulator_remove_texture(emu, handle);
    pg_heap_free(emu->heap);
    pg_clock_forget(emu);
    pg_free(&emu->alloc, emu->buffers, emu->buffer_capacity * sizeof *emu->buffers);
    pg_findings_free(emu->findings);
    pthread_mutex_destroy(&emu->lock);
    const pg_alloc alloc = emu->alloc;
    pg_free(&alloc, emu, sizeof *emu);
}

/* ---- buffers ---- */

static bool reserve_buffer(ptxgen_emulator *emu)
{
    if (emu->buffer_count < emu->buffer_capacity)
        return true;
    const uint32_t grown = emu->buffer_capacity ? 2 * emu->buffer_capacity : 8;
    pg_buffer *more = emu->alloc.realloc(emu->alloc.user, emu->buffers,
                                         emu->buffer_capacity * sizeof *more, grown * sizeof *more);
    if (!more)
        return false;
    emu->buffers = more;
    emu->buffer_capacity = grown;
    return true;
}

/* The first buffer that does not begin below the address. */
static uint32_t place_of(const ptxgen_emulator *emu, uint64_t address)
{
    uint32_t first = 0, end = emu->buffer_count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (emu->buffers[middle].address < address)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

ptxgen_status pg_buffers_insert(ptxgen_emulator *emu, const pg_buffer *buffer, ptxgen_error *err)
{
    const uint32_t at = place_of(emu, buffer->address);
    const pg_buffer *below = at ? &emu->buffers[at - 1] : NULL;
    const pg_buffer *above = at < emu->buffer_count ? &emu->buffers[at] : NULL;
    const pg_buffer *hit = below && buffer->address - below->address < below->bytes    ? below
                           : above && above->address - buffer->address < buffer->bytes ? above
                                                                                       : NULL;
    if (hit)
        return pg_fail(err, PTXGEN_EINVAL, "buffer %s overlaps buffer %s: remove that one first",
                       buffer->name, hit->name);
    const size_t length = strlen(buffer->name) + 1;
    char *name = reserve_buffer(emu) ? pg_alloc_zero(&emu->alloc, length) : NULL;
    if (!name)
        return pg_fail_memory(err, length);
    memcpy(name, buffer->name, length);
    memmove(&emu->buffers[at + 1], &emu->buffers[at],
            (emu->buffer_count - at) * sizeof *emu->buffers);
    emu->buffers[at] = *buffer;
    emu->buffers[at].name = name;
    emu->buffer_count++;
    return PTXGEN_OK;
}

bool pg_buffers_remove(ptxgen_emulator *emu, uint64_t address)
{
    const uint32_t at = place_of(emu, address);
    if (at == emu->buffer_count || emu->buffers[at].address != address)
        return false;
    char *name = (char *)emu->buffers[at].name;
    pg_free(&emu->alloc, name, strlen(name) + 1);
    emu->buffer_count--;
    memmove(&emu->buffers[at], &emu->buffers[at + 1],
            (emu->buffer_count - at) * sizeof *emu->buffers);
    return true;
}

ptxgen_status ptxgen_emulator_add_buffer(ptxgen_emulator *emu, const char *name, void *address,
                                         size_t bytes, unsigned flags, ptxgen_error *err)
{
    const uint64_t at = (uint64_t)(uintptr_t)address;
    if (!emu || !name || !address || !bytes)
        return pg_fail(err, PTXGEN_EINVAL,
                       "a buffer needs an emulator, a name, an address and at least one byte");
    if ((at | (at + bytes - 1)) & PG_WINDOW_MASK)
        return pg_fail(err, PTXGEN_EINVAL,
                       "buffer %s at %p lies outside the addresses that programs can use", name,
                       address);
    const pg_buffer buffer = {.address = at,
                              .bytes = bytes,
                              .name = name,
                              .writable = (flags & PTXGEN_EMULATOR_WRITABLE) != 0,
                              .dependent = (flags & PTXGEN_EMULATOR_DEPENDENT) != 0,
                              .uninitialized = (flags & PTXGEN_EMULATOR_UNINITIALIZED) != 0};
    pthread_mutex_lock(&emu->lock);
    const ptxgen_status status = pg_buffers_insert(emu, &buffer, err);
    pthread_mutex_unlock(&emu->lock);
    return status;
}

bool ptxgen_emulator_remove_buffer(ptxgen_emulator *emu, const void *address)
{
    if (!emu)
        return false;
    pthread_mutex_lock(&emu->lock);
    const bool found = pg_buffers_remove(emu, (uint64_t)(uintptr_t)address);
    pthread_mutex_unlock(&emu->lock);
    return found;
}

/* ---- tensor maps ---- */

static ptxgen_status encode_map(const ptxgen_emulator_tensor_map *map, void *out, ptxgen_error *err)
{
    if (map->rank < 1 || map->rank > PG_TENSOR_MAX_RANK)
        return pg_fail(err, PTXGEN_EINVAL, "a tensor map has 1 to 5 dimensions, not %u", map->rank);
    pg_tensor_map m = {.type = (pg_tensor_type)map->data_type,
                       .rank = map->rank,
                       .address = (uint64_t)(uintptr_t)map->address,
                       .interleave = (pg_tensor_interleave)map->interleave,
                       .swizzle = (pg_swizzle)map->swizzle,
                       .l2_promotion = (uint32_t)map->l2_promotion,
                       .fill_nan = map->oob_fill != 0,
                       .pixels = map->im2col_pixels,
                       .wide = (pg_im2col_wide)map->im2col_wide};
    memcpy(m.lower, map->im2col_lower, sizeof m.lower);
    memcpy(m.upper, map->im2col_upper, sizeof m.upper);
    for (uint32_t i = 0; i < map->rank; i++) {
        m.dims[i] = map->dims[i];
        m.box[i] = i && m.pixels ? 1 : map->box[i];
        m.element_strides[i] = map->element_strides[i] ? map->element_strides[i] : 1;
        if (i + 1 < map->rank)
            m.strides[i] = map->strides[i];
    }
    return pg_tensor_map_encode(&m, out, err);
}

ptxgen_status ptxgen_emulator_encode_tensor_map(const ptxgen_emulator_tensor_map *map, void *out,
                                                ptxgen_error *err)
{
    ptxgen_emulator_tensor_map whole = {.size = sizeof whole};
    if (!map || !out)
        return pg_fail(err, PTXGEN_EINVAL, "a tensor map and 128 bytes for its form are needed");
    PG_TRY(pg_sized_take(&whole, sizeof whole, map, "map", "ptxgen_emulator_tensor_map", err));
    return encode_map(&whole, out, err);
}

uint32_t ptxgen_emulator_swizzle(int swizzle, uint32_t address)
{
    return swizzle >= 0 && swizzle < PG_SWIZZLE_COUNT
               ? pg_swizzle_address(address, (pg_swizzle)swizzle)
               : address;
}

/* ---- what happened ---- */

void ptxgen_emulator_get_stats(const ptxgen_emulator *emu, ptxgen_emulator_stats *out)
{
    if (!emu || !out)
        return;
    pthread_mutex_lock((pthread_mutex_t *)&emu->lock);
    *out = emu->stats;
    pthread_mutex_unlock((pthread_mutex_t *)&emu->lock);
}

void ptxgen_emulator_reset_stats(ptxgen_emulator *emu)
{
    if (!emu)
        return;
    pthread_mutex_lock(&emu->lock);
    memset(&emu->stats, 0, sizeof emu->stats);
    memset(emu->op_counts, 0, sizeof emu->op_counts);
    memset(emu->engines, 0, sizeof emu->engines);
    pthread_mutex_unlock(&emu->lock);
}

bool ptxgen_emulator_opcode_count(const ptxgen_emulator *emu, size_t i, const char **name,
                                  uint64_t *count)
{
    if (!emu || !name || !count || i >= PG_PTX_OP_COUNT)
        return false;
    *name = pg_ptx_op_describe((pg_ptx_op)i)->name;
    pthread_mutex_lock((pthread_mutex_t *)&emu->lock);
    *count = emu->op_counts[i];
    pthread_mutex_unlock((pthread_mutex_t *)&emu->lock);
    return true;
}

bool ptxgen_emulator_get_report(const ptxgen_emulator *emu, size_t i, ptxgen_emulator_report *out)
{
    return emu && out && pg_findings_get(emu->findings, i, out);
}

uint64_t ptxgen_emulator_reports_left_out(const ptxgen_emulator *emu)
{
    return emu ? pg_findings_left_out(emu->findings) : 0;
}

void ptxgen_emulator_clear_reports(ptxgen_emulator *emu)
{
    if (emu)
        pg_findings_clear(emu->findings);
}
