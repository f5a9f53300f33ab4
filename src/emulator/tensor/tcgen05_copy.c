/* tcgen05.cp and tcgen05.shift; PTX ISA 9.0, section 9.7.16.9. */
#include "emulator/tensor/tcgen05.h"

#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/machine/memory.h"
#include "emulator/machine/stop.h"
#include "emulator/tensor/tensor_memory.h"
#include "emulator/machine/observer.h"

/* A shape: rows of `bytes` bytes; row r goes to lane r % fold + r / fold * stride, `copies` times `copy_step` lanes
 * apart. */
typedef struct copy_shape {
    uint8_t rows, bytes, fold, stride, copies, copy_step;
} copy_shape;
static const copy_shape shapes[] = {
    [PG_COPY_128X256B] = {128, 32, 128, 0, 1, 0},
    [PG_COPY_128X128B] = {128, 16, 128, 0, 1, 0},
    [PG_COPY_64X128B_02_13] = {64, 16, 64, 0, 2, 64},
    [PG_COPY_64X128B_01_23] = {64, 16, 32, 64, 2, 32},
    [PG_COPY_32X128B_X4] = {32, 16, 32, 0, 4, 32},
    [PG_COPY_4X256B] = {4, 32, 1, 32, 1, 0},
};

enum { MOST_BYTES = 128 * 32 };

static pg_matrix_shape source_shape(const copy_shape *s)
{
    return (pg_matrix_shape){.rows = s->rows, .depth = s->bytes, .elem_bits = 8};
}

/* The layout of the source; false: refused. */
static bool source_layout(pg_async *a, pg_matrix_layout *layout)
{
    pg_warp *w = a->warp;
    const copy_shape *s = &shapes[((const pg_tcgen05_cp_plan *)a->op->extra)->shape];
    const pg_matrix_shape shape = source_shape(s);
    pg_matrix_descriptor d;
    ptxgen_error err = {0};
    ptxgen_status status = pg_matrix_descriptor_decode(((const pg_async_tcgen05_cp *)a)->descriptor,
                                                       PG_DESCRIPTOR_SM100, &d, &err);
    if (status == PTXGEN_OK)
        status = pg_matrix_layout_make(&d, &shape, layout, &err);
    if (status != PTXGEN_OK) {
        pg_stop(w, a->op, PTXGEN_EEMULATOR, "%s", err.message);
        return false;
    }
    const pg_matrix_extent e = pg_matrix_layout_extent(layout, &shape);
    if (e.first >= PG_SHARED_BASE && e.end <= w->cta->shared_bytes)
        return true;
    pg_stop(
        w, a->op, PTXGEN_EEMULATOR,
        "the matrix descriptor 0x%016llx covers shared memory from %u to %u; the CTA has %u to %u",
        (unsigned long long)((const pg_async_tcgen05_cp *)a)->descriptor, e.first, e.end,
        PG_SHARED_BASE, w->cta->shared_bytes);
    return false;
}

/* The target in one CTA. Only .4x256b may begin at another lane than 0: it leaves lanes between its rows alone. */
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
                                     shapes[p->shape].bytes / 4};
    return pg_tensor_reachable(a->warp, a->op, cta, &extent, "target");
}

static bool check_cp(pg_async *a)
{
    pg_matrix_layout layout;
    const pg_tcgen05_cp_plan *p = a->op->extra;
    return source_layout(a, &layout) && check_target(a, a->warp->cta) &&
           (p->cta_group == 1 || check_target(a, pg_pair_of(a->warp->cta)));
}

static void tell_observer(pg_async *a, pg_cta *cta)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    const copy_shape *s = &shapes[p->shape];
    const uint32_t address = ((const pg_async_tcgen05_cp *)a)->address,
                   lane = pg_tensor_lane(address);
    const pg_matrix_shape shape = source_shape(s);
    pg_matrix_layout layout;
    if (!source_layout(a, &layout))
        return;
    const pg_matrix_extent e = pg_matrix_layout_extent(&layout, &shape);
    pg_tensor_area area =
        pg_tensor_area_at(pg_tensor_column(address), PG_TENSOR_LANES, s->bytes / 4);
    for (uint32_t i = 0; p->shape == PG_COPY_4X256B && i < PG_TENSOR_LANES / 16; i++)
        area.lanes[i] = (uint16_t)(i % 2 == lane / 16 ? 1u << lane % 16 : 0);
    area.writes = true;
    a->warp->launch->observer->tensor_read(a, cta, e.first, e.end);
    a->warp->launch->observer->tensor_use(a, cta, &area);
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

/* ---- decompression ---- */

/* 16 elements of `bits` bits at the beginning of each 16 bytes become a byte each: the form in which mma takes them
 * from tensor memory, with 6-bit elements in bits 0 to 5 and 4-bit ones in bits 2 to 5. */
static void unpack(uint8_t *bytes, uint32_t count, uint32_t bits)
{
    for (uint32_t i = 0; i < count; i += 16) {
        uint8_t wide[16];
        for (uint32_t e = 0; e < 16; e++) {
            const uint32_t at = e * bits;
            const uint32_t two = bytes[i + at / 8] | (uint32_t)bytes[i + at / 8 + 1] << 8;
            wide[e] = (uint8_t)((two >> at % 8 & ((1u << bits) - 1)) << (6 - bits));
        }
        memcpy(bytes + i, wide, sizeof wide);
    }
}

/* Copies rows x bytes from `rows` to the lanes of one CTA. */
static void fill_lanes(pg_tensor_memory *t, const copy_shape *s, uint32_t address,
                       const uint8_t *rows)
{
    const uint32_t lane = pg_tensor_lane(address), column = pg_tensor_column(address);
    for (uint32_t r = 0; r < s->rows; r++)
        for (uint32_t c = 0; c < s->copies; c++)
            memcpy(
                &t->word[lane + r % s->fold + r / s->fold * s->stride + c * s->copy_step][column],
                rows + r * s->bytes, s->bytes);
}

static void copy_in(const pg_async *a, const pg_matrix_layout *layout, pg_cta *cta)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    const copy_shape *s = &shapes[p->shape];
    const pg_matrix_shape shape = source_shape(s);
    uint8_t rows[MOST_BYTES];
    pg_matrix_gather(layout, &shape, cta->shared, rows);
    if (p->unpack != PG_UNPACK_NONE)
        unpack(rows, (uint32_t)s->rows * s->bytes, p->unpack == PG_UNPACK_4BIT ? 4 : 6);
    fill_lanes(cta->tensor, s, ((const pg_async_tcgen05_cp *)a)->address, rows);
}

bool pg_tcgen05_cp_execute(pg_async *a)
{
    const pg_tcgen05_cp_plan *p = a->op->extra;
    pg_matrix_layout layout;
    if (!source_layout(a, &layout))
        return false;
    copy_in(a, &layout, a->warp->cta);
    if (p->cta_group == 2)
        copy_in(a, &layout, pg_pair_of(a->warp->cta));
    return true;
}

/* ---- shift ---- */

enum { SHIFT_LANES = 32, SHIFT_COLUMNS = 8 };

static bool check_shift(pg_async *a, const pg_cta *cta)
{
    const uint32_t address = ((const pg_async_tcgen05_shift *)a)->address;
    const pg_tensor_extent extent = {address, SHIFT_LANES, SHIFT_COLUMNS};
    if (pg_tensor_lane(address) % SHIFT_LANES == 0)
        return pg_tensor_reachable(a->warp, a->op, cta, &extent, "matrix");
    pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
            "tensor-memory address 0x%08x begins at lane %u, which is not a multiple of 32",
            address, pg_tensor_lane(address));
    return false;
}

static void tell_observer_of_shift(pg_async *a, pg_cta *cta)
{
    pg_tensor_area area =
        pg_tensor_area_at(((const pg_async_tcgen05_shift *)a)->address, SHIFT_LANES, SHIFT_COLUMNS);
    area.reads = area.writes = true;
    a->warp->launch->observer->tensor_use(a, cta, &area);
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

/* Each row takes what the next had, as shfl.down does; the last stays. The ISA's words leave the direction open; this
 * one is where .4x256b then has a row to fill in. No hardware has confirmed it. */
static void shift_down(pg_tensor_memory *t, uint32_t address)
{
    const uint32_t lane = pg_tensor_lane(address), column = pg_tensor_column(address);
    for (uint32_t row = 0; row < SHIFT_LANES - 1; row++)
        memcpy(&t->word[lane + row][column], &t->word[lane + row + 1][column],
               SHIFT_COLUMNS * sizeof(uint32_t));
}

bool pg_tcgen05_shift_execute(pg_async *a)
{
    shift_down(a->warp->cta->tensor, ((const pg_async_tcgen05_shift *)a)->address);
    if (a->op->mode == 2)
        shift_down(pg_pair_of(a->warp->cta)->tensor, ((const pg_async_tcgen05_shift *)a)->address);
    return true;
}
