/* mov in all forms, address conversions (cvta, mapa, getctarank, isspacep). PTX ISA 9.0, 9.7.9. */
#include "emulator/scalar/scalar.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"

/* ---- mov ---- */

typedef unsigned __int128 u128;
PG_UNARY(pg_op_mov_16, uint16_t, uint16_t, x)
PG_UNARY(pg_op_mov_32, uint32_t, uint32_t, x)
PG_UNARY(pg_op_mov_64, uint64_t, uint64_t, x)
PG_UNARY(pg_op_mov_128, u128, u128, x)

/* imm: the address within `space`; flags: frame. mode: 1 as a generic address, 2 into 32-bit
 * lanes. */
pg_step pg_op_mov_address(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t address = op->imm, window = 0;
    if (op->space == PG_MEM_SHARED) {
        address += w->cta->shared_address;
        window = PG_WINDOW_SHARED;
    } else if (op->space == PG_MEM_LOCAL) {
        window = PG_WINDOW_LOCAL;
    } else if (op->space == PG_MEM_PARAM && op->mode & 1) {
        address += (uint64_t)(uintptr_t)w->launch->params;
    }
    address += op->mode & 1 ? window : 0;
    const bool in_frame = (op->flags & PG_ACCESS_FRAME) != 0;
    void *d = pg_row_at(w, op->d);
    if (op->mode & 2)
        PG_EACH_LANE(lanes, ((uint32_t *)d)[l] = (uint32_t)address + (in_frame ? w->frame[l] : 0));
    else
        PG_EACH_LANE(lanes, ((uint64_t *)d)[l] = address + (in_frame ? w->frame[l] : 0));
    return PG_NEXT;
}

/* Clocks: the number of scheduling rounds, in which the emulator counts time. */
pg_step pg_op_mov_clock(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint64_t now = w->cta->cluster->worker->now * 1024 + w->cta->cluster->executed;
    const uint32_t half = (uint32_t)(op->mode & 1 ? now >> 32 : now);
    void *d = pg_row_at(w, op->d);
    if (op->mode & 2)
        PG_EACH_LANE(lanes, ((uint64_t *)d)[l] = now);
    else
        PG_EACH_LANE(lanes, ((uint32_t *)d)[l] = half);
    return PG_NEXT;
}

/* %is_explicit_cluster */
pg_step pg_op_mov_explicit_cluster(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_pred_write(w, op->p, lanes, w->launch->ctas_per_cluster > 1 ? PG_ALL_LANES : 0);
    return PG_NEXT;
}

/* Packing and unpacking: `count` parts of `size` bytes; d or a is the whole, rows the parts. */
pg_step pg_op_mov_pack(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t whole = op->lane_bytes;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const size_t l = (size_t)__builtin_ctz(left);
        char value[16] = {0};
        for (uint32_t i = 0; i < op->count; i++)
            memcpy(value + i * op->size, (const char *)pg_row_at(w, op->rows[i]) + l * op->mode,
                   op->size);
        memcpy((char *)pg_row_at(w, op->d) + l * whole, value, whole);
    }
    return PG_NEXT;
}

pg_step pg_op_mov_unpack(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    for (uint32_t left = lanes; left; left &= left - 1) {
        const size_t l = (size_t)__builtin_ctz(left);
        char value[16], part[16] = {0};
        memcpy(value, (const char *)pg_row_at(w, op->a) + l * op->lane_bytes, op->lane_bytes);
        for (uint32_t i = 0; i < op->count; i++) {
            memcpy(part, value + i * op->size, op->size);
            memcpy((char *)pg_row_at(w, op->rows[i]) + l * op->mode, part, op->mode);
        }
    }
    return PG_NEXT;
}

/* rows: `count` destinations, then as many sources of lane_bytes each; all are read before any
 * is written. */
pg_step pg_op_mov_vector(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t bytes = op->lane_bytes;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const size_t at = (size_t)__builtin_ctz(left) * bytes;
        char value[4][8];
        for (uint32_t i = 0; i < op->count; i++)
            memcpy(value[i], (const char *)pg_row_at(w, op->rows[op->count + i]) + at, bytes);
        for (uint32_t i = 0; i < op->count; i++)
            memcpy((char *)pg_row_at(w, op->rows[i]) + at, value[i], bytes);
    }
    return PG_NEXT;
}

/* The common shapes, as plain loops. */
pg_step pg_op_pack_32_64(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t *d = pg_row_at(w, op->d);
    const uint32_t *low = pg_row_at(w, op->rows[0]), *high = pg_row_at(w, op->rows[1]);
    PG_EACH_LANE(lanes, d[l] = (uint64_t)high[l] << 32 | low[l]);
    return PG_NEXT;
}

pg_step pg_op_unpack_64_32(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint64_t *a = pg_row_at(w, op->a);
    uint32_t *low = pg_row_at(w, op->rows[0]), *high = pg_row_at(w, op->rows[1]);
    PG_EACH_LANE(lanes, const uint64_t x = a[l]; low[l] = (uint32_t)x;
                 high[l] = (uint32_t)(x >> 32));
    return PG_NEXT;
}

/* ---- addresses ---- */

/* Generic to and from a window. imm: the window; 32-bit lanes keep the address alone. */
PG_UNARY(pg_op_add_window, uint64_t, uint64_t, (x & ~PG_WINDOW_MASK) | op->imm)
PG_UNARY(pg_op_drop_window, uint64_t, uint64_t, x & ~PG_WINDOW_MASK)
PG_UNARY(pg_op_add_params, uint64_t, uint64_t, x + (uint64_t)(uintptr_t)w->launch->params)
PG_UNARY(pg_op_drop_params, uint64_t, uint64_t, x - (uint64_t)(uintptr_t)w->launch->params)

static bool in_space(const pg_warp *w, uint64_t address, pg_space space)
{
    uint64_t within;
    const pg_space is = pg_generic_space(address, &within);
    switch (space) {
    case PG_MEM_SHARED:
        return is == PG_MEM_CLUSTER && within >> PG_SHARED_RANK_SHIFT == w->cta->rank;
    case PG_MEM_PARAM:
        return within - (uint64_t)(uintptr_t)w->launch->params < w->launch->entry->param_bytes;
    case PG_MEM_CONST:
        return false;
    default:
        return is == space;
    }
}

pg_step pg_op_isspacep(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint64_t *a = pg_row_at(w, op->a);
    uint32_t value = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const int l = __builtin_ctz(left);
        value |= (uint32_t)in_space(w, a[l], (pg_space)op->space) << l;
    }
    pg_pred_write(w, op->p, lanes, value);
    return PG_NEXT;
}

/* The same offset in another CTA of the cluster. */
#define MAPPED(x, y)                                                                               \
    (((x) & ~(UINT64_C(0xff) << PG_SHARED_RANK_SHIFT)) | (uint64_t)(y) << PG_SHARED_RANK_SHIFT)
PG_BINARY(pg_op_mapa_32, uint32_t, uint32_t, uint32_t, MAPPED(x, y))
PG_BINARY(pg_op_mapa_64, uint64_t, uint64_t, uint32_t, MAPPED(x, y))
PG_UNARY(pg_op_rank_32, uint32_t, uint32_t, x >> PG_SHARED_RANK_SHIFT)
PG_UNARY(pg_op_rank_64, uint32_t, uint64_t, x >> PG_SHARED_RANK_SHIFT & 0xff)

/* The address operand may be a shared variable: its address goes through a row of its own first. */
pg_step pg_op_mapa_variable(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint32_t *b = pg_row_at(w, op->b);
    void *d = pg_row_at(w, op->d);
    const bool generic = op->mode != 0;
    if (op->lane_bytes == 4)
        PG_EACH_LANE(lanes, ((uint32_t *)d)[l] = (uint32_t)MAPPED(op->imm, b[l]));
    else
        PG_EACH_LANE(lanes,
                     ((uint64_t *)d)[l] = MAPPED(op->imm, b[l]) | (generic ? PG_WINDOW_SHARED : 0));
    return PG_NEXT;
}
