/* Tensor memory: who has which columns, and what tcgen05 reads and writes there and in shared
 * memory. */
#include "emulator/profile/profile.h"

#include "emulator/matrix/matrix_descriptor.h"
#include "emulator/tensor/tcgen05_work.h"

enum { WORD_BYTES = 4 };

static uint64_t area_bytes(const pg_tensor_area *area)
{
    uint64_t lanes = 0;
    for (int i = 0; i < 8; i++)
        lanes += (uint64_t)__builtin_popcount(area->lanes[i]);
    return lanes * area->columns * WORD_BYTES;
}

static void count_area(pg_profile *profile, pg_engine engine, const pg_tensor_area *area)
{
    pg_engine_use *use = &profile->engines[engine];
    use->tensor_read += area->reads ? area_bytes(area) : 0;
    use->tensor_written += area->writes ? area_bytes(area) : 0;
}

/* ---- ld, st, cp, shift ---- */

void pg_profile_tensor_move(pg_warp *w, const pg_op *op, const pg_tensor_area *areas,
                            uint32_t count)
{
    const pg_engine engine = areas->writes ? PG_ENGINE_TENSOR_STORE : PG_ENGINE_TENSOR_LOAD;
    pg_profile *profile = w->launch->profile;
    for (uint32_t i = 0; i < count; i++) {
        count_area(profile, engine, &areas[i]);
        pg_trace_tensor(w->cta, op, &areas[i], pg_engine_name(engine));
    }
    profile->engines[engine].operations++;
}

void pg_profile_tensor_use(pg_async *a, pg_cta *cta, const pg_tensor_area *area)
{
    count_area(a->warp->launch->profile, PG_ENGINE_TCGEN05, area);
    pg_trace_tensor(cta, a->op, area,
                    a->kind == &pg_kind_tcgen05_shift ? "tcgen05.shift" : "tcgen05.cp");
}

/* ---- mma ---- */

static void use_area(pg_async *a, pg_cta *cta, const pg_tensor_area *area, const char *use)
{
    count_area(a->warp->launch->profile, PG_ENGINE_TCGEN05, area);
    pg_trace_tensor(cta, a->op, area, use);
}

static uint64_t operand_bytes(const pg_matrix_shape *shape)
{
    return (uint64_t)shape->rows * shape->depth * shape->elem_bits / 8;
}

static void read_shared(pg_async *a, const pg_tcgen05_work *w)
{
    pg_profile *profile = a->warp->launch->profile;
    const uint64_t bytes =
        operand_bytes(&w->b_shape) + (w->plan->a_in_tensor ? 0 : operand_bytes(&w->a_shape));
    profile->engines[PG_ENGINE_TCGEN05].shared_read += bytes;
    pg_profile_of(a->warp, a->op)->async_bytes += bytes;
}

static void read_scales(pg_async *a, const pg_tcgen05_work *w, pg_cta *cta)
{
    static const char *const uses[] = {"scales of A", "scales of B"};
    const uint32_t addresses[] = {w->given->scale_a, w->given->scale_b};
    const uint32_t rows[] = {w->rows, w->columns};
    for (int i = 0; i < 2; i++) {
        pg_tensor_area area = pg_tensor_area_at(pg_tensor_column(addresses[i]), PG_TENSOR_LANES,
                                                (rows[i] + PG_SCALE_LANES - 1) / PG_SCALE_LANES);
        area.reads = true;
        use_area(a, cta, &area, uses[i]);
    }
}

/* What lies in the lanes of D, in other columns. */
static void read_beside_d(pg_async *a, const pg_tcgen05_work *w, pg_tensor_area area,
                          const char *use)
{
    area.reads = true;
    for (uint32_t i = 0; i < w->cta_count; i++)
        use_area(a, w->cta[i], &area, use);
}

void pg_profile_tensor_mma(pg_async *a)
{
    pg_tcgen05_work w;
    if (!pg_tcgen05_work_make(a, &w))
        return;
    pg_tensor_area d = pg_tcgen05_area_of_d(&w), beside = d;
    beside.column = pg_tensor_column(w.given->a);
    beside.columns = PG_OPERAND_ROW_COLUMNS;
    if (w.plan->a_in_tensor)
        read_beside_d(a, &w, beside, "A");
    beside.column = pg_tensor_column(w.given->indices) + w.x.selector;
    beside.columns = pg_tcgen05_index_columns(&w);
    if (w.plan->form.sparse)
        read_beside_d(a, &w, beside, "indices of A");
    d.reads = w.given->add_d;
    d.writes = true;
    for (uint32_t i = 0; i < w.cta_count; i++) {
        read_shared(a, &w);
        if (w.plan->form.scale_block)
            read_scales(a, &w, w.cta[i]);
        use_area(a, w.cta[i], &d, "D");
    }
}
