/* Checking mode: what an issued tcgen05.mma reads and writes, in shared and in tensor memory.
 * Shared memory counts as read from the first to the last byte that an operand reaches, gaps
 * included. */
#include "emulator/check/tensor.h"

#include "emulator/tensor/tcgen05_work.h"

enum { MASK_WORDS = 4 }; /* of a CTA */

/* Equal for mma's of the same accumulator, shape and kind, which keep their order. */
static uint32_t sequence_of(const pg_tcgen05_work *w)
{
    const uint32_t shape =
        w->x.m << 16 | w->x.n << 4 | (uint32_t)w->plan->form.kind << 1 | w->plan->form.ws;
    return w->given->d * UINT32_C(0x9e3779b1) ^ shape;
}

static void read_shared(pg_async *a, const pg_tcgen05_work *w, pg_cta *cta)
{
    const pg_matrix_extent b = pg_matrix_layout_extent(&w->b_layout, &w->b_shape);
    pg_check_tensor_read(a, cta, b.first, b.end);
    pg_check_matrix_operand(a, &w->b_layout, &w->b_shape);
    if (w->plan->a_in_tensor)
        return;
    pg_check_matrix_operand(a, &w->a_layout, &w->a_shape);
    const pg_matrix_extent e = pg_matrix_layout_extent(&w->a_layout, &w->a_shape);
    pg_check_tensor_read(a, cta, e.first, e.end);
}

static void read_scales(pg_async *a, const pg_tcgen05_work *w, pg_cta *cta)
{
    const uint32_t addresses[] = {w->given->scale_a, w->given->scale_b};
    const uint32_t rows[] = {w->rows, w->columns};
    for (int i = 0; i < 2; i++) {
        pg_tensor_area area = pg_tensor_area_at(pg_tensor_column(addresses[i]), PG_TENSOR_LANES,
                                                (rows[i] + PG_SCALE_LANES - 1) / PG_SCALE_LANES);
        area.reads = true;
        pg_tensor_use(a, cta, &area, sequence_of(w));
    }
}

typedef struct columns {
    uint32_t first, count;
} columns;

/* An operand in the lanes where D is. */
static void read_lanes_of_d(pg_async *a, const pg_tcgen05_work *w, uint32_t cta, columns of)
{
    pg_tensor_area area = pg_tcgen05_area_of_d(w);
    area.column = (uint16_t)of.first;
    area.columns = (uint16_t)of.count;
    area.reads = true;
    pg_tensor_use(a, w->cta[cta], &area, sequence_of(w));
}

/* Lanes whose bit is set in the mask are not written. */
static void write_d(pg_async *a, const pg_tcgen05_work *w, uint32_t cta, pg_tensor_area area)
{
    for (uint32_t i = 0; i < PG_TENSOR_BANDS && w->plan->mask_count; i++)
        area.lanes[i] &=
            (uint16_t) ~(w->given->masks[cta * MASK_WORDS + i / 2] >> i % 2 * PG_TENSOR_BAND);
    area.writes = true;
    area.reads = w->given->add_d;
    pg_tensor_use(a, w->cta[cta], &area, sequence_of(w));
}

void pg_check_tensor_mma(pg_async *a)
{
    pg_tcgen05_work w;
    if (!pg_tcgen05_work_make(a, &w))
        return;
    const pg_tensor_area d = pg_tcgen05_area_of_d(&w);
    for (uint32_t i = 0; i < w.cta_count; i++) {
        read_shared(a, &w, w.cta[i]);
        if (w.plan->a_in_tensor)
            read_lanes_of_d(a, &w, i,
                            (columns){pg_tensor_column(w.given->a), PG_OPERAND_ROW_COLUMNS});
        if (w.plan->form.sparse)
            read_lanes_of_d(a, &w, i,
                            (columns){pg_tensor_column(w.given->indices) + w.x.selector,
                                      pg_tcgen05_index_columns(&w)});
        if (w.plan->form.scale_block)
            read_scales(a, &w, w.cta[i]);
        write_d(a, &w, i, d);
    }
}
