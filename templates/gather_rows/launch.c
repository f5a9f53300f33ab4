/* From one call's operands, which were checked, to a launch record. */
#include "gather_rows/gather_rows.h"

enum { MOST_LANE_BITS = 5, CTAS_PER_SM = 8 };

pg_param_list pg_gather_rows_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_GATHER_PARAMS(PG_PARAM_ROW){NULL, 0}};
    (void)plan;
    (void)part;
    return (pg_param_list){.rows = rows};
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void pg_gather_rows_launch(const pg_problem *problem, pg_launch *l)
{
    enum { PG_GATHER_PARAMS(PG_PARAM_PLACE) COUNT };
    const pg_gather_rows_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_GATHER_OUT], *src = &problem->operand[PG_GATHER_SRC];
    const int64_t bytes = out->bits / 8, rows = problem->symbol[PG_GATHER_ROWS];
    const int64_t pieces = problem->symbol[PG_GATHER_N] * bytes / p->vector;
    int lane_bits = 0;
    while (lane_bits < MOST_LANE_BITS && INT64_C(1) << lane_bits < pieces)
        lane_bits++;
    const int64_t cta_rows = PG_GATHER_THREADS >> lane_bits;
    pg_launch_line(
        l, at_most((rows - 1) / cta_rows + 1, (int64_t)problem->device->sm_count * CTAS_PER_SM),
        PG_GATHER_THREADS, COUNT, 0);
    pg_set_pointer(l, at_out_, out->data);
    pg_set_pointer(l, at_src_, src->data);
    pg_set_pointer(l, at_index_, problem->operand[PG_GATHER_INDEX].data);
    pg_set_record(l, at_record_, NULL);
    pg_set_u64(l, at_rows_, (uint64_t)rows);
    pg_set_u64(l, at_src_rows_, (uint64_t)problem->symbol[PG_GATHER_SRC_ROWS]);
    pg_set_u64(l, at_out_stride_, (uint64_t)(out->stride[0] * bytes));
    pg_set_u64(l, at_src_stride_, (uint64_t)(src->stride[0] * bytes));
    pg_set_u64(l, at_row_pieces_, (uint64_t)pieces);
    pg_set_u32(l, at_lane_bits_, lane_bits);
}
