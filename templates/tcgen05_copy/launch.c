/* From one call's operands, which were checked, to a launch record. */
#include "tcgen05_copy/tcgen05_copy.h"

enum { ELEMENT_BYTES = 4, THREADS = 128 };

pg_param_list pg_tcgen05_copy_params(const void *plan, uint32_t part)
{
    static const pg_kernel_param rows[] = {PG_COPY_PARAMS(PG_PARAM_ROW){NULL, 0}};
    (void)plan;
    (void)part;
    return (pg_param_list){.rows = rows};
}

void pg_tcgen05_copy_launch(const pg_problem *problem, pg_launch *l)
{
    enum { PG_COPY_PARAMS(PG_PARAM_PLACE) COUNT };
    const pg_tcgen05_copy_plan *p = problem->plan;
    const pg_view *out = &problem->operand[PG_COPY_OUT], *in = &problem->operand[PG_COPY_IN];
    pg_launch_line(l, 1, THREADS, COUNT, 0);
    l->shared_bytes = p->head.shared_bytes;
    pg_set_pointer(l, at_out_, out->data);
    pg_set_pointer(l, at_in_, in->data);
    pg_set_u64(l, at_out_stride_, (uint64_t)(out->stride[0] * ELEMENT_BYTES));
    pg_set_u64(l, at_in_stride_, (uint64_t)(in->stride[0] * ELEMENT_BYTES));
}
