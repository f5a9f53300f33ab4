/* mov in all forms, address conversions (cvta, mapa, getctarank, isspacep), cvt. PTX ISA 9.0, 9.7.9. */
#include "emulator/number/convert.h"
#include "emulator/decode/families.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"

/* ---- mov ---- */

typedef unsigned __int128 u128;
PG_UNARY(mov_16, uint16_t, uint16_t, x)
PG_UNARY(mov_32, uint32_t, uint32_t, x)
PG_UNARY(mov_64, uint64_t, uint64_t, x)
PG_UNARY(mov_128, u128, u128, x)

static pg_handler mov_handler(unsigned bytes)
{
    return bytes == 2 ? mov_16 : bytes == 4 ? mov_32 : bytes == 8 ? mov_64 : mov_128;
}

/* imm: the address within `space`; flags: frame. mode: 1 as a generic address, 2 into 32-bit lanes. */
static pg_step mov_address(pg_warp *w, const pg_op *op, uint32_t lanes)
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

static void variable_address(pg_decoder *d, pg_op *op, const pg_ptx_operand *o, bool generic)
{
    const pg_place place = pg_variable_place(d, o->index);
    op->imm = place.address + o->value;
    op->space = (uint8_t)place.space;
    op->flags = place.in_frame ? PG_ACCESS_FRAME : 0;
    op->mode = (uint8_t)((generic ? 1 : 0) |
                         (pg_operand_lane_bytes(d, pg_operand(d, 0), PG_T_U64) == 4 ? 2 : 0));
    op->run = mov_address;
}

/* Clocks: the number of scheduling rounds, in which the emulator counts time. */
static pg_step mov_clock(pg_warp *w, const pg_op *op, uint32_t lanes)
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

static bool is_clock(uint32_t special, uint8_t *mode)
{
    switch (special) {
    case PG_SPECIAL_CLOCK:
    case PG_SPECIAL_GLOBALTIMER_LO:
        *mode = 0;
        return true;
    case PG_SPECIAL_CLOCK_HI:
    case PG_SPECIAL_GLOBALTIMER_HI:
        *mode = 1;
        return true;
    case PG_SPECIAL_CLOCK64:
    case PG_SPECIAL_GLOBALTIMER:
        *mode = 2;
        return true;
    default:
        return false;
    }
}

/* %is_explicit_cluster */
static pg_step mov_explicit_cluster(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    pg_pred_write(w, op->p, lanes, w->launch->ctas_per_cluster > 1 ? PG_ALL_LANES : 0);
    return PG_NEXT;
}

void pg_decode_mov(pg_decoder *d, pg_op *op)
{
    const pg_ptx_type type = pg_type(d, 0);
    const pg_ptx_operand *from = pg_operand(d, 1);
    if (type == PG_T_PRED && from->kind == PG_OPERAND_SPECIAL) {
        op->p = pg_dest_pred(d, pg_operand(d, 0));
        op->run = mov_explicit_cluster;
        return;
    }
    if (type == PG_T_PRED) {
        pg_decode_pred_logic(d, op, PG_ALU_MOV);
        return;
    }
    op->d = pg_dest(d, pg_operand(d, 0));
    if (from->kind == PG_OPERAND_VAR) {
        variable_address(d, op, from, false);
        return;
    }
    if (from->kind == PG_OPERAND_SPECIAL && is_clock(from->index, &op->mode)) {
        op->run = mov_clock;
        return;
    }
    op->a = from->kind == PG_OPERAND_FUNC ? pg_const_u64(d, pg_function_address(from->index))
                                          : pg_source(d, from, type);
    op->run = mov_handler(pg_lane_bytes(type));
}

/* Packing and unpacking: `count` parts of `size` bytes; d or a is the whole, rows the parts. */
static pg_step mov_pack(pg_warp *w, const pg_op *op, uint32_t lanes)
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

static pg_step mov_unpack(pg_warp *w, const pg_op *op, uint32_t lanes)
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

/* The common shapes, as plain loops. */
static pg_step pack_32_64(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint64_t *d = pg_row_at(w, op->d);
    const uint32_t *low = pg_row_at(w, op->rows[0]), *high = pg_row_at(w, op->rows[1]);
    PG_EACH_LANE(lanes, d[l] = (uint64_t)high[l] << 32 | low[l]);
    return PG_NEXT;
}

static pg_step unpack_64_32(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    const uint64_t *a = pg_row_at(w, op->a);
    uint32_t *low = pg_row_at(w, op->rows[0]), *high = pg_row_at(w, op->rows[1]);
    PG_EACH_LANE(lanes, const uint64_t x = a[l]; low[l] = (uint32_t)x;
                 high[l] = (uint32_t)(x >> 32));
    return PG_NEXT;
}

static pg_ptx_type bits_type(unsigned bytes)
{
    return bytes == 1 ? PG_T_B8 : bytes == 2 ? PG_T_B16 : bytes == 4 ? PG_T_B32 : PG_T_B64;
}

/* Parts of the whole: rows, count, size, and in mode the bytes of a part's lane. */
static bool parts(pg_decoder *d, pg_op *op, const pg_ptx_operand *vector, bool destination)
{
    const unsigned whole = pg_ptx_type_bits(pg_type(d, 0)) / 8;
    pg_row *rows = pg_new_rows(d, vector->n_elems);
    op->count = (uint8_t)vector->n_elems;
    op->size = (uint8_t)(vector->n_elems ? whole / vector->n_elems : 0);
    op->lane_bytes = (uint8_t)pg_lane_bytes(pg_type(d, 0));
    op->mode = (uint8_t)pg_lane_bytes(bits_type(op->size));
    op->rows = rows;
    op->row_count = (uint16_t)vector->n_elems;
    if (!rows || !op->size)
        return false;
    for (uint32_t i = 0; i < vector->n_elems; i++) {
        const pg_ptx_operand *e = &vector->elems[i];
        if (e->kind == PG_OPERAND_REG && pg_operand_lane_bytes(d, e, PG_T_B16) != op->mode) {
            pg_decode_fail(d, "vector element %u has another width than its part", i);
            return false;
        }
        rows[i] = destination ? pg_dest(d, e) : pg_source(d, e, bits_type(op->size));
    }
    return true;
}

void pg_decode_mov_pack(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    if (parts(d, op, pg_operand(d, 1), false))
        op->run = op->count == 2 && op->size == 4 ? pack_32_64 : mov_pack;
}

void pg_decode_mov_unpack(pg_decoder *d, pg_op *op)
{
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    if (parts(d, op, pg_operand(d, 0), true))
        op->run = op->count == 2 && op->size == 4 ? unpack_64_32 : mov_unpack;
}

/* ---- addresses ---- */

/* Generic to and from a window. imm: the window; 32-bit lanes keep the address alone. */
PG_UNARY(add_window, uint64_t, uint64_t, (x & ~PG_WINDOW_MASK) | op->imm)
PG_UNARY(drop_window, uint64_t, uint64_t, x & ~PG_WINDOW_MASK)
PG_UNARY(add_params, uint64_t, uint64_t, x + (uint64_t)(uintptr_t)w->launch->params)
PG_UNARY(drop_params, uint64_t, uint64_t, x - (uint64_t)(uintptr_t)w->launch->params)

void pg_decode_cvta(pg_decoder *d, pg_op *op)
{
    const pg_space space = pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    const pg_ptx_operand *from = pg_operand(d, 1);
    const bool windowed =
        space == PG_MEM_SHARED || space == PG_MEM_CLUSTER || space == PG_MEM_LOCAL;
    op->d = pg_dest(d, pg_operand(d, 0));
    if (from->kind == PG_OPERAND_VAR) {
        variable_address(d, op, from, pg_mod(d, PG_F_TO) == 0);
        return;
    }
    op->a = pg_source(d, from, pg_type(d, 0));
    op->imm = space == PG_MEM_LOCAL ? PG_WINDOW_LOCAL : PG_WINDOW_SHARED;
    if (pg_type(d, 0) == PG_T_U32)
        op->run = mov_32;
    else if (space == PG_MEM_PARAM)
        op->run = pg_mod(d, PG_F_TO) ? drop_params : add_params;
    else
        op->run = !windowed ? mov_64 : pg_mod(d, PG_F_TO) ? drop_window : add_window;
}

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

static pg_step isspacep(pg_warp *w, const pg_op *op, uint32_t lanes)
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

void pg_decode_isspacep(pg_decoder *d, pg_op *op)
{
    op->p = pg_dest_pred(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), PG_T_U64);
    op->space = (uint8_t)pg_space_of_modifier(pg_mod(d, PG_F_SPACE));
    op->run = pg_operand_lane_bytes(d, pg_operand(d, 1), PG_T_U64) == 8 ? isspacep : NULL;
}

/* The same offset in another CTA of the cluster. */
#define MAPPED(x, y)                                                                               \
    (((x) & ~(UINT64_C(0xff) << PG_SHARED_RANK_SHIFT)) | (uint64_t)(y) << PG_SHARED_RANK_SHIFT)
PG_BINARY(mapa_32, uint32_t, uint32_t, uint32_t, MAPPED(x, y))
PG_BINARY(mapa_64, uint64_t, uint64_t, uint32_t, MAPPED(x, y))
PG_UNARY(rank_32, uint32_t, uint32_t, x >> PG_SHARED_RANK_SHIFT)
PG_UNARY(rank_64, uint32_t, uint64_t, x >> PG_SHARED_RANK_SHIFT & 0xff)

/* The address operand may be a shared variable: its address goes through a row of its own first. */
static pg_step mapa_variable(pg_warp *w, const pg_op *op, uint32_t lanes)
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

void pg_decode_mapa(pg_decoder *d, pg_op *op)
{
    const pg_ptx_operand *from = pg_operand(d, 1);
    op->d = pg_dest(d, pg_operand(d, 0));
    op->b = pg_source(d, pg_operand(d, 2), PG_T_U32);
    if (from->kind == PG_OPERAND_VAR) {
        op->imm = pg_variable_place(d, from->index).address + from->value;
        op->mode = pg_mod(d, PG_F_SPACE) == 0;
        op->lane_bytes = (uint8_t)pg_lane_bytes(pg_type(d, 0));
        op->run = mapa_variable;
        return;
    }
    op->a = pg_source(d, from, pg_type(d, 0));
    op->run = pg_type(d, 0) == PG_T_U32 ? mapa_32 : mapa_64;
}

void pg_decode_getctarank(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_source(d, pg_operand(d, 1), pg_type(d, 0));
    op->run = pg_type(d, 0) == PG_T_U32 ? rank_32 : rank_64;
}

/* A policy is only a hint: any value does. */
void pg_decode_createpolicy(pg_decoder *d, pg_op *op)
{
    op->d = pg_dest(d, pg_operand(d, 0));
    op->a = pg_const_u64(d, 0);
    op->run = mov_64;
}
