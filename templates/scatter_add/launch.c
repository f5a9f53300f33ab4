/* From one call's arguments to a launch record. The arguments were checked (src/api/scatter_add.c). */
#include "scatter_add/scatter_add.h"

#include <string.h>

enum { PIECE_BYTES = 16 };

static void add_u64(pg_launch *l, uint64_t v)
{
    l->args[l->nargs].kind = PG_ARG_U64;
    l->args[l->nargs++].u64 = v;
}

static void add_u32(pg_launch *l, int64_t v)
{
    l->args[l->nargs].kind = PG_ARG_U32;
    l->args[l->nargs++].u32 = (uint32_t)v;
}

static void add_record(pg_launch *l)
{
    l->args[l->nargs++].kind = PG_ARG_RECORD;
}

static int64_t or_n(int64_t stride, int64_t n)
{
    return stride ? stride : n;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void launch_seed(const pg_scatter_add_plan *p, const ptxgen_scatter_add_args *a,
                        const ptxgen_device_info *device, pg_launch *l)
{
    const int64_t bytes = p->dtype->bytes;
    const ptxgen_grid g = ptxgen_plan_grid(a->rows, a->n, p->chunk_elems, device->sm_count);
    l->grid[0] = (uint32_t)g.grid_x;
    l->grid[1] = (uint32_t)g.grid_y;
    l->block[0] = 32;
    l->args[0].kind = PG_ARG_TENSOR;
    l->args[0].tensor = (pg_tensor_spec){
        .type = p->dtype->tensor_type,
        .rank = 2,
        .address = (void *)(uintptr_t)a->src,
        .dims = {(uint64_t)a->n, (uint64_t)a->rows},
        .strides = {(uint64_t)(or_n(a->src_stride, a->n) * bytes)},
        .box = {(uint32_t)p->chunk_elems, 1},
    };
    l->nargs = 1;
    add_u64(l, (uintptr_t)a->out);
    add_u64(l, (uintptr_t)a->index);
    add_record(l);
    add_u64(l, (uint64_t)a->rows);
    add_u64(l, (uint64_t)a->out_rows);
    add_u64(l, (uint64_t)(or_n(a->out_stride, a->n) * bytes));
    add_u64(l, (uint64_t)(a->n * bytes));
    add_u32(l, g.chunks_per_cta);
    add_u32(l, (a->n - 1) / p->chunk_elems + 1);
}

static void add_common(const pg_scatter_add_plan *p, const ptxgen_scatter_add_args *a, pg_launch *l)
{
    const int64_t bytes = p->dtype->bytes;
    add_u64(l, (uintptr_t)a->out);
    add_u64(l, (uintptr_t)a->src);
    add_u64(l, (uintptr_t)a->index);
    add_record(l);
    add_u64(l, (uint64_t)a->rows);
    add_u64(l, (uint64_t)a->out_rows);
    add_u64(l, (uint64_t)(or_n(a->out_stride, a->n) * bytes));
    add_u64(l, (uint64_t)(or_n(a->src_stride, a->n) * bytes));
    add_u64(l, (uint64_t)(a->n * bytes));
    l->block[0] = (uint32_t)(32 * p->warps);
    l->grid[1] = 1;
}

static void launch_bulk(const pg_scatter_add_plan *p, const ptxgen_scatter_add_args *a,
                        const ptxgen_device_info *device, pg_launch *l)
{
    const pg_tile_shape s = pg_scatter_add_tile_shape(a->n * p->dtype->bytes, p->tile_bytes);
    const int64_t tiles = ((a->rows - 1) / s.rows + 1) * s.chunks;
    l->grid[0] =
        (uint32_t)at_most((tiles - 1) / p->warps + 1, (int64_t)device->sm_count * p->ctas_per_sm);
    add_common(p, a, l);
    add_u32(l, s.rows);
    add_u32(l, s.chunk_bytes);
    add_u32(l, s.chunks);
}

/* The width of a panel in pieces. Panels pay where out is larger than a half of L2; they go on paying when a
 * panel of it is somewhat larger than L2. Narrower ones than 256 bytes read src less well. Measured:
 * docs/benchmarks.md, sweep. */
static int64_t panel_pieces(const pg_scatter_add_plan *p, const ptxgen_scatter_add_args *a,
                            int64_t l2_bytes)
{
    enum { PANEL_BYTES = 256 };
    const int64_t row_bytes = a->n * p->dtype->bytes;
    if (p->panel)
        return at_most(p->panel, row_bytes) / PIECE_BYTES;
    const bool out_stays = a->out_rows <= l2_bytes / 2 / row_bytes;
    const bool panel_thrashes = a->out_rows > 2 * l2_bytes / PANEL_BYTES;
    if (out_stays || panel_thrashes)
        return row_bytes / PIECE_BYTES;
    return at_most(PANEL_BYTES, row_bytes) / PIECE_BYTES;
}

static void launch_vector(const pg_scatter_add_plan *p, const ptxgen_scatter_add_args *a,
                          const ptxgen_device_info *device, pg_launch *l)
{
    const int64_t row_pieces = a->n * p->dtype->bytes / PIECE_BYTES;
    const int64_t width = panel_pieces(p, a, (int64_t)device->l2_bytes);
    const int64_t panels = (row_pieces - 1) / width + 1;
    const int64_t groups = (a->rows - 1) / p->pieces + 1;
    const int64_t cta_threads = 32 * p->warps;
    const int64_t most = (int64_t)device->sm_count * p->ctas_per_sm;
    int64_t ctas = most; /* no more CTAs than there is work for */
    if (groups <= most * cta_threads)
        ctas = at_most((groups * width * panels - 1) / cta_threads + 1, most);
    const int64_t threads = ctas * cta_threads, step_groups = threads / width;
    l->grid[0] = (uint32_t)ctas;
    add_common(p, a, l);
    add_u64(l, (uint64_t)groups);
    add_u64(l, (uint64_t)(step_groups / groups));
    add_u64(l, (uint64_t)(step_groups % groups));
    add_u32(l, threads % width);
    add_u32(l, width);
}

void pg_scatter_add_launch(const void *plan, const void *args, const ptxgen_device_info *device,
                           pg_launch *l)
{
    const pg_scatter_add_plan *p = plan;
    l->nargs = 0;
    l->shared_bytes = 0;
    l->grid[2] = l->block[1] = l->block[2] = 1;
    memset(l->cluster, 0, sizeof l->cluster);
    if (p->schedule == PTXGEN_SCHEDULE_SEED)
        launch_seed(p, args, device, l);
    else if (p->schedule == PTXGEN_SCHEDULE_VECTOR)
        launch_vector(p, args, device, l);
    else
        launch_bulk(p, args, device, l);
}
