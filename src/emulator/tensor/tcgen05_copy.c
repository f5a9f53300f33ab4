/* What tcgen05.cp and tcgen05.shift do when they complete; PTX ISA 9.0, section 9.7.16.9. */
#include "emulator/tensor/tcgen05_copy.h"

#include "emulator/machine/stop.h"
#include "emulator/tensor/tensor_memory.h"

const pg_tcgen05_copy_shape pg_tcgen05_copy_shapes[] = {
    [PG_COPY_128X256B] = {128, 32, 128, 0, 1, 0},
    [PG_COPY_128X128B] = {128, 16, 128, 0, 1, 0},
    [PG_COPY_64X128B_02_13] = {64, 16, 64, 0, 2, 64},
    [PG_COPY_64X128B_01_23] = {64, 16, 32, 64, 2, 32},
    [PG_COPY_32X128B_X4] = {32, 16, 32, 0, 4, 32},
    [PG_COPY_4X256B] = {4, 32, 1, 32, 1, 0},
};

enum { MOST_BYTES = 128 * 32 };

bool pg_tcgen05_copy_layout(pg_async *a, pg_matrix_layout *layout)
{
    pg_warp *w = a->warp;
    const pg_tcgen05_copy_shape *s =
        &pg_tcgen05_copy_shapes[((const pg_tcgen05_cp_plan *)a->op->extra)->shape];
    const pg_matrix_shape shape = pg_tcgen05_copy_source(s);
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

/* ---- decompression ---- */

/* 16 elements of `bits` bits at the beginning of each 16 bytes become a byte each: the form in
 * which mma takes them from tensor memory, with 6-bit elements in bits 0 to 5 and 4-bit ones in
 * bits 2 to 5. */
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
static void fill_lanes(pg_tensor_memory *t, const pg_tcgen05_copy_shape *s, uint32_t address,
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
    const pg_tcgen05_copy_shape *s = &pg_tcgen05_copy_shapes[p->shape];
    const pg_matrix_shape shape = pg_tcgen05_copy_source(s);
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
    if (!pg_tcgen05_copy_layout(a, &layout))
        return false;
    copy_in(a, &layout, a->warp->cta);
    if (p->cta_group == 2)
        copy_in(a, &layout, pg_pair_of(a->warp->cta));
    return true;
}

/* ---- shift ---- */

/* Each row takes what the next had, as shfl.down does; the last stays. The ISA's words leave the
 * direction open; this one is where .4x256b then has a row to fill in. No hardware has confirmed
 * it. */
static void shift_down(pg_tensor_memory *t, uint32_t address)
{
    const uint32_t lane = pg_tensor_lane(address), column = pg_tensor_column(address);
    for (uint32_t row = 0; row < PG_SHIFT_LANES - 1; row++)
        memcpy(&t->word[lane + row][column], &t->word[lane + row + 1][column],
               PG_SHIFT_COLUMNS * sizeof(uint32_t));
}

bool pg_tcgen05_shift_execute(pg_async *a)
{
    shift_down(a->warp->cta->tensor, ((const pg_async_tcgen05_shift *)a)->address);
    if (a->op->mode == 2)
        shift_down(pg_pair_of(a->warp->cta)->tensor, ((const pg_async_tcgen05_shift *)a)->address);
    return true;
}
