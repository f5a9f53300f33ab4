/* tcgen05.ld and .st; PTX ISA 9.0, section 9.7.16.8. All shapes are one table of where a
 * thread's register lies. */
#include "emulator/tensor/tcgen05.h"

#include "emulator/machine/lanes.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/number/float_ops.h"
#include "emulator/tensor/tensor_memory.h"
#include "emulator/memory/warp_sync.h"
#include "emulator/machine/observer.h"

enum { MOST_REGISTERS = 4 };
static const pg_tensor_shape_info shapes[] = {
    [PG_TENSOR_32X32B] = {32, 1, 1},   [PG_TENSOR_16X64B] = {16, 1, 2},
    [PG_TENSOR_16X128B] = {16, 2, 4},  [PG_TENSOR_16X256B] = {16, 4, 8},
    [PG_TENSOR_16X32BX2] = {16, 1, 1},
};

pg_tensor_shape_info pg_tensor_shape_of(pg_tensor_shape shape)
{
    return shapes[shape];
}

pg_tensor_place pg_tensor_place_of(pg_tensor_shape shape, uint32_t thread, uint32_t reg)
{
    const uint32_t unit = reg / shapes[shape].registers * shapes[shape].columns;
    const uint32_t part = reg % shapes[shape].registers;
    switch (shape) {
    case PG_TENSOR_16X64B:
        return (pg_tensor_place){thread / 4 + 8 * (thread % 2), unit + thread / 2 % 2};
    case PG_TENSOR_16X128B:
        return (pg_tensor_place){thread / 4 + 8 * part, unit + thread % 4};
    case PG_TENSOR_16X256B:
        return (pg_tensor_place){thread / 4 + 8 * (part / 2), unit + 2 * (thread % 4) + part % 2};
    case PG_TENSOR_16X32BX2:
        return (pg_tensor_place){thread % 16, unit};
    default:
        return (pg_tensor_place){thread, unit};
    }
}

/* What one execution moves: where each thread has the registers of the first repetition, and how
 * many words further those of the next lie. */
typedef struct move {
    uint32_t *word[MOST_REGISTERS][PG_LANES];
    uint32_t registers, columns;
} move;

/* The address names the first of the warp's own lanes. B200s also serve those of a warp whose
 * address names warp 0's: shipped kernels add no lane to the column. */
static bool check_address(pg_warp *w, const pg_op *op, uint32_t lanes, uint32_t *address)
{
    uint64_t all[PG_LANES];
    const pg_tcgen05_move_plan *p = op->extra;
    pg_addresses(w, op, lanes, all);
    const int first = __builtin_ctz(lanes);
    for (uint32_t left = lanes; left; left &= left - 1)
        if (all[__builtin_ctz(left)] != all[first]) {
            pg_stop(w, op, PTXGEN_EEMULATOR,
                    "lanes %d and %d give the tensor-memory addresses 0x%08x and 0x%08x: all lanes "
                    "must give the same",
                    first, __builtin_ctz(left), (uint32_t)all[first],
                    (uint32_t)all[__builtin_ctz(left)]);
            return false;
        }
    *address = (uint32_t)all[first];
    const uint32_t lane = pg_tensor_lane(*address), begin = w->index % 4 * PG_LANES;
    const uint32_t half = shapes[p->shape].lanes == 16 ? lane & 16 : 0;
    if (lane == begin + half)
        return true;
    if (lane == half) {
        *address += begin << PG_TENSOR_LANE_SHIFT;
        PG_OBSERVE(w->launch, tensor_lane, w, op, lane, begin + half);
        return true;
    }
    pg_stop(w, op, PTXGEN_EEMULATOR,
            "tensor-memory address 0x%08x begins at lane %u; warp %u reaches lanes %u to %u, and "
            "the address must name %s%u",
            *address, lane, w->index, begin, begin + PG_LANES - 1,
            shapes[p->shape].lanes == 16 ? "the first lane of either half: 16 lanes from "
                                         : "lane ",
            begin);
    return false;
}

static void tell_observer(pg_warp *w, const pg_op *op, const pg_tensor_extent *x, bool store)
{
    const uint32_t split = ((const pg_tcgen05_move_plan *)op->extra)->split;
    pg_tensor_area areas[2] = {pg_tensor_area_at(x->address, x->lanes, x->columns),
                               pg_tensor_area_at(x->address + split, x->lanes, x->columns)};
    for (int i = 0; i < 2; i++) {
        areas[i].reads = !store;
        areas[i].writes = store;
    }
    PG_OBSERVE(w->launch, tensor_move, w, op, areas, split ? 2 : 1);
}

static void find_words(const pg_tcgen05_move_plan *p, pg_tensor_memory *t, uint32_t address,
                       move *m)
{
    const uint32_t width = p->packed ? 2 : 1; /* words of a register */
    m->registers = shapes[p->shape].registers;
    m->columns = shapes[p->shape].columns * width;
    for (uint32_t reg = 0; reg < m->registers; reg++)
        for (uint32_t thread = 0; thread < PG_LANES; thread++) {
            const pg_tensor_place at = pg_tensor_place_of(p->shape, thread, reg);
            const uint32_t split = p->shape == PG_TENSOR_16X32BX2 && thread >= 16 ? p->split : 0;
            m->word[reg][thread] = &t->word[pg_tensor_lane(address) + at.lane]
                                           [pg_tensor_column(address) + split + at.column * width];
        }
}

/* Registers that a thread moves. */
static uint32_t registers_of(const pg_op *op)
{
    const pg_tcgen05_move_plan *p = op->extra;
    return op->row_count - (p->reduction != PG_TENSOR_RED_NONE);
}

static bool start(pg_warp *w, const pg_op *op, uint32_t lanes, move *m, bool store)
{
    const pg_tcgen05_move_plan *p = op->extra;
    const pg_tensor_shape_info *s = &shapes[p->shape];
    uint32_t address;
    if (!check_address(w, op, lanes, &address))
        return false;
    const uint32_t columns = registers_of(op) / s->registers * s->columns * (p->packed ? 2 : 1);
    const pg_tensor_extent first = {address, s->lanes, columns};
    const pg_tensor_extent second = {address + p->split, s->lanes, columns};
    if (!pg_tensor_reachable(w, op, w->cta, &first, "access") ||
        (p->split &&
         !pg_tensor_reachable(w, op, w->cta, &second, "access of the upper 16 threads")))
        return false;
    if (w->launch->observer)
        tell_observer(w, op, &first, store);
    find_words(p, w->cta->tensor, address, m);
    return true;
}

/* The low halves of two neighbouring words; the others keep what they hold. */
static void write_halves(uint32_t *word, uint32_t value)
{
    word[0] = (word[0] & 0xffff0000) | (value & 0xffff);
    word[1] = (word[1] & 0xffff0000) | value >> 16;
}

static uint32_t smaller_or_larger(const pg_tcgen05_move_plan *p, uint32_t a, uint32_t b)
{
    if (p->reduction == PG_TENSOR_RED_F32)
        return pg_f32_minmax(a, b, (pg_minmax_mode){.max = p->max, .nan = p->nan});
    const bool less = p->reduction == PG_TENSOR_RED_U32 ? a < b : (int32_t)a < (int32_t)b;
    return less != p->max ? a : b;
}

/* What every thread has loaded, to one value in the row behind. */
static void reduce(pg_warp *w, const pg_op *op, uint32_t all)
{
    const pg_tcgen05_move_plan *p = op->extra;
    const uint32_t count = registers_of(op), mask = p->magnitude ? 0x7fffffffu : UINT32_MAX;
    uint32_t *d = pg_row_at(w, op->rows[count]), result[PG_LANES];
    for (uint32_t reg = 0; reg < count; reg++) {
        const uint32_t *row = pg_row_at(w, op->rows[reg]);
        PG_EACH_LANE(all, result[l] =
                              smaller_or_larger(p, reg ? result[l] : row[l] & mask, row[l] & mask));
    }
    PG_EACH_LANE(all, d[l] = result[l]);
}

pg_step pg_op_tcgen05_ld(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    move m;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    if (!start(w, op, all, &m, false))
        return PG_STOP;
    PG_OBSERVE(w->launch, matrix_load, w, op);
    const pg_tcgen05_move_plan *p = op->extra;
    const bool packed = p->packed;
    for (uint32_t reg = 0; reg < registers_of(op); reg++) {
        uint32_t *row = pg_row_at(w, op->rows[reg]), *const *word = m.word[reg % m.registers];
        const uint32_t at = reg / m.registers * m.columns;
        if (packed)
            PG_EACH_LANE(all, row[l] = (word[l][at] & 0xffff) | word[l][at + 1] << 16);
        else
            PG_EACH_LANE(all, row[l] = word[l][at]);
    }
    if (p->reduction)
        reduce(w, op, all);
    return PG_NEXT;
}

pg_step pg_op_tcgen05_st(pg_warp *w, const pg_op *op, uint32_t lanes)
{
    uint32_t all;
    pg_step step;
    move m;
    if (!pg_gather_whole_warp(w, op, lanes, &all, &step))
        return step;
    if (!start(w, op, all, &m, true))
        return PG_STOP;
    const bool packed = ((const pg_tcgen05_move_plan *)op->extra)->packed;
    for (uint32_t reg = 0; reg < op->row_count; reg++) {
        const uint32_t *row = pg_row_at(w, op->rows[reg]);
        uint32_t *const *word = m.word[reg % m.registers];
        const uint32_t at = reg / m.registers * m.columns;
        if (packed)
            PG_EACH_LANE(all, write_halves(&word[l][at], row[l]));
        else
            PG_EACH_LANE(all, word[l][at] = row[l]);
    }
    return PG_NEXT;
}
