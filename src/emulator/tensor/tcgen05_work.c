/* Shapes, layouts and extents of an issued tcgen05.mma. See tcgen05_work.h. */
#include "emulator/tensor/tcgen05_work.h"

#include "emulator/matrix/mma_numerics.h"
#include "emulator/machine/stop.h"

enum { HALF_LANES = 16 };

uint32_t pg_tcgen05_lane_of(const pg_tcgen05_work *w, uint32_t row, uint32_t part)
{
    if (w->spread)
        return row % HALF_LANES + row / HALF_LANES * 32 + pg_tensor_lane(w->given->d);
    return row + part * (PG_TENSOR_LANES / w->parts);
}

pg_tensor_area pg_tcgen05_area_of_d(const pg_tcgen05_work *w)
{
    pg_tensor_area area = {.column = pg_tensor_column(w->given->d), .columns = w->columns};
    for (uint32_t row = 0; row < w->rows; row++)
        for (uint32_t part = 0; part < w->parts; part++) {
            const uint32_t lane = pg_tcgen05_lane_of(w, row, part);
            area.lanes[lane / HALF_LANES] |= (uint16_t)(1u << lane % HALF_LANES);
        }
    return area;
}

/* A mistake of the program, found while it runs. */
static bool stop(pg_async *a, const char *text)
{
    pg_stop(a->warp, a->op, PTXGEN_EEMULATOR, "%s", text);
    return false;
}

/* ---- shapes ---- */

static void set_layout(pg_async *a, pg_tcgen05_work *w)
{
    pg_cta *own = a->warp->cta;
    w->cta_count = w->plan->form.cta_group;
    w->cta[0] = w->cta[1] = own;
    if (w->cta_count == 2)
        w->cta[~own->rank & 1] = pg_pair_of(own);
    w->rows = w->x.m / w->cta_count;
    w->spread = w->rows == 64 && !w->plan->form.ws && (w->cta_count == 1 || w->plan->form.sparse);
    w->parts = w->spread ? 1 : PG_TENSOR_LANES / w->rows;
    w->columns = w->x.n / w->parts;
}

static bool check_options(pg_async *a, const pg_tcgen05_work *w)
{
    const pg_tcgen05_mma_plan *p = w->plan;
    if (p->ashift && (!p->a_in_tensor || w->rows != PG_TENSOR_LANES))
        return stop(a, ".ashift needs A in tensor memory and M of 128, or 256 in a pair");
    if (p->scale_d > 15)
        return stop(a, "the scale of D must be 0 to 15");
    if (p->scale_d && p->form.kind != PG_KIND_F16 && p->form.kind != PG_KIND_TF32)
        return stop(a, "only the kinds f16 and tf32 can scale D");
    if (p->a_in_tensor && w->x.a.mn_major)
        return stop(a, "A in tensor memory cannot be transposed");
    return true;
}

/* ---- operands in shared memory ---- */

/* An operand of `rows` rows of `bytes` of K in each CTA. */
static pg_matrix_shape shape_of(const pg_tcgen05_operand *o, uint32_t rows, uint32_t bytes)
{
    const uint32_t bits = 8 * pg_mma_container(o->format);
    return (pg_matrix_shape){
        .rows = rows, .depth = 8 * bytes / bits, .elem_bits = bits, .mn_major = o->mn_major};
}

static bool make_layout(pg_async *a, const pg_tcgen05_work *w, uint64_t descriptor,
                        const pg_matrix_shape *shape, pg_matrix_layout *layout)
{
    pg_matrix_descriptor d;
    ptxgen_error err = {0};
    ptxgen_status status = pg_matrix_descriptor_decode(descriptor, PG_DESCRIPTOR_SM100, &d, &err);
    if (status == PTXGEN_OK)
        status = pg_matrix_layout_make(&d, shape, layout, &err);
    if (status != PTXGEN_OK)
        return stop(a, err.message);
    const pg_matrix_extent e = pg_matrix_layout_extent(layout, shape);
    for (uint32_t i = 0; i < w->cta_count; i++)
        if (e.first < PG_SHARED_BASE || e.end > w->cta[i]->shared_bytes) {
            pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
                    "the matrix descriptor 0x%016llx covers shared memory from %u to %u; CTA rank "
                    "%u has %u to %u",
                    (unsigned long long)descriptor, e.first, e.end, w->cta[i]->rank, PG_SHARED_BASE,
                    w->cta[i]->shared_bytes);
            return false;
        }
    return true;
}

/* .ws: which columns of B count as zero, and where B begins. */
static bool set_zero_columns(pg_async *a, pg_tcgen05_work *w)
{
    ptxgen_error err = {0};
    if (!w->plan->has_zero_columns)
        return true;
    w->shift = pg_tcgen05_column_shift(w->given->zero_columns);
    const ptxgen_status status =
        pg_tcgen05_zero_columns(w->given->zero_columns, &w->x, w->zero, &err);
    return status == PTXGEN_OK || stop(a, err.message);
}

static bool make_layouts(pg_async *a, pg_tcgen05_work *w)
{
    const uint32_t chunk = 16 / pg_mma_container(w->x.b.format),
                   rows = w->x.n / w->cta_count + w->shift;
    w->a_shape = shape_of(&w->x.a, w->rows, PG_OPERAND_ROW_BYTES);
    w->b_shape = shape_of(&w->x.b, w->x.b.mn_major ? (rows + chunk - 1) / chunk * chunk : rows,
                          pg_tcgen05_b_bytes(w));
    return (w->plan->a_in_tensor ||
            make_layout(a, w, w->given->a_descriptor, &w->a_shape, &w->a_layout)) &&
           make_layout(a, w, w->given->b_descriptor, &w->b_shape, &w->b_layout);
}

/* ---- operands in tensor memory ---- */

/* An operand that takes `columns` columns in all lanes; its lane field may only shift layout F. */
static bool reachable(pg_async *a, const pg_tcgen05_work *w, uint32_t address, uint32_t columns,
                      const char *what)
{
    const uint32_t lane = pg_tensor_lane(address);
    const bool halves = w->spread && lane == HALF_LANES;
    if (lane && !halves) {
        pg_stop(a->warp, a->op, PTXGEN_EEMULATOR,
                "%s at tensor-memory address 0x%08x begins at lane %u; this shape needs lane 0%s",
                what, address, lane, w->spread ? " or 16" : "");
        return false;
    }
    const pg_tensor_extent extent = {pg_tensor_column(address), PG_TENSOR_LANES, columns};
    for (uint32_t i = 0; i < w->cta_count; i++)
        if (!pg_tensor_reachable(a->warp, a->op, w->cta[i], &extent, what))
            return false;
    return true;
}

static uint32_t scale_columns(uint32_t rows)
{
    return (rows + PG_SCALE_LANES - 1) / PG_SCALE_LANES;
}

uint32_t pg_tcgen05_index_columns(const pg_tcgen05_work *w)
{
    return pg_mma_container(w->x.b.format) > 1 ? 1 : 2;
}

static bool check_tensor_operands(pg_async *a, const pg_tcgen05_work *w)
{
    const pg_tcgen05_mma_plan *p = w->plan;
    const pg_async_tcgen05_mma *m = w->given;
    if (!reachable(a, w, m->d, w->columns, "D"))
        return false;
    if (p->a_in_tensor && !reachable(a, w, m->a, PG_OPERAND_ROW_COLUMNS, "A"))
        return false;
    if (p->a_in_tensor && pg_tensor_lane(m->a) != pg_tensor_lane(m->d))
        return stop(a, "A and D must begin at the same lane");
    if (p->form.sparse && !reachable(a, w, m->indices, w->x.selector + pg_tcgen05_index_columns(w),
                                     "the indices of A"))
        return false;
    if (p->form.sparse && pg_tensor_lane(m->indices) != pg_tensor_lane(m->d))
        return stop(a, "the indices of A and D must begin at the same lane");
    return !p->form.scale_block ||
           (reachable(a, w, m->scale_a, scale_columns(w->rows), "the scale factors of A") &&
            reachable(a, w, m->scale_b, scale_columns(w->columns), "the scale factors of B"));
}

bool pg_tcgen05_work_make(pg_async *a, pg_tcgen05_work *w)
{
    ptxgen_error err = {0};
    *w = (pg_tcgen05_work){.plan = a->op->extra, .given = (const pg_async_tcgen05_mma *)a};
    const ptxgen_status status =
        pg_tcgen05_instruction_decode(w->given->instruction, &w->plan->form, &w->x, &err);
    if (status == PTXGEN_EUNSUPPORTED) {
        pg_stop(a->warp, a->op, status, "%s", err.message);
        return false;
    }
    if (status != PTXGEN_OK)
        return stop(a, err.message);
    set_layout(a, w);
    return check_options(a, w) && set_zero_columns(a, w) && make_layouts(a, w) &&
           check_tensor_operands(a, w);
}
