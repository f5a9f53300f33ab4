/* From one call's operands, which were checked, to a launch record. */
#include "scatter_add/owner.h"
#include "scatter_add/private.h"
#include "scatter_add/vector.h"

enum { SEED_THREADS = 32, WARP_THREADS = 32 };

/* What a schedule needs of one call. */
typedef struct call {
    const pg_scatter_add_plan *plan;
    const pg_problem *problem;
    const pg_view *out, *src, *index;
    int64_t rows, out_rows, n, row_bytes;
    const ptxgen_device_info *device;
} call;

static int64_t stride_bytes(const call *c, const pg_view *v)
{
    return v->stride[0] * c->plan->element->bytes;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void launch_seed(const call *c, pg_launch *l)
{
    const pg_scatter_add_plan *p = c->plan;
    const ptxgen_grid g = ptxgen_plan_grid(c->rows, c->n, p->chunk_elems, c->device->sm_count);
    const pg_tensor_spec src = {
        .type = pg_dtype_find(p->element->dtype)->tensor_type,
        .rank = 2,
        .address = c->src->data,
        .dims = {(uint64_t)c->n, (uint64_t)c->rows},
        .strides = {(uint64_t)stride_bytes(c, c->src)},
        .box = {(uint32_t)p->chunk_elems, 1},
    };
    enum { PG_SEED_PARAMS(PG_PARAM_PLACE) COUNT };
    pg_launch_line(l, g.grid_x, SEED_THREADS, COUNT, 0);
    l->grid[1] = (uint32_t)g.grid_y;
    pg_set_tensor(l, at_source_map, &src);
    pg_set_pointer(l, at_out_, c->out->data);
    pg_set_pointer(l, at_index_, c->index->data);
    pg_set_record(l, at_record_, pg_scatter_add_given_record(c->problem));
    pg_set_u64(l, at_rows_, (uint64_t)c->rows);
    pg_set_u64(l, at_out_rows_, (uint64_t)c->out_rows);
    pg_set_u64(l, at_out_stride_, (uint64_t)stride_bytes(c, c->out));
    pg_set_u64(l, at_row_bytes_, (uint64_t)c->row_bytes);
    pg_set_u32(l, at_chunks_per_cta_, g.chunks_per_cta);
    pg_set_u32(l, at_chunks_, (c->n - 1) / p->chunk_elems + 1);
}

enum { PG_ROWS_PARAMS(PG_PARAM_PLACE) COUNT };

static uint32_t places(int from, int to)
{
    return (UINT32_C(1) << (to + 1)) - (UINT32_C(1) << from);
}

static uint32_t absent(const pg_scatter_add_plan *p)
{
    return p->schedule == PTXGEN_SCHEDULE_VECTOR ? places(at_tile_rows_, at_chunks_)
                                                 : places(at_groups_, at_panel_pieces_);
}

static void set_rows(const call *c, pg_launch *l)
{
    pg_set_pointer(l, at_out_, c->out->data);
    pg_set_pointer(l, at_src_, c->src->data);
    pg_set_pointer(l, at_index_, c->index->data);
    pg_set_record(l, at_record_, pg_scatter_add_given_record(c->problem));
    pg_set_u64(l, at_rows_, (uint64_t)c->rows);
    pg_set_u64(l, at_out_rows_, (uint64_t)c->out_rows);
    pg_set_u64(l, at_out_stride_, (uint64_t)stride_bytes(c, c->out));
    pg_set_u64(l, at_src_stride_, (uint64_t)stride_bytes(c, c->src));
    pg_set_u64(l, at_row_bytes_, (uint64_t)c->row_bytes);
}

static void launch_bulk(const call *c, pg_launch *l)
{
    const pg_scatter_add_plan *p = c->plan;
    const pg_tile_shape s = pg_scatter_add_tile_shape(c->row_bytes, p->tile_bytes);
    const int64_t tiles = ((c->rows - 1) / s.rows + 1) * s.chunks;
    const int64_t most = (int64_t)c->device->sm_count * p->ctas_per_sm;
    pg_launch_line(l, at_most((tiles - 1) / p->warps + 1, most), WARP_THREADS * p->warps, COUNT,
                   absent(p));
    set_rows(c, l);
    pg_set_u32(l, at_tile_rows_, s.rows);
    pg_set_u32(l, at_chunk_bytes_, s.chunk_bytes);
    pg_set_u32(l, at_chunks_, s.chunks);
}

/* The width of a panel in pieces. Panels pay where out is larger than a half of L2; they go on
 * paying when a panel of it is somewhat larger than L2. Narrower ones than 256 bytes read src
 * less well. Measured: docs/benchmarks.md, sweep. */
static int64_t panel_pieces(const call *c)
{
    enum { PANEL_BYTES = 256 };
    const int64_t l2_bytes = (int64_t)c->device->l2_bytes;
    if (c->plan->hot || c->plan->shift)
        return pg_vector_row_pieces(c->plan->access, c->plan->shift, c->row_bytes);
    if (c->plan->panel)
        return at_most(c->plan->panel, c->row_bytes) / c->plan->access;
    const bool out_stays = c->out_rows <= l2_bytes / 2 / c->row_bytes;
    const bool panel_thrashes = c->out_rows > 2 * l2_bytes / PANEL_BYTES;
    if (out_stays || panel_thrashes)
        return c->row_bytes / c->plan->access;
    return at_most(PANEL_BYTES, c->row_bytes) / c->plan->access;
}

/* A number of CTAs at or below `most`, but for 0, with which a thread comes to the same piece of
 * every row that it takes. */
static int64_t in_step(int64_t most, int64_t cta_threads, int64_t width)
{
    int64_t a = cta_threads, b = width;
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    const int64_t step = width / a;
    return most < step ? step : most / step * step;
}

static void launch_vector(const call *c, pg_launch *l)
{
    const pg_scatter_add_plan *p = c->plan;
    const int64_t row_pieces = pg_vector_row_pieces(p->access, p->shift, c->row_bytes);
    const int64_t width = panel_pieces(c);
    const int64_t panels = (row_pieces - 1) / width + 1;
    const int64_t groups = (c->rows - 1) / p->pieces + 1;
    const int64_t cta_threads = WARP_THREADS * p->warps;
    const int64_t most = (int64_t)c->device->sm_count * p->ctas_per_sm;
    int64_t ctas = most; /* no more CTAs than there is work for */
    if (groups <= most * cta_threads)
        ctas = at_most((groups * width * panels - 1) / cta_threads + 1, most);
    if (p->hot)
        ctas = in_step(ctas, cta_threads, width);
    const int64_t threads = ctas * cta_threads, step_groups = threads / width;
    pg_launch_line(l, ctas, WARP_THREADS * p->warps, COUNT, absent(p));
    set_rows(c, l);
    pg_set_u64(l, at_groups_, (uint64_t)groups);
    pg_set_u64(l, at_step_panels_, (uint64_t)(step_groups / groups));
    pg_set_u64(l, at_step_groups_, (uint64_t)(step_groups % groups));
    pg_set_u32(l, at_step_pieces_, threads % width);
    pg_set_u32(l, at_panel_pieces_, width);
}

void pg_scatter_add_launch(const pg_problem *problem, pg_launch *l)
{
    const pg_scatter_add_plan *p = problem->plan;
    const call c = {.plan = p,
                    .problem = problem,
                    .out = &problem->operand[PG_SCATTER_OUT],
                    .src = &problem->operand[PG_SCATTER_SRC],
                    .index = &problem->operand[PG_SCATTER_INDEX],
                    .rows = problem->symbol[PG_SCATTER_ROWS],
                    .out_rows = problem->symbol[PG_SCATTER_OUT_ROWS],
                    .n = problem->symbol[PG_SCATTER_N],
                    .row_bytes = problem->symbol[PG_SCATTER_N] * p->element->bytes,
                    .device = problem->device};
    if (p->schedule == PTXGEN_SCHEDULE_PRIVATE)
        pg_scatter_add_launch_private(problem, l);
    else if (p->schedule == PTXGEN_SCHEDULE_SEED)
        launch_seed(&c, l);
    else if (p->schedule == PTXGEN_SCHEDULE_VECTOR)
        launch_vector(&c, l);
    else
        launch_bulk(&c, l);
}

pg_param_list pg_scatter_add_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param seed[] = {PG_SEED_PARAMS(PG_PARAM_ROW){NULL, 0}},
                                 rows[] = {PG_ROWS_PARAMS(PG_PARAM_ROW){NULL, 0}};
    const pg_scatter_add_plan *p = plan;
    (void)part;
    if (p->schedule == PTXGEN_SCHEDULE_OWNER)
        return pg_scatter_add_owner_params();
    if (p->schedule == PTXGEN_SCHEDULE_PRIVATE)
        return pg_scatter_add_private_params();
    if (p->schedule == PTXGEN_SCHEDULE_SEED)
        return (pg_param_list){.rows = seed};
    return (pg_param_list){rows, absent(p)};
}

static bool is_owner(const pg_problem *p)
{
    return ((const pg_scatter_add_plan *)p->plan)->schedule == PTXGEN_SCHEDULE_OWNER;
}

pg_sequence pg_scatter_add_sequence(const pg_problem *p)
{
    return is_owner(p) ? pg_scatter_add_owner_sequence(p) : (pg_sequence){.launches = 1};
}

void pg_scatter_add_launch_step(const pg_problem *p, const pg_step *step, pg_launch *l)
{
    if (is_owner(p))
        pg_scatter_add_launch_owner(p, step, l);
    else
        pg_scatter_add_launch(p, l);
}
