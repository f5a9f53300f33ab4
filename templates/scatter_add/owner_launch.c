/* A call of schedule=owner: how it is cut into shares and tiles, its workspace, and its
 * launches: those of the sort, unless the index is prepared, then those that sum. The workspace:
 * entries, their number, and what first the sort needs and then the sums. */
#include "scatter_add/owner.h"

#include "common/elements.h"

#include <string.h>

enum { MAX_LANES = 32, MERGE_SHARE = 8, ROW_ALIGNMENT = 32, ALIGNMENT = 256 };
enum { COUNTING = 2 }; /* launches that count the entries of each row */

/* How the columns of a row are cut, and the entries of one launch. */
typedef struct cut {
    int64_t pieces; /* accesses to a row */
    int64_t panels, lanes, groups;
    int64_t share, tiles;
} cut;

static int64_t div_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

/* A panel is at most 32 lanes wide, and all panels are as wide as can be alike. */
static cut cut_columns(const pg_scatter_add_plan *p, int64_t n)
{
    const int64_t lane_pieces = 16 / p->access;
    const int64_t bytes = n * p->element->bytes;
    /* shifted: a row may begin at any element of its first block */
    cut c = {.pieces = p->shift ? (bytes + 15 - p->element->bytes) / 16 + 1 : bytes / p->access};
    const int64_t lanes = div_up(c.pieces, lane_pieces);
    c.panels = div_up(lanes, MAX_LANES);
    c.lanes = div_up(lanes, c.panels);
    c.groups = PG_OWNER_THREADS / c.lanes;
    return c;
}

/* Shares are as long as still gives a large GPU's multiprocessors several tiles each: a tile
 * writes its first and last run by itself. The sizes of the problem decide, never the GPU: what
 * is cut decides the bits of a sum. */
static void cut_entries(cut *c, int64_t entries, int64_t wanted)
{
    enum { LONGEST = 32, SHORTEST = 16, TILES = 3072 };
    c->share = wanted;
    if (!wanted)
        for (c->share = LONGEST; c->share > SHORTEST; c->share /= 2)
            if (div_up(entries, c->share * c->groups) * c->panels >= TILES)
                break;
    c->tiles = div_up(entries, c->share * c->groups);
}

static int64_t align_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int64_t partial_stride(const pg_scatter_add_plan *p, int64_t n)
{
    const int64_t values = p->shift ? cut_columns(p, n).pieces * 16 / p->element->bytes : n;
    return align_up(values * p->element->acc_bytes, ROW_ALIGNMENT);
}

/* Launch `number` of a call: its cut, and where in the workspace its partial sums and their
 * entries go. */
typedef struct level {
    cut c;
    int64_t entries; /* how many it has, at most */
    size_t rows, list, end;
} level;

/* What the launches need of one call. */
typedef struct call {
    const pg_scatter_add_plan *plan;
    const pg_problem *problem;
    const ptxgen_scatter_plan *prepared;
    int64_t rows, n;
    pg_index_sort_args sort;
    size_t entries_bytes; /* of the sorted index, and 256 for how many there are */
    bool counts;          /* entries of each row are counted */
    size_t counts_bytes;  /* ... in the workspace, before all else */
} call;

static call call_of(const pg_problem *p)
{
    const pg_view *v = p->operand;
    call c = {.plan = p->plan,
              .problem = p,
              .prepared = p->prepared,
              .rows = p->symbol[PG_SCATTER_ROWS],
              .n = p->symbol[PG_SCATTER_N]};
    c.entries_bytes = p->prepared ? 0 : pg_index_sort_entries_bytes(c.rows);
    c.sort = (pg_index_sort_args){.index = v[PG_SCATTER_INDEX].data,
                                  .rows = c.rows,
                                  .out_rows = p->symbol[PG_SCATTER_OUT_ROWS],
                                  .has_padding = v[PG_SCATTER_PADDING_INDEX].present,
                                  .grouped = !c.plan->exact,
                                  .marked = c.plan->ahead || pg_owner_has_lone_halves(c.plan)};
    c.counts = c.plan->mean || v[PG_SCATTER_COUNTS].present;
    if (c.counts && !v[PG_SCATTER_COUNTS].present)
        c.counts_bytes = (size_t)align_up(c.sort.out_rows * (int64_t)sizeof(int32_t), ALIGNMENT);
    if (v[PG_SCATTER_DEVICE_ROWS].present)
        c.sort.device_rows = v[PG_SCATTER_DEVICE_ROWS].data;
    if (c.sort.has_padding)
        c.sort.padding = pg_element_integer(&v[PG_SCATTER_PADDING_INDEX], 0);
    if (v[PG_SCATTER_RECORD].present)
        c.sort.record = v[PG_SCATTER_RECORD].data;
    return c;
}

static level level_at(const call *c, uint32_t number)
{
    const pg_scatter_add_plan *p = c->plan;
    level l = {.c = cut_columns(p, c->n), .entries = c->rows};
    cut_entries(&l.c, l.entries, p->share);
    for (uint32_t i = 0;; i++) {
        l.rows = l.end;
        l.list = l.rows + (size_t)align_up(2 * l.c.tiles * partial_stride(p, c->n), ALIGNMENT);
        l.end = l.list + (size_t)align_up((2 * l.c.tiles + 16) * 8, ALIGNMENT);
        if (i == number)
            return l;
        l.entries = 2 * l.c.tiles;
        cut_entries(&l.c, l.entries, MERGE_SHARE);
    }
}

/* The launches that sum: one, or one for each level of partial sums. */
static pg_sequence sum_sequence(const call *c)
{
    pg_sequence s = {.launches = 1};
    if (!c->plan->exact)
        return s;
    level l = level_at(c, 0);
    while (l.c.tiles > 1)
        l = level_at(c, s.launches++);
    s.workspace_bytes = l.end;
    return s;
}

static pg_sequence sort_sequence(const call *c)
{
    if (c->prepared)
        return (pg_sequence){0};
    return pg_index_sort_sequence(c->problem->helper_plan, &c->sort);
}

/* The sort's memory is free again when the sums begin. */
pg_sequence pg_scatter_add_owner_sequence(const pg_problem *p)
{
    const call c = call_of(p);
    const pg_sequence sort = sort_sequence(&c), sum = sum_sequence(&c);
    const size_t bytes =
        sort.workspace_bytes > sum.workspace_bytes ? sort.workspace_bytes : sum.workspace_bytes;
    return (pg_sequence){.launches = sort.launches + (c.counts ? COUNTING : 0) + sum.launches,
                         .workspace_bytes = c.counts_bytes + c.entries_bytes + bytes};
}

/* alpha as the accumulator's bits. */
static uint64_t alpha_bits(const call *c)
{
    const pg_sum_type *e = c->plan->element;
    const double alpha = pg_scatter_add_alpha(c->problem);
    const float single = (float)alpha;
    uint64_t bits = 0;
    if (e->acc[0] == 's')
        bits = (uint64_t)(int64_t)alpha;
    else if (e->acc_bytes == 8)
        memcpy(&bits, &alpha, sizeof alpha);
    else
        memcpy(&bits, &single, sizeof single);
    return bits;
}

enum { PG_OWNER_PARAMS(PG_PARAM_PLACE) COUNT };

pg_param_list pg_scatter_add_owner_params(void)
{
    static const pg_kernel_param rows[] = {PG_OWNER_PARAMS(PG_PARAM_ROW){NULL, 0}};
    return (pg_param_list){.rows = rows};
}

static const void *data_of(const call *c, int operand)
{
    const pg_view *v = &c->problem->operand[operand];
    return v->present ? v->data : NULL;
}

/* Where the aligned loads of shift=yes may read. */
static void set_bounds(const call *c, pg_launch *l)
{
    const pg_view *src = &c->problem->operand[PG_SCATTER_SRC];
    const int64_t bytes = c->plan->element->bytes, row_bytes = c->n * bytes;
    const int64_t all = (src->shape[0] - 1) * src->stride[0] * bytes + row_bytes;
    const pg_view *out = &c->problem->operand[PG_SCATTER_OUT];
    pg_set_u64(l, at_row_bytes_, (uint64_t)row_bytes);
    pg_set_u64(l, at_out_end_,
               (uintptr_t)out->data +
                   (uint64_t)((out->shape[0] - 1) * out->stride[0] * bytes + row_bytes));
    pg_set_u64(l, at_low_, all < 32 ? UINT64_MAX : (uintptr_t)src->data);
    pg_set_u64(l, at_span_, all < 32 ? 0 : (uint64_t)(all - 32));
}

/* What both kernels take of the call, and how the work is cut. */
static void set_call(const call *c, const level *v, pg_launch *l)
{
    const pg_view *operand = c->problem->operand;
    pg_set_pointer(l, at_out_, operand[PG_SCATTER_OUT].data);
    pg_set_u64(l, at_out_stride_,
               (uint64_t)(operand[PG_SCATTER_OUT].stride[0] * c->plan->element->bytes));
    pg_set_pointer(l, at_weight_, data_of(c, PG_SCATTER_WEIGHT));
    pg_set_pointer(l, at_src_index_, data_of(c, PG_SCATTER_SRC_INDEX));
    pg_set_u64(l, at_src_rows_, (uint64_t)operand[PG_SCATTER_SRC].shape[0]);
    pg_set_record(l, at_record_, pg_scatter_add_given_record(c->problem));
    pg_set_u64(l, at_alpha_, alpha_bits(c));
    pg_set_u32(l, at_count_, v->entries);
    pg_set_u32(l, at_lanes_, v->c.lanes);
    pg_set_u32(l, at_panels_, v->c.panels);
    pg_set_u32(l, at_share_, v->c.share);
    pg_set_u32(l, at_groups_, v->c.groups);
    pg_set_u32(l, at_pieces_, v->c.pieces);
    set_bounds(c, l);
}

/* The workspace of a step, its parts known; and where the sorted index is. */
typedef struct layout {
    int32_t *counts;
    ptxgen_scatter_plan sorted;
    char *rest;
} layout;

static layout lay_out(const call *c, const pg_step *step)
{
    const pg_view *counts = &c->problem->operand[PG_SCATTER_COUNTS];
    layout at = {.counts = counts->present ? counts->data : (void *)step->workspace};
    if (!step->workspace) { /* a prepared plan may leave nothing to work in */
        at.sorted = *c->prepared;
        return at;
    }
    char *const entries = step->workspace + c->counts_bytes;
    at.rest = entries + c->entries_bytes;
    if (c->prepared)
        at.sorted = *c->prepared;
    else
        at.sorted =
            (ptxgen_scatter_plan){.entries = entries, .total = (uint32_t *)(at.rest - ALIGNMENT)};
    return at;
}

/* The sum of rows of src (number 0), or of the partial sums that the launch before left. */
static void launch_sum(const call *c, const pg_step *step, const layout *at, pg_launch *l)
{
    const pg_scatter_add_plan *p = c->plan;
    const pg_view *src = &c->problem->operand[PG_SCATTER_SRC];
    const level v = level_at(c, step->number);
    const int64_t partial_bytes = partial_stride(p, c->n);
    pg_launch_line(l, v.c.tiles * v.c.panels, PG_OWNER_THREADS, COUNT, 0);
    l->part = step->number != 0;
    if (step->number == 0) {
        pg_set_pointer(l, at_src_, src->data);
        pg_set_pointer(l, at_entries_, at->sorted.entries);
        pg_set_pointer(l, at_total_, at->sorted.total);
        pg_set_u64(l, at_src_stride_, (uint64_t)(src->stride[0] * p->element->bytes));
    } else {
        const level before = level_at(c, step->number - 1);
        pg_set_pointer(l, at_src_, step->workspace + before.rows);
        pg_set_pointer(l, at_entries_, step->workspace + before.list);
        pg_set_pointer(l, at_total_, NULL);
        pg_set_u64(l, at_src_stride_, (uint64_t)partial_bytes);
    }
    pg_set_pointer(l, at_partials_, p->exact ? step->workspace + v.rows : NULL);
    pg_set_pointer(l, at_partial_entries_, p->exact ? step->workspace + v.list : NULL);
    pg_set_u64(l, at_partial_stride_, (uint64_t)partial_bytes);
    pg_set_pointer(l, at_row_counts_, c->plan->mean ? at->counts : NULL);
    set_call(c, &v, l);
}

/* The sum kernel's launch, and when it may begin: beside the sort's last CTAs, kernels that load
 * ahead were slower to the end. Measured. */
static void launch_sums(const call *c, const pg_step *step, const layout *at, bool first,
                        pg_launch *l)
{
    launch_sum(c, step, at, l);
    l->early = !first && !(c->plan->ahead && step->number == 0);
}

void pg_scatter_add_launch_owner(const pg_problem *p, const pg_step *step, pg_launch *l)
{
    call c = call_of(p);
    const layout at = lay_out(&c, step);
    const uint32_t sorts = sort_sequence(&c).launches, counting = c.counts ? COUNTING : 0;
    pg_step inner = {.number = step->number, .workspace = at.rest};
    c.sort.entries = at.sorted.entries;
    c.sort.total = at.sorted.total;
    if (step->number < sorts) {
        pg_index_sort_launch(p->helper_plan, &c.sort, &inner, l);
        l->helper = true;
    } else if (step->number < sorts + counting) {
        const bool clear = step->number == sorts;
        pg_index_sort_count_rows(p->helper_plan, &c.sort,
                                 clear ? PG_SORT_CLEAR_ROWS : PG_SORT_COUNT_ROWS, at.counts, l);
        l->helper = true;
        l->early = step->number > 0;
    } else {
        inner.number -= sorts + counting;
        launch_sums(&c, &inner, &at, step->number == 0, l);
    }
}
